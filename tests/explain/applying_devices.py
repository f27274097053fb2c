"""Remedies for claims carried out by hand: a request that asks for less or for something else, a constraint
less, devices that are well again, and the devices of nodes that are added."""

import copy
from collections.abc import Iterator

from tests.oracle.builders import Obj


def of_claims(objects: list[Obj], pods: list[Obj], detail: Obj) -> list[Obj]:
    """The claims or templates that pods mean by the name in the detail, with the change that it says."""
    for spec in _specs(objects, pods, detail["claim"]):
        if detail["kind"] == "deviceConstraint":
            (meant,) = (one for one in spec["constraints"] if _is_meant(one, detail))
            spec["constraints"].remove(meant)
            if detail["to"]:
                spec["constraints"].append({**meant, "matchAttribute": detail["to"]})
        else:
            _change(_request(spec, detail["request"]), detail)
    return objects


def _is_meant(constraint: Obj, detail: Obj) -> bool:
    named = constraint.get("requests", [])
    return detail["attribute"] in constraint.values() and named == detail["requests"]


def _specs(objects: list[Obj], pods: list[Obj], claim: str) -> Iterator[Obj]:
    meant = {("ResourceClaim", claim.rpartition("/")[2])}
    for pod in pods:
        for one in pod["spec"].get("resourceClaims", ()):
            if one["name"] == claim:
                meant.add(("ResourceClaimTemplate", one.get("resourceClaimTemplateName", "")))
                meant.add(("ResourceClaim", one.get("resourceClaimName", "")))
    for found in objects:
        if (found["kind"], found["metadata"]["name"]) in meant:
            spec = found["spec"]
            yield (spec["spec"] if found["kind"] == "ResourceClaimTemplate" else spec)["devices"]


def _request(spec: Obj, name: str) -> Obj:
    first, _, alternative = name.partition("/")
    (request,) = (one for one in spec["requests"] if one["name"] == first)
    if not alternative:
        exactly: Obj = request["exactly"]
        return exactly
    chosen: list[Obj] = [one for one in request["firstAvailable"] if one["name"] == alternative]
    return chosen[0]


def _change(request: Obj, detail: Obj) -> None:
    kind = detail["kind"]
    if kind == "deviceCount":
        assert request.get("count", 1) == detail["from"]
        request["count"] = detail["to"]
    elif kind == "deviceClass":
        assert request["deviceClassName"] == detail["from"]
        request["deviceClassName"] = detail["to"]
    elif kind == "deviceCapacity":
        amounts = request["capacity"]["requests"]
        assert amounts[detail["capacity"]] == detail["from"]
        amounts[detail["capacity"]] = detail["to"]
    else:
        assert kind == "deviceSelector"
        for change in detail["selectors"]:
            texts = [one["cel"]["expression"] for one in request["selectors"]]
            place = texts.index(change["from"])
            request["selectors"][place : place + 1] = (
                [{"cel": {"expression": change["to"]}}] if change["to"] else []
            )


def well_again(objects: list[Obj], detail: Obj) -> list[Obj]:
    """Without the taints of these devices, and without rules that taint them."""
    named = {(one["driver"], one["pool"], one["device"]) for one in detail["devices"]}
    for found in objects:
        if found["kind"] == "ResourceSlice":
            spec = found["spec"]
            for device in spec.get("devices", ()):
                if (spec["driver"], spec["pool"]["name"], device["name"]) in named:
                    device.pop("taints", None)
    return [found for found in objects if found["kind"] != "DeviceTaintRule"]


def slices_like(objects: list[Obj], node: str, new: str) -> Iterator[Obj]:
    """What a node publishes, for another one."""
    for found in objects:
        if found["kind"] == "ResourceSlice" and found["spec"].get("nodeName") == node:
            added = copy.deepcopy(found)
            added["metadata"] = {"name": f"{new}-{found['metadata']['name']}"}
            added["spec"]["nodeName"] = new
            added["spec"]["pool"]["name"] = f"{new}-{found['spec']['pool']['name']}"
            yield added
