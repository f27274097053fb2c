"""The examples of claims on a sandbox with the scheduler: they run, and leave nothing when they are gone."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import yaml

from maitred.kube.client import Client
from maitred.kube.resources import NODES, PODS
from maitred.model.world import read_world
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.housekeeping.devices.objects import CLAIMS
from maitred.sandbox.housekeeping.objects import JOBS, POD_GROUPS
from maitred.sandbox.kubelets.fleet import kubelets_of_marked_nodes
from maitred.sandbox.world import devices, nodes
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.objects import Json, WorldObjects
from tests.control_plane.seating import scheduler
from tests.sandbox.apiserver.running import RunningServer, running_server
from tests.sandbox.housekeeping.place import eventually

EXAMPLES = Path(__file__).parents[3] / "examples"
PODS_IN_ALL = 12


def test_the_examples_run_and_leave_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path, kept=True) as server:
        asyncio.run(play(server))


async def play(server: RunningServer) -> None:
    world = read_world((EXAMPLES / "worlds/devices.yaml").read_bytes(), "devices.yaml")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server.connection(ADMIN)))
        objects = WorldObjects(client)
        await nodes.create(objects, machines(world))
        await devices.publish(objects, world, await objects.list(NODES))
        await stack.enter_async_context(kubelets_of_marked_nodes(client))
        await stack.enter_async_context(scheduler(server))
        for file in sorted((EXAMPLES / "devices/claims").iterdir()):
            for body in yaml.safe_load_all(file.read_text()):
                await objects.apply(body)
        await eventually(lambda: all_run(objects), lambda: "not all of the pods run")
        check(await objects.list(PODS), await objects.list(CLAIMS))
        await remove_all(objects)
        await eventually(lambda: none_left(objects), lambda: "claims or pods are left")


async def all_run(objects: WorldObjects) -> bool:
    phases = [pod["status"]["phase"] for pod in await objects.list(PODS)]
    return phases == ["Running"] * PODS_IN_ALL


def check(pods: list[Json], claims: list[Json]) -> None:
    by_owner = {claim["metadata"]["ownerReferences"][0]["name"]: claim for claim in claims}
    link = by_owner["linked"]
    assert [each["resource"] for each in link["status"]["reservedFor"]] == ["podgroups"]
    [rack] = [each["pool"] for each in results(link)]
    linked = {pod["spec"]["nodeName"] for pod in pods if pod["metadata"]["name"].startswith("linked-")}
    assert all(f"-{rack}-" in node for node in linked)
    gpu, nic = results(by_owner["receiver"])
    assert int(gpu["device"].removeprefix("gpu-")) // 2 == int(nic["device"].removeprefix("nic-"))
    [share] = results(by_owner["model"])
    assert share["consumedCapacity"] == {"memory": "12Gi", "cores": "25"}
    given = [(each["driver"], each["pool"], each["device"]) for claim in claims for each in results(claim)]
    assert len(set(given)) == len(given)


def results(claim: Json) -> list[Json]:
    found: list[Json] = claim["status"]["allocation"]["devices"]["results"]
    return found


async def remove_all(objects: WorldObjects) -> None:
    for resource in (JOBS, POD_GROUPS, PODS):
        for body in await objects.list(resource):
            await objects.delete(resource.path(body["metadata"]["namespace"], body["metadata"]["name"]))


async def none_left(objects: WorldObjects) -> bool:
    return not await objects.list(PODS) and not await objects.list(CLAIMS)
