"""Nodes that are drained: who leaves when, to which places, and what is kept for them."""

from typing import Any

from tests.decide.draining import BY, NOW, again, bound, drain, gang, moved, node
from tests.oracle import builders as b
from tests.support import decide


def test_a_drained_node_takes_no_new_pods() -> None:
    plan = decide([node("n1"), b.pod("a", gpu=8), drain("n1")], now=NOW)
    assert not plan["binds"]
    assert plan["groups"][0]["blockers"][0]["category"] == "Health"
    assert "drain-1 until 2026-01-31T14:00:00Z" in plan["groups"][0]["blockers"][0]["message"]


def test_a_gang_leaves_whole_once_there_is_a_place_for_it() -> None:
    nodes = [node(f"n{i}") for i in range(1, 6)]
    plan = decide([*nodes, *gang("n1", "n2", "n3"), drain("n1")], now=NOW)
    assert sorted(one["pod"] for one in plan["evictions"]) == [f"default/train-{i}" for i in range(3)]
    assert {one["cause"] for one in plan["evictions"]} == {"Maintenance"}
    assert {one["for"] for one in plan["evictions"]} == {"drain/drain-1"}
    held = {one["node"]: one["pods"] for one in plan["holds"]}
    assert sum(held.values()) == 3
    assert "n1" not in held
    assert {one["cause"] for one in plan["holds"]} == {"Maintenance"}


def test_a_gang_without_a_place_stays_until_the_last_moment() -> None:
    cluster = [node("n1"), node("n2"), *gang("n1", "n2"), drain("n1")]
    assert not decide(cluster, now=NOW)["evictions"]
    late = decide(cluster, now="2026-01-31T13:59:31Z")
    assert len(late["evictions"]) == 2
    assert not late["holds"]
    assert "no place" in late["evictions"][0]["receipt"]["rule"]


def test_it_waits_for_its_checkpoint() -> None:
    nodes = [node("n1"), node("n2")]
    marks = {"maitred.dev/checkpoint-interval": "1h"}
    pods = gang("n1", started="2026-01-31T11:20:00Z", annotations=marks)
    before = decide([*nodes, *pods, drain("n1")], now=NOW)
    assert not before["evictions"]
    after = decide([*nodes, *pods, drain("n1")], now="2026-01-31T12:20:01Z")
    assert len(after["evictions"]) == 1
    assert after["evictions"][0]["receipt"]["workLostDeviceHours"] < 0.01


def test_the_next_cycle_keeps_the_room_while_its_pods_leave() -> None:
    nodes = [node(f"n{i}") for i in range(1, 4)]
    cluster = [*nodes, *gang("n1", "n2"), drain("n1"), b.pod("equal", gpu=8, created=50)]
    plan = decide(cluster, now=NOW)
    assert len(plan["evictions"]) == 2
    assert not plan["binds"]
    while_leaving = moved(again(cluster, plan), "Terminating")
    second = decide(while_leaving, now="2026-01-31T12:00:05Z")
    assert not second["binds"]
    assert not second["evictions"]
    assert sum(one["pods"] for one in second["holds"]) == 2
    back = moved(again(while_leaving, second), "Pending")
    third = decide(back, now="2026-01-31T12:00:40Z")
    assert {one["group"] for one in third["binds"]} == {"default/train"}


def test_what_nobody_makes_anew_stays() -> None:
    cluster: list[Any] = [node("n1"), node("n2"), b.pod("bare", gpu=8, node="n1")]
    assert not decide([*cluster, drain("n1")], now=NOW)["evictions"]
    plan = decide([*cluster, drain("n1", force=True)], now=NOW)
    assert bound(plan["evictions"]) == ["default/bare"]


def test_a_request_that_cannot_be_read_counts_for_nothing() -> None:
    broken = drain("n1")
    broken["data"]["record"] = '{"nodes": "n1"}'
    plan = decide([node("n1"), b.pod("a", gpu=8), broken], now=NOW)
    assert len(plan["binds"]) == 1
    assert any("drain-1 is ignored" in one for one in plan["warnings"])


def test_it_is_done_when_nobody_is_left() -> None:
    plan = decide([node("n1"), drain("n1")], now=NOW)
    assert plan["drains"][0]["done"]
    assert plan["drains"][0]["cordon"] == ["n1"]
    assert plan["drains"][0]["progress"]["done"] == NOW
    assert BY > NOW
