"""Devices in a scenario: what nodes have, and a gang whose members have a claim each and share another.

On every node there are some GPUs. A switch can be reached from every node. Each member asks for one GPU by a
template, and their PodGroup for the switch. Scenarios about other devices publish them by `equipped`.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from maitred.kube.resources import PODS, Resource, resource_of
from maitred.model.devices.claims import FINALIZER, POD_CLAIM_NAME, ResourceClaim, ResourceClaimTemplate
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import ResourceSlice
from tests.scenarios.api import Json, eventually
from tests.scenarios.objects import Group, Pods, members
from tests.scenarios.stage import Stage

DRIVER = "devices.example.com"
CLASSES, SLICES = resource_of(DeviceClass), resource_of(ResourceSlice)
CLAIMS, TEMPLATES = resource_of(ResourceClaim), resource_of(ResourceClaimTemplate)
KINDS: dict[str, Resource] = {one.kind: one for one in (CLASSES, SLICES, TEMPLATES)}
FORGETFUL = "v1alpha2"
"""The groups of 1.36."""
KINDS_OF_DEVICES = ("gpu", "switch")
OWN: Json = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
SHARED: Json = {"name": "switch", "resourceClaimTemplateName": "switch"}


def with_claims(group: Group, count: int, **spec: Any) -> Pods:
    return members(group, count, spec={"resourceClaims": [OWN, SHARED], **spec})


# -- what there is, and how it is asked for ------------------------------------------------------------------


def asks_for(kind: str) -> Json:
    return {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": kind}}]}}


def template(name: str, asked: Json) -> Json:
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": asked}}


def device_class(kind: str, **more: Any) -> Json:
    """Of the devices of one kind."""
    spec: Json = {"selectors": selects("kind", kind), **more}
    return {"kind": "DeviceClass", "metadata": {"name": kind}, "spec": spec}


def selects(attribute: str, value: str) -> list[Json]:
    return [{"cel": {"expression": f'device.attributes["{DRIVER}"].{attribute} == "{value}"'}}]


def device(name: str, kind: str, **more: Any) -> Json:
    return {"name": name, "attributes": {"kind": {"string": kind}}, **more}


def gpu(number: int, **attributes: str) -> Json:
    about = {name: {"string": value} for name, value in {"kind": "gpu", **attributes}.items()}
    return {"name": f"gpu-{number}", "attributes": about}


def slice_of(pool: str, devices: list[Json], **where: Any) -> Json:
    """Of the node of that name, if nothing else is said."""
    about = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": f"{pool}-devices"},
        "spec": {"driver": DRIVER, "pool": about, "devices": devices, **(where or {"nodeName": pool})},
    }


def gpus_and_a_switch(stage: Stage, gpus: int = 1, **more: Any) -> list[Json]:
    """Classes, templates, `gpus` on every node, and one switch for all of them."""
    found = [device(f"gpu-{number}", "gpu", **more) for number in range(gpus)]
    return [
        *(
            make
            for kind in ("gpu", "switch")
            for make in (device_class(kind), template(kind, asks_for(kind)))
        ),
        *(slice_of(machine, found) for machine in stage.machines),
        slice_of("fabric", [device("switch-0", "switch")], allNodes=True),
    ]


@asynccontextmanager
async def equipped(stage: Stage, things: Iterable[Json]) -> AsyncIterator[None]:
    """These classes, templates and slices are there until the end; those of no namespace are gone then."""
    try:
        for body in things:
            await stage.api.create(KINDS[body["kind"]], body)
        yield
    finally:
        for resource in (SLICES, CLASSES):
            for item in await stage.api.list(resource):
                await stage.api.delete(resource, item["metadata"]["name"])


async def declare(stage: Stage, group: Group) -> None:
    """The PodGroup, with the claim that its members share."""
    body = stage.dialect.declare(group)
    assert body is not None
    assert stage.served.groups is not None
    body["spec"]["resourceClaims"] = [SHARED]
    await stage.api.create(stage.served.groups, body)


# -- what is there -------------------------------------------------------------------------------------------


async def results(stage: Stage) -> dict[str, list[Json]]:
    """What each claim that is allocated has got."""
    found = {claim["metadata"]["name"]: claim.get("status", {}) for claim in await stage.api.list(CLAIMS)}
    return {
        name: status["allocation"]["devices"]["results"]
        for name, status in found.items()
        if "allocation" in status
    }


async def users(stage: Stage) -> dict[str, list[str]]:
    """Devices that are allocated, and for whom each is reserved."""
    found = dict[str, list[str]]()
    for claim in await stage.api.list(CLAIMS):
        status = claim.get("status", {})
        for result in status.get("allocation", {}).get("devices", {}).get("results", ()):
            device = f"{result['pool']}/{result['device']}"
            found.setdefault(device, []).extend(one["name"] for one in status.get("reservedFor", ()))
    return found


async def protected(stage: Stage) -> list[str]:
    """Claims that cannot be deleted, because they are in use or were left behind."""
    claims = [claim["metadata"] for claim in await stage.api.list(CLAIMS)]
    return [meta["name"] for meta in claims if FINALIZER in meta.get("finalizers", ())]


async def have_devices(stage: Stage, group: Group, who: Pods) -> None:
    """Each member has a GPU of its node, and all of them the switch."""
    expected = {f"{pod.spec.node_name}/gpu-0": [pod.metadata.name] for pod in stage.pods(who.names)}
    assert await users(stage) == {**expected, "fabric/switch-0": [group.name]}


async def all_is_free(stage: Stage) -> None:
    async def missing() -> str:
        left = await users(stage) or await protected(stage)
        return f"in use: {left}" if left else ""

    await eventually(missing)


async def claims_are_made(stage: Stage, who: Pods) -> None:
    """Each pod names the claim that is its own and the one that it shares, and goes on to do so."""
    assert who.group is not None
    groups, group = stage.served.groups, who.group.name
    assert groups is not None

    async def missing() -> str:
        made = {
            (meta["ownerReferences"][0]["name"], meta["annotations"][POD_CLAIM_NAME]): meta["name"]
            for meta in [claim["metadata"] for claim in await stage.api.list(CLAIMS)]
        }
        expected = [(owner, kind) for name in who.names for owner, kind in ((name, "gpu"), (group, "switch"))]
        if lacking := [one for one in expected if one not in made]:
            return f"claims of {lacking}"
        if groups.version == FORGETFUL:
            for name in who.names:
                await keep_names(stage, name, {"gpu": made[name, "gpu"], "switch": made[group, "switch"]})
        unnamed = [
            name for name in who.names if len(await names_in(stage, PODS, name)) < len(KINDS_OF_DEVICES)
        ]
        unnamed += [group] * (not await names_in(stage, groups, group))
        return f"claims not named in {unnamed}" if unnamed else ""

    await eventually(missing)


async def names_in(stage: Stage, resource: Resource, name: str) -> list[Json]:
    status = (await stage.api.get(resource, name)).get("status", {})
    return list(status.get("resourceClaimStatuses", ()))


async def keep_names(stage: Stage, pod: str, claims: dict[str, str]) -> None:
    """The controller of 1.36 may take one name away when it applies another, by turns and without end, so
    that the pod never starts. What two have applied stays. The controller of 1.37 applies all names."""
    named = [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]
    await stage.api.apply_status(PODS, pod, {"resourceClaimStatuses": named})
