"""Short ways to write raw Kubernetes objects and Plans."""

from copy import deepcopy
from typing import Any

from maitred.verify import Breach, verify, why_not
from maitred.verify.objects import read_cluster
from maitred.verify.world import world_of

Raw = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, cpu: str = "4", **more: Any) -> Raw:
    """A node; `labels`, `taints`, `unschedulable`, `ready`, and `amounts` for other resources."""
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": "110"} | more.get("amounts", {})
    status: Raw = {"allocatable": amounts}
    if "ready" in more:
        status["conditions"] = [{"type": "Ready", "status": more["ready"]}]
    spec = {key: more[key] for key in ("taints", "unschedulable") if key in more}
    labels = {"kubernetes.io/hostname": name} | more.get("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Raw:
    return {"key": key, "value": value, "effect": effect}


def pod(name: str, cpu: str = "1", **more: Any) -> Raw:
    """A pod that asks for some CPU; `on` a node it runs, `group` names its PodGroup, the rest is spec."""
    meta: Raw = {"namespace": more.pop("namespace", "default"), "name": name, "uid": f"uid-{name}"}
    for key in ("labels", "annotations", "deletionTimestamp", "creationTimestamp", "ownerReferences"):
        if key in more:
            meta[key] = more.pop(key)
    status = {"phase": more.pop("phase", "Pending")}
    for field in ("startTime", "nominatedNodeName"):
        if field in more:
            status[field] = more.pop(field)
    requests = {"cpu": cpu} | more.pop("amounts", {})
    spec: Raw = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    if "on" in more:
        spec["nodeName"] = more.pop("on")
        status["phase"] = "Running" if status["phase"] == "Pending" else status["phase"]
    if "group" in more:
        spec["schedulingGroup"] = {"podGroupName": more.pop("group")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec | more, "status": status}


def budget(name: str, allowed: int | None, selector: Raw | None, **more: Any) -> Raw:
    """A PodDisruptionBudget; without a status where `allowed` is None, so that its spec counts."""
    made: Raw = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": more.pop("namespace", "default"), "name": name},
        "spec": {} if selector is None else {"selector": selector},
    }
    if allowed is not None:
        gone = more.pop("gone", [])
        going = dict.fromkeys(gone, "2026-01-01T00:00:00Z")
        made["status"] = {"disruptionsAllowed": allowed, "disruptedPods": going}
    return made | {"spec": made["spec"] | more}


def composite(name: str, **spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"namespace": "default", "name": name},
        "spec": spec,
    }


def owned(kind: str, name: str) -> list[Raw]:
    api = "apps/v1" if kind == "DaemonSet" else "v1"
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def members(group: str, count: int, cpu: str = "1", **more: Any) -> list[Raw]:
    return [pod(f"{group}-{i}", cpu, group=group, **more) for i in range(count)]


def pod_group(name: str, quorum: int, version: str = "v1beta1", **more: Any) -> Raw:
    meta: Raw = {"namespace": "default", "name": name, "annotations": more.pop("annotations", {})}
    spec = {"schedulingPolicy": {"gang": {"minCount": quorum}}} | more
    return {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": meta, "spec": spec}


def topology(key: str) -> Raw:
    return {"topology": [{"key": key}]}


def term(labels: Raw | None, key: str = "kubernetes.io/hostname", **more: Any) -> Raw:
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": key, **selector, **more}


def affinity(*terms: Raw) -> Raw:
    return {"podAffinity": {REQUIRED: list(terms)}}


def anti_affinity(*terms: Raw) -> Raw:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def node_affinity(*terms: Raw) -> Raw:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def spread(key: str, labels: Raw, skew: int = 1, **more: Any) -> Raw:
    selector = {"matchLabels": labels}
    base = {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return base | more


def claim(name: str, volume: str = "", modes: tuple[str, ...] = ("ReadWriteOnce",), **more: Any) -> Raw:
    spec: Raw = {"accessModes": list(modes), "resources": {"requests": {"storage": more.pop("size", "1Gi")}}}
    if volume:
        spec["volumeName"] = volume
    if "storage_class" in more:
        spec["storageClassName"] = more.pop("storage_class")
    meta = {"namespace": "default", "name": name} | more.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec | more}


def volume(name: str, zone: str = "", labels: Raw | None = None, **more: Any) -> Raw:
    """A PersistentVolume; `zone` limits it by node affinity, `labels` by the older zone labels."""
    spec: Raw = {"capacity": {"storage": more.pop("size", "1Gi")}, "accessModes": ["ReadWriteOnce"]}
    if "storage_class" in more:
        spec["storageClassName"] = more.pop("storage_class")
    if zone:
        expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec | more}


