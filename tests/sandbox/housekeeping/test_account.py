"""The account of a Job: every pod once, whatever gets lost, and the limits counted as Kubernetes counts."""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.kube.errors import KubeError
from maitred.sandbox.housekeeping.cache import key_of
from maitred.sandbox.housekeeping.jobs import failures, indexes
from maitred.sandbox.housekeeping.jobs.account import JobAccount
from maitred.sandbox.housekeeping.jobs.failures import FailureRecord, wait_after
from maitred.sandbox.housekeeping.jobs.objects import COMPLETE, FAILED, JobStatus, Uncounted
from maitred.sandbox.housekeeping.objects import Pod
from tests.sandbox.housekeeping.world import NOW, World, make_job, make_pod

KEY = "default/a"


async def look(world: World) -> None:
    """One look at the Job, of which something may get lost; the queue would try again."""
    with contextlib.suppress(KubeError):
        await world.controller.sync(KEY)


def check_numbers(world: World) -> None:
    """Nothing is counted that has not happened, and nothing twice.

    When a Job fails, what still runs is taken to have failed, though its success may be on its way.
    """
    status = world.job.status
    assert status.succeeded <= len(world.succeeded)
    assert status.succeeded + status.failed <= len(world.succeeded | world.failed)
    if world.job.true_condition("FailureTarget") is None:
        assert status.failed <= len(world.failed)


@dataclass(frozen=True)
class Round:
    """Some pods end, the watches tell a part of it, and the controller looks, with losses on the way."""

    ends: list[tuple[str, int]]
    told: int
    trouble: list[str]
    looks: int
    restart: bool


ROUNDS = st.builds(
    Round,
    ends=st.lists(st.tuples(st.sampled_from(["Succeeded", "Failed", "kill"]), st.integers(0, 3)), max_size=2),
    told=st.sampled_from([0, 1, 3, 100, 100]),
    trouble=st.lists(st.sampled_from(["before", "after", "not yet"]), max_size=4),
    looks=st.integers(1, 3),
    restart=st.booleans(),
)


@given(
    rounds=st.lists(ROUNDS, max_size=8),
    limit=st.integers(0, 6),
    completions=st.integers(1, 6),
    mode=st.sampled_from(["NonIndexed", "Indexed"]),
)
def test_every_pod_is_counted_once(rounds: list[Round], limit: int, completions: int, mode: str) -> None:
    async def play() -> None:
        wanted = {"parallelism": 3, "completions": completions, "backoff_limit": limit}
        world = World(make_job(completion_mode=mode, **wanted))
        await look(world)
        for number in rounds:
            await happen(world, number)
        await finish(world)
        status = world.job.status
        assert status.uncounted_terminated_pods == Uncounted()
        if world.job.true_condition(COMPLETE):
            assert status.succeeded >= completions
            assert status.failed <= limit
        else:
            assert world.job.true_condition(FAILED)
            assert len(world.failed) > limit
        assert all(not pod.metadata.finalizers for pod in world.pods.values())

    asyncio.run(play())


async def happen(world: World, this: Round) -> None:
    for what, number in this.ends:
        running = [pod for pod in world.pods.values() if pod.is_active]
        if number < len(running):
            world.kill(running[number]) if what == "kill" else world.end(running[number], what)
    world.deliver(this.told)
    world.trouble.extend(this.trouble)
    for _ in range(this.looks):
        await look(world)
        check_numbers(world)
    if this.restart:
        world.restart()


async def finish(world: World) -> None:
    """From now on nothing gets lost, every pod succeeds, and a new controller knows of no failures."""
    world.trouble.clear()
    for _ in range(30):
        world.restart()
        await look(world)
        world.deliver_all()
        if world.job.finished:
            break
        for pod in [pod for pod in world.pods.values() if pod.is_active]:
            world.end(pod, "Succeeded")
        world.deliver_all()
    await look(world)
    world.deliver_all()
    for pod in list(world.pods.values()):
        await world.controller.let_go(key_of(pod.metadata))


