"""A tree of groups is one group to an audit: it is whole when as many of its parts are as it takes."""

import pytest

from tests.explain.audited import Json, audited, half_started, node, pod


def group(kind: str, name: str, policy: Json, parent: str = "") -> Json:
    spec: Json = {"schedulingPolicy": {"gang": policy}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {"kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def part(name: str, seated: int, members: int = 2, parent: str = "root") -> list[Json]:
    """A PodGroup that takes all of its members, some of which sit."""
    pods = [pod(f"{name}-{n}", node="n" if n < seated else "", group=name) for n in range(members)]
    return [group("PodGroup", name, {"minCount": members}, parent), *pods]


def tree(parts: int, *objects: Json) -> list[Json]:
    return [node("n"), group("CompositePodGroup", "root", {"minGroupCount": parts}), *objects]


def test_a_tree_is_counted_once_and_its_parts_are_not() -> None:
    (kind,) = audited(*tree(2, *part("a", 2), *part("b", 2))).groups
    assert (kind.by, kind.groups, kind.gangs) == ("CompositePodGroup", 1, 1)


@pytest.mark.parametrize(
    ("parts", "seated", "half"),
    [(2, (2, 2), False), (2, (2, 0), True), (2, (2, 1), True), (1, (2, 0), False), (1, (1, 1), True)],
)
def test_a_tree_is_half_started_unless_as_many_parts_are_whole_as_it_takes(
    parts: int, seated: tuple[int, int], half: bool
) -> None:
    found = audited(*tree(parts, *part("a", seated[0]), *part("b", seated[1])))
    assert [gang.group for gang in found.half_started] == ["ml/root"] * half
    if half:
        (gang,) = found.half_started
        assert (gang.quorum, gang.seated, gang.members) == (2 * parts, sum(seated), 4)


def test_a_tree_in_a_tree_is_a_part_of_it() -> None:
    inner = group("CompositePodGroup", "inner", {"minGroupCount": 1}, "root")
    objects = tree(2, *part("a", 2), inner, *part("b", 1, parent="inner"), *part("c", 2, parent="inner"))
    assert half_started(audited(*objects)) == {}
    short = tree(2, *part("a", 2), inner, *part("b", 1, parent="inner"), *part("c", 1, parent="inner"))
    assert [gang.group for gang in audited(*short).half_started] == ["ml/root"]


def test_groups_whose_composite_is_not_there_are_counted_by_themselves() -> None:
    (kind,) = audited(node("n"), *part("a", 1), *part("b", 2)).groups
    assert (kind.by, kind.groups, kind.gangs) == ("PodGroup", 2, 2)
