"""Law 10 where others must leave: killed between any two writes, it converges once another is started."""

import asyncio

import pytest

from tests.scenarios.api import DEADLINE_SECONDS, eventually
from tests.scenarios.dialect import JOBS
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.line import Trouble
from tests.scenarios.objects import Group, Job, Pods, members, nodes
from tests.scenarios.preempting import ForgetRecords, NoRecords, NotSuspended, Suspended
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Actor, Scenario, Stage, Step, play
from tests.scenarios.steps import Bound, Create, Delete, Gone, Running, Told, size

SIZE = 2
GANG = Group("a", quorum=SIZE, rank="high")
PREEMPTOR = members(GANG, SIZE, spec=ranked(HIGH))
CREW = Group("low", quorum=SIZE, rank="low")
BARE = Pods("low", SIZE + 1, spec=ranked(LOW))
"""One more than must leave."""
JOB = Job("low", SIZE, CREW, spec=ranked(LOW))
RETURNED = (NotSuspended(JOB), Running(JOB), NoRecords())
BOTH = pytest.mark.parametrize("victims", [BARE, JOB], ids=["bare", "job"])


@BOTH
def test_killed_at_every_write_of_a_preemption(victims: Pods | Job, server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(CLASSES)
        for write in range(1, await writes_of_a_preemption(stage, victims) + 1):
            await fill(stage, victims)
            await crash(stage, write, Create(GANG, PREEMPTOR), Bound(PREEMPTOR))
            stage.start()
            await stage.play(Bound(PREEMPTOR))
            await stage.check_laws()
            assert len(left(stage)) == SIZE, left(stage)
            await empty(stage, victims)

    play(server, full_of(victims), act)


@BOTH
def test_killed_at_any_write_it_is_forgotten_for_whom(victims: Pods | Job, server: Server) -> None:
    """The preemptor is gone before another is started: nobody else has to leave, and no place is held."""

    async def act(stage: Stage) -> None:
        await stage.play(CLASSES)
        for write in range(1, await writes_of_a_preemption(stage, victims) + 1):
            await fill(stage, victims)
            await crash(stage, write, Create(GANG, PREEMPTOR), Bound(PREEMPTOR))
            await stage.play(Delete(PREEMPTOR), Gone(PREEMPTOR))
            before = await left_by_now(stage, victims)
            stage.start()
            await all_seated(stage, victims)
            assert left(stage) == before
            await stage.check_laws()
            await empty(stage, victims)

    play(server, full_of(victims), act)


def test_killed_at_every_write_of_a_return(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(CLASSES)
        for write in range(1, await writes_of_a_return(stage) + 1):
            await preempt(stage)
            await crash(stage, write, Delete(PREEMPTOR), *RETURNED)
            stage.start()
            await stage.play(*RETURNED)
            await stage.check_laws()
            await empty(stage, JOB)

    play(server, full_of(JOB), act)


# -- what it takes -------------------------------------------------------------------------------------------


def full_of(victims: Pods | Job) -> Scenario:
    return Scenario("killed at every write", nodes(size(victims), cpu=1), (), settings=ONE_BY_ONE)


async def fill(stage: Stage, victims: Pods | Job) -> None:
    """All places are taken, and no scheduler runs."""
    if isinstance(victims, Job):
        await stage.play(Create(CREW))
    stage.start()
    await stage.play(Create(victims), Running(victims))
    await stage.stop()


async def preempt(stage: Stage) -> None:
    """The Job is suspended, its places are taken by others, and no scheduler runs."""
    await fill(stage, JOB)
    stage.start()
    await stage.play(Create(GANG, PREEMPTOR), Running(PREEMPTOR), Suspended(JOB))
    await stage.stop()


async def crash(stage: Stage, write: int, step: Create | Delete, *done: Step) -> None:
    """Start a scheduler that dies at this write of what the step makes it do, when it is executed."""
    trouble = CrashAt(write, executed=True)
    actor = await started(stage, trouble)
    await stage.play(step)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await trouble.reached.wait()
    except TimeoutError:
        # How often people are told something depends on the pace. It took fewer writes: then all is done.
        await stage.play(*done)
    await actor.crash()
    del stage.actors["mortal"]


async def started(stage: Stage, trouble: Trouble) -> Actor:
    actor = stage.start("mortal", trouble=trouble)
    await eventually(lambda: "" if actor.health.state == "leading" else actor.health.state)
    return actor


async def writes_of_a_preemption(stage: Stage, victims: Pods | Job) -> int:
    """How many it takes when nothing goes wrong."""
    await fill(stage, victims)
    actor = await started(stage, Trouble())
    await stage.play(Create(GANG, PREEMPTOR), Told(PREEMPTOR, "Scheduled"))
    await stage.stop()
    await empty(stage, victims)
    return len(actor.line.journal.writes)


async def writes_of_a_return(stage: Stage) -> int:
    await preempt(stage)
    actor = await started(stage, Trouble())
    await stage.play(Delete(PREEMPTOR), Running(JOB))
    await stage.stop()
    await empty(stage, JOB)
    return len(actor.line.journal.writes)


def left(stage: Stage) -> set[str]:
    """UIDs of the pods that had to leave since the places were last filled."""
    return {
        uid for uid, life in stage.observer.lives.items() if life.told_to_leave and life.grace is not None
    }


async def left_by_now(stage: Stage, victims: Pods | Job) -> set[str]:
    """Once all who are leaving are gone, also those whose Job was suspended a moment ago."""
    if isinstance(victims, Job):
        await eventually(lambda: pods_of_suspended(stage, victims))
    await eventually(lambda: ", ".join(stage.observer.starting))
    return left(stage)


async def pods_of_suspended(stage: Stage, job: Job) -> str:
    found = await stage.api.get(JOBS, job.name)
    active = found["spec"].get("suspend") and found.get("status", {}).get("active", 0)
    return f"{active} pods of {job.name} have not left yet" if active else ""


async def all_seated(stage: Stage, victims: Pods | Job) -> None:
    """Whoever was there before has its place again, or somebody like it."""
    if isinstance(victims, Job):
        await stage.play(NotSuspended(victims), Running(victims), NoRecords())
        return
    there = {pod.metadata.name for pod in stage.observer.pods.values()}
    for number, name in enumerate(BARE.names):
        if name not in there:
            await stage.play(Create(Pods("low", 1, first=number, spec=BARE.spec)))
    await stage.play(Running(victims))


async def empty(stage: Stage, victims: Pods | Job) -> None:
    await stage.stop()
    await stage.play(Delete(PREEMPTOR), Delete(victims), Gone(PREEMPTOR), Gone(victims))
    await stage.play(ForgetRecords())
    stage.observer.lives.clear()
    if stage.served.groups is not None:
        await stage.play(Delete(GANG))
        if isinstance(victims, Job):
            await stage.play(Delete(CREW))
