"""Whose turn it is between queues: the rules that the policy lists, and who has waited for long."""

import pytest

from maitred.decide.agenda import rules_of
from maitred.explain.why.comparing import compare
from maitred.explain.why.why import why
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, policy_of

QUEUES: list[Obj] = [
    {"name": "busy", "limits": [{"resource": b.GPU, "guarantee": 0}]},
    {"name": "idle", "limits": [{"resource": b.GPU, "guarantee": 0}]},
]


def asks(name: str, queue: str, created: str, **fields: object) -> Obj:
    return b.pod(name, gpu=1, created=created, annotations={"maitred.dev/queue": queue}, **fields)  # type: ignore[arg-type]


def cluster(*waiting: Obj, free: int = 1) -> list[Obj]:
    """The queue busy has three devices, and so many are free."""
    running = [asks(f"r{n}", "busy", "2026-01-30T00:00:00Z", node="n") for n in range(3)]
    return [b.node("n", gpu=3 + free), *running, *waiting]


OLD, NEW = asks("old", "busy", "2026-01-31T06:00:00Z"), asks("new", "idle", "2026-01-31T11:00:00Z")


@pytest.mark.parametrize(
    ("order", "wait", "first", "rule"),
    [
        ("priority", "none", "new", "share of the queue"),
        (["priority", "age"], "none", "old", "age"),
        (["priority", "age", "fair-share"], "none", "old", "age"),
        ("priority", "6h1m", "new", "share of the queue"),
        ("priority", "6h", "old", "has waited for long"),
    ],
)
def test_the_rule_that_decides_is_the_one_that_answers_name(
    order: str | list[str], wait: str, first: str, rule: str
) -> None:
    policy: Obj = {"queues": QUEUES, "order": order, "fairShare": {"longestWait": wait}}
    objects = cluster(OLD, NEW)
    assert [bind["pod"] for bind in decide(objects, policy, NOON)["binds"]] == [f"default/{first}"]
    answer = compare(situation_of(objects, policy=policy), "default/old", "default/new")
    (point,) = (point for point in answer.points if point.decides)
    assert (point.rule, point.first) == (rule, "group" if first == "old" else "other")


def test_of_two_who_have_waited_for_long_the_one_that_has_waited_longer_goes_first() -> None:
    policy: Obj = {"queues": QUEUES, "fairShare": {"longestWait": "1h"}}
    assert [bind["pod"] for bind in decide(cluster(NEW, OLD), policy, NOON)["binds"]] == ["default/old"]


def test_who_was_evicted_has_not_waited_while_it_ran() -> None:
    """Its owner is older than all others, and its pod was created anew."""
    again = asks("again", "busy", "2026-01-31T11:30:00Z", owner="Job/again")
    job = b.job("again", 1)
    job["metadata"]["creationTimestamp"] = "2026-01-20T00:00:00Z"
    policy: Obj = {"queues": QUEUES, "fairShare": {"longestWait": "1h"}}
    assert [bind["pod"] for bind in decide([*cluster(again, NEW), job], policy, NOON)["binds"]] == [
        "default/new"
    ]


def test_who_has_waited_for_long_evicts_nobody_for_it() -> None:
    policy: Obj = {"queues": QUEUES, "fairShare": {"longestWait": "1h", "reclaim": True}}
    plan = decide(cluster(OLD, free=0), policy, NOON)
    assert plan["evictions"] == []


def test_why_counts_who_is_ahead_by_it() -> None:
    policy: Obj = {"queues": QUEUES, "fairShare": {"longestWait": "6h"}}
    answer = why(situation_of(cluster(OLD, NEW), policy=policy), "default/new")
    assert answer.queue is not None
    assert answer.queue.rules == {"waited": 1}


def test_only_rules_that_can_decide_are_compared() -> None:
    assert rules_of(policy_of({})) == ["priority", "rotation", "promised", "measure", "age", "name"]
    listed = policy_of({"queues": QUEUES, "order": ["age", "fair-share"]})
    rules = ["entitled", "rotation", "promised", "override", "age", "fair-share", "measure", "name"]
    assert rules_of(listed) == rules


def test_what_one_queue_gets_counts_for_the_queues_beside_it() -> None:
    """The share of what is above them has grown, though nothing has changed in the other queue itself."""
    limits = [{"resource": b.GPU, "guarantee": 0}]
    policy: Obj = {
        "queues": [
            {"name": "left", "limits": limits},
            {"name": "left-a", "parent": "left"},
            {"name": "left-b", "parent": "left"},
            {"name": "right", "limits": limits},
        ]
    }
    waiting = [
        asks("first", "left-a", "2026-01-31T06:00:00Z"),
        asks("second", "left-b", "2026-01-31T07:00:00Z"),
        asks("third", "right", "2026-01-31T08:00:00Z"),
    ]
    plan = decide([b.node("n", gpu=2), *waiting], policy, NOON)
    assert {bind["pod"] for bind in plan["binds"]} == {"default/first", "default/third"}
