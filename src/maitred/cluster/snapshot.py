"""What a decision reads: the cluster at one moment, frozen and picklable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.devices.allocated import NOTHING_ALLOCATED, Allocated
from maitred.cluster.devices.inventory import NO_DEVICES, Inventory
from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.groupapi import NOT_KNOWN, GroupApi
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.parts import Parts, root_of
from maitred.cluster.volumes import StorageView, VolumeNeed
from maitred.model.booking import NO_BOOKINGS, BookingMemory
from maitred.model.budget import PodDisruptionBudget
from maitred.model.drain import ByNode, Drain
from maitred.model.group import Composite, Group
from maitred.model.healing import NO_WISH, FailureWish
from maitred.model.holding import NO_HOLDS, HoldMemory
from maitred.model.job import Job
from maitred.model.membership import GroupId
from maitred.model.memory import NO_MEMORY, HealthMemory
from maitred.model.needs import Needs
from maitred.model.node import Node
from maitred.model.objects import Object
from maitred.model.overrides import NO_OVERRIDES, Override, OverrideMemory
from maitred.model.pod import Pod
from maitred.model.policy import Workloads
from maitred.model.priority import PriorityClass
from maitred.model.protection import Protection
from maitred.model.provisioning import ProvisioningRequest
from maitred.model.queues import Payer
from maitred.model.reserving import NO_RESERVATIONS, ReservationMemory
from maitred.model.runtime import NO_STAY, NOT_SAID, Runtime, Stay
from maitred.model.selector import Labels
from maitred.model.spending import NO_SPENDING, SpendingMemory
from maitred.model.suspending import TopOwner
from maitred.model.usage import NO_USAGE, UsageMemory

if TYPE_CHECKING:
    from maitred.cluster.queues.balances import Balances
    from maitred.cluster.queues.book import QueueBook

T = TypeVar("T", bound=Object)
NAMESPACE_NAME = "kubernetes.io/metadata.name"
MemberOrder = tuple[int, float, str]
"""Index, creation time, name: the order in which the members of a group are seated."""
JOB_SPAN = 2**31
"""More than the indexes of one Job: the index of a member of a JobSet is its index in its Job, and so many
for each Job before that."""
NO_INDEX = JOB_SPAN**2


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
    devices: tuple[ClaimNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupRank:
    """The rank fields that a member carries, before priority classes are looked up."""

    priority: int | None
    class_name: str
    preemption_policy: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What counts when a pod on a node may have to go or will end, but for times, which each has its own."""

    rank: GroupRank
    scheduler: str
    protection: Protection
    runtime: Runtime = NOT_SAID
    on_failure: FailureWish = NO_WISH


class Occupant(msgspec.Struct, frozen=True, gc=False):
    """Who a pod on a node is, for whoever makes it leave. The collector has no business with it: there is one
    for each pod of the cluster."""

    key: str
    uid: str
    owner: tuple[str, str, str]
    """Kind, name and UID of its controller; empty if it has none."""
    claims: tuple[str, ...]
    labels: Labels = {}
    order: MemberOrder = (NO_INDEX, 0.0, "")
    """Among the members of its group."""


AS_USUAL = Workloads()
UNKNOWN_TIME = -1


