"""The cluster as someone sees it who may look into some namespaces only.

What is in other namespaces stays, for it takes room and goes first; but it has no name. Things of one name
get one new name, and the order of names stays as it is, so that ties are decided as they are in the cluster
itself.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import msgspec
import numpy as np

from maitred.cluster.nodes import Mask, NodeView
from maitred.cluster.queues.scavenging import identity
from maitred.cluster.snapshot import BoundPods, Controller, GroupView, Occupant, Shape, Snapshot
from maitred.decide.scoring import with_tag
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.bookings import bookings_told
from maitred.explain.redaction.devices import DeviceFields
from maitred.explain.redaction.drains import DrainFields
from maitred.explain.redaction.groups import GroupFields
from maitred.explain.redaction.nodes import Told, nodes_as_told
from maitred.explain.redaction.overrides import overrides_told
from maitred.explain.redaction.pods import LabelWords, PodFields, stay
from maitred.explain.redaction.reports import ReportFields
from maitred.explain.redaction.reservations import reservations_told
from maitred.explain.redaction.storage import StorageFields
from maitred.explain.redaction.vocabulary import Vocabulary, words_in
from maitred.explain.tenant_words import told_to
from maitred.explain.why.progress import full_name
from maitred.model.holding import HoldMemory
from maitred.model.job import Job
from maitred.model.leading import leading_labels
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.owners import OWNER_KINDS
from maitred.model.pod import NODE_OWNERS
from maitred.model.policy import Policy
from maitred.model.provisioning import (
    OUTCOMES,
    ProvisioningCondition,
    ProvisioningRequest,
    ProvisioningStatus,
)
from maitred.model.queues import named_queue
from maitred.model.spending import Scavenger, SpendingMemory
from maitred.model.suspending import OWNERS, OwnerName, TopOwner
from maitred.model.suspension import SUSPENDED
from maitred.model.usage import QueueUsage, UsageMemory

TICK = 1e-6
"""Seconds by which ages that were equal are told apart, in the order in which names did."""
KINDS = frozenset((*(one.title for one in OWNER_KINDS), *NODE_OWNERS))
SUSPENDABLE_KINDS = frozenset(row.title for row in OWNERS)
OTHER_KIND = "controller"
"""In place of a kind that is not known: whoever writes an owner reference may write anything."""


class Redaction:
    """One cluster for one reader: what everything in it is called, and the snapshot that is built of it."""

    def __init__(
        self, snapshot: Snapshot, policy: Policy, scheduler: str | None, namespaces: Collection[str]
    ) -> None:
        self._cluster = snapshot
        self.names = Aliases(namespaces, namespaces_of(snapshot), keys_of(snapshot))
        self._own_needs = {n for n, needs in enumerate(snapshot.needs) if needs.namespace in namespaces}
        said = (*self._said(), *self._own_queues(policy))
        self.words = Vocabulary(snapshot, policy, scheduler, self.names, said)
        self.labels = LabelWords(snapshot, policy, self.names, self.words)
        self.pods = PodFields(self.names, self.words, self.labels)
        self.reports = ReportFields(self.names, self.words)
        self._drains = DrainFields(self.names, self.reports)
        self.groups = GroupFields(self.names, self.words, self.pods, self.reports)
        self._storage = StorageFields(snapshot.storage, self.names, self.words)
        self._devices = DeviceFields(snapshot, self.names, self.words)

    def _said(self) -> Iterator[str]:
        """Words of the reader's own pods, groups and namespaces."""
        old, is_own = self._cluster, self.names.is_own
        yield from words_in([old.needs[number] for number in self._own_needs])
        yield from words_in([one.labels for one in old.classes if self.names.owns(one.namespace)])
        yield from words_in([old.standings[number] for number in self._own_standings])
        yield from words_in([one for one in old.payers if self.names.owns(one.namespace)])
        yield from words_in([old.namespaces[one] for one in self.names.own if one in old.namespaces])
        for view in (*old.groups, *old.awaited, *old.hurt, *old.leaving, *old.away):
            if is_own(view.group.key):
                yield from words_in((view.group, view.ranks, view.schedulers, view.tree, view.payer))
        yield from words_in([one.group for one in old.seated if one is not None and is_own(one.group.key)])

    def _own_queues(self, policy: Policy) -> Iterator[str]:
        """The queues of the reader's namespaces, those that they may use, and those above them."""
        old, above = self._cluster, {one.name: one.parent for one in policy.queues}
        if old.book is not None:
            yield from (old.book.tree.queues[one].name for one in old.book.usable_by(self.names.own))
        payers = (*old.payers, *(view.payer for view in old.groups))
        for payer in {one for one in payers if self.names.owns(one.namespace)}:
            queue = named_queue(payer, old.namespaces)
            for _ in range(len(above) + 1):
                yield queue
                queue = above.get(queue, "")

    @cached_property
    def _own_pods(self) -> Mask:
        bound, keys = self._cluster.bound.occupants.tolist(), self.names.keys
        return np.array([one is not None and one.key not in keys for one in bound], dtype=np.bool_)

    @cached_property
    def _own_standings(self) -> frozenset[int]:
        return frozenset(np.unique(self._cluster.bound.standing[self._own_pods]).tolist())

    def snapshot(self) -> Snapshot:
        old, names = self._cluster, self.names
        shapes = tuple(map(self._shape, old.shapes))
        drains = {one.name: self._drains.drain(one) for one in old.drains}
        return Snapshot(
            nodes=self._nodes(),
            used=old.used,
            fixed=old.fixed,
            bound=self._bound(old.bound),
            needs=tuple(
                needs if number in self._own_needs else self.pods.needs(needs)
                for number, needs in enumerate(old.needs)
            ),
            classes=self.labels.classes(),
            classes_with=self.labels.classes_with(),
            shapes=shapes,
            groups=tuple(map(self._view, old.groups, ages(old.groups))),
            awaited=tuple(self._view(view, view.created) for view in old.awaited),
            hurt=tuple(self._view(view, view.created) for view in old.hurt),
            reports=self.reports.reports(old.reports),
            memory=self.reports.memory(old.memory),
            usage=self._usage(old.usage),
            unread_usage=old.unread_usage,
            overrides=overrides_told(old.overrides, names, self.reports),
            unread_overrides=old.unread_overrides,
            spending=self._spending(old.spending),
            unread_spending=old.unread_spending,
            holds=self._holds(old.holds),
            unread_holds=old.unread_holds,
            bookings=bookings_told(old.bookings, names, self.reports, self.words.told),
            unread_bookings=old.unread_bookings,
            reservations=reservations_told(old.reservations, names, self.words),
            unread_reservations=old.unread_reservations,
            drains=tuple(drains.values()),
            unread_drains=old.unread_drains,
            drained={row: drains[drain.name] for row, drain in old.drained.items()},
            cordoned=old.cordoned,
            leaving=tuple(self._view(view, view.created) for view in old.leaving),
            away=tuple(self._view(view, view.created) for view in old.away),
            namespaces={names.namespace(name): self.labels.namespace(name) for name in old.namespaces},
            storage=self._storage.view,
            claims_in_use={names.key(claim): rows for claim, rows in old.claims_in_use.items()},
            priority_classes=old.priority_classes,
            composites={
                names.key(key): one if names.is_own(key) else self.groups.composite(one)
                for key, one in old.composites.items()
            },
            standings=tuple(
                standing if number in self._own_standings else self.pods.standing(standing)
                for number, standing in enumerate(old.standings)
            ),
            payers=tuple(one if names.owns(one.namespace) else self.pods.payer(one) for one in old.payers),
            stays=tuple(map(stay, old.stays)),
            seated=tuple(
                one if one is None or names.is_own(one.group.key) else self.groups.seated(one)
                for one in old.seated
            ),
            budgets=tuple(
                one if names.is_own(key_of(one.metadata)) else self.groups.budget(one) for one in old.budgets
            ),
            controllers=tuple(one and self._controller(one) for one in old.controllers),
            budget_sets=old.budget_sets,
            jobs={names.key(key): self._job(key, job) for key, job in old.jobs.items()},
            workloads=old.workloads,
            operated={
                kind: {key: one for key, one in table.items() if names.is_own(key)}
                for kind, table in old.operated.items()
            },
            provisioning={
                names.key(key): one if names.is_own(key) else self._provisioning(one)
                for key, one in old.provisioning.items()
            },
            newcomers=old.newcomers,
            group_api=old.group_api,
            device_classes=old.device_classes,
            inventory=self._devices.inventory,
            allocated=self._devices.allocated,
        )

    def _provisioning(self, one: ProvisioningRequest) -> ProvisioningRequest:
        """Which nodes are kept by it counts for all."""
        conditions = tuple(ProvisioningCondition(told.type, told.status) for told in one.status.conditions)
        known = tuple(told for told in conditions if told.type in OUTCOMES and told.status == "True")
        metadata = ObjectMeta(creation_timestamp=one.metadata.creation_timestamp)
        return ProvisioningRequest(metadata=metadata, status=ProvisioningStatus(known))

    def _nodes(self) -> NodeView:
        nodes, own, others = self._cluster.nodes, set[str](), dict[str, str]()
        for number, needs in enumerate(self._cluster.needs if any(nodes.images) else ()):
            if number in self._own_needs:
                own.update(map(full_name, needs.images))
            else:
                others.update((with_tag(one), with_tag(self.pods.image(one))) for one in needs.images)
        told = Told(
            names=self._node_names(nodes),
            resources=tuple(map(self.words.told, nodes.resources)),
            own_images=frozenset(own),
            other_images=tuple(others.items()),
        )
        return nodes_as_told(nodes, told)

    def _node_names(self, nodes: NodeView) -> tuple[str, ...]:
        """A node that is gone, or never was, may be a word of those whose pods name it."""
        if nodes.alive.all():
            return nodes.names
        own = set(self._cluster.bound.node[self._own_pods].tolist())
        gone = set(np.flatnonzero(~nodes.alive).tolist()) - own
        return tuple(self.names.other(name) if row in gone else name for row, name in enumerate(nodes.names))

    def _bound(self, bound: BoundPods) -> BoundPods:
        occupants, keys = np.empty_like(bound.occupants), self.names.keys
        occupants[:] = [
            one if one is None or one.key not in keys else self._occupant(one, keys[one.key])
            for one in bound.occupants
        ]
        return BoundPods(
            node=bound.node,
            needs=bound.needs,
            labels=bound.labels,
            terminating=bound.terminating,
            fixed=bound.fixed,
            standing=bound.standing,
            group=bound.group,
            budgets=bound.budgets,
            controller=bound.controller,
            payer=bound.payer,
            stay=bound.stay,
            working=bound.working,
            bound_at=bound.bound_at,
            started=bound.started,
            checkpoint=bound.checkpoint,
            due=bound.due,
            grace=bound.grace,
            step=bound.step,
            occupants=occupants,
        )

    def _occupant(self, occupant: Occupant, key: str) -> Occupant:
        claims = tuple(map(self.names.key, occupant.claims)) if occupant.claims else ()
        return Occupant(key, key, self._owner(occupant), claims, leading_labels(occupant.labels))

    def _owner(self, occupant: Occupant) -> tuple[str, str, str]:
        """Which one it is counts where owners are suspended."""
        kind, name, uid = occupant.owner
        if kind in SUSPENDABLE_KINDS:
            owner = f"{occupant.key.partition('/')[0]}/{name}"
            return kind, self.names.name(owner), self.names.other(uid)
        return kind if not kind or kind in KINDS else OTHER_KIND, name and MARK, ""

    def _controller(self, one: Controller) -> Controller:
        """Its kind, and that of its topmost owner, are of the few that can be suspended."""
        key, top = f"{one.namespace}/{one.name}", one.top
        if self.names.owns(one.namespace):
            return one
        return Controller(
            namespace=self.names.namespace(one.namespace),
            kind=one.kind,
            name=self.names.name(key),
            uid=self.names.other(one.uid),
            top=None if top is None else self._top(top),
        )

    def _top(self, top: TopOwner) -> TopOwner:
        workload = f"{top.name.namespace}/{top.workload}"
        return TopOwner(
            name=OwnerName(top.name.kind, self.names.key(top.name.key)),
            uid=self.names.other(top.uid),
            whole=top.whole,
            suspended=top.suspended,
            workload=self.names.name(workload) if top.workload else "",
            workload_uid=self.names.other(top.workload_uid),
        )

    def _shape(self, shape: Shape) -> Shape:
        if shape.needs in self._own_needs:
            return shape
        return Shape(
            needs=shape.needs,
            labels=shape.labels,
            volumes=tuple(map(self._storage.need, shape.volumes)) if shape.volumes else (),
            devices=tuple(map(self._devices.need, shape.devices)) if shape.devices else (),
        )

    def _usage(self, usage: UsageMemory) -> UsageMemory:
        """Queues of others have no names."""
        queues = (QueueUsage(self.words.told(one.queue), one.had, one.average) for one in usage.queues)
        return UsageMemory(usage.at, tuple(queues))

    def _spending(self, spending: SpendingMemory) -> SpendingMemory:
        queues = (msgspec.structs.replace(one, queue=self.words.told(one.queue)) for one in spending.queues)
        return SpendingMemory(spending.at, tuple(queues), tuple(self._scavengers(spending.scavengers)))

    def _scavengers(self, known: Sequence[Scavenger]) -> Iterator[Scavenger]:
        """Pods of others have no UIDs, so they are known by their names there."""
        occupants = self._cluster.bound.occupants.tolist() if known else ()
        keys = self.names.keys
        others = {identity(o.uid, o.key): keys[o.key] for o in occupants if o is not None and o.key in keys}
        for one in known:
            pods = tuple(others.get(pod, pod) for pod in one.pods)
            yield Scavenger(self.names.key(one.group), pods)

    def _holds(self, memory: HoldMemory) -> HoldMemory:
        """Where others wait for places, and since when, is no secret; who they are is."""
        names, source = self.names, self.reports.source
        holds = (
            one
            if names.is_own(one.group)
            else msgspec.structs.replace(one, group=names.key(one.group), source=source(one.source))
            for one in memory.holds
        )
        return HoldMemory(memory.policy, tuple(holds))

    def _view(self, view: GroupView, created: float) -> GroupView:
        if self.names.is_own(view.group.key):
            return replace(view, created=created)
        return self.groups.view(view, created)

    def _job(self, key: str, job: Job) -> Job:
        """Who an own Job made room for may be in another namespace."""
        if not self.names.is_own(key):
            return self.groups.job(job)
        marks, line = job.metadata.annotations, job.metadata.annotations.get(SUSPENDED)
        if line is None:
            return job
        told = {**marks, SUSPENDED: told_to(self.names.own, line)}
        return Job(msgspec.structs.replace(job.metadata, annotations=told), job.spec, job.status)