def account(pods: list[Pod], record: FailureRecord | None = None, **spec: Any) -> JobAccount:
    return JobAccount(make_job(**spec), pods, (), record or FailureRecord(), NOW)


def test_one_failure_more_than_the_limit_ends_a_job() -> None:
    failed = [make_pod(number, "Failed") for number in range(2)]
    assert account(failed, backoff_limit=2).steps(settled=True).verdict is None
    verdict = account(failed, backoff_limit=1).steps(settled=True).verdict
    assert verdict is not None
    assert (verdict.type, verdict.reason) == ("FailureTarget", "BackoffLimitExceeded")


def test_a_pod_that_is_being_deleted_has_failed_unless_the_job_waits_for_its_end() -> None:
    ending = [make_pod(0, "Running", deletionTimestamp="2026-11-15T12:00:00Z")]
    early = account(ending, completions=1)
    late = account(ending, completions=1, pod_replacement_policy="Failed")
    assert (early.failed, late.failed) == (1, 0)
    assert not late.steps(settled=True).create


def test_unseen_pods_are_not_made_again() -> None:
    assert account([], parallelism=3, completions=3).steps(settled=False).create == []
    assert account([], parallelism=3, completions=3).steps(settled=True).create == [None] * 3


def test_waiting_doubles_with_each_failure_and_ends_with_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_WAIT", 10.0)  # servers of other tests in this process wait less
    ended = make_pod(0, "Failed", creationTimestamp="2026-11-15T11:59:59Z")
    record = FailureRecord().after([], [ended])
    assert [record.wait(NOW), FailureRecord(3, record.last).wait(NOW)] == [9.0, 39.0]
    assert wait_after(30, NOW, NOW) == 600.0
    later = make_pod(1, "Succeeded", creationTimestamp="2026-11-15T12:00:00Z")
    assert record.after([later], [ended]) == FailureRecord()
    assert wait_after(1, NOW - timedelta(seconds=10), NOW) == 0.0


def test_suspension_removes_pods_without_counting_them() -> None:
    running = [make_pod(number, "Running") for number in range(2)]
    suspended = account(running, completions=2, suspend=True)
    steps = suspended.steps(settled=True)
    assert steps.uncounted
    assert len(steps.delete) == 2
    closing = suspended.close(steps, True, 0, {pod.metadata.uid for pod in running})
    assert (closing.status.active, closing.status.failed, closing.status.terminating) == (0, 0, 2)
    assert closing.status.conditions[0].type == "Suspended"
    assert not closing.release


def test_what_was_decided_before_a_crash_holds_after_it() -> None:
    job = make_job(completions=2, backoff_limit=0)
    books = JobAccount(job, [make_pod(0, "Failed")], (), FailureRecord(), NOW)
    closing = books.close(books.steps(settled=True), True, 0, ())
    assert closing.status.conditions[0].type == "FailureTarget"
    assert closing.status.uncounted_terminated_pods is not None
    assert closing.status.uncounted_terminated_pods.failed == ("pod-0",)
    assert closing.final is not None
    assert closing.final.type == FAILED


@given(st.sets(st.integers(0, 60)))
def test_indexes_are_read_as_they_are_written(found: set[int]) -> None:
    assert indexes.parse(indexes.written(found), 61) == found


def test_indexes_in_the_words_of_kubernetes() -> None:
    assert indexes.written({0, 1, 2, 3, 5, 7, 8}) == "0-3,5,7,8"
    assert indexes.parse("0-3,5,x,7,8-", 6) == {0, 1, 2, 3, 5}
    assert indexes.first_free({0, 2}, 3, 4) == [1, 3]


def test_nothing_to_write_is_nothing_written() -> None:
    pods = [make_pod(number) for number in range(2)]
    books = account(pods, parallelism=2, completions=2)
    first = books.close(books.steps(settled=True), True, 0, ()).status
    assert first != JobStatus()
    job = msgspec.structs.replace(books.job, status=first)
    later = JobAccount(job, pods, (), FailureRecord(), NOW + timedelta(seconds=9))
    assert later.close(later.steps(settled=True), True, 0, ()).status == first
