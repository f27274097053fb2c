"""Places that are promised while victims leave, and what late members and surplus may not do."""

import pytest

from tests.decide.preempting import (
    NOW,
    band,
    decided,
    evicted,
    gang,
    job,
    leaving,
    lone,
    low,
    nominated,
    nominations,
    party,
    receipt,
    running,
)
from tests.decide.reading import seated, seats, verdict
from tests.oracle.builders import Obj, node, pod, pod_group, pods

N3 = node("n1", cpu=3)
ONES = [node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1)]
HOUR = 3600
GPU_NODES = [node("n1", cpu=1, gpu=1), node("n2", cpu=1, gpu=1)]


# ---- promises: victims that leave, and places that are held


def test_the_plan_is_kept_while_victims_leave() -> None:
    objects = [N3, *leaving(low(3)), *nominated(gang(3), "n1", "n1", "n1")]
    plan = decided(objects)
    assert (verdict(plan), evicted(plan)) == ("Preempting", [])
    assert nominations(plan) == {"g-0": "n1", "g-1": "n1", "g-2": "n1"}


def test_the_plan_is_kept_while_one_of_the_victims_is_still_there() -> None:
    """The others had gone before the first member could have been bound."""
    plan = decided([N3, *leaving(low(1)), *nominated(gang(3), "n1", "n1", "n1")])
    assert (verdict(plan), evicted(plan), seated(plan)) == ("Preempting", [], [])


@pytest.mark.parametrize(("priority", "told"), [(10, "Preempting"), (500, "Waiting")])
def test_who_leaves_anyway_is_waited_for(priority: int, told: str) -> None:
    """For whatever reason, and though others could be evicted at once. The place of a lesser pod is held."""
    plan = decided([*ONES[:2], *leaving(low(1, priority=priority)), *low(1, "n2", name="more"), *gang(1)])
    assert (verdict(plan), evicted(plan)) == (told, [])


TEN_YEARS = 10 * 365 * 24 * HOUR


@pytest.mark.parametrize(
    ("limit", "grace", "lingers"),
    [
        *(("1h", HOUR, False), ("1h", HOUR + 1, True), ("1h", 2**63 - 1, True)),
        *(("500d", TEN_YEARS, True), ("1500ms", 2, False), ("none", TEN_YEARS, False)),
    ],
)
def test_who_was_given_longer_to_leave_than_the_policy_allows_is_hurried(
    limit: str, grace: int, lingers: bool
) -> None:
    """Its room is not waited for: it is evicted like one that runs, although others deleted it before."""
    objects = [ONES[0], *leaving(low(1), grace), *gang(1)]
    plan = decided(objects, policy={"preemption": {"graceLimit": limit}})
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["low-0"] if lingers else [])
    if lingers:
        departure = receipt(plan, "low-0")["departure"]
        assert departure["by"] == "delete"
        assert departure["words"].endswith(f"with a grace period that is cut to {limit}")


def test_who_lingers_yields_to_higher_priority_only_and_counts_for_no_quorum() -> None:
    """One of a gang of two lingers. It leaves alone, and nothing of its work is lost by that."""
    assert evicted(decided([ONES[0], *leaving(low(1, priority=100), TEN_YEARS), *gang(1)])) == []
    v = band("v", ["n1", "n2"], quorum=2, gpu=1)
    leaving(v[-1:], TEN_YEARS)
    plan = decided([*GPU_NODES, *v, *gang(1, gpu=1)])
    assert evicted(plan) == ["v-1"]
    told = receipt(plan, "v-1")
    assert (told["unit"], told["workLostDeviceHours"]) == ("default/v-1", 0)


def test_a_job_one_of_whose_pods_lingers_is_suspended_for_the_others() -> None:
    pods_of_job = low(2, owner="Job/train")
    pods_of_job[1]["spec"]["nodeName"] = "n2"
    leaving(pods_of_job[1:], TEN_YEARS)
    plan = decided([*ONES[:2], job("train", 2), *pods_of_job, *gang(2)])
    assert evicted(plan) == ["low-0", "low-1"]
    assert [receipt(plan, name)["departure"]["by"] for name in ("low-0", "low-1")] == ["suspend", "delete"]


@pytest.mark.parametrize(("now", "stuck"), [("2026-01-02T00:00:59Z", False), ("2026-01-02T00:01:00Z", True)])
@pytest.mark.parametrize("grace", [30, TEN_YEARS])
def test_who_should_be_gone_for_a_minute_is_neither_waited_for_nor_evicted(
    now: str, stuck: bool, grace: int
) -> None:
    """Another deletion would change nothing. The group that was promised its place gets another one."""
    objects = [*ONES[:2], *leaving(low(1), grace), *low(1, "n2", name="more"), *nominated(gang(1), "n1")]
    plan = decided(objects, now=now, policy={"preemption": {"graceLimit": "none"}})
    place, victims = ("n2", ["more-0"]) if stuck else ("n1", [])
    assert (nominations(plan), evicted(plan)) == ({"g-0": place}, victims)
    assert plan["wakeAt"] == (None if stuck else "2026-01-02T00:01:00Z"), "then it is looked at again"
    told = f"pod default/low-0 was to be gone by {NOW} and is still there: no group waits for its room"
    assert (told in plan["warnings"]) == stuck


