"""Estimates with queues: limits, turns and what was lent count in the future as they do now."""

from datetime import timedelta
from typing import Any

import pytest

from maitred.explain.forecast.forecast import estimate
from maitred.explain.overriding.answer import OverrideWish
from maitred.explain.overriding.asking import override_of
from maitred.model.overrides import OverrideMemory
from tests.decide.test_overrides import kept
from tests.explain.forecasts import gang, hours, nodes, situation
from tests.oracle.builders import GPU
from tests.support import Obj


def queue(name: str, guarantee: int | None = None, cap: int | None = None, **more: Any) -> Obj:
    sizes = {key: size for key, size in (("guarantee", guarantee), ("cap", cap)) if size is not None}
    return {"name": name, "limits": [{"resource": GPU, **sizes}], **more}


def inside(queue: str, objects: list[Obj]) -> list[Obj]:
    for one in objects:
        one["metadata"].setdefault("labels", {})["maitred.dev/queue"] = queue
    return objects


def starts(objects: list[Obj], *queues: Obj, **policy: Any) -> float:
    """When `mine` starts, in hours from now."""
    found = estimate(situation(objects, {"queues": list(queues), **policy}), "default/mine")
    return hours(found.likely)


def test_a_group_waits_for_the_limit_of_its_queue_and_not_for_room() -> None:
    """Half of the node is free. The queue has its four when others of it end, in three hours."""
    objects = [
        *nodes(1),
        *inside("a", gang("other", 1, "5h", on="n0", ran=2, gpu=4)),
        *inside("a", gang("mine", 1, "1h", gpu=4)),
    ]
    assert starts(objects, queue("a", cap=4)) == 3
    assert starts(objects, queue("a", cap=8)) == 0


def test_a_group_waits_for_the_turn_of_its_queue() -> None:
    """The node is free in an hour. The older group is of the queue that has the other node."""
    objects = [
        *nodes(2),
        *inside("a", gang("long", 1, "50h", on="n0", ran=2)),
        *inside("c", gang("short", 1, "3h", on="n1", ran=2)),
        *inside("a", gang("older", 1, "4h", waited=9)),
        *inside("b", gang("mine", 1, "4h")),
    ]
    queues = queue("a", 0), queue("b", 0), queue("c", 0)
    assert starts(objects, *queues) == 1
    assert starts(objects, *queues, order=["priority", "age"]) == 5


def test_what_was_lent_comes_back_when_it_has_run_as_long_as_its_queue_says() -> None:
    """The borrower runs for 50 hours, and may stay for four of them, two of which are over."""
    objects = [
        *nodes(1),
        *inside("b", gang("borrower", 1, "50h", on="n0", ran=2)),
        *inside("a", gang("mine", 1, "1h")),
    ]
    assert starts(objects, queue("a", 8), queue("b", 0, minRuntime="4h")) == 2
    assert starts(objects, queue("a", 0), queue("b", 0, minRuntime="4h")) == 48
    kept = {"preemption": {"mode": "never"}}
    assert starts(objects, queue("a", 8), queue("b", 0, minRuntime="4h"), **kept) == 48


def test_what_is_entitled_stays_whatever_the_priority_of_who_waits_in_another_queue() -> None:
    objects = [
        *nodes(1),
        *inside(
            "b", gang("entitled", 1, "50h", on="n0", ran=2, annotations={"maitred.dev/min-runtime": "4h"})
        ),
        *inside("a", gang("mine", 1, "1h", priority=10)),
    ]
    assert starts(objects, queue("a", 0), queue("b", 8)) == 48


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (12, "the budget of queue a cannot pay for it; the next day begins at 2026-02-01T00:00:00Z"),
        (4, "no day of the budget of queue a pays for it"),
    ],
)
def test_a_group_that_waits_for_money_does_not_wait_until_others_end(allowed: int, words: str) -> None:
    paying = {"name": "a", "budget": {"deviceHours": allowed, "period": "day"}, "runtime": {"default": "1h"}}
    objects = [
        *nodes(2),
        *inside("a", gang("other", 1, on="n0", ran=0.5, gpu=8)),
        *inside("a", gang("mine", 1, gpu=8)),
    ]
    found = estimate(situation(objects, {"queues": [paying]}), "default/mine")
    assert found.words == f"not known: {words}"


def overridden(objects: list[Obj], until: float, *queues: Obj) -> list[Obj]:
    """`mine` is lifted past its queue, for so many hours."""
    asker = situation(objects, {"queues": list(queues)})
    end = asker.now + timedelta(hours=until)
    one = override_of(asker, "mine", "default", None, OverrideWish("it is urgent", end), "alice")
    return [*objects, kept(OverrideMemory((one,)))]


@pytest.mark.parametrize(("until", "start"), [(9, 3), (2, 5)])
def test_an_override_lifts_past_the_limit_of_a_queue_until_it_ends(until: float, start: float) -> None:
    """There is room for it in three hours, and within the limit of its queue in five."""
    objects = [
        *nodes(2),
        *inside("b", gang("short", 1, "5h", on="n0", ran=2)),
        *inside("a", gang("long", 1, "7h", on="n1", ran=2)),
        *inside("a", gang("mine", 1, "1h")),
    ]
    queues = queue("a", cap=8), queue("b")
    assert starts(objects, *queues) == 5
    assert starts(overridden(objects, until, *queues), *queues) == start


@pytest.mark.parametrize(("until", "start"), [(9, 1), (0.5, 5)])
def test_an_override_lifts_past_the_turn_of_a_queue_until_it_ends(until: float, start: float) -> None:
    objects = [
        *nodes(1),
        *inside("c", gang("short", 1, "3h", on="n0", ran=2)),
        *inside("a", gang("older", 1, "4h", waited=9)),
        *inside("a", gang("mine", 1, "4h")),
    ]
    queues = queue("a"), queue("c")
    assert starts(objects, *queues) == 5
    assert starts(overridden(objects, until, *queues), *queues) == start
