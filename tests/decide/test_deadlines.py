"""Deadlines and times before which nothing starts: who goes first, who is held back, and who is told what."""

from datetime import datetime
from typing import Any

import pytest

from maitred.verify import verify
from tests.decide.reading import entry, seated, verdict
from tests.oracle.builders import Obj, job, node, owner_object, pod, pod_group, pods, priority_class
from tests.support import decide

BY_DEADLINE: Obj = {"order": ["priority", "fair-share", "deadline", "age", "name"]}
DEADLINE, NOT_BEFORE = "maitred.dev/deadline", "maitred.dev/not-before"
EXPECTED, LIMIT = "maitred.dev/expected-runtime", "maitred.dev/max-runtime"
NOW = "2026-01-31T12:00:00Z"


def due(name: str, at: str, runs: str | None = "1h", created: int = 2, **more: Any) -> Obj:
    """A pod that must be done by then, today."""
    marks = {DEADLINE: f"2026-01-31T{at}:00Z"} | ({EXPECTED: runs} if runs else {})
    return pod(name, 1, created=created, annotations=marks, **more)


def plain(name: str, created: int = 1, **more: Any) -> Obj:
    return pod(name, 1, created=created, **more)


def first_of(*pods: Obj, policy: Obj | None = BY_DEADLINE, **more: Any) -> str:
    found = [seated(decide([node("n1", cpu=1), *some], policy, **more)) for some in (pods, pods[::-1])]
    assert found[0] == found[1]
    (winner,) = found[0]
    return str(winner)


# -- the order ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "starts"), [("0001-01-01T00:00:00+14:00", True), ("9999-12-31T23:59:59.9-14:00", False)]
)
def test_the_first_and_the_last_times_that_there_are(at: str, starts: bool) -> None:
    """West of Greenwich the last day ends after the last that computers know."""
    for marks in ({NOT_BEFORE: at}, {DEADLINE: at, EXPECTED: "36500d"}, {DEADLINE: at, NOT_BEFORE: at}):
        objects = [node("n1", cpu=1), pod("a", 1, annotations=marks), pod("b", 2)]
        plan = decide(objects, BY_DEADLINE, NOW)
        assert verify(objects, plan, BY_DEADLINE, now=datetime.fromisoformat(NOW)) == []
        assert (verdict(plan, "a") == "Scheduled") == (starts or NOT_BEFORE not in marks)


def test_the_earlier_deadline_goes_first_whoever_is_older() -> None:
    assert first_of(due("a", "18:00", created=1), due("b", "15:00", created=2)) == "b"


def test_a_deadline_goes_before_none() -> None:
    assert first_of(plain("a", created=1), due("b", "15:00", created=2)) == "b"


def test_a_priority_goes_before_any_deadline() -> None:
    assert first_of(plain("a", priority=1), due("b", "13:30", priority=0)) == "a"


def test_by_default_deadlines_order_nobody() -> None:
    for policy in (None, {"order": "priority"}, {"order": ["priority", "fair-share", "age"]}):
        assert first_of(plain("a", created=1), due("b", "15:00", created=2), policy=policy) == "a"


@pytest.mark.parametrize(
    "liar",
    [
        due("b", "11:00"),
        due("b", "12:59"),
        due("b", "13:00", runs=None),
        due("b", "13:00", runs="about an hour"),
        pod("b", 1, created=2, annotations={DEADLINE: "in an hour", EXPECTED: "1h"}),
        pod("b", 1, created=2, annotations={DEADLINE: "2026-01-31T15:00:00", EXPECTED: "1h"}),
    ],
    ids=["passed", "latest start passed", "no run time", "unread run time", "unread", "no zone"],
)
def test_a_deadline_that_cannot_be_kept_orders_nothing(liar: Obj) -> None:
    assert first_of(plain("a", created=1), liar) == "a"


def test_until_its_latest_start_it_counts() -> None:
    assert first_of(plain("a", created=1), due("b", "13:00", runs="1h")) == "b"


def test_nobody_leaves_for_a_deadline() -> None:
    runs = plain("a", node="n1")
    plan = decide([node("n1", cpu=1), runs, due("b", "13:30")], BY_DEADLINE)
    assert not plan["evictions"]
    assert not plan["nominations"]


