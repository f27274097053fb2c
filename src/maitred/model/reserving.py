"""Reservations that somebody has made with `maitred reserve`, beside those of the policy.

They are kept in one object of maitred's own namespace, where no tenant can write: a ConfigMap with the label
`maitred.dev/record: reservations`. A decision reads it like any other object, and keeps what it says as it
keeps the reservations of the policy. Its Plan leaves out those that are over.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.reservation_checks import check_form
from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp
from maitred.model.reservations import Reservation, is_over, spans_of
from maitred.model.times import after

RESERVATIONS = "maitred-reservations"
VERB = "reserve"
"""Who may reserve: whom RBAC allows this verb on `groups.maitred.dev` in all namespaces. Nodes are no
namespace's own."""
MOST_MADE, LONGEST_NAME, LONGEST_USER, LONGEST_SAID = 100, 63, 256, 4_000
MOST_STANDING, MOST_WARNED = 200, 500
LEAST_NOTICE = timedelta(minutes=1)
"""Whoever is evicted for a reservation was warned so long before, however short its lead time is."""
LATE = timedelta(minutes=5)
"""What began so shortly ago is not in the past."""
LIST_THEM = "`maitred reserve --list` lists those that there are"
UNREAD = "reservations (maitred-reservations) cannot be read, so none of them counts: {}"

By = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_USER)]


class MadeReservation(Lean, frozen=True, omit_defaults=False):
    said: Reservation
    by: By
    made: Timestamp

    @property
    def is_sound(self) -> bool:
        """Whether it is what maitred writes."""
        return self.by.isprintable() and not said_problem(self.said)

    def is_over(self, now: datetime) -> bool:
        at = round(now.timestamp() * 1000)
        return not spans_of(self.said, at) and is_over(self.said, at)


class StandingReservation(Lean, frozen=True, omit_defaults=False):
    """One of the policy that evicts: since when it is as it is."""

    said: Reservation
    since: Timestamp


class ReservationNotice(Lean, frozen=True, omit_defaults=False):
    """Pods of others have been told that they will have to leave."""

    reservation: Name
    unit: Name
    """As it is evicted: a group, or a pod on its own."""
    at: Timestamp
    begin: Timestamp
    """The beginning that it was told of."""


class ReservationMemory(Lean, frozen=True, omit_defaults=False):
    reservations: Annotated[tuple[MadeReservation, ...], msgspec.Meta(max_length=MOST_MADE)] = ()
    """By name."""
    standing: Annotated[tuple[StandingReservation, ...], msgspec.Meta(max_length=MOST_STANDING)] = ()
    warned: Annotated[tuple[ReservationNotice, ...], msgspec.Meta(max_length=MOST_WARNED)] = ()

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    def of(self, name: str) -> MadeReservation | None:
        return next((one for one in self.reservations if one.said.name == name), None)

    def at(self, now: datetime) -> "ReservationMemory":
        """Those that are not over. The same object if none is."""
        left = tuple(one for one in self.reservations if not one.is_over(now))
        if len(left) == len(self.reservations):
            return self
        return msgspec.structs.replace(self, reservations=left)

    def without(self, name: str) -> "ReservationMemory":
        left = tuple(one for one in self.reservations if one.said.name != name)
        return msgspec.structs.replace(self, reservations=left)

    def with_more(self, made: MadeReservation) -> "ReservationMemory":
        both = (*self.reservations, made)
        return msgspec.structs.replace(self, reservations=tuple(sorted(both, key=lambda one: one.said.name)))


NO_RESERVATIONS = ReservationMemory()


def said_problem(said: Reservation) -> str:
    """What cannot be written down of it, or was not written by maitred; empty if it is well."""
    if len(said.name) > LONGEST_NAME:
        return f"name: has {len(said.name)} characters, and may have {LONGEST_NAME}"
    if len(msgspec.json.encode(said)) > LONGEST_SAID:
        return f"it has more than {LONGEST_SAID} characters in all; name fewer labels"
    try:
        check_form(said)
    except FieldError as problem:
        return f"{problem.field}: {problem.what}".removeprefix(": ")
    return ""


def recorded(
    memory: ReservationMemory, one: MadeReservation, beside: Sequence[str], now: datetime
) -> ReservationMemory | str:
    """With one more reservation; or why it cannot be. To record the same again changes nothing. `beside`: the
    names of all that there were when it was found to fit."""
    others = memory.at(now)
    known = others.of(one.said.name)
    if known is not None and known.said == one.said:
        return others
    if known is not None:
        return f"--name: there is a reservation {one.said.name} already; choose another name, or cancel it"
    if not one.is_sound:
        return said_problem(one.said) or "the reservation is not complete"
    if len(others.reservations) >= MOST_MADE:
        return f"there are {MOST_MADE} reservations already; cancel one first: maitred reserve --cancel NAME"
    if new := {other.said.name for other in others.reservations}.difference(beside):
        return f"reservation {min(new)} was made at the same time; ask again"
    return others.with_more(one)


def names_tried(base: str) -> Iterator[str]:
    """`base`, `base-2` and so on."""
    yield base
    yield from (f"{base}-{number}" for number in range(2, MOST_MADE + 2))


def is_past(begin: int, now: datetime) -> bool:
    return begin < after(now, -LATE).timestamp() * 1000


def reservations_of(kept: MemoryObject | None) -> tuple[ReservationMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, ReservationMemory, NO_RESERVATIONS, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: ReservationMemory) -> str:
    if len({one.said.name for one in found.reservations}) < len(found.reservations):
        return "it has a name twice"
    bad = next((one for one in found.reservations if not one.is_sound), None)
    return (
        "" if bad is None else f"{bad.said.name[:LONGEST_NAME]}: {said_problem(bad.said) or 'by is no name'}"
    )
