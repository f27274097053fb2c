"""What is remembered of groups, for those who explain and estimate. No decision reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maitred.model.plan import Eviction


@dataclass(frozen=True, slots=True)
class PastGroup:
    """A group as it came, started and ended; times are in seconds since 1970, None for what has not been."""

    group: str
    arrived: float
    started: float | None
    """When its quorum was first seated."""
    ended: float | None
    finished: bool
    """Whether it ended by itself; False too while it has not ended."""
    members: int
    quorum: int
    priority: int
    requests: tuple[tuple[str, int], ...]
    """Of one member, in the units of the engine; of the largest where they differ."""
    required: str = ""
    """The topology level that it has to be within."""


@dataclass(frozen=True, slots=True)
class PastEviction:
    at: float
    eviction: Eviction


@dataclass(frozen=True)
class History:
    """Nothing, where no ledger is kept."""

    since: float | None = None
    """From when on it is complete, in seconds since 1970."""
    groups: Sequence[PastGroup] = ()
    """In the order in which they came."""
    waits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of groups that wait: seconds for which each category was their first blocker."""
    evictions: Sequence[PastEviction] = ()


NO_HISTORY = History()
