"""When those who must leave a node leave it: by what they say of their work."""

from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.decide.cycle import run
from maitred.decide.maintenance.timing import Timing
from tests.decide.draining import ASKED, NOW, bound, drain, gang, moved, node
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide, policy_of, snapshot_of

NODES = [node("n1"), node("n2")]
LAST = "13:59:30"
"""Half a minute before two o'clock, which is what pods get to leave."""


def timing(now: str = NOW, **more: Any) -> Timing:
    """Of a gang of one that has run since eleven and must leave until two o'clock."""
    snapshot = snapshot_of([*NODES, *gang("n1", **more), drain("n1")])
    [unit] = run(snapshot, policy_of(None), datetime.fromisoformat(now)).maintenance.movers
    return unit.timing


def at(found: Timing) -> str:
    return datetime.fromtimestamp(found.at / 1000, UTC).strftime("%H:%M:%S")


def marked(**marks: str) -> dict[str, Any]:
    return {"annotations": {f"maitred.dev/{name.replace('_', '-')}": text for name, text in marks.items()}}


@pytest.mark.parametrize(
    ("said", "when", "lost"),
    [
        ({"gpu": 0}, "12:00:00", 0),
        ({}, "12:00:00", 8),
        (marked(checkpoint_interval="25m"), "12:15:00", 0),
        (marked(checkpoint_interval="10h"), "12:00:00", 8),
        (marked(checkpoint_interval="30m"), "12:00:00", 0),
        (marked(last_checkpoint="2026-01-31T11:59:30Z"), "12:00:00", 0.0667),
        (marked(last_checkpoint="2026-01-31T11:30:00Z"), LAST, 19.9333),
        (marked(last_checkpoint="2026-01-31T11:30:00Z", checkpoint_interval="1h"), "12:30:00", 0),
        (marked(last_checkpoint="2026-01-31T11:30:00Z", checkpoint_interval="9h"), "12:00:00", 4),
        (marked(expected_runtime="90m"), LAST, 23.9333),
        (marked(expected_runtime="30h"), "12:00:00", 8),
        (marked(non_preemptible="true"), LAST, 23.9333),
        (marked(min_runtime="2h"), LAST, 23.9333),
        (marked(non_preemptible="true", checkpoint_interval="25m"), "12:15:00", 0),
    ],
)
def test_by_what_they_say(said: dict[str, Any], when: str, lost: float) -> None:
    found = timing(**said)
    assert at(found) == when, found.why
    assert found.lost == pytest.approx(lost, abs=0.001)
    assert found.is_due == (when == "12:00:00")
    assert not found.is_last


@pytest.mark.parametrize("mark", ["2027-01-01T00:00:00Z", "yesterday", ""])
def test_on_a_misunderstanding_nobody_leaves_early(mark: str) -> None:
    assert at(timing(**marked(last_checkpoint=mark))) == LAST


def test_at_the_last_moment_all_leave_whatever_they_say() -> None:
    found = timing("2026-01-31T13:59:30Z", **marked(non_preemptible="true"))
    assert found.is_last
    assert found.is_due


def test_a_longer_grace_is_an_earlier_last_moment() -> None:
    found = timing(**marked(non_preemptible="true"), spec={"terminationGracePeriodSeconds": 1800})
    assert at(found) == "13:30:00"


def web(number: int, **more: Any) -> Obj:
    return b.pod(f"web-{number}", cpu=1, labels={"app": "web"}, owner="ReplicaSet/web", node="n1", **more)


def test_budgets_are_kept_until_the_last_moment() -> None:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    meta = b.metadata("web", "default", {})
    status = {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}
    budget |= {"spec": spec, "status": status}
    cluster = [*NODES, web(1), web(2), web(3), budget, drain("n1")]
    assert bound(decide(cluster, now=NOW)["evictions"]) == ["default/web-1"]
    late = decide(cluster, now="2026-01-31T13:59:30Z")["evictions"]
    assert bound(late) == ["default/web-1", "default/web-2", "default/web-3"]
    assert late[0]["receipt"]["budgets"] == ["default/web"]


def test_pods_of_daemon_sets_stay_and_what_leaves_already_is_not_told_again() -> None:
    agent = b.pod("agent", cpu=1, owner="DaemonSet/agent", node="n1")
    plan = decide([*NODES, agent, *moved(gang("n1"), "Terminating"), drain("n1")], now=NOW)
    assert plan["evictions"] == []
    assert (plan["drains"][0]["left"], plan["drains"][0]["done"]) == (1, False)
    assert decide([*NODES, agent, drain("n1")], now=NOW)["drains"][0]["done"]


def test_the_rest_of_a_gang_on_other_nodes_may_stay_where_it_was() -> None:
    """Its own places count as free."""
    plan = decide([*NODES, node("n3"), *gang("n1", "n2"), drain("n1")], now=NOW)
    assert {one["node"]: one["pods"] for one in plan["holds"]} == {"n2": 1, "n3": 1}


def test_two_requests_for_one_node_the_earlier_counts() -> None:
    soon = drain("n1", name="soon", by="2026-01-31T12:00:20Z")
    plan = decide([node("n1"), *gang("n1"), drain("n1"), soon], now=NOW)
    assert {one["for"] for one in plan["evictions"]} == {"drain/soon"}


@pytest.mark.parametrize(
    "progress", ["not json", '{"moves": 3}', '{"moves": [{"unit": "a"}]}', "[" * 5000, '{"done": "soon"}']
)
def test_progress_that_cannot_be_read_is_as_if_nothing_had_begun(progress: str) -> None:
    request = drain("n1")
    request["data"]["progress"] = progress
    assert len(decide([*NODES, *gang("n1"), request], now=NOW)["evictions"]) == 1


@pytest.mark.parametrize(
    "record",
    [
        "",
        "null",
        "[]",
        "{}",
        f'{{"nodes": [], "by": "{NOW}", "asked": "{ASKED}"}}',
        f'{{"nodes": ["n1"], "label": "a", "by": "{NOW}", "asked": "{ASKED}"}}',
        f'{{"nodes": ["n1"], "by": "soon", "asked": "{ASKED}"}}',
        "x" * 1_000_000,
    ],
)
def test_requests_that_cannot_be_read_evict_nobody_and_are_named(record: str) -> None:
    request = drain("n1")
    request["data"]["record"] = record
    plan = decide([*NODES, *gang("n1"), request], now="2026-02-01T12:00:00Z")
    assert plan["evictions"] == []
    assert any("drain-1 is ignored" in one for one in plan["warnings"])


def test_a_request_in_another_namespace_is_none() -> None:
    request = drain("n1")
    request["metadata"]["namespace"] = "team-a"
    plan = decide([*NODES, *gang("n1"), request], now=NOW)
    assert plan["evictions"] == []
    assert plan["drains"] == []
