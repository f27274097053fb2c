"""Run-time limits of queues: who may be in them, and which deadlines Jobs get so that groups end in time."""

from datetime import datetime
from typing import Any

import pytest

from maitred.model.runtime import MAX_RUNTIME, SET_DEADLINE
from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide

HOUR = 3600
SPEC: Obj = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
MADE, BEGUN = "2026-01-31T08:00:00Z", "2026-01-31T11:00:00Z"
"""When the Job was created, and when its pods were accepted by their node."""


def policy(**runtime: Any) -> Obj:
    return {"queues": [{"name": "default", "runtime": {"enforce": True, **runtime}}]}


def job(name: str = "j", marks: Obj | None = None, started: str | None = MADE, **spec: Any) -> Obj:
    made = b.owner_object("batch/v1", "Job", name, "default", {**SPEC, **spec}, annotations=marks)
    made["status"] = {} if started is None else {"startTime": started}
    return made


def pods(name: str = "j", on: str | None = "n1", begun: str | None = BEGUN, size: int = 2) -> list[Obj]:
    found = [b.pod(f"{name}-{i}", cpu=1, owner=f"Job/{name}", index=i, node=on) for i in range(size)]
    for pod in found if on and begun else ():
        pod["status"]["startTime"] = begun
    return found


def deadlines(policy: Obj, *objects: Obj) -> dict[str, int | None]:
    plan = decide([b.node("n1"), *objects], policy, NOON)
    assert not plan["evictions"]
    assert judged(plan, policy, *objects) == []
    return {one["job"]: one["seconds"] for one in plan["deadlines"]}


def judged(plan: Obj, policy: Obj, *objects: Obj) -> list[str]:
    """What an independent checker has to say."""
    faults = verify([b.node("n1"), *objects], plan, policy, None, datetime.fromisoformat(NOON))
    return [fault.message for fault in faults]


def test_the_deadline_is_the_wait_and_the_limit() -> None:
    """The Job waited for three hours, and its clock was running."""
    assert deadlines(policy(default="4h"), job(), *pods()) == {"default/j": 7 * HOUR}
    asked = job(marks={MAX_RUNTIME: "90m"})
    assert deadlines(policy(default="4h"), asked, *pods()) == {"default/j": 4.5 * HOUR}
    assert deadlines(policy(most="2h"), job(), *pods()) == {"default/j": 5 * HOUR}


def test_the_plan_says_whose_word_it_is() -> None:
    plan = decide([b.node("n1"), job(), *pods()], policy(default="4h"), NOON)
    (found,) = plan["deadlines"]
    assert found["group"] == "default/j"
    assert found["ends"] == "2026-01-31T15:00:00Z"
    assert found["said"] == "default"
    assert found["uid"] == "job-j"


def test_once_it_is_set_nothing_is_left_to_do() -> None:
    done = job(marks={SET_DEADLINE: str(7 * HOUR)}, activeDeadlineSeconds=7 * HOUR)
    assert deadlines(policy(default="4h"), done, *pods()) == {}


@pytest.mark.parametrize(("own", "expected"), [(6 * HOUR, {}), (8 * HOUR, {"default/j": 7 * HOUR})])
def test_a_deadline_of_the_user_is_made_earlier_and_never_later(own: int, expected: dict[str, int]) -> None:
    assert deadlines(policy(default="4h"), job(activeDeadlineSeconds=own), *pods()) == expected


def test_marks_that_claim_a_deadline_for_us_lift_no_limit() -> None:
    forged = job(marks={SET_DEADLINE: "999999"}, activeDeadlineSeconds=999_999)
    assert deadlines(policy(default="4h"), forged, *pods()) == {"default/j": 7 * HOUR}


def test_members_that_are_made_anew_do_not_begin_anew() -> None:
    set_before = job(marks={SET_DEADLINE: str(7 * HOUR)}, activeDeadlineSeconds=7 * HOUR)
    late = pods(begun="2026-01-31T11:59:00Z")
    assert deadlines(policy(default="4h"), set_before, *late) == {}


