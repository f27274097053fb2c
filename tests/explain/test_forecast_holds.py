"""Estimates where places are held or reserved: what is kept for others is not there in the future either."""

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from maitred.cli import cli
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimate
from maitred.explain.forecast.orders import orders
from maitred.model.history import NO_HISTORY, History
from maitred.model.runtime import EXPECTED_RUNTIME
from tests.decide.holding import after_noon, runs, waits
from tests.docs.console import ROOT
from tests.explain.forecasts import at, hours, past, remembered, requests, situation
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples

HOLDS: Obj = {"holds": {"depth": 1}}


def said(objects: list[Obj], minutes: float) -> list[Obj]:
    """They say that they run for so long."""
    for one in objects:
        one["metadata"].setdefault("annotations", {})[EXPECTED_RUNTIME] = f"{minutes}m"
    return objects


def busy(name: str, node: str, until: float) -> Obj:
    """It ends so many minutes after noon, and says so."""
    return said([runs(name, node, until=until)], 60 + until)[0]


def pair() -> list[Obj]:
    """Two nodes: one is free in half an hour, the other in an hour. `large` needs both, and runs for two."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    return [*nodes, busy("short", "a", 30), busy("early", "b", 60), *waits("large", 4, 120, -40, size=2)]


def found(
    objects: list[Obj], name: str, policy: Obj | None = None, history: History = NO_HISTORY
) -> Estimate:
    return estimate(situation(objects, HOLDS if policy is None else policy, history), f"default/{name}")


def start(objects: list[Obj], name: str, policy: Obj | None = None) -> float:
    return hours(found(objects, name, policy).likely)


# -- holds by limits ---------------------------------------------------------------------------------------


def test_a_group_with_a_hold_starts_at_its_hold_at_the_latest() -> None:
    """Nobody knows when `early` ends, but by one o'clock it has."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    objects = [*nodes, runs("early", "b", until=60), *waits("large", 4, 120, size=2)]
    told = found(objects, "large")
    assert hours(told.earliest) < hours(told.likely) < hours(told.latest) <= 1
    assert told.words.endswith("; by its hold, at 13:00 UTC at the latest")
    assert "1 group has a hold, which no equal or lesser group delays" in told.assumptions
    assert "hold" not in str(found(objects, "large", {}))


@pytest.mark.parametrize(("minutes", "begins"), [(180, 3.0), (None, 3.0), (30, 0.5)])
def test_who_would_delay_a_hold_starts_after_the_group_that_has_it(
    minutes: float | None, begins: float
) -> None:
    objects = [*pair(), *said(waits("mine", 4, minutes, -20), 30)]
    assert start(objects, "mine") == begins
    assert start(objects, "mine", {}) == 0.5
    assert start(objects, "large") == 1.0


def test_without_its_hold_the_large_group_would_start_after_the_small_one() -> None:
    objects = [*pair(), *waits("mine", 4, 180, -20)]
    assert start(objects, "large", {}) == 3.5
    assert start(objects, "large") == 1.0


def test_who_ranks_higher_delays_a_hold() -> None:
    objects = [*pair(), *waits("mine", 4, 180, -20, priority=10)]
    policy = {**HOLDS, "preemption": {"mode": "never"}}
    assert start(objects, "mine", policy) == 0.5
    assert start([*pair(), *waits("mine", 4, 180, -20)], "mine", policy) == 3.0


