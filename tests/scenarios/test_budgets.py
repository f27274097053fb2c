"""Budgets: what is spent in mid-day, and law 10: killed at every write, nothing is spent twice."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import IsSuspended, Untouched, Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Delete, Exist, Gone, PodsTold, Settle

BUDGETS = "maitred-budgets"
MINE = {"maitred.dev/queue": "mine"}
FIRST, SECOND, OTHER = Job("first", 2), Job("second", 2), Job("other", 2)


@dataclass(frozen=True)
class Spending:
    """A policy in which cores are devices, and a queue may spend so many hours of them in a month. For each
    group an hour is committed."""

    hours: float
    on_spent: str = "wait"

    async def run(self, keeper: PolicyKeeper) -> None:
        budget = {"deviceHours": self.hours, "period": "month", "onSpent": self.on_spent}
        queues = [{"name": "mine", "budget": budget, "runtime": {"default": "1h"}}]
        policy = {"queues": queues, "devices": {"resources": ["cpu"]}}
        keeper.offer(json.dumps(policy).encode(), "the scenario")


def test_a_budget_is_spent_in_mid_day(server: Server) -> None:
    """The second group waits until the first has ended, and one of another queue does not."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        stage.start(source=lambda _: Spending(3))
        await create_marked(stage, FIRST, MINE)
        await stage.play(Whole(FIRST))
        await create_marked(stage, SECOND, MINE)
        words = "Waiting: Budget: it would fit, but queue mine may spend 3 device-hours a month"
        await stage.play(Exist(SECOND), PodsTold(SECOND, words, "Budget"))
        await create_marked(stage, OTHER, {})
        await stage.play(Whole(OTHER), Settle(), Whole(FIRST))
        await stage.check_laws()
        await stage.play(Delete(FIRST), Gone(FIRST), Whole(SECOND))
        await eventually(lambda: spent_more_than_nothing(home))

    play(server, Scenario("a budget that is spent", nodes(6, cpu=1), (), settings=ONE_BY_ONE), act)


def test_once_a_budget_is_spent_groups_run_until_somebody_pays(server: Server) -> None:
    """The second group runs for nothing beside the first, which pays. When one of another queue wants its
    places, it leaves for that, and comes back once there is room again."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        stage.start(source=lambda _: Spending(3, "scavenge"))
        await create_marked(stage, FIRST, MINE)
        await stage.play(Whole(FIRST))
        await create_marked(stage, SECOND, MINE)
        await stage.play(Whole(SECOND))
        await eventually(lambda: unpaid(home, 2))
        await create_marked(stage, OTHER, {})
        await stage.play(Untouched(FIRST, (IsSuspended(SECOND), Whole(OTHER), Settle())))
        await stage.check_laws()
        await eventually(lambda: unpaid(home, 0))
        await stage.play(Delete(OTHER), Gone(OTHER), Whole(SECOND))
        await eventually(lambda: unpaid(home, 2))
        await home.delete(CONFIG_MAPS, BUDGETS)

    play(server, Scenario("a budget that lets others run", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


def test_killed_at_every_write_nothing_is_spent_twice(server: Server) -> None:
    """A thousand hours were spent before, and who has ended since then had nothing committed."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        stage.start(source=lambda _: Spending(10_000))
        await create_marked(stage, FIRST, MINE)
        await stage.play(Whole(FIRST))
        await stage.stop()
        for executed in (False, True):
            await remember(home)
            await crash(stage, executed)
            stage.start(source=lambda _: Spending(10_000))
            await eventually(lambda: missing(home))
            [mine] = (await written(home))["queues"]
            assert mine["spent"] == pytest.approx(1000, abs=1)
            assert mine["rate"] == 2
            await stage.stop()
        await stage.play(Delete(FIRST), Gone(FIRST))
        await home.delete(CONFIG_MAPS, BUDGETS)

    play(server, Scenario("killed at every write of budgets", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)


async def remember(home: Api) -> None:
    await home.delete(CONFIG_MAPS, BUDGETS)
    now = datetime.now(UTC)
    begun = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0).isoformat()
    row = {"queue": "mine", "unit": "device-hours", "begun": begun, "spent": 1000, "rate": 9}
    record = json.dumps({"at": now.isoformat(), "queues": [row]})
    meta = {"name": BUDGETS, "labels": {"maitred.dev/record": "budgets"}}
    await home.create(CONFIG_MAPS, {"metadata": meta, "data": {"record": record}})


async def crash(stage: Stage, executed: bool) -> None:
    """A scheduler that dies when it writes: before that has happened, or after."""
    trouble = CrashAt(1, executed=executed)
    actor = stage.start("mortal", trouble=trouble, source=lambda _: Spending(10_000))
    await eventually(lambda: "" if trouble.reached.is_set() else "nothing is written")
    await actor.crash()
    del stage.actors["mortal"]


async def written(home: Api) -> Json:
    found = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == BUDGETS]
    said: Json = json.loads(found[0]["data"]["record"]) if found else {"queues": []}
    return said


async def missing(home: Api) -> str:
    """The record of those who run now."""
    rates = [one["rate"] for one in (await written(home))["queues"]]
    return "" if rates == [2] else f"rates are {rates}"


async def unpaid(home: Api, count: int) -> str:
    """So many pods run without paying, as it is written down."""
    found = [pod for one in (await written(home)).get("scavengers", ()) for pod in one["pods"]]
    return "" if len(found) == count else f"{found} run without paying"


async def spent_more_than_nothing(home: Api) -> str:
    spent = [one["spent"] for one in (await written(home))["queues"]]
    return "" if spent and spent[0] > 0 else f"{spent} was spent"