def test_a_deadline_of_ours_is_taken_back_where_the_group_waits_again() -> None:
    waits = pods(on=None)
    soon = str(5 * HOUR)
    ours = job(marks={SET_DEADLINE: soon}, activeDeadlineSeconds=5 * HOUR)
    full = b.pod("full", cpu=8, node="n1", priority=9)
    assert deadlines(policy(), full, ours, *waits) == {"default/j": None}
    theirs = job(marks={SET_DEADLINE: soon}, activeDeadlineSeconds=6 * HOUR)
    assert deadlines(policy(), full, theirs, *waits) == {}
    over = job(marks={SET_DEADLINE: "900"}, activeDeadlineSeconds=900)
    assert deadlines(policy(), full, over, *waits) == {}, "Kubernetes ends it by now"
    assert deadlines(policy(), full, ours) == {}, "none of its pods waits"
    suspended = job(marks={SET_DEADLINE: soon}, activeDeadlineSeconds=5 * HOUR, suspend=True)
    assert deadlines(policy(), full, suspended) == {}


@pytest.mark.parametrize(
    "left",
    [
        [job(), *pods(begun=None)],  # nobody knows when it started
        [job(started=None), *pods()],  # its clock does not run
        [job(parallelism=2, completions=9), *pods()],  # its pods come one after the other
        [job(managedBy="example.com/other"), *pods()],
        [*pods()],  # its Job is not known
        [b.pod("lone", cpu=1, node="n1", annotations={MAX_RUNTIME: "1h"})],
    ],
)
def test_what_no_deadline_of_a_job_could_end_is_left_alone(left: list[Obj]) -> None:
    assert deadlines(policy(default="1m"), *left) == {}


def test_a_job_with_one_pod_is_ended_too() -> None:
    one = job(parallelism=None, completions=None, completionMode="NonIndexed")
    assert deadlines(policy(default="4h"), one, *pods(size=1)) == {"default/j": 7 * HOUR}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"seconds": 7 * HOUR - 60}, "ends after 25140 s, and its limit is over after 25200 s"),
        ({"seconds": 9 * HOUR}, "ends after 32400 s, and its limit is over after 25200 s"),
        ({"seconds": None}, "loses a deadline that somebody else has set"),
        ({"uid": "another"}, "is given a deadline, and there is no such Job"),
        (None, "runs in a queue that enforces limits, and does not end with its limit"),
    ],
)
def test_verify_finds_deadlines_that_are_wrong(change: Obj | None, fault: str) -> None:
    known = [job(), *pods()]
    plan = decide([b.node("n1"), *known], policy(default="4h"), NOON)
    assert judged(plan, policy(default="4h"), *known) == []
    plan["deadlines"] = [] if change is None else [{**plan["deadlines"][0], **change}]
    assert judged(plan, policy(default="4h"), *known) == [fault]


def test_verify_finds_deadlines_that_nobody_asked_for() -> None:
    known = [job(), *pods()]
    plan = decide([b.node("n1"), *known], policy(default="4h"), NOON)
    found = judged(plan, policy(default="4h", enforce=False), *known)
    assert found == ["is given a deadline, and no queue says that it ends"]


def test_all_jobs_of_a_group_end_with_it() -> None:
    """They count from their own starts."""
    marks = {"maitred.dev/group": "both", "maitred.dev/min-count": "4"}
    first, second = pods("j"), pods("k", begun="2026-01-31T11:30:00Z")
    for pod in (*first, *second):
        pod["metadata"]["annotations"] = marks
    later = job("k", started="2026-01-31T10:00:00Z")
    found = deadlines(policy(default="4h"), job("j"), later, *first, *second)
    assert found == {"default/j": 7 * HOUR, "default/k": 5 * HOUR}


def test_where_queues_do_not_enforce_nothing_is_set() -> None:
    known = [job(), *pods()]
    assert deadlines(policy(default="4h", enforce=False), *known) == {}
    assert decide([b.node("n1"), *known])["deadlines"] == []


def test_other_schedulers_pods_are_left_alone() -> None:
    plan = decide([b.node("n1"), job(), *pods()], policy(default="4h"), NOON, scheduler="ours")
    assert plan["deadlines"] == []


def test_who_gets_places_now_is_looked_at_soon() -> None:
    objects = [b.node("n1"), job(), *pods(on=None)]
    assert decide(objects, policy(default="4h"), NOON)["wakeAt"] == "2026-01-31T12:00:05Z"
    assert decide(objects, policy(enforce=False, default="4h"), NOON)["wakeAt"] is None


def verdict(policy: Obj, *objects: Obj) -> tuple[str, str]:
    plan = decide([b.node("n1"), *objects], policy, NOON)
    assert judged(plan, policy, *objects) == []
    (found,) = plan["groups"]
    return found["verdict"], " ".join(one["message"] for one in found["blockers"])


