"""Law 10: kill it between any two writes, start another, and everything ends up whole."""

import asyncio

import pytest

from tests.scenarios.api import DEADLINE_SECONDS
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.objects import RACK, Composite, Group, Job, Pods, members, nodes, rack, taken
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, Gone, Same, Told

SIZE = 4
GANG = Group("a", quorum=SIZE)
BARE = members(GANG, SIZE)
JOB = Job("a", SIZE, GANG)
IN_PART = 1
"""The Job controller waits longer with every failed pod before it makes another."""


async def crash(stage: Stage, write: int, *, executed: bool) -> None:
    """Start a scheduler that dies at this write."""
    trouble = CrashAt(write, executed=executed)
    actor = stage.start("mortal", trouble=trouble)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await trouble.reached.wait()
    await actor.crash()


@pytest.mark.parametrize("who", [BARE, JOB], ids=["bare", "job"])
def test_killed_at_every_write(who: Pods | Job, server: Server) -> None:
    scenario = Scenario("killed at every write", nodes(SIZE, cpu=1), (), settings=ONE_BY_ONE)

    async def act(stage: Stage) -> None:
        for write in range(1, await writes(stage, who) + 1):
            for executed in (False, True):
                await stage.play(Create(GANG, who), Exist(who))
                await crash(stage, write, executed=executed)
                stage.start()
                await stage.play(Bound(who))
                await stage.check_laws()
                await stage.play(*told(stage, who))
                await stage.stop()
                await remove(stage, who)

    play(server, scenario, act)


def test_a_tree_of_groups_killed_at_every_bind(server: Server) -> None:
    scenario = Scenario("a tree killed at every bind", nodes(SIZE, cpu=1), (), settings=ONE_BY_ONE)
    root, a, b = Composite("root", 2), *(Group(name, quorum=2, parent="root") for name in "ab")
    everyone = (members(a, 2), members(b, 2))

    async def act(stage: Stage) -> None:
        if stage.served.composites is None:
            pytest.skip("there are no composite groups")
        for write in range(1, SIZE + 1):
            await stage.play(Create(root, a, b, *everyone), *map(Exist, everyone))
            await crash(stage, write, executed=True)
            stage.start()
            await stage.play(*map(Bound, everyone))
            await stage.check_laws()
            await stage.stop()
            await stage.play(*map(Delete, everyone), *map(Gone, everyone), Delete(a), Delete(b))
            await stage.api.delete(stage.served.composites, root.name)

    play(server, scenario, act)


async def writes(stage: Stage, who: Pods | Job) -> int:
    """How many it takes when nothing goes wrong: every bind, the condition where there is one, the Event."""
    await stage.play(Create(GANG, who), Exist(who))
    actor = stage.start()
    await stage.play(Told(who, "Scheduled"))
    await stage.stop()
    await remove(stage, who)
    found = len(actor.line.journal.writes)
    assert found == SIZE + (1 if stage.served.groups is None else 2), actor.line.journal.writes
    return found


def told(stage: Stage, who: Pods | Job) -> list[Told]:
    """Without a group object nothing keeps what was not told, and a seat needs no words."""
    return [] if stage.served.groups is None else [Told(who, "Scheduled", event=False)]


async def remove(stage: Stage, who: Pods | Job) -> None:
    await stage.play(Delete(who), Gone(who))
    if stage.served.groups is not None:
        await stage.play(Delete(GANG))


def test_what_cannot_be_completed_is_taken_back_if_it_has_a_controller(server: Server) -> None:
    """Two gangs are cut short, and others take the room that they still need."""
    bare, job = Group("bare", SIZE), Group("job", SIZE)
    pods = members(bare, SIZE, spec=on_rack("r1"))
    owned = Job("job", SIZE, job, spec=on_rack("r2"))
    racks = (*rack("r1", 1, cpu=SIZE), *rack("r2", 1, cpu=SIZE))
    guests = [taken(f"{name}-0", SIZE - IN_PART, f"guest-{name}") for name in ("r1", "r2")]
    scenario = Scenario("cut short", racks, (), settings=ONE_BY_ONE)

    async def act(stage: Stage) -> None:
        for group, who, guest in ((bare, pods, guests[0]), (job, owned, guests[1])):
            await stage.play(Create(group, who), Exist(who))
            await crash(stage, IN_PART, executed=True)
            await stage.play(Bound(who, IN_PART), Create(guest))
        stage.start()
        seated = Pods("bare", IN_PART)
        await stage.play(Same(seated, (Bound(owned, 0), Bound(pods, IN_PART))))
        await stage.play(Delete(guests[1]), Bound(owned), Bound(pods, IN_PART))
        await stage.play(Delete(guests[0]), Same(seated, (Bound(pods),)))

    play(server, scenario, act)


def on_rack(name: str) -> dict[str, object]:
    return {"nodeSelector": {RACK: name}}
