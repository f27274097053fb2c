"""Nodes emptied by request: gangs leave whole, to places that are there, whenever the scheduler dies."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from maitred.kube.resources import CONFIG_MAPS, NODES
from tests.scenarios.api import Api, eventually
from tests.scenarios.draining import Drained, Forget, MakeRoom, Request, Settled
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.line import Trouble
from tests.scenarios.objects import Group, Job, members, node, nodes
from tests.scenarios.preempting import NotSuspended, lives
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Actor, Scenario, Stage, Step, play
from tests.scenarios.steps import AddNode, Bound, Create, Delete, Gone, NotBound, Running, bound_nodes

JOB = Job("train", 2)


@dataclass(frozen=True)
class MadeAnew(Step):
    """So often was every pod of the Job made again."""

    times: int

    async def play(self, stage: Stage) -> None:
        found = [life.name for life in lives(stage, JOB)]
        assert len(found) == JOB.size * (1 + self.times), found


@dataclass(frozen=True)
class NotOn(Step):
    job: Job
    node: str

    async def play(self, stage: Stage) -> None:
        assert self.node not in bound_nodes(stage, self.job)


ROOMY = nodes(2, cpu=2)
"""The Job fills one of them, and fits on the other."""


async def seated_on(stage: Stage) -> str:
    """The node of the whole Job."""
    found = set(bound_nodes(stage, JOB))
    assert len(found) == 1, found
    return found.pop()


async def moved(stage: Stage, node: str) -> None:
    """It runs elsewhere, nothing is left of its suspension, and the request is done."""
    await stage.play(Drained(node), NotSuspended(JOB), Running(JOB), NotOn(JOB, node))
    await eventually(lambda: records(stage))
    await stage.play(Forget())


async def records(stage: Stage) -> str:
    """Of suspended owners."""
    found = await Api(stage.api.client, SYSTEM_NAMESPACE).list(CONFIG_MAPS)
    left = [one["metadata"]["name"] for one in found if "suspension" in one["metadata"]["name"]]
    return f"records {left} are left" if left else ""


def test_a_gang_leaves_whole_and_runs_again_elsewhere(server: Server) -> None:
    async def act(stage: Stage) -> None:
        stage.start()
        await stage.play(Create(JOB), Running(JOB))
        node = await seated_on(stage)
        await stage.play(Request(node))
        await moved(stage, node)
        await stage.play(MadeAnew(1))

    play(server, Scenario("a gang leaves whole", ROOMY, ()), act)


def test_nobody_leaves_before_there_is_a_place(server: Server) -> None:
    steps = (
        Create(JOB),
        Running(JOB),
        Request("n0"),
        Settled(),
        MadeAnew(0),
        AddNode(node("n9", cpu=2)),
        Drained("n0"),
        NotSuspended(JOB),
        Running(JOB),
        NotOn(JOB, "n0"),
        MadeAnew(1),
        Forget(),
    )
    play(server, Scenario("nobody leaves in vain", nodes(1, cpu=2), steps))


def test_at_the_last_moment_it_leaves_all_the_same(server: Server) -> None:
    steps = (
        Create(JOB),
        Running(JOB),
        Request("n0", seconds=6),
        Drained("n0"),
        AddNode(node("n9", cpu=2)),
        NotSuspended(JOB),
        Running(JOB),
        Forget(),
    )
    play(server, Scenario("the last moment", nodes(1, cpu=2), steps))


def test_a_job_makes_room_for_a_gang_and_runs_elsewhere(server: Server) -> None:
    """Two whole nodes are needed; a Job has half of one, and would fit beside them."""
    job, group = Job("small", 1), Group("big", quorum=2)
    gang = members(group, 2, cpu=2)
    steps = (
        Create(job),
        Running(job),
        AddNode(node("n1", cpu=2)),
        AddNode(node("n2", cpu=1)),
        Create(group),
        Create(gang),
        NotBound(gang),
        MakeRoom("big"),
        Bound(gang),
        NotSuspended(job),
        Running(job),
        NotOn(job, "n0"),
        NotOn(job, "n1"),
        Forget(),
    )
    play(server, Scenario("a Job makes room", nodes(1, cpu=2), steps))


def test_killed_at_every_write_of_a_drain(server: Server) -> None:
    async def act(stage: Stage) -> None:
        for write in range(1, await writes_of_a_drain(stage) + 1):
            node = await fill(stage)
            trouble = CrashAt(write, executed=True)
            actor = await started(stage, trouble)
            await stage.play(Request(node))
            with suppress(TimeoutError):
                async with asyncio.timeout(20):
                    await trouble.reached.wait()
            await actor.crash()
            del stage.actors["mortal"]
            stage.start()
            await moved(stage, node)
            await stage.check_laws()
            await empty(stage, node)

    play(server, Scenario("killed while draining", ROOMY, (), settings=ONE_BY_ONE), act)


async def writes_of_a_drain(stage: Stage) -> int:
    node = await fill(stage)
    actor = await started(stage, Trouble())
    await stage.play(Request(node))
    await moved(stage, node)
    await stage.stop()
    await empty(stage, node)
    return len(actor.line.journal.writes)


async def fill(stage: Stage) -> str:
    """The Job runs, and no scheduler does."""
    stage.start()
    await stage.play(Create(JOB), Running(JOB))
    await stage.stop()
    return await seated_on(stage)


async def started(stage: Stage, trouble: Trouble) -> Actor:
    actor = stage.start("mortal", trouble=trouble)
    await eventually(lambda: "" if actor.health.state == "leading" else actor.health.state)
    return actor


async def empty(stage: Stage, node: str) -> None:
    await stage.stop()
    await stage.play(Delete(JOB), Gone(JOB))
    stage.observer.lives.clear()
    await Api(stage.api.client, "").patch(NODES, node, {"spec": {"unschedulable": None}})