def test_who_asks_for_more_than_the_queue_allows_is_invalid_and_told_what_to_change() -> None:
    limits = {"queues": [{"name": "top", "runtime": {"most": "1d"}}, {"name": "default", "parent": ""}]}
    limits["queues"].append({"name": "deep", "parent": "top"})
    asks = job(marks={MAX_RUNTIME: "25h", "maitred.dev/queue": "deep"})
    assert verdict(limits, asks, *pods(on=None)) == (
        "Invalid",
        "maitred.dev/max-runtime asks for 1d1h, and queue top allows 1d at most; set it to 1d or less, or "
        "name a queue that allows more",
    )
    assert verdict(limits, job(marks={MAX_RUNTIME: "25h"}), *pods(on=None))[0] == "Scheduled"
    fits = job(marks={MAX_RUNTIME: "24h", "maitred.dev/queue": "deep"})
    assert verdict(limits, fits, *pods(on=None))[0] == "Scheduled"


def test_a_job_that_waits_is_told_that_its_clock_runs() -> None:
    full = b.pod("full", cpu=8, node="n1")
    two_hours = job(started="2026-01-31T11:00:00Z", activeDeadlineSeconds=2 * HOUR)
    plan = decide([b.node("n1"), full, two_hours, *pods(on=None)], None, NOON)
    (first, *_) = plan["groups"][0]["blockers"]
    assert first["message"].endswith(
        "; its Job ends at 2026-01-31T13:00:00Z, started or not, because activeDeadlineSeconds counts while "
        "it waits; set maitred.dev/max-runtime instead, or suspend the Job until there is room"
    )
    assert first["detail"]["deadline"] == "2026-01-31T13:00:00Z"
    two_hours["metadata"]["annotations"] = {"maitred.dev/expected-runtime": "90m"}
    plan = decide([b.node("n1"), full, two_hours, *pods(on=None)], None, NOON)
    (first, *_) = plan["groups"][0]["blockers"]
    assert "to run for 1h30m it must start by 2026-01-31T11:30:00Z; set" in first["message"]
    suspended = job(started=None, activeDeadlineSeconds=2 * HOUR)
    plan = decide([b.node("n1"), full, suspended, *pods(on=None)], None, NOON)
    assert "activeDeadlineSeconds" not in plan["groups"][0]["blockers"][0]["message"]


def alone(name: str, begun: str | None = BEGUN, **fields: Any) -> Obj:
    pod = b.pod(name, cpu=1, node="n1", **fields)
    pod["status"] |= {} if begun is None else {"startTime": begun}
    return pod


def of_pods(rules: Obj, *objects: Obj) -> dict[str, int]:
    plan = decide([b.node("n1"), *objects], rules, NOON)
    assert judged(plan, rules, *objects) == []
    assert [one["job"] for one in plan["deadlines"] if one["pod"]] == [""] * len(plan["deadlines"])
    return {one["pod"]: one["seconds"] for one in plan["deadlines"]}


PODS = policy(default="4h", enforcePods=True)


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        (alone("p"), 4 * HOUR),
        (alone("p", annotations={MAX_RUNTIME: "90m"}), 1.5 * HOUR),
        (alone("p", spec={"activeDeadlineSeconds": 9 * HOUR}), 4 * HOUR),
        (alone("p", spec={"activeDeadlineSeconds": HOUR}), None),
        (alone("p", spec={"activeDeadlineSeconds": 4 * HOUR}), None),
        (alone("p", begun=None), None),
        (alone("p", owner="ReplicaSet/web"), None),
        (alone("p", owner="DaemonSet/agent"), None),
        (alone("p", namespace="kube-system"), None),
        (alone("p", deleted=True), None),
    ],
)
def test_a_pod_that_nobody_controls_gets_its_limit_as_deadline(pod: Obj, seconds: int | None) -> None:
    key = f"{pod['metadata']['namespace']}/p"
    assert of_pods(PODS, pod) == ({} if seconds is None else {key: seconds})
    assert of_pods(policy(default="4h"), pod) == {}, "only where the queue says so"


def test_the_pods_of_a_gang_end_together() -> None:
    """The limit counts from the first. Who is made anew later has less time."""
    gang = [b.pod_group("g", 2), alone("a", group="g"), alone("b", "2026-01-31T11:30:00Z", group="g")]
    assert of_pods(PODS, *gang) == {"default/a": 4 * HOUR, "default/b": 3.5 * HOUR}
    over = [*gang[:2], alone("b", "2026-01-31T11:59:00Z", group="g")]
    rules = policy(default="30m", enforcePods=True)
    assert of_pods(rules, *over) == {"default/a": 1800, "default/b": 1}
    over[2]["spec"]["activeDeadlineSeconds"] = 1
    assert of_pods(rules, *over) == {"default/a": 1800}, "who came too late cannot end any earlier"
    mixed = [*gang, alone("c", group="g", owner="ReplicaSet/web")]
    assert of_pods(PODS, *mixed) == {}, "whoever controls it would make another one"


