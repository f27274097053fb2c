"""Evictions for maintenance: only for requests, of whole groups, when their time has come."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from maitred.verify import verify
from tests.decide.draining import BY, NOW, again, drain, gang, moved, node
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

THREE = [node("n1"), node("n2"), node("n3")]
CLUSTER = [*THREE, *gang("n1", "n2"), drain("n1")]


def breaches(objects: list[Obj], plan: Obj, now: str = NOW) -> list[str]:
    return [
        f"{one.law} {one.subject}: {one.message}"
        for one in verify(objects, plan, now=datetime.fromisoformat(now))
    ]


@pytest.mark.parametrize("now", [NOW, "2026-01-31T13:59:40Z", BY])
def test_what_the_engine_decides_is_right(now: str) -> None:
    plan = decide(CLUSTER, now=now)
    assert plan["evictions"]
    assert breaches(CLUSTER, plan, now) == []


def test_so_it_is_while_the_gang_leaves_and_when_it_is_back() -> None:
    equal = b.pod("equal", gpu=8, created=50)
    cluster = [*CLUSTER, equal]
    first = decide(cluster, now=NOW)
    assert breaches(cluster, first) == []
    leaving = moved(again(cluster, first), "Terminating")
    second, later = decide(leaving, now="2026-01-31T12:00:05Z"), "2026-01-31T12:00:05Z"
    assert second["holds"]
    assert breaches(leaving, second, later) == []
    back = moved(again(leaving, second), "Pending")
    assert breaches(back, decide(back, now="2026-01-31T12:00:40Z"), "2026-01-31T12:00:40Z") == []


def test_a_pod_on_its_own_that_moves_goes_first() -> None:
    moving = b.pod("web", gpu=8, node="n1", owner="ReplicaSet/web", priority=5, created=1)
    cluster = [node("n1"), node("n2"), moving, drain("n1"), b.pod("later", gpu=8, created=50)]
    plan = decide(cluster, now=NOW)
    [told] = [one for one in plan["groups"] if one["group"] == "default/later"]
    assert told["blockers"][0]["detail"]["ahead"] == ["default/web"]
    assert breaches(cluster, plan) == []


def test_nodes_of_a_request_take_no_new_pods() -> None:
    cluster = [node("n1"), b.pod("a", gpu=8), drain("n1")]
    plan = decide(cluster, now=NOW)
    assert breaches(cluster, plan) == []
    opened = decide([node("n1"), b.pod("a", gpu=8)], now=NOW)
    assert any(
        "cordon" in one or "taint" in one or "unschedulable" in one for one in breaches(cluster, opened)
    )


def without_request(objects: list[Obj], plan: Obj) -> None:
    objects[:] = [one for one in objects if one["kind"] != "ConfigMap"]


def of_another(objects: list[Obj], plan: Obj) -> None:
    for one in plan["evictions"]:
        one["for"] = "drain/other"


def in_part(objects: list[Obj], plan: Obj) -> None:
    del plan["evictions"][0]


def without_room(objects: list[Obj], plan: Obj) -> None:
    plan["holds"] = []


def before_its_checkpoint(objects: list[Obj], plan: Obj) -> None:
    for one in objects:
        if one["kind"] == "Pod":
            one["metadata"].setdefault("annotations", {})["maitred.dev/checkpoint-interval"] = "40m"


def without_owners(objects: list[Obj], plan: Obj) -> None:
    for one in objects:
        one["metadata"].pop("ownerReferences", None)


def on_other_nodes(objects: list[Obj], plan: Obj) -> None:
    objects[-1] = drain("n3")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without_request, "there is no request"),
        (of_another, "there is no request drain/other"),
        (in_part, "would stay, which break with it"),
        (without_room, "room for 0 of 2 is kept"),
        (before_its_checkpoint, "neither the time of a checkpoint"),
        (without_owners, "no controller would recreate it"),
        (on_other_nodes, "nothing of it is on nodes"),
    ],
)
def test_what_it_may_not_decide(spoil: Callable[[list[Obj], Any], None], words: str) -> None:
    objects, plan = deepcopy(CLUSTER), decide(CLUSTER, now=NOW)
    spoil(objects, plan)
    found = breaches(objects, plan)
    assert any(words in one for one in found), found
