"""Runs of `decide` against the schedules of the textbooks: the same starts, job by job.

The cluster has no topology: one node for all processors, or one node for each. A job is a gang with a member
for each processor that it takes.
"""

from collections.abc import Sequence

import pytest

from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeSpec, NodeStatus
from maitred.model.policy import Holds, Policy
from maitred.simulate.clock import SECOND
from maitred.simulate.jobs import SimulatedJob
from tests.oracle.backfill import Conservative, Job, Scheduler, easy, first_fit, schedule
from tests.oracle.lublin import lublin_jobs
from tests.simulate.runs import crew, play

PROCESSORS = 16


def nodes(apart: bool) -> list[Node]:
    """`apart`: each processor is a node of its own."""
    sizes = [1] * PROCESSORS if apart else [PROCESSORS]
    return [
        Node(ObjectMeta(name=f"n{number:02}"), NodeSpec(), NodeStatus({"cpu": size, "memory": "1Ti"}))
        for number, size in enumerate(sizes)
    ]


def simulated(job: Job) -> SimulatedJob:
    return SimulatedJob(
        name=job.name,
        arrival=job.arrival * SECOND,
        crews=(crew(job.size, gpus=0),),
        quorum=job.size,
        run_time=job.run_time * SECOND,
        limit=job.limit * SECOND,
    )


def starts(jobs: Sequence[Job], policy: Policy, apart: bool) -> dict[str, int]:
    loop = play(nodes(apart), map(simulated, jobs), policy)
    return {group.name: (group.first_seated or 0) // SECOND for group in loop.groups}


def assert_same(jobs: Sequence[Job], policy: Policy, apart: bool, scheduler: Scheduler) -> None:
    found, expected = starts(jobs, policy, apart), schedule(jobs, PROCESSORS, scheduler)
    wrong = [name for name in expected if found[name] != expected[name]]
    first = min(wrong, key=lambda name: min(found[name], expected[name]), default="")
    assert not wrong, f"{len(wrong)} differ, {first} first: {found[first]}, not {expected[first]}"


@pytest.mark.parametrize("apart", [False, True], ids=["one node", "a node for each"])
def test_without_holds_whoever_finds_room_starts(apart: bool) -> None:
    jobs = lublin_jobs(1, 80, PROCESSORS, rush=2)
    assert_same(jobs, Policy(), apart, first_fit)


@pytest.mark.parametrize("apart", [False, True], ids=["one node", "a node for each"])
@pytest.mark.parametrize("slack", [None, 10], ids=["exact limits", "long limits"])
def test_with_one_hold_it_is_easy_backfill(slack: float | None, apart: bool) -> None:
    jobs = lublin_jobs(1, 80, PROCESSORS, rush=2, slack=slack)
    assert_same(jobs, Policy(holds=Holds(depth=1)), apart, easy)


@pytest.mark.parametrize("apart", [False, True], ids=["one node", "a node for each"])
@pytest.mark.parametrize("slack", [None, 10], ids=["exact limits", "long limits"])
def test_with_holds_for_all_it_is_conservative_backfill(slack: float | None, apart: bool) -> None:
    jobs = lublin_jobs(1, 80, PROCESSORS, rush=2, slack=slack)
    assert_same(jobs, Policy(holds=Holds(depth=500)), apart, Conservative())
