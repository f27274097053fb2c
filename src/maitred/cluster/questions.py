"""What others ask of the state, between changes: single answers, and the snapshot that `decide` reads."""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import Generic, NamedTuple, TypeVar

from maitred.cluster.draining import (
    asked_to_move,
    away_views,
    closed,
    cordoned_rows,
    drained_rows,
    leaving_groups,
    views_of_lone,
)
from maitred.cluster.groupapi import GroupMakers
from maitred.cluster.members import GroupRecord, State
from maitred.cluster.news import Ends, News
from maitred.cluster.nodes import Ints, NodeView
from maitred.cluster.pods import PodTable
from maitred.cluster.settling import Settling
from maitred.cluster.snapshot import BoundPods, GroupView, Snapshot
from maitred.cluster.tables import Tables, labels_of
from maitred.cluster.trees import Trees
from maitred.cluster.volumes import StorageView
from maitred.model.booking import BOOKINGS, BookingMemory, bookings_of
from maitred.model.devices.classes import DeviceClass, class_of_resources
from maitred.model.drain import ByNode, drains_of
from maitred.model.holding import HOLDS, HoldMemory, holds_of
from maitred.model.job import Job
from maitred.model.membership import POD_GROUP, GroupId, sorting_key
from maitred.model.memory import HOME, MEMORY, HealthMemory, MemoryObject, memory_of
from maitred.model.objects import Namespace, Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.overrides import OVERRIDES, OverrideMemory, overrides_of
from maitred.model.policy import Workloads
from maitred.model.priority import PriorityClass
from maitred.model.provisioning import ProvisioningRequest, asked_at, asked_for
from maitred.model.reserving import RESERVATIONS, ReservationMemory, reservations_of
from maitred.model.spending import BUDGETS, SpendingMemory, spending_of
from maitred.model.suspending import TopOwner
from maitred.model.usage import USAGE, UsageMemory, usage_of

T = TypeVar("T", bound=Object)
K = TypeVar("K")
"""Of what an object says."""


class GroupPod(NamedTuple):
    pod: str
    on_node: bool
    """Or taken as being there."""
    scheduler: str


class PlacedPod(NamedTuple):
    uid: str
    scheduler: str
    owned: bool
    """It has a controller, which makes another one in its place."""
    working: bool
    """Has a container that runs, as its phase says."""


class MemoryReader(Generic[K]):
    """What one object of maitred's own says. It is read when it has changed, not for every snapshot."""

    def __init__(self, name: str, read: Callable[[MemoryObject | None], K]) -> None:
        self._key, self._read = f"{HOME}/{name}", read
        self._last: MemoryObject | None = None
        self._known = read(None)

    def of(self, kept: Mapping[str, MemoryObject]) -> K:
        found = kept.get(self._key)
        if found is not self._last:
            self._last, self._known = found, self._read(found)
        return self._known


