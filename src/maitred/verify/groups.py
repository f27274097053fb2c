"""Groups: pods that are one decision, how many of them are a quorum, and where the group is in a tree."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf

from .fields import Doc
from .objects import Cluster
from .pods import Pod
from .protection import NO_MARKS, Marks
from .selectors import Labels

PREEMPT = "PreemptLowerPriority"


@dataclass(eq=False)
class Group:
    """Pods that are one decision. `problems` make it Invalid; `doubts` may, where the rules leave it open.

    `priority` is what members and group agree on, `rank` what victims among them are worth, agreed or not.
    `evicted` are the members that the Plan makes leave: they run still, but count no more.
    """

    kind: str
    key: str
    members: list[Pod]
    quorum: int | None = 1
    missing: bool = False
    gang: bool = False
    loose: bool = False
    """A gang whose members go on without one that has left."""
    atomic: bool = False
    parent: str = ""
    marks: Marks = NO_MARKS
    priority: int | None = None
    rank: int | None = None
    ranked: bool = False
    """It states a priority, or a composite that it is in does."""
    at_odds: bool = False
    """It states none, and its members on nodes differ: each of them stands for itself."""
    preemption_policy: str = PREEMPT
    topology: str = ""
    preferred: tuple[str, ...] = ()
    slice_size: int = 0
    slice_topology: str = ""
    problems: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    evicted: set[str] = field(default_factory=set)
    inherited: dict[str, Labels] = field(default_factory=dict)
    """What the Jobs of its members say, by member."""
    removed: int = 0
    """Members that succeeded and whose pods are gone."""
    since: list[float] = field(default_factory=list)
    """When its members were created, its PodGroup, and the owners of its members."""
    held_back: str = ""
    """Why it may not start yet, by its own word; empty if it may."""
    due_by: float = inf
    """The deadline that it goes by among its equals, as far as that is known."""
    may_be_early: bool = False
    """It says so, and nobody says what time it is."""

    @property
    def size(self) -> int:
        return len(self.members) + self.removed

    @property
    def pending(self) -> list[Pod]:
        return [pod for pod in self.members if pod.pending]

    @property
    def running(self) -> list[Pod]:
        return [pod for pod in self.members if pod.running]

    @property
    def staying(self) -> list[Pod]:
        return [pod for pod in self.running if pod.key not in self.evicted]

    @property
    def active(self) -> list[Pod]:
        """The members that a decision is about: those that stay or are to be decided."""
        return self.staying + self.pending

    @property
    def succeeded(self) -> int:
        return sum(pod.succeeded for pod in self.members) + self.removed

    @property
    def counted(self) -> int:
        """Members that count for the quorum before anything is bound."""
        return len(self.staying) + self.succeeded

    @property
    def created(self) -> int:
        """Members that count for the quorum or could: Failed and terminating ones do not."""
        return self.counted + len(self.pending)

    @property
    def needed(self) -> int | None:
        """Members still to be seated for the quorum."""
        return None if self.quorum is None else self.quorum - self.counted

    @property
    def anew(self) -> int:
        """Members that the quorum takes where none runs yet."""
        return (self.quorum or 0) - self.succeeded

    @property
    def short(self) -> bool:
        """Whether fewer members exist than its quorum takes."""
        return self.quorum is not None and self.created < self.quorum

    def met(self, more: Collection[str] = ()) -> bool:
        """Whether it has its quorum with these members bound as well."""
        return self.quorum is not None and self.counted + len(more) >= self.quorum

    def tally(self, more: Collection[str]) -> tuple[int, int | None, int]:
        """What its entry in a Plan counts: members, quorum, and those that are placed with these bound."""
        return self.size, self.quorum, self.counted + len(more)

    @property
    def leaves(self) -> "list[Group]":
        """The PodGroups of a tree; of any other group, the group itself."""
        return [self]

    @property
    def gated(self) -> int:
        return sum(bool(pod.gates) for pod in self.pending)

    @property
    def barred(self) -> str:
        """Why none of its members may be seated yet, though nothing is missing."""
        return f"{self.gated} are gated" if self.gated else self.held_back

    def slice_of(self, pod: Pod) -> int:
        """The slice of a member: by index where all members have one in the same Job, else by place in member
        order.

        Members that are finished or terminating have no place: whoever replaces them takes it.
        """
        present = sorted(self.active, key=Pod.order)
        if all(member.index is not None and not member.job_index for member in present):
            return (pod.index or 0) // self.slice_size
        return [member.key for member in present].index(pod.key) // self.slice_size


def is_atomic(spec: Doc) -> bool:
    """Whether a group, or everything below a composite, is disrupted as a whole."""
    mode = spec.raw.get("disruptionMode")
    return mode == "PodGroup" or (isinstance(mode, dict) and mode.get("all") is not None)


def parent_of(key: str, spec: Doc) -> str:
    name = spec.text("parentCompositePodGroupName")
    return f"{key.partition('/')[0]}/{name}" if name else ""


def ancestors(cluster: Cluster, group: Group) -> dict[str, Doc]:
    """The composites above a group, nearest first, as far as they exist."""
    return {key: cluster.composites[key].doc("spec") for key in chain_above(cluster, group.parent)}


def chain_above(cluster: Cluster, key: str) -> list[str]:
    """A composite and those above it, as far as they exist."""
    found: list[str] = []
    while key in cluster.composites and key not in found:
        found.append(key)
        key = parent_of(key, cluster.composites[key].doc("spec"))
    return found


def by_pod(groups: Iterable[Group]) -> dict[str, Group]:
    return {pod.key: group for group in groups for pod in group.members}
