"""Remedies that loosen a tree of groups: a part that starts with less, or that may spread wider."""

from hypothesis import given

from tests.explain.applying import check_remedies, remedied
from tests.oracle.builders import RACK, ZONE, Obj, node
from tests.oracle.effort import examples
from tests.oracle.trees import Case, Part, trees


def tree(quorum: int, *parts: Part, level: str = "") -> Part:
    return Part("root", quorum, level, parts=list(parts))


def leaf(name: str, quorum: int, level: str = "", pods: int = 0) -> Part:
    return Part(name, quorum, level, pods=[(1, "")] * (pods or quorum))


def racks(*sizes: int) -> list[Obj]:
    """Nodes of one CPU, so many in each rack, all in one zone."""
    return [
        node(f"r{rack}-n{number}", cpu=1, rack=f"r{rack}", zone="z")
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]


def told(nodes: list[Obj], root: Part) -> list[str]:
    """What would help the tree; all of it is carried out."""
    objects = Case(nodes, root).objects()
    plan = remedied(objects)
    check_remedies(objects, plan)
    (entry,) = (entry for entry in plan["groups"] if entry["group"] == "default/root")
    assert entry["verdict"] in ("Waiting", "Impossible")
    return [remedy["change"] for remedy in entry["remedies"]]


def test_a_tree_may_start_with_fewer_parts_or_a_part_with_fewer_members() -> None:
    found = told(racks(4), tree(2, leaf("a", 3), leaf("b", 2)))
    assert "run default/a with 2 of 3 members: lower its minCount from 3 to 2" in found
    found = told(racks(2), tree(3, leaf("a", 1), leaf("b", 1), leaf("c", 1)))
    assert "run default/root with 2 of 3 parts: lower its minGroupCount from 3 to 2" in found


def test_one_part_may_have_a_wider_level_or_none() -> None:
    found = told(racks(2, 1, 1), tree(2, leaf("a", 2, RACK), leaf("b", 2, RACK), level=ZONE))
    assert any(f"do not require one {RACK} for default/{part}" in found for part in "ab")
    apart = [node(f"n{zone}", cpu=1, rack=f"r{zone}", zone=f"z{zone}") for zone in range(2)]
    found = told(apart, tree(2, leaf("a", 1), leaf("b", 1), level=ZONE))
    assert f"do not require one {ZONE} for default/root" in found


def test_what_would_be_less_than_a_quarter_of_the_tree_is_not_offered() -> None:
    assert not any("lower" in change for change in told(racks(1), tree(1, leaf("a", 8))))


@given(trees())
@examples(60)
def test_every_remedy_of_a_tree_works(case: Case) -> None:
    objects = case.objects()
    check_remedies(objects, remedied(objects))
