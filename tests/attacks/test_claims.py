"""Attacks with resource claims: selectors that take long, counts that no node has, marks that are made up."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS
from maitred.model.devices.claims import ALLOCATED_BY, EXTENDED_RESOURCE_CLAIM, FINALIZER
from tests.attacks.harness import MACHINES, Ground, Tenant
from tests.scenarios.api import Api, eventually
from tests.scenarios.devices import CLAIMS, CLASSES, DRIVER, SLICES, TEMPLATES, device_class, slice_of

Json = dict[str, Any]

DEVICES = 8
MANY = 200


@asynccontextmanager
async def devices(admin: Api) -> AsyncIterator[None]:
    """Eight on every node. Each has a number of its own, so no two look alike to a selector that reads it."""
    await admin.create(CLASSES, device_class("gpu"))
    try:
        for name in sorted(MACHINES):
            found = [numbered(f"gpu-{number}", f"{name}-{number}") for number in range(DEVICES)]
            await admin.create(SLICES, slice_of(name, found))
        yield
    finally:
        for name in MACHINES:
            await admin.delete(SLICES, f"{name}-devices")
        await admin.delete(CLASSES, "gpu")


def numbered(name: str, uuid: str) -> Json:
    attributes = {"kind": "gpu", "uuid": f"GPU-{uuid}"}
    return {"name": name, "attributes": {key: {"string": value} for key, value in attributes.items()}}


def asking(expression: str = "true", count: int = 1, **more: Any) -> Json:
    asked = {"deviceClassName": "gpu", "count": count, "selectors": [{"cel": {"expression": expression}}]}
    return {"devices": {"requests": [{"name": "one", "exactly": {**asked, **more}}]}}


async def pods_with(tenant: Tenant, *asked: Json) -> None:
    """A pod for each, with a claim from a template of its own."""
    for number, spec in enumerate(asked):
        name = f"greedy-{number}"
        await tenant.api.create(TEMPLATES, {"metadata": {"name": name}, "spec": {"spec": spec}})
        claims = [{"name": "gpu", "resourceClaimTemplateName": name}]
        await tenant.api.create(PODS, tenant.pod(name, gpus=0, resourceClaims=claims))


UUID = f'device.attributes["{DRIVER}"].uuid'


def slow(number: int) -> str:
    """The server accepts it, and for each device it costs more than most. No two are alike."""
    numbers = ", ".join(map(str, range(number, number + 170)))
    return f'[{numbers}].all(a, [{numbers}].all(b, a * b != -{number + 1})) && {UUID} != "{number}"'


SELECTORS = {
    "that cost much": [slow(number) for number in range(12)],
    "that are long": [" || ".join([f'{UUID} == "{n}"'] * 170) for n in range(12)],
    "a regular expression that backtracks": [
        f'{UUID}.matches("^(([A-Z0-9a-z-]+)+)+{n}$")' for n in range(12)
    ],
}


@pytest.mark.parametrize("expressions", SELECTORS.values(), ids=list(SELECTORS))
def test_selectors_of_one_tenant_keep_no_other_waiting(ground: Ground, expressions: list[str]) -> None:
    async def attack(ground: Ground) -> None:
        async with devices(ground.admin):
            mallory = await ground.tenant()
            await pods_with(mallory, *map(asking, expressions))
            await asyncio.sleep(1)
            await ground.seats_an_innocent_gang(mallory)

    ground.run(attack)


def test_counts_that_no_cluster_has(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        async with devices(ground.admin):
            mallory = await ground.tenant()
            await pods_with(mallory, *(asking(count=10**number) for number in range(2, 15, 3)))
            await ground.seats_an_innocent_gang(mallory)

    ground.run(attack)


def test_marks_on_claims_that_are_made_up(ground: Ground) -> None:
    """They look as if our scheduler had just died. No device in use is freed, and the marks are taken off."""

    def forged() -> Iterator[Json]:
        for number in range(MANY):
            marks = {ALLOCATED_BY: "maitred", EXTENDED_RESOURCE_CLAIM: "true"}
            meta = {"name": f"forged-{number}", "annotations": marks, "finalizers": [FINALIZER]}
            yield {"metadata": meta, "spec": asking()}

    async def attack(ground: Ground) -> None:
        async with devices(ground.admin):
            mallory = await ground.tenant()
            await pods_with(mallory, asking())
            for claim in forged():
                await mallory.api.create(CLAIMS, claim)
            await ground.seats_an_innocent_gang(mallory)
            await eventually(lambda: still_marked(mallory))
            [used] = [one for one in await mallory.api.list(CLAIMS) if "allocation" in one.get("status", {})]
            assert [one["name"] for one in used["status"]["reservedFor"]] == ["greedy-0"]

    ground.run(attack)


async def still_marked(tenant: Tenant) -> str:
    claims = [one["metadata"] for one in await tenant.api.list(CLAIMS)]
    left = [meta for meta in claims if meta["name"].startswith("forged") and meta.get("finalizers")]
    return f"{len(left)} claims are still marked" if left else ""


def test_tenants_cannot_allocate_devices_themselves(ground: Ground) -> None:
    """So no claim of theirs can keep a device from others, or make a member of another group leave."""

    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        result = {"request": "one", "driver": DRIVER, "pool": "attack-00", "device": "gpu-0"}
        status = {"allocation": {"devices": {"results": [result]}}}
        body = {"metadata": {"name": "bold"}, "spec": asking(), "status": status}
        made = await mallory.api.create(CLAIMS, body)
        assert "allocation" not in made.get("status", {})
        with pytest.raises(ApiError, match="forbidden"):
            await mallory.api.patch_status(CLAIMS, "bold", status)

    ground.run(attack)