def namespaces_of(snapshot: Snapshot) -> Iterator[str]:
    yield from snapshot.namespaces
    yield from (one.namespace for one in snapshot.classes)
    yield from (needs.namespace for needs in snapshot.needs)


def keys_of(snapshot: Snapshot) -> Iterator[str]:
    """Everything that has a name in a namespace, as far as the order of names may count."""
    leaving = (*snapshot.leaving, *snapshot.away)
    for view in (*snapshot.groups, *snapshot.awaited, *snapshot.hurt, *leaving):
        yield view.group.key
        yield from view.pods
        if view.tree is not None:
            yield from (branch.key for branch, _ in view.tree.root.walk())
        if view.owned_by:
            yield view.owned_by.partition(" ")[2]
    yield from (one.group.key for one in snapshot.seated if one is not None)
    yield from (key_of(one.pod.metadata) for pods in snapshot.reports.pods.values() for one in pods)
    for move in (move for drain in snapshot.drains for move in drain.progress.moves):
        yield from (move.unit, *(group.key for group in move.groups))
    yield from (one.group for one in snapshot.overrides.overrides)
    for incident in snapshot.memory.incidents:
        yield from (incident.group, *incident.pods)
    yield from (one.key for one in snapshot.bound.occupants if one is not None)
    for table in (snapshot.jobs, snapshot.composites, snapshot.storage.claims, snapshot.allocated.claims):
        yield from table
    yield from (need.claim for shape in snapshot.shapes for need in shape.devices if need.claim)
    yield from (key_of(budget.metadata) for budget in snapshot.budgets)
    for one in snapshot.controllers:
        if one is not None:
            yield f"{one.namespace}/{one.name}"
        if one is not None and one.top is not None:
            yield one.top.name.key
            yield from (name.key for name, _ in [one.top.written])


def ages(groups: Iterable[GroupView]) -> Iterator[float]:
    """When each came; those who came together a tick apart, in the order of their names as they are."""
    together: dict[float, int] = {}
    for view in groups:
        ticks = together[view.created] = together.get(view.created, -1) + 1
        yield view.created + TICK * ticks
