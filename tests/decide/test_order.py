"""Whose turn it is: priority, then quorums and late members by age, then surplus. One contested node."""

from datetime import UTC, datetime
from itertools import islice, permutations
from typing import Any

import pytest

from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.model.policy import Policy
from tests.decide.reading import entry, first, seated, verdict
from tests.explain.applying import remedied
from tests.oracle.builders import Obj, job, moment, node, pod, pod_group, pods, priority_class
from tests.support import decide, snapshot_of


def one_node(cpu: int) -> Obj:
    return node("n1", cpu=cpu)


def gang(name: str, count: int, min_count: int | None, created: int, **more: Any) -> list[Obj]:
    """A PodGroup and its members, all of one age."""
    members = pods(name, count, 1, group=name, created=created, **more)
    return [pod_group(name, min_count, created=99), *members]


# Two lone pods, a and b, on a node for one: who gets it.
CONTESTS: dict[str, tuple[Obj, Obj, str]] = {
    "the higher priority, though younger": (
        pod("a", 1, created=1, priority=0),
        pod("b", 1, created=2, priority=1),
        "b",
    ),
    "none before a negative priority": (
        pod("a", 1, created=1, priority=-1),
        pod("b", 1, created=2),
        "b",
    ),
    "the older of one priority": (pod("a", 1, created=2), pod("b", 1, created=1), "b"),
    "the older even by a second of a long year": (
        pod("a", 1, created="2026-01-01T00:00:01Z"),
        pod("b", 1, created="2026-01-01T00:00:00Z"),
        "b",
    ),
    "the older by a fraction of a second": (
        pod("a", 1, created="2026-01-01T00:00:00.000002Z"),
        pod("b", 1, created="2026-01-01T00:00:00.000001Z"),
        "b",
    ),
    "the older, whatever the time zone it is written in": (
        pod("a", 1, created="2026-01-01T01:00:00Z"),
        pod("b", 1, created="2026-01-01T01:30:00+01:00"),
        "b",
    ),
    "of equal age the first by name": (pod("b", 1, created=1), pod("a", 1, created=1), "a"),
    "names are compared as text": (pod("a-10", 1, created=1), pod("a-9", 1, created=1), "a-10"),
    "the namespace comes first in a name": (
        pod("z", 1, created=1, namespace="a"),
        pod("a", 1, created=1, namespace="b"),
        "a/z",
    ),
    "the one with a creation time before one without": (pod("a", 1), pod("b", 1, created=9), "b"),
    "without creation times the first by name": (pod("b", 1), pod("a", 1), "a"),
}


@pytest.mark.parametrize(("one", "other", "winner"), CONTESTS.values(), ids=CONTESTS.keys())
def test_the_first_of_two_pods(one: Obj, other: Obj, winner: str) -> None:
    for objects in ([one_node(1), one, other], [other, one, one_node(1)]):
        assert seated(decide(objects)) == [winner]


def test_priority_comes_from_the_class() -> None:
    objects = [one_node(1), priority_class("high", 10), pod("a", 1, created=1)]
    assert seated(decide([*objects, pod("b", 1, created=2, priority_class="high")])) == ["b"]


def test_priority_comes_from_the_global_default() -> None:
    objects = [one_node(1), priority_class("usual", 10, default=True), pod("a", 1, created=1, priority=9)]
    assert seated(decide([*objects, pod("b", 1, created=2)])) == ["b"]


def test_a_number_in_the_spec_goes_before_the_class() -> None:
    objects = [one_node(1), priority_class("high", 10), pod("a", 1, created=1, priority=5)]
    assert seated(decide([*objects, pod("b", 1, created=2, priority_class="high", priority=1)])) == ["a"]


@pytest.mark.parametrize(("name", "value"), [("system-cluster-critical", 2), ("system-node-critical", 2)])
def test_system_classes_are_built_in(name: str, value: int) -> None:
    loud = pod("a", 1, created=1, priority=1_000_000_000)
    assert seated(decide([one_node(1), loud, pod("b", 1, created=value, priority_class=name)])) == ["b"]


def test_node_critical_goes_before_cluster_critical() -> None:
    cluster = pod("a", 1, created=1, priority_class="system-cluster-critical")
    assert seated(
        decide([one_node(1), cluster, pod("b", 1, created=2, priority_class="system-node-critical")])
    ) == ["b"]


def test_a_pod_group_without_a_priority_takes_that_of_its_members() -> None:
    objects = [one_node(2), *gang("young", 2, 2, 2, priority=5), *gang("old", 2, 2, 1)]
    assert seated(decide(objects)) == ["young-0", "young-1"]


