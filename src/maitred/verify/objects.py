"""The cluster as the raw objects describe it: nodes, pods, groups and storage, by name."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from . import quantity
from .budgets import Budget, read_budget
from .conventions import LANGUAGES
from .devices import Pools, read_pools
from .fields import Doc
from .forms import well_formed
from .hardware import ANY, broken_devices, published_devices, unregistered_devices
from .intree import attached_as
from .jobs import Job, read_job
from .owners import API_GROUPS
from .pods import Pod, read_pod
from .selectors import (
    Labels,
    NodeTerms,
    Requirement,
    Selector,
    Taint,
    label_selector,
    labels_only,
    node_terms,
    taints,
)
from .suspending import RULES, WORKLOAD, Suspendables

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
NOT_READY = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
DEFAULT_PODS = 110
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
FOREIGN_GROUPS = frozenset(one.group for one in LANGUAGES if one.group)
CLASS_RESOURCE = "deviceclass.resource.kubernetes.io/"
DEVICE_KINDS = ("DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule")


@dataclass(frozen=True, eq=False)
class Node:
    name: str
    labels: Labels
    taints: tuple[Taint, ...]
    allocatable: dict[str, int]
    repaired: dict[str, int] = field(default_factory=dict)
    """Devices that it has in all, where a device plugin offers fewer because some are unwell."""
    unregistered: dict[str, int] = field(default_factory=dict)
    """Devices that its labels tell of, where no device plugin does."""
    features: frozenset[str] = frozenset()

    def unwell(self, resource: str, classes: Collection[str]) -> dict[str, object]:
        """What there is to say of devices that it has and does not offer; nothing where all are well."""
        if resource in self.unregistered and resource not in classes:
            count = self.unregistered[resource]
            known = None if count == ANY else count
            return {"unwell": known, "of": known, "cause": "NotRegistered"}
        if resource not in self.repaired:
            return {}
        of, offered = self.repaired[resource], self.allocatable.get(resource, 0)
        cause = "Unhealthy" if offered else "NotAnswering"
        return {"unwell": of - offered, "of": of, "cause": cause}


@dataclass(frozen=True, eq=False)
class Claim:
    """A PersistentVolumeClaim. `storage_class` is None where it names none, so that the default applies."""

    key: str
    volume: str
    storage_class: str | None
    modes: frozenset[str]
    size: Fraction
    volume_mode: str
    selector: Selector | None
    selected_node: str
    lost: bool
    deleting: bool
    attributes_class: str = ""
    complete: bool = True
    uid: str = ""


@dataclass(frozen=True, eq=False)
class Volume:
    """A PersistentVolume."""

    name: str
    labels: Labels
    storage_class: str
    modes: frozenset[str]
    size: Fraction
    volume_mode: str
    node_terms: NodeTerms | None
    claim: str
    available: bool
    deleting: bool
    driver: str
    handle: str
    in_tree: bool = False
    attributes_class: str = ""
    claim_uid: str = ""


@dataclass(frozen=True, eq=False)
class StorageClass:
    name: str
    waits: bool
    provisioner: str
    topologies: tuple[Selector, ...]
    default: bool


@dataclass(frozen=True)
class PriorityClass:
    name: str
    value: int
    default: bool
    preemption_policy: str


@dataclass(frozen=True)
class Attachment:
    """A VolumeAttachment: which driver has, or is to have, which volume on which node."""

    driver: str
    node: str
    volume: str


@dataclass
class Cluster:
    """Everything that was read, by name."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    pod_groups: dict[str, Doc] = field(default_factory=dict)
    composites: dict[str, Doc] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    suspendable: Suspendables = field(default_factory=Suspendables)
    owners: dict[str, dict[str, Doc]] = field(default_factory=lambda: defaultdict(dict))
    """What is above pods, by kind: Jobs and what operators' objects make of them."""
    foreign_groups: dict[str, dict[str, Doc]] = field(default_factory=dict)
    """PodGroups of other schedulers, by their API group."""
    namespaces: dict[str, Labels] = field(default_factory=dict)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    storage_classes: dict[str, StorageClass] = field(default_factory=dict)
    attach_limits: dict[str, dict[str, int]] = field(default_factory=dict)
    installed: dict[str, frozenset[str]] = field(default_factory=dict)
    strict_drivers: set[str] = field(default_factory=set)
    attached: dict[str, Attachment] = field(default_factory=dict)
    device_objects: dict[str, dict[str, Doc]] = field(default_factory=lambda: defaultdict(dict))
    """Device classes, slices, taint rules, claims and their templates, by kind."""
    raw: dict[tuple[str, str], Doc] = field(default_factory=dict)
    """Nodes, pods and ConfigMaps as they were given, by kind and key."""
    allocations: dict[str, Doc] = field(default_factory=dict)
    """By resource claim, where there is one: in its status, or in the Plan."""

    @cached_property
    def device_resources(self) -> dict[str, str]:
        """Extended resources, and the device class that serves each: of several the newest, of these the
        first by name."""
        classes = self.device_objects["DeviceClass"]
        found = {CLASS_RESOURCE + name: name for name in classes}
        created = {name: classes[name].doc("metadata").text("creationTimestamp") for name in classes}
        for name in sorted(sorted(classes, reverse=True), key=created.__getitem__):
            served = classes[name].doc("spec").text("extendedResourceName")
            if served:
                found[served] = name
        return found

    @cached_property
    def pools(self) -> Pools:
        return read_pools(self.device_objects["ResourceSlice"], self.device_objects["DeviceTaintRule"])

    @cached_property
    def users(self) -> Counter[str]:
        """How many pods mount each claim."""
        unfinished = [pod for pod in self.pods.values() if not pod.finished]
        names = ((pod.namespace, name) for pod in unfinished for name in {use.name for use in pod.claims})
        return Counter(f"{namespace}/{name}" for namespace, name in names)

    def class_of(self, claim: Claim) -> StorageClass | None:
        """The StorageClass of a claim: the named one, or the default where it names none."""
        if claim.storage_class is not None:
            return self.storage_classes.get(claim.storage_class)
        return min(
            (c for c in self.storage_classes.values() if c.default), key=lambda c: c.name, default=None
        )


