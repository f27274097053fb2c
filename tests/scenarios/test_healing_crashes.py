"""Law 10 where hardware fails: killed between any two writes of healing, it converges with the next."""

import asyncio

import pytest

from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import DEADLINE_SECONDS, Api, eventually
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import MEMORY, Given, Incidents, Whole, create_marked, incidents, node_of
from tests.scenarios.line import Trouble
from tests.scenarios.objects import Group, Job, Pods, nodes
from tests.scenarios.preempting import NoRecords
from tests.scenarios.server import RealServer, Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Actor, Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, FailNode, Gone, HealNode, NotBound

SIZE = 2
GANG = Group("train", quorum=SIZE)
JOB = Job("train", SIZE, GANG)
NEWCOMER = Pods("newcomer")
MOST_WRITES = 18
"""Memory, condition, deletion, Event, two binds, condition, Event, memory, Event; with a restart a
record and the owner twice more. Whether one comes before the other depends on the pace."""


@pytest.mark.parametrize("rule", ["replace", "restart"])
def test_killed_at_every_write_of_healing(rule: str, server: Server) -> None:
    """On a real server at every third write: there the Job controller waits for ten seconds each time."""
    scenario = Scenario("killed at every write", nodes(SIZE + 1, cpu=1), (), settings=ONE_BY_ONE)
    every = 3 if isinstance(server, RealServer) else 1

    async def act(stage: Stage) -> None:
        for write in range(1, MOST_WRITES + 1, every):
            guest = await begin(stage, rule)
            lost = node_of(stage, JOB)
            died = await crash(stage, write, lost, guest)
            healthy(stage)
            await stage.play(Whole(JOB, (lost,)), Incidents(1, over=1), NotBound(NEWCOMER), NoRecords())
            [one] = await incidents(stage)
            assert one["rule"] == rule
            await end(stage, lost)
            if not died:
                return
        raise AssertionError(f"more than {MOST_WRITES} writes")

    play(server, scenario, act)


def healthy(stage: Stage) -> Actor:
    return stage.start(source=lambda _: Given())


async def begin(stage: Stage, rule: str) -> Pods:
    """The gang runs, somebody else has the node that is left, an equal waits, and no scheduler runs."""
    healthy(stage)
    await stage.play(Create(GANG))
    await create_marked(stage, JOB, {"maitred.dev/on-failure": rule})
    await stage.play(Whole(JOB))
    busy = {pod.spec.node_name for pod in stage.observer.of_job(JOB.name)}
    [free] = set(stage.machines) - busy
    guest = Pods("guest", scheduler="nobody", node=free)
    await stage.play(Create(guest), Bound(guest))
    await stage.stop()
    return guest


async def crash(stage: Stage, write: int, lost: str, guest: Pods) -> bool:
    """A scheduler that dies at this write of what the failure makes it do. Whether it came to that."""
    trouble = CrashAt(write, executed=True)
    actor = await started(stage, trouble)
    await stage.play(FailNode(lost))
    await first_write_or(trouble, stage)
    await stage.play(Create(NEWCOMER), Exist(NEWCOMER), Delete(guest), Gone(guest))
    died = True
    if not trouble.reached.is_set():
        reached = asyncio.create_task(trouble.reached.wait())
        whole = asyncio.create_task(stage.play(Whole(JOB, (lost,)), Incidents(1, over=1)))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.wait([reached, whole], return_when=asyncio.FIRST_COMPLETED)
        if not reached.done():
            await asyncio.sleep(1)  # the last words
        died = trouble.reached.is_set()
        reached.cancel()
        whole.cancel()
    await actor.crash()
    del stage.actors["mortal"]
    return died


async def first_write_or(trouble: CrashAt, stage: Stage) -> None:
    """The failure is remembered, or the scheduler has died."""

    async def missing() -> str:
        done = trouble.reached.is_set() or await incidents(stage)
        return "" if done else "nothing is remembered"

    await eventually(missing)


async def started(stage: Stage, trouble: Trouble) -> Actor:
    actor = stage.start("mortal", trouble=trouble, source=lambda _: Given())
    await eventually(lambda: "" if actor.health.state == "leading" else actor.health.state)
    return actor


async def end(stage: Stage, lost: str) -> None:
    await stage.play(HealNode(lost), Bound(NEWCOMER))
    await stage.check_laws()
    await stage.stop()
    await stage.play(Delete(NEWCOMER), Gone(NEWCOMER), Delete(JOB), Gone(JOB))
    if stage.served.groups is not None:
        await stage.play(Delete(GANG))
    await Api(stage.api.client, SYSTEM_NAMESPACE).delete(CONFIG_MAPS, MEMORY)
