"""What other housekeepers do: each story tells what it left, which must not depend on who they are."""

import asyncio
from typing import Any

from maitred.kube.resources import CONFIG_MAPS, NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from maitred.sandbox.housekeeping.objects import BUDGETS, POD_GROUPS
from tests.sandbox.housekeeping import device_stories
from tests.sandbox.housekeeping.place import Json, Place

SIZE = "storage"
MARKS = ("pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller")


# -- garbage -----------------------------------------------------------------------------------------------


def named(owner: Json, blocks: bool = False) -> Json:
    meta = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"]}
    return {**reference, "blockOwnerDeletion": blocks}


async def thing(here: Place, name: str, *owners: Json) -> Json:
    return await here.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": list(owners)}})


async def garbage(here: Place) -> Json:
    first, second, third = [await thing(here, name) for name in ("first", "second", "third")]
    stranger = {"metadata": {"name": "nobody", "uid": "00000000-0000-0000-0000-000000000000"}}
    child = await thing(here, "child", named(first))
    await thing(here, "grandchild", named(child, blocks=True))
    await thing(here, "shared", named(first), named(third))
    await thing(here, "slow-child", named(second, blocks=True))
    await thing(here, "orphan-to-be", named(third))
    await thing(here, "foundling", named(stranger))
    await here.until_gone(CONFIG_MAPS, "foundling")
    await here.delete(CONFIG_MAPS, "first")
    await here.delete(CONFIG_MAPS, "second", "Foreground")
    for name in ("first", "second", "child", "grandchild", "slow-child"):
        await here.until_gone(CONFIG_MAPS, name)
    await here.until(CONFIG_MAPS, "shared", lambda found: len(owners_of(found)) == 1)
    await here.delete(CONFIG_MAPS, "third", "Orphan")
    await here.until_gone(CONFIG_MAPS, "third")
    left = [await here.until(CONFIG_MAPS, n, lambda f: not owners_of(f)) for n in ("shared", "orphan-to-be")]
    return {"left": [found["metadata"]["name"] for found in left]}


def owners_of(found: Json) -> list[Json]:
    return list(found["metadata"].get("ownerReferences", ()))


# -- volumes -----------------------------------------------------------------------------------------------


def volume(here: Place, name: str, size: str, **spec: Any) -> Json:
    fixed = {"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"}, "capacity": {SIZE: size}}
    metadata = {"name": f"{here.namespace}-{name}", "labels": {"size": size}}
    return {"metadata": metadata, "spec": {"storageClassName": here.namespace, **fixed, **spec}}


def claim(here: Place, name: str, size: str, **spec: Any) -> Json:
    fixed = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {SIZE: size}}}
    return {"metadata": {"name": name}, "spec": {"storageClassName": here.namespace, **fixed, **spec}}


async def volumes(here: Place) -> Json:
    sizes = {"small": "1Gi", "middle": "5Gi", "large": "20Gi"}
    for name, size in sizes.items():
        await here.create(VOLUMES, volume(here, name, size))
    kept = {"namespace": here.namespace, "name": "expected"}
    await here.create(VOLUMES, volume(here, "kept", "3Gi", claimRef=kept))
    for name in (*sizes, "kept"):
        await here.until(VOLUMES, f"{here.namespace}-{name}", lambda found: phase(found) == "Available")
    await here.create(VOLUME_CLAIMS, claim(here, "two", "2Gi"))
    await here.until(VOLUME_CLAIMS, "two", lambda found: phase(found) == "Bound")
    await here.create(VOLUME_CLAIMS, claim(here, "chosen", "1Gi", selector={"matchLabels": {"size": "20Gi"}}))
    await here.create(VOLUME_CLAIMS, claim(here, "expected", "1Gi"))
    await here.create(VOLUME_CLAIMS, claim(here, "direct", "1Gi", volumeName=f"{here.namespace}-small"))
    await here.create(VOLUME_CLAIMS, claim(here, "huge", "100Gi"))
    for name in ("chosen", "expected", "direct"):
        await here.until(VOLUME_CLAIMS, name, lambda found: phase(found) == "Bound")
    await here.until(VOLUME_CLAIMS, "huge", lambda found: phase(found) == "Pending")
    told = {name: await claim_state(here, name) for name in ("two", "chosen", "expected", "direct", "huge")}
    kept_by = {name: await volume_state(here, name) for name in (*sizes, "kept")}
    await vanish(here, "two")
    name = f"{here.namespace}-middle"
    await here.until(VOLUMES, name, lambda found: phase(found) == "Released")
    await here.merge(VOLUMES, name, {"spec": {"claimRef": None}})
    await here.until(VOLUMES, name, lambda found: phase(found) == "Available")
    await clear(here, (*sizes, "kept"))
    return {"claims": told, "volumes": kept_by}


