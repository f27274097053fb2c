"""What a group is told is what its own turn found: those who come after it are not in its way."""

from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

NODES = [b.node(f"n{number}", gpu=8) for number in range(3)]


def crew(**fields: int) -> list[Obj]:
    return [b.pod_group("crew", 4), *b.pods("crew", 4, gpu=8, group="crew", **fields)]


def told(*objects: Obj) -> Obj:
    plan = decide([*NODES, *objects])
    entry: Obj = next(group for group in plan["groups"] if group["group"] == "default/crew")
    return entry


def free(entry: Obj) -> tuple[str, str, int]:
    detail = entry["blockers"][0]["detail"]
    return entry["blockers"][0]["category"], detail["free"], detail["holds"]


def test_a_gang_of_lower_priority_takes_nothing_from_it() -> None:
    low = [b.pod_group("low", 3), *b.pods("low", 3, gpu=8, group="low", created=1)]
    assert free(told(*low, *crew(priority=9, created=5))) == ("Capacity", "24", 3)


def test_a_younger_gang_takes_nothing_from_it() -> None:
    young = [b.pod_group("young", 2), *b.pods("young", 2, gpu=8, group="young", created=9)]
    assert free(told(*young, *crew(created=5))) == ("Capacity", "24", 3)
    old = [b.pod_group("old", 2), *b.pods("old", 2, gpu=8, group="old", created=1)]
    assert free(told(*old, *crew(created=5))) == ("Capacity", "8", 1)


def test_the_surplus_of_an_equal_takes_nothing_from_it() -> None:
    """Quorums come before any surplus of their priority."""
    elastic = [b.pod_group("elastic", 1), *b.pods("elastic", 3, gpu=8, group="elastic", created=1)]
    assert free(told(*elastic, *crew(created=5))) == ("Capacity", "16", 2)


def test_a_gang_behind_gates_is_told_what_its_turn_would_find() -> None:
    low = [b.pod_group("low", 3), *b.pods("low", 3, gpu=8, group="low", created=1)]
    members = b.pods("crew", 4, gpu=8, group="crew", priority=9, gates=["example.com/wait"])
    entry = told(*low, b.pod_group("crew", 4), *members)
    gated, room = entry["blockers"]
    assert (gated["category"], room["category"], room["detail"]["free"]) == ("Gated", "Capacity", "24")
