"""A world in which kube-scheduler has no choice: requests match the devices that maitred has chosen, on the
node that it has chosen. What kube-scheduler then writes must be what maitred has written."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.devices.made import ID, SPACE, World, named, selectors
from tests.devices.server import allocation

Obj = dict[str, Any]

NO_DEVICE = "false"


def pinned(world: World, node: str, claims: Mapping[str, Obj], chosen: Mapping[str, Obj]) -> World:
    """`claims`: as the server has them, by name, those from templates too; `chosen`: allocations."""
    made = [
        named(
            "ResourceClaim",
            name,
            namespace=SPACE,
            spec=_narrowed(claim["spec"], chosen[name]) if name in chosen else claim["spec"],
            **({"status": claim["status"]} if allocation(claim) else {}),
        )
        for name, claim in claims.items()
    ]
    spec = dict(world.pod["spec"])
    spec["resourceClaims"] = [_by_name(world.pod["metadata"]["name"], use) for use in spec["resourceClaims"]]
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _only(node)}}
    return replace(world, claims=made, pod={**world.pod, "spec": spec})


def _by_name(pod: str, use: Obj) -> Obj:
    return {"name": use["name"], "resourceClaimName": use.get("resourceClaimName", f"{pod}-{use['name']}")}


def _only(node: str) -> Obj:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _narrowed(spec: Obj, chosen: Obj) -> Obj:
    results, devices = chosen["devices"]["results"], spec["devices"]
    requests = [_request(asked, results) for asked in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def _request(asked: Obj, results: list[Obj]) -> Obj:
    if "exactly" in asked:
        return {**asked, "exactly": _matching(asked["exactly"], asked["name"], results)}
    subs = [_matching(sub, f"{asked['name']}/{sub['name']}", results) for sub in asked["firstAvailable"]]
    return {**asked, "firstAvailable": subs}


def _matching(asked: Obj, name: str, results: list[Obj]) -> Obj:
    """All devices are all devices, whatever was chosen."""
    names = [f'"{found["pool"]}.{found["device"]}"' for found in results if found["request"] == name]
    if not names:
        return {**asked, "selectors": selectors(NO_DEVICE)}
    if asked.get("allocationMode") == "All":
        return asked
    domain, key = ID.split("/")
    attributes = f'device.attributes["{domain}"]'
    chosen = f'{attributes}.?{key}.orValue("") in [{", ".join(names)}]'
    # Before the others: they may fail on devices that were not chosen.
    return {**asked, "selectors": [*selectors(chosen), *asked.get("selectors", ())]}


def comparable(allocated: Obj) -> Obj:
    """An allocation without what differs each time, and with its devices in a fixed order."""
    results = [
        {
            key: value
            for key, value in found.items()
            if key != "shareID" and value not in (None, {}, [], False)
        }
        for found in allocated["devices"]["results"]
    ]
    results.sort(key=lambda found: (found["request"], found["driver"], found["pool"], found["device"]))
    config = [
        {key: value for key, value in given.items() if value}
        for given in allocated["devices"].get("config") or ()
    ]
    return {"results": results, "config": config, "nodeSelector": allocated.get("nodeSelector")}