@dataclass(frozen=True, slots=True)
class BoundPods:
    """The running load, one row per pod that holds a place on a node (terminating ones too)."""

    node: Codes
    needs: Codes
    labels: Codes
    terminating: Mask
    fixed: Mask
    """Belongs to its node: a DaemonSet's or a static pod."""
    standing: Codes
    group: Codes
    """Which of the seated groups; NO_GROUP for a lone pod."""
    budgets: Codes
    """Which set of budgets speaks of it."""
    controller: Codes
    """Which of the controllers made it; NO_CONTROLLER where its owner cannot be suspended."""
    payer: Codes
    """On whose account it runs."""
    stay: Codes
    """What is said above it of how long it may stay."""
    working: Mask
    """Has a container that runs, as its phase says."""
    bound_at: Ints
    """Since when it has its node, and so holds devices there,"""
    started: Ints
    """and since when its kubelet has it."""
    checkpoint: Ints
    due: Ints
    """By when it is to be gone, if it is terminating. All in milliseconds since 1970, or UNKNOWN_TIME."""
    grace: Ints
    """How long it was given to leave, if it is terminating, in milliseconds."""
    step: NDArray[np.float64]
    """How long its last step took, as it says itself; 0 if it says nothing that can be read."""
    occupants: NDArray[np.object_]
    """An Occupant each."""

    def where(self, chosen: "Mask | NDArray[np.intp]") -> "BoundPods":
        """Some of the pods, by a mask or by their places."""
        return BoundPods(*(getattr(self, column)[chosen] for column in self.__slots__))

    def joined_by(self, node: Codes, needs: Codes, labels: Codes, payer: Codes) -> "BoundPods":
        """With more pods of which nothing else is known, so that none can be made to leave."""
        nobody = np.full(len(node), NO_GROUP, dtype=np.int32)
        more = {"node": node, "needs": needs, "labels": labels, "group": nobody, "controller": nobody}
        more |= {"payer": payer, "fixed": np.ones(len(node), dtype=np.bool_)}
        more |= dict.fromkeys(("bound_at", "started"), np.full(len(node), UNKNOWN_TIME, dtype=np.int64))
        columns = []
        for name in self.__slots__:
            column = getattr(self, name)
            added = more.get(name, np.full(len(node), None if column.dtype == object else 0, column.dtype))
            columns.append(np.concatenate((column, added)))
        return BoundPods(*columns)


NO_GROUP = -1
NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class Controller:
    """Whoever made some pods, if it is of a kind that can be suspended, or is below such an owner."""

    namespace: str
    kind: str
    name: str
    uid: str
    top: TopOwner | None = None
    """The owner that is suspended to make its pods leave; None: they are deleted."""

    def under(self, top: TopOwner | None) -> "Controller":
        return replace(self, top=top)


@dataclass(frozen=True, slots=True)
class SeatedGroup:
    """A group that has members on nodes, whether or not others wait."""

    group: Group
    counted: int
    """Members that run or have succeeded."""
    ranks: tuple[GroupRank, ...]
    """Of its members on nodes."""
    runtime: Runtime = NOT_SAID
    failed: int = 0
    """Members that have failed, and whose pods are still there."""


@dataclass(frozen=True, slots=True)
class RunningMember:
    order: MemberOrder
    node: int