def test_verify_finds_pods_that_do_not_end_with_their_limits() -> None:
    plan = decide([b.node("n1"), alone("p")], PODS, NOON)
    said = "default/p"
    assert judged({**plan, "deadlines": []}, PODS, alone("p")) == [
        "runs in a queue that enforces limits, and does not end with its limit"
    ]
    assert judged(plan, policy(default="4h"), alone("p")) == [
        "is given a deadline, and no queue says that it ends"
    ]
    later = [{**plan["deadlines"][0], "seconds": 5 * HOUR}]
    (fault,) = judged({**plan, "deadlines": later}, PODS, alone("p"))
    assert (fault, said) == ("ends after 18000 s, and its limit is over after 14400 s", later[0]["pod"])


def test_a_hold_may_count_on_it_before_the_pod_has_started() -> None:
    """Whoever ends before the hold begins may start now."""
    first = b.pod("first", cpu=4, node="n1", spec={"activeDeadlineSeconds": 3 * HOUR})
    first["status"]["startTime"] = BEGUN
    objects = [
        b.node("n1", cpu=6),
        first,
        b.pod("large", cpu=6, created="2026-01-31T10:00:00Z"),
        b.pod("small", cpu=1, created=BEGUN, annotations={MAX_RUNTIME: "1h"}),
    ]
    for pods, starts in ((True, ["default/small"]), (False, [])):
        rules = {**policy(default="9h", enforcePods=pods), "holds": {"depth": 1}}
        plan = decide(objects, rules, NOON)
        assert [bind["pod"] for bind in plan["binds"]] == starts
        found = verify(objects, plan, rules, None, datetime.fromisoformat(NOON))
        assert [one.message for one in found] == []


def test_a_job_that_has_had_its_time_is_no_end_for_a_pod_that_starts_now() -> None:
    """Its controller may be late. Otherwise the pod could take the place that is held for another."""
    first = b.pod("first", cpu=4, node="n1", spec={"activeDeadlineSeconds": 3 * HOUR})
    first["status"]["startTime"] = BEGUN
    late = job(activeDeadlineSeconds=60, parallelism=1, completions=1)
    (small,) = pods(on=None, size=1)
    large = b.pod("large", cpu=6, created="2026-01-31T10:00:00Z")
    objects = [b.node("n1", cpu=6), first, large, late, small]
    rules = {"holds": {"depth": 1}}
    plan = decide(objects, rules, NOON)
    assert plan["binds"] == []
    assert [one.message for one in verify(objects, plan, rules, None, datetime.fromisoformat(NOON))] == []


def test_what_another_controller_manages_has_no_end_that_anybody_keeps() -> None:
    full = b.pod("full", cpu=8, node="n1")
    theirs = job(started=BEGUN, activeDeadlineSeconds=2 * HOUR, managedBy="example.com/other")
    plan = decide([b.node("n1"), full, theirs, *pods(on=None)], None, NOON)
    assert "deadline" not in plan["groups"][0]["blockers"][0]["detail"]


def test_verify_finds_groups_that_are_placed_although_they_ask_for_too_much() -> None:
    asks = [job(marks={MAX_RUNTIME: "25h"}), *pods(on=None)]
    plan = decide([b.node("n1"), *asks], None, NOON)
    found = judged(plan, policy(most="1d", enforce=False), *asks)
    assert found == ["gets places, and asks for a longer run time than its queue allows"]
    fits = decide([b.node("n1"), *asks], policy(most="1d"), NOON)
    (fault,) = judged(fits, policy(most="26h"), *asks)
    assert fault == "Invalid, but nothing in the objects makes it so"


@pytest.mark.parametrize("absurd", ["-5h", "0", "9" * 40, "1e6h", "soon", "inf"])
def test_a_limit_that_cannot_be_read_is_told_and_evicts_nobody(absurd: str) -> None:
    asks = job(marks={MAX_RUNTIME: absurd})
    plan = decide([b.node("n1"), asks, *pods(on=None)], policy(most="1h"), NOON)
    assert [one["verdict"] for one in plan["groups"]] == ["Scheduled"]
    (warning,) = plan["warnings"]
    assert MAX_RUNTIME in warning
    assert "counts for nothing" in warning
    assert deadlines(policy(most="1h"), asks, *pods()) == {"default/j": 4 * HOUR}
