"""A queue ends groups at their run-time limit, and does not count the time that they waited."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import yaml

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import PODS
from maitred.model.runtime import SET_DEADLINE
from tests.scenarios.api import Api, eventually
from tests.scenarios.conftest import KINDS, RBAC, apply
from tests.scenarios.dialect import JOBS
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole
from tests.scenarios.objects import Job, Pods, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create, Exist, Gone, Running

LIMIT = 10
FIRST, SECOND = Job("first", 2), Job("second", 2)
ALONE, NEXT = Pods("alone"), Pods("next")
OF_PODS = RBAC.parents[1] / "pods"


@dataclass(frozen=True)
class Enforced:
    pods: bool = False

    async def run(self, keeper: PolicyKeeper) -> None:
        runtime = {"default": f"{LIMIT}s", "enforce": True, "enforcePods": self.pods}
        queue = {"name": "default", "runtime": runtime}
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


@asynccontextmanager
async def may_end_pods(api: Api) -> AsyncIterator[None]:
    """With the right that `maitred manifest --pod-deadlines` prints."""
    bodies = list(yaml.safe_load_all((OF_PODS / "rbac.yaml").read_text()))
    for body in bodies:
        await apply(api, KINDS[body["kind"]], body)
    try:
        yield
    finally:
        for body in bodies:
            await api.delete(KINDS[body["kind"]], body["metadata"]["name"])


def test_a_pod_that_nobody_controls_ends_with_its_limit_too(server: Server) -> None:
    async def act(stage: Stage) -> None:
        async def at_its_end() -> str:
            found = (await stage.api.get(PODS, "alone-0")).get("status", {})
            return "" if found.get("reason") == "DeadlineExceeded" else f"it is {found.get('phase')}"

        async def deadline() -> str:
            seconds = (await stage.api.get(PODS, "next-0"))["spec"].get("activeDeadlineSeconds")
            return "" if seconds == LIMIT else f"it ends after {seconds} s"

        async with may_end_pods(stage.api):
            stage.start(source=lambda _: Enforced(pods=True))
            await stage.play(Create(ALONE), Running(ALONE), Create(NEXT), Exist(NEXT))
            await eventually(at_its_end)
            await stage.play(Running(NEXT))
            await eventually(deadline)

    play(server, Scenario("limits of pods", nodes(1, cpu=1), ()), act)
