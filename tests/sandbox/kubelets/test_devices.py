"""Pods with claims on the sandbox: they start when their devices are theirs, and only then."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from maitred.kube.client import Client
from maitred.kube.resources import PODS
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.housekeeping.devices.objects import CLAIMS
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import kubelets
from tests.sandbox.apiserver.running import running_server
from tests.sandbox.housekeeping.device_stories import SPEC, allocate, pod
from tests.sandbox.housekeeping.place import Json, Place, place

GPU = "gpu"
NODE = "n1"


def play(folder: Path, steps: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        with running_server(folder) as server:
            async with (
                Client(server.connection(ADMIN)) as client,
                kubelets(client, [Machine(NODE, {"cpu": "8"})], start_seconds=0, stop_seconds=0),
                place(client) as here,
            ):
                await steps(here)

    asyncio.run(run())


async def claimed(here: Place, name: str, **spec: Any) -> None:
    """A claim, and a pod on the node that uses it."""
    await here.create(CLAIMS, {"metadata": {"name": name}, "spec": SPEC})
    await here.create(PODS, pod(name, {"name": GPU, "resourceClaimName": name}, nodeName=NODE, **spec))


def waits(found: Json) -> str:
    """What the pod waits for while it is being created."""
    for each in found["status"].get("containerStatuses", ()):
        waiting = each["state"].get("waiting", {})
        if waiting.get("reason") == "ContainerCreating":
            return str(waiting["message"])
    return ""


def runs(found: Json) -> bool:
    return bool(found["status"]["phase"] == "Running")


def test_a_pod_starts_when_its_claim_is_allocated_and_reserved_for_it(tmp_path: Path) -> None:
    async def steps(here: Place) -> None:
        await claimed(here, "a")
        await here.until(PODS, "a", lambda found: "is not allocated" in waits(found))
        await allocate(here, "a", "gpu-0")
        await here.until(PODS, "a", lambda found: "is not reserved for the pod" in waits(found))
        found = await here.get(PODS, "a")
        assert found is not None
        consumer = {"resource": "pods", "name": "a", "uid": found["metadata"]["uid"]}
        await here.merge(CLAIMS, "a", {"status": {"reservedFor": [consumer]}}, "status")
        await here.until(PODS, "a", runs)

    play(tmp_path, steps)


def test_two_claims_with_one_device_show_until_the_first_pod_is_gone(tmp_path: Path) -> None:
    async def steps(here: Place) -> None:
        for name in ("a", "b"):
            await claimed(here, name)
        await allocate(here, "a", "gpu-0", (PODS, "a"))
        await here.until(PODS, "a", runs)
        await allocate(here, "b", "gpu-0", (PODS, "b"))
        found = await here.until(PODS, "b", lambda found: "is in use by claim" in waits(found))
        assert f"gpu-0 is in use by claim {here.namespace}/a" in waits(found)
        await here.delete(PODS, "a")
        await here.until(PODS, "b", runs)

    play(tmp_path, steps)


def test_shares_of_a_device_are_no_conflict(tmp_path: Path) -> None:
    async def steps(here: Place) -> None:
        shares = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(2)]
        for name, share in zip(("a", "b"), shares, strict=True):
            await claimed(here, name)
            await allocate(here, name, "gpu-0", (PODS, name), shareID=share)
        for name in ("a", "b"):
            await here.until(PODS, name, runs)

    play(tmp_path, steps)


def test_pods_share_a_claim(tmp_path: Path) -> None:
    async def steps(here: Place) -> None:
        await claimed(here, "a")
        await here.create(PODS, pod("b", {"name": GPU, "resourceClaimName": "a"}, nodeName=NODE))
        await allocate(here, "a", "gpu-0", (PODS, "a"), (PODS, "b"))
        for name in ("a", "b"):
            await here.until(PODS, name, runs)

    play(tmp_path, steps)
