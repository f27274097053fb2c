"""One truth about trees of groups: whoever is asked says the same of the tree, and of its parts."""

import pytest

from tests.decide.test_trees import CASES, INVALID, grid, low, part
from tests.one_truth.hearing_all import Cluster
from tests.one_truth.test_one_truth import assert_one_truth
from tests.oracle.builders import Obj, composite, node, pod

WORLDS: dict[str, list[Obj]] = {
    "one that waits for a zone": [
        *grid(racks=2, nodes=1, cpu=2),
        pod("x", 1, node="z1-r1-n1"),
        composite("root", 2, "zone"),
        *part("a", 2, 2, topology="rack"),
        *part("b", 2, 2, topology="rack"),
    ],
    "one that preempts": [
        *(node(f"n{n}", cpu=2) for n in (1, 2, 3)),
        *(low(f"low-{n}", f"n{n}", 2) for n in (1, 2, 3)),
        composite("root", 2, priority=9),
        *part("a", 1, 1, 2, priority=9),
        *part("b", 1, 2, 2, priority=9),
    ],
    **{
        name: CASES[name].objects
        for name in (
            "members above the quorum come after the quorums of all parts",
            "too few parts exist",
            "a composite in a composite that cannot be met holds back all",
            "a composite that does not exist yet is waited for",
        )
    },
    "too deep": [node("n1", cpu=4), *INVALID["too deep"][0]],
}


@pytest.mark.parametrize("objects", WORLDS.values(), ids=WORLDS.keys())
def test_everybody_says_the_same_of_a_tree(objects: list[Obj]) -> None:
    assert_one_truth(Cluster(objects))
