"""Evictions so that another group finds room: only who was asked to, all together, and in time."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime

import pytest

from maitred.verify import verify
from tests.decide.draining import NOW, gang, make_room
from tests.decide.test_making_room import BIG, NODES, ROOM, SMALL
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

CLUSTER = [*NODES, *SMALL, *BIG, ROOM]


def breaches(objects: list[Obj], plan: Obj, now: str = NOW) -> list[str]:
    return [f"{one.law} {one.message}" for one in verify(objects, plan, now=datetime.fromisoformat(now))]


def changed(plan: Obj, change: Callable[[Obj], object]) -> Obj:
    found = deepcopy(plan)
    change(found)
    return found


def test_what_the_engine_decides_is_right() -> None:
    plan = decide(CLUSTER, now=NOW)
    assert plan["evictions"]
    assert breaches(CLUSTER, plan) == []


@pytest.mark.parametrize(("gpu", "moves"), [(4, 0), (2, 1)])
def test_who_ranks_between_the_two_has_its_place_first(gpu: int, moves: int) -> None:
    later = b.pod("later", gpu=gpu, priority=5, created=60)
    big = [b.pod_group("big", 2, priority=10), *b.pods("big", 2, gpu=8, group="big", priority=10)]
    small = gang("n2", name="small", gpu=2, annotations={"maitred.dev/min-runtime": "10m"})
    cluster = [*NODES, *small, *big, later, ROOM]
    plan = decide(cluster, {"preemption": {"mode": "never"}}, now=NOW)
    assert len(plan["evictions"]) == moves
    assert {one["pod"] for one in plan["binds"]} == {"default/later"}
    found = verify(cluster, plan, {"preemption": {"mode": "never"}}, now=datetime.fromisoformat(NOW))
    assert found == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda plan: plan["nominations"].clear(), "4 evicted for maintenance, but default/big is promised"),
        (lambda plan: plan["holds"].clear(), "4 evicted for maintenance, but room for 0 of 2 is kept for it"),
        (lambda plan: plan["evictions"][0].update({"for": "drain/room"}), "there is no request drain/room"),
    ],
)
def test_a_plan_that_breaks_the_rules_is_found_out(change: Callable[[Obj], object], told: str) -> None:
    cluster = [*NODES, *gang("n2", "n2", name="small", gpu=2), *BIG, ROOM]
    plan = changed(decide(cluster, now=NOW), change)
    assert any(told in one for one in breaches(cluster, plan))


@pytest.mark.parametrize(
    ("cluster", "now", "told"),
    [
        ([*NODES, *SMALL, *BIG], NOW, "there is no request defrag/room"),
        (
            [*NODES, *SMALL, *BIG, make_room(("default/big", "default/other"))],
            NOW,
            "it is not one of defrag/room",
        ),
        (
            [*NODES, *SMALL, *BIG, make_room(("default/big", "default/small", "default/more"))],
            NOW,
            "not all leave that make room together",
        ),
        (CLUSTER, "2026-01-31T14:00:01Z", "it is not the time of a checkpoint"),
        (
            [
                *NODES,
                *gang("n2", name="small", gpu=2, annotations={"maitred.dev/non-preemptible": "true"}),
                *BIG,
                ROOM,
            ],
            NOW,
            "it is protected",
        ),
        ([*NODES, *gang("n2", name="small", gpu=2, owner=None), *BIG, ROOM], NOW, "no controller would"),
    ],
)
def test_an_eviction_that_does_not_belong_to_the_cluster(cluster: list[Obj], now: str, told: str) -> None:
    plan = decide(CLUSTER, now=NOW)
    assert any(told in one for one in breaches(cluster, plan, now))
