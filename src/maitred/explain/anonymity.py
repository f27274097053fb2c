"""The cluster as someone sees it who may look into some namespaces only.

What is in other namespaces stays, for it takes room and goes first; but it has no name. The names are taken
away before anything is worked out, so no answer can tell them. Things of one name get one new name, and the
order of names stays as it is, so that ties are decided as they are in the cluster itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from maitred.cluster.snapshot import (
    NAMESPACE_NAME,
    BoundPods,
    GroupView,
    LabelClass,
    MemberOrder,
    Occupant,
    RunningMember,
    SeatedGroup,
    Shape,
    Snapshot,
)
from maitred.cluster.volumes import StorageView, VolumeNeed
from maitred.explain.aliases import MARK, Names
from maitred.explain.tenant_words import told_to
from maitred.model.budget import BudgetSpec, PodDisruptionBudget
from maitred.model.group import CompositePodGroup, Group
from maitred.model.history import History, PastEviction
from maitred.model.job import Job, JobSpec, PodTemplate
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.needs import Needs, PodTerm, SpreadTerm
from maitred.model.plan import Alternative
from maitred.model.selector import Labels, Requirement, Selector
from maitred.model.storage import (
    AttachmentSource,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
)
from maitred.model.suspension import SUSPENDED

TICK = 1e-6
"""Seconds by which ages that were equal are told apart, in the order in which names did."""


def as_seen_by(snapshot: Snapshot, namespaces: Collection[str] | None) -> Snapshot:
    """With the names of these namespaces only; None for all."""
    if namespaces is None:
        return snapshot
    return Veil(snapshot, namespaces).snapshot()


def history_as_seen_by(history: History, namespaces: Collection[str] | None) -> History:
    """Others count where many are looked at together; what happened to one of them is nobody's business."""
    if namespaces is None:
        return history
    names = Names(namespaces, (), ())
    return replace(
        history,
        groups=[replace(past, group=names.key(past.group)) for past in history.groups],
        waits={group: waits for group, waits in history.waits.items() if names.is_own(group)},
        evictions=[veiled(past, names) for past in history.evictions if names.is_own(past.eviction.pod)],
    )


def veiled(past: PastEviction, names: Names) -> PastEviction:
    """Of an own pod: for whom it left, and who could have left instead, has no name."""
    eviction = past.eviction
    receipt = msgspec.structs.replace(
        eviction.receipt,
        alternatives=tuple(
            Alternative(tuple(map(names.key, other.units)), other.toll, other.worse)
            for other in eviction.receipt.alternatives
        ),
    )
    return PastEviction(
        past.at,
        msgspec.structs.replace(eviction, preemptor=names.key(eviction.preemptor), receipt=receipt),
    )


