"""What a cycle looks at, and what is known before it begins: all that a decision takes besides the cluster,
the policy and the time."""

from collections.abc import Container, Mapping, Set
from dataclasses import dataclass, field

from maitred.decide.ask import Assignment
from maitred.model.rotation import Rotation


@dataclass(frozen=True, slots=True)
class Scope:
    """Which groups are decided, and how much is found out about them."""

    scheduler: str | None = None
    """Only groups with waiting pods that name this scheduler; None for all."""
    groups: Container[str] | None = None
    """Only those whose result may have changed since they were last decided; None for all."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """By group, what the policy's order goes by where the API does not say it, such as the run time that is
    left."""
    explained: Container[str] | None = None
    """The groups of which the Plan says what is in the way; None for all. To find that out takes longer than
    to find seats."""
    explainable: bool = False
    """Whether the others may be explained after the cycle, as if they had been in it. For that the cycle
    keeps copies of what some groups saw in their turns."""
    rotation: Rotation | None = None
    """How much is done in all, and who comes first; groups that the cycle does not get to wait with the
    blocker `Backoff`. None: no limit."""


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class KnownResults:
    """What an earlier cycle has shown: these groups need not be tried again to know what becomes of them."""

    waiting: Set[str] = frozenset()
    """Groups that find no seats."""
    seats: Mapping[str, Assignment] = field(default_factory=dict)
    """Groups that find these seats."""
    as_others: bool = False
    """A group that asks for the same as one that found nothing finds nothing either. This tells how groups
    stand, and not what is in their way."""


NOTHING_KNOWN = KnownResults()
