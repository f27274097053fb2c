"""Preemption carried out: pods of suspended Jobs, and pods that take long to leave."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.controllers.making_room import ALL, FORBIDDEN, LIMIT, SEATS, House
from tests.controllers.victims import eviction, preempting
from tests.controllers.watched import watched_pod


@pytest.fixture
def house() -> Iterator[House]:
    with asyncio.Runner() as runner:
        yield House(runner)


# -- suspended Jobs ----------------------------------------------------------------------------------------


def test_the_pods_of_a_suspended_job_leave_whoever_has_suspended_it(house: House) -> None:
    house.put_job(suspend=True)
    assert house.leaving == {"x", "y", "z"}
    house.mirror.put_pod(house.victim("w", "n2"))
    assert house.leaving == {"w", "x", "y", "z"}
    house.put_job()
    assert house.leaving == set()


def test_a_job_that_is_resumed_before_its_pods_are_gone_keeps_them(house: House) -> None:
    house.put_job()
    house.carry_out(preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS))
    house.put_job()  # news of before the write
    assert house.leaving == {"x", "y", "z"}
    house.put_job(suspend=True)
    assert house.leaving == {"x", "y", "z"}
    house.put_job()
    assert house.leaving == set()


def test_the_pods_of_a_suspended_job_that_another_controller_manages_stay(house: House) -> None:
    house.put_job(suspend=True, managed_by="example.com/another")
    assert house.leaving == set()


def test_pods_that_name_a_job_of_another_namespace_or_of_another_kind_stay(house: House) -> None:
    for namespace, owner in (("mallory", "Job/train"), ("default", "Jab/train")):
        forged = house.victim("w", "n2", namespace=namespace, owner=owner)
        house.mirror.put_pod(forged)
    house.put_job(suspend=True)
    assert house.leaving == {"x", "y", "z"}


def test_who_has_not_left_in_time_counts_as_running_and_may_be_evicted_again(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.put_job(suspend=True)
    house.mirror.put_pod(house.victim("w", "n2", spec={"terminationGracePeriodSeconds": 10**9}))
    assert house.mirror.overlay.next_overdue() == house.clock.now + 90
    house.clock.now += 89.9
    house.mirror.overlay.let_stay()
    assert house.leaving == {"w", "x", "y", "z"}
    house.clock.now += 0.1
    house.mirror.overlay.let_stay()
    assert house.leaving == {"w"}, "its grace period is longer"
    house.mirror.put_pod(house.victim("x", "n1"))
    assert house.leaving == {"w"}, "news of a pod that stays do not make it leave"
    house.clock.now += 600
    house.mirror.overlay.let_stay()
    assert house.leaving == set(), "and yet it is not believed for years"
    assert len(caplog.messages) == 4
    assert "pod default/x was evicted and is still there after 90 s" in caplog.text
    house.carry_out(preempting(eviction("x"), eviction("y"), eviction("z"), seats=SEATS))
    assert house.leaving == {"x", "y", "z"}
    house.clock.now += 90
    house.mirror.overlay.let_stay()
    assert house.leaving == set()
    assert len(caplog.messages) == 4, "it is said once"


def test_where_a_suspension_is_refused_the_pods_are_deleted(house: House) -> None:
    house.put_job()
    house.record.answers = {"suspend train": [FORBIDDEN]}
    house.carry_out(preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS))
    assert house.record.written[5:8] == ["record", "suspend train", "forget"]
    assert sorted(house.record.written[8:]) == ["delete x", "delete y", "delete z"]
    assert house.finished[0].failures == []


def test_a_suspension_of_which_nothing_could_be_remembered_lets_them_stay(house: House) -> None:
    house.put_job()
    house.record.answers = {"record": [FORBIDDEN]}
    house.carry_out(preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS))
    assert house.leaving == set()
    assert house.finished[0].failures == ["suspension of Job default/train: Unrecorded: Forbidden: no"]


def test_a_pod_that_has_outstayed_an_eviction_is_deleted_when_its_owner_is_suspended_again(
    house: House,
) -> None:
    house.put_job()
    leave = preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS)
    house.carry_out(leave)
    house.clock.now += 1000
    house.mirror.overlay.let_stay()
    assert house.leaving == set()
    house.record.written.clear()
    house.carry_out(leave)
    assert house.record.written[-5:-3] == ["record", "suspend train"]
    assert house.record.written[-3:] == ["delete x", "delete y", "delete z"]


def test_pods_of_a_suspended_job_that_wait_are_not_decided(house: House) -> None:
    house.mirror.put_pod(watched_pod("w", cpu=1, owner="Job/train"))
    waiting_pods = {pod for view in house.mirror.state.snapshot().groups for pod in view.pods}
    assert "default/w" in waiting_pods
    house.put_job(suspend=True)
    waiting_pods = {pod for view in house.mirror.state.snapshot().groups for pod in view.pods}
    assert "default/w" not in waiting_pods


# ---- grace periods


def test_a_victim_that_asks_for_years_gets_as_long_as_the_policy_says(house: House) -> None:
    house.mirror.put_pod(house.victim("v", "n1", spec={"terminationGracePeriodSeconds": LIMIT + 1}))
    house.mirror.put_pod(house.victim("w", "n1", spec={"terminationGracePeriodSeconds": LIMIT}))
    written = house.carry_out(preempting(eviction("v"), eviction("w"), eviction("z"), seats=SEATS))
    assert sorted(line for line in written if line.startswith("delete")) == [
        *(f"delete v within {LIMIT}", "delete w", "delete z")
    ]


def test_one_that_lingers_is_deleted_again_with_less_time_and_leaves_from_then_on(house: House) -> None:
    house.linger("x", "n1")
    assert house.leaving == set()
    written = house.carry_out(ALL)
    assert f"delete x within {LIMIT}" in written
    house.linger("x", "n1")
    assert house.leaving == {"x", "y", "z"}, "late news of before the writes change nothing"
    house.mirror.put_pod(house.victim("x", "n1", deleted=True))
    house.clock.now += 10_000
    house.mirror.overlay.let_stay()
    assert "x" in house.leaving, "by now it is the API server's own word"


def test_one_that_lingers_and_was_told_to_hurry_is_not_told_again_for_somebody_else(house: House) -> None:
    house.linger("x", "n1")
    house.carry_out(ALL)
    house.record.written.clear()
    assert house.carry_out(preempting(eviction("x"), seats=SEATS)) == []
    assert "x" in house.leaving


def test_one_that_lingers_and_could_not_be_hurried_does_not_leave(house: House) -> None:
    house.linger("x", "n1")
    house.record.answers[f"delete x within {LIMIT}"] = [FORBIDDEN]
    house.carry_out(ALL)
    assert "x" not in house.leaving
    house.linger("y", "n1")
    house.clock.now += 90
    house.mirror.overlay.let_stay()
    assert house.leaving == set(), "nor one that was told to and does not"


def test_a_job_that_its_user_has_suspended_makes_nobody_leave_who_lingers(house: House) -> None:
    house.linger("x", "n1")
    house.put_job(suspend=True)
    assert house.leaving == {"y", "z"}
    house.linger("y", "n1")
    assert house.leaving == {"z"}
