"""A law: estimates do not depend on the order in which objects became known."""

from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.forecast.ends import Tenants
from maitred.explain.forecast.forecast import estimates
from maitred.explain.forecast.orders import orders
from maitred.explain.forecast.runs import Runs
from maitred.explain.forecast.shapes import shapes_of
from maitred.model.history import NO_HISTORY, History, PastGroup
from maitred.model.needs import NodeRequirements
from tests.explain.forecasts import NOW, at, gang, nodes, past, remembered, requests, situation
from tests.oracle.effort import examples
from tests.support import Obj

SAID = st.sampled_from((None, "1h", "6h", "40h"))
RAN = st.sampled_from((0.5, 5.0, 30.0))
PRIORITY = st.sampled_from((0, 0, 10))


@st.composite
def tables(draw: st.DrawFn) -> list[Obj]:
    """Nodes shared by lone pods and by gangs whose members differ, some of them leaving; others wait."""
    objects, count = nodes(draw(st.integers(2, 4))), 0
    for row in range(len(objects)):
        free = 8
        while free and draw(st.booleans()):
            gpu = draw(st.sampled_from([size for size in (1, 2, 4, 8) if size <= free]))
            free, count = free - gpu, count + 1
            objects += _tenant(draw, f"run{count}", f"n{row}", gpu)
    for number in range(draw(st.integers(1, 4))):
        fields: dict[str, Any] = {"gpu": draw(st.sampled_from((2, 4, 8))), "priority": draw(PRIORITY)}
        members, waited = draw(st.integers(1, 3)), draw(st.sampled_from((1.0, 2.0)))
        objects += gang(f"wait{number}", members, draw(SAID), waited=waited, **fields)
    return objects


def _tenant(draw: st.DrawFn, name: str, node: str, gpu: int) -> list[Obj]:
    fields: dict[str, Any] = {"ran": draw(RAN), "gpu": gpu, "priority": draw(PRIORITY)}
    group, first = gang(name, 1, draw(SAID), on=node, **fields)
    if draw(st.booleans()):
        first["spec"].pop("schedulingGroup")
        first["metadata"]["annotations"] = group["metadata"].get("annotations", {})
        return [first]
    second = gang(name, 2, None, on=f"{node} {node}", **{**fields, "gpu": 0})[2]
    if draw(st.booleans()):
        second["metadata"] |= {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 30}
    return [group, first, second]


@pytest.mark.slow
@given(tables(), st.booleans(), st.integers(0, 99))
@examples(60)
def test_the_order_of_objects_changes_no_estimate(objects: list[Obj], busy: bool, seed: int) -> None:
    asked = requests(situation(objects).snapshot)
    came = [past(f"job-{number}", number + 0.5, 2, asked) for number in range(12)]
    history = remembered(came) if busy else NO_HISTORY
    shuffled = Random(seed).sample(objects, len(objects))
    assert _told(objects, history) == _told(shuffled, history)


def _told(objects: list[Obj], history: History) -> list[object]:
    asked = situation(objects, history=history)
    keys = sorted(view.group.key for view in asked.snapshot.groups)
    return [*estimates(asked, keys).values(), orders(asked, keys[0])]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_who_is_overdue_draws_by_name(order: tuple[int, ...]) -> None:
    running = [
        gang("r1", lasts="6h", on="n0", ran=30),
        gang("r2", lasts="40h", on="n1", ran=5),
        gang("r3", lasts="6h", on="n1", ran=30, gpu=0),
    ]

    def told(order: tuple[int, ...]) -> list[object]:
        objects = [*nodes(2), *(one for number in order for one in running[number]), *gang("wait")]
        return _told(objects, NO_HISTORY)

    assert told(order) == told((0, 1, 2))


def test_tenants_and_their_pods_come_in_the_order_of_names() -> None:
    """By it ties are broken: of who has to leave, and of who speaks for a gang."""
    pods = [
        *gang("b", 2, on="n0 n1", gpu=1)[1:],
        *gang("c", on="n0", gpu=1)[1:],
        *gang("a", on="n1", gpu=1)[1:],
    ]
    for order in permutations(pods):
        snapshot = situation([*nodes(2), *order]).snapshot
        tenants = Tenants(snapshot, NOW.timestamp(), Runs([], NOW.timestamp()))
        names = [snapshot.bound.occupants[pod].key for pod in tenants.pods]
        assert names == ["default/a-0", "default/b-0", "default/b-1", "default/c-0"]


def test_who_comes_is_like_most_who_request_the_same() -> None:
    """Of those who are here two go to the node, and one to a pool that has none; which became known first
    decides nothing."""
    pinned, free = gang("pinned", where={"pool": "none"}), [*gang("free-1"), *gang("free-2")]
    asked = requests(situation(free).snapshot)
    for crowd in ([*pinned, *free], [*free, *pinned]):
        past = PastGroup("default/was", 0.0, None, None, False, 1, 1, 0, asked)
        cast = shapes_of(situation([*nodes(1), *crowd]).snapshot, [past])
        like = cast.snapshot.needs[cast.snapshot.shapes[cast.by_requests[asked]].needs]
        assert like.node == NodeRequirements()
