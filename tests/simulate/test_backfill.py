"""Runs of `decide` against the schedules of the textbooks: the same starts, job by job.

The cluster has no topology: one node for all processors, or one node for each. A job is a gang with a member
for each processor that it takes.
"""

from collections.abc import Iterable, Sequence

import pytest

from maitred.model.manifest.errors import InputError
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeSpec, NodeStatus
from maitred.model.policy import Holds, Policy
from maitred.simulate.clock import SECOND
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.run import simulate
from maitred.simulate.setup import Setup
from tests.oracle.backfill import Conservative, Job, Scheduler, easy, first_fit, schedule
from tests.oracle.lublin import lublin_jobs
from tests.simulate.runs import crew, play

PROCESSORS = 16
EASY, CONSERVATIVE = Policy(holds=Holds(depth=1)), Policy(holds=Holds(depth=500))


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


SOME = [(1, False), (1, True), (2, False), (3, True)]
"""Seeds, and whether each processor is a node of its own."""
EXACT_AND_LONG = pytest.mark.parametrize("slack", [None, 10], ids=["exact limits", "long limits"])
SOME_SEEDS = pytest.mark.parametrize(("seed", "apart"), SOME)
ONE_NODE_AND_MANY = pytest.mark.parametrize("apart", [False, True], ids=["one node", "a node for each"])


@SOME_SEEDS
def test_without_holds_whoever_finds_room_starts(seed: int, apart: bool) -> None:
    assert_same(lublin_jobs(seed, 80, PROCESSORS, rush=2), Policy(), apart, first_fit)


@EXACT_AND_LONG
@SOME_SEEDS
def test_with_one_hold_it_is_easy_backfill(seed: int, apart: bool, slack: float | None) -> None:
    assert_same(lublin_jobs(seed, 80, PROCESSORS, rush=2, slack=slack), EASY, apart, easy)


def assert_conservative(seeds: Iterable[int], apart: bool) -> None:
    """Workloads of a few jobs that come at nearly the same time, so that most of them wait."""
    for seed in seeds:
        slack = (None, 3, 10)[seed % 3]
        jobs = lublin_jobs(seed, 14, PROCESSORS, rush=1000, slack=slack)
        assert_same(jobs, CONSERVATIVE, apart, Conservative())


@ONE_NODE_AND_MANY
def test_with_holds_for_all_it_is_conservative_backfill(apart: bool) -> None:
    assert_conservative(range(12), apart)


def test_the_same_where_holds_leave_room_to_those_before_them() -> None:
    """Here a schedule is another one if each job is looked at only once whenever somebody ends."""
    jobs = lublin_jobs(218, 60, PROCESSORS, rush=2, slack=10)
    assert_same(jobs, CONSERVATIVE, False, Conservative())


@pytest.mark.slow
@ONE_NODE_AND_MANY
def test_the_same_with_more_workloads(apart: bool) -> None:
    assert_conservative(range(12, 52), apart)


@pytest.mark.slow
@ONE_NODE_AND_MANY
def test_the_same_with_more_jobs(apart: bool) -> None:
    jobs = lublin_jobs(11, 40, PROCESSORS, rush=2, slack=10)
    assert_same(jobs, CONSERVATIVE, apart, Conservative())


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(holds=Holds(depth=1), placement="pod-by-pod"), "placement pod-by-pod knows no holds"),
        (
            Policy(holds=Holds(depth=1), order="least-attained"),
            "order least-attained takes places at any time",
        ),
    ],
)
def test_holds_that_a_run_would_ignore_are_refused(policy: Policy, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate(Setup(tuple(nodes(apart=False)), (), iter(())), "p", policy, 1)
