"""What preemption keeps to: budgets, the policy, what an eviction costs, and how a victim leaves."""

from typing import Any

import pytest

from tests.decide.preempting import (
    band,
    budget,
    decided,
    evicted,
    gang,
    job,
    low,
    party,
    receipt,
    running,
    tolls,
)
from tests.decide.reading import verdict
from tests.oracle.builders import Obj, moment, near, node, pods

SLICE_SIZE, SLICE_LEVEL = "maitred.dev/slice-size", "maitred.dev/slice-topology"
LOWS = ["low-0", "low-1", "low-2"]
N3 = node("n1", cpu=3)
ONES = [node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1)]
HOUR = 3600
MIDNIGHT = 24 * HOUR
"""NOW, as `moment` counts."""


# ---- budgets

WEB: Any = {"labels": {"app": "web"}}


def test_a_budget_that_can_be_kept_is_kept() -> None:
    """Although the one who leaves in its place has more to lose."""
    others = low(1, name="plain", gpu=1)
    objects = [node("n1", cpu=3, gpu=1), budget({"app": "web"}, minAvailable=2), *low(2, **WEB), *others]
    plan = decided([*objects, *gang(2, "500m")])
    assert evicted(plan) == ["plain-0"]
    assert [toll["violations"] for toll in tolls(plan)] == [0]


def test_a_budget_is_no_hard_stop() -> None:
    plan = decided([N3, budget({"app": "web"}, minAvailable=2), *low(3, **WEB), *gang(3)])
    assert evicted(plan) == LOWS
    assert [toll["violations"] for toll in tolls(plan)] == [2]
    assert receipt(plan, "low-0")["budgets"] == ["default/budget"]


def test_a_budget_weighs_more_than_a_priority() -> None:
    guarded = [budget({"app": "web"}, allowed=0), *low(1, **WEB)]
    plan = decided([*ONES[:2], *guarded, running("mid", "n2", priority=50), *gang(1)])
    assert evicted(plan) == ["mid"]


def test_one_guarded_member_guards_its_atomic_group() -> None:
    v = band("v", ["n1", "n2"], disruption="all")
    v[2]["metadata"]["labels"] = {"app": "web"}
    objects = [*ONES, budget({"app": "web"}, allowed=0), *v, *low(1, "n3", priority=50), *gang(1)]
    assert evicted(decided(objects)) == ["low-0"]


@pytest.mark.parametrize(
    ("made", "violations"),
    [
        (budget({"app": "web"}, allowed=1), 1),
        (budget({"app": "web"}, allowed=2), 0),
        (budget({"app": "web"}, allowed=1, disrupted=["low-0"]), 0),
        (budget({"app": "web"}, minAvailable="50%"), 1),
        (budget({"app": "web"}, maxUnavailable=2), 0),
        (budget({"app": "web"}, maxUnavailable="0%"), 2),
        (budget({}, maxUnavailable=0), 2),
        (budget(None, maxUnavailable=0), 0),
        (budget({"app": "nobody"}, maxUnavailable=0), 0),
    ],
    ids=["status", "enough", "disrupted", "percent", "number", "none", "all pods", "no selector", "nobody's"],
)
def test_violations_are_counted(made: Obj, violations: int) -> None:
    """Two of two pods leave. Whose eviction was granted before is not counted again."""
    plan = decided([node("n1", cpu=2), made, *low(2, **WEB), *gang(2)])
    assert evicted(plan) == LOWS[:2]
    assert [toll["violations"] for toll in tolls(plan)] == [violations]


def test_a_budget_that_matches_no_running_pod_is_warned_of_where_there_are_pods() -> None:
    told = "PodDisruptionBudget default/budget matches no running pod, so it protects none"
    objects = [N3, *low(3, **WEB), *gang(3)]
    assert told in decided([*objects, budget({"app": "wbe"}, allowed=1)])["warnings"]
    assert told not in decided([*objects, budget({"app": "web"}, allowed=3)])["warnings"]


# ---- the policy


def test_a_policy_of_no_preemption() -> None:
    plan = decided([N3, *low(3), *gang(3)], policy={"preemption": {"mode": "never"}})
    assert (verdict(plan), evicted(plan)) == ("Waiting", [])


def test_first_come_first_served_displaces_nobody() -> None:
    assert evicted(decided([N3, *low(3), *gang(3)], policy={"order": "fifo"})) == []


def test_victims_of_our_own_only() -> None:
    ours, theirs = low(1, scheduler="maitred"), low(1, "n2", name="theirs", scheduler="other", priority=1)
    objects = [*ONES[:2], *ours, *theirs, *gang(1, scheduler="maitred")]
    assert evicted(decided(objects)) == ["theirs-0"]
    assert evicted(decided(objects, policy={"preemption": {"victims": "own"}})) == ["low-0"]


def test_a_delay_is_kept() -> None:
    """It counts from the youngest member that waits."""
    late = pods("g", 1, 1, start=1, group="g", priority=100, created=MIDNIGHT - 60)
    objects = [*ONES[:2], *low(1), *low(1, "n2", name="more"), *party(2, 1), *late]
    policy = {"preemption": {"delay": "5m"}}
    plan = decided(objects, policy=policy)
    assert (verdict(plan), evicted(plan), plan["wakeAt"]) == ("Waiting", [], moment(MIDNIGHT - 60 + 300))
    assert len(evicted(decided(objects, policy=policy, now=plan["wakeAt"]))) == 2