def test_who_leaves_a_lost_node_is_not_waited_for() -> None:
    """No kubelet stops it, whatever time it was given, not even for a group that would go to that node."""
    lost, brave = node("n1", 1, ready=None), gang(1, tolerations=[{"operator": "Exists"}])
    plan = decided([lost, *leaving(low(1)), *nominated(brave, "n1")])
    assert (verdict(plan), nominations(plan), evicted(plan)) == ("Waiting", {}, [])
    assert any("its node does not answer" in warning for warning in plan["warnings"])


def test_only_what_those_who_leave_do_not_free_is_evicted() -> None:
    """A quorum of two, one pod is leaving: one more has to, and both members are told where they will sit."""
    plan = decided([*ONES[:2], *leaving(low(1)), *low(1, "n2", name="more"), *gang(2)])
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["more-0"])
    assert sorted(nominations(plan).values()) == ["n1", "n2"]


def test_a_promise_is_kept_once_there_is_room() -> None:
    plan = decided([*ONES[:2], *nominated(gang(2), "n2", "n1")])
    assert (verdict(plan), seated(plan), nominations(plan)) == ("Scheduled", ["g-0", "g-1"], {})


def test_room_elsewhere_is_taken_although_victims_still_leave() -> None:
    plan = decided([*ONES[:2], *leaving(low(1)), *nominated(gang(1), "n1")])
    assert (verdict(plan), seats(plan)) == ("Scheduled", {"g-0": "n2"})


def test_a_node_that_is_gone_was_promised_in_vain() -> None:
    plan = decided([*ONES[:2], *low(1), *low(1, "n2", name="more"), *nominated(gang(2), "n1", "n9")])
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["low-0", "more-0"])
    assert sorted(nominations(plan).values()) == ["n1", "n2"]


def test_a_place_that_someone_took_was_promised_in_vain() -> None:
    taken = running("top", "n1", priority=500)
    plan = decided([*ONES[:2], taken, *low(1, "n2"), *nominated(gang(1), "n1")])
    assert (verdict(plan), evicted(plan), nominations(plan)) == ("Preempting", ["low-0"], {"g-0": "n2"})


def test_a_promise_in_vain_costs_nobody_anything_where_there_is_no_other_place() -> None:
    taken = running("top", "n1", priority=500)
    plan = decided([ONES[0], taken, *nominated(gang(1), "n1")])
    assert (verdict(plan), evicted(plan), nominations(plan)) == ("Waiting", [], {})


@pytest.mark.parametrize(("priority", "gets_it"), [(50, False), (100, False), (101, True)])
def test_a_promise_holds_against_equal_and_lower_rank(priority: int, gets_it: bool) -> None:
    """One of two CPUs is free while the victim on the other leaves; an older pod would like to have it."""
    waiting = nominated(gang(2), "n1", "n1")
    other = pod("other", 1, priority=priority, created=0)
    plan = decided([node("n1", cpu=2), *leaving(low(1)), *waiting, other])
    assert seated(plan, "other") == (["other"] if gets_it else [])
    assert evicted(plan) == []


def test_what_a_promise_does_not_need_is_free() -> None:
    other = pod("other", 1, priority=50)
    plan = decided([N3, *leaving(low(2)), *nominated(gang(2), "n1", "n1"), other])
    assert seats(plan) == {"other": "n1"}


def test_a_promise_of_another_scheduler_holds_too() -> None:
    theirs = nominated([lone(scheduler="theirs")], "n1")
    ours = pod("ours", 1, priority=100, scheduler="maitred")
    plan = decided([*ONES[:1], *theirs, ours], scheduler="maitred")
    assert (verdict(plan, "ours"), seated(plan)) == ("Waiting", [])
    above = pod("above", 1, priority=200, scheduler="maitred")
    assert seated(decided([*ONES[:1], *theirs, above], scheduler="maitred")) == ["above"]


def test_two_preemptors_do_not_share_a_victim() -> None:
    first = gang(2)
    second = [pod_group("h", 2, priority=100), *pods("h", 2, 1, group="h", priority=100, created=2)]
    plan = decided([N3, *low(3), *first, *second])
    assert (verdict(plan), verdict(plan, "h")) == ("Preempting", "Waiting")
    assert len(evicted(plan)) == 2
    roomy = decided([N3, node("n2", cpu=1), *low(3), *low(1, "n2", name="more"), *first, *second])
    assert len(evicted(roomy, "g")) == len(evicted(roomy, "h")) == 2
    assert len(evicted(roomy)) == 4


