"""What became of a write. Each is final but Unknown, which only another look can settle."""

from dataclasses import dataclass
from enum import StrEnum


class RefusalReason(StrEnum):
    """Why a write was refused: one stable word, for metrics and for decisions."""

    GONE = "Gone"
    REPLACED = "Replaced"
    """Another object has the name now."""
    BOUND_ELSEWHERE = "BoundElsewhere"
    DELETING = "Deleting"
    GATED = "Gated"
    BUDGET = "Budget"
    """A PodDisruptionBudget does not allow the eviction now."""
    STALE = "Stale"
    """The object is not as it was when the write was decided."""
    TAKEN = "Taken"
    """A volume is kept for another claim, or a name has an object already."""
    UNPREPARED = "Unprepared"
    """The claims of a pod did not get their volumes, so the pod was not sent to its node."""
    UNRECORDED = "Unrecorded"
    """What maitred has to remember of the object could not be written, so the object was left alone."""
    FORBIDDEN = "Forbidden"
    INVALID = "Invalid"


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod runs, or will run, on the node that was asked for."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """The pod still has no node. A bind whose answer was lost may land for another minute: a server gives a
    request up after that time."""


@dataclass(frozen=True, slots=True)
class Done:
    """The server holds what was asked for, whether this write or an earlier one did it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not done, and the same write will not be done later either."""

    why: RefusalReason
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer that tells: it may have been done, or may yet be."""

    message: str
