"""What a group is told is what its own turn found: those who come after it are not in its way."""

import msgspec
import pytest

from maitred.decide.cycle import run
from maitred.decide.diagnose import Diagnosis
from maitred.decide.verdicts import Verdicts
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import NOON, decide, snapshot_of

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


def test_seats_are_final_before_anything_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever was served first comes first: their binds go out in this order."""
    low = [b.pod_group("a-low", 1), *b.pods("a-low", 3, gpu=8, group="a-low", created=1)]
    high = b.pod("z-high", gpu=8, priority=9)
    snapshot, now = snapshot_of([*NODES, *low, high]), msgspec.convert(NOON, Timestamp)
    with monkeypatch.context() as patch:
        patch.setattr(Diagnosis, "__init__", None)
        verdicts = Verdicts(run(snapshot, Policy(), now))
        seats = verdicts.seats()
    plan = verdicts.plan()
    assert [bind.group for bind in seats.binds] == ["default/z-high", "default/a-low", "default/a-low"]
    assert sorted(seats.binds, key=lambda bind: bind.pod) == list(plan.binds)
    assert [(group.group, group.placed, group.members) for group in seats.groups] == [
        ("default/z-high", 1, 1),
        ("default/a-low", 2, 3),
    ]
    assert [group.blockers for group in seats.groups] == [(), ()]
    assert {group.group: bool(group.blockers) for group in plan.groups} == {
        "default/z-high": False,
        "default/a-low": True,
    }
