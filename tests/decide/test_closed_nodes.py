"""A wrong selector, or a taint, is named: which label, which taint, and on how many nodes."""

from typing import Any

from tests.oracle import builders as b
from tests.support import Obj, decide

GPU_NODES = [b.node(f"n{i}", gpu=8, labels={"gpu.model": ("a100", "h100")[i % 2]}) for i in range(4)]
TAINTED = [b.node(f"t{i}", gpu=8, taints=["maintenance:NoSchedule"]) for i in range(3)]


def blocker(nodes: list[Obj], **pod: Any) -> Obj:
    plan = decide([*nodes, b.pod("p", gpu=1, **pod)])
    (group,) = plan["groups"]
    first: Obj = group["blockers"][0]
    return first


def test_a_label_that_no_node_has() -> None:
    found = blocker(GPU_NODES, where={"gpu.model": "h200"})
    assert "4 of 4 nodes lack label gpu.model=h200; they have a100, h100" in found["message"]
    assert found["detail"]["closed"] == [
        {"label": "gpu.model=h200", "nodes": 4, "of": 4, "values": ["a100", "h100"]}
    ]


def test_a_taint_on_the_nodes_that_have_room() -> None:
    full = [b.node("n0", gpu=8), b.pod("big", gpu=8, node="n0")]
    found = blocker([*full, *TAINTED])
    assert "3 nodes have the taint maintenance:NoSchedule" in found["message"]
    assert found["detail"]["closed"] == [{"taint": "maintenance:NoSchedule", "nodes": 3, "of": 4}]


def test_expressions_are_told_one_by_one_and_what_closes_most_comes_first() -> None:
    terms = [[b.expr("gpu.model", "In", "h100", "h200"), b.expr("pool", "Exists")]]
    found = blocker(GPU_NODES, node_affinity=terms)
    assert [(one["label"], one["nodes"]) for one in found["detail"]["closed"]] == [
        ("pool", 4),
        ("gpu.model in (h100, h200)", 2),
    ]


def test_of_several_terms_it_is_told_how_many_nodes_match_none() -> None:
    terms = [[b.expr("pool", "In", "a")], [b.expr("pool", "In", "b")]]
    found = blocker(GPU_NODES, node_affinity=terms)
    assert "4 of 4 nodes lack label any of 2 node affinity terms" not in found["message"]
    assert "4 of 4 nodes match none of 2 node affinity terms" in found["message"]


def test_a_tolerated_taint_closes_nothing() -> None:
    full = [b.pod(f"big-{i}", gpu=8, node=f"t{i}") for i in range(3)]
    found = blocker([*TAINTED, *full], tolerations=["maintenance:NoSchedule"])
    assert (found["category"], "taint" in found["message"]) == ("Capacity", False)