def test_the_rule_has_its_place_among_queues() -> None:
    """Shares come first, so nobody outside a queue is overtaken for a deadline in it."""
    limits = [{"resource": "cpu", "guarantee": 0}]
    policy = BY_DEADLINE | {"queues": [{"name": "one", "limits": limits}, {"name": "two", "limits": limits}]}
    mine = {"maitred.dev/queue": "one"}
    runs = pod("r", 1, node="n0", labels={"maitred.dev/queue": "two"})
    urgent = due("b", "13:30", labels={"maitred.dev/queue": "two"})
    nodes = [node("n0", cpu=1), node("n1", cpu=1)]
    assert seated(decide([*nodes, runs, plain("a", labels=mine), urgent], policy)) == ["a"]
    urgent = due("b", "13:30", labels=mine)
    assert seated(decide([*nodes, runs, plain("a", labels=mine), urgent], policy)) == ["b"]


# -- where it is said --------------------------------------------------------------------------------------


def of_job(on_job: Obj, on_pods: Obj | None = None) -> list[Obj]:
    made = owner_object("batch/v1", "Job", "j", "default", job("j", 2)["spec"], annotations=on_job)
    return [made, *pods("j", 2, 1, owner="Job/j", annotations=on_pods or {})]


def test_the_nearest_to_the_pods_counts() -> None:
    later, sooner = "2026-01-31T20:00:00Z", "2026-01-31T15:00:00Z"
    run = {EXPECTED: "1h"}
    (one, _) = decide(of_job({DEADLINE: sooner, LIMIT: "2h"}, run))["due"]
    assert (one["deadline"], one["latestStart"], one["said"]) == (sooner, "2026-01-31T14:00:00Z", EXPECTED)
    (one, _) = decide(of_job({DEADLINE: sooner}, {DEADLINE: later, **run}))["due"]
    assert one["deadline"] == later


def test_a_pod_group_and_the_owner_of_a_job_may_say_it() -> None:
    marks = {NOT_BEFORE: "2026-01-31T13:00:00Z"}
    group = pod_group("g", 1)
    group["metadata"]["annotations"] = marks
    assert not seated(decide([node("n1", cpu=4), group, pod("a", 1, group="g")]))
    above = owner_object("jobset.x-k8s.io/v1alpha2", "JobSet", "s", "default", {}, annotations=marks)
    made = owner_object("batch/v1", "Job", "j", "default", job("j", 1)["spec"], owner="JobSet/s")
    assert not seated(decide([node("n1", cpu=4), above, made, pod("j-0", 1, owner="Job/j")]))


def test_the_checker_reads_what_others_call_a_group() -> None:
    named = {"scheduling.x-k8s.io/pod-group": "g"}
    about = {"name": "g", "namespace": "default", "annotations": {NOT_BEFORE: "2026-01-31T13:00:00Z"}}
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": about}
    objects = [node("n1", cpu=4), {**group, "spec": {"minMember": 1}}, pod("a", 1, labels=named)]
    plan, now = decide(objects), datetime.fromisoformat(NOW)
    assert not seated(plan)
    assert verify(objects, plan, now=now) == []
    del about["annotations"]
    early = decide(objects)
    about["annotations"] = {NOT_BEFORE: "2026-01-31T13:00:00Z"}
    assert [breach.law for breach in verify(objects, early, now=now)] == [3]


def test_an_enforced_limit_is_the_run_time() -> None:
    queue = {"name": "default", "runtime": {"enforce": True}}
    marks = {DEADLINE: "2026-01-31T15:00:00Z", LIMIT: "2h", EXPECTED: "1h"}
    lone = owner_object(
        "batch/v1", "Job", "j", "default", {"parallelism": 1, "completions": 1}, annotations=marks
    )
    objects = [lone, pod("j-0", 1, owner="Job/j", annotations={EXPECTED: "1h"})]
    ends = [decide(objects, policy)["due"][0]["latestStart"] for policy in (None, {"queues": [queue]})]
    assert ends == ["2026-01-31T14:00:00Z", "2026-01-31T13:00:00Z"]


