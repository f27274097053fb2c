"""The gauges of capacity say the same numbers as `maitred capacity`."""

import asyncio
from itertools import chain
from typing import Any

from maitred.controllers.scheduling.capacity_gauges import CapacityGauges, families
from maitred.explain.capacity.document import (
    Capacity,
    Constraint,
    Fragmented,
    Gangs,
    Idle,
    IdlePart,
    Incomplete,
    Largest,
    Move,
    Placeable,
    PlaceablePriority,
    PreemptionWorth,
    ShapeOfPods,
)
from tests.explain.capacity_situations import nodes, situation_of
from tests.oracle.builders import GPU, pods

Samples = dict[tuple[str, ...], float]


def samples(found: Capacity, name: str) -> Samples:
    """Of one gauge, by the values of its labels."""
    (family,) = (family for family in families(found) if family.name == f"maitred_{name}")
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def part(reason: str, devices: int, detail: str = "") -> IdlePart:
    return IdlePart(reason, detail, devices, 1, None)  # type: ignore[arg-type]  # one of the literals


def test_devices_and_why_they_are_idle() -> None:
    tainted = (part("Tainted", 4, "a:NoSchedule"), part("Tainted", 3, "b:NoSchedule"), part("Free", 2))
    found = Capacity(idle=(Idle(GPU, "H100", 64, 3, 9, tainted), Idle(GPU, "A100", 8, 0, 0, ())))
    assert samples(found, "devices") == {(GPU, "H100"): 64, (GPU, "A100"): 8}
    assert samples(found, "unwell_devices") == {(GPU, "H100"): 3, (GPU, "A100"): 0}
    assert samples(found, "idle_devices") == {(GPU, "H100", "Tainted"): 7, (GPU, "H100", "Free"): 2}


def test_the_largest_gang_is_that_of_the_highest_priority() -> None:
    def gangs(members: int, room: int | None, level: str | None = None) -> Gangs:
        return Gangs(level, Largest(members, None), None if room is None else Largest(room, None))

    ranks = (
        PlaceablePriority(0, "", 2, (gangs(3, None),)),
        PlaceablePriority(9, "high", 0, (gangs(5, 7), gangs(2, None, "rack"))),
        PlaceablePriority(4, "mid", 1, (gangs(4, 6),)),
    )
    one, asked = ShapeOfPods("one", {GPU: "1"}, "H100"), ShapeOfPods("asked", {GPU: "2"})
    found = Capacity(
        placeable=(
            Placeable(one, ranks),
            Placeable(asked, ranks),
            Placeable(ShapeOfPods("one", {}, "H100", claims={"h100": "1"}), ranks[:1]),
            Placeable(ShapeOfPods("node", {GPU: "8"}), ()),
        )
    )
    assert samples(found, "largest_gang") == {
        ("one", GPU, "H100", "cluster", "now"): 5,
        ("one", GPU, "H100", "cluster", "preempting"): 7,
        ("one", GPU, "H100", "rack", "now"): 2,
        ("one", "h100", "H100", "cluster", "now"): 3,
    }


def test_fragmented_groups_are_counted_by_what_helps_with_those_that_ask_for_the_same() -> None:
    drain = Move("drain", ("a/b",), "n1", (), 0.0)

    def waiting(move: Move | None, sought: bool, alike: int) -> Fragmented:
        return Fragmented("a/g", "Fragmentation", "", 8, 8, move, sought, alike)

    found = Capacity(
        fragmented=(
            waiting(drain, True, 2),
            waiting(drain, True, 0),
            waiting(None, True, 1),
            waiting(None, False, 4),
        )
    )
    assert samples(found, "fragmented_groups") == {
        ("migration",): 0,
        ("drain",): 4,
        ("nothing-small",): 2,
        ("not-sought",): 5,
    }


def test_incomplete_groups_and_what_they_hold() -> None:
    def held(**holds: int) -> Incomplete:
        return Incomplete("a/g", 3, 8, holds, None, 0.0, False, None)

    found = Capacity(resources=("gpu", "npu", "tpu"), incomplete=(held(gpu=3, npu=1), held(gpu=5)))
    assert samples(found, "incomplete_groups") == {(): 2}
    assert samples(found, "incomplete_devices") == {("gpu",): 8, ("npu",): 1, ("tpu",): 0}


def test_the_shortest_wait_that_costs_more_than_making_room() -> None:
    def worth(allowed: bool, hours: float | None) -> PreemptionWorth:
        return PreemptionWorth("a/g", allowed, "", 8, (), 1, 1.0, None, 0, hours, 0.0, None)

    found = Capacity(preemption=(worth(True, 2.5), worth(True, 0.5), worth(True, None), worth(False, None)))
    assert samples(found, "preemption_break_even_hours") == {("true",): 0.5}


def test_levels_that_keep_groups_waiting() -> None:
    rack = Constraint("required", "rack", 3, 24, 7.5, None, 2, 4.0, None, ("a/g",), 8, True)
    found = Capacity(constraints=(rack,))
    told = chain.from_iterable(
        samples(found, f"constraint_{name}").items()
        for name in ("groups", "devices", "waited_hours", "blocked_groups", "helped_groups")
    )
    assert list(told) == [(("required", "rack"), value) for value in (3, 24, 7.5, 2, 1)]


def test_a_survey_is_shown_from_the_first_answer_on_until_the_term_ends() -> None:
    survey, asked = CapacityGauges(seconds_between=0.0), 0
    situation = situation_of([*nodes(2), *pods("a", 3, gpu=1, node="n0")])

    async def lead() -> None:
        nonlocal asked
        again = asyncio.Event()

        def looked_at() -> Any:
            nonlocal asked
            asked += 1
            if asked > 1:
                again.set()
            return situation

        term = asyncio.create_task(survey.run(looked_at))
        assert list(survey.collect()) == []
        await again.wait()
        shown = {family.name: family for family in survey.collect()}
        assert [sample.value for sample in shown["maitred_devices"].samples] == [16]
        term.cancel()
        await asyncio.gather(term, return_exceptions=True)

    asyncio.run(lead())
    assert list(survey.collect()) == []