class Veil:
    def __init__(self, snapshot: Snapshot, namespaces: Collection[str]) -> None:
        self._cluster = snapshot
        self._names = Names(namespaces, namespaces_of(snapshot), keys_of(snapshot))
        own = {number for number, needs in enumerate(snapshot.needs) if needs.namespace in namespaces}
        self._own_needs = own
        said = set(self._said_by_own())
        self._sought = {
            value: value if value in said else self._names.other(value)
            for requirement in requirements(snapshot.needs)
            for value in requirement.values
        }
        """Values of labels that some selector names, and what they are called. No other value matters."""
        self._handles = {
            volume.handle for shape in snapshot.shapes if shape.needs in own for volume in shape.volumes
        }

    def _said_by_own(self) -> Iterator[str]:
        """Values of labels that own pods have or look for: whoever asks knows them."""
        for label_class in self._cluster.classes:
            if self._names.owns(label_class.namespace):
                yield from label_class.labels.values()
        for requirement in requirements(self._cluster.needs[number] for number in self._own_needs):
            yield from requirement.values

    def snapshot(self) -> Snapshot:
        old = self._cluster
        return replace(
            old,
            bound=self._bound(old.bound),
            needs=tuple(map(self._needs, old.needs)),
            classes=self._classes(),
            classes_with=self._classes_with(),
            shapes=tuple(map(self._shape, old.shapes)),
            groups=tuple(map(self._view, old.groups, ages(old.groups))),
            namespaces={self._names.namespace(name): self._space(name) for name in old.namespaces},
            storage=self._storage(old.storage),
            claims_in_use={self._names.key(claim): rows for claim, rows in old.claims_in_use.items()},
            composites={self._names.key(key): self._composite(one) for key, one in old.composites.items()},
            seated=tuple(None if one is None else self._seated(one) for one in old.seated),
            budgets=tuple(map(self._budget, old.budgets)),
            jobs={self._names.key(key): self._job(job) for key, job in old.jobs.items()},
        )

    # -- pods --------------------------------------------------------------------------------------------

    def _bound(self, bound: BoundPods) -> BoundPods:
        occupants, keys = np.empty_like(bound.occupants), self._names.keys
        occupants[:] = [
            one if one is None or one.key not in keys else self._occupant(one, keys[one.key])
            for one in bound.occupants
        ]
        return replace(bound, occupants=occupants)

    def _occupant(self, occupant: Occupant, key: str) -> Occupant:
        claims = tuple(map(self._names.key, occupant.claims)) if occupant.claims else ()
        return Occupant(key, key, self._owner(occupant), claims)

    def _owner(self, occupant: Occupant) -> tuple[str, str, str]:
        """Which one it is counts for Jobs only, and of these for those that are known."""
        kind, name, uid = occupant.owner
        if kind == "Job":
            job = f"{occupant.key.partition('/')[0]}/{name}"
            if job in self._cluster.jobs:
                return kind, self._names.name(job), self._names.other(uid)
        return kind, name and MARK, ""

    def _needs(self, needs: Needs) -> Needs:
        if not any(True for _ in needs.pod_terms()):
            return replace(needs, namespace=self._names.namespace(needs.namespace))
        return replace(
            needs,
            namespace=self._names.namespace(needs.namespace),
            affinity=tuple(map(self._term, needs.affinity)),
            anti_affinity=tuple(map(self._term, needs.anti_affinity)),
            preferred_pods=tuple((weight, self._term(term)) for weight, term in needs.preferred_pods),
            spread=tuple(map(self._spread, needs.spread)),
            preferred_spread=tuple(map(self._spread, needs.preferred_spread)),
        )

    def _term(self, term: PodTerm) -> PodTerm:
        return msgspec.structs.replace(
            term,
            selector=self._selector(term.selector),
            namespaces=tuple(map(self._names.namespace, term.namespaces)),
            namespace_selector=self._selector(term.namespace_selector),
        )

    def _spread(self, spread: SpreadTerm) -> SpreadTerm:
        return msgspec.structs.replace(spread, pods=self._term(spread.pods))

    def _selector(self, selector: Selector | None) -> Selector | None:
        return None if selector is None else tuple(map(self._requirement, selector))

    def _requirement(self, one: Requirement) -> Requirement:
        return msgspec.structs.replace(one, values=tuple(self._value(one.key, value) for value in one.values))

    def _value(self, key: str, value: str) -> str:
        return self._names.namespace(value) if key == NAMESPACE_NAME else self._sought[value]

    def _classes(self) -> tuple[LabelClass, ...]:
        """Many are alike once their labels have no values: those that no selector names."""
        names, classes, alike = self._names, self._cluster.classes, dict[tuple[str, ...], LabelClass]()
        named = {number for numbers in self._classes_with().values() for number in numbers}
        found = list[LabelClass]()
        for number, one in enumerate(classes):
            kind = (one.namespace, *one.labels)
            if names.owns(one.namespace):
                found.append(one)
            elif number in named:
                labels = {key: self._sought.get(value, MARK) for key, value in one.labels.items()}
                found.append(LabelClass(names.namespace(one.namespace), labels))
            else:
                if kind not in alike:
                    space = names.namespace(one.namespace)
                    alike[kind] = LabelClass(space, dict.fromkeys(one.labels, MARK))
                found.append(alike[kind])
        return tuple(found)

    def _classes_with(self) -> Mapping[tuple[str, str], Sequence[int]]:
        known = self._cluster.classes_with
        return {
            (requirement.key, self._sought[value]): known.get((requirement.key, value), ())
            for requirement in requirements(self._cluster.needs)
            for value in requirement.values
        }

    def _space(self, name: str) -> Labels:
        labels = self._cluster.namespaces[name]
        if self._names.owns(name):
            return labels
        veiled = {key: self._sought.get(value, MARK) for key, value in labels.items()}
        return {**veiled, NAMESPACE_NAME: self._names.namespace(name)}

    # -- groups ------------------------------------------------------------------------------------------

    def _view(self, view: GroupView, created: float) -> GroupView:
        if self._names.is_own(view.group.key):
            return replace(view, created=created)
        pods = tuple(map(self._names.keys.__getitem__, view.pods))
        space = view.group.key.partition("/")[0]
        orders: Iterable[MemberOrder] = (
            (index, age, pod) for (index, age, _), pod in zip(view.orders, pods, strict=True)
        )
        running = (
            RunningMember((*one.order[:2], self._names.key(f"{space}/{one.order[2]}")), one.node)
            for one in view.running
        )
        return replace(
            view,
            group=self._group(view.group),
            pods=pods,
            uids=pods,
            orders=tuple(orders),
            running=tuple(running),
            created=created,
            owner=("", "", ""),
        )

    def _group(self, group: Group) -> Group:
        """What is wrong with it stays wrong, but is told to its own people only."""
        if self._names.is_own(group.key):
            return group
        return msgspec.structs.replace(
            group,
            key=self._names.key(group.key),
            parent=self._names.key(group.parent),
            problems=("something is wrong with it",) if group.problems else (),
            warnings=(),
        )

    def _seated(self, seated: SeatedGroup) -> SeatedGroup:
        return replace(seated, group=self._group(seated.group))

    def _composite(self, composite: CompositePodGroup) -> CompositePodGroup:
        meta, parent = composite.metadata, composite.spec.parent_composite_pod_group_name
        if parent:
            parent = self._names.name(f"{meta.namespace or 'default'}/{parent}")
        spec = msgspec.structs.replace(composite.spec, parent_composite_pod_group_name=parent)
        return CompositePodGroup(self._meta(meta), spec)

    # -- what else there is ------------------------------------------------------------------------------

    def _meta(self, meta: ObjectMeta) -> ObjectMeta:
        """Own metadata as it is; of others, that they are there."""
        key = key_of(meta)
        if self._names.is_own(key):
            return meta
        namespace, _, name = self._names.key(key).partition("/")
        return ObjectMeta(
            name=name,
            namespace=namespace,
            uid=self._names.other(meta.uid),
            creation_timestamp=meta.creation_timestamp,
            deletion_timestamp=meta.deletion_timestamp,
        )

    def _job(self, job: Job) -> Job:
        if self._names.is_own(key_of(job.metadata)):
            return self._own_job(job)
        spec: JobSpec = msgspec.structs.replace(job.spec, template=PodTemplate())
        return Job(self._meta(job.metadata), spec, job.status)

    def _own_job(self, job: Job) -> Job:
        """Whom it made room for, if it did, may be in another namespace."""
        marks, record = job.metadata.annotations, job.metadata.annotations.get(SUSPENDED)
        if record is None:
            return job
        told = {**marks, SUSPENDED: told_to(self._names.own, record)}
        return Job(msgspec.structs.replace(job.metadata, annotations=told), job.spec, job.status)

    def _budget(self, budget: PodDisruptionBudget) -> PodDisruptionBudget:
        meta = budget.metadata
        if self._names.is_own(key_of(meta)):
            return budget
        space = meta.namespace or "default"
        disrupted = {
            self._names.name(f"{space}/{pod}"): moment for pod, moment in budget.status.disrupted_pods.items()
        }
        status = msgspec.structs.replace(budget.status, disrupted_pods=disrupted)
        spec = BudgetSpec(None, budget.spec.min_available, budget.spec.max_unavailable)
        return PodDisruptionBudget(self._meta(meta), spec, status)

    def _storage(self, storage: StorageView) -> StorageView:
        return StorageView(
            {self._names.key(key): self._claim(claim) for key, claim in storage.claims.items()},
            {self._volume_name(name): self._volume(one) for name, one in storage.volumes.items()},
            storage.classes,
            storage.csi_nodes,
            storage.drivers,
            {name: self._attachment(one) for name, one in storage.attachments.items()},
        )

    def _attachment(self, attachment: VolumeAttachment) -> VolumeAttachment:
        volume = self._volume_name(attachment.spec.source.persistent_volume_name)
        spec = msgspec.structs.replace(attachment.spec, source=AttachmentSource(volume))
        return VolumeAttachment(attachment.metadata, spec)

    def _claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        if self._names.is_own(key_of(claim.metadata)):
            return claim
        volume = self._volume_name(claim.spec.volume_name)
        spec = msgspec.structs.replace(claim.spec, volume_name=volume, selector=None)
        return PersistentVolumeClaim(self._meta(claim.metadata), spec, claim.status)

    def _volume_name(self, name: str) -> str:
        """A volume that someone has is theirs; others may be anybody's."""
        volume = self._cluster.storage.volumes.get(name)
        reference = None if volume is None else volume.spec.claim_ref
        mine = reference is None or self._names.is_own(f"{reference.namespace}/{reference.name}")
        return name if volume is not None and mine else self._names.other(name)

    def _volume(self, volume: PersistentVolume) -> PersistentVolume:
        name, reference = self._volume_name(volume.metadata.name), volume.spec.claim_ref
        if name == volume.metadata.name or reference is None:
            return volume
        namespace, _, claim = self._names.key(f"{reference.namespace}/{reference.name}").partition("/")
        kept = ClaimReference(namespace, claim, self._names.other(reference.uid))
        meta = msgspec.structs.replace(volume.metadata, name=name, labels={}, annotations={})
        return PersistentVolume(meta, msgspec.structs.replace(volume.spec, claim_ref=kept), volume.status)

    def _shape(self, shape: Shape) -> Shape:
        if not shape.volumes or shape.needs in self._own_needs:
            return shape
        return replace(shape, volumes=tuple(map(self._volume_need, shape.volumes)))

    def _volume_need(self, need: VolumeNeed) -> VolumeNeed:
        return msgspec.structs.replace(
            need,
            problem=need.problem and "one of its volumes is not ready",
            candidates=tuple(map(self._volume_name, need.candidates)),
            handle=need.handle if need.handle in self._handles else self._names.other(need.handle),
            exclusive=self._names.key(need.exclusive),
        )


