"""Gangs for whom others must leave: over a line on which everything goes wrong, and killed now and then."""

import asyncio
import random

import pytest

from tests.scenarios.faults import Faults
from tests.scenarios.objects import Group, Job, Pods, members, nodes
from tests.scenarios.preempting import NotSuspended
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Finished, Running
from tests.scenarios.test_kills import running

SEEDS = (1, 2, 3)
NODES, GANGS = 6, 4
FULL = [Pods(f"low-{n}", 3, scheduler="nobody", node=f"n{n}", spec=ranked(LOW)) for n in range(NODES)]
BRIEF = [Group(f"g{number}", quorum=3, rank="high") for number in range(GANGS)]

GUESTS = [
    members(Group(f"guest{number}", quorum=3, rank="high"), 3, spec=ranked(HIGH), run_seconds=1)
    for number in range(12)
]
PAUSE_SECONDS = 0.5
CREWS = [Job(f"j{n}", 3, Group(f"j{n}", quorum=3, rank="low"), spec=ranked(LOW)) for n in range(NODES)]
KILLS = 6
SEED = 20261115


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_leaves_in_vain_under_faults(seed: int, server: Server) -> None:
    """Every gang is seated, and exactly as many had to leave as that took."""
    scenario = Scenario("faults", nodes(NODES, cpu=3), ())

    async def act(stage: Stage) -> None:
        await stage.play(CLASSES, Create(*FULL), *(Running(pods) for pods in FULL))
        stage.start(trouble=Faults(seed))
        await stage.play(*(Create(gang, members(gang, 3, spec=ranked(HIGH))) for gang in BRIEF))
        await stage.play(*(Bound(members(gang, 3)) for gang in BRIEF))
        left = [life.name for life in stage.observer.lives.values() if life.grace is not None]
        assert len(left) == 3 * GANGS, left

    play(server, scenario, act)


@pytest.mark.slow
def test_killed_at_random_while_jobs_are_suspended_and_resumed(server: Server) -> None:
    """Nodes are full of Jobs, gangs take their places for a second, and schedulers are killed meanwhile."""
    scenario = Scenario("killed at random", nodes(NODES, cpu=3), ())

    async def act(stage: Stage) -> None:
        chance = random.Random(SEED)
        await stage.play(CLASSES, *(Create(job.group or Group(job.name), job) for job in CREWS))
        async with running(server):
            await stage.play(*(Running(job) for job in CREWS))
        coming = stage.tasks.create_task(come(stage))
        for _ in range(KILLS):
            async with running(server):
                # Half of it to start and to read the cluster, the rest to be in the middle of something.
                await asyncio.sleep(chance.uniform(0.5, 1.5))
        async with running(server):
            await coming
            await stage.play(*(Finished(pods) for pods in GUESTS))
            await stage.play(*(NotSuspended(job) for job in CREWS), *(Running(job) for job in CREWS))

    play(server, scenario, act)


async def come(stage: Stage) -> None:
    for pods in GUESTS:
        await stage.play(Create(pods.group or Group(pods.name), pods))
        await asyncio.sleep(PAUSE_SECONDS)
