"""`maitred up` as a whole: server, kubelets, controllers, scheduler and view in one process."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from benchmarks.figures import say
from benchmarks.kube.usage import until_idle, usage
from benchmarks.objects import NAMESPACE
from benchmarks.sandbox import asking, figures
from benchmarks.sandbox.bare import reads, resident
from benchmarks.sandbox.figures import Found, Size
from benchmarks.sandbox.load import pods
from benchmarks.sandbox.servers import PATIENCE_SECONDS, Server, up
from maitred.kube.client import Client, encode
from maitred.kube.resources import NAMESPACES, NODES, PODS
from maitred.model.meta import Lean
from maitred.model.world import USUAL, World
from maitred.sandbox.controlplane.workspace import workspace
from maitred.sandbox.kubelets.fleet import HEARTBEAT_SECONDS
from maitred.sandbox.world.gangs import gang_objects
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.objects import WorldObjects
from maitred.sandbox.world.story import StoryGang

RACK_NODES, BLOCK_RACKS = 8, 5
BOUND_SHARE = 10
"""One pod for so many of the load is bound from outside."""
POLL_SECONDS = 0.2


def first_seated() -> float:
    """Seconds, the median of three starts of the example of `make up`."""
    seconds = list[float]()
    with workspace() as directory:
        for _ in range(asking.REPEATS):
            with up(directory, "--story", "queue") as (_, program):
                seconds.append(program.until(" seated"))
    return statistics.median(seconds)


def world_of(nodes: int) -> World:
    blocks = max(1, nodes // (RACK_NODES * BLOCK_RACKS))
    racks = nodes // (RACK_NODES * blocks)
    return World(kinds=(msgspec.structs.replace(USUAL, blocks=blocks, racks=racks, nodes=RACK_NODES),))


async def whole_evening(size: Size) -> Found:
    found: Found = {figures.FIRST_SEATED: first_seated()}
    say(f"  {found[figures.FIRST_SEATED]:.1f} s to the first gang seated")
    world = world_of(size.nodes)
    with workspace() as directory:
        file = directory / "world.yaml"
        file.write_bytes(msgspec.json.encode(world))
        with up(directory, "--world", file) as (server, program):
            program.until("The sandbox is up")
            async with server.client() as client:
                await until(lambda: nodes_are_ready(client, size.nodes))
                found[figures.NODES_UP] = time.monotonic() - program.began
                say(f"  {found[figures.NODES_UP]:.1f} s to {size.nodes:,} nodes ready")
                nodes = [machine.name for machine in machines(world)]
                found |= await on_the_floor(server, client, size, nodes)
    return found


async def on_the_floor(server: Server, client: Client, size: Size, nodes: list[str]) -> Found:
    found = {figures.STARTED: await started(client, size.pods, nodes)}
    say(f"  {found[figures.STARTED]:,.0f} pods a second started")
    await until_idle(server.pid)
    found[figures.MEMORY] = resident(server.pid)
    found[figures.IDLE] = await idle(server.pid)
    say(f"  {found[figures.MEMORY]:,.0f} MB, {found[figures.IDLE]:.0f} % of a core when idle")
    found |= await reads(server, client, size.pods, min(64, size.pods - 64))
    found[figures.GANG_BOUND], found[figures.GANG_RUNNING] = await gang(client, size.gang)
    say(f"  {found[figures.GANG_BOUND]:.1f} s to a gang of {size.gang:,} bound")
    await until_idle(server.pid)
    more = pods("more", size.pods // BOUND_SHARE)
    await asking.creates(client, more)
    await until_idle(server.pid)
    found[figures.BINDS_AND_STARTS] = await asking.binds(client, more, nodes)
    say(f"  {found[figures.BINDS_AND_STARTS]:,.0f} binds a second beside all that")
    return found


async def started(client: Client, count: int, nodes: list[str]) -> float:
    await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": NAMESPACE}}))
    load = pods("load", count, nodes)
    began = time.monotonic()
    await asking.creates(client, load)
    await until(lambda: are_running(client))
    return count / (time.monotonic() - began)


async def idle(pid: int) -> float:
    """Over two rounds of heartbeats."""
    before, began = usage(pid).cpu, time.monotonic()
    await asyncio.sleep(2 * HEARTBEAT_SECONDS)
    return 100 * (usage(pid).cpu - before) / (time.monotonic() - began)


# -- what there is -----------------------------------------------------------------------------------------


class Condition(Lean, frozen=True):
    type: str
    status: str


class Status(Lean, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Place(Lean, frozen=True):
    node_name: str = ""


class Meta(Lean, frozen=True):
    name: str = ""


class Seen(Lean, frozen=True):
    metadata: Meta
    spec: Place = Place()
    status: Status = Status()


class SeenList(Lean, frozen=True):
    items: tuple[Seen, ...] = ()


class Event(Lean, frozen=True):
    object: Seen


READY = Condition("Ready", "True")


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not await is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the sandbox is not as it should be after {PATIENCE_SECONDS:.0f} s")
        await asyncio.sleep(POLL_SECONDS)


async def nodes_are_ready(client: Client, count: int) -> bool:
    found = (await client.get(NODES.path(), SeenList)).items
    return sum(READY in node.status.conditions for node in found) == count


async def are_running(client: Client) -> bool:
    others = {"fieldSelector": "status.phase!=Running", "limit": "1"}
    return not (await client.get(PODS.path(NAMESPACE), SeenList, params=others)).items


async def gang(client: Client, workers: int) -> tuple[float, float]:
    """Seconds from its objects created until all pods are bound, and until all run."""
    objects, began = WorldObjects(client), time.monotonic()
    for made in gang_objects(StoryGang("large", workers, gpus=1)):
        await objects.create(made)
    params = {"watch": "true", "labelSelector": "job-name=large", "timeoutSeconds": "600"}
    bound, running, all_bound = set[str](), set[str](), 0.0
    decode = msgspec.json.Decoder(Event).decode
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(client.lines(PODS.path(), params=params)) as told:
        async for lines in told:
            for pod in (decode(line).object for line in lines):
                if pod.spec.node_name:
                    bound.add(pod.metadata.name)
                if pod.status.phase == "Running":
                    running.add(pod.metadata.name)
            if len(bound) == workers and not all_bound:
                all_bound = time.monotonic() - began
            if len(running) == workers:
                return all_bound, time.monotonic() - began
    raise RuntimeError(f"the watch has ended with {len(bound)} of {workers} pods bound")
