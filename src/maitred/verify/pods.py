"""Pods: what they ask for and whom they want near, read from raw objects."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from . import quantity
from .fields import Doc
from .selectors import (
    Labels,
    NodeTerms,
    Requirement,
    Selector,
    Toleration,
    exact,
    label_selector,
    labels_of_namespace,
    matches,
    node_terms,
    tolerations,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ANY_ADDRESS = "0.0.0.0"
INDEX_KEYS = (
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
)
JOB_INDEX_KEYS = ("jobset.sigs.k8s.io/job-global-index", "jobset.sigs.k8s.io/job-index")
INT32 = 2**31
MOST_DIGITS = 4000
"""More are no number, whatever they are."""
LONGEST_NAME = 253

Port = tuple[str, str, int]  # address, protocol, number
Owner = tuple[str, str, str]  # kind, name, uid
HOMES = {
    "Job": "batch",
    "JobSet": "jobset.x-k8s.io",
    "TrainJob": "trainer.kubeflow.org",
    **dict.fromkeys(("PyTorchJob", "TFJob", "JAXJob", "XGBoostJob", "PaddleJob", "MPIJob"), "kubeflow.org"),
    "RayCluster": "ray.io",
    "RayJob": "ray.io",
    "CronJob": "batch",
}
"""API groups of kinds that others have under the same name."""
GRACE = 30
"""Seconds that pods get to leave which do not ask for any."""


@dataclass(frozen=True)
class AffinityTerm:
    """One required term of inter-pod affinity or anti-affinity, its namespaces worked out.

    One that is `assumed` to be met asks only that the node is in some domain.
    """

    selector: Selector | None
    key: str
    namespaces: frozenset[str]
    namespace_selector: Selector | None
    assumed: bool = False


@dataclass(frozen=True)
class Spread:
    """One topology spread constraint that must not be broken (DoNotSchedule).

    kube-scheduler counts nobody for a selector that is empty, so that is read as none.
    """

    key: str
    max_skew: int
    selector: Selector | None
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


@dataclass(frozen=True)
class ClaimUse:
    """A volume that comes from a PersistentVolumeClaim; a generic ephemeral one carries its template.

    One that is `assumed` to be bound where the pod goes keeps it from no node by where its volume is.
    """

    name: str
    template: Doc | None
    assumed: bool = False


@dataclass(frozen=True)
class DeviceUse:
    """A ResourceClaim that a pod uses, under its own name for it: a claim by name, or one that is made from a
    template. `made` is empty until it is."""

    name: str
    claim: str
    template: str
    made: str = ""


@dataclass(frozen=True, eq=False)
class Pod:
    """A pod, as far as scheduling looks at it."""

    namespace: str
    name: str
    uid: str
    labels: Labels
    annotations: Labels
    created: float | None
    due: float | None
    """If it is being deleted, the time by which it is to be gone."""
    given: int
    """If it is being deleted, the seconds that it was given to leave."""
    grace: int
    """The seconds that it asks for."""
    phase: str
    node_name: str
    scheduler: str
    gates: tuple[str, ...]
    priority: int | None
    priority_class: str
    preemption_policy: str
    group_name: str
    nominated: str
    started: float | None
    bound: float | None
    """Since when it has its node, as the API server says: not before it was created, nor after it started."""
    is_daemon: bool
    """Made by a DaemonSet or by its node."""
    controller: Owner | None
    requests: dict[str, int]
    ports: frozenset[Port]
    node_selector: Selector
    node_terms: NodeTerms | None
    tolerations: tuple[Toleration, ...]
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    spreads: tuple[Spread, ...]
    claims: tuple[ClaimUse, ...]
    devices: tuple[DeviceUse, ...]
    features: frozenset[str]
    by_class: frozenset[str] = frozenset()
    """What it asks for by resources that a device class serves where nodes have none."""

    @property
    def wants_devices(self) -> bool:
        return bool(self.devices or self.by_class)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @property
    def deleting(self) -> bool:
        return self.due is not None

    @property
    def terminating(self) -> bool:
        return self.deleting and not self.finished

    @property
    def holds(self) -> bool:
        """Whether it takes room on its node: terminating pods still do."""
        return bool(self.node_name) and not self.finished

    @property
    def running(self) -> bool:
        """Whether it runs and counts for a quorum."""
        return self.holds and not self.deleting

    @property
    def pending(self) -> bool:
        """Whether it is to be decided."""
        return not self.node_name and not self.finished and not self.deleting

    @property
    def index(self) -> int | None:
        """In its Job, or whatever else made it."""
        return self._number(INDEX_KEYS)

    @property
    def job_index(self) -> int:
        """Of its Job in a JobSet."""
        return self._number(JOB_INDEX_KEYS) or 0

    def _number(self, keys: Iterable[str]) -> int | None:
        for key in keys:
            for source in (self.labels, self.annotations):
                text = source.get(key, "")
                if text.isdecimal() and len(text) <= MOST_DIGITS and int(text) < INT32:
                    return int(text)
        return None

    def order(self) -> tuple[float, float, float, str]:
        """The place among the members of a group: lowest index, Job by Job; else oldest, else name."""
        index = self.index
        return (
            float("inf") if index is None else self.job_index,
            float("inf") if index is None else index,
            float("inf") if self.created is None else self.created,
            self.name,
        )


def read_pod(doc: Doc) -> Pod:
    meta, spec, status = doc.doc("metadata"), doc.doc("spec"), doc.doc("status")
    namespace = meta.text("namespace") or "default"
    labels = meta.strings("labels")
    affinity = spec.doc("affinity")
    return Pod(
        namespace=namespace,
        name=meta.text("name"),
        uid=meta.text("uid"),
        labels=labels,
        annotations=meta.strings("annotations"),
        created=meta.moment("creationTimestamp"),
        due=meta.moment("deletionTimestamp"),
        given=meta.integer("deletionGracePeriodSeconds"),
        grace=spec.integer("terminationGracePeriodSeconds", GRACE),
        phase=status.text("phase"),
        node_name=spec.text("nodeName"),
        scheduler=spec.text("schedulerName") or "default-scheduler",
        gates=tuple(gate.text("name") for gate in spec.docs("schedulingGates")),
        priority=spec.integer("priority") if spec.given("priority") else None,
        priority_class=spec.text("priorityClassName"),
        preemption_policy=spec.text("preemptionPolicy"),
        group_name=spec.doc("schedulingGroup").text("podGroupName"),
        nominated=status.text("nominatedNodeName"),
        started=status.moment("startTime"),
        bound=_bound(meta, status) if spec.text("nodeName") else None,
        is_daemon=any(map(makes_daemons, meta.docs("ownerReferences"))),
        controller=controller(meta),
        requests=pod_requests(spec),
        ports=host_ports(spec),
        node_selector=exact(spec.strings("nodeSelector")),
        node_terms=node_terms(affinity.doc("nodeAffinity"), REQUIRED),
        tolerations=tolerations(spec),
        affinity=affinity_terms(affinity.doc("podAffinity"), namespace, labels),
        anti_affinity=affinity_terms(affinity.doc("podAntiAffinity"), namespace, labels),
        spreads=spread_constraints(spec, labels),
        claims=claim_uses(spec, meta.text("name")),
        devices=device_claims(spec, status),
        features=needed_features(spec),
    )


def _bound(meta: Doc, status: Doc) -> float | None:
    created, started = meta.moment("creationTimestamp"), status.moment("startTime")
    for one in status.docs("conditions"):
        if (one.text("type"), one.text("status")) == ("PodScheduled", "True"):
            said = one.moment("lastTransitionTime")
            if said is None or created is None:
                break
            return min(max(said, created), max(said, created) if started is None else started)
    return started


def controller(meta: Doc) -> Owner | None:
    """Who makes a pod anew when it is gone."""
    for owner in meta.docs("ownerReferences"):
        if owner.flag("controller") and _may_exist(owner):
            kind, (group, _, _) = owner.text("kind"), owner.text("apiVersion").rpartition("/")
            # Others may have a kind of the same name, to which nothing applies that is known of this one.
            foreign = group not in ("", HOMES.get(kind, group))
            return f"{kind}.{group}" if foreign else kind, owner.text("name"), owner.text("uid")
    return None


def _may_exist(owner: Doc) -> bool:
    """Nobody checks how long the texts in such a reference are."""
    rest = sum(len(owner.text(field)) for field in ("kind", "uid", "apiVersion"))
    return len(owner.text("name")) <= LONGEST_NAME and rest <= 2 * LONGEST_NAME


def makes_daemons(owner: Doc) -> bool:
    """A DaemonSet, or the node of a static pod, that really makes the pod. Files may leave half of it out."""
    version, kind = owner.text("apiVersion"), owner.text("kind")
    if not version:
        return kind in ("DaemonSet", "Node")
    daemon_set = kind == "DaemonSet" and version.startswith("apps/")
    return owner.flag("controller") and (daemon_set or (kind == "Node" and version == "v1"))


def container_requests(container: Doc) -> quantity.Amounts:
    """What a container asks for: a limit without a request is the request."""
    resources = container.doc("resources")
    return quantity.amounts(resources.doc("limits")) | quantity.amounts(resources.doc("requests"))


def _sum(lists: Iterable[quantity.Amounts]) -> quantity.Amounts:
    total: quantity.Amounts = {}
    for entry in lists:
        for resource, amount in entry.items():
            total[resource] = total.get(resource, Fraction(0)) + amount
    return total


def _max(a: quantity.Amounts, b: quantity.Amounts) -> quantity.Amounts:
    return {key: max(a.get(key, Fraction(0)), b.get(key, Fraction(0))) for key in a.keys() | b.keys()}


def is_sidecar(container: Doc) -> bool:
    return container.text("restartPolicy") == "Always"


def pod_requests(spec: Doc) -> dict[str, int]:
    """What a pod takes of a node: the larger of its steady state and of the worst moment while it starts."""
    total = _sum(container_requests(container) for container in spec.docs("containers"))
    sidecars: quantity.Amounts = {}
    starting: quantity.Amounts = {}
    for container in spec.docs("initContainers"):
        own = container_requests(container)
        if is_sidecar(container):
            sidecars = _sum([sidecars, own])
            starting = _max(starting, sidecars)
        else:
            starting = _max(starting, _sum([sidecars, own]))
    total = _max(_sum([total, sidecars]), starting)
    total |= pod_level_requests(spec.doc("resources"), total)
    total = _sum([total, quantity.amounts(spec.doc("overhead"))])
    return quantity.whole(total) | {"pods": 1}


def pod_level_requests(resources: Doc, containers: quantity.Amounts) -> quantity.Amounts:
    """Pod-level requests, which replace the sum over containers for the resources that they may name.

    A pod-level limit without a request takes what the containers ask for, else the limit itself. Huge pages
    cannot be overcommitted, so their limit is their request.
    """
    requests, limits = quantity.amounts(resources.doc("requests")), quantity.amounts(resources.doc("limits"))
    for resource, limit in limits.items():
        if resource not in requests:
            own = None if resource.startswith("hugepages-") else containers.get(resource)
            requests[resource] = limit if own is None else own
    return {r: a for r, a in requests.items() if r in ("cpu", "memory") or r.startswith("hugepages-")}


def host_ports(spec: Doc) -> frozenset[Port]:
    """The ports of the node that a pod takes, for as long as it runs: init containers count if they stay."""
    staying = [container for container in spec.docs("initContainers") if is_sidecar(container)]
    found = set()
    for container in spec.docs("containers") + staying:
        for port in container.docs("ports"):
            number = port.integer("hostPort") or (spec.flag("hostNetwork") and port.integer("containerPort"))
            if number:
                address = port.text("hostIP") or ANY_ADDRESS
                found.add((address, port.text("protocol") or "TCP", number))
    return frozenset(found)


def _with_own_labels(doc: Doc, selector: Selector | None, labels: Labels) -> Selector | None:
    """Merge matchLabelKeys and mismatchLabelKeys into a selector: keys that the pod lacks are ignored."""
    if selector is None:
        return None
    same = [Requirement(k, "In", (labels[k],)) for k in doc.texts("matchLabelKeys") if k in labels]
    other = [Requirement(k, "NotIn", (labels[k],)) for k in doc.texts("mismatchLabelKeys") if k in labels]
    return (*selector, *same, *other)


def affinity_terms(doc: Doc, namespace: str, labels: Labels) -> tuple[AffinityTerm, ...]:
    terms = []
    for term in doc.docs(REQUIRED):
        names = frozenset(term.texts("namespaces"))
        spaces = label_selector(term, "namespaceSelector")
        if not names and spaces is None:
            names = frozenset({namespace})
        selector = _with_own_labels(term, label_selector(term, "labelSelector"), labels)
        terms.append(AffinityTerm(selector, term.text("topologyKey"), names, spaces))
    return tuple(terms)


def spread_constraints(spec: Doc, labels: Labels) -> tuple[Spread, ...]:
    return tuple(
        Spread(
            key=doc.text("topologyKey"),
            max_skew=doc.integer("maxSkew", 1),
            selector=_with_own_labels(doc, label_selector(doc, "labelSelector"), labels) or None,
            min_domains=doc.integer("minDomains", 1),
            honor_affinity=doc.text("nodeAffinityPolicy", "Honor") == "Honor",
            honor_taints=doc.text("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for doc in spec.docs("topologySpreadConstraints")
        if doc.text("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    )


def claim_uses(spec: Doc, pod_name: str) -> tuple[ClaimUse, ...]:
    uses = []
    for volume in spec.docs("volumes"):
        if volume.given("persistentVolumeClaim"):
            uses.append(ClaimUse(volume.doc("persistentVolumeClaim").text("claimName"), None))
        elif volume.given("ephemeral"):
            template = volume.doc("ephemeral").doc("volumeClaimTemplate")
            uses.append(ClaimUse(f"{pod_name}-{volume.text('name')}", template))
    return tuple(uses)


def device_claims(spec: Doc, status: Doc) -> tuple[DeviceUse, ...]:
    """The ResourceClaims of a pod. One for which the status names no claim is not needed. One that a
    scheduler has made for extended resources counts once the pod is on its node."""
    made = {doc.text("name"): doc.text("resourceClaimName") for doc in status.docs("resourceClaimStatuses")}
    found = []
    for doc in spec.docs("resourceClaims"):
        name, claim, template = (
            doc.text(field) for field in ("name", "resourceClaimName", "resourceClaimTemplateName")
        )
        if claim or made.get(name, template):
            found.append(DeviceUse(name, claim, template, made.get(name, "")))
    extended = status.doc("extendedResourceClaimStatus").text("resourceClaimName")
    if extended and spec.text("nodeName"):
        found.append(DeviceUse("", extended, ""))
    return tuple(found)


def needed_features(spec: Doc) -> frozenset[str]:
    """What the kubelet must have declared to run a pod: KEP-5328, as far as it is about new pods."""
    every = spec.docs("containers") + spec.docs("initContainers")
    found = set()
    for container in every:
        if any(
            rule.text("action") == "RestartAllContainers" for rule in container.docs("restartPolicyRules")
        ):
            found.add("RestartAllContainersOnContainerExits")
    for container in every + spec.docs("ephemeralContainers"):
        if any(mount.texts("bindMountOptions") for mount in container.docs("volumeMounts")):
            found.add("VolumeBindMountOptions")
    if spec.flag("hostNetwork") and spec.given("hostUsers") and not spec.flag("hostUsers"):
        found.add("UserNamespacesHostNetworkSupport")
    return frozenset(found)


def term_matches(term: AffinityTerm, pod: Pod, namespaces: dict[str, Labels]) -> bool:
    """Whether a term speaks of a pod, wherever it runs."""
    space = labels_of_namespace(pod.namespace, namespaces)
    named = pod.namespace in term.namespaces or matches(term.namespace_selector, space)
    return named and matches(term.selector, pod.labels)