def flatten(objects: Iterable[Any]) -> list[tuple[str, Doc]]:
    """Objects with their kinds, lists of any kind opened up."""
    found: list[tuple[str, Doc]] = []
    for number, raw in enumerate(objects):
        doc = Doc(raw, f"object {number}")
        kind = doc.text("kind")
        if kind.endswith("List") and "items" in doc.raw:
            outer = {"kind": kind[:-4], "apiVersion": doc.text("apiVersion")}
            found.extend(flatten(outer | item.raw for item in doc.docs("items")))
        else:
            found.append((kind, Doc(doc.raw, _title(kind, doc))))
    return found


def _title(kind: str, doc: Doc) -> str:
    """For messages, also about objects whose metadata have not the form that they should have."""
    meta = doc.raw.get("metadata")
    space, name = (
        (meta.get(key) or "" for key in ("namespace", "name")) if isinstance(meta, dict) else ("", "")
    )
    return f"{kind or 'object without a kind'} {f'{space}/' if space else ''}{name}"


def read_cluster(objects: Iterable[Any]) -> Cluster:
    """Read raw objects; kinds that scheduling does not look at are left alone."""
    cluster = Cluster()
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, doc in flatten(objects):
        api_group = doc.text("apiVersion").rpartition("/")[0]
        if RAW.get(kind) == api_group and doc.doc("metadata").text("name"):
            cluster.raw.setdefault((kind, _key(kind, doc)), doc)
        foreign = kind == "PodGroup" and api_group in FOREIGN_GROUPS
        if foreign or API_GROUPS.get(kind) == api_group:
            if well_formed(kind, api_group, doc):
                known = cluster.foreign_groups.setdefault(api_group, {}) if foreign else cluster.owners[kind]
                if known.setdefault(_key("Job", doc), doc) is doc and kind in RULES:
                    cluster.suspendable.put(_key("Job", doc), doc)
            continue
        if kind not in READERS or not _ours(kind, doc.text("apiVersion")):
            continue
        key = _key(kind, doc)
        earlier = seen.setdefault((kind, key), doc.raw)
        if earlier is not doc.raw and earlier != doc.raw:
            raise doc.error("metadata.name", "given twice, and not the same")
        READERS[kind](cluster, key, doc)
    for name, resource in published_devices(cluster.device_objects["ResourceSlice"].values()):
        if name in cluster.nodes:
            cluster.nodes[name].unregistered.pop(resource, None)
    served = cluster.device_resources.keys()
    for key, pod in cluster.pods.items() if served else ():
        cluster.pods[key] = replace(pod, by_class=frozenset(pod.requests.keys() & served))
    return cluster


def _ours(kind: str, api_version: str) -> bool:
    """PodGroup and Job are popular names: only the Kubernetes ones are meant."""
    return api_version.startswith(APIS.get(kind, ""))