async def first_consumer(here: Place) -> Json:
    """A class that binds late: only what a scheduler keeps for a claim is bound to it."""
    mode = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    await here.create(STORAGE_CLASSES, {"metadata": {"name": here.namespace}, **mode})
    await here.create(VOLUMES, volume(here, "late", "2Gi"))
    created = await here.create(VOLUME_CLAIMS, claim(here, "waits", "1Gi"))
    await here.until(VOLUMES, f"{here.namespace}-late", lambda found: phase(found) == "Available")
    await here.until(VOLUME_CLAIMS, "waits", lambda found: phase(found) == "Pending")
    kept = {"namespace": here.namespace, "name": "waits", "uid": created["metadata"]["uid"]}
    annotations = {"pv.kubernetes.io/bound-by-controller": "yes"}
    body = {"metadata": {"annotations": annotations}, "spec": {"claimRef": kept}}
    await here.merge(VOLUMES, f"{here.namespace}-late", body)
    await here.until(VOLUME_CLAIMS, "waits", lambda found: phase(found) == "Bound")
    told = {"claim": await claim_state(here, "waits"), "volume": await volume_state(here, "late")}
    await vanish(here, "waits")
    await clear(here, ["late"])
    await here.delete(STORAGE_CLASSES, here.namespace)
    return told


def phase(found: Json) -> str:
    return str(found.get("status", {}).get("phase", ""))


async def claim_state(here: Place, name: str) -> Json:
    found = await here.get(VOLUME_CLAIMS, name)
    assert found is not None
    volume = found["spec"].get("volumeName", "").removeprefix(here.namespace)
    marks = sorted(key for key in found["metadata"].get("annotations", {}) if key in MARKS)
    return {"status": found["status"], "volume": volume, "marks": marks}


async def volume_state(here: Place, name: str) -> Json:
    found = await here.get(VOLUMES, f"{here.namespace}-{name}")
    assert found is not None
    kept = found["spec"].get("claimRef", {})
    marks = sorted(key for key in found["metadata"].get("annotations", {}) if key in MARKS)
    return {"phase": phase(found), "claim": kept.get("name"), "marks": marks, "fields": sorted(kept)}


async def vanish(here: Place, claim: str) -> None:
    """Its finalizer is taken away by hand: not every cluster of ours has someone who does it."""
    await here.merge(VOLUME_CLAIMS, claim, {"metadata": {"finalizers": None}})
    await here.delete(VOLUME_CLAIMS, claim)
    await here.until_gone(VOLUME_CLAIMS, claim)


async def clear(here: Place, names: Any) -> None:
    for name in names:
        await here.merge(VOLUMES, f"{here.namespace}-{name}", {"metadata": {"finalizers": None}})
        await here.delete(VOLUMES, f"{here.namespace}-{name}")


# -- pods, groups, budgets, nodes --------------------------------------------------------------------------


def pod(name: str, **spec: Any) -> Json:
    labels = {"app": name.partition("-")[0]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "pause"}], **spec},
    }


async def ready(here: Place, name: str) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await here.patch(PODS, name, {"status": status}, "status")


