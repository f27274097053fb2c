"""What is asked of a reservation, and what is told of those that there are."""

import msgspec

from maitred.model.meta import Lean
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION
from maitred.model.reservations import WarnedUnit


class ReservationEnd(Lean, frozen=True, forbid_unknown_fields=True):
    """What is posted to cancel one."""


class ReservationState(Record, frozen=True):
    name: str
    beneficiary: str = msgspec.field(name="for")
    by: str
    """Who has made it; empty: it is in the policy."""
    asks: str
    """What is reserved, in words."""
    begin: str = msgspec.field(name="from")
    """Now, or the next time."""
    until: str
    every: str
    time_zone: str
    nodes: tuple[str, ...]
    """As it would be decided now."""
    state: str
    """`coming`, `begun`, `given back`, or `not kept`."""
    others: int
    """Pods of others that are on these nodes still, or will be when it begins."""
    on_start: str
    """`wait` for those who are inside when it begins, or `evict` those who were warned."""
    warned: tuple[WarnedUnit, ...]
    words: str
    """What there is to say of it."""


class ReservationList(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "ReservationList"
    reservations: tuple[ReservationState, ...] = ()
    at: str = ""


class ReservationDone(Record, frozen=True):
    """What was written down."""

    api_version: str = API_VERSION
    kind: str = "Reservation"
    name: str = ""
    cancelled: bool = False
    reservation: ReservationState | None = None
