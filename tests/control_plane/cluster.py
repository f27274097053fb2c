"""A small cluster for one test: nodes and a namespace on the real control plane, both gone afterwards."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from maitred.kube.client import Client, encode
from maitred.kube.connection import Connection
from maitred.kube.errors import ApiError
from maitred.kube.resources import NAMESPACES, NODES, PODS
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import Fleet, kubelets
from tests.control_plane.waiting import DEADLINE_SECONDS

Json = dict[str, Any]


class Plane(Protocol):
    """Any API server that keeps house."""

    def connection(self, user: User) -> Connection: ...


@dataclass(frozen=True)
class Cluster:
    client: Client
    fleet: Fleet
    namespace: str

    async def send(self, verb: str, path: str, body: Json | None = None) -> Json:
        data = None if body is None else encode(body)
        return dict(msgspec.json.decode(await self.client.request(verb, path, body=data)))

    async def get(self, path: str) -> Json | None:
        try:
            return await self.send("GET", path)
        except ApiError as error:
            if error.is_gone:
                return None
            raise

    async def create(self, pod: Json) -> None:
        await self.send("POST", PODS.path(self.namespace), pod)

    async def bind(self, name: str, node: str) -> None:
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        await self.send("POST", PODS.path(self.namespace, name, "binding"), binding)

    async def delete(self, name: str) -> None:
        await self.send("DELETE", PODS.path(self.namespace, name))

    async def pod(self, name: str, until: Callable[[Json], bool]) -> Json:
        return await self.becomes(PODS.path(self.namespace, name), until)

    async def node(self, name: str, until: Callable[[Json], bool]) -> Json:
        return await self.becomes(NODES.path(name=name), until)

    async def phase(self, name: str, phase: str) -> Json:
        """The status of the pod, once it is in this phase."""
        pod = await self.pod(name, lambda pod: pod["status"]["phase"] == phase)
        return dict(pod["status"])

    async def is_gone(self, name: str) -> None:
        await self.poll(PODS.path(self.namespace, name), lambda pod: pod is None)

    async def becomes(self, path: str, until: Callable[[Json], bool]) -> Json:
        found = await self.poll(path, lambda found: found is not None and until(found))
        assert found is not None
        return found

    async def poll(self, path: str, until: Callable[[Json | None], bool]) -> Json | None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            found = await self.get(path)
            if until(found):
                return found
            assert time.monotonic() < deadline, f"{path} is still {found}"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def cluster(
    plane: Plane, machines: Iterable[Machine], heartbeat_seconds: float = 10
) -> AsyncIterator[Cluster]:
    machines = list(machines)
    async with (
        Client(plane.connection(ADMIN)) as client,
        kubelets(client, machines, heartbeat_seconds=heartbeat_seconds) as fleet,
    ):
        body = encode({"metadata": {"generateName": "test-"}})
        created = msgspec.json.decode(await client.request("POST", NAMESPACES.path(), body=body))
        place = Cluster(client, fleet, created["metadata"]["name"])
        try:
            yield place
        finally:
            await place.send("DELETE", f"{PODS.path(place.namespace)}?gracePeriodSeconds=0")
            await place.send("DELETE", NAMESPACES.path(name=place.namespace))
            for machine in machines:
                await fleet.remove(machine.name)
