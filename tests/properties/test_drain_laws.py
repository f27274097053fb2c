"""Requests to drain nodes, drawn at random over clusters in which pods run: the laws hold as without them."""

import json
from datetime import datetime, timedelta
from random import Random
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.draining import NOW as MADE
from tests.decide.draining import drain, gang, make_room, node
from tests.oracle import builders as b
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


@st.composite
def asked_for_room(draw: st.DrawFn) -> list[Obj]:
    """Nodes on which small gangs run, large groups that wait, and anybody asked to move for any of these."""
    free = dict.fromkeys((f"n{number}" for number in range(draw(st.integers(2, 4)))), 8)
    objects, running = [node(name) for name in free], list[str]()
    for number in range(draw(st.integers(1, 4))):
        gpu, size = draw(st.integers(1, 4)), draw(st.integers(1, 2))
        places = [draw(st.sampled_from(sorted(free))) for _ in range(size)]
        if all(free[place] >= gpu * places.count(place) for place in places):
            free.update({place: free[place] - gpu * places.count(place) for place in places})
            marks = draw(st.sampled_from(({}, {}, {"maitred.dev/min-runtime": "10h"})))
            more: dict[str, Any] = {
                "priority": draw(RANKS),
                "annotations": marks,
                "owner": draw(OWNERS).format(number),
            }
            objects += gang(*places, name=f"small-{number}", gpu=gpu, **more)
            running += [f"default/small-{number}"] * 3 + [f"default/small-{number}-0"]
    waiting = [f"large-{number}" for number in range(draw(st.integers(1, 3)))]
    for name in waiting:
        gpu, size, priority = draw(st.integers(3, 8)), draw(st.integers(1, 2)), draw(RANKS)
        objects += [b.pod_group(name, size), *b.pods(name, size, gpu=gpu, group=name, priority=priority)]
    units = st.lists(st.sampled_from(running or ["a/b"]), min_size=1, max_size=2, unique=True)
    rooms = [(f"default/{name}", *draw(units)) for name in waiting for _ in range(2)]
    return [*objects, make_room(*rooms)]


RANKS, OWNERS = st.sampled_from((0, 0, 5)), st.sampled_from(("Job/small-{}", "ReplicaSet/small-{}"))


@given(asked_for_room())
@examples(150)
def test_the_laws_hold_while_room_is_made(objects: list[Obj]) -> None:
    plan = decide(objects, {"preemption": {"mode": "never"}}, MADE)
    moving = [one for one in plan["evictions"] if one["cause"] == "Maintenance"]
    event("somebody moves" if moving else "nobody moves")
    assert {one["for"] for one in moving} <= {"defrag/room"}
    assert verify(objects, plan, {"preemption": {"mode": "never"}}, now=datetime.fromisoformat(MADE)) == []


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