async def budgets(here: Place) -> Json:
    told = {}
    for app, limits in (("least", {"minAvailable": 1}), ("part", {"maxUnavailable": "50%"})):
        for number in range(3):
            await here.create(PODS, pod(f"{app}-{number}"))
        await here.patch(PODS, f"{app}-2", {"status": {"phase": "Failed"}}, "status")
        spec = {"selector": {"matchLabels": {"app": app}}, **limits}
        await here.create(BUDGETS, {"metadata": {"name": app}, "spec": spec})
        await here.until(BUDGETS, app, lambda found: bool(found["status"].get("conditions")))
        await ready(here, f"{app}-0")
        await ready(here, f"{app}-1")
        found = await here.until(BUDGETS, app, lambda found: found["status"]["currentHealthy"] == 2)
        told[app] = without_times(found["status"])
    return told


async def protection(here: Place) -> Json:
    """A PodGroup goes when its last member has ended."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    await here.create(POD_GROUPS, {"metadata": {"name": "crew"}, "spec": policy})
    await here.create(PODS, pod("crew-0", schedulingGroup={"podGroupName": "crew"}))
    await here.delete(POD_GROUPS, "crew")
    found = await here.until(POD_GROUPS, "crew", lambda found: "deletionTimestamp" in found["metadata"])
    await here.patch(PODS, "crew-0", {"status": {"phase": "Succeeded"}}, "status")
    await here.until_gone(POD_GROUPS, "crew")
    return {"finalizers": found["metadata"]["finalizers"]}


async def nodes(here: Place) -> Json:
    name, other = f"node-{here.namespace}", f"other-{here.namespace}"
    for node in (name, other):
        await here.create(NODES, {"metadata": {"name": node}})
        await say(here, node, "True")
    await here.until(NODES, name, lambda found: not taints(found))
    await here.merge(NODES, name, {"spec": {"unschedulable": True}})
    cordoned = await here.until(NODES, name, lambda found: bool(taints(found)))
    await here.merge(NODES, name, {"spec": {"unschedulable": False}})
    await here.until(NODES, name, lambda found: not taints(found))
    forever = {"operator": "Exists", "effect": "NoExecute"}
    soon = {"key": "node.kubernetes.io/not-ready", **forever, "tolerationSeconds": 1}
    await here.create(PODS, pod("leaves", nodeName=name, tolerations=[soon]))
    await here.create(PODS, pod("stays", nodeName=name, tolerations=[forever]))
    await say(here, name, "False")
    unready = await here.until(NODES, name, lambda found: len(taints(found)) == 2)
    left = await here.until(PODS, "leaves", lambda found: "deletionTimestamp" in found["metadata"])
    stayed = await here.get(PODS, "stays")
    assert stayed is not None
    await say(here, other, "False")
    lost = await here.until(NODES, name, lambda found: len(taints(found)) == 1)
    await say(here, name, "True")
    await here.until(NODES, name, lambda found: not taints(found))
    for node in (name, other):
        await here.delete(NODES, node)
    return {
        "cordoned": taints(cordoned),
        "unready": taints(unready),
        "all lost": taints(lost),
        "left": [without_times(c) for c in left["status"]["conditions"] if c["type"] == "DisruptionTarget"],
        "stayed": "deletionTimestamp" not in stayed["metadata"],
    }


async def say(here: Place, node: str, status: str) -> None:
    body = {"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Told"}]}}
    await here.patch(NODES, node, body, "status")


def taints(node: Json) -> list[tuple[str, str]]:
    return sorted((taint["key"], taint["effect"]) for taint in node["spec"].get("taints", ()))


def without_times(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: without_times(value) for key, value in told.items() if not key.endswith("Time")}
    return [without_times(item) for item in told] if isinstance(told, list) else told


STORIES = {
    story.__name__: story
    for story in (
        garbage,
        volumes,
        first_consumer,
        budgets,
        protection,
        nodes,
        *device_stories.STORIES,
    )
}


async def tell_all(places: dict[str, Place]) -> dict[str, Json]:
    """Each in its own place, all at once."""
    async with asyncio.TaskGroup() as tasks:
        told = {name: tasks.create_task(STORIES[name](here)) for name, here in places.items()}
    return {name: task.result() for name, task in told.items()}