def test_a_group_is_as_old_as_its_pod_group_if_that_is_older_than_its_members() -> None:
    objects = [
        one_node(1),
        pod_group("a", 1, created=1),
        pod("a-0", 1, group="a", created=3),
        pod_group("b", 1, created=9),
        pod("b-0", 1, group="b", created=2),
    ]
    assert seated(decide(objects)) == ["a-0"]
    assert seated(decide([o for o in objects if o["metadata"]["name"] != "a"])) == ["b-0"]


def test_pods_that_an_old_job_has_made_anew_keep_its_turn() -> None:
    old = job("a", 2, completions=2, completionMode="Indexed")
    old["metadata"]["creationTimestamp"] = moment(1)
    made_anew = pods("a", 2, 1, owner="Job/a", created=5)
    objects = [one_node(2), old, *made_anew, *gang("b", 2, 2, 3)]
    assert seated(decide(objects)) == ["a-0", "a-1"]
    old["metadata"]["creationTimestamp"] = moment(4)
    assert seated(decide(objects)) == ["b-0", "b-1"]


def test_the_age_of_a_group_is_that_of_its_oldest_member() -> None:
    objects = [
        one_node(2),
        pod_group("a", 2),
        pod("a-0", 1, group="a", created=1),
        pod("a-1", 1, group="a", created=9),
        *gang("b", 2, 2, 5),
    ]
    assert seated(decide(objects)) == ["a-0", "a-1"]


FORMER: dict[str, Obj] = {
    "succeeded": {"phase": "Succeeded"},
    "failed": {"phase": "Failed"},
    "succeeded and being deleted": {"phase": "Succeeded", "deleted": True},
    "running": {"node": "n2"},
    "terminating": {"node": "n2", "deleted": True},
}


@pytest.mark.parametrize("state", FORMER.values(), ids=FORMER.keys())
def test_members_that_no_longer_wait_make_a_group_old(state: Obj) -> None:
    objects = [
        one_node(1),
        node("n2", cpu=1, taints=["closed:NoSchedule"]),
        pod_group("a", 1),
        pod("a-0", 1, group="a", created=1, **state),
        pod("a-1", 1, group="a", created=9),
        *gang("b", 1, 1, 5),
    ]
    assert seated(decide(objects)) == ["a-1"]


def test_quorums_come_before_the_surplus_of_older_groups() -> None:
    """a has a quorum of 1 and two more members; b arrives later and needs both other seats."""
    objects = [one_node(3), *gang("a", 3, 1, 1), *gang("b", 2, 2, 2)]
    assert seated(decide(objects)) == ["a-0", "b-0", "b-1"]


def test_surplus_comes_before_the_quorums_of_lower_priority() -> None:
    objects = [one_node(3), *gang("a", 3, 1, 2, priority=1), *gang("b", 2, 2, 1)]
    plan = decide(objects)
    assert seated(plan) == ["a-0", "a-1", "a-2"]
    assert (verdict(plan, "b"), first(plan, "b")) == ("Waiting", "Priority")


def test_surplus_goes_by_age() -> None:
    objects = [one_node(3), *gang("b", 3, 1, 1), *gang("a", 3, 1, 2)]
    assert seated(decide(objects)) == ["a-0", "b-0", "b-1"]


def test_the_pods_of_a_basic_group_beyond_the_first_are_surplus() -> None:
    objects = [one_node(3), *gang("a", 3, None, 1), *gang("b", 2, 2, 2)]
    assert seated(decide(objects)) == ["a-0", "b-0", "b-1"]


def test_late_members_of_an_older_group_come_before_younger_quorums() -> None:
    """The late members are young themselves, but their group is old and its quorum runs already."""
    objects = [
        one_node(3),
        *gang("a", 1, 1, 1, node="n1"),
        *pods("a", 2, 1, group="a", start=1, created=8),
        *gang("b", 2, 2, 5),
    ]
    plan = decide(objects)
    assert seated(plan) == ["a-1", "a-2"]
    assert first(plan, "b") == "Priority"


def test_late_members_of_a_younger_group_come_after_older_quorums() -> None:
    objects = [
        one_node(3),
        *gang("a", 1, 1, 5, node="n1"),
        *pods("a", 2, 1, group="a", start=1, created=8),
        *gang("b", 2, 2, 2),
    ]
    assert seated(decide(objects)) == ["b-0", "b-1"]


def test_late_members_come_before_surplus() -> None:
    objects = [
        one_node(3),
        *gang("young", 1, 1, 5, node="n1"),
        *pods("young", 1, 1, group="young", start=1, created=8),
        *gang("old", 2, 1, 1),
    ]
    assert seated(decide(objects)) == ["old-0", "young-1"]


