"""On a real API server: what it serves is found, and a copy stays equal to it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from maitred.kube import reflector as reflector_module
from maitred.kube.client import Client, encode
from maitred.kube.discovery import discover
from maitred.kube.errors import ApiError
from maitred.kube.reflector import Reflector
from maitred.kube.resources import CONFIG_MAPS, PODS, Resource
from maitred.kube.wire import ConfigMap, WatchedPod
from maitred.model.devices.classes import DeviceClass
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED

DEADLINE = 60.0
LABEL = "maitred.dev/test-of-reading"
SELECTOR = {"labelSelector": LABEL}


class Copy:
    def __init__(self) -> None:
        self.data: dict[str, tuple[str, dict[str, str]]] = {}

    def put(self, found: ConfigMap) -> None:
        key = f"{found.metadata.namespace}/{found.metadata.name}"
        uid = found.metadata.uid
        assert self.data.setdefault(key, (uid, {}))[0] == uid, "replaced without a word"
        self.data[key] = (uid, found.data)

    def gone(self, key: str) -> None:
        del self.data[key]

    def settled(self) -> None:
        pass

    def says(self, **names: str) -> bool:
        return {key.split("/")[1]: data.get("says") for key, (_, data) in self.data.items()} == names


class Nothing:
    def put(self, _: object) -> None:
        pass

    def gone(self, key: str) -> None:
        pass

    def settled(self) -> None:
        pass


async def until(copy: Copy, **names: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while not copy.says(**names):
            await asyncio.sleep(0.01)


async def write(client: Client, verb: str, name: str, says: str = "") -> None:
    metadata = {"name": name, "labels": {LABEL: ""}}
    body = encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"says": says}})
    path = CONFIG_MAPS.path("default", "" if verb == "POST" else name)
    await client.request(verb, path, body=None if verb == "DELETE" else body)


@contextmanager
def constants(**values: Any) -> Iterator[None]:
    with patch.multiple(reflector_module, **values):
        yield


async def clean(client: Client) -> None:
    await client.request("DELETE", CONFIG_MAPS.path("default"), params=SELECTOR)


def test_what_is_served(control_plane: ControlPlane) -> None:
    async def scenario() -> None:
        async with Client(control_plane.connection(ADMIN)) as client:
            served = await discover(client)
        release = control_plane.release
        versions = release.served if control_plane.workload_gates else ()
        assert served.version == release.tag
        assert (served.groups is None) == (not versions)
        assert served.groups is None or served.groups.version == versions[0]
        assert (served.composites is None) == ("v1alpha3" not in versions)
        assert served.resources[DeviceClass].version == "v1"

    asyncio.run(scenario())


@pytest.mark.parametrize("streaming", [True, False])
def test_a_copy_stays_equal(control_plane: ControlPlane, streaming: bool) -> None:
    """Through pages, changes, a restart of the server, and from a place that it has forgotten since."""

    async def scenario() -> None:
        async with Client(control_plane.connection(ADMIN)) as client:
            for name in "abc":
                await write(client, "POST", name, "1")
            try:
                await follow(client)
                await start_too_late(client)
            finally:
                await clean(client)

    async def follow(client: Client) -> None:
        copy = Copy()
        reflector = Reflector(client, CONFIG_MAPS, ConfigMap, copy, selector=SELECTOR, streaming=streaming)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(reflector.run())
            await until(copy, a="1", b="1", c="1")
            await write(client, "PUT", "a", "2")
            await write(client, "DELETE", "b")
            await write(client, "DELETE", "c")
            await write(client, "POST", "c", "2")
            await until(copy, a="2", c="2")
            await asyncio.to_thread(control_plane.restart_apiserver)
            await write(client, "POST", "d", "1")
            await until(copy, a="2", c="2", d="1")
            task.cancel()

    async def start_too_late(client: Client) -> None:
        copy = Copy()
        reflector = Reflector(client, CONFIG_MAPS, ConfigMap, copy, selector=SELECTOR, streaming=streaming)
        reflector._version = "1"
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(reflector.run())
            await until(copy, a="2", c="2", d="1")
            await asyncio.wait_for(reflector.synced.wait(), DEADLINE)
            task.cancel()
        assert reflector.counts.watches == 2
        assert reflector.counts.lists == 1

    with constants(PAGE=2):
        asyncio.run(scenario())


def test_a_missing_permission_is_told(control_plane: ControlPlane) -> None:
    async def scenario() -> None:
        async with Client(control_plane.connection(MAITRED)) as client:
            await asyncio.wait_for(Reflector(client, PODS, WatchedPod, Nothing()).run(), DEADLINE)

    with (
        constants(pause=lambda *_: 0.0),
        pytest.raises(ApiError, match=r"cannot (list|watch) resource") as raised,
    ):
        asyncio.run(scenario())
    assert raised.value.status == 403


def test_a_resource_that_is_not_there_is_told(control_plane: ControlPlane) -> None:
    async def scenario() -> None:
        missing = Resource("scheduling.k8s.io", "v1alpha1", "podgroups", "PodGroup")
        async with Client(control_plane.connection(ADMIN)) as client:
            await asyncio.wait_for(Reflector(client, missing, WatchedPod, Nothing()).run(), DEADLINE)

    with constants(pause=lambda *_: 0.0), pytest.raises(ApiError) as raised:
        asyncio.run(scenario())
    assert raised.value.status == 404
