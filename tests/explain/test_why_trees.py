"""What `why` says of a tree of groups: where it is nearest to fitting, and how its members sit by rank."""

from tests.decide.test_trees import grid, part
from tests.explain.whys import why_of
from tests.oracle.builders import INDEX, RACK, Obj, composite, pod

LEVELS: Obj = {"topology": {"levels": [{"name": "rack", "key": RACK}]}}


def indexed(objects: list[Obj]) -> list[Obj]:
    for one in objects:
        if one["kind"] == "Pod":
            labels = one["metadata"].setdefault("labels", {})
            labels[INDEX] = one["metadata"]["name"].rpartition("-")[2]
    return objects


def test_a_place_holds_as_many_members_of_a_tree_as_fit_with_some_parts_short() -> None:
    """One rack for two, and one for one: a part of two and a single member of the other."""
    objects = [
        *grid(racks=2, nodes=2, cpu=1),
        pod("x", 1, node="z1-r2-n1"),
        composite("root", 2, "topology.kubernetes.io/zone"),
        *part("a", 2, 2, topology=RACK),
        *part("b", 2, 2, topology=RACK),
    ]
    nearest = why_of(objects, "default/root").nearest
    assert nearest is not None
    assert [(place.name, place.holds) for place in nearest.places] == [("z1", 3)]
    assert (nearest.needed, nearest.places[0].why) == (4, "z1-r2-n1 lacks 1 cpu")


def test_neighbours_are_within_one_part_of_a_tree() -> None:
    """Two parts of four on racks of three: each part crosses once, and no pair is of two parts."""
    objects = [*grid(racks=3, nodes=3, cpu=1), composite("root", 2), *part("a", 4, 4), *part("b", 4, 4)]
    found = why_of(indexed(objects), "default/root", policy=LEVELS).ranks
    assert found is not None
    assert found.pairs == 6
    (rack,) = found.levels
    assert rack.crossing == rack.least
    assert rack.crossing is not None
    assert 2 <= rack.crossing <= 6
