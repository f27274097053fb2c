"""Law 10 where use is remembered: killed at every write, no balance changes."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Delete, Gone

USAGE = "maitred-usage"
RUNNER = Job("runner", 2)


@dataclass(frozen=True)
class Decaying:
    """A policy in which use counts for half as much after a day."""

    async def run(self, keeper: PolicyKeeper) -> None:
        queues = [{"name": "mine", "limits": [{"resource": "cpu", "guarantee": 2}]}]
        keeper.offer(
            json.dumps({"queues": queues, "fairShare": {"halfLife": "24h"}}).encode(), "the scenario"
        )


def test_killed_at_every_write_no_balance_changes(server: Server) -> None:
    """With a record of yesterday, and with none."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        await begin(stage, home)
        for yesterday in (6.0, None):
            for executed in (False, True):
                await remember(home, yesterday)
                await crash(stage, executed)
                stage.start(source=lambda _: Decaying())
                await eventually(lambda: missing(home))
                [mine] = (await usage(home))["queues"]
                has_had = 2.0 if yesterday is None else (yesterday + 2.0) / 2
                assert mine["average"]["cpu"] == pytest.approx(has_had, rel=1e-3)
                assert mine["had"] == {"cpu": 2.0}
                await stage.stop()
        await stage.play(Delete(RUNNER), Gone(RUNNER))
        await home.delete(CONFIG_MAPS, USAGE)

    play(server, Scenario("killed at every write of use", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)


async def begin(stage: Stage, home: Api) -> None:
    """The group runs, its use has been written down, and no scheduler runs. What others have left is gone."""
    await home.delete(CONFIG_MAPS, USAGE)
    stage.start(source=lambda _: Decaying())
    await create_marked(stage, RUNNER, {"maitred.dev/queue": "mine"})
    await stage.play(Whole(RUNNER))
    await stage.stop()
    stage.start(source=lambda _: Decaying())
    await eventually(lambda: missing(home))
    await stage.stop()


async def remember(home: Api, average: float | None) -> None:
    """What was written down a day ago, if anything was."""
    await home.delete(CONFIG_MAPS, USAGE)
    if average is None:
        return
    at = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    queues = [{"queue": "mine", "had": {"cpu": 2}, "average": {"cpu": average}}]
    meta = {"name": USAGE, "labels": {"maitred.dev/record": "usage"}}
    await home.create(
        CONFIG_MAPS, {"metadata": meta, "data": {"record": json.dumps({"at": at, "queues": queues})}}
    )


async def crash(stage: Stage, executed: bool) -> None:
    """A scheduler that dies when it writes: before that has happened, or after."""
    trouble = CrashAt(1, executed=executed)
    actor = stage.start("mortal", trouble=trouble, source=lambda _: Decaying())
    await eventually(lambda: "" if trouble.reached.is_set() else "nothing is written")
    await actor.crash()
    del stage.actors["mortal"]


async def usage(home: Api) -> Json:
    found = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == USAGE]
    said: Json = json.loads(found[0]["data"]["record"]) if found else {"at": "2000-01-01T00:00:00Z"}
    return said


async def missing(home: Api) -> str:
    """A record of the last minutes."""
    at = datetime.fromisoformat((await usage(home))["at"])
    return "" if datetime.now(UTC) - at < timedelta(minutes=5) else f"last written {at}"
