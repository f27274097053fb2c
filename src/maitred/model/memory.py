"""What maitred must remember of failures: kept in one object of its own namespace, where no tenant can write.

It is a ConfigMap with the label `maitred.dev/record: health`. A decision reads it like any other object, and
its Plan has what is to be remembered from now on. What cannot be read is as if it were not there: then only
what the cluster shows is known.
"""

from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec

from maitred.model.healing import FailureRule
from maitred.model.meta import Lean, Timestamp
from maitred.model.objects import Object

HOME = "maitred-system"
"""Where a dump has the objects of maitred. The scheduler that runs knows its own namespace."""
MEMORY = "maitred-health"
CONTENT = "record"
MOST_INCIDENTS, MOST_OF_NAMESPACE, MOST_SCORES = 500, 100, 1_000
LONGEST = 900_000
"""Characters. An API server takes objects of a little more than a megabyte."""
Name = Annotated[str, msgspec.Meta(max_length=512)]
M = TypeVar("M")


class Incident(Lean, frozen=True, omit_defaults=False):
    """Something failed under a group, and what was decided about it."""

    group: Name
    """As it is decided,"""
    source: tuple[Name, Name, Name]
    """and as the state knows it: what it comes from, its key, the UID of its owner."""
    begun: Timestamp
    rule: FailureRule
    family: Name
    words: str
    """What failed, for people."""
    since: Timestamp | None = None
    """Since when it is broken, where anything says so."""
    pods: tuple[Name, ...] = ()
    """The members that were lost, by `namespace/name`,"""
    uids: tuple[Name, ...] = ()
    """by their UIDs,"""
    nodes: tuple[Name, ...] = ()
    """and their nodes; those too on which members were refused or ended."""
    had: int | None = None
    """How many members there were: room is kept for no more than these, as long as others are not created."""
    held_until: Timestamp | None = None
    """How long room is kept for those that take their places."""
    youngest: Timestamp | None = None
    """When the last of its members was created, if all of them are started anew: those that came later are
    not stopped again."""
    devices: int = 0
    """What all its members have or ask for, which is of no use while its quorum does not work."""
    ended: Timestamp | None = None
    how: str = ""
    """How it ended, for people;"""
    is_whole: bool = False
    """whether with the quorum at work."""

    @property
    def is_open(self) -> bool:
        return self.ended is None


class CountedFault(Lean, frozen=True):
    """A fault that was counted, so that it is not counted again while it lasts."""

    what: Name
    at: Timestamp
    """When it was counted last,"""
    weight: float = 0.0
    """and as how much of a failure."""
    device: Name = ""
    over: bool = False
    """It was not there any more when it was looked at last."""


class NodeScore(Lean, frozen=True, omit_defaults=False):
    """How often a node has failed, where older failures count for less."""

    node: Name
    score: float
    at: Timestamp
    """When it was so much: it failed then, for the last time."""
    evidence: tuple[str, ...] = ()
    """The last failures, in words; the latest comes last."""
    tainted: bool = False
    """Whether maitred has tainted it."""
    lemon_since: Timestamp | None = None
    """Since when it is a lemon, if it is one."""
    hour: Timestamp | None = None
    """When the hour began in which all that is seen counts as one failure,"""
    counted: float = 0.0
    """and how much that counts so far."""
    faults: tuple[CountedFault, ...] = ()
    devices: tuple[tuple[Name, float], ...] = ()
    """The devices that have failed, each with a score of its own."""


class HealthMemory(Lean, frozen=True, omit_defaults=False):
    incidents: tuple[Incident, ...] = ()
    scores: tuple[NodeScore, ...] = ()

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NO_MEMORY = HealthMemory()


class MemoryObject(Object, frozen=True):
    """A ConfigMap. Of all that there are, only one is read."""

    data: dict[str, str] = {}


def remembered(
    kept: MemoryObject | None, type: type[M], nothing: M, unsound: Callable[[M], str] = lambda _: ""
) -> tuple[M, str]:
    """What a record says, and what is wrong with it if it cannot be read: then it says `nothing`."""
    text = "" if kept is None else kept.data.get(CONTENT, "")
    if not text:
        return nothing, ""
    if len(text) > LONGEST:
        return nothing, f"it has more than {LONGEST} characters"
    try:
        found = msgspec.json.decode(text, type=type)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return nothing, str(error)[:200]
    problem = unsound(found)
    return (nothing, problem) if problem else (found, "")


def memory_of(kept: MemoryObject | None) -> HealthMemory:
    return remembered(kept, HealthMemory, NO_MEMORY)[0]