def test_two_preemptors_do_not_take_more_of_a_gang_than_it_can_spare() -> None:
    """One of three members is surplus. For whoever comes second all the others leave, not one of them."""
    low = band("low", ["n1", "n2", "n3"], quorum=2)
    first, second = pod("first", 1, priority=100, created=1), pod("second", 1, priority=100, created=2)
    plan = decided([*ONES, *low, first, second])
    assert [verdict(plan, name) for name in ("first", "second")] == ["Preempting", "Preempting"]
    assert evicted(plan) == ["low-0", "low-1", "low-2"]


def test_who_was_promised_a_place_may_lose_it_to_a_higher_rank_and_nobody_is_evicted_twice() -> None:
    """The victim leaves already; the higher one takes its place, and the lower one looks for another."""
    top = [pod_group("top", 1, priority=1000), pod("top-0", 1, group="top", priority=1000)]
    objects = [*ONES[:2], *leaving(low(1)), *low(1, "n2", name="more"), *nominated(gang(1), "n1"), *top]
    plan = decided(objects)
    assert evicted(plan, "top") == []
    assert evicted(plan, "g") in ([], ["more-0"])


@pytest.mark.parametrize("promised", [True, False])
def test_who_leaves_counts_for_no_limit_any_more_of_those_who_wait_for_its_place(promised: bool) -> None:
    """So no more pods are evicted, and no promise is lost."""
    policy: Obj = {"queues": [{"name": "default", "limits": [{"resource": "cpu", "cap": 2}]}]}
    first = pod("first", 1, priority=100)
    waits = nominated([first], "n1") if promised else [first]
    plan = decided([*ONES[:2], *leaving(low(1)), *low(1, "n2", name="more"), *waits], policy=policy)
    assert (verdict(plan, "first"), nominations(plan)) == ("Preempting", {"first": "n1"})
    assert evicted(plan) == []


def test_a_promise_to_who_borrows_yields_to_who_is_entitled() -> None:
    """Of equal priority, and newer. One place is free, and the other one is taken back."""
    limits = [{"resource": "cpu", "guarantee": 2}]
    policy: Obj = {"queues": [{"name": "owner", "limits": limits}, {"name": "other"}]}
    borrows, owned = {"maitred.dev/queue": "other"}, {"maitred.dev/queue": "owner"}
    first = pod("first", 1, priority=100, created=1, annotations=borrows)
    objects = [
        node("n1", cpu=2),
        *nominated([first], "n1"),
        running("old", "n1", annotations=borrows),
        pod("entitled", 2, priority=100, created=2, annotations=owned),
    ]
    plan = decided(objects, policy=policy)
    assert (evicted(plan), nominations(plan)) == (["old"], {"entitled": "n1"})
    assert verdict(plan, "first") == "Waiting"


@pytest.mark.parametrize(
    ("limit", "kept"), [({"cap": 1}, True), ({"cap": 0}, False), ({"perUser": 0}, False)]
)
def test_a_promise_is_over_once_a_limit_of_its_queue_forbids_it(limit: Obj, kept: bool) -> None:
    """The victim has half left. If the place is not for the first, the second need not wait."""
    policy: Obj = {"queues": [{"name": "mine", "limits": [{"resource": "cpu", **limit}]}, {"name": "yours"}]}
    first = pod("first", 1, priority=100, annotations={"maitred.dev/queue": "mine"})
    second = pod("second", 1, priority=50, annotations={"maitred.dev/queue": "yours"})
    objects = [ONES[0], *leaving(low(1)), *nominated([first], "n1"), second]
    plan = decided(objects, policy=policy)
    assert [verdict(plan, name) for name in ("first", "second")] == (
        ["Preempting", "Waiting"] if kept else ["Waiting", "Preempting"]
    )
    assert nominations(plan) == ({"first": "n1"} if kept else {"second": "n1"})


def test_a_victim_that_is_back_does_not_evict_its_evictor() -> None:
    seated_now = [pod_group("g", 1, priority=100), running("g-0", "n1", group="g", priority=100)]
    plan = decided([ONES[0], *seated_now, pod("low-0", 1, priority=10)])
    assert (verdict(plan, "low-0"), evicted(plan)) == ("Waiting", [])


# ---- late members and surplus


@pytest.mark.parametrize("quorum", [1, None], ids=["gang", "basic"])
def test_late_members_never_evict(quorum: int | None) -> None:
    """Upstream preempts for them."""
    at_work = [pod_group("g", quorum, priority=100), running("g-0", "n1", group="g", priority=100)]
    late = pods("g", 1, 1, start=1, group="g", priority=100)
    plan = decided([*ONES[:2], *at_work, *low(1, "n2"), *late])
    assert (verdict(plan), evicted(plan)) == ("Scheduled", [])


def test_the_quorum_is_bound_and_the_surplus_evicts_nobody() -> None:
    plan = decided([N3, *low(2), *party(1, 3)])
    assert (verdict(plan), seated(plan), evicted(plan)) == ("Scheduled", ["g-0"], [])