@dataclass(frozen=True, slots=True)
class LaterMembers:
    """Pods that the owner of a group creates once the group is scheduled or ready: it is seated only where
    there is room for them too. None of them is there."""

    shapes: tuple[int, ...]
    orders: tuple[MemberOrder, ...]
    parts: Parts
    """The members of the group that wait, and these after them, as parts of one tree."""
    groups: tuple[tuple[str, int], ...]
    """The groups that they will be in, and how many of them."""


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
    """Of pods that would take their places: with resource claims that are made anew."""
    members: int
    succeeded: int
    created: float
    """When the first of its members, its PodGroup or an owner of theirs was created: its age in the order."""
    arrived: float
    """When the first of its members was."""
    ranks: tuple[GroupRank, ...]
    schedulers: tuple[str, ...]
    pending_schedulers: tuple[str, ...]
    payer: Payer
    """On whose account it would run: that of its first pending member."""
    nominated: tuple[str, ...] = ()
    """The node that each pending member was promised; all empty when none was."""
    claims: tuple[tuple[str, ...], ...] = ()
    """The claims that each pending member mounts, in the order of the volumes of its shape; all empty when
    none has any."""
    device_claims: tuple[tuple[str, ...], ...] = ()
    """The resource claims of each pending member, in the order of the devices of its shape; all empty when
    none has any."""
    made_shapes: tuple[int, ...] = ()
    """The shapes of pending members once claims that are not made yet are made; empty if all are."""
    runtime: Runtime = NOT_SAID
    """Of the group, or of its members."""
    owner: str = ""
    """What somebody wrote that all pending members are made from: a Job, or the JobSet above it. Empty if
    there is no such object, or more than one."""
    overruled: str = ""
    """What says something else of the group, and does not count."""
    parts: Parts | None = None
    """Of a tree of groups: which members are in which part of it."""
    members_by_leaf: tuple[int, ...] = ()
    later: LaterMembers | None = None
    """Pods that are not created yet, for which there must be room too."""
    kept_from: float | None = None
    """Room is kept for the group, as pods of its owner that come before it have their places: since when they
    have, or infinity where that is not known. None if no room is kept."""
    owned_by: str = ""
    """The kind and the key of the owner, if it creates pods once others are scheduled or ready."""
    source: tuple[str, str, str] = ("", "", "")
    """The id by which the state knows it."""
    account: int = NO_ACCOUNT
    """The number of the account in the book of queues, if there is one."""
    scavenges: bool = False
    """Its members run without paying, so that those who come join them."""
    wishes: tuple[FailureWish, ...] = ()
    """What its members ask for if hardware fails under them."""
    leaving_shapes: tuple[int, ...] = ()
    """Of members on nodes that are on their way out: others like them may come in their places."""
    any_model: bool = False
    """Its members may be on devices of different models."""
    override: Override | None = None
    """What lifts it past the turn and the limits of its queue in this decision."""

    def is_on(self, account: int, scavenges: bool) -> bool:
        return self.account == account and self.scavenges == scavenges

    def on_account(self, account: int, scavenges: bool) -> "GroupView":
        """The same on an account. A cycle may ask it of every group, and `replace` takes twice as long."""
        values = [*_values_of(self)]
        values[_ACCOUNT], values[_SCAVENGES] = account, scavenges
        return GroupView(*values)

    @property
    def coming(self) -> int:
        """Pods that are not created yet, for which there must be room too."""
        return 0 if self.later is None else len(self.later.shapes)

    @property
    def tree(self) -> Parts | None:
        """What is decided as one: the parts of a tree, or the group with what comes later."""
        return self.parts if self.later is None else self.later.parts

    @property
    def missing(self) -> int:
        """Members that still must be seated for the quorum; of a tree, at least so many."""
        if self.parts is not None:
            return self.parts.lacking()
        return max(0, self.group.quorum - len(self.running) - self.succeeded)


_FIELDS = [one.name for one in fields(GroupView)]
_ACCOUNT, _SCAVENGES = _FIELDS.index("account"), _FIELDS.index("scavenges")
_values_of = attrgetter(*_FIELDS)


@dataclass(frozen=True, slots=True)
class ReportedPod:
    """A pod of which something is reported that may be a fault. Of the pod only that is kept."""

    pod: Pod
    index: int
    """Of the member in its group; NO_INDEX if it has none."""
    owned: bool
    """It has a controller, which makes another one in its place."""


@dataclass(frozen=True, slots=True)
class Reports:
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """Nodes that tell of trouble, by name."""
    pods: Mapping[GroupId, tuple[ReportedPod, ...]] = field(default_factory=dict)
    """Pods that do, by the groups that they are recorded with."""

    def __bool__(self) -> bool:
        return bool(self.nodes or self.pods)