# -- at risk -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "runs", "risk"),
    [("13:00", "1h", False), ("13:00", "61m", True), ("13:00", None, False), ("11:00", None, True)],
)
def test_at_risk_from_the_latest_start_on(at: str, runs: str | None, risk: bool) -> None:
    (found,) = decide([due("a", at, runs=runs)])["due"]
    assert found["atRisk"] is risk


def test_the_time_before_which_it_does_not_start_counts() -> None:
    marks = {DEADLINE: "2026-01-31T15:00:00Z", EXPECTED: "1h", NOT_BEFORE: "2026-01-31T14:30:00Z"}
    (found,) = decide([pod("a", 1, annotations=marks)])["due"]
    assert found["atRisk"] is True


def test_the_plan_wakes_when_a_latest_start_passes() -> None:
    assert decide([due("a", "15:00")])["wakeAt"] == "2026-01-31T14:00:01Z"
    assert decide([due("a", "12:30")])["wakeAt"] is None


def test_what_counts_for_nothing_is_told() -> None:
    def warned(*pods: Obj) -> str:
        (found,) = decide(list(pods))["warnings"]
        return str(found)

    assert "has passed" in warned(due("a", "11:00"))
    assert "set maitred.dev/expected-runtime" in warned(due("a", "15:00", runs=None))
    unread = warned(pod("a", 1, annotations={NOT_BEFORE: "tomorrow"}))
    assert unread == (
        "group default/a: maitred.dev/not-before: 'tomorrow' is not a time such as 2026-03-01T12:00:00Z; so "
        "it counts for nothing"
    )


def test_who_sits_is_not_due_any_more() -> None:
    plan = decide([node("n1", cpu=1), due("a", "15:00")])
    assert seated(plan) == ["a"]
    assert not plan["due"]


# -- not before --------------------------------------------------------------------------------------------


def held(name: str, at: str, **more: Any) -> Obj:
    return pod(name, 1, annotations={NOT_BEFORE: at}, **more)


def test_it_does_not_start_before() -> None:
    objects = [node("n1", cpu=1), held("a", "2026-01-31T13:00:00.5Z")]
    plan = decide(objects)
    (blocker,) = entry(plan, "default/a")["blockers"]
    assert verdict(plan, "default/a") == "Waiting"
    assert (blocker["category"], blocker["detail"]) == ("Gated", {"notBefore": "2026-01-31T13:00:01Z"})
    assert plan["wakeAt"] == "2026-01-31T13:00:01Z"
    assert seated(decide(objects, now=plan["wakeAt"])) == ["a"]


def test_it_keeps_nothing_from_others() -> None:
    waits = held("a", "2026-01-31T13:00:00Z", priority=9, created=1)
    assert seated(decide([node("n1", cpu=1), waits, plain("b", priority=0)])) == ["b"]
    plan = decide([node("n1", cpu=1), waits, plain("b", priority=0, node="n1")])
    assert not plan["evictions"]
    assert not plan["nominations"]


def test_a_gang_waits_for_the_last_of_its_members() -> None:
    marks = [{NOT_BEFORE: "2026-01-31T13:00:00Z"}, {NOT_BEFORE: "2026-01-31T14:00:00Z"}, {}]
    group = {"maitred.dev/group": "g", "maitred.dev/min-count": "2"}
    members = [pod(f"g-{n}", 1, annotations=one, labels=group) for n, one in enumerate(marks)]
    plan = decide([node("n1", cpu=4), *members])
    assert not seated(plan)
    assert plan["wakeAt"] == "2026-01-31T14:00:00Z"


def test_what_comes_behind_it_is_told() -> None:
    plan = decide([node("n1", cpu=1), pod("a", 4, annotations={NOT_BEFORE: "2026-01-31T13:00:00Z"})])
    assert [one["category"] for one in entry(plan, "default/a")["blockers"]] == ["Gated", "Request"]


def test_a_class_of_priority_makes_no_way_past_it() -> None:
    high = priority_class("high", 1000)
    waits = held("a", "2026-01-31T13:00:00Z", priority_class="high")
    assert not decide([high, node("n1", cpu=1), plain("b", node="n1"), waits])["evictions"]
