"""A booked start under pressure: a higher priority that comes later waits for it, and it is kept, also by the
next scheduler after one that was killed."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import CONFIG_MAPS
from maitred.model.timing import START_BY
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.preemption import HIGH, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Create, Exist, NotBound, PodsTold, Settle

BOOKINGS = "maitred-bookings"
EARLY = Job("early", 2, run_seconds=15, spec={"activeDeadlineSeconds": 60})
BIG = Job("big", 3, spec={"activeDeadlineSeconds": 600})
URGENT = Job("urgent", 1, spec=ranked(HIGH))


@dataclass(frozen=True)
class OneBooking:
    async def run(self, keeper: PolicyKeeper) -> None:
        policy = {"bookings": 1, "preemption": {"mode": "never"}}
        keeper.offer(json.dumps(policy).encode(), "the scenario")


async def remembered(home: Api) -> Json:
    found: list[Any] = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == BOOKINGS]
    said: Json = json.loads(found[0]["data"]["record"]) if found else {"bookings": [], "ended": []}
    return said


def test_a_booked_start_is_kept_against_a_higher_priority(server: Server) -> None:
    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)

        async def not_booked() -> str:
            return "" if (await remembered(home))["bookings"] else "nothing is booked"

        async def not_kept() -> str:
            return "" if (await remembered(home))["ended"] else "nothing is known to be kept"

        await home.delete(CONFIG_MAPS, BOOKINGS)
        stage.start(source=lambda _: OneBooking())
        await stage.play(Create(EARLY), Whole(EARLY))
        by = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        await create_marked(stage, BIG, {START_BY: by})
        await stage.play(Exist(BIG))
        await eventually(not_booked)
        [promised] = (await remembered(home))["bookings"]
        assert promised["group"] == f"{stage.api.namespace}/{BIG.name}"
        assert promised["at"] <= by
        await stage.stop()
        stage.start(source=lambda _: OneBooking())
        await stage.play(
            Create(HIGH, URGENT),
            Exist(URGENT),
            PodsTold(URGENT, "Waiting: Priority"),
            Settle(),
            NotBound(URGENT),
            Whole(BIG),
            NotBound(URGENT),
        )
        await eventually(not_kept)
        [over] = (await remembered(home))["ended"]
        assert (over["kept"], over["at"]) == (True, promised["at"])
        await home.delete(CONFIG_MAPS, BOOKINGS)

    play(server, Scenario("a booked start", nodes(3, cpu=1), (), settings=ONE_BY_ONE), act)
