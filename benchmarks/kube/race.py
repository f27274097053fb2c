"""One case: gangs that lack one member each get it, all at once, and each scheduler in turn seats them."""

import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from benchmarks.figures import say
from benchmarks.kube.bodies import MEMBERS, NODE_GPUS, Ask, Gang, gang_of, gangs, node_name
from benchmarks.kube.checks import check
from benchmarks.kube.claims import allocate, check_claims, claims_of_pods
from benchmarks.kube.cluster import IN_FLIGHT, clear, collect_garbage, create, in_parallel, placements
from benchmarks.kube.contenders import BARE_BINDS, KUBE_SCHEDULER, MAITRED, SCHEDULER_NAMES, scheduler
from benchmarks.kube.usage import Usage, forget_peak, until_idle, used_by
from benchmarks.kube.witness import Witness, witness
from benchmarks.objects import NAMESPACE
from maitred.kube.bodies import binding
from maitred.kube.client import Client
from maitred.kube.resources import PODS
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED as ACCOUNT

LIMIT_SECONDS = 100.0
"""For one scheduler: what is not bound by then is not waited for."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a case: what is there before it begins, and what is then to be seated."""

    nodes: int
    gangs: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one scheduler in one round."""

    pods: int
    bound: int
    timed: int
    """Pods bound while the clock ran, which is from the last pod created to the last bind."""
    seconds: float
    waits: tuple[float, ...]
    """Of each gang that is whole: seconds from its last member created to its last bind."""
    server: Usage
    own: Usage | None
    """None for the bare loop, which is no process of its own."""

    @property
    def finished(self) -> bool:
        return self.bound == self.pods


@dataclass(frozen=True, slots=True)
class Runs:
    """Of one scheduler, taken together."""

    runs: list[Run]

    @property
    def rate(self) -> float:
        """Pods per second."""
        return sum(run.timed for run in self.runs) / sum(run.seconds for run in self.runs)

    @property
    def unfinished(self) -> Run | None:
        return next((run for run in self.runs if not run.finished), None)

    def percentile(self, share: float) -> float:
        waits = [wait for run in self.runs for wait in run.waits]
        return float(np.percentile(waits, share)) if waits else float("nan")

    @property
    def own(self) -> Usage | None:
        return together([run.own for run in self.runs if run.own is not None])

    @property
    def server(self) -> Usage | None:
        return together([run.server for run in self.runs])


def together(found: list[Usage]) -> Usage | None:
    """The mean of the times, the highest of the peaks."""
    if not found:
        return None
    return Usage(sum(usage.cpu for usage in found) / len(found), max(usage.peak for usage in found))


@dataclass(frozen=True, slots=True)
class Race:
    """All schedulers in one case."""

    size: Size
    ask: Ask
    runs: dict[str, Runs]

    def times_kube_scheduler(self, name: str) -> float:
        return self.runs[name].rate / self.runs[KUBE_SCHEDULER].rate

    def share_of_bare(self, name: str) -> float:
        """In per cent."""
        return 100 * self.runs[name].rate / self.runs[BARE_BINDS].rate


async def race(plane: ControlPlane, size: Size, ask: Ask) -> Race:
    """Bare binds and maitred in turns, since both are over so soon that a busy moment can hit one of them."""
    runs = defaultdict[str, list[Run]](list)
    for name in (*(BARE_BINDS, MAITRED) * size.rounds, KUBE_SCHEDULER):
        began = time.monotonic()
        run = await once(plane, name, gangs(size.gangs, SCHEDULER_NAMES[name], ask))
        runs[name].append(run)
        say(
            f"  {name}: {run.timed / run.seconds:,.0f} pods/s, {run.bound:,} of {run.pods:,} bound in "
            f"{run.seconds:.1f} s ({time.monotonic() - began:.0f} s with all that is around it)"
        )
    return Race(size, ask, {name: Runs(found) for name, found in runs.items()})


async def once(plane: ControlPlane, name: str, crowd: list[Gang]) -> Run:
    forget_peak(plane.apiserver.pid)
    async with Client(plane.connection(ADMIN)) as client:
        with witness(plane) as seen:
            if name == BARE_BINDS:
                run = await bare(plane, client, seen, crowd)
            else:
                run = await seated(plane, client, seen, crowd, name)
            check(crowd, await placements(client), seen.places, run.finished)
            if crowd[0].ask is Ask.CLAIMS and name != BARE_BINDS:
                await check_claims(client, run.bound)
        await clear(client)
    return run


async def seated(plane: ControlPlane, client: Client, seen: Witness, crowd: list[Gang], name: str) -> Run:
    """Everything but the last member of each gang is there, and seen, before the clock starts."""
    members = [gang.members() for gang in crowd]
    with scheduler(plane, name) as process:
        await create(client, (gang.group() for gang in crowd))
        await create(client, (pod for gang in members for pod in gang[:-1]))
        await until_idle(process.pid, seen.changes)
        await collect_garbage(client)
        with used_by(plane.apiserver.pid) as server, used_by(process.pid) as own:
            await create(client, (gang[-1] for gang in members))
            await seen.until({pod.name for gang in members for pod in gang}, LIMIT_SECONDS)
    return measured(crowd, seen, max(seen.created.values()), server, own)


async def bare(plane: ControlPlane, client: Client, seen: Witness, crowd: list[Gang]) -> Run:
    """The same pods bound in a loop, eight to a node, as fast as the server takes them, with their claims."""
    pods = [pod for gang in crowd for pod in gang.members()]
    await create(client, (gang.group() for gang in crowd))
    await create(client, pods)
    await until_idle(plane.apiserver.pid, seen.changes)
    claims = await claims_of_pods(client, len(pods)) if crowd[0].ask is Ask.CLAIMS else {}
    async with Client(plane.connection(ACCOUNT)) as binder:

        async def bind(number: int) -> None:
            name, node = pods[number].name, node_name(number // NODE_GPUS)
            if name in claims:
                await allocate(binder, claims[name], node, number % NODE_GPUS)
            await binder.request(
                "POST", PODS.path(NAMESPACE, name, "binding"), body=binding(name, "", node, {})
            )

        # Connections are made before the clock starts, so that nothing but binds is in it.
        await collect_garbage(client)
        await in_parallel(lambda _: binder.request("GET", "/version"), range(2 * IN_FLIGHT))
        with used_by(plane.apiserver.pid) as server:
            started = time.monotonic()
            await in_parallel(bind, range(len(pods)))
            await seen.until({pod.name for pod in pods}, LIMIT_SECONDS)
    return measured(crowd, seen, started, server, own=None)


def measured(crowd: list[Gang], seen: Witness, started: float, server: Usage, own: Usage | None) -> Run:
    """What was bound before the clock started is not counted."""
    pods, bound = len(crowd) * MEMBERS, len(seen.bound)
    timed = [moment - started for moment, _ in seen.bound.values() if moment > started]
    seconds = max(timed) if bound == pods else LIMIT_SECONDS
    return Run(pods, bound, len(timed), seconds, gang_waits(seen), server, own)


def gang_waits(seen: Witness) -> tuple[float, ...]:
    created, bound = defaultdict[str, float](float), defaultdict[str, list[float]](list)
    for pod, moment in seen.created.items():
        created[gang_of(pod)] = max(created[gang_of(pod)], moment)
    for pod, (moment, _) in seen.bound.items():
        bound[gang_of(pod)].append(moment)
    return tuple(max(times) - created[gang] for gang, times in bound.items() if len(times) == MEMBERS)