NOTHING_REPORTED = Reports()


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
    awaited: tuple[GroupView, ...] = ()
    """Groups of which no pod is there that waits, and for which room is kept."""
    hurt: tuple[GroupView, ...] = ()
    """Groups of which no pod waits, and of which something may have failed."""
    reports: Reports = NOTHING_REPORTED
    memory: HealthMemory = NO_MEMORY
    usage: UsageMemory = NO_USAGE
    unread_usage: str = ""
    """What is wrong with what is remembered of use, if that cannot be read."""
    overrides: OverrideMemory = NO_OVERRIDES
    unread_overrides: str = ""
    """What is wrong with them, if they cannot be read."""
    spending: SpendingMemory = NO_SPENDING
    unread_spending: str = ""
    """The same of budgets."""
    holds: HoldMemory = NO_HOLDS
    unread_holds: str = ""
    """And of places that are held for groups that wait."""
    bookings: BookingMemory = NO_BOOKINGS
    unread_bookings: str = ""
    reservations: ReservationMemory = NO_RESERVATIONS
    """Those that somebody has made, beside those of the policy."""
    unread_reservations: str = ""
    drains: tuple[Drain, ...] = ()
    unread_drains: tuple[str, ...] = ()
    """What is wrong with requests that count for nothing."""
    drained: ByNode = field(default_factory=dict)
    """Nodes that are to be emptied: they take no new pods."""
    cordoned: frozenset[int] = frozenset()
    """Those of them that are cordoned already, for every scheduler."""
    leaving: tuple[GroupView, ...] = ()
    """Groups with members on these nodes, and pods on their own, whether or not others of them wait."""
    away: tuple[GroupView, ...] = ()
    """Groups that were told to leave, as they were before: nobody of them runs or waits."""
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    storage: StorageView = field(default_factory=StorageView)
    claims_in_use: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Claims that running pods mount, and the rows of their nodes."""
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    composites: Mapping[str, Composite] = field(default_factory=dict)
    standings: tuple[Standing, ...] = ()
    payers: tuple[Payer, ...] = ()
    """By the numbers that pods on nodes have."""
    stays: tuple[Stay, ...] = (NO_STAY,)
    """So are these."""
    seated: tuple[SeatedGroup | None, ...] = ()
    controllers: tuple[Controller | None, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    budget_sets: tuple[tuple[int, ...], ...] = ((),)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    workloads: Workloads = AS_USUAL
    """What the policy says of workloads, by which pods were put into groups."""
    operated: Mapping[type[Object], Mapping[str, Object]] = field(default_factory=dict)
    """Objects of operators and of other schedulers, by kind and key; kinds of which there are none are left
    out."""
    provisioning: Mapping[str, ProvisioningRequest] = field(default_factory=dict)
    """For groups that wait: how an autoscaler was asked for nodes,"""
    newcomers: Mapping[str, int] = field(default_factory=dict)
    """and nodes that were made since the first of them, with when that was, in milliseconds since 1970."""
    group_api: GroupApi = NOT_KNOWN
    device_classes: Mapping[str, str] = field(default_factory=dict)
    """Resources that devices can be asked for by, and the class that each stands for."""
    inventory: Inventory = NO_DEVICES
    allocated: Allocated = NOTHING_ALLOCATED
    book: "QueueBook | None" = None
    """The queues of the policy, if it has any, and who is in which."""
    balances: "Balances | None" = None
    """What they may still spend, if any of them has a budget."""

    def tree_of(self, group: Group) -> str:
        """The name that a group is decided under: its own, or that of the tree that it is in."""
        return root_of(group.parent, self.composites) if group.parent else group.key

    def seated_whole(self) -> dict[str, bool]:
        """Groups with members on nodes, by the names that they are decided under, and whether they have their
        quorum; of a tree, whether all parts have theirs that run at all."""
        found = dict[str, bool]()
        for one in self.seated:
            if one is not None:
                key = self.tree_of(one.group)
                found[key] = found.get(key, True) and one.counted >= one.group.quorum
        return found

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """A Job, or an object of an operator or of another scheduler. With a UID: this one, and no other."""
        table: Mapping[str, Object] = self.jobs if kind is Job else self.operated.get(kind, {})
        found = table.get(key)
        if not isinstance(found, kind) or (uid and found.metadata.uid not in ("", uid)):
            return None
        return found

    def namespace_labels(self, name: str) -> Labels:
        """The labels of a namespace; its name is one of them, whether its object is known or not."""
        return self.namespaces.get(name) or {NAMESPACE_NAME: name}