def namespaces_of(snapshot: Snapshot) -> Iterator[str]:
    yield from snapshot.namespaces
    yield from (one.namespace for one in snapshot.classes)
    yield from (needs.namespace for needs in snapshot.needs)


def keys_of(snapshot: Snapshot) -> Iterator[str]:
    """Everything that has a name in a namespace, as far as the order of names may count."""
    for view in snapshot.groups:
        yield view.group.key
        yield from view.pods
    yield from (one.group.key for one in snapshot.seated if one is not None)
    yield from (one.key for one in snapshot.bound.occupants if one is not None)
    for table in (snapshot.jobs, snapshot.composites, snapshot.storage.claims):
        yield from table
    yield from (key_of(budget.metadata) for budget in snapshot.budgets)


def requirements(needs: Iterable[Needs]) -> Iterator[Requirement]:
    """All that is asked of the labels of pods and of their namespaces."""
    for one in needs:
        for term in one.pod_terms():
            yield from term.selector or ()
            yield from term.namespace_selector or ()


def ages(groups: Iterable[GroupView]) -> Iterator[float]:
    """When each came; those who came together a tick apart, in the order of their names as they are."""
    together: dict[float, int] = {}
    for view in groups:
        ticks = together[view.created] = together.get(view.created, -1) + 1
        yield view.created + TICK * ticks
