"""Queues of Kueue: nominal quotas are guarantees, flavors are models of devices, cohorts are queues above.

What may be borrowed in a cohort is what its members leave idle. So the cohort at the top borrows never, and
its members borrow from each other. Workloads name LocalQueues, so these are the queues at the bottom.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from maitred.explain.importing.queues.draft import Draft, DraftQueue, counted, read, weight
from maitred.explain.importing.queues.settle import by_parent, from_above, guaranteed
from maitred.model.manifest import Document
from maitred.model.meta import Lean, ObjectMeta
from maitred.model.pod import Quantity
from maitred.model.quantity import QuantityError, thousandths
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL
from maitred.model.selector import LabelSelector, Requirement

NAMESPACE_NAME = "kubernetes.io/metadata.name"
NOBODY = LabelSelector(match_expressions=(Requirement(NAMESPACE_NAME, "DoesNotExist"),))


class KueueQuota(Lean, frozen=True):
    name: str = ""
    nominal_quota: Quantity = 0
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class KueueFlavorQuotas(Lean, frozen=True):
    name: str = ""
    resources: tuple[KueueQuota, ...] = ()


class KueueResourceGroup(Lean, frozen=True):
    flavors: tuple[KueueFlavorQuotas, ...] = ()


class KueueFairSharing(Lean, frozen=True):
    weight: Quantity | None = None


class KueueBorrow(Lean, frozen=True):
    policy: str = "Never"


class KueuePreemption(Lean, frozen=True):
    reclaim_within_cohort: str = "Never"
    within_cluster_queue: str = "Never"
    borrow_within_cohort: KueueBorrow | None = None


class KueueQueueSpec(Lean, frozen=True):
    """Of ClusterQueues, Cohorts and LocalQueues, in all their versions."""

    cluster_queue: str = ""
    cohort: str = ""
    cohort_name: str = ""
    parent: str = ""
    parent_name: str = ""
    resource_groups: tuple[KueueResourceGroup, ...] = ()
    namespace_selector: LabelSelector | None = None
    fair_sharing: KueueFairSharing | None = None
    preemption: KueuePreemption = KueuePreemption()
    queueing_strategy: str = "BestEffortFIFO"
    stop_policy: str = "None"
    flavor_fungibility: dict[str, object] = {}
    admission_checks: tuple[object, ...] = ()
    admission_checks_strategy: dict[str, object] = {}
    admission_scope: dict[str, object] = {}
    concurrent_admission_policy: dict[str, object] = {}


class KueueQueue(Lean, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: KueueQueueSpec = KueueQueueSpec()


class KueueFlavorSpec(Lean, frozen=True):
    node_labels: dict[str, str] = {}
    node_taints: tuple[object, ...] = ()
    tolerations: tuple[object, ...] = ()
    topology_name: str = ""


class KueueFlavor(Lean, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: KueueFlavorSpec = KueueFlavorSpec()


@dataclass
class LocalQueues:
    """Those of one name that point to one ClusterQueue."""

    namespaces: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


def import_kueue(documents: Sequence[Document], model_labels: Sequence[str], draft: Draft) -> None:
    by_kind: dict[str, list[Document]] = {}
    for document in documents:
        by_kind.setdefault(document.kind, []).append(document)
    models = _models(by_kind.get("ResourceFlavor", ()), model_labels, draft)
    _KueueImport(by_kind, models, draft).run()
    for kind, words in OTHERS.items():
        for document in by_kind.get(kind, ()):
            draft.note(document.title, words)


OTHERS = {
    "AdmissionCheck": "admission checks have no equivalent",
    "Topology": "it is left out: policy.topology says which labels are levels",
    "WorkloadPriorityClass": "it is left out: priorities are those of the pods (PriorityClass)",
}


def _models(documents: Sequence[Document], labels: Sequence[str], draft: Draft) -> dict[str, str]:
    """The model that each flavor stands for; empty for those that stand for none."""
    found = dict[str, str]()
    for document in documents:
        flavor: KueueFlavor = read(document, KueueFlavor)
        spec, origin = flavor.spec, document.title
        own = [spec.node_labels[key] for key in labels if spec.node_labels.get(key)]
        found[flavor.metadata.name] = own[0] if own else ""
        if others := sorted(spec.node_labels.keys() - {*labels}):
            draft.note(
                origin,
                f"nodeLabels ({', '.join(others)[:120]}) are left out: limits tell nodes apart by the model "
                "of their devices only; use nodeSelector in workloads",
            )
        if spec.node_taints or spec.tolerations:
            draft.note(origin, "nodeTaints and tolerations are left out: write tolerations in workloads")
        if spec.topology_name:
            draft.note(origin, "topologyName is left out: policy.topology says which labels are levels")
    return found


class _KueueImport:
    def __init__(
        self, by_kind: Mapping[str, Sequence[Document]], models: Mapping[str, str], draft: Draft
    ) -> None:
        self._models, self._draft = models, draft
        self._clusters, self._cohorts, self._locals = (
            [(document, self._read(document)) for document in by_kind.get(kind, ())]
            for kind in ("ClusterQueue", "Cohort", "LocalQueue")
        )
        clusters = {one.metadata.name for _, one in self._clusters}
        known = (one for _, one in self._locals if one.spec.cluster_queue in clusters)
        self._called = Counter(one.metadata.name for one in known)
        self._taken = {local.metadata.name for _, local in self._locals}
        """Names that workloads use: those of LocalQueues."""
        self._name_of: dict[tuple[str, str], str] = {}
        """Kind and name there: name here."""

    def _read(self, document: Document) -> KueueQueue:
        found: KueueQueue = read(document, KueueQueue)
        return found

    def run(self) -> None:
        leaves = self._leaves()
        cohorts = {name: None for _, one in self._clusters if (name := _cohort(one.spec))}
        cohorts |= {one.metadata.name: None for _, one in self._cohorts}
        cohorts |= {name: None for _, one in self._cohorts if (name := _parent(one.spec))}
        for _, one in self._clusters:
            alone = [*leaves.get(one.metadata.name, {})] == [one.metadata.name]
            self._name("ClusterQueue", one.metadata.name, "cluster-queue", alone)
        for name in cohorts:
            self._name("Cohort", name, "cohort", False)
        known = {one.metadata.name: (document, one) for document, one in self._cohorts}
        for name in cohorts:
            self._add_cohort(name, known.get(name))
        for document, one in self._clusters:
            self._add_cluster(document, one, leaves.get(one.metadata.name, {}))
        self._add_up({self._name_of["Cohort", name] for name in cohorts})

    def _name(self, kind: str, name: str, ending: str, may_be_taken: bool) -> None:
        chosen = name
        if name == DEFAULT_QUEUE or (name in self._taken and not may_be_taken):
            chosen = f"{name}-{ending}"
            self._draft.note(f"{kind} {name}", f"it is called {chosen}: workloads name another queue {name}")
        self._taken.add(chosen)
        self._name_of[kind, name] = chosen

    # -- LocalQueues -----------------------------------------------------------------------------------

    def _leaves(self) -> dict[str, dict[str, LocalQueues]]:
        """By ClusterQueue and name."""
        found = dict[str, dict[str, LocalQueues]]()
        clusters = {one.metadata.name for _, one in self._clusters}
        for document, local in self._locals:
            target = local.spec.cluster_queue
            if target not in clusters:
                self._draft.note(document.title, f"ClusterQueue {target[:60]} is not in the input; left out")
                continue
            leaf = found.setdefault(target, {}).setdefault(local.metadata.name, LocalQueues())
            leaf.namespaces.append(local.metadata.namespace or "default")
            leaf.weights.append(self._weight(document, local.spec))
            self._note_stopped(document.title, local.spec)
        return found

    def _add_leaves(self, cluster: DraftQueue, target: str, leaves: Mapping[str, LocalQueues]) -> None:
        for name, leaf in leaves.items():
            spaces = Requirement(NAMESPACE_NAME, "In", tuple(sorted(leaf.namespaces)))
            here = LabelSelector(match_expressions=(spaces,))
            is_shared = self._called[name] > len(leaf.namespaces)
            called = f"{name}-{cluster.name}" if is_shared else name
            if is_shared:
                self._draft.note(
                    f"LocalQueue {name}",
                    "LocalQueues of this name point to several ClusterQueues, and a queue has one name in "
                    f"the whole cluster: in {', '.join(sorted(leaf.namespaces))[:120]} write "
                    f"maitred.dev/queue: {called} on workloads",
                )
            if called == DEFAULT_QUEUE:
                self._draft.note(
                    f"LocalQueue {name}",
                    "groups that name no queue are in it, in all namespaces; in those that may not use it "
                    "they are Invalid",
                )
            if called == cluster.name:
                cluster.namespaces = here if cluster.namespaces is None else _both(cluster.namespaces, here)
                continue
            origin = f"LocalQueue {name} of ClusterQueue {target}"
            self._draft.add(DraftQueue(called, origin, cluster.name, max(leaf.weights), namespaces=here))

    # -- ClusterQueues and Cohorts ---------------------------------------------------------------------

    def _add_cohort(self, name: str, known: tuple[Document, KueueQueue] | None) -> None:
        made = DraftQueue(self._name_of["Cohort", name], f"Cohort {name}")
        if known is not None:
            document, cohort = known
            made.weight = self._weight(document, cohort.spec)
            parent = _parent(cohort.spec)
            made.parent = self._name_of["Cohort", parent] if parent else ""
            self._take(document, cohort.spec, made, in_cohort=bool(parent))
        made.borrows = bool(made.parent)
        self._draft.add(made)

    def _add_up(self, cohorts: Collection[str]) -> None:
        """A quota of a cohort comes on top of those of its members. One that has none has theirs."""
        below = by_parent(self._draft.queues)
        for cohort in reversed([one for one in from_above(self._draft.queues) if one.name in cohorts]):
            members = below.get(cohort.name, [])
            spoken = {resource for resource, _ in cohort.guarantees}
            subjects = (about for one in members for about in one.guarantees if about[0] in spoken)
            for about in dict.fromkeys((*cohort.guarantees, *subjects)):
                theirs = sum(guaranteed(one, about) for one in members)
                cohort.guarantee(about[0], theirs, about[1])
                if about in cohort.caps:
                    cohort.caps[about] += theirs

    def _add_cluster(self, document: Document, found: KueueQueue, leaves: Mapping[str, LocalQueues]) -> None:
        name, spec, cohort = found.metadata.name, found.spec, _cohort(found.spec)
        made = DraftQueue(
            self._name_of["ClusterQueue", name], document.title, weight=self._weight(document, spec)
        )
        made.parent = self._name_of["Cohort", cohort] if cohort else ""
        made.borrows = bool(cohort)
        if spec.namespace_selector is None:
            made.namespaces = NOBODY
            self._draft.note(document.title, "it has no namespaceSelector, so no namespace may use it")
        elif spec.namespace_selector != LabelSelector():
            made.namespaces = spec.namespace_selector
        self._take(document, spec, made, in_cohort=bool(cohort))
        self._note_rules(document.title, spec, in_cohort=bool(cohort))
        self._draft.add(made)
        self._add_leaves(made, name, leaves)

    def _take(self, document: Document, spec: KueueQueueSpec, made: DraftQueue, in_cohort: bool) -> None:
        """Quotas of flavors that stand for one model are added up."""
        quotas: dict[str, dict[str, list[KueueQuota]]] = {}
        for flavor, quota in _quotas(spec):
            if flavor not in self._models:
                self._draft.note(document.title, f"ResourceFlavor {flavor[:60]} is not in the input")
            model = self._models.get(flavor, "")
            quotas.setdefault(quota.name, {}).setdefault(model, []).append(quota)
        for resource, by_model in quotas.items():
            if not self._draft.resource(document.title, resource):
                continue
            for model, some in by_model.items():
                if model:
                    self._limit(document, made, resource, model, some, in_cohort)
            if "" in by_model:
                every = [quota for some in by_model.values() for quota in some]
                self._limit(document, made, resource, EVERY_MODEL, every, in_cohort)
                if len(every) > 1:
                    self._draft.note(
                        document.title, f"flavors that are no models count together for {resource}"
                    )
        self._lend(document, spec, made)

    def _limit(
        self,
        document: Document,
        made: DraftQueue,
        resource: str,
        model: str,
        quotas: Sequence[KueueQuota],
        in_cohort: bool,
    ) -> None:
        nominal = sum(counted(document, resource, quota.nominal_quota) for quota in quotas)
        made.guarantee(resource, nominal, model)
        limits = [quota.borrowing_limit for quota in quotas if quota.borrowing_limit is not None]
        if in_cohort and len(limits) == len(quotas):
            borrowed = sum(counted(document, resource, limit) for limit in limits)
            made.caps[resource, model] = nominal + borrowed

    def _lend(self, document: Document, spec: KueueQueueSpec, made: DraftQueue) -> None:
        quotas = [quota for _, quota in _quotas(spec)]
        lent = [quota.lending_limit for quota in quotas if quota.lending_limit is not None]
        zero = [counted(document, "lendingLimit", one) == 0 for one in lent]
        if lent and len(lent) == len(quotas) and all(zero):
            made.lends = False
        elif lent:
            self._draft.note(
                document.title,
                "lendingLimit: a queue lends all that it leaves idle of its guarantee, or nothing (lend: "
                "never); here it lends all, and takes it back when it is wanted",
            )

    def _weight(self, document: Document, spec: KueueQueueSpec) -> float:
        said = None if spec.fair_sharing is None else spec.fair_sharing.weight
        if said is None:
            return 1.0
        try:
            return weight(thousandths(said) / 1000)
        except QuantityError:
            self._draft.note(document.title, "the weight cannot be read; it is 1 here")
            return 1.0

    # -- what has no equivalent ------------------------------------------------------------------------

    def _note_rules(self, origin: str, spec: KueueQueueSpec, in_cohort: bool) -> None:
        rules, note = spec.preemption, self._draft.note
        if in_cohort and rules.reclaim_within_cohort != "Any":
            note(
                origin,
                f"reclaimWithinCohort: {rules.reclaim_within_cohort}: what is guaranteed is always taken "
                "back from those who have borrowed it, whatever the priorities; minRuntime puts it off",
            )
        if rules.within_cluster_queue == "Never":
            note(
                origin,
                "withinClusterQueue: Never: within a queue a higher priority preempts; preemption.mode: "
                "never forbids it everywhere, reclaim too",
            )
        elif rules.within_cluster_queue == "LowerOrNewerEqualPriority":
            note(origin, "withinClusterQueue: a group never preempts one of the same priority")
        if in_cohort and (rules.borrow_within_cohort or KueueBorrow()).policy == "Never":
            note(
                origin,
                "borrowWithinCohort: a group that borrows preempts others that borrow, if their priority is "
                "lower",
            )
        if spec.queueing_strategy == "StrictFIFO":
            note(origin, "StrictFIFO: a group that cannot be seated does not hold up those behind it")
        if spec.flavor_fungibility.keys() - {""}:
            note(
                origin,
                "flavorFungibility: models are tried in the order of the limits, before anybody leaves",
            )
        if spec.admission_checks or spec.admission_checks_strategy:
            note(origin, "admission checks have no equivalent")
        if spec.admission_scope:
            note(origin, "admissionScope: fairShare.halfLife lets use of the past count, between all queues")
        if spec.concurrent_admission_policy:
            note(origin, "concurrentAdmissionPolicy: groups stay on the devices that they got")
        self._note_stopped(origin, spec)

    def _note_stopped(self, origin: str, spec: KueueQueueSpec) -> None:
        if spec.stop_policy != "None":
            self._draft.note(
                origin, "it is stopped, and queues cannot be stopped: groups in it would be seated"
            )


def _cohort(spec: KueueQueueSpec) -> str:
    return spec.cohort_name or spec.cohort


def _parent(spec: KueueQueueSpec) -> str:
    return spec.parent_name or spec.parent


def _quotas(spec: KueueQueueSpec) -> Iterator[tuple[str, KueueQuota]]:
    for group in spec.resource_groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                yield flavor.name, quota


def _both(one: LabelSelector, other: LabelSelector) -> LabelSelector:
    return LabelSelector(
        {**one.match_labels, **other.match_labels}, (*one.match_expressions, *other.match_expressions)
    )
