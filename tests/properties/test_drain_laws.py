"""Requests to drain nodes, drawn at random over clusters in which pods run: the laws hold as without them."""

import json
from datetime import timedelta
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.draining import drain
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.preemption.worlds import lingered, squatted
from tests.properties.test_eviction_laws import ASKING, NOW
from tests.support import decide

LAWS = {1, 2, 3, 4, 7, 8}
AHEAD = st.sampled_from((-60, 10, 600, 7_200, 10**6))
"""Seconds until the nodes are to be empty."""


@st.composite
def drained(draw: st.DrawFn) -> list[Obj]:
    objects = draw(squatted() | lingered() | squatted(features=ASKING))
    names = sorted(one["metadata"]["name"] for one in objects if one["kind"] == "Node")
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True)) if names else ["none"]
    by = (NOW + timedelta(seconds=draw(AHEAD))).isoformat()
    return [
        *objects,
        drain(*chosen, by=by, asked=NOW.isoformat(), force=draw(st.sampled_from((True, True, True, False)))),
    ]


@given(drained(), st.integers(0, 1000))
@examples(60)
def test_law_9_whatever_the_order_of_the_input(objects: list[Obj], seed: int) -> None:
    first = json.dumps(decide(objects, None, NOW.isoformat()))
    Random(seed).shuffle(objects)
    assert json.dumps(decide(objects, None, NOW.isoformat())) == first


@given(drained())
@examples(150)
def test_the_laws_hold_while_nodes_are_drained(objects: list[Obj]) -> None:
    plan = decide(objects, None, NOW.isoformat())
    leaving = [one for one in plan["evictions"] if one["cause"] == "Maintenance"]
    event("somebody leaves" if leaving else "nobody leaves")
    assert [breach for breach in verify(objects, plan, now=NOW) if breach.law in LAWS] == []
    drained_nodes = {one["name"] for one in plan["drains"]}
    assert drained_nodes == {"drain-1"}
