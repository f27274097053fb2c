"""`maitred why`, `plan` and `capacity` as whole processes, which ask a scheduler through an API server.

The API server is the sandbox's, in a process of its own, and the scheduler is another. It has seated whom it
could before it is asked, so all groups that are left wait; each `why` is about another one. Half of the
questions are about a state that was asked about before, half come just after something has changed.
"""

import asyncio
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path

from benchmarks.clusters import mixed_cluster
from benchmarks.command import process
from benchmarks.dressing import dressed_node
from benchmarks.figures import Figure, Goal, Samples, Work, in_turns, say
from benchmarks.kube.bodies import GROUPS, Body, body
from benchmarks.kube.cluster import create, in_parallel, placements
from benchmarks.kube.usage import usage
from benchmarks.mix import gangs
from benchmarks.objects import NAMESPACE, Obj
from benchmarks.sandbox.servers import Server, alone, started
from maitred.cli.manifest import NAMESPACE as HOME
from maitred.cli.manifest import objects as installed
from maitred.kube.answers import PORT, SERVICE
from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.resources import NAMESPACES, NODES, PODS, Resource
from maitred.sandbox.world.local_service import own_address, register
from maitred.sandbox.world.objects import WorldObjects

SECONDS = 1.0
RESOURCES: dict[str, Resource] = {"Node": NODES, "Pod": PODS, "PodGroup": GROUPS}
LISTEN_PORT = 10_399
GANG = "gang-0000"
NEXT = "{next}"
"""In a question: the next of those who wait."""
QUESTIONS = (
    ("why", NEXT),
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
    repeats: int
    still_seconds: float
    """Without a line of the scheduler's log: then it has seated whom it could."""


FULL, QUICK = Size(5_000, 850, 200, 500, 5, 10.0), Size(100, 40, 10, 5, 1, 1.0)


@dataclass(slots=True)
class Asked:
    """A scheduler behind its API server, and those of whom it is asked."""

    server: Server
    scheduler: int
    """Its process; that which answers is its child."""
    waiting: Iterator[str]
    """For ever, and far apart from each other."""
    bound: Iterator[str]
    """Pods that have yet to start."""

    def ask(self, *words: str) -> None:
        """A plan that would have to wait is an answer like any other."""
        words = tuple(next(self.waiting) if word == NEXT else word for word in words)
        command = [sys.executable, "-m", "maitred.cli", *words, "-n", NAMESPACE, "-o", "json"]
        command += ["--kubeconfig", str(self.server.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode in (1, 2) or done.stderr:
            raise RuntimeError(f"maitred {' '.join(words)}: {done.returncode}: {done.stderr.strip()[-500:]}")

    def core_seconds(self) -> float:
        """Of commands that have ended, of the API server, and of both processes of the scheduler."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = (self.server.pid, self.scheduler, *children(self.scheduler))
        return ended.ru_utime + ended.ru_stime + sum(usage(pid).cpu for pid in running)

    def peak(self) -> float:
        """MB."""
        return max(usage(pid).peak for pid in children(self.scheduler))

    def change(self) -> None:
        """A pod starts, which is what happens most."""
        asyncio.run(self._start(next(self.bound)))

    async def _start(self, name: str) -> None:
        status = {"phase": "Running", "startTime": datetime.now(UTC).isoformat(timespec="seconds")}
        async with self.server.client() as client:
            path = PODS.path(NAMESPACE, name) + "/status"
            await client.request("PATCH", path, body=encode({"status": status}), content_type=MERGE_PATCH)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    case = f"Answers of a scheduler, {size.nodes:,} nodes and {size.waiting} waiting groups"
    with alone() as server:
        asyncio.run(fill(server, size))
        with scheduler(server, size) as asked:
            core = asked.core_seconds
            still = [Work(partial(asked.ask, *words), core=core) for words in QUESTIONS]
            changed = [Work(work.run, asked.change, core) for work in still]
            help_text = [sys.executable, "-m", "maitred.cli", "why", "--help"]
            *samples, floor = in_turns(
                [*still, *changed, Work(lambda: process(help_text), core=core)], size.repeats
            )
            memory = asked.peak()
    titles = [f"maitred {words[0]}{when}" for when in ("", " after a change") for words in QUESTIONS]
    return [
        *(
            Figure(case, f"{title}, whole process", "s", found, floor, Goal(SECONDS))
            for title, found in zip(titles, samples, strict=True)
        ),
        Figure(case, "the process that answers, the most it had", "MB", Samples((memory,))),
    ]


@contextmanager
def scheduler(server: Server, size: Size) -> Iterator[Asked]:
    """It is asked once it has seated whom it could."""
    address = own_address()
    if address is None:
        raise RuntimeError("this machine has no address that an API server would proxy to")
    asyncio.run(announce(server, address))
    command = ["-m", "maitred.cli", "scheduler", "--kubeconfig", str(server.kubeconfig)]
    command += ["--no-leader-election", "--listen", "", "--ledger", str(server.directory / "ledger.db")]
    command += ["--answers", f"{address}:{LISTEN_PORT}"]
    with started(command, server.directory / "scheduler.log") as program:
        took = program.until("the cluster was read")
        say(f"  read in {took:.0f} s")
        took = program.until("group training/gang-")
        say(f"  first Plan after {took:.0f} s")
        wait_until_still(server, size.still_seconds)
        yield asyncio.run(asked_of(server, program.process.pid, size))


def wait_until_still(server: Server, seconds: float) -> None:
    """Answers have a process of their own, and share the machine with cycles."""
    log, size = server.directory / "scheduler.log", -1
    while size != (size := log.stat().st_size):
        time.sleep(seconds)


async def asked_of(server: Server, scheduler: int, size: Size) -> Asked:
    async with server.client() as client:
        places = await placements(client)
    waiting = sorted({name[: len(GANG)] for name, node in places.items() if is_gang(name) and not node})
    bound = sorted(name for name, node in places.items() if is_gang(name) and node)
    say(f"  {len(waiting)} groups wait, {sum(map(bool, places.values())):,} pods have places")
    assert len(waiting) >= size.waiting, "too few wait"
    far_apart = waiting[:: max(1, len(waiting) // (2 * size.repeats))]
    return Asked(server, scheduler, cycle(far_apart), iter(bound))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gang(name: str) -> bool:
    return name.startswith(GANG.rstrip("0"))


async def announce(server: Server, address: str) -> None:
    async with server.client() as client:
        objects = WorldObjects(client)
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
