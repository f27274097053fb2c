"""The laws that a single Plan can break, over small random clusters, as the independent checker sees them."""

import copy
import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.oracle import brute
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.reading import groups
from tests.oracle.strategies import CONSTRAINTS, WITH_OWNERS, clusters
from tests.support import decide

SINGLE = {1, 2, 3, 7, 8}


@given(st.one_of(clusters(features=WITH_OWNERS), clusters(features=CONSTRAINTS, min_nodes=2, min_members=2)))
@examples(300)
def test_laws_1_2_3_7_and_8_hold_in_every_plan(objects: list[Obj]) -> None:
    """No overcommit, no split gang, every hard constraint, no silence; and that impossible means proven."""
    plan = decide(objects)
    assert [breach for breach in verify(objects, plan, None) if breach.law in SINGLE] == []
    assert sorted(entry["group"] for entry in plan["groups"]) == [group.name for group in groups(objects)]
    for entry in plan["groups"]:
        assert entry["verdict"] == "Scheduled" or entry["blockers"], entry["group"]


@given(clusters(features=WITH_OWNERS))
@examples(100)
def test_law_8_no_group_that_brute_force_can_seat_is_called_impossible(objects: list[Obj]) -> None:
    plan = decide(objects)
    assert not plan["searchExhausted"], "a cluster of this size is searched to the end"
    named = {group.name: group for group in groups(objects)}
    for entry in plan["groups"]:
        if entry["verdict"] == "Impossible" and named[entry["group"]].created >= entry["quorum"]:
            assert not brute.seatable_on_empty(objects, named[entry["group"]]), entry["group"]


@given(clusters(features=WITH_OWNERS), st.integers(0, 1000))
@examples(60)
def test_law_9_same_input_same_plan(objects: list[Obj], seed: int) -> None:
    """Byte for byte: decided twice, and with the objects in another order; and the input is left alone."""
    before = copy.deepcopy(objects)
    first = json.dumps(decide(objects))
    assert json.dumps(decide(objects)) == first
    assert objects == before
    Random(seed).shuffle(objects)
    assert json.dumps(decide(objects)) == first
