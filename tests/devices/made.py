"""Manifests of clusters with devices, for cases made by hand and for random ones."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]

SPACE = "devices"
"""The namespace of all pods and claims. Its label allows admin access."""
HOSTNAME = "kubernetes.io/hostname"
RACK = "example.com/rack"
GPUS, NICS = "gpu.example.com", "nic.example.com"
"""Drivers."""
SHARED = "example.com"
"""The domain of attributes that both drivers publish."""
ID = f"{SHARED}/id"
"""An attribute of every device: no other device has the same."""
DEVICES = "resource.k8s.io/v1"
ALLOCATED_AT = "2026-01-01T00:00:00Z"
"""Without a time in the allocation, kube-scheduler can reserve a claim for nobody: it would add one, and the
server takes no change of an allocation."""


@dataclass
class World:
    """One small cluster, and the lone pod that is asked about, with its claims."""

    name: str
    objects: list[Obj] = field(default_factory=list)
    pod: Obj = field(default_factory=dict)
    claims: list[Obj] = field(default_factory=list)
    """Those that the pod uses by name."""
    themes: frozenset[str] = frozenset()

    def of_kind(self, kind: str) -> list[Obj]:
        return [item for item in self.objects if item["kind"] == kind]


def named(kind: str, name: str, api_version: str = DEVICES, namespace: str = "", **rest: Any) -> Obj:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def space() -> Obj:
    made = named("Namespace", SPACE, "v1")
    made["metadata"]["labels"] = {"resource.kubernetes.io/admin-access": "true"}
    return made


def node(name: str, allocatable: Obj | None = None, **labels: str) -> Obj:
    keys = {"rack": RACK}
    made = named("Node", name, "v1", spec={})
    made["metadata"]["labels"] = {HOSTNAME: name, **{keys.get(k, k): v for k, v in labels.items()}}
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "20", **(allocatable or {})}
    made["status"] = {"allocatable": amounts, "capacity": amounts}
    return made


# -- devices -------------------------------------------------------------------------------------------------


def version(text: str) -> Obj:
    return {"version": text}


def attribute(value: Any) -> Obj:
    """As a slice has it: `{"int": 1}`, `{"strings": ["a"]}`."""
    kinds = {bool: "bool", int: "int", str: "string"}
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {f"{kinds[type(value[0])]}s": value}
    return {kinds[type(value)]: value}


def device(name: str, capacity: Obj | None = None, more: Obj | None = None, **attributes: Any) -> Obj:
    """`more`: further fields, such as taints. The slice adds the attribute that tells devices apart."""
    made: Obj = {"name": name, "attributes": {key: attribute(value) for key, value in attributes.items()}}
    if capacity:
        made["capacity"] = {
            key: value if isinstance(value, dict) else {"value": value} for key, value in capacity.items()
        }
    return {**made, **(more or {})}


def pool_slice(
    name: str,
    devices: Iterable[Obj],
    *,
    driver: str = GPUS,
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    **where: Any,
) -> Obj:
    """`where`: `nodeName`, `nodeSelector`, `allNodes` or `perDeviceNodeSelection`; `sharedCounters` too."""
    pool = pool or name
    described = {"name": pool, "generation": generation, "resourceSliceCount": count}
    listed = [
        {**d, "attributes": {**d["attributes"], ID: {"string": f"{pool}.{d['name']}"}}} for d in devices
    ]
    spec: Obj = {"driver": driver, "pool": described, **where}
    if "sharedCounters" not in where:
        spec["devices"] = listed
    return named("ResourceSlice", name, spec=spec)


def counters(name: str, **values: str) -> Obj:
    return {"name": name, "counters": {key: {"value": value} for key, value in values.items()}}


def consuming(counter_set: str, **values: str) -> Obj:
    made = {"counterSet": counter_set, "counters": {key: {"value": value} for key, value in values.items()}}
    return {"consumesCounters": [made]}


def in_rack(*racks: str) -> Obj:
    expression = {"key": RACK, "operator": "In", "values": list(racks)}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def either_rack(*racks: str) -> Obj:
    """A term for each."""
    return {"nodeSelectorTerms": [in_rack(rack)["nodeSelectorTerms"][0] for rack in racks]}


def taint(key: str = "unwell", effect: str = "NoSchedule", value: str = "") -> Obj:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def taint_rule(name: str, of: Obj, **selector: str) -> Obj:
    return named("DeviceTaintRule", name, spec={"deviceSelector": selector, "taint": of})


def device_class(name: str, *expressions: str, **spec: Any) -> Obj:
    return named("DeviceClass", name, spec={"selectors": selectors(*expressions), **spec})


# -- claims and pods -----------------------------------------------------------------------------------------


def selectors(*expressions: str) -> list[Obj]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def request(name: str, class_name: str, *expressions: str, **exactly: Any) -> Obj:
    return {
        "name": name,
        "exactly": {"deviceClassName": class_name, "selectors": selectors(*expressions), **exactly},
    }


def alternatives(name: str, *subrequests: Obj) -> Obj:
    """The first of these requests that can be had."""
    listed = [{"name": sub["name"], **sub["exactly"]} for sub in subrequests]
    return {"name": name, "firstAvailable": listed}


def matching(attribute_name: str, *requests: str) -> Obj:
    return {"matchAttribute": attribute_name, "requests": list(requests)}


def distinct(attribute_name: str, *requests: str) -> Obj:
    return {"distinctAttribute": attribute_name, "requests": list(requests)}


def claim(name: str, *requests: Obj, **devices: Any) -> Obj:
    spec = {"devices": {"requests": list(requests), **devices}}
    return named("ResourceClaim", name, namespace=SPACE, spec=spec)


def template(name: str, *requests: Obj, **devices: Any) -> Obj:
    spec = {"devices": {"requests": list(requests), **devices}}
    return named("ResourceClaimTemplate", name, namespace=SPACE, spec={"spec": spec})


def result(device_name: str, pool: str, of: str = "r", driver: str = GPUS, **more: Any) -> Obj:
    return {"request": of, "driver": driver, "pool": pool, "device": device_name, **more}


def allocated(claimed: Obj, *results: Obj, to: str = "", node_name: str = "") -> Obj:
    """The claim with these devices, reserved for the pod `to`, usable on one node or on all."""
    allocation: Obj = {"devices": {"results": list(results)}, "allocationTimestamp": ALLOCATED_AT}
    if node_name:
        field_ = {"key": "metadata.name", "operator": "In", "values": [node_name]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field_]}]}
    status: Obj = {"allocation": allocation}
    if to:
        status["reservedFor"] = [{"resource": "pods", "name": to}]
    return {**claimed, "status": status}


def pod(
    name: str, *claims: str, templates: Iterable[str] = (), resources: Obj | None = None, **spec: Any
) -> Obj:
    """Claims are c0, c1 and so on inside it: first those by name, then those from templates."""
    uses = [{"resourceClaimName": of} for of in claims] + [
        {"resourceClaimTemplateName": t} for t in templates
    ]
    listed = [{"name": f"c{number}", **use} for number, use in enumerate(uses)]
    amounts = {"requests": dict(resources or {}), "limits": dict(resources or {})}
    used = {"claims": [{"name": use["name"]} for use in listed]} if listed else {}
    container = {"name": "main", "image": "example.com/image", "resources": {**amounts, **used}}
    body = {"containers": [container], "resourceClaims": listed, **spec}
    return named("Pod", name, "v1", SPACE, spec=body)
