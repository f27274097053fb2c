"""A queue ends groups at their run-time limit, and does not count the time that they waited."""

import json
from dataclasses import dataclass

from maitred.controllers.policy import PolicyKeeper
from maitred.model.runtime import SET_DEADLINE
from tests.scenarios.api import eventually
from tests.scenarios.dialect import JOBS
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create, Exist, Gone

LIMIT = 10
FIRST, SECOND = Job("first", 2), Job("second", 2)


@dataclass(frozen=True)
class Enforced:
    async def run(self, keeper: PolicyKeeper) -> None:
        queue = {"name": "default", "runtime": {"default": f"{LIMIT}s", "enforce": True}}
        keeper.offer(json.dumps({"queues": [queue]}).encode(), "the scenario")


async def deadline_of(stage: Stage, job: Job) -> int | None:
    """That has the note that it is ours."""
    found = await stage.api.get(JOBS, job.name)
    seconds: int | None = found["spec"].get("activeDeadlineSeconds")
    note = found["metadata"].get("annotations", {}).get(SET_DEADLINE)
    assert note == (None if seconds is None else str(seconds))
    return seconds


async def failure_of(stage: Stage, job: Job) -> str:
    found = await stage.api.get(JOBS, job.name)
    conditions = found.get("status", {}).get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "Failed"), "")


def test_a_group_ends_with_its_limit_and_the_next_one_has_its_full_time(server: Server) -> None:
    async def act(stage: Stage) -> None:
        async def no_deadline(job: Job) -> str:
            return "" if await deadline_of(stage, job) else f"Job {job.name} has no deadline"

        async def no_failure() -> str:
            found = await failure_of(stage, FIRST)
            return "" if found == "DeadlineExceeded" else f"Job first has not reached its deadline: {found}"

        stage.start(source=lambda _: Enforced())
        await stage.play(Create(FIRST), Whole(FIRST), Create(SECOND), Exist(SECOND))
        await eventually(lambda: no_deadline(FIRST))
        assert await deadline_of(stage, SECOND) is None
        await eventually(no_failure)
        await stage.play(Gone(FIRST), Whole(SECOND))
        await eventually(lambda: no_deadline(SECOND))
        own, other = await deadline_of(stage, FIRST), await deadline_of(stage, SECOND)
        assert own is not None
        assert other is not None
        assert LIMIT <= own < other
        assert await failure_of(stage, SECOND) == ""

    play(server, Scenario("limits", nodes(2, cpu=1), (), settings=ONE_BY_ONE), act)