def test_where_most_pods_leave_those_that_stay_are_counted_once() -> None:
    quiet = gang(2, "1500m", anti_affinity=[near("hostname", {"app": "web"})])
    objects = [node("n1", cpu=4), running("stays", "n1", priority=100), *low(3, **WEB), *quiet]
    assert evicted(decided(objects)) == LOWS


def test_pods_leave_for_slices_where_each_finds_its_rack() -> None:
    """The four that are cheapest to move would leave a place in the first rack alone."""
    nodes = [node(f"n{i}", cpu=1, rack=f"r{i // 3}") for i in range(6)]
    lows = [running(f"low-{i}", f"n{i}", priority=10 + i) for i in range(6)]
    sliced = gang(4, group={"annotations": {SLICE_SIZE: "2", SLICE_LEVEL: "rack"}})
    assert evicted(decided([*nodes, *lows, *sliced])) == ["low-0", "low-1", "low-3", "low-4"]


# ---- what an eviction costs


def gpus(name: str, on: str, started: int, **fields: Any) -> Obj:
    return running(name, on, started=started, gpu=1, **fields)


GPU_NODES = [node("n1", cpu=1, gpu=1), node("n2", cpu=1, gpu=1)]


def test_less_work_is_lost() -> None:
    objects = [*GPU_NODES, gpus("long", "n1", 0), gpus("short", "n2", MIDNIGHT - HOUR), *gang(1, gpu=1)]
    plan = decided(objects)
    assert evicted(plan) == ["short"]
    assert receipt(plan, "short")["workLostDeviceHours"] == 1.0
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [6]


@pytest.mark.parametrize(
    "saved",
    [{"maitred.dev/last-checkpoint": "2026-01-01T23:59:00Z"}, {"maitred.dev/checkpoint-interval": "7m"}],
    ids=["last", "interval"],
)
def test_work_that_is_saved_is_not_lost(saved: dict[str, str]) -> None:
    """The one who has run for longer has a checkpoint: with an interval of 7 minutes, 5 minutes ago."""
    long = gpus("long", "n1", 0, annotations=saved)
    plan = decided([*GPU_NODES, long, gpus("short", "n2", MIDNIGHT - HOUR), *gang(1, gpu=1)])
    assert evicted(plan) == ["long"]
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [0]


def test_lost_work_is_told_to_a_ten_thousandth_of_an_hour() -> None:
    plan = decided([GPU_NODES[0], gpus("short", "n1", MIDNIGHT - 1000), *gang(1, gpu=1)])
    assert receipt(plan, "short")["workLostDeviceHours"] == 0.2778


def test_differences_of_less_than_ten_minutes_are_noise() -> None:
    """Of 5 and 9 minutes lost neither counts; the younger leaves."""
    older, younger = gpus("older", "n1", MIDNIGHT - 540), gpus("younger", "n2", MIDNIGHT - 300)
    assert evicted(decided([*GPU_NODES, older, younger, *gang(1, gpu=1)])) == ["younger"]


# ---- how a victim leaves


def job_band(size: int, **spec: Any) -> list[Obj]:
    """A Job and all of its pods, each on a node of its own, as one gang."""
    return [job("work", size, **spec), *band("work", ["n1", "n2", "n3"][:size], size, owner="Job/work")]


def test_a_job_that_leaves_whole_is_suspended() -> None:
    plan = decided([*ONES[:2], *job_band(2), *gang(1)])
    assert evicted(plan) == ["work-0", "work-1"]
    departure = receipt(plan, "work-0")["departure"]
    assert (departure["owner"], departure["by"], departure["survives"]) == ("Job work", "suspend", True)


def test_a_job_that_another_controller_manages_is_not_suspended() -> None:
    """Nobody knows whether its pods would leave for that."""
    for manager, by in (("example.com/another", "delete"), ("kubernetes.io/job-controller", "suspend")):
        plan = decided([*ONES[:2], *job_band(2, managedBy=manager), *gang(1)])
        assert receipt(plan, "work-0")["departure"]["by"] == by


def test_a_job_of_the_system_is_not_suspended() -> None:
    low = [{**item, "metadata": {**item["metadata"], "namespace": "kube-system"}} for item in job_band(2)]
    plan = decided([*ONES[:2], *low, *gang(1)])
    assert {eviction["receipt"]["departure"]["by"] for eviction in plan["evictions"]} == {"delete"}


def test_a_policy_that_deletes_counts_against_the_job() -> None:
    """With as many failures as its backoffLimit allows it lives, with one more it does not."""
    for limit, survives in ((2, True), (1, False)):
        objects = [*ONES[:2], *job_band(2, backoffLimit=limit), *gang(1)]
        plan = decided(objects, policy={"preemption": {"jobs": "delete"}})
        departure = receipt(plan, "work-0")["departure"]
        assert (departure["by"], departure["survives"]) == ("delete", survives)


def test_a_pod_without_an_owner_is_deleted() -> None:
    departure = receipt(decided([ONES[0], *low(1), *gang(1)]), "low-0")["departure"]
    assert (departure["owner"], departure["by"]) == ("", "delete")
