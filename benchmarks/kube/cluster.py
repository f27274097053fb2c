"""The server's side of a run: making what a case needs, reading what came of it, and clearing up."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from benchmarks.figures import say
from benchmarks.kube.bodies import GROUPS, READY_TAINTS, Body, node_body
from benchmarks.objects import NAMESPACE, Obj
from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.resources import NAMESPACES, NODES, PODS, Resource, resource_of
from maitred.model.devices.claims import ResourceClaim
from maitred.model.meta import Lean
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED

T = TypeVar("T")

IN_FLIGHT = 64
ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
CLAIMS = resource_of(ResourceClaim)
GONE_SECONDS = 120.0
AT_ONCE = {"gracePeriodSeconds": 0}


async def in_parallel(work: Callable[[T], Awaitable[object]], items: Iterable[T]) -> None:
    """Do it for each item, 64 at a time."""
    queue = iter(items)

    async def worker() -> None:
        for item in queue:
            await work(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(IN_FLIGHT):
            tasks.create_task(worker())


async def create(client: Client, bodies: Iterable[Body]) -> None:
    await in_parallel(lambda body: client.request("POST", body.path, body=body.data), bodies)


async def prepare(plane: ControlPlane, nodes: int) -> None:
    """A namespace, rights for maitred's own account, and so many nodes that are ready."""
    began = time.monotonic()
    async with Client(plane.connection(ADMIN)) as client:
        await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": NAMESPACE}}))
        await client.request("POST", ROLE_BINDINGS.path(), body=encode(rights()))
        await in_parallel(lambda number: register(client, number), range(nodes))
    say(f"  {nodes:,} nodes in {time.monotonic() - began:.0f} s")


async def register(client: Client, number: int) -> None:
    body = node_body(number)
    await client.request("POST", body.path, body=body.data)
    path = NODES.path(name=body.name)
    await client.request("PATCH", path, body=READY_TAINTS, content_type=MERGE_PATCH)


def rights() -> Obj:
    """Of maitred's account. The server never queues an administrator's requests, so maitred is none here."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": "benchmark"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": MAITRED.name}],
    }


class Name(Lean, frozen=True):
    name: str


class Place(Lean, frozen=True):
    node_name: str = ""


class Found(Lean, frozen=True):
    metadata: Name
    spec: Place = Place()


class FoundList(Lean, frozen=True):
    items: tuple[Found, ...]


async def placements(client: Client) -> dict[str, str]:
    """Pod -> node, as the server has it in the end; empty for a pod without."""
    found = await client.get(PODS.path(NAMESPACE), FoundList)
    return {pod.metadata.name: pod.spec.node_name for pod in found.items}


async def collect_garbage(client: Client) -> None:
    """The server's. One takes it as long as hundreds of binds, and would hit whoever is timed next."""
    await client.request("GET", "/debug/pprof/heap", params={"gc": "1"})


async def clear(client: Client) -> None:
    """Delete all pods and groups, and wait until they are gone."""
    await client.request("DELETE", PODS.path(NAMESPACE), body=encode(AT_ONCE), seconds=GONE_SECONDS)
    for group in (await client.get(GROUPS.path(NAMESPACE), FoundList)).items:
        await delete(client, GROUPS, group.metadata.name)
    # Of claims, a controller lifts the protection once the pods are gone.
    await client.request("DELETE", CLAIMS.path(NAMESPACE), body=encode(AT_ONCE), seconds=GONE_SECONDS)
    await until_gone(client)


async def delete(client: Client, resource: Resource, name: str) -> None:
    path = resource.path(NAMESPACE, name)
    # Of a group: its protection would be lifted by a controller, and none runs here.
    released = encode({"metadata": {"finalizers": None}})
    await client.request("PATCH", path, body=released, content_type=MERGE_PATCH)
    await client.request("DELETE", path, body=encode(AT_ONCE))


async def until_gone(client: Client) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    for resource in (PODS, GROUPS, CLAIMS):
        while (await client.get(resource.path(NAMESPACE), FoundList)).items:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{resource} of the last run are not gone after {GONE_SECONDS:.0f} s")
            await asyncio.sleep(0.2)
