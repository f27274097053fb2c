"""The answers: who leaves the nodes of a request, or makes room for others, when, where to, at what cost."""

from typing import Literal

from maitred.model.plan import Blocker, Record
from maitred.model.policy import API_VERSION

Leaving = Literal["now", "later", "deadline", "stays"]
"""`deadline`: at the last moment, because there is no place for it, or because budgets do not allow it."""


class PlannedMove(Record, frozen=True):
    """Pods that leave together."""

    unit: str
    pods: int
    there: int
    """How many of them are on nodes that are drained."""
    whole: bool
    """They leave together, as a gang or because of their owner."""
    priority: int
    leaves: Leaving
    at: str | None
    """When, as far as that is known; None for what stays."""
    why: str
    last: str
    """The last moment, at which it leaves whatever is said here."""
    work_lost_device_hours: float
    """What is lost if it leaves then,"""
    work_lost_now: float
    """and if it left now."""
    departure: str
    """How it leaves, and what that does to its owner."""
    fits: bool
    """There is a place for it on other nodes."""
    members: int = 0
    """For how many of its members there is one."""
    to: dict[str, int] = {}
    """Nodes, and how many members on each, as the cluster is now."""
    blockers: tuple[Blocker, ...] = ()
    """What is in the way of a place."""
    help: tuple[str, ...] = ()
    """What would give it one."""
    budgets: tuple[str, ...] = ()
    """PodDisruptionBudgets that allow fewer disruptions than this."""
    protection: str = ""
    """What would protect it from preemption; it leaves all the same."""
    unowned: tuple[str, ...] = ()
    """Pods of it that nobody makes anew."""


class DrainPlan(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "DrainPlan"
    name: str = ""
    where: str = ""
    now: str = ""
    by: str = ""
    nodes: tuple[str, ...] = ()
    moves: tuple[PlannedMove, ...] = ()
    """In the order in which they leave."""
    fixed: int = 0
    """Pods that belong to the nodes and stay: those of DaemonSets, and static ones."""
    leaving: int = 0
    """Pods that are being deleted already."""
    pods: int = 0
    work_lost_device_hours: float = 0.0
    all_fit: bool = True
    warnings: tuple[str, ...] = ()


class DrainStatus(Record, frozen=True):
    """How far a request is."""

    name: str
    where: str
    by: str
    state: Literal["waiting", "draining", "done"]
    left: int
    moved: int
    """Pods that were told to leave."""
    work_lost_device_hours: float
    words: str
    staying: tuple[str, ...] = ()


class DrainList(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "DrainList"
    requests: tuple[DrainStatus, ...] = ()


class MadeRoom(Record, frozen=True):
    """Room for one group that waits: who moves for it, all together."""

    group: str
    members: int
    """That would start,"""
    devices: int
    """and what they would use; 0 in a cluster without devices."""
    alike: int
    """Groups more that ask for the same."""
    units: tuple[str, ...]
    """Groups that move whole, or pods; empty where no move helps."""
    leaves: Leaving
    why: str
    at: str | None = None
    """When they move, as far as that is known; None if they do not."""
    pods: int = 0
    work_lost_device_hours: float = 0.0
    """What is lost if they move then."""
    to: dict[str, int] = {}
    """Nodes, and how many of their pods on each, as the cluster is now."""


class DefragPlan(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "DefragPlan"
    name: str = ""
    now: str = ""
    by: str = ""
    rooms: tuple[MadeRoom, ...] = ()
    """What would start most devices first."""
