"""Holds on a server: a large gang starts behind a stream of small ones, the policy changes meanwhile, and a
scheduler that is killed between two writes breaks no promise."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.objects import Group, Pods, members, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, Finished, Gone, NotBound, PodsTold, Settle

HOLDS = "maitred-holds"
HELD_UP = "Waiting: Priority: there is room now, but it is held for"
WRITES = 3
"""By which a group hears that it waits, and its hold is written down."""


def ending(seconds: int) -> dict[str, Any]:
    """They are ended so long after their start; the tests delete them sooner."""
    return {"spec": {"activeDeadlineSeconds": seconds}}


GANG = Group("large", 2)
LARGE = members(GANG, 2, **ending(600))
FIRST, OTHER = Pods("first", **ending(300)), Pods("other", **ending(300))
LONG, LATER, SHORT = Pods("long", **ending(900)), Pods("later"), Pods("short", run_seconds=1, **ending(30))


@dataclass(frozen=True)
class Changing:
    """One group has a hold, until that is said to be over."""

    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, keeper: PolicyKeeper) -> None:
        keeper.offer(json.dumps({"holds": {"depth": 1}}).encode(), "the scenario")
        await self.over.wait()
        keeper.offer(b"{}", "the scenario, later")


async def held(stage: Stage) -> dict[str, Json]:
    """As it is written down, by group."""
    home = Api(stage.api.client, SYSTEM_NAMESPACE)
    found = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == HOLDS]
    record: Json = json.loads(found[0]["data"]["record"]) if found else {"holds": []}
    return {one["group"].partition("/")[2]: one for one in record["holds"]}


async def written(stage: Stage, *groups: str) -> None:
    async def missing() -> str:
        found = sorted(await held(stage))
        return "" if found == sorted(groups) else f"holds are written down of {found}"

    await eventually(missing)


def test_a_large_gang_starts_behind_a_stream_of_small_ones(server: Server) -> None:
    """One node is free for minutes. Who would stay for longer does not get it; who is gone by then does."""

    async def act(stage: Stage) -> None:
        stage.start(source=lambda _: Changing())
        await stage.play(Create(FIRST, OTHER), Bound(FIRST), Bound(OTHER))
        await stage.play(Create(GANG, LARGE), Exist(LARGE), PodsTold(LARGE, "Waiting: Capacity"))
        await written(stage, GANG.name)
        await stage.play(
            Create(LONG, LATER),
            Delete(FIRST),
            Gone(FIRST),
            PodsTold(LONG, HELD_UP),
            PodsTold(LATER, HELD_UP),
            Create(SHORT),
            Exist(SHORT),
            Finished(SHORT),
            NotBound(LONG),
            NotBound(LATER),
            Delete(OTHER),
            Bound(LARGE),
            Settle(),
            NotBound(LONG),
            Delete(LARGE),
            Bound(LONG),
            Bound(LATER),
        )
        await written(stage)

    play(server, Scenario("behind a stream", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)


def test_without_holds_in_the_policy_what_was_held_is_for_others(server: Server) -> None:
    async def act(stage: Stage) -> None:
        policy = Changing()
        stage.start(source=lambda _: policy)
        await stage.play(Create(FIRST, OTHER), Bound(FIRST), Bound(OTHER))
        await stage.play(Create(GANG, LARGE), Exist(LARGE))
        await written(stage, GANG.name)
        await stage.play(Create(LONG), Delete(FIRST), Gone(FIRST), PodsTold(LONG, HELD_UP))
        policy.over.set()
        await stage.play(Bound(LONG), NotBound(LARGE))
        await written(stage)

    play(server, Scenario("no holds any more", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)


@pytest.mark.parametrize("executed", [False, True], ids=["before", "after"])
def test_killed_between_writes_no_promise_is_lost(executed: bool, server: Server) -> None:
    """Whatever was written when it died, what it has promised by then is kept by the next."""

    async def act(stage: Stage) -> None:
        stage.start(source=lambda _: Changing())
        await stage.play(Create(FIRST, OTHER), Bound(FIRST), Bound(OTHER))
        await stage.stop()
        for write in range(1, WRITES + 1):
            await stage.play(Create(GANG, LARGE), Exist(LARGE))
            await crash(stage, write, executed)
            promised = {key: one["promised"] for key, one in (await held(stage)).items()}
            stage.start(source=lambda _: Changing())
            await written(stage, GANG.name)
            kept = {key: one["promised"] for key, one in (await held(stage)).items()}
            assert kept == {**kept, **promised}
            if write == WRITES:
                break
            await stage.play(Delete(LARGE), Gone(LARGE))
            await written(stage)
            await stage.stop()
            if stage.served.groups is not None:
                await stage.play(Delete(GANG))
        await stage.play(Create(LONG), Delete(FIRST), Gone(FIRST), PodsTold(LONG, HELD_UP))
        await stage.play(Delete(OTHER), Bound(LARGE), NotBound(LONG))

    play(server, Scenario("killed under holds", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)


async def crash(stage: Stage, write: int, executed: bool) -> None:
    """A scheduler that dies at this write: before that has happened, or after."""
    trouble = CrashAt(write, executed=executed)
    actor = stage.start("mortal", trouble=trouble, source=lambda _: Changing())
    await eventually(lambda: "" if trouble.reached.is_set() else "it does not write so often")
    await actor.crash()
    del stage.actors["mortal"]