def test_a_quorum_that_runs_in_part_is_a_quorum_still_to_seat() -> None:
    """One of two runs: the second is quorum, the third surplus, and a younger quorum comes between."""
    objects = [
        one_node(3),
        *gang("a", 1, 2, 1, node="n1"),
        *pods("a", 2, 1, group="a", start=1, created=1),
        *gang("b", 1, 1, 2),
    ]
    assert seated(decide(objects)) == ["a-1", "b-0"]


BLOCKED: dict[str, list[Obj]] = {
    "too large": gang("a", 4, 4, 1),
    "gated": gang("a", 2, 2, 1, gates=["example.com/wait"]),
    "incomplete": gang("a", 1, 2, 1),
    "invalid": [*gang("a", 1, 2, 1), pod("a-x", 1, group="a", scheduler="other")],
    "without its PodGroup": pods("a", 2, 1, group="a", created=1),
    "kept from the node": gang("a", 2, 2, 1, where={"disk": "ssd"}),
    "asking for more than a node has": [pod("a", 9, created=1)],
}


@pytest.mark.parametrize("blocked", BLOCKED.values(), ids=BLOCKED.keys())
def test_a_blocked_group_does_not_block_others(blocked: list[Obj]) -> None:
    plan = decide([one_node(2), *blocked, *gang("b", 2, 2, 2)])
    assert seated(plan) == ["b-0", "b-1"]
    assert verdict(plan, "a") != "Scheduled"


def test_a_blocked_group_of_high_priority_does_not_block_others() -> None:
    plan = decide([one_node(3), *gang("a", 4, 4, 1, priority=9), *gang("b", 3, 3, 2)])
    assert seated(plan) == ["b-0", "b-1", "b-2"]


def test_a_group_seated_later_may_bring_the_company_that_an_earlier_one_seeks() -> None:
    """The older pod requires a neighbour that is only bound after its turn, in the same Plan."""
    seeker = pod(
        "a",
        1,
        created=1,
        affinity=[{"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "db"}}}],
    )
    plan = decide([node("n1", cpu=2, rack="r1"), seeker, pod("b", 1, created=2, labels={"app": "db"})])
    assert seated(plan) == ["a", "b"]


def test_the_order_of_the_input_never_matters() -> None:
    parts = [one_node(4), *gang("a", 2, 1, 1), *gang("b", 2, 2, 1)]
    plans = [decide(list(order)) for order in islice(permutations(parts), 0, None, 397)]
    assert all(plan == plans[0] for plan in plans)
    assert len(plans) > 10


# -- other orders ------------------------------------------------------------------------------------------

FIFO = {"order": "fifo"}


def test_first_come_first_served_whatever_the_priority() -> None:
    objects = [one_node(1), pod("a", 1, created=1, priority=0), pod("b", 1, created=2, priority=9)]
    assert seated(decide(objects, FIFO)) == ["a"]


def test_first_come_first_served_puts_surplus_behind_all_quorums() -> None:
    crew = gang("crew", 2, 1, created=1, priority=9)
    objects = [one_node(2), *crew, pod("late", 1, created=2, priority=0)]
    assert sorted(seated(decide(objects, FIFO))) == ["crew-0", "late"]


def test_a_remedy_counts_on_the_same_order() -> None:
    """`b` is behind `a`, though its priority is higher: a second node is for `b`."""
    objects = [one_node(1), pod("a", 1, created=1, priority=0), pod("b", 1, created=2, priority=9)]
    waiting = entry(remedied(objects, FIFO), "b")
    assert [blocker["category"] for blocker in waiting["blockers"]] == ["Priority"]
    assert any("1 node like n1" in remedy["change"] for remedy in waiting["remedies"])


MEASURED = [one_node(1), pod("a", 1, created=1), pod("b", 1, created=2), pod("c", 1, created=3, priority=-1)]


@pytest.mark.parametrize(
    ("measures", "winner"),
    [
        ({"a": 9.0, "b": 5.0}, "b"),
        ({"a": 5.0, "b": 5.0}, "a"),
        ({"b": 1e9}, "b"),
        ({}, "a"),
        ({"a": 9.0, "b": 5.0, "c": 1.0}, "b"),
    ],
    ids=[
        "the least",
        "the older of equals",
        "a known one before one unknown",
        "by age",
        "not across priorities",
    ],
)
def test_within_a_priority_by_measure(measures: dict[str, float], winner: str) -> None:
    known = {f"default/{name}": measure for name, measure in measures.items()}
    plan = decide_snapshot(
        snapshot_of(MEASURED), Policy(), datetime(2026, 2, 1, tzinfo=UTC), Scope(measures=known)
    )
    assert [bind.pod for bind in plan.binds] == [f"default/{winner}"]
