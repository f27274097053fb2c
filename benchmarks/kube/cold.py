"""A large cluster that is there already, and a maitred that has just been started."""

import time
from dataclasses import dataclass

from benchmarks.figures import say
from benchmarks.kube.bodies import MEMBERS, Ask, gangs, running_load
from benchmarks.kube.cluster import create
from benchmarks.kube.contenders import MAITRED, SCHEDULER_NAMES, started_maitred
from benchmarks.kube.usage import Usage, until_idle, usage
from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane

PODS_PER_NODE = 10
WAITING_GANGS = 6
PLANNED = "maitred_cycles_total "


@dataclass(frozen=True, slots=True)
class ColdStart:
    nodes: int
    pods: int
    waiting: int
    ready: float
    """Seconds until it says that it is ready,"""
    planned: float
    """and until it has decided for the first time."""
    used: Usage


async def cold_start(plane: ControlPlane, nodes: int) -> ColdStart:
    pods = nodes * PODS_PER_NODE
    async with Client(plane.connection(ADMIN)) as client:
        began = time.monotonic()
        await create(client, running_load(nodes, pods))
        crowd = gangs(WAITING_GANGS, SCHEDULER_NAMES[MAITRED], Ask.RACK)
        await create(client, (gang.group() for gang in crowd))
        await create(client, (pod for gang in crowd for pod in gang.members()))
        say(f"  {pods:,} pods in {time.monotonic() - began:.0f} s")
    await until_idle(plane.apiserver.pid)
    began = time.monotonic()
    with started_maitred(plane) as running:
        ready = running.wait_for("/readyz", lambda line: line == "leading") - began
        planned = running.wait_for("/metrics", has_planned) - began
        used = usage(running.process.pid)
    say(f"  ready after {ready:.1f} s, first Plan after {planned:.1f} s, {used.peak:,.0f} MB")
    return ColdStart(nodes, pods, len(crowd) * MEMBERS, ready, planned, used)


def has_planned(line: str) -> bool:
    return line.startswith(PLANNED) and float(line.removeprefix(PLANNED)) > 0
