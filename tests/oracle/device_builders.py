"""Devices, slices, classes and claims as raw objects; see `builders`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.oracle.builders import Labels, Obj, lean, metadata, taint, toleration

API = "resource.k8s.io"
GROUPS = "scheduling.k8s.io"


def attribute(value: Any) -> Obj:
    """``1``, ``True``, ``"text"``, ``"v1.2.3"`` for a version, or a list of one of these."""
    values = value if isinstance(value, list) else [value]
    kind = {bool: "bool", int: "int", str: "string"}[type(values[0])]
    if kind == "string" and all(v[:1] == "v" and v[1:2].isdigit() for v in values):
        kind, values = "version", [v[1:] for v in values]
    return {f"{kind}s": values} if isinstance(value, list) else {kind: values[0]}


def device(
    name: str,
    attributes: Mapping[str, Any] | None = None,
    capacity: Mapping[str, str | Obj] | None = None,
    *,
    taints: Sequence[str] = (),
    counters: Mapping[str, Mapping[str, str]] | None = None,
    shared: bool = False,
    **more: Any,
) -> Obj:
    """A device; ``counters`` are what it consumes, by counter set, and ``more`` any other field."""
    consumes = [
        {"counterSet": name, "counters": {counter: {"value": value} for counter, value in some.items()}}
        for name, some in (counters or {}).items()
    ]
    return lean(
        name=name,
        attributes={key: attribute(value) for key, value in (attributes or {}).items()},
        capacity={k: v if isinstance(v, dict) else {"value": v} for k, v in (capacity or {}).items()},
        taints=[taint(text) for text in taints],
        consumesCounters=consumes,
        allowMultipleAllocations=shared or None,
        **more,
    )


def resource_slice(
    name: str,
    driver: str,
    devices: Sequence[Obj] = (),
    *,
    node: str | None = None,
    nodes: Sequence[Obj] = (),
    everywhere: bool = False,
    each: bool = False,
    pool: str | None = None,
    generation: int = 1,
    of: int = 1,
    counters: Mapping[str, Mapping[str, str]] | None = None,
) -> Obj:
    """A slice for one ``node``, for the ``nodes`` that requirements match, for all of them, or with ``each``
    device saying it for itself; ``of`` so many slices in its pool."""
    sets = [
        {"name": key, "counters": {counter: {"value": value} for counter, value in some.items()}}
        for key, some in (counters or {}).items()
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(nodes)}]} if nodes else None
    spec = lean(
        driver=driver,
        nodeName=node,
        nodeSelector=terms,
        allNodes=everywhere or None,
        perDeviceNodeSelection=each or None,
        devices=list(devices),
        sharedCounters=sets,
    )
    spec["pool"] = {"name": pool or node or name, "generation": generation, "resourceSliceCount": of}
    return {"apiVersion": f"{API}/v1", "kind": "ResourceSlice", "metadata": metadata(name), "spec": spec}


def device_class(name: str, *selectors: str, config: Sequence[Obj] = (), resource: str | None = None) -> Obj:
    spec = lean(selectors=_selectors(selectors), config=list(config), extendedResourceName=resource)
    return {"apiVersion": f"{API}/v1", "kind": "DeviceClass", "metadata": metadata(name), "spec": spec}


def wish(
    device_class: str,
    count: int | None = 1,
    *selectors: str,
    tolerations: Sequence[str] = (),
    capacity: Mapping[str, str] | None = None,
    admin: bool = False,
) -> Obj:
    """What is asked for: so many devices of a class, or all of them with a count of None."""
    return lean(
        deviceClassName=device_class,
        allocationMode="All" if count is None else "ExactCount",
        count=count,
        selectors=_selectors(selectors),
        tolerations=[toleration(text) for text in tolerations],
        capacity=lean(requests=dict(capacity or {})),
        adminAccess=admin or None,
    )


def exactly(name: str, wanted: Obj) -> Obj:
    return {"name": name, "exactly": wanted}


def first_available(name: str, *alternatives: Obj) -> Obj:
    """Alternatives ``a``, ``b``, …, the best first."""
    named = zip("abcdefgh", alternatives, strict=False)
    return {"name": name, "firstAvailable": [{"name": letter, **wanted} for letter, wanted in named]}


def constraint(*requests: str, match: str | None = None, distinct: str | None = None) -> Obj:
    return lean(requests=list(requests), matchAttribute=match, distinctAttribute=distinct)


def claim_spec(*requests: Obj, constraints: Sequence[Obj] = (), config: Sequence[Obj] = ()) -> Obj:
    return {"devices": lean(requests=list(requests), constraints=list(constraints), config=list(config))}


def resource_claim(
    name: str, spec: Obj, allocation: Obj | None = None, reserved: Sequence[Obj] = (), space: str = "default"
) -> Obj:
    return {
        "apiVersion": f"{API}/v1",
        "kind": "ResourceClaim",
        "metadata": metadata(name, space),
        "spec": spec,
        "status": lean(allocation=allocation, reservedFor=list(reserved)),
    }


def claim_template(name: str, spec: Obj, space: str = "default") -> Obj:
    return {
        "apiVersion": f"{API}/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(name, space),
        "spec": {"spec": spec},
    }


def taint_rule(name: str, text: str, **selector: str) -> Obj:
    """A taint for the devices that ``driver``, ``pool`` and ``device`` name."""
    spec = {"deviceSelector": selector, "taint": taint(text)}
    return {"apiVersion": f"{API}/v1", "kind": "DeviceTaintRule", "metadata": metadata(name), "spec": spec}


def use(name: str, claim: str | None = None, template: str | None = None) -> Obj:
    """An entry of ``resourceClaims`` in the spec of a pod or PodGroup."""
    return lean(name=name, resourceClaimName=claim, resourceClaimTemplateName=template)


def consumer(obj: Obj) -> Obj:
    """A pod or PodGroup, as a claim is reserved for it."""
    meta, group = obj["metadata"], obj["kind"] == "PodGroup"
    names = {"resource": "podgroups" if group else "pods", "name": meta["name"], "uid": meta["uid"]}
    return {"apiGroup": GROUPS, **names} if group else names


def opaque(driver: str, requests: Sequence[str] = (), **parameters: Labels) -> Obj:
    """A piece of configuration."""
    return lean(requests=list(requests), opaque={"driver": driver, "parameters": dict(parameters)})


def _selectors(expressions: Sequence[str]) -> list[Obj]:
    return [{"cel": {"expression": expression}} for expression in expressions]
