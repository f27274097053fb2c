"""Groups that are asked to move so that another one finds room: at their time, together, or not at all."""

from copy import deepcopy
from typing import Any

import pytest

from tests.decide.draining import NOW, again, bound, gang, make_room, moved, node
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

BIG = [b.pod_group("big", 2), *b.pods("big", 2, gpu=8, group="big", created=50)]
NODES = [node("n1"), node("n2"), b.node("n3", gpu=4)]
SMALL = gang("n2", name="small", gpu=2)
ROOM = make_room(("default/big", "default/small"))


def half(name: str, on: str, **more: Any) -> list[Obj]:
    """A gang with half of a node."""
    return gang(on, name=name, gpu=4, **more)


def nominated(pods: list[Obj], plan: Obj) -> list[Obj]:
    """As the scheduler writes it down."""
    found, places = deepcopy(pods), {one["pod"]: one["node"] for one in plan["nominations"]}
    for one in found:
        if one["kind"] == "Pod":
            one["status"]["nominatedNodeName"] = places[f"default/{one['metadata']['name']}"]
    return found


def test_it_moves_and_the_other_is_promised_its_place() -> None:
    plan = decide([*NODES, *SMALL, *BIG, ROOM], now=NOW)
    assert bound(plan["evictions"]) == ["default/small-0"]
    [eviction] = plan["evictions"]
    assert (eviction["cause"], eviction["for"]) == ("Maintenance", "defrag/room")
    assert {one["node"] for one in plan["nominations"]} == {"n1", "n2"}
    assert [(one["group"], one["node"]) for one in plan["holds"]] == [("default/small", "n3")]
    assert plan["drains"][0]["progress"]["moves"][0]["unit"] == "default/small"


def test_both_have_their_places_in_the_end() -> None:
    cluster = [*NODES, *SMALL, *BIG, ROOM]
    first = decide(cluster, now=NOW)
    cluster = [*NODES, *SMALL, *nominated(BIG, first), ROOM]
    leaving = moved(again(cluster, first), "Terminating", name="small")
    second = decide(leaving, now="2026-01-31T12:00:05Z")
    assert not second["evictions"]
    assert {one["group"] for one in second["nominations"]} == {"default/big"}
    back = moved(again(leaving, second), "Pending", name="small")
    third = decide(back, now="2026-01-31T12:00:40Z")
    assert {one["pod"]: one["node"] for one in third["binds"]}["default/small-0"] == "n3"
    assert len(third["binds"]) == 3


@pytest.mark.parametrize(
    "cluster",
    [
        [NODES[0], NODES[1], *SMALL, *BIG],
        [*NODES, b.node("n4", gpu=8), *SMALL, *BIG],
        [*NODES, *gang("n2", name="small", gpu=2, annotations={"maitred.dev/non-preemptible": "true"}), *BIG],
        [*NODES, *gang("n2", name="small", gpu=2, owner=None), *BIG],
        [*NODES, *SMALL],
        [*NODES, *SMALL, b.node("n4", gpu=1), b.pod("other", gpu=1, node="n4"), *BIG[:2]],
    ],
    ids=["no place", "the other fits", "protected", "bare", "nobody waits", "not all are there"],
)
def test_else_it_stays(cluster: list[Obj]) -> None:
    assert not decide([*cluster, ROOM], now=NOW)["evictions"]


def test_it_waits_for_its_checkpoint_and_the_time_of_the_request() -> None:
    marks = {"maitred.dev/checkpoint-interval": "1h"}
    small = gang("n2", name="small", gpu=2, started="2026-01-31T11:20:00Z", annotations=marks)
    cluster = [*NODES, *small, *BIG, ROOM]
    assert not decide(cluster, now=NOW)["evictions"]
    assert decide(cluster, now="2026-01-31T12:20:01Z")["evictions"]
    late = decide(cluster, now="2026-01-31T14:20:01Z")
    assert not late["evictions"]
    assert late["drains"][0]["done"]


def test_who_makes_room_together_moves_together_when_it_suits_the_largest() -> None:
    marks = {"maitred.dev/checkpoint-interval": "1h"}
    slow = half("slow", "n2", started="2026-01-31T11:20:00Z", annotations=marks)
    cluster = [*NODES, *slow, *gang("n2", name="small", gpu=2), b.node("n4", gpu=2), *BIG]
    room = make_room(("default/big", "default/slow", "default/small"))
    assert not decide([*cluster, room], now=NOW)["evictions"]
    plan = decide([*cluster, room], now="2026-01-31T12:20:01Z")
    assert bound(plan["evictions"]) == ["default/slow-0", "default/small-0"]


def test_it_is_done_when_nobody_waits_for_it_any_more() -> None:
    gone = decide([*NODES, *SMALL, ROOM], now=NOW)["drains"][0]
    assert (gone["left"], gone["done"]) == (0, True)
    cluster = [node("n1"), node("n2"), *SMALL, *BIG, ROOM]
    waiting = decide(cluster, now=NOW)["drains"][0]
    assert (waiting["left"], waiting["done"]) == (1, False)
    assert waiting["progress"]["staying"] == ["default/small: there is no longer room for all"]


def test_a_budget_keeps_it_where_it_is() -> None:
    small = gang("n2", name="small", gpu=2, labels={"app": "small"})
    guard = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": b.metadata("small"),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "small"}}},
    }
    assert not decide([*NODES, *small, guard, *BIG, ROOM], now=NOW)["evictions"]


def test_a_request_that_names_nodes_and_room_counts_for_nothing() -> None:
    both = make_room(("default/big", "default/small"), nodes=["n1"])
    plan = decide([*NODES, *SMALL, *BIG, both], now=NOW)
    assert not plan["evictions"]
    assert any("room is ignored: it must name nodes, or a label, or room" in one for one in plan["warnings"])