class StateQuestions:
    """The tables of the state, as far as they are read. `ClusterState` is what changes them."""

    def __init__(self, ends: Ends | None, workloads: Workloads, waits_for_owners: bool) -> None:
        self.news = News()
        self._tables = Tables()
        self._node_created = dict[str, int]()
        """In milliseconds since 1970."""
        self._settling = Settling(self._tables, workloads, waits_for_owners)
        self._trees = Trees()
        self._pods = PodTable(self._tables, self._settling, self._trees, self.news, ends, waits_for_owners)
        self.group_makers = GroupMakers()
        self._health, self._usage = MemoryReader(MEMORY, memory_of), MemoryReader(USAGE, usage_of)
        self._overrides = MemoryReader(OVERRIDES, overrides_of)
        self._spending = MemoryReader(BUDGETS, spending_of)
        self._holds = MemoryReader(HOLDS, holds_of)
        self._bookings = MemoryReader(BOOKINGS, bookings_of)
        self._reservations = MemoryReader(RESERVATIONS, reservations_of)

    @property
    def version(self) -> int:
        """Grows with every change of pods, groups and nodes that a snapshot would show."""
        return self.news.version

    # -- pods ------------------------------------------------------------------------------------------

    def group_of(self, pod: str) -> GroupId | None:
        """The group that a pod is decided with, if it is in one: that of its tree, where it is in one."""
        member = self._pods.members.get(pod)
        return None if member is None else self._pods.id_of(member)

    def group_key(self, pod: str) -> str:
        """`namespace/name` of the group of a pod; a lone pod is a group of one, called like the pod."""
        group = self.group_of(pod)
        return pod if group is None else group.key

    def part_of(self, pod: str) -> str:
        """The PodGroup of a pod in a tree, and else its group; empty for a pod on its own."""
        member = self._pods.members.get(pod)
        id = None if member is None else member.settled.id
        return "" if id is None else id.key

    def tree_of(self, group: str) -> str:
        """The tree that a PodGroup is in; empty for one that has no parent."""
        found = self._trees.id_of(GroupId(POD_GROUP, group))
        return "" if found.source == POD_GROUP else found.key

    def scheduler_of(self, pod: str) -> str:
        """The scheduler that a pod names; empty if there is no such pod."""
        member = self._pods.members.get(pod)
        return "" if member is None else member.standing.scheduler

    def placed(self, pod: str) -> PlacedPod | None:
        """A pod that is on a node, or taken as being there, and was not told to leave."""
        member = self._pods.members.get(pod)
        if member is None or member.state is not State.RUNNING:
            return None
        owned = bool(member.occupant.owner[0])
        return PlacedPod(member.uid, member.standing.scheduler, owned, member.working)

    def unfinished_in(self, group: str) -> list[GroupPod]:
        """The pods of a PodGroup that have not finished."""
        record = self._pods.groups.get(GroupId(POD_GROUP, group))
        members = () if record is None else record.members.values()
        return [
            GroupPod(one.key, bool(one.node), one.standing.scheduler)
            for one in members
            if one.state <= State.LEAVING
        ]

    def top_owner(self, pod: str) -> TopOwner | None:
        """The owner that is suspended to make an unfinished pod leave; None: the pod is deleted."""
        member = self._pods.members.get(pod)
        if member is None or member.state > State.LEAVING:
            return None
        return self._pods.controllers.top_owner(member.controller)

    # -- objects ---------------------------------------------------------------------------------------

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """An object that says which group pods are in. With a UID: this one, and no other of its name."""
        return self._settling.find(kind, key, uid)

    def workload_of(self, owner: Object) -> KueueWorkload | None:
        """The Workload by which Kueue says whether this owner may run; None if it is not Kueue's."""
        return self._pods.controllers.workload_of(owner)

    # -- room ------------------------------------------------------------------------------------------

    def fits_where_it_is(self, pod: str) -> bool:
        """Whether the node that a pod is seated on has all that it takes, with everyone else who is there."""
        return self._pods.seats.fits_where_it_is(self._pods.members[pod])

    def has_room_for(self, places: Mapping[str, str]) -> bool:
        """Whether these pods, which wait, could all be on these nodes, as far as amounts go."""
        return self._pods.seats.has_room_for(places, self._pods.members)

    def free(self) -> Ints:
        """What is left of every resource on every node."""
        left: Ints = self.nodes.allocatable - self._pods.seats.nodes.load()[0]
        return left

    @property
    def nodes(self) -> NodeView:
        return self._pods.seats.nodes.view()

    @property
    def storage(self) -> StorageView:
        return self._pods.claims.storage()

    @property
    def memory(self) -> HealthMemory:
        """What is remembered of failures."""
        return self._health.of(self._tables[MemoryObject])

    @property
    def usage(self) -> UsageMemory:
        """What is remembered of what queues use."""
        return self._usage.of(self._tables[MemoryObject])[0]

    @property
    def overrides(self) -> OverrideMemory:
        """Groups that somebody has lifted past their queues."""
        return self._overrides.of(self._tables[MemoryObject])[0]

    @property
    def spending(self) -> SpendingMemory:
        """What is remembered of what queues have spent."""
        return self._spending.of(self._tables[MemoryObject])[0]

    @property
    def holds(self) -> HoldMemory:
        """What is remembered of places that are held for groups that wait."""
        return self._holds.of(self._tables[MemoryObject])[0]

    @property
    def bookings(self) -> BookingMemory:
        """What is remembered of starts that were promised."""
        return self._bookings.of(self._tables[MemoryObject])[0]

    @property
    def reservations(self) -> ReservationMemory:
        """Those that somebody has made beside the policy."""
        return self._reservations.of(self._tables[MemoryObject])[0]

    # -- everything ------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        pods, seats, tables = self._pods, self._pods.seats, self._tables
        pods.look_for_later()
        pods.renumber()
        storage = self.storage
        budgets, budget_sets = seats.budgets.view()
        groups, awaited = self._views(storage)
        memory = self.memory
        hurt = self._hurt(storage, memory)
        device_classes = class_of_resources(tables[DeviceClass])
        inventory, (used, fixed) = pods.devices.inventory.view(), seats.nodes.load()
        nodes = self.nodes.beside_claims(frozenset(device_classes), lambda: inventory.instead_of_plugins)
        drains, unread_drains = drains_of(tables[MemoryObject].values())
        drained, bound = drained_rows(nodes, drains), seats.bound.view()
        leaving = self._leaving(bound, drained, asked_to_move(drains), storage)
        away = tuple(away_views(pods, self._trees, drains, storage))
        provisioning = asked_for([view.group.key for view in groups], tables[ProvisioningRequest])
        return Snapshot(
            nodes=closed(nodes, drained),
            used=used,
            fixed=fixed,
            bound=bound,
            needs=tuple(pods.interner.needs),
            classes=tuple(pods.interner.classes),
            classes_with=pods.interner.classes_with,
            shapes=tuple(pods.interner.shapes),
            groups=groups,
            awaited=awaited,
            hurt=hurt,
            reports=pods.reports.view(),
            memory=memory,
            usage=self.usage,
            unread_usage=self._usage.of(tables[MemoryObject])[1],
            overrides=self.overrides,
            unread_overrides=self._overrides.of(tables[MemoryObject])[1],
            spending=self.spending,
            unread_spending=self._spending.of(tables[MemoryObject])[1],
            holds=self.holds,
            unread_holds=self._holds.of(tables[MemoryObject])[1],
            bookings=self.bookings,
            unread_bookings=self._bookings.of(tables[MemoryObject])[1],
            reservations=self.reservations,
            unread_reservations=self._reservations.of(tables[MemoryObject])[1],
            drains=drains,
            unread_drains=unread_drains,
            drained=drained,
            cordoned=cordoned_rows(nodes, drained),
            leaving=leaving,
            away=away,
            namespaces={name: labels_of(item) for name, item in tables[Namespace].items()},
            storage=storage,
            claims_in_use=pods.claims.in_use(),
            priority_classes=dict(tables[PriorityClass]),
            composites=dict(self._trees.composites),
            standings=pods.intake.standings,
            payers=seats.payers.view(),
            stays=seats.stays.view(),
            seated=seats.groups.view(),
            controllers=pods.controllers.view(),
            budgets=budgets,
            budget_sets=budget_sets,
            jobs=dict(tables[Job]),
            workloads=self._settling.workloads,
            operated=tables.operated(),
            provisioning=provisioning,
            newcomers=self._newcomers(provisioning.values()),
            group_api=self.group_makers.view(),
            device_classes=device_classes,
            inventory=inventory,
            allocated=pods.devices.allocated.view(),
        )

    def _newcomers(self, requests: Collection[ProvisioningRequest]) -> Mapping[str, int]:
        times = [asked for one in requests if (asked := asked_at(one)) is not None]
        if not times:
            return {}
        return {name: created for name, created in self._node_created.items() if created >= min(times)}

    def _hurt(self, storage: StorageView, memory: HealthMemory) -> tuple[GroupView, ...]:
        """Groups that do not wait, and of which something may have failed, by what nodes and pods report and
        by what is remembered; and those with slow members. Where nothing is said, nothing is looked at."""
        pods, trees = self._pods, self._trees
        found = {*pods.reports.view().pods, *pods.on_hurting_nodes(), *pods.with_slow_members()}
        for one in memory.incidents:
            if one.is_open:
                id = GroupId(*one.source)
                found.update([id] if id in pods.groups else trees.leaves_of(id))
        waiting = {trees.id_of(id) for id in pods.waiting} if found else ()
        hurt = [id for id in found if id in pods.groups and trees.id_of(id) not in waiting]
        return self._views_of((pods.groups[id] for id in hurt), storage) if hurt else ()

    def _leaving(
        self, bound: BoundPods, drained: ByNode, asked: Set[str], storage: StorageView
    ) -> tuple[GroupView, ...]:
        """Who has pods on nodes that are being drained, or is asked to move."""
        if not drained and not asked:
            return ()
        pods, found = self._pods, leaving_groups(self._pods, bound, drained, asked)
        groups = self._views_of((pods.groups[id] for id in found.groups if id in pods.groups), storage)
        return (*groups, *views_of_lone(pods, found.lone, storage))

    def _views(self, storage: StorageView) -> tuple[tuple[GroupView, ...], tuple[GroupView, ...]]:
        """Every group that waits, by name; before others of its name, a tree. And the groups of which no pod
        waits, and for which room is kept."""
        trees = self._trees
        records = [record for record in self._pods.waiting.values() if not trees.holds(record.id)]
        alone = self._alone(records, storage)
        awaited = tuple(self._pods.linked(alone, storage))
        return self._with_trees(alone, self._pods.waiting.values(), storage), awaited

    def _views_of(self, records: Iterable[GroupRecord], storage: StorageView) -> tuple[GroupView, ...]:
        """Of groups and of the trees that some of them are in, by name."""
        every = list(records)
        alone = self._alone((record for record in every if not self._trees.holds(record.id)), storage)
        return self._with_trees(alone, every, storage)

    def _alone(self, records: Iterable[GroupRecord], storage: StorageView) -> dict[GroupId, GroupView]:
        ordered = sorted(records, key=lambda record: sorting_key(record.id))
        return {record.id: self._pods.view(record, storage) for record in ordered}

    def _with_trees(
        self, alone: Mapping[GroupId, GroupView], records: Iterable[GroupRecord], storage: StorageView
    ) -> tuple[GroupView, ...]:
        pods, trees = self._pods, self._trees

        def leaf(key: str) -> GroupView | None:
            record = pods.groups.get(GroupId(POD_GROUP, key))
            return None if record is None or not record.members else pods.view(record, storage)

        roots = sorted({trees.id_of(record.id).key for record in records if trees.holds(record.id)})
        if not roots:
            return tuple(alone.values())
        every = [*trees.views(roots, leaf), *alone.values()]
        return tuple(sorted(every, key=lambda one: one.group.key))
