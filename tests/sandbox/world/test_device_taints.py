"""Devices on a running sandbox: published with their nodes, copied with them, tainted and well again."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maitred.kube.client import Client
from maitred.kube.resources import NODES
from maitred.model.manifest import InputError
from maitred.model.world import World, read_world
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world import device_taints, devices, nodes
from maitred.sandbox.world.device_taints import RULES, SLICES
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.objects import WorldObjects
from tests.sandbox.apiserver.running import running_server

WORLD = b"""
kinds: [{name: a, nodes: 2, resources: {cpu: "8"}}]
devices:
- {name: gpu, driver: gpu.example.com, count: 2, attributes: {model: H100}}
- {name: channel, driver: fabric.example.com, per: rack}
"""


def play(folder: Path, steps: Callable[[WorldObjects], Awaitable[None]]) -> None:
    async def run() -> None:
        world: World = read_world(WORLD, "world.yaml")
        with running_server(folder) as server:
            async with Client(server.connection(ADMIN)) as client:
                objects = WorldObjects(client)
                await nodes.create(objects, machines(world))
                await devices.publish(objects, world, await objects.list(NODES))
                await steps(objects)

    asyncio.run(run())


def test_slices_of_a_node_belong_to_it(tmp_path: Path) -> None:
    async def steps(objects: WorldObjects) -> None:
        found = {body["metadata"]["name"]: body["metadata"] for body in await objects.list(SLICES)}
        assert set(found) == {
            "b1-r1-n01-gpu.example.com-0",
            "b1-r1-n02-gpu.example.com-0",
            "r1-fabric.example.com-0",
        }
        [owner] = found["b1-r1-n01-gpu.example.com-0"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Node", "b1-r1-n01")
        assert "ownerReferences" not in found["r1-fabric.example.com-0"]

    play(tmp_path, steps)


def test_a_node_that_is_a_copy_has_devices_of_its_own(tmp_path: Path) -> None:
    async def steps(objects: WorldObjects) -> None:
        there = await objects.list(NODES)
        made = await nodes.create(objects, nodes.more_like(there[0], there, 1, {}, {}))
        await devices.publish_like(objects, there[0], made)
        assert made == ["b1-r1-n03"]
        bodies = [body["spec"] for body in await objects.list(SLICES) if "nodeName" in body["spec"]]
        assert {spec["pool"]["name"] for spec in bodies} == {"b1-r1-n01", "b1-r1-n02", "b1-r1-n03"}
        uuids = [device["attributes"]["uuid"]["string"] for spec in bodies for device in spec["devices"]]
        assert len(set(uuids)) == len(uuids) == 6

    play(tmp_path, steps)


def test_devices_are_tainted_and_well_again(tmp_path: Path) -> None:
    async def steps(objects: WorldObjects) -> None:
        assert await device_taints.meant(objects, ["b1-r1-n02", "r1/channel-0"]) == [
            "b1-r1-n02/gpu-0",
            "b1-r1-n02/gpu-1",
            "r1/channel-0",
        ]
        await device_taints.taint(objects, ["b1-r1-n02/gpu-1"], "NoSchedule")
        [rule] = await objects.list(RULES)
        assert rule["spec"]["deviceSelector"] == {"pool": "b1-r1-n02", "device": "gpu-1"}
        assert rule["spec"]["taint"]["effect"] == "NoSchedule"
        assert await device_taints.untaint(objects, ["b1-r1-n02/gpu-0", "b1-r1-n02/gpu-1"]) == 1
        assert await objects.list(RULES) == []
        with pytest.raises(
            InputError, match="matches no device; a device is a pool and a name, such as b1-r1-n02/gpu-1"
        ):
            await device_taints.meant(objects, ["b1-r1-n02/gpu-9"])

    play(tmp_path, steps)