def storage_class(name: str, waits: bool = True, provisioner: str = "csi.example.com", **more: Any) -> Raw:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def csi_node(name: str, limit: int, driver: str = "csi.example.com") -> Raw:
    drivers = [{"name": driver, "allocatable": {"count": limit}}]
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    return about | {"spec": {"drivers": drivers}}


def uses(*claims: str) -> list[Raw]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def namespace(name: str, **labels: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def priority_class(name: str, value: int, **more: Any) -> Raw:
    about = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return about | {"value": value} | more


def bind(name: str, to: str, group: str = "", uid: str | None = None) -> Raw:
    """A bind, or a nomination: they look the same."""
    return {
        "pod": f"default/{name}",
        "uid": f"uid-{name}" if uid is None else uid,
        "node": to,
        "group": f"default/{group or name}",
    }


def eviction(
    name: str, preemptor: str, cause: str = "Preemption", group: str | None = None, **receipt: Any
) -> Raw:
    """Of a lone pod, or of a single one of a group, that has lost no work and offends no budget."""
    return {
        "pod": f"default/{name}",
        "uid": f"uid-{name}",
        "group": group and f"default/{group}",
        "for": f"default/{preemptor}",
        "cause": cause,
        "receipt": {
            "unit": f"default/{name}",
            "rule": "lower priority",
            "priority": 1,
            "preemptorPriority": 10,
            "workLostDeviceHours": 0.0,
            "lostSince": None,
            "budgets": [],
            "departure": {"owner": "", "by": "delete", "survives": None, "words": "It is deleted."},
            "alternatives": [],
        }
        | receipt,
    }


def settled(plan: Raw, **more: Any) -> Raw:
    """The same Plan with tolls in its receipts, as the other receipts for the same group have it."""
    twin = deepcopy(plan)
    for one in twin["evictions"]:
        alike = [e for e in twin["evictions"] if (e["for"], e["cause"]) == (one["for"], one["cause"])]
        fellows = [fellow["receipt"] for fellow in alike if fellow["receipt"]]
        if fellows and one["receipt"]:
            one["receipt"]["toll"] = {
                "violations": 0,
                "highestPriority": max(receipt["priority"] for receipt in fellows),
                "workLostSteps": 0,
                "units": len({receipt["unit"] for receipt in fellows}),
                "pods": len(fellows),
                "workLostDeviceHours": sum(receipt["workLostDeviceHours"] for receipt in fellows),
            } | more
    return twin


def blocker(category: str, **detail: Any) -> Raw:
    return {"category": category, "message": f"{category}.", "detail": detail}


def entry(
    group: str, verdict: str, members: int, quorum: int, placed: int, *blockers: Raw, **more: Any
) -> Raw:
    return {
        "group": f"default/{group}",
        "verdict": verdict,
        "members": members,
        "quorum": quorum,
        "placed": placed,
        "domains": {},
        "blockers": list(blockers),
        "remedies": [],
        **more,
    }


def plan(binds: list[Raw], groups: list[Raw], **more: Any) -> Raw:
    """`volumes` is left out, as in Plans that were made before there was such a field."""
    return {
        "apiVersion": "maitred.dev/v1alpha1",
        "kind": "Plan",
        "binds": binds,
        "nominations": [],
        "evictions": [],
        "claims": [],
        "groups": groups,
        "wakeAt": None,
        "searchExhausted": False,
        "warnings": [],
        **more,
    }


def seating(seats: dict[str, str]) -> Raw:
    """A Plan that binds lone pods, each to a node."""
    binds = [bind(name, to) for name, to in seats.items()]
    return plan(binds, [entry(name, "Scheduled", 1, 1, 1) for name in seats])


def gang_seating(group: str, quorum: int, seats: dict[str, str], count: int | None = None) -> Raw:
    """A Plan that binds members of one group, and all that are pending."""
    binds = [bind(name, to, group) for name, to in seats.items()]
    members = len(seats) if count is None else count
    return plan(binds, [entry(group, "Scheduled", members, quorum, members)])


def reason(objects: list[Raw], name: str, to: str) -> str | None:
    """What `why_not` says of one pod and one node."""
    cluster = read_cluster(objects)
    world = world_of(cluster, cluster.pods.values())
    return why_not(world, cluster.pods[f"default/{name}"], cluster.nodes[to])


def laws(breaches: list[Breach]) -> list[int]:
    return sorted({breach.law for breach in breaches})


def judged(objects: list[Raw], plan: Raw | None, **more: Any) -> list[int]:
    """The numbers of the laws that are broken."""
    return laws(verify(objects, plan, **more))
