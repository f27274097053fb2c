"""What is said of when a group will start."""

from typing import Literal

from maitred.model.plan import Record
from maitred.model.policy import API_VERSION

Basis = Literal["known", "history", "none"]


class Estimate(Record, frozen=True):
    """A range of moments, in RFC 3339, and what it rests on. It is no promise."""

    api_version: str = API_VERSION
    kind: str = "Estimate"
    group: str = ""
    earliest: str | None = None
    """None where it is not known whether it will ever start."""
    likely: str | None = None
    latest: str | None = None
    """None where nobody can say by when it will have started."""
    basis: Basis = "none"
    """The run times that groups say, or those of earlier groups, too; or nothing."""
    assumptions: tuple[str, ...] = ()
    words: str = ""


class Shift(Record, frozen=True):
    """A group that starts at another time if room is held for the large one."""

    group: str
    as_now: str
    holding: str
    hours: float
    """By how much it starts later; earlier if below zero."""


class Orders(Record, frozen=True):
    """Two futures of one cluster: with small groups going first as they do, and with freed room held for one
    large group until it starts."""

    api_version: str = API_VERSION
    kind: str = "Orders"
    group: str = ""
    as_now: str | None = None
    """When it starts if others, who come after it in the order, take what room they find."""
    holding: str | None = None
    """When it starts if none of them may take the places that it will have."""
    gained_hours: float | None = None
    idle_device_hours: float = 0.0
    """Devices that stand idle for it, more than otherwise, from now until it starts."""
    shifted: tuple[Shift, ...] = ()
    """Other groups that wait now and start at another time."""
    unknown: tuple[str, ...] = ()
    """Other groups that wait now and start as things go, but nobody can say when if room is held: the large
    one may run for ever, as far as anybody knows."""
    newcomers: int = 0
    """Groups that are taken to come and to start before it, as they came lately, if they may."""
    assumptions: tuple[str, ...] = ()
    words: str = ""
