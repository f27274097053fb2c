"""Jobs that Kueue admits: it says what may run, and we say where. Its quota has room for one of the two."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maitred.kube.resources import JOBS
from tests.operators.run import Operators
from tests.operators.story import Story, tell
from tests.scenarios.api import eventually
from tests.scenarios.objects import Pods, nodes
from tests.scenarios.observer import JOB_NAME, SeenPod
from tests.scenarios.steps import Bound, Create, Settle

SIZE = 3
"""Pods of each Job."""


def test_a_gang_is_seated_when_it_is_admitted_and_quota_holds_also_when_it_makes_room(
    operators: Operators,
) -> None:
    async def act(story: Story) -> None:
        async with within_quota(story):
            await eventually(lambda: not_whole(story, "first"))
            await story.stage.play(Settle())
            assert not of(story, "second"), "it has no pods before it is admitted"
            critical = in_the_way(story)
            await story.stage.play(Create(critical), Bound(critical))
            # There is room for both, and quota for one. Which of the two, Kueue says.
            await eventually(lambda: not_whole(story, "first") and not_whole(story, "second"))
            await story.succeed()
            await eventually(lambda: not_complete(story, "first", "second"))

    tell(operators, "kueue", nodes(3), act)


def in_the_way(story: Story) -> Pods:
    """A pod of high priority that needs a node for itself, one where there are pods of the first Job."""
    where = {"kubernetes.io/hostname": of(story, "first")[0].spec.node_name}
    return Pods(
        "critical", cpu=4, spec={"priorityClassName": "system-cluster-critical", "nodeSelector": where}
    )


def of(story: Story, job: str) -> list[SeenPod]:
    return [pod for pod in story.pods() if pod.metadata.labels[JOB_NAME] == job and not pod.is_finished]


def not_whole(story: Story, job: str) -> str:
    bound = sum(bool(pod.spec.node_name) for pod in of(story, job))
    return "" if bound == SIZE else f"{job}: {bound} of {SIZE} are bound\n{story.stage.picture()}"


async def not_complete(story: Story, *jobs: str) -> str:
    await story.succeed()
    found = {job: (await story.stage.api.get(JOBS, job)).get("status", {}) for job in jobs}
    done = all(one.get("succeeded") == SIZE and not one.get("failed") for one in found.values())
    return "" if done else str(found)


@asynccontextmanager
async def within_quota(story: Story) -> AsyncIterator[None]:
    """At no time do more pods have a node than the quota allows, as far as a watch can tell."""
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            running = [p for p in story.pods() if p.spec.node_name and not p.is_finished]
            most = max(most, sum(pod.metadata.deletion_timestamp is None for pod in running))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
    assert most == SIZE, f"{most} pods had nodes at a time"