def _key(kind: str, doc: Doc) -> str:
    meta = doc.doc("metadata")
    if not meta.text("name"):
        raise doc.error("metadata.name", "is missing")
    return (
        f"{meta.text('namespace') or 'default'}/{meta.text('name')}" if kind in SPACED else meta.text("name")
    )


def read_node(doc: Doc) -> Node:
    meta, spec, status = doc.doc("metadata"), doc.doc("spec"), doc.doc("status")
    amounts = quantity.amounts(status.doc("allocatable" if status.given("allocatable") else "capacity"))
    found = list(taints(spec, "taints"))
    if spec.flag("unschedulable"):
        _imply(found, UNSCHEDULABLE)
    for condition in status.docs("conditions"):
        if condition.text("type") == "Ready" and condition.text("status") in NOT_READY:
            _imply(found, NOT_READY[condition.text("status")])
    return Node(
        name=meta.text("name"),
        labels=meta.strings("labels"),
        taints=tuple(found),
        allocatable={"pods": DEFAULT_PODS}
        | {name: min(count, quantity.MOST) for name, count in quantity.whole(amounts).items()},
        features=frozenset(status.texts("declaredFeatures")),
        repaired=broken_devices(status, quantity.whole(amounts)),
        unregistered=unregistered_devices(status, meta.strings("labels")),
    )


def _imply(found: list[Taint], key: str) -> None:
    if not any(taint.key == key and taint.effect == "NoSchedule" for taint in found):
        found.append(Taint(key, "", "NoSchedule"))


def read_claim(key: str, doc: Doc) -> Claim:
    """A claim, or the template of one: both have metadata and spec."""
    meta, spec = doc.doc("metadata"), doc.doc("spec")
    annotations = meta.strings("annotations")
    named = spec.text("storageClassName") if spec.given("storageClassName") else None
    phase = doc.doc("status").text("phase")
    return Claim(
        key=key,
        volume=spec.text("volumeName"),
        storage_class=annotations.get(BETA_CLASS, named),
        modes=frozenset(spec.texts("accessModes")),
        size=_storage(spec.doc("resources").doc("requests")),
        volume_mode=spec.text("volumeMode", "Filesystem"),
        selector=label_selector(spec, "selector"),
        selected_node=annotations.get(SELECTED_NODE, ""),
        lost=phase == "Lost",
        deleting=meta.given("deletionTimestamp"),
        attributes_class=spec.text("volumeAttributesClassName"),
        complete=phase != "Pending" or BIND_COMPLETED in annotations,
        uid=meta.text("uid"),
    )


def _storage(amounts: Doc) -> Fraction:
    return quantity.amounts(amounts).get("storage", Fraction(0))


def read_volume(doc: Doc) -> Volume:
    meta, spec, status = doc.doc("metadata"), doc.doc("spec"), doc.doc("status")
    reference = spec.doc("claimRef")
    claim = f"{reference.text('namespace')}/{reference.text('name')}" if reference.raw else ""
    driver, handle = attached_as(spec, meta.strings("labels"))
    return Volume(
        name=meta.text("name"),
        labels=meta.strings("labels"),
        storage_class=meta.strings("annotations").get(BETA_CLASS, spec.text("storageClassName")),
        modes=frozenset(spec.texts("accessModes")),
        size=_storage(spec.doc("capacity")),
        volume_mode=spec.text("volumeMode", "Filesystem"),
        node_terms=labels_only(node_terms(spec.doc("nodeAffinity"), "required")),
        claim=claim,
        claim_uid=reference.text("uid"),
        available=status.text("phase", "Available") == "Available",
        deleting=meta.given("deletionTimestamp"),
        driver=driver,
        handle=handle,
        in_tree=bool(driver) and not spec.given("csi"),
        attributes_class=spec.text("volumeAttributesClassName"),
    )


def read_storage_class(doc: Doc) -> StorageClass:
    meta = doc.doc("metadata")
    topologies = tuple(
        tuple(
            Requirement(item.text("key"), "In", tuple(item.texts("values")))
            for item in term.docs("matchLabelExpressions")
        )
        for term in doc.docs("allowedTopologies")
    )
    return StorageClass(
        name=meta.text("name"),
        waits=doc.text("volumeBindingMode") == "WaitForFirstConsumer",
        provisioner=doc.text("provisioner"),
        topologies=topologies,
        default=meta.strings("annotations").get(DEFAULT_CLASS) == "true",
    )


def read_priority_class(doc: Doc) -> PriorityClass:
    return PriorityClass(
        name=doc.doc("metadata").text("name"),
        value=doc.integer("value"),
        default=doc.flag("globalDefault"),
        preemption_policy=doc.text("preemptionPolicy"),
    )


