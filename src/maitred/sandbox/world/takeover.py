"""A real cluster as a sandbox: what `kubectl get -o json` printed there, as objects that can be created here.

Only what decisions look at is taken over, field by field: nodes, pods and what they refer to. Commands,
environments, mounts, tokens and secrets stay where they are. What is left out is counted, and said.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from maitred.model.group import MARKS, PodGroup
from maitred.model.health.tables import LOST_TAINTS
from maitred.model.kinds import row_of
from maitred.model.node import HEALTH_TAINTS
from maitred.model.quantity import amount, text
from maitred.sandbox.kubelets.marks import EXIT_CODE, FAULT, KUBELET, RUN_SECONDS, SIMULATED, START_SECONDS
from maitred.sandbox.world.local_service import is_outpost

Json = dict[str, Any]

MIRROR = "kubernetes.io/config.mirror"
CONTROLLED_BY = "sandbox.maitred.dev/controlled-by"
"""Annotation of a pod whose controller has stayed behind: that someone would create it again."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
GROUP_VERSION = "scheduling.k8s.io/v1beta1"
KEPT_ANNOTATIONS = (MIRROR, CONTROLLED_BY, *MARKS, RUN_SECONDS, EXIT_CODE, START_SECONDS)
CONTAINER_FIELDS = ("name", "image", "ports", "restartPolicy")
COMPUTE = ("cpu", "memory", "ephemeral-storage")
POD_FIELDS = (
    *("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "hostNetwork"),
    *("schedulingGates", "schedulingGroup", "schedulerName", "priorityClassName", "resources"),
    *("resourceClaims", "restartPolicy", "terminationGracePeriodSeconds"),
)
GROUP_FIELDS = ("schedulingPolicy", "schedulingConstraints", "priorityClassName", "disruptionMode")
CLAIM_FIELDS = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName", "selector")
GROUPS_TOO = "kubectl get -A -o json podgroups >> FILE"
NOWHERE: Mapping[str, str] = {}
ORDER = (
    *("Namespace", "PriorityClass", "StorageClass", "Node", "CSINode", "PodGroup", "PodDisruptionBudget"),
    *("Pod", "PersistentVolume", "PersistentVolumeClaim"),
)
"""What others refer to comes first."""


@dataclass(slots=True)
class Takeover:
    objects: list[Json] = field(default_factory=list)
    """In the order in which to create them; ownerReferences have the UIDs of the cluster they come from."""
    left_out: Counter[str] = field(default_factory=Counter)
    """In words, how often."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else there is in the dump."""

    nodes: frozenset[str]
    uids: frozenset[str]
    """Of what is taken over."""
    places: Mapping[str, str]
    """Marks of block and rack, and the labels of these nodes that they are taken from."""


def take_over(bodies: Iterable[Json], places: Mapping[str, str] = NOWHERE) -> Takeover:
    """`bodies` have an apiVersion and a kind each, and are well-formed."""
    found, result = [body for body in bodies if not is_outpost(body)], Takeover()
    taken = list[Json]()
    nodes = frozenset(name(body) for body in found if body["kind"] == "Node")
    for body in found:
        why = why_not(body, nodes)
        if why:
            result.left_out[why] += 1
        else:
            taken.append(body)
    around = Surroundings(nodes, frozenset(body["metadata"].get("uid", "") for body in taken), places)
    made = [TAKERS[body["kind"]](body, around, result.left_out) for body in taken]
    made += missing_namespaces(made)
    made += missing_classes(taken)
    if absent := absent_groups(made):
        result.left_out[f"PodGroup that pods name and the dump lacks; add it with `{GROUPS_TOO}`"] = len(
            absent
        )
    result.objects = sorted(made, key=creation_order)
    return result


def why_not(body: Json, nodes: frozenset[str]) -> str:
    """Why an object is left out; empty if it is not."""
    kind, version = body["kind"], body["apiVersion"]
    if kind not in TAKERS or (kind == "PodGroup" and version not in row_of(PodGroup).api_versions):
        return f"{kind} of {version}"
    if kind == "PriorityClass" and name(body) in SYSTEM_CLASSES:
        return "PriorityClass that every cluster has"
    if kind == "CSINode" and name(body) not in nodes:
        return "CSINode without its node"
    return why_not_pod(body, nodes) if kind == "Pod" else ""


def why_not_pod(pod: Json, nodes: frozenset[str]) -> str:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return "Pod that is finished"
    if pod["metadata"].get("deletionTimestamp"):
        return "Pod that is being deleted"
    node = pod.get("spec", {}).get("nodeName", "")
    return "Pod on a node that is not in the dump" if node and node not in nodes else ""


def creation_order(body: Json) -> tuple[int, bool, str, str]:
    """Pods that run come before those that wait, which nobody should seat where others sit."""
    bound = bool(body.get("spec", {}).get("nodeName"))
    return ORDER.index(body["kind"]), not bound, body["metadata"].get("namespace", ""), name(body)


# -- kinds -------------------------------------------------------------------------------------------------


def node(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    """Ready as it was: one that was lost has a fault here."""
    status, spec = body.get("status", {}), body.get("spec", {})
    ready = next((c["status"] for c in status.get("conditions", ()) if c["type"] == "Ready"), "True")
    lost = ready != "True" or any(taint["key"] in LOST_TAINTS for taint in spec.get("taints", ()))
    taken = named(body, around, left_out)
    own = labels(body)
    marks = {mark: own[key] for mark, key in around.places.items() if key in own}
    taken["metadata"]["labels"] = {**own, **marks, KUBELET: SIMULATED}
    if lost:
        taken["metadata"]["annotations"] = {FAULT: "was not ready in the cluster of the dump"}
    taken["spec"] = {
        **chosen(spec, ("unschedulable",)),
        "taints": [taint for taint in spec.get("taints", ()) if taint["key"] not in HEALTH_TAINTS],
    }
    taken["status"] = chosen(status, ("capacity", "allocatable"))
    return taken


def pod(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    taken, spec = named(body, around, left_out), body.get("spec", {})
    annotations = body["metadata"].get("annotations") or {}
    kept = chosen(annotations, KEPT_ANNOTATIONS)
    for owner in owners(body):
        if owner.get("controller") and owner.get("uid") not in around.uids:
            kept[CONTROLLED_BY] = f"{owner.get('kind')}/{owner.get('name')}"
    if any(owner.get("kind") == "DaemonSet" for owner in owners(body)):
        # Without its DaemonSet, this is what says that it belongs to its node.
        kept[MIRROR] = "daemonset"
    if kept:
        taken["metadata"]["annotations"] = kept
    taken["spec"] = chosen(spec, POD_FIELDS)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            taken["spec"][part] = [container(one) for one in spec[part]]
    if spec.get("overhead"):
        add_overhead(taken["spec"]["containers"][0], spec["overhead"])
    if volumes := [
        one for one in spec.get("volumes", ()) if "persistentVolumeClaim" in one or "ephemeral" in one
    ]:
        taken["spec"]["volumes"] = volumes
    return taken


def container(body: Json) -> Json:
    """What it asks for. A limit of cpu or memory is nothing that a scheduler looks at beyond that."""
    resources = body.get("resources", {})
    limits = resources.get("limits", {})
    requests = {**limits, **resources.get("requests", {})}
    hard = {resource: quantity for resource, quantity in limits.items() if resource not in COMPUTE}
    return {
        "image": "unknown",
        **chosen(body, CONTAINER_FIELDS),
        "resources": {**chosen(resources, ("claims",)), "requests": requests, "limits": hard},
    }


def add_overhead(first: Json, overhead: Mapping[str, Any]) -> None:
    """Only a RuntimeClass may bring it along, so that here a container asks for it."""
    requests = first["resources"]["requests"]
    for resource, quantity in overhead.items():
        total = amount(resource, requests.get(resource, 0)) + amount(resource, quantity)
        requests[resource] = text(resource, total)


def pod_group(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    """In the version of the sandbox, whichever it had."""
    taken, spec = named(body, around, left_out), body.get("spec", {})
    taken["apiVersion"] = GROUP_VERSION
    taken["spec"] = chosen(spec, GROUP_FIELDS)
    if "minMember" in spec and "schedulingPolicy" not in spec:
        taken["spec"]["schedulingPolicy"] = {"gang": {"minCount": spec["minMember"]}}
    if isinstance(mode := spec.get("disruptionMode"), str):
        taken["spec"]["disruptionMode"] = {"all" if mode == "PodGroup" else "single": {}}
    if spec.get("parentCompositePodGroupName"):
        left_out["CompositePodGroup as the parent of a PodGroup"] += 1
    return taken


def volume(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    taken, spec = named(body, around, left_out), dict(body.get("spec", {}))
    if "claimRef" in spec:
        spec["claimRef"] = chosen(spec["claimRef"], ("apiVersion", "kind", "namespace", "name"))
    return {**taken, "spec": spec}


def claim(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    return {**named(body, around, left_out), "spec": chosen(body.get("spec", {}), CLAIM_FIELDS)}


def storage_class(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    fields = (
        "provisioner",
        "volumeBindingMode",
        "reclaimPolicy",
        "allowVolumeExpansion",
        "allowedTopologies",
    )
    taken = named(body, around, left_out)
    annotations = body["metadata"].get("annotations") or {}
    if DEFAULT_CLASS in annotations:
        taken["metadata"]["annotations"] = chosen(annotations, (DEFAULT_CLASS,))
    return {**taken, **chosen(body, fields)}


def priority_class(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    fields = ("value", "globalDefault", "preemptionPolicy", "description")
    return {**named(body, around, left_out), **chosen(body, fields)}


def with_spec(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    return {**named(body, around, left_out), "spec": body.get("spec", {})}


def namespace(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    return named(body, around, left_out)


TAKERS: dict[str, Callable[[Json, Surroundings, Counter[str]], Json]] = {
    "Namespace": namespace,
    "PriorityClass": priority_class,
    "StorageClass": storage_class,
    "Node": node,
    "CSINode": with_spec,
    "PodGroup": pod_group,
    "PodDisruptionBudget": with_spec,
    "Pod": pod,
    "PersistentVolume": volume,
    "PersistentVolumeClaim": claim,
}


# -- what was not written down -----------------------------------------------------------------------------


def missing_namespaces(made: Iterable[Json]) -> Iterator[Json]:
    present, needed = set[str](), set[str]()
    for body in made:
        if body["kind"] == "Namespace":
            present.add(name(body))
        needed.add(body["metadata"].get("namespace", ""))
    for missing in sorted(needed - present - {""}):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": missing}}


def missing_classes(taken: Iterable[Json]) -> Iterator[Json]:
    """Pods carry the value of their PriorityClass, so that it can be had without the class."""
    present, values = set(SYSTEM_CLASSES), dict[str, int]()
    for body in taken:
        spec = body.get("spec", {})
        if body["kind"] == "PriorityClass":
            present.add(name(body))
        elif body["kind"] in ("Pod", "PodGroup") and spec.get("priorityClassName"):
            values.setdefault(spec["priorityClassName"], spec.get("priority", 0))
    for missing in sorted(values.keys() - present):
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": missing},
            "value": values[missing],
        }


def absent_groups(made: Iterable[Json]) -> set[tuple[str, str]]:
    """By namespace and name."""
    present, needed = set[tuple[str, str]](), set[tuple[str, str]]()
    for body in made:
        space = body["metadata"].get("namespace", "")
        if body["kind"] == "PodGroup":
            present.add((space, name(body)))
        elif group := (body.get("spec", {}).get("schedulingGroup") or {}).get("podGroupName"):
            needed.add((space, group))
    return needed - present


# -- fields ------------------------------------------------------------------------------------------------


def named(body: Json, around: Surroundings, left_out: Counter[str]) -> Json:
    """Its name, its labels, and its owners as far as they come along."""
    metadata = body["metadata"]
    kept = chosen(metadata, ("name", "namespace", "uid"))
    if labels(body):
        kept["labels"] = labels(body)
    stay = [owner for owner in owners(body) if owner.get("uid") in around.uids]
    for owner in owners(body):
        if owner not in stay:
            left_out[f"{owner.get('kind')} as the owner of a {body['kind']}"] += 1
    if stay:
        kept["ownerReferences"] = stay
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": kept}


def name(body: Json) -> str:
    return str(body["metadata"]["name"])


def labels(body: Json) -> dict[str, str]:
    return body["metadata"].get("labels") or {}


def owners(body: Json) -> list[Json]:
    return body["metadata"].get("ownerReferences") or []


def chosen(body: Mapping[str, Any], fields: Iterable[str]) -> Json:
    return {key: body[key] for key in fields if key in body}