def test_nobody_leaves_where_a_place_is_held_for_a_group_of_higher_rank() -> None:
    """`weak` ends by the hold of `large`, so it has its node until then; `mine` would stay for too long."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    weak = said([runs("weak", "a", until=60, priority=-5)], 120)
    weak[0]["metadata"]["annotations"]["maitred.dev/min-runtime"] = "90m"
    others = [*weak, busy("early", "b", 60), *waits("large", 4, 120, -40, size=2)]
    objects = [*nodes, *others, *waits("mine", 4, 180, -20, priority=-1)]
    for large in objects[4:6]:
        large["spec"] |= {"priority": 3, "preemptionPolicy": "Never"}
    assert start(objects, "mine") == 3.0
    assert start(objects, "mine", {}) == 0.5


def test_those_who_come_later_do_not_delay_a_hold() -> None:
    """Small groups come all the while, and `large` finds both nodes free at one moment only with a hold."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    objects = [*nodes, busy("short", "a", 30), busy("early", "b", 60), *waits("large", 4, 120, -40, size=2)]
    asked = requests(situation(objects).snapshot)
    history = remembered([past(f"small-{n}", 0.2 * n + 0.05, 3.0, asked) for n in range(30)], since=6)
    assert found(objects, "large", {}, history).latest is None
    told = found(objects, "large", None, history)
    assert told.latest == at(1)


def test_two_holds_do_not_delay_each_other() -> None:
    """`second` begins beside `large` when that ends, and `mine` after both."""
    objects = [
        *pair(),
        *waits("second", 4, 60, -35, size=2),
        *waits("mine", 4, 180, -20),
    ]
    policy: Obj = {"holds": {"depth": 2}}
    starts = {name: start(objects, name, policy) for name in ("large", "second", "mine")}
    assert starts == {"large": 1.0, "second": 3.0, "mine": 4.0}


def test_holding_room_that_is_held_anyway_gains_nothing() -> None:
    objects = [*pair(), *waits("mine", 4, 180, -20)]
    assert orders(situation(objects, HOLDS), "default/large").gained_hours == 0
    assert orders(situation(objects, {}), "default/large").gained_hours == 2.5


