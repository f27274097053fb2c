"""The laws that a single Plan can break, over small random clusters, as the independent checker sees them."""

import copy
import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import Breach, verify
from tests.oracle import brute
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.reading import groups
from tests.oracle.strategies import CONSTRAINTS, WITH_OWNERS, clusters
from tests.support import decide


def breaches(objects: list[Obj], law: int) -> list[Breach]:
    return [breach for breach in verify(objects, decide(objects), None) if breach.law == law]


@given(clusters(features=WITH_OWNERS))
@examples(100)
def test_law_1_no_overcommit(objects: list[Obj]) -> None:
    assert breaches(objects, 1) == []


@given(clusters(features=WITH_OWNERS))
@examples(100)
def test_law_2_no_split_gang(objects: list[Obj]) -> None:
    assert breaches(objects, 2) == []


@given(st.one_of(clusters(features=WITH_OWNERS), clusters(features=CONSTRAINTS, min_nodes=2, min_members=2)))
@examples(200)
def test_law_3_every_hard_constraint_holds(objects: list[Obj]) -> None:
    assert breaches(objects, 3) == []


@given(clusters(features=WITH_OWNERS))
@examples(100)
def test_law_7_no_silence(objects: list[Obj]) -> None:
    assert breaches(objects, 7) == []


@given(clusters(features=WITH_OWNERS))
@examples(50)
def test_law_7_every_waiting_group_is_spoken_of_once(objects: list[Obj]) -> None:
    plan = decide(objects)
    assert sorted(entry["group"] for entry in plan["groups"]) == [group.name for group in groups(objects)]
    for entry in plan["groups"]:
        assert entry["verdict"] == "Scheduled" or entry["blockers"], entry["group"]


@given(clusters(features=WITH_OWNERS))
@examples(100)
def test_law_8_impossible_means_proven(objects: list[Obj]) -> None:
    """No group that fits the empty cluster is called impossible: the checker's search, then brute force."""
    plan = decide(objects)
    assert not plan["searchExhausted"], "a cluster of this size is searched to the end"
    assert [breach for breach in verify(objects, plan, None) if breach.law == 8] == []
    named = {group.name: group for group in groups(objects)}
    for entry in plan["groups"]:
        if entry["verdict"] == "Impossible" and named[entry["group"]].created >= entry["quorum"]:
            assert not brute.seatable_on_empty(objects, named[entry["group"]]), entry["group"]


@given(clusters(features=WITH_OWNERS), st.randoms(use_true_random=False))
@examples(100)
def test_law_9_same_input_same_plan(objects: list[Obj], random: Random) -> None:
    """Byte for byte: decided twice, and with the objects in another order; and the input is left alone."""
    before = copy.deepcopy(objects)
    first = json.dumps(decide(objects))
    assert json.dumps(decide(objects)) == first
    assert objects == before
    random.shuffle(objects)
    assert json.dumps(decide(objects)) == first
