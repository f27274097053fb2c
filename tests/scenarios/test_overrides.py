"""A group is lifted past the cap of its queue for those who have the right, until that is over."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.service import Service
from maitred.controllers.policy import PolicyKeeper
from maitred.controllers.scheduling.term import Witnesses
from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.ordering import CrashAtRecord, answering, crash_at_record, order
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Delete, Exist, Gone, PodsTold, Settle

OVERRIDES = "maitred-overrides"
FIRST, DEMO, LATE = Job("first", 2), Job("demo", 1), Job("late", 1)
QUEUE = {"maitred.dev/queue": "mine"}
FULL = "Waiting: Quota: it would fit, but queue mine may have 2 cpu and has"


@dataclass(frozen=True)
class Capped:
    """A policy in which a queue has two cores at most."""

    async def run(self, keeper: PolicyKeeper) -> None:
        queues = [{"name": "mine", "limits": [{"resource": "cpu", "cap": 2}]}]
        keeper.offer(json.dumps({"queues": queues}).encode(), "the scenario")


def test_a_group_is_lifted_past_its_queue_until_that_is_over(server: Server) -> None:
    async def act(stage: Stage) -> None:
        home, backlog = Api(stage.api.client, SYSTEM_NAMESPACE), Backlog()
        actor = stage.start(source=lambda _: Capped(), witnesses=Witnesses(backlog=backlog))
        await create_marked(stage, FIRST, QUEUE)
        await stage.play(Whole(FIRST))
        await create_marked(stage, DEMO, QUEUE)
        await stage.play(Exist(DEMO), PodsTold(DEMO, FULL, "Quota"))
        async with answering(actor.line, backlog) as service:
            with pytest.raises(RefusedError, match="control characters"):
                await lift(stage, service, reason="two\nlines")
            assert await overrides(home) == []
            await lift(stage, service)
            await stage.play(Whole(DEMO))
            [known] = await overrides(home)
            assert known["reason"] == "the board sees it today"
            await create_marked(stage, LATE, QUEUE)
            await stage.play(Exist(LATE), PodsTold(LATE, FULL, "Quota"), Settle())
            assert waits(stage, LATE)
            await lift(stage, service, DEMO, end=True)
            assert await overrides(home) == []
            await stage.play(Whole(DEMO), Delete(DEMO), Gone(DEMO))
            await lift(stage, service, LATE, seconds=2)
            await stage.play(Whole(LATE))
            await eventually(lambda: left(home))
            await stage.play(Delete(LATE), Gone(LATE))
        await create_marked(stage, LATE, QUEUE)
        await stage.play(Exist(LATE), PodsTold(LATE, FULL, "Quota"), Settle())
        assert waits(stage, LATE)
        await home.delete(CONFIG_MAPS, OVERRIDES)

    play(server, Scenario("override and expiry", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


def test_killed_at_the_write_it_counts_if_it_was_written_and_else_not(server: Server) -> None:
    """And to ask again is safe."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        stage.start(source=lambda _: Capped())
        await create_marked(stage, FIRST, QUEUE)
        await stage.play(Whole(FIRST))
        await create_marked(stage, DEMO, QUEUE)
        await stage.play(Exist(DEMO), PodsTold(DEMO, FULL, "Quota"), Settle())
        await stage.stop()
        for executed in (False, True):
            trouble = CrashAtRecord(OVERRIDES, executed)
            ask = partial(lift, stage)
            await crash_at_record(stage, trouble, ask, source=lambda _: Capped())
            assert len(await overrides(home)) == executed
            stage.start(source=lambda _: Capped())
            if executed:
                await stage.play(Whole(DEMO))
            else:
                await stage.play(Settle(), PodsTold(DEMO, FULL, "Quota"))
                assert waits(stage, DEMO)
            await stage.stop()
        await home.delete(CONFIG_MAPS, OVERRIDES)

    play(server, Scenario("killed at the write", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


async def lift(
    stage: Stage,
    service: Service,
    who: Job = DEMO,
    *,
    reason: str = "the board sees it today",
    seconds: float = 3600,
    end: bool = False,
) -> None:
    """By one who may do everything."""
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    body = {} if end else {"reason": reason, "until": until.isoformat()}
    values = {"namespace": stage.api.namespace, "name": who.name, "kind": "job"}
    await order(stage, service, "overrides/{namespace}/{name}" + ("/end" if end else ""), values, body)


def waits(stage: Stage, who: Job) -> bool:
    pods = stage.observer.of_job(who.name)
    return bool(pods) and not any(pod.spec.node_name for pod in pods)


async def overrides(home: Api) -> Sequence[Any]:
    found = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == OVERRIDES]
    said: Json = json.loads(found[0]["data"]["record"]) if found else {"overrides": []}
    return list(said["overrides"])


async def left(home: Api) -> str:
    return "".join(one["group"] for one in await overrides(home))