# -- holds by age ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("idle", "begins"), [(1, 1.0), (0.25, 0.25)])
def test_a_hold_by_age_lasts_until_too_much_has_stood_idle(idle: float, begins: float) -> None:
    """One of two nodes stands idle for `large`, and nobody knows when the other is free."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    objects = [*nodes, runs("endless", "b"), *waits("large", 4, 120, -40, size=2), *waits("mine", 4, 60, -20)]
    policy: Obj = {"holds": {"depth": 1, "after": "10m", "idle": idle}}
    assert start(objects, "mine", policy) == pytest.approx(begins, abs=0.001)


# -- reservations ------------------------------------------------------------------------------------------


def reserved(begin: float, end: float, **more: Any) -> Obj:
    """All nodes, for the namespace vision, so many minutes after noon."""
    times = {"from": after_noon(begin)[:16], "until": after_noon(end)[:16]}
    named = {"name": "demo", "for": {"namespace": "vision"}, "nodes": {"matchLabels": {"pool": "demo"}}}
    return {"reservations": [{**named, **times, **more}]}


def one_node() -> list[Obj]:
    return [b.node("a", cpu=4, labels={"pool": "demo"}), busy("short", "a", 30)]


@pytest.mark.parametrize(
    ("minutes", "more", "begins"),
    [
        (30, {}, 0.5),
        (31, {}, 3.0),
        (None, {"leadTime": "10m"}, 0.5),
        (None, {}, 3.0),
        (20, {"leadTime": "1h"}, 0.5),
    ],
)
def test_a_group_that_would_be_there_in_the_time_of_a_reservation_starts_after_it(
    minutes: float | None, more: Obj, begins: float
) -> None:
    objects = [*one_node(), *said(waits("mine", 4, minutes), 30)]
    assert start(objects, "mine", reserved(60, 180, **more)) == begins


def test_what_is_reserved_now_is_free_for_others_when_the_reservation_ends() -> None:
    objects = [b.node("a", cpu=4, labels={"pool": "demo"}), *waits("mine", 4, 30)]
    told = found(objects, "mine", reserved(-60, 180))
    assert hours(told.likely) == 3
    assert "1 reservation keeps nodes free for others" in told.assumptions


def test_what_is_reserved_is_there_for_those_whom_it_is_for() -> None:
    objects = [*one_node(), *waits("mine", 4, 600, -20, namespace="vision"), *waits("older", 4, 300, -50)]
    policy = reserved(15, 180)
    told = estimate(situation(objects, policy), "vision/mine")
    assert hours(told.likely) == 0.5
    assert start(objects, "older", policy) == pytest.approx(10.5)


def test_a_reservation_that_comes_again_keeps_its_nodes_each_time() -> None:
    objects = [*one_node(), *waits("mine", 4, 60 * 23)]
    policy = reserved(60, 120, every="day")
    assert start([*one_node(), *waits("mine", 4, 60 * 22)], "mine", policy) == 2
    assert start(objects, "mine", policy) == 2
    told = found([*one_node(), *waits("mine", 4, 60 * 23 + 1)], "mine", policy)
    assert told.likely is None
    assert told.words.startswith("not known: it has no room beside what is held for others or reserved")
    told = found([*one_node()[:1], *waits("mine", 4, 60 * 23 + 1)], "mine", policy)
    assert told.words.startswith("not known: it would fit, but a is reserved for namespace vision from ")


# -- any cluster -------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Obj], Obj]:
    tens = st.integers(1, 12).map(lambda number: 10 * number)
    objects = [b.node(f"n{n}", cpu=4, labels={"pool": "demo"}) for n in range(draw(st.integers(2, 3)))]
    for number, node in enumerate(list(objects)):
        pod = runs(f"run{number}", node["metadata"]["name"], cpu=draw(st.sampled_from((2, 4))))
        until = draw(st.one_of(st.none(), tens))
        objects.append(pod if until is None else busy(f"run{number}", node["metadata"]["name"], until))
    for number in range(draw(st.integers(1, 5))):
        lasts, size, since = draw(tens), draw(st.integers(1, 3)), -draw(tens)
        limit, priority = draw(st.sampled_from((lasts, lasts, None))), draw(st.sampled_from((0, 0, 5)))
        cpu = draw(st.sampled_from((2, 4)))
        objects += said(waits(f"g{number}", cpu, limit, since, size=size, priority=priority), lasts)
    holds = {"depth": draw(st.integers(1, 4)), "after": draw(st.sampled_from(("none", "30m"))), "idle": 2}
    policy: Obj = {"holds": holds, **(reserved(60, 120) if draw(st.booleans()) else {})}
    return objects, policy


@examples(25)
@given(worlds())
def test_nobody_is_expected_after_its_hold(world: tuple[list[Obj], Obj]) -> None:
    objects, policy = world
    asked = situation(objects, policy)
    waiting = [one.group for one in asked.decided().decisions if one.verdict == "Waiting"]
    for verdict in asked.plan(waiting).decisions:
        begins = verdict.blockers[0].detail.get("hold", {}).get("begins") if verdict.blockers else None
        if begins is not None:
            told = estimate(asked, verdict.group)
            ordered = [hours(told.earliest), hours(told.likely), hours(told.latest), hours(begins)]
            assert ordered == sorted(ordered)


def test_a_booked_start_is_the_latest_start_and_nobody_is_expected_in_its_way() -> None:
    """As in the example: the first place that is free for both of its time is the other rack."""
    example = ROOT / "examples/bookings"
    found = {}
    for name in ("llama", "urgent"):
        arguments = [
            "why",
            name,
            "-f",
            str(example / "cluster.yaml"),
            "--policy",
            str(example / "policy.yaml"),
        ]
        result = CliRunner().invoke(cli, [*arguments, "--now", "2026-03-01T12:00:00Z", "-o", "json"])
        found[name] = json.loads(result.stdout)["estimate"]
    assert found["llama"]["words"].endswith("; by its booked start, at 13:01 UTC at the latest")
    assert found["llama"]["latest"] <= "2026-03-01T13:01:00Z"
    assert "booked" not in found["urgent"]["words"]
