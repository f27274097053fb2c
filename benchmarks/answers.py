"""`maitred why`, `plan` and `capacity` as whole processes, which ask a scheduler through an API server.

The API server is the sandbox's, in a process of its own, and the scheduler is another. It has seated whom it
could before it is asked, so all groups that are left wait.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.clusters import mixed_cluster
from benchmarks.command import process
from benchmarks.dressing import dressed_node
from benchmarks.figures import Figure, Goal, Samples, Work, in_turns, say
from benchmarks.kube.bodies import GROUPS, Body, body
from benchmarks.kube.cluster import create, in_parallel, placements
from benchmarks.mix import gangs
from benchmarks.objects import NAMESPACE, Obj
from benchmarks.sandbox.servers import Server, alone, started
from maitred.cli.manifest import NAMESPACE as HOME
from maitred.cli.manifest import objects as installed
from maitred.kube.answers import PORT, SERVICE
from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.resources import NAMESPACES, NODES, PODS, Resource
from maitred.sandbox.world.objects import Objects
from maitred.sandbox.world.outpost import own_address, register

REPEATS = 5
SECONDS = 1.0
RESOURCES: dict[str, Resource] = {"Node": NODES, "Pod": PODS, "PodGroup": GROUPS}
LISTEN_PORT = 10_399
STILL_SECONDS = 10.0
QUESTIONS = (
    ("why", "gang-0039"),
    ("plan", "--gang", "64", "--gpus", "8"),
    ("capacity",),
)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    shapes: int
    waiting: int
    """That must be left once the others are seated."""


FULL, QUICK = Size(5_000, 850, 200, 500), Size(100, 40, 10, 5)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    case = f"Answers of a scheduler, {size.nodes:,} nodes and {size.waiting} waiting groups"
    with alone() as server:
        asyncio.run(fill(server, size))
        with scheduler(server, size):
            works = [Work(partial(ask, server, *words)) for words in QUESTIONS]
            empty = Work(lambda: process([sys.executable, "-m", "maitred.cli", "why", "--help"]))
            *samples, floor = in_turns([*works, empty], REPEATS)
    beside, goal = Samples(floor.clock), Goal(SECONDS)
    return [
        Figure(case, f"maitred {words[0]}, whole process", "s", Samples(found.clock), beside, goal)
        for words, found in zip(QUESTIONS, samples, strict=True)
    ]


def ask(server: Server, *words: str) -> None:
    """A plan that would have to wait is an answer like any other."""
    command = [sys.executable, "-m", "maitred.cli", *words, "-n", NAMESPACE, "-o", "json"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(server.kubeconfig)], capture_output=True, text=True, check=False
    )
    if done.returncode in (1, 2) or done.stderr:
        raise RuntimeError(f"maitred {' '.join(words)}: {done.returncode}: {done.stderr.strip()[-500:]}")


@contextmanager
def scheduler(server: Server, size: Size) -> Iterator[None]:
    """It is asked once it has seated whom it could."""
    address = own_address()
    if address is None:
        raise RuntimeError("this machine has no address that an API server would proxy to")
    asyncio.run(announce(server, address))
    command = ["-m", "maitred.cli", "scheduler", "--kubeconfig", str(server.kubeconfig)]
    command += ["--no-leader-election", "--listen", "", "--ledger", "none"]
    command += ["--answers", f"{address}:{LISTEN_PORT}"]
    with started(command, server.directory / "scheduler.log") as program:
        took = program.until("the cluster was read")
        say(f"  read in {took:.0f} s")
        took = program.until("group training/gang-")
        say(f"  first Plan after {took:.0f} s")
        wait_until_still(server)
        asyncio.run(check(server, size))
        yield


def wait_until_still(server: Server) -> None:
    """Answers share the process with cycles."""
    log, size = server.directory / "scheduler.log", -1
    while size != (size := log.stat().st_size):
        time.sleep(STILL_SECONDS)


async def check(server: Server, size: Size) -> None:
    async with server.client() as client:
        places = await placements(client)
    unseated = (name for name, node in places.items() if name.startswith("gang-") and not node)
    gangs = {name[: len("gang-0000")] for name in unseated}
    say(f"  {len(gangs)} groups wait, {sum(map(bool, places.values())):,} pods run")
    assert len(gangs) >= size.waiting, "too few wait"


async def announce(server: Server, address: str) -> None:
    async with server.client() as client:
        objects = Objects(client)
        for item in installed("base"):
            if item["kind"] == "Namespace" or (
                item["kind"] == "Service" and item["metadata"]["name"] == SERVICE
            ):
                item.get("spec", {}).pop("selector", None)
                await objects.apply(item)
        port = {"name": PORT, "port": LISTEN_PORT, "protocol": "TCP"}
        await register(objects, HOME, SERVICE, port, address)


async def fill(server: Server, size: Size) -> None:
    rng = random.Random(8)
    cluster = list(mixed_cluster(size.nodes, rng, lone_jobs=False))
    waiting = [item for gang in gangs(size.gangs, size.shapes, rng) for item in gang.objects()]
    wanted = [item for item in (*cluster, *waiting) if item["kind"] in RESOURCES]
    say(f"  {size.nodes:,} nodes, {len(wanted) - size.nodes:,} pods and groups")
    async with server.client() as client:
        await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": NAMESPACE}}))
        nodes = [item for item in wanted if item["kind"] == "Node"]
        await in_parallel(lambda numbered: add_node(client, *numbered), enumerate(nodes))
        others = [item for item in wanted if item["kind"] != "Node"]
        await create(client, map(made, others))


def made(item: Obj) -> Body:
    resource = RESOURCES[item["kind"]]
    return body(resource, {**item, "apiVersion": resource.api_version})


async def add_node(client: Client, number: int, item: Obj) -> None:
    new = made(dressed_node(item, number))
    await client.request("POST", new.path, body=new.data)
    taints = encode({"spec": {"taints": item["spec"].get("taints", [])}})
    await client.request("PATCH", NODES.path(name=new.name), body=taints, content_type=MERGE_PATCH)