def read_attach_limits(doc: Doc) -> dict[str, int]:
    """The limits of a CSINode, by driver; a driver without one may attach any number."""
    return {
        driver.text("name"): driver.doc("allocatable").integer("count")
        for driver in doc.doc("spec").docs("drivers")
        if driver.doc("allocatable").given("count")
    }


def _put_pod(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.pods[key] = read_pod(doc)


def _put_node(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.nodes[key] = read_node(doc)


def _put_pod_group(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.pod_groups[key] = doc


def _put_composite(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.composites[key] = doc


def _put_budget(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.budgets[key] = read_budget(key, doc)


def _put_job(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.jobs[key] = read_job(doc)
    cluster.suspendable.put(key, doc)
    cluster.owners.setdefault("Job", {})[key] = doc


def _put_cron_job(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.owners["CronJob"][key] = doc


def _put_workload(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.suspendable.put_workload(key, doc)


def _put_namespace(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.namespaces[key] = doc.doc("metadata").strings("labels")


def _put_priority_class(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.priority_classes[key] = read_priority_class(doc)


def _put_claim(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.claims[key] = read_claim(key, doc)


def _put_volume(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.volumes[key] = read_volume(doc)


def _put_storage_class(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.storage_classes[key] = read_storage_class(doc)


def _put_csi_node(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.attach_limits[key] = read_attach_limits(doc)
    cluster.installed[key] = frozenset(d.text("name") for d in doc.doc("spec").docs("drivers"))


def _put_csi_driver(cluster: Cluster, key: str, doc: Doc) -> None:
    if doc.doc("spec").flag("preventPodSchedulingIfMissing"):
        cluster.strict_drivers.add(key)


def _put_attachment(cluster: Cluster, key: str, doc: Doc) -> None:
    spec = doc.doc("spec")
    volume = spec.doc("source").text("persistentVolumeName")
    cluster.attached[key] = Attachment(spec.text("attacher"), spec.text("nodeName"), volume)


def _put_device_class(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.device_objects["DeviceClass"][key] = doc


def _put_resource_claim(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.device_objects["ResourceClaim"][key] = doc
    if doc.doc("status").given("allocation"):
        cluster.allocations[key] = doc.doc("status").doc("allocation")


def _put_claim_template(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.device_objects["ResourceClaimTemplate"][key] = doc


def _put_slice(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.device_objects["ResourceSlice"][key] = doc


def _put_taint_rule(cluster: Cluster, key: str, doc: Doc) -> None:
    cluster.device_objects["DeviceTaintRule"][key] = doc


SPACED = frozenset(
    {"Pod", "PodGroup", "CompositePodGroup", "PodDisruptionBudget", "Job", "CronJob", "ConfigMap", WORKLOAD}
    | {"PersistentVolumeClaim", "ResourceClaim", "ResourceClaimTemplate", "ProvisioningRequest"}
)
APIS = {
    "PodGroup": "scheduling.k8s.io/",
    "CompositePodGroup": "scheduling.k8s.io/",
    "PodDisruptionBudget": "policy/",
    WORKLOAD: "kueue.x-k8s.io/",
    "Job": "batch/",
    "CronJob": "batch/",
    **dict.fromkeys(DEVICE_KINDS, "resource.k8s.io/"),
}
RAW = {"Node": "", "Pod": "", "ConfigMap": "", "ProvisioningRequest": "autoscaling.x-k8s.io"}
"""Kinds of which more is read than what follows, by their API groups."""
READERS: dict[str, Callable[[Cluster, str, Doc], None]] = {
    WORKLOAD: _put_workload,
    "Pod": _put_pod,
    "Node": _put_node,
    "PodGroup": _put_pod_group,
    "CompositePodGroup": _put_composite,
    "PodDisruptionBudget": _put_budget,
    "Job": _put_job,
    "CronJob": _put_cron_job,
    "Namespace": _put_namespace,
    "PriorityClass": _put_priority_class,
    "PersistentVolumeClaim": _put_claim,
    "PersistentVolume": _put_volume,
    "StorageClass": _put_storage_class,
    "CSINode": _put_csi_node,
    "CSIDriver": _put_csi_driver,
    "VolumeAttachment": _put_attachment,
    "DeviceClass": _put_device_class,
    "ResourceClaim": _put_resource_claim,
    "ResourceClaimTemplate": _put_claim_template,
    "ResourceSlice": _put_slice,
    "DeviceTaintRule": _put_taint_rule,
}
