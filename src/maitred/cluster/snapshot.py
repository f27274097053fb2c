"""What a decision reads: the cluster at one moment, frozen and picklable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.volumes import StorageView, VolumeNeed
from maitred.model.group import CompositePodGroup, Group
from maitred.model.needs import Needs
from maitred.model.priority import PriorityClass
from maitred.model.selector import Labels

NAMESPACE_NAME = "kubernetes.io/metadata.name"
MemberOrder = tuple[int, float, str]
"""Index, creation time, name: the order in which the members of a group are seated."""


@dataclass(frozen=True, slots=True)
class LabelClass:
    """A namespace and the labels of a pod, as far as some live selector reads them."""

    namespace: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a pod that scheduling looks at; `needs` and `labels` number interned values."""

    needs: int
    labels: int
    volumes: tuple[VolumeNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundPods:
    """The running load, one row per pod that holds a place on a node (terminating ones too)."""

    node: Codes
    needs: Codes
    labels: Codes
    terminating: Mask
    fixed: Mask
    """Belongs to its node: a DaemonSet's or a static pod."""


@dataclass(frozen=True, slots=True)
class RunningMember:
    order: MemberOrder
    node: int


@dataclass(frozen=True, slots=True)
class GroupRank:
    """The rank fields that a member carries, before priority classes are looked up."""

    priority: int | None
    class_name: str
    preemption_policy: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group with members to decide, and what is known of the others."""

    group: Group
    pods: tuple[str, ...]
    uids: tuple[str, ...]
    orders: tuple[MemberOrder, ...]
    shapes: Codes
    gates: tuple[tuple[str, ...], ...]
    """Scheduling gates of each pending member; all empty when nothing is gated."""
    running: tuple[RunningMember, ...]
    running_shapes: Codes
    members: int
    succeeded: int
    created: float
    ranks: tuple[GroupRank, ...]
    schedulers: tuple[str, ...]
    pending_schedulers: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Members that still must be seated for the quorum."""
        return max(0, self.group.quorum - len(self.running) - self.succeeded)


@dataclass(frozen=True)
class Snapshot:
    nodes: NodeView
    used: Ints
    fixed: Ints
    """The part of `used` that belongs to the nodes themselves."""
    bound: BoundPods
    needs: tuple[Needs, ...]
    classes: tuple[LabelClass, ...]
    classes_with: Mapping[tuple[str, str], Sequence[int]]
    """Label -> the classes that have it; later ones too, which this snapshot does not know."""
    shapes: tuple[Shape, ...]
    groups: tuple[GroupView, ...]
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    storage: StorageView = field(default_factory=StorageView)
    claims_in_use: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Claims that running pods mount, and the rows of their nodes."""
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    composites: Mapping[str, CompositePodGroup] = field(default_factory=dict)

    def namespace_labels(self, name: str) -> Labels:
        """The labels of a namespace; its name is one of them, whether its object is known or not."""
        return self.namespaces.get(name) or {NAMESPACE_NAME: name}
