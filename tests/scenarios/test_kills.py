"""The scheduler as a process of its own, killed at random while it seats two hundred gangs."""

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.scenarios.api import eventually
from tests.scenarios.objects import Group, members, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create

GANGS = [Group(f"g{number}", quorum=3) for number in range(200)]
KILLS = 10
SEED = 20261115
PODS = 3 * len(GANGS)


@pytest.mark.slow
def test_killed_ten_times_during_two_hundred_gangs(server: Server) -> None:
    scenario = Scenario("killed at random", nodes(60, cpu=10), ())

    async def act(stage: Stage) -> None:
        chance = random.Random(SEED)
        creating = stage.tasks.create_task(create(stage))
        for threshold in sorted(chance.sample(range(1, PODS), KILLS)):
            async with running(server):
                await bound(stage, threshold)
        async with running(server):
            await creating
            await bound(stage, PODS)

    play(server, scenario, act)


async def create(stage: Stage) -> None:
    for gang in GANGS:
        await stage.play(Create(gang, members(gang, 3)))


async def bound(stage: Stage, wanted: int) -> None:
    def missing() -> str:
        found = sum(bool(pod.spec.node_name) for pod in stage.observer.pods.values())
        return "" if found >= wanted else f"{found} of {wanted} are bound"

    await eventually(missing, seconds=60)


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[None]:
    """A scheduler that is killed at the end, whatever it is doing."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "maitred.cli", "scheduler", "--no-leader-election"),
        *("--listen", "", "--answers", ""),
        *("--kubeconfig", str(server.scheduler_kubeconfig()), "--log-level", "warning"),
    )
    try:
        yield
    finally:
        process.kill()
        status = await process.wait()
    assert status == -signal.SIGKILL, f"it ended before it was killed, with {status}"
