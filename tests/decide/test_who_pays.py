"""Who pays for what: from the bind to the release, and for what stands idle."""

from typing import Any

import pytest

from tests.decide.test_budgets import asks, bound, judged, policy, remembered, spending
from tests.oracle import builders as b
from tests.support import Obj, decide

# -- from bind to release --------------------------------------------------------------------------------


def bound_since(pod: Obj, bound: str, created: str = "2026-01-31T06:00:00Z", status: str = "True") -> Obj:
    """As the API server writes it down with the bind."""
    pod["metadata"]["creationTimestamp"] = created
    condition = {"type": "PodScheduled", "status": status, "lastTransitionTime": bound}
    return pod | {"status": pod.get("status", {}) | {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("bound", "started", "hours"),
    [
        ("2026-01-31T10:00:00Z", "2026-01-31T10:30:00Z", 2),
        ("2026-01-31T10:00:00Z", "", 2),
        ("2026-01-31T11:00:00Z", "2026-01-31T10:30:00Z", 1.5),
        ("2026-01-31T01:00:00Z", "2026-01-31T10:30:00Z", 6),
        ("2026-01-31T01:00:00Z", "", 6),
        ("2026-01-31T13:00:00Z", "", 0),
    ],
    ids=["bound", "not started", "after its start", "before it was made", "and not started", "in the future"],
)
def test_a_pod_pays_from_its_bind(bound: str, started: str, hours: float) -> None:
    """Whatever is written there: not before it was created, and not after it started."""
    running = bound_since(asks("r", 4, "20h", node="n", since=started), bound)
    objects = [b.node("n", gpu=8), running]
    plan = decide(objects, policy(1000))
    found = spending(plan) if plan["budgets"] and plan["budgets"]["queues"] else {"spent": 0.0}
    assert found["spent"] == 4 * hours
    assert judged(objects, plan, policy(1000)) == []


def test_its_limit_counts_from_its_start_all_the_same() -> None:
    running = asks("r", 4, "3h", node="n", since="2026-01-31T11:00:00Z")
    plan = decide([b.node("n", gpu=8), bound_since(running, "2026-01-31T10:00:00Z")], policy(100))
    assert (spending(plan)["spent"], spending(plan)["committed"]) == (8, 8)
    waits = bound_since(asks("r", 4, "3h", node="n"), "2026-01-31T10:00:00Z")
    plan = decide([b.node("n", gpu=8), waits], policy(100))
    assert (spending(plan)["spent"], spending(plan)["committed"]) == (8, 12)


def test_who_was_bound_and_starts_later_is_paid_once() -> None:
    """It was there when it was written down, and had not started."""
    kept = remembered("2026-01-31T11:50:00Z", team={"spent": 4.0, "rate": 4.0, "committed": 12.0})
    running = asks("r", 4, "3h", node="n", since="2026-01-31T11:55:00Z")
    objects = [b.node("n", gpu=8), bound_since(running, "2026-01-31T10:50:00Z"), kept]
    plan = decide(objects, policy(100))
    assert spending(plan)["spent"] == pytest.approx(4 + 4 / 6)
    assert judged(objects, plan, policy(100)) == []


# -- what stands idle ------------------------------------------------------------------------------------


def promised(name: str, gpus: int, node: str, **fields: Any) -> Obj:
    """A member of a gang of two, which is not complete: what it was promised stays free."""
    pod = asks(name, gpus, "1h", group="gang", **fields)
    return pod | {"status": {"nominatedNodeName": node}}


def test_what_stands_idle_for_a_group_is_paid_by_its_queue() -> None:
    """Five of eight devices are free by now; a minute ago it was two of them."""
    kept = remembered("2026-01-31T11:59:00Z", team={"spent": 10.0, "kept": 2.0, "idle": 1.0})
    leaving = b.pod("v", gpu=3, node="n")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:10Z"
    objects = [b.node("n", gpu=8), b.pod_group("gang", 2), promised("m0", 8, "n"), leaving, kept]
    plan = decide(objects, policy(100))
    found = spending(plan)
    assert (found["kept"], found["rate"]) == (5, 0)
    assert found["spent"] == pytest.approx(10 + 2 / 60)
    assert found["idle"] == pytest.approx(1 + 2 / 60)
    assert judged(objects, plan, policy(100)) == []


def test_once_nothing_stands_idle_that_is_over() -> None:
    kept = remembered("2026-01-31T11:59:30Z", team={"spent": 10.0, "kept": 4.0, "idle": 1.0})
    objects = [b.node("n", gpu=8), kept]
    plan = decide(objects, policy(100))
    found = spending(plan)
    assert (found["kept"], found["idle"]) == (0, 0)
    assert found["spent"] == pytest.approx(10 + 4 / 120)
    assert judged(objects, plan, policy(100)) == []


def test_what_nobody_has_seen_stand_idle_costs_no_more_than_now() -> None:
    kept = remembered("2026-01-31T11:00:00Z", team={"spent": 10.0, "kept": 4.0, "idle": 1.0})
    objects = [b.node("n", gpu=8), kept]
    assert spending(decide(objects, policy(100)))["spent"] == 10
    objects += [b.pod_group("gang", 2), promised("m0", 3, "n")]
    plan = decide(objects, policy(100))
    assert spending(plan)["spent"] == 13
    assert judged(objects, plan, policy(100)) == []


def test_what_it_cost_to_keep_places_keeps_nobody_from_taking_them() -> None:
    """Its two device-hours are all that is left, but for what was paid while it was waited for the places."""
    kept = remembered("2026-01-31T11:59:50Z", team={"spent": 98.5, "kept": 2.0, "idle": 0.5})
    objects = [b.node("n", gpu=2), b.pod_group("gang", 2), kept]
    gang = [promised("m0", 1, "n"), promised("m1", 1, "n")]
    plan = decide([*objects, *gang], policy(100))
    assert sorted(bound(plan)) == ["m0", "m1"]
    assert judged([*objects, *gang], plan, policy(100)) == []
    others = [asks("m0", 1, "1h", group="gang"), asks("m1", 1, "1h", group="gang")]
    assert bound(decide([*objects, *others], policy(100))) == []
    faults = " ".join(judged([*objects, *others], plan, policy(100)))
    assert "commits 2 device-hours to groups that start" in faults
