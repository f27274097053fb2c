"""ClusterState: everything a decision needs to know of a cluster, kept up to date change by change.

It has one writer. `apply` takes time in proportion to the change; `snapshot` gives what `decide` reads.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from maitred.cluster.bound import BoundTable
from maitred.cluster.budgets import BudgetTable
from maitred.cluster.controllers import ControllerTable
from maitred.cluster.groupapi import GroupMakers
from maitred.cluster.intake import Intake
from maitred.cluster.interning import Interner
from maitred.cluster.members import NOT_BOUND, GroupRecord, Member, State, end_of, owner_in_namespace
from maitred.cluster.news import Ends, News
from maitred.cluster.nodes import Charge, Ints, NodeTable, NodeView
from maitred.cluster.seated import SeatedTable
from maitred.cluster.settling import Settling, Speakers
from maitred.cluster.snapshot import AS_USUAL, NO_GROUP, UNKNOWN_TIME, GroupView, Snapshot
from maitred.cluster.tables import Tables, labels_of
from maitred.cluster.trees import Trees
from maitred.cluster.volumes import StorageView, resolve
from maitred.model.budget import PodDisruptionBudget
from maitred.model.categories import Effect
from maitred.model.device import DeviceClass, class_of_resources
from maitred.model.group import (
    Composite,
    CompositePodGroup,
    Group,
    PodGroup,
    composite_from_object,
    group_from_pod_group,
)
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.membership import POD_GROUP, GroupId, Settled, sorting_key
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.pod import Pod
from maitred.model.policy import Workloads
from maitred.model.priority import PriorityClass
from maitred.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from maitred.model.suspending import TopOwner

T = TypeVar("T", bound=Object)
FORGOTTEN = -1
"""The needs of a finished pod, which nothing reads any more."""
STORAGE_KINDS = (
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CSINode,
    CSIDriver,
    VolumeAttachment,
)


@dataclass(frozen=True, slots=True)
class Put:
    """An object was created or has changed."""

    object: Object


@dataclass(frozen=True, slots=True)
class Delete:
    """An object is gone. `key` is `namespace/name`, or the name of a cluster-wide object."""

    kind: type[Object]
    key: str


@dataclass(frozen=True, slots=True)
class Depart:
    """A pod on a node is on its way out although its own object does not say so, or is so no longer.

    It holds its place, and counts for no quorum. Where there is no such pod nothing changes.
    """

    pod: str
    uid: str
    leaving: bool = True


Change = Put | Delete | Depart


class Journal(Protocol):
    """Told of every change before it is made, so that the same state can be made again elsewhere."""

    def note(self, change: Change) -> None: ...


class ClusterState:
    """`apply` is the only way in. `ends` is told of every pod that has left its place."""

    def __init__(
        self,
        journal: Journal | None = None,
        ends: Ends | None = None,
        workloads: Workloads = AS_USUAL,
        waits_for_owners: bool = False,
    ) -> None:
        """With `waits_for_owners`, the owners of pods are watched, so that one which is not known yet will
        be. In a dump, what is not there is not known for good."""
        self._journal = journal
        self._ends = ends
        self._nodes = NodeTable()
        self._bound = BoundTable()
        self._interner = Interner()
        self._intake = Intake(self._interner)
        self._pods: dict[str, Member] = {}
        self._tables = Tables()
        self._settling = Settling(self._tables, workloads, waits_for_owners)
        self._groups: dict[GroupId, GroupRecord] = {}
        self._waiting: dict[GroupId, GroupRecord] = {}
        self._charges: dict[int, Charge] = {}
        self._seated = SeatedTable()
        self._trees = Trees()
        self._budgets = BudgetTable()
        self._controllers = ControllerTable(self._tables)
        self.group_makers = GroupMakers()
        self._storage: StorageView | None = None
        self._attachments_stale = False
        self._storage_version = 0
        self._claim_users: Counter[str] = Counter()
        self._claims_in_use: dict[str, list[int]] = {}
        self.news = News()
        self.regrouped: set[str] = set()
        """Pods that an object has put into another group, until they are taken from here."""
        self.version = 0
        """Grows with every change of pods, groups and nodes that a snapshot would show."""

    def apply(self, change: Change) -> None:
        if isinstance(change, Depart) and not self.could_apply(change):
            return
        if self._journal is not None:
            self._journal.note(change)
        if isinstance(change, Put):
            self._put(change.object)
        elif isinstance(change, Delete):
            self._delete(change.kind, change.key)
        else:
            self._depart(change)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is changed in the block is undone in it too, and the journal hears of neither."""
        known = (self._journal, self._ends, self.news, self.version)
        self._journal, self._ends, self.news = None, None, News()
        try:
            yield
        finally:
            self._journal, self._ends, self.news, self.version = known

    def _put(self, item: Object) -> None:
        if isinstance(item, Pod):
            self._put_pod(item)
        elif isinstance(item, Node):
            known = len(self._nodes.resources)
            if self._nodes.put(item):
                self._node_changed(item.metadata.name)
            if len(self._nodes.resources) > known:
                self._charge_more(known)
        elif isinstance(item, PodGroup):
            key = key_of(item.metadata)
            self.group_makers.put(key, item)
            self._settle_again(self._settling.put_group(key, item))
            self._put_in_tree(key, group_from_pod_group(item))
        elif isinstance(item, PodDisruptionBudget):
            self.version += 1
            self._budgets.put(item)
        elif self._tables.put(item):
            kind = row_of(type(item)).type
            self._table_changed(kind)
            self._controllers.changed(kind, key_of(item.metadata), item)
            self._settle_again(self._settling.changed(kind, key_of(item.metadata)))
            if isinstance(item, CompositePodGroup):
                self._put_composite(key_of(item.metadata), composite_from_object(item))

    def _delete(self, kind: type[Object], key: str) -> None:
        if kind is Pod:
            member = self._pods.pop(key, None)
            if member is not None:
                self._note_end(member, None)
                self._remove(member)
        elif kind is Node:
            if self._nodes.delete(key):
                self._node_changed(key)
        elif kind is PodGroup:
            self.group_makers.put(key, None)
            self._settle_again(self._settling.put_group(key, None))
            self._put_in_tree(key, None)
        elif kind is PodDisruptionBudget:
            self.version += 1
            self._budgets.delete(key)
        elif self._tables.remove(kind, key):
            self._table_changed(kind)
            self._controllers.changed(kind, key, None)
            self._settle_again(self._settling.changed(kind, key))
            if kind is CompositePodGroup:
                self._put_composite(key, None)

    def _node_changed(self, name: str) -> None:
        self.version += 1
        self.news.effects |= Effect.ROOM
        self.news.nodes.add(name)

    def _table_changed(self, kind: type[Object]) -> None:
        self.version += 1
        self.news.effects |= row_of(kind).effect
        if kind is VolumeAttachment:
            # They come and go with every pod, and change no pod's needs.
            self._attachments_stale = True
        elif kind in STORAGE_KINDS:
            self._storage = None
            self._storage_version += 1

    def _count_claims(self, member: Member, change: int) -> None:
        """A claim that gets, or loses, a second user means something else to the first."""
        for claim in member.claims:
            before = self._claim_users[claim]
            self._claim_users[claim] = before + change
            if not self._claim_users[claim]:
                del self._claim_users[claim]
            if (before > 1) != (before + change > 1):
                self._storage_version += 1
                self.news.effects |= Effect.STORAGE

    def follow(self, workloads: Workloads) -> None:
        """The policy has this to say of workloads from now on."""
        self._settle_again(self._settling.follow(workloads))

    def _settle_again(self, crews: Iterable[tuple[Speakers, Settled]]) -> None:
        """An object has changed that says which group these are in, or how it is described."""
        for crew, before in crews:
            if (crew.settled.id, crew.settled.marks) == (before.id, before.marks):
                self._describe_again(crew)
            else:
                for member in list(crew.members.values()):
                    self._remove(member)
                    self._add(member)
                    self.regrouped.add(member.key)

    def _describe_again(self, crew: Speakers) -> None:
        self.version += 1
        record = None if crew.settled.id is None else self._groups.get(crew.settled.id)
        if record is not None:
            record.declared, record.view = crew.settled.group, None
            self._seated.changed(record)
            self.news.groups.add(self._trees.id_of(record.id).key)

    def _put_in_tree(self, key: str, group: Group | None) -> None:
        """A PodGroup is there, or gone, and with it a part of a tree, if it has a parent."""
        id = GroupId(POD_GROUP, key)
        before = self._trees.id_of(id)
        if self._trees.put_group(key, group):
            self.version += 1
            self._note_move(id, before)

    def _put_composite(self, key: str, composite: Composite | None) -> None:
        """All groups below are in another tree now, or in one that asks for something else."""
        ids = [GroupId(POD_GROUP, group) for group in self._trees.below(key)]
        before = [self._trees.id_of(id) for id in ids]
        if self._trees.put(key, composite):
            for id, was in zip(ids, before, strict=True):
                self._note_move(id, was)

    def _note_move(self, id: GroupId, before: GroupId) -> None:
        """What a group is decided as may have changed; its pods are told by that."""
        after, record = self._trees.id_of(id), self._groups.get(id)
        self.news.groups |= {before.key, after.key}
        if record is not None and before.key != after.key:
            self.regrouped |= record.members.keys()

    # -- pods ------------------------------------------------------------------------------------------

    def _put_pod(self, pod: Pod) -> None:
        member = self._intake.member(pod)
        known = self._pods.get(member.key)
        if known is not None:
            if known.like(member):
                self._note_progress(known, member)
                return
            member.crew = self._settling.crew(member.said)
            self._note_end(known, member)
            self._remove(known)  # and with it its crew, if there is nobody else in it
        else:
            member.crew = self._settling.crew(member.said)
        self._pods[member.key] = member
        self._add(member)

    def _note_progress(self, known: Member, member: Member) -> None:
        """A pod has started, or saved its work: no group need be decided again for that."""
        now = (member.working, member.started, member.checkpoint, member.due, member.grace)
        self.version += (known.working, known.started, known.checkpoint, known.due, known.grace) != now
        if known.grace != member.grace:  # who waits for its room may count on it by now, or no longer
            self.news.effects |= Effect.ROOM
            self.news.nodes.add(known.node)
        known.working, known.started, known.checkpoint, known.due, known.grace = now
        if known.bound_row != NOT_BOUND:
            self._bound.set_progress(known.bound_row, *now)

    def _note_end(self, known: Member, member: Member | None) -> None:
        if self._ends is not None and known.bound_row != NOT_BOUND:
            self._ends.note(end_of(known, self._key_of(known), member))

    def could_apply(self, change: Depart) -> bool:
        """Whether there is such a pod on a node, and it does not leave, or stay, already."""
        member = self._pods.get(change.pod)
        before = State.RUNNING if change.leaving else State.TERMINATING
        return member is not None and member.uid == change.uid and member.state == before

    def _depart(self, change: Depart) -> None:
        member = self._pods[change.pod]
        self._remove(member)
        member.state = State.TERMINATING if change.leaving else State.RUNNING
        member.due, member.grace = UNKNOWN_TIME, 0  # what an earlier departure had is over
        self._add(member)

    def _add(self, member: Member) -> None:
        self.version += 1
        self._settling.add(member)
        if member.state <= State.LEAVING:
            self._interner.count_user(member.needs, +1)
            self._count_claims(member, +1)
            member.controller = self._controllers.arrive(*owner_in_namespace(member))
        member.label_class = self._label_class(member)
        if (group := member.group) is not None:
            record = member.record = self._record(group)
            record.add(member)
            self._seated.changed(record)
            self.news.groups.add(self._trees.id_of(group).key)
            if record.pending:
                self._waiting[record.id] = record
        if member.state in (State.RUNNING, State.TERMINATING):
            self._seat(member)

    def _remove(self, member: Member) -> None:
        self.version += 1
        self._settling.remove(member)
        if member.state <= State.LEAVING:
            self._interner.count_user(member.needs, -1)
            self._count_claims(member, -1)
            self._controllers.depart(*owner_in_namespace(member))
        if member.bound_row != NOT_BOUND:
            self._unseat(member)
        if member.nominated:  # what was kept for it is for all again
            self.news.effects |= Effect.ROOM
        record, member.record = member.record, None
        if record is not None:
            record.remove(member)
            self._seated.changed(record)
            self.news.groups.add(self._trees.id_of(record.id).key)
            if not record.pending:
                self._waiting.pop(record.id, None)
            self._forget_if_empty(record)

    def _seat(self, member: Member) -> None:
        row = member.node_row = self._nodes.row(member.node)
        self._nodes.charge(row, self._charge_of(member.needs), member.fixed)
        member.bound_row = self._bound.take(
            member.occupant,
            node=row,
            needs=member.needs,
            labels=member.label_class,
            terminating=member.state == State.TERMINATING,
            fixed=member.fixed,
            standing=member.standing_number,
            group=NO_GROUP if member.record is None else self._seated.arrive(member.record),
            budgets=self._budgets.number(member.key.partition("/")[0], member.labels),
            controller=member.controller,
            working=member.working,
            started=member.started,
            checkpoint=member.checkpoint,
            due=member.due,
            grace=member.grace,
        )
        for claim in member.claims:
            self._claims_in_use.setdefault(claim, []).append(row)
        self.news.effects |= Effect.COMPANY
        self.news.nodes.add(member.node)

    def _unseat(self, member: Member) -> None:
        self._nodes.give_back(member.node_row, self._charge_of(member.needs), member.fixed)
        self._bound.give_back(member.bound_row)
        if member.record is not None:
            self._seated.depart(member.record)
        for claim in member.claims:
            self._claims_in_use[claim].remove(member.node_row)
            if not self._claims_in_use[claim]:
                del self._claims_in_use[claim]
        self.news.effects |= Effect.ROOM | Effect.COMPANY
        self.news.nodes.add(member.node)
        self._nodes.release(member.node_row)

    def _charge_of(self, needs: int) -> Charge:
        """What a pod of these needs takes."""
        charge = self._charges.get(needs)
        if charge is None:
            charge = self._charges[needs] = self._nodes.charge_for(self._interner.needs[needs].requests)
        return charge

    def _charge_more(self, known: int) -> None:
        """A node has what none had before, beyond so many resources, and pods on nodes may take it. Rare."""
        nodes, self._charges = self._nodes, {}
        for member in self._pods.values():
            if member.bound_row != NOT_BOUND:
                asked = self._interner.needs[member.needs].requests
                more = [(name, amount) for name, amount in asked if nodes.resources.get(name, -1) >= known]
                nodes.charge(member.node_row, nodes.charge_for(more), member.fixed)

    def _label_class(self, member: Member) -> int:
        return self._interner.label_class(member.key.partition("/")[0], member.labels)

    # -- groups ----------------------------------------------------------------------------------------

    def _record(self, id: GroupId) -> GroupRecord:
        record = self._groups.get(id)
        if record is None:
            record = self._groups[id] = GroupRecord(id)
        return record

    def _forget_if_empty(self, record: GroupRecord) -> None:
        if not record.members:
            self._groups.pop(record.id, None)

    # -- reading ---------------------------------------------------------------------------------------

    def take_news(self) -> News:
        """What changed since this was last asked."""
        news, self.news = self.news, News()
        return news

    def fits_where_it_is(self, pod: str) -> bool:
        """Whether the node that a pod is seated on has all that it takes, with everyone else who is there."""
        member = self._pods[pod]
        charge, row, nodes = self._charge_of(member.needs), member.node_row, self._nodes
        room = (nodes.used[charge.columns, row] <= nodes.allocatable[charge.columns, row]).all()
        return bool(room) and not charge.fits_none and not nodes.overloaded(row)

    def group_of(self, pod: str) -> GroupId | None:
        """The group that a pod is decided with, if it is in one: that of its tree, where it is in one."""
        member = self._pods.get(pod)
        return None if member is None else self._id_of(member)

    def _id_of(self, member: Member) -> GroupId | None:
        id = member.settled.id
        return None if id is None else self._trees.id_of(id)

    def tree_of(self, group: str) -> str:
        """The tree that a PodGroup is in; empty for one that has no parent."""
        found = self._trees.id_of(GroupId(POD_GROUP, group))
        return "" if found.source == POD_GROUP else found.key

    def part_of(self, pod: str) -> str:
        """The PodGroup of a pod in a tree, and else its group; empty for a pod on its own."""
        member = self._pods.get(pod)
        id = None if member is None else member.settled.id
        return "" if id is None else id.key

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """An object that says which group pods are in. With a UID: this one, and no other of its name."""
        return self._settling.find(kind, key, uid)

    def group_key(self, pod: str) -> str:
        """`namespace/name` of the group of a pod; a lone pod is a group of one, called like the pod."""
        group = self.group_of(pod)
        return pod if group is None else group.key

    def scheduler_of(self, pod: str) -> str:
        """The scheduler that a pod names; empty if there is no such pod."""
        member = self._pods.get(pod)
        return "" if member is None else member.standing.scheduler

    def top_owner(self, pod: str) -> TopOwner | None:
        """The owner that is suspended to make an unfinished pod leave; None: the pod is deleted."""
        member = self._pods.get(pod)
        if member is None or member.state > State.LEAVING:
            return None
        return self._controllers.top_owner(member.controller)

    def workload_of(self, owner: Object) -> KueueWorkload | None:
        """The Workload by which Kueue says whether this owner may run; None if it is not Kueue's."""
        return self._controllers.workload_of(owner)

    def _key_of(self, member: Member) -> str:
        group = self._id_of(member)
        return member.key if group is None else group.key

    def has_room_for(self, places: Mapping[str, str]) -> bool:
        """Whether these pods, which wait, could all be on these nodes, as far as amounts go."""
        nodes = self._nodes
        left: dict[int, Ints] = {}
        for pod, node in places.items():
            row, charge = nodes.rows.get(node), self._charge_of(self._pods[pod].needs)
            if row is None or charge.fits_none:
                return False
            room = left.setdefault(row, nodes.allocatable[:, row] - nodes.used[:, row])
            room[: len(charge.amounts)] -= charge.amounts
            if (room[charge.columns] < 0).any():
                return False
        return True

    def snapshot(self) -> Snapshot:
        self._renumber()
        self._look_at_budgets()
        storage = self.storage
        budgets, budget_sets = self._budgets.view()
        groups = self._views(storage)
        nodes, (used, fixed), tables = self.nodes, self._nodes.load(), self._tables
        return Snapshot(
            nodes=nodes,
            used=used,
            fixed=fixed,
            bound=self._bound.view(),
            needs=tuple(self._interner.needs),
            classes=tuple(self._interner.classes),
            classes_with=self._interner.classes_with,
            shapes=tuple(self._interner.shapes),
            groups=groups,
            namespaces={name: labels_of(item) for name, item in tables[Namespace].items()},
            storage=storage,
            claims_in_use={claim: tuple(rows) for claim, rows in self._claims_in_use.items()},
            priority_classes=dict(tables[PriorityClass]),
            composites=dict(self._trees.composites),
            standings=self._intake.standings,
            seated=self._seated.view(),
            controllers=self._controllers.view(),
            budgets=budgets,
            budget_sets=budget_sets,
            jobs=dict(tables[Job]),
            workloads=self._settling.workloads,
            operated=tables.operated(),
            group_api=self.group_makers.view(),
            device_classes=class_of_resources(tables[DeviceClass]),
        )

    def _views(self, storage: StorageView) -> tuple[GroupView, ...]:
        """Every group that waits, by name; before others of its name, a tree."""
        version, trees = self._storage_version, self._trees

        def view(record: GroupRecord) -> GroupView:
            return record.current_view(lambda member: self._shape(member, storage), version)

        def leaf(key: str) -> GroupView | None:
            record = self._groups.get(GroupId(POD_GROUP, key))
            return None if record is None or not record.members else view(record)

        records = sorted(self._waiting.values(), key=lambda record: sorting_key(record.id))
        alone = [view(record) for record in records if not trees.holds(record.id)]
        roots = sorted({trees.id_of(record.id).key for record in records if trees.holds(record.id)})
        if not roots:
            return tuple(alone)
        return tuple(sorted([*trees.views(roots, leaf), *alone], key=lambda one: one.group.key))

    def _renumber(self) -> None:
        """Selectors have come or gone, or what no pod has any more is to be forgotten: number every pod anew.
        Rare."""
        pods, interner = len(self._pods), self._interner
        numbers, classes_stale = interner.forget_unused(), interner.refresh_live_keys()
        classes_stale |= interner.forget_classes(pods)
        standings_stale = self._intake.forget_standings(pods)
        if numbers is None and not classes_stale and not standings_stale:
            return
        self._charges = {} if numbers is not None else self._charges
        for member in self._pods.values():
            member.needs = numbers.get(member.needs, FORGOTTEN) if numbers is not None else member.needs
            member.label_class = self._label_class(member)
            member.standing, member.standing_number = self._intake.numbered(member.standing)
            if member.bound_row != NOT_BOUND:
                places = (member.needs, member.label_class, member.standing_number)
                self._bound.renumber(member.bound_row, *places)
        for record in self._groups.values():
            record.view = None

    def _look_at_budgets(self) -> None:
        """Budgets have come or gone, or speak of others: number the pods of their namespaces anew. Rare."""
        stale, self._budgets.stale = self._budgets.stale, set()
        for member in self._pods.values() if stale else ():
            namespace = member.key.partition("/")[0]
            if namespace in stale and member.bound_row != NOT_BOUND:
                self._bound.set_budgets(member.bound_row, self._budgets.number(namespace, member.labels))

    def _shape(self, member: Member, storage: StorageView) -> int:
        volumes = tuple(
            resolve(claim, self._claim_users[claim] > 1, member.brought, storage) for claim in member.claims
        )
        return self._interner.shape_number(member.needs, member.label_class, volumes)

    @property
    def nodes(self) -> NodeView:
        return self._nodes.view()

    def free(self) -> Ints:
        """What is left of every resource on every node."""
        left: Ints = self.nodes.allocatable - self._nodes.load()[0]
        return left

    @property
    def storage(self) -> StorageView:
        if self._storage is None:
            self._storage = StorageView(*(dict(self._tables[kind]) for kind in STORAGE_KINDS))
        elif self._attachments_stale:
            self._storage = self._storage.with_attachments(dict(self._tables[VolumeAttachment]))
        self._attachments_stale = False
        return self._storage
