"""ClusterState: everything a decision needs to know of a cluster, kept up to date change by change.

It has one writer. `apply` takes time in proportion to the change; `snapshot` gives what `decide` reads.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from maitred.cluster.members import State
from maitred.cluster.news import Ends, News
from maitred.cluster.questions import StateQuestions
from maitred.cluster.settling import Speakers
from maitred.cluster.snapshot import AS_USUAL
from maitred.model.budget import PodDisruptionBudget
from maitred.model.categories import Effect
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.group import (
    Composite,
    CompositePodGroup,
    Group,
    PodGroup,
    composite_from_object,
    group_from_pod_group,
)
from maitred.model.kinds import row_of
from maitred.model.membership import POD_GROUP, GroupId, Settled
from maitred.model.memory import MemoryObject
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import Workloads

TELL_OF_FAILURES = (MemoryObject, ResourceSlice, DeviceTaintRule)
"""Kinds that may say that devices are broken, or what is remembered of that."""


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


class ClusterState(StateQuestions):
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
        super().__init__(ends, workloads, waits_for_owners)
        self._journal = journal
        self.regrouped: set[str] = set()
        """Pods that an object has put into another group, until they are taken from here."""

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
            self._pods.depart(change.pod, change.leaving)

    def could_apply(self, change: Depart) -> bool:
        """Whether there is such a pod on a node, and it does not leave, or stay, already."""
        member = self._pods.members.get(change.pod)
        before = State.RUNNING if change.leaving else State.TERMINATING
        return member is not None and member.uid == change.uid and member.state == before

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is changed in the block is undone in it too, and the journal hears of neither."""
        journal, ends, news = self._journal, self._pods.ends, self.news.take()
        self._journal, self._pods.ends = None, None
        try:
            yield
        finally:
            self._journal, self._pods.ends = journal, ends
            self.news.go_back(news)

    def take_news(self) -> News:
        """What changed since this was last asked."""
        self._pods.look_for_later()
        return self.news.take()

    def _put(self, item: Object) -> None:
        if isinstance(item, Pod):
            self._pods.put(item)
        elif isinstance(item, Node):
            created = item.metadata.creation_timestamp
            if created is not None:
                self._node_created[item.metadata.name] = round(created.timestamp() * 1000)
            if self._pods.put_node(item):
                self._node_changed(item.metadata.name)
        elif isinstance(item, PodGroup):
            key = key_of(item.metadata)
            self.group_makers.put(key, item)
            self._pods.devices.changed(PodGroup, key, item)
            self._settle_again(self._settling.put_group(key, item))
            self._put_in_tree(key, group_from_pod_group(item))
        elif isinstance(item, PodDisruptionBudget):
            self.news.version += 1
            self._pods.seats.budgets.put(item)
        elif self._tables.put(item):
            self._table_changed(row_of(type(item)).type, key_of(item.metadata), item)
            if isinstance(item, CompositePodGroup):
                self._put_composite(key_of(item.metadata), composite_from_object(item))

    def _delete(self, kind: type[Object], key: str) -> None:
        if kind is Pod:
            self._pods.delete(key)
        elif kind is Node:
            self._node_created.pop(key, None)
            if self._pods.delete_node(key):
                self._node_changed(key)
        elif kind is PodGroup:
            self.group_makers.put(key, None)
            self._pods.devices.changed(PodGroup, key, None)
            self._settle_again(self._settling.put_group(key, None))
            self._put_in_tree(key, None)
        elif kind is PodDisruptionBudget:
            self.news.version += 1
            self._pods.seats.budgets.delete(key)
        elif self._tables.remove(kind, key):
            self._table_changed(kind, key, None)
            if kind is CompositePodGroup:
                self._put_composite(key, None)

    def _node_changed(self, name: str) -> None:
        self.news.version += 1
        self.news.effects |= Effect.ROOM
        self.news.nodes.add(name)

    def _table_changed(self, kind: type[Object], key: str, now: Object | None) -> None:
        self.news.failed(kind in TELL_OF_FAILURES)
        self.news.version += 1
        self.news.effects |= row_of(kind).effect
        self._pods.claims.changed(kind)
        self._pods.devices.changed(kind, key, now)
        self._pods.controllers.changed(kind, key, now)
        self._settle_again(self._settling.changed(kind, key))
        self._pods.later.changed((kind, key))

    # -- groups ----------------------------------------------------------------------------------------

    def follow(self, workloads: Workloads) -> None:
        """The policy has this to say of workloads from now on."""
        self._settle_again(self._settling.follow(workloads))

    def _settle_again(self, crews: Iterable[tuple[Speakers, Settled]]) -> None:
        """An object has changed that says which group these are in, or how it is described."""
        for crew, before in crews:
            if (crew.settled.id, crew.settled.marks) == (before.id, before.marks):
                self._pods.describe_again(crew)
            else:
                self.regrouped.update(self._pods.regroup(crew))

    def _put_in_tree(self, key: str, group: Group | None) -> None:
        """A PodGroup is there, or gone, and with it a part of a tree, if it has a parent."""
        id = GroupId(POD_GROUP, key)
        before = self._trees.id_of(id)
        if self._trees.put_group(key, group):
            self.news.version += 1
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
        after, record = self._trees.id_of(id), self._pods.groups.get(id)
        self.news.groups |= {before.key, after.key}
        if record is not None and before.key != after.key:
            self.regrouped |= record.members.keys()
