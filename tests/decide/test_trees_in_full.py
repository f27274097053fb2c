"""Trees of groups whose parts are in each other's way: small ones are searched in full.

One part after the other finds no places here, because the first takes what only the second can use.
"""

import pytest

from maitred.verify import verify
from tests.decide.reading import seats, verdict
from tests.decide.test_trees import part
from tests.oracle.builders import Obj, composite, node, pod
from tests.support import decide


def sides(size: int) -> list[Obj]:
    """Two nodes of one rack that are alike, but for their sides."""
    return [node(f"n-{side}", cpu=size, rack="r1", labels={"side": side}) for side in ("left", "right")]


def checked(objects: list[Obj]) -> Obj:
    plan = decide(objects)
    assert verify(objects, plan) == []
    assert decide(objects[::-1]) == plan
    return plan


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_part_moves_aside_for_one_that_can_sit_nowhere_else(side: str) -> None:
    parts = [*part("a", 1, 1), *part("b", 1, 1, where={"side": side})]
    plan = checked([*sides(1), composite("root", 2), *parts])
    assert verdict(plan, "root") == "Scheduled"
    assert seats(plan)["b-0"] == f"n-{side}"


@pytest.mark.parametrize("side", ["left", "right"])
def test_as_few_parts_as_the_quorum_of_the_tree_are_enough(side: str) -> None:
    """Three parts, two of which are needed, and no place for the third."""
    parts = [*part("a", 1, 1), *part("b", 1, 1, where={"side": side}), *part("c", 1, 1, 8)]
    assert verdict(checked([*sides(1), composite("root", 2), *parts]), "root") == "Scheduled"


@pytest.mark.parametrize(("members", "told"), [(12, ("Scheduled", False)), (13, ("Waiting", True))])
def test_a_tree_too_large_to_be_searched_in_full_is_not_called_impossible(
    members: int, told: tuple[str, bool]
) -> None:
    """One that asks for domains: without that, its members could be seated as those of one group are."""
    size = members - 1
    parts = [
        *part("a", 1, 1, size, topology="rack"),
        *part("b", size, size, where={"side": "left"}, topology="rack"),
    ]
    plan = decide([*sides(size), composite("root", 2), *parts])
    assert (verdict(plan, "root"), plan["searchExhausted"]) == told


def test_a_tree_of_one_member_that_a_full_node_could_take_is_not_impossible() -> None:
    objects = [node("n1", cpu=1), pod("old", 1, node="n1"), composite("root", 1), *part("a", 1, 1)]
    assert verdict(checked(objects), "root") == "Waiting"
