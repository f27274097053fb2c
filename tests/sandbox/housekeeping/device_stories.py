"""Claims to devices, from their templates to their end, and pods whose devices are tainted."""

from typing import Any

from maitred.kube.resources import PODS, Resource
from maitred.sandbox.housekeeping.devices.objects import CLAIMS, SLICES, TAINT_RULES, TEMPLATES
from maitred.sandbox.housekeeping.objects import POD_GROUPS
from tests.sandbox.housekeeping.place import Json, Place, eventually

DRIVER = "gpu.example.com"
PROTECTION = "resource.kubernetes.io/delete-protection"
SPEC: Json = {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu"}}]}}
OWN: Json = {"name": "own", "resourceClaimTemplateName": "template"}
LINK: Json = {"name": "link", "resourceClaimTemplateName": "template"}


def pod(name: str, *claims: Json, **spec: Any) -> Json:
    containers = [{"name": "c", "image": "pause"}]
    return {
        "metadata": {"name": name},
        "spec": {"containers": containers, "resourceClaims": list(claims), **spec},
    }


async def template(here: Place, name: str = "template") -> None:
    metadata = {"labels": {"kind": "gpu"}, "annotations": {"a": "b"}}
    await here.create(TEMPLATES, {"metadata": {"name": name}, "spec": {"metadata": metadata, "spec": SPEC}})


async def made_claim(here: Place, resource: Resource, owner: str, name: str) -> Json:
    """The claim that the status of its owner names."""

    def names(found: Json) -> list[str]:
        statuses = found["status"].get("resourceClaimStatuses", ())
        return [each["resourceClaimName"] for each in statuses if each["name"] == name]

    found = await here.until(resource, owner, lambda found: bool(names(found)))
    claim = await here.get(CLAIMS, names(found)[0])
    assert claim is not None
    return claim


async def allocate(
    here: Place, name: str, device: str, *consumers: tuple[Resource, str], **result: Any
) -> None:
    """As a scheduler does."""
    reserved = []
    for resource, consumer in consumers:
        found = await here.get(resource, consumer)
        assert found is not None
        reserved.append(
            {
                "apiGroup": resource.group,
                "resource": resource.plural,
                "name": consumer,
                "uid": found["metadata"]["uid"],
            }
        )
    await here.merge(CLAIMS, name, {"metadata": {"finalizers": [PROTECTION]}})
    results = [{"request": "gpus", "driver": DRIVER, "pool": here.namespace, "device": device, **result}]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": reserved}
    await here.merge(CLAIMS, name, {"status": status}, "status")


def shape(claim: Json) -> Json:
    """Of a claim from a template: all but names and versions."""
    meta = claim["metadata"]
    owners = [
        {key: owner[key] for key in ("kind", "apiVersion", "controller")} for owner in meta["ownerReferences"]
    ]
    kept = {key: meta.get(key) for key in ("generateName", "labels", "annotations", "finalizers")}
    return {**kept, "owners": owners, "spec": claim["spec"], "status": claim.get("status")}


def consumers(claim: Json) -> list[str]:
    return [each["name"] for each in claim["status"].get("reservedFor", ())]


async def resource_claims(here: Place) -> Json:
    """Of pods: made, let go of when they end, and deleted."""
    await template(here)
    await here.create(CLAIMS, {"metadata": {"name": "shared"}, "spec": SPEC})
    shared = {"name": "shared", "resourceClaimName": "shared"}
    await here.create(PODS, pod("first", OWN, shared))
    own = await made_claim(here, PODS, "first", "own")
    await here.create(PODS, pod("second", shared))
    await allocate(here, own["metadata"]["name"], "gpu-0", (PODS, "first"))
    await allocate(here, "shared", "gpu-1", (PODS, "first"), (PODS, "second"))
    await here.patch(PODS, "first", {"status": {"phase": "Succeeded"}}, "status")
    await here.until_gone(CLAIMS, own["metadata"]["name"])
    half = await here.until(CLAIMS, "shared", lambda found: len(consumers(found)) == 1)
    await here.create(PODS, pod("third", shared, nodeName="nowhere"))
    both = await here.until(CLAIMS, "shared", lambda found: len(consumers(found)) == 2)
    for name in ("second", "third"):
        await here.patch(PODS, name, {"status": {"phase": "Failed"}}, "status")
    free = await here.until(CLAIMS, "shared", lambda found: not found["metadata"].get("finalizers"))
    return {
        "made": shape(own),
        "half": (consumers(half), "allocation" in half["status"]),
        "both": consumers(both),
        "free": free["status"],
    }


async def unused_claims(here: Place) -> Json:
    """What nobody has used stays allocated until it is deleted; a template may come later than its pods."""
    await here.create(CLAIMS, {"metadata": {"name": "idle"}, "spec": SPEC})
    await allocate(here, "idle", "gpu-2")
    await here.create(PODS, pod("early-" + "x" * 60, {**OWN, "name": "y" * 40}))
    await template(here)
    early = await made_claim(here, PODS, "early-" + "x" * 60, "y" * 40)
    idle = await here.get(CLAIMS, "idle")
    assert idle is not None
    await here.delete(CLAIMS, "idle")
    await here.until_gone(CLAIMS, "idle")
    await here.delete(PODS, "early-" + "x" * 60)
    await here.until_gone(CLAIMS, early["metadata"]["name"])
    return {"early": shape(early), "idle": "allocation" in idle["status"]}


async def group_claims(here: Place) -> Json:
    """Of a PodGroup: one for all its members, until the group is gone."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    await template(here)
    await here.create(
        POD_GROUPS, {"metadata": {"name": "crew"}, "spec": {**policy, "resourceClaims": [LINK]}}
    )
    for name in ("crew-0", "crew-1"):
        await here.create(PODS, pod(name, LINK, OWN, schedulingGroup={"podGroupName": "crew"}))
    link = await made_claim(here, POD_GROUPS, "crew", "link")
    theirs = [await made_claim(here, PODS, name, "link") for name in ("crew-0", "crew-1")]
    own = [await made_claim(here, PODS, name, "own") for name in ("crew-0", "crew-1")]
    name = link["metadata"]["name"]
    await allocate(here, name, "gpu-3", (POD_GROUPS, "crew"))
    await here.patch(PODS, "crew-0", {"status": {"phase": "Succeeded"}}, "status")
    await here.until_gone(CLAIMS, own[0]["metadata"]["name"])
    kept = await here.get(CLAIMS, name)
    await here.delete(PODS, "crew-1")
    await here.delete(POD_GROUPS, "crew")
    await here.until_gone(POD_GROUPS, "crew")
    await here.until_gone(CLAIMS, name)
    return {
        "link": shape(link),
        "shared": all(each["metadata"]["name"] == name for each in theirs),
        "own": [shape(each) for each in own],
        "kept": kept and consumers(kept),
    }


async def device_taints(here: Place) -> Json:
    """Pods go whose devices are tainted, by a slice or by a rule, unless their claim bears it."""
    taint = {"key": "unwell", "effect": "NoExecute"}
    bearing = [{"operator": "Exists", "effect": "NoExecute"}]
    pool = {"name": here.namespace, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{n}"} for n in range(4)]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": "nowhere", "devices": devices}
    await here.create(SLICES, {"metadata": {"name": here.namespace}, "spec": spec})
    for number in range(4):
        name = f"p{number}"
        await here.create(CLAIMS, {"metadata": {"name": name}, "spec": SPEC})
        await here.create(PODS, pod(name, {"name": "gpu", "resourceClaimName": name}, nodeName="nowhere"))
        result = {"tolerations": bearing} if number == 2 else {}
        await allocate(here, name, f"gpu-{number}", (PODS, name), **result)
    devices[0]["taints"] = [taint]  # type: ignore[assignment]
    await here.merge(SLICES, here.namespace, {"spec": {"devices": devices, "pool": {"generation": 2}}})
    left = [await gone(here, "p0")]
    for number in (1, 2):
        selector = {"driver": DRIVER, "pool": here.namespace, "device": f"gpu-{number}"}
        rule = {"deviceSelector": selector, "taint": taint}
        await here.create(TAINT_RULES, {"metadata": {"name": f"{here.namespace}-{number}"}, "spec": rule})
    left.append(await gone(here, "p1"))
    stayed = [await here.get(PODS, name) for name in ("p2", "p3")]
    for number in (1, 2):
        await here.delete(TAINT_RULES, f"{here.namespace}-{number}")
    await here.delete(SLICES, here.namespace)
    return {"left": left, "stayed": [bool(p and "deletionTimestamp" not in p["metadata"]) for p in stayed]}


async def gone(here: Place, name: str) -> list[Json]:
    """Why a pod is being deleted."""
    reasons: list[Json] = []

    async def is_leaving() -> bool:
        found = await here.get(PODS, name)
        assert found is not None
        told = [c for c in found["status"].get("conditions", ()) if c["type"] == "DisruptionTarget"]
        reasons[:] = [{key: c[key] for key in ("status", "reason", "message")} for c in told]
        return "deletionTimestamp" in found["metadata"]

    await eventually(is_leaving, lambda: f"{name} stays")
    return reasons


STORIES = (resource_claims, unused_claims, group_claims, device_taints)
