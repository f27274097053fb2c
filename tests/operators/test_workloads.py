"""Workloads as people write them, with the operators that make their pods. Nothing in them names maitred:
the label of their namespace makes them ours."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from maitred.sandbox.kubelets.bodies import Machine
from tests.operators.run import Operators
from tests.operators.story import Story, tell, with_disk
from tests.scenarios.api import Json, eventually
from tests.scenarios.objects import Pods, node, nodes, rack
from tests.scenarios.steps import AddNode, Bound, Create, Delete, Settle

CRITICAL = Pods("critical", cpu=4, spec={"priorityClassName": "system-cluster-critical"})
*TOO_FEW, ONE_MORE = map(with_disk, nodes(3))
"""No workload here fits on two nodes, and each on three."""
RACKS, LAST_OF_RACK = (*rack("r1", 2, cpu=4), *rack("r2", 1, cpu=4)), node("r2-1", rack="r2")

SUSPEND, SUSPEND_RUN = ("spec", "suspend"), ("spec", "runPolicy", "suspend")


@dataclass(frozen=True)
class Workload:
    manifest: str
    pods: int
    """That are created at first."""
    later: int = 0
    """That are created when those run."""
    suspend: tuple[str, ...] = SUSPEND
    """The field of it that keeps it away."""
    ends: str = ""
    """The condition that says that all its work is done. Empty for what serves until it is deleted."""

    def __str__(self) -> str:
        return self.manifest


WHOLE = (
    Workload("jobset", 5, ends="Completed"),
    Workload("trainjob", 5, ends="Complete"),
    Workload("raycluster", 5),
    Workload("rayjob", 5, later=1),
    Workload("pytorchjob", 5, suspend=SUSPEND_RUN, ends="Succeeded"),
    Workload("mpijob", 5, suspend=SUSPEND_RUN, ends="Succeeded"),
)


@pytest.mark.parametrize("work", WHOLE, ids=str)
def test_it_is_seated_whole_or_not_at_all_and_comes_back_when_it_had_to_leave(
    operators: Operators, work: Workload
) -> None:
    async def act(story: Story) -> None:
        await story.waits_whole(work.pods)
        await story.stage.play(AddNode(ONE_MORE))
        await story.runs_whole(work.pods + work.later)
        await makes_room_and_comes_back(story, work)
        if work.ends:
            await story.succeed()
            await eventually(lambda: not_yet(story, work.ends))

    tell(operators, work.manifest, TOO_FEW, act)


async def makes_room_and_comes_back(story: Story, work: Workload) -> None:
    """Kept away by its own field, and by nothing below it."""
    await story.stage.play(Create(CRITICAL), Bound(CRITICAL))
    await story.is_away()
    assert field_of(await story.top(), work.suspend) is True
    await story.stage.play(Delete(CRITICAL))
    await story.runs_whole(work.pods + work.later)
    assert not field_of(await story.top(), work.suspend)


async def not_yet(story: Story, condition: str) -> str:
    found = (await story.top()).get("status", {})
    holds = any(one["type"] == condition and one["status"] == "True" for one in found.get("conditions", ()))
    return "" if holds else str(found)


def field_of(found: Json, path: Sequence[str]) -> object:
    value: object = found
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


STAGED = (
    (Workload("jobset-in-order", 1, later=2), TOO_FEW, ONE_MORE),
    (Workload("jobset-exclusive", 2, later=2), RACKS, LAST_OF_RACK),
    (Workload("lws-leader-ready", 1, later=2), TOO_FEW, ONE_MORE),
)


@pytest.mark.parametrize(("work", "too_few", "missing"), STAGED, ids=["in-order", "racks", "ready"])
def test_the_first_pods_wait_until_there_is_room_for_those_that_come_later(
    operators: Operators, work: Workload, too_few: Sequence[Machine], missing: Machine
) -> None:
    async def act(story: Story) -> None:
        await story.waits_whole(work.pods)
        await story.stage.play(AddNode(missing))
        await story.runs_whole(work.pods + work.later)

    tell(operators, work.manifest, too_few, act)


def test_a_leader_waits_until_its_own_domain_has_room_for_its_workers(operators: Operators) -> None:
    async def act(story: Story) -> None:
        await story.runs_whole(2)
        await story.stage.play(Settle())
        assert len(story.groups()) == 1, story.stage.picture()
        await story.stage.play(AddNode(LAST_OF_RACK))
        await story.runs_whole(4)

    tell(operators, "lws-exclusive", RACKS, act)


def test_what_must_be_complete_first_needs_no_room_for_what_comes_after(operators: Operators) -> None:
    async def act(story: Story) -> None:
        await eventually(lambda: "" if story.in_phase("Succeeded") else "nothing has succeeded")
        await story.stage.play(AddNode(ONE_MORE))
        await story.runs_whole(3)

    tell(operators, "jobset-depends-on", TOO_FEW, act)


def test_each_group_of_a_leader_worker_set_is_seated_and_leaves_by_itself(operators: Operators) -> None:
    async def act(story: Story) -> None:
        await eventually(lambda: "" if len(story.pods()) == 6 else "not all pods are there")
        await story.runs_whole(3)
        await story.stage.play(Settle())
        assert len(story.groups()) == 1, story.stage.picture()
        await story.stage.play(AddNode(ONE_MORE))
        await story.runs_whole(6)
        await story.stage.play(Create(CRITICAL), Bound(CRITICAL), Settle())
        await story.runs_whole(3)
        assert len(story.groups()) == 1, story.stage.picture()
        await story.stage.play(Delete(CRITICAL))
        await story.runs_whole(6)

    tell(operators, "lws", TOO_FEW, act)
