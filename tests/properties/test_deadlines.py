"""Deadlines, and times before which nothing starts, over small random clusters: the order is that of a plain
oracle, a lie gains nothing, nothing starts early, and time alone starts what waits for it."""

import copy
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.reading import seated
from tests.oracle.builders import Obj, node, pod
from tests.oracle.effort import examples
from tests.support import NOON, decide

POLICY: Obj = {"order": ["priority", "fair-share", "deadline", "age"]}
DEADLINE, NOT_BEFORE = "maitred.dev/deadline", "maitred.dev/not-before"
EXPECTED = "maitred.dev/expected-runtime"
NOW = datetime.fromisoformat(NOON)
DECIDED = ("binds", "nominations", "evictions", "holds")


def at(minutes: int) -> str:
    return (NOW + timedelta(minutes=minutes)).isoformat()


@st.composite
def jobs(draw: st.DrawFn) -> list[Obj]:
    found = []
    for number in range(draw(st.integers(1, 6))):
        marks = {}
        if draw(st.booleans()):
            marks[DEADLINE] = at(draw(st.integers(-2, 6)) * 30)
        if draw(st.integers(0, 3)):
            marks[EXPECTED] = f"{draw(st.integers(1, 4)) * 30}m"
        found.append(
            pod(
                f"p{number}",
                draw(st.integers(1, 3)),
                priority=draw(st.integers(0, 1)),
                created=draw(st.integers(0, 3)),
                annotations=marks,
            )
        )
    return found


def marks_of(one: Obj) -> dict[str, str]:
    return one["metadata"].get("annotations", {})  # type: ignore[no-any-return]


def counts(one: Obj) -> float:
    """The deadline as it counts, in minutes from now."""
    marks = marks_of(one)
    if DEADLINE not in marks or EXPECTED not in marks:
        return math.inf
    minutes = (datetime.fromisoformat(marks[DEADLINE]) - NOW).total_seconds() / 60
    return minutes if minutes >= int(marks[EXPECTED][:-1]) else math.inf


def place(one: Obj) -> tuple[Any, ...]:
    meta = one["metadata"]
    return -one["spec"]["priority"], counts(one), meta["creationTimestamp"], meta["name"]


def cores(one: Obj) -> int:
    return int(one["spec"]["containers"][0]["resources"]["requests"]["cpu"])


@given(jobs(), st.integers(1, 8))
@examples(80)
def test_the_earliest_deadline_that_can_be_kept_goes_first(pods: list[Obj], cpu: int) -> None:
    left, expected = cpu, list[str]()
    for one in sorted(pods, key=place):
        if cores(one) <= left:
            left -= cores(one)
            expected.append(one["metadata"]["name"])
    objects = [node("n1", cpu=cpu), *pods]
    plan = decide(objects, POLICY)
    assert seated(plan) == sorted(expected)
    assert verify(objects, plan, POLICY, now=NOW) == []


@given(jobs(), st.integers(1, 8), st.data())
@examples(60)
def test_a_lie_gains_nothing(pods: list[Obj], cpu: int, data: st.DataObject) -> None:
    """A deadline that has passed, that nobody could keep, that has no run time or cannot be read, changes
    nothing; and none at all changes the turn of anybody of another priority."""
    liar = data.draw(st.sampled_from(pods))
    honest = [node("n1", cpu=cpu), *copy.deepcopy(pods)]
    for one in honest:
        if one["metadata"]["name"] == liar["metadata"]["name"]:
            marks_of(one).pop(DEADLINE, None)
    marks = marks_of(liar)
    runs = int(marks[EXPECTED][:-1]) if EXPECTED in marks else 10_000
    lies = (st.integers(-10_000, runs - 1).map(at), st.text(max_size=30))
    liar["metadata"]["annotations"] = {**marks, DEADLINE: data.draw(st.one_of(*lies))}
    plan, before = decide([node("n1", cpu=cpu), *pods], POLICY), decide(honest, POLICY)
    assert [plan[what] for what in DECIDED] == [before[what] for what in DECIDED]


@given(st.lists(st.integers(-30_000, 300_000), min_size=1, max_size=5))
@examples(60)
def test_nothing_starts_early_and_time_alone_starts_it(starts: list[int]) -> None:
    """In milliseconds from now."""
    times = [NOW + timedelta(milliseconds=start) for start in starts]
    pods = [pod(f"p{n}", 1, annotations={NOT_BEFORE: t.isoformat()}) for n, t in enumerate(times)]
    objects, now, begun = [node("n1", cpu=len(pods)), *pods], NOW, dict[str, datetime]()
    for _ in range(len(pods) + 1):
        plan = decide(objects, now=now.isoformat())
        assert verify(objects, plan, now=now) == []
        for bind in plan["binds"]:
            begun[bind["pod"]] = now
            chosen = next(one for one in pods if f"default/{one['metadata']['name']}" == bind["pod"])
            chosen["spec"]["nodeName"], chosen["status"]["phase"] = bind["node"], "Running"
        if plan["wakeAt"] is None:
            break
        now = datetime.fromisoformat(plan["wakeAt"])
    whole = [datetime.fromtimestamp(math.ceil(time.timestamp()), UTC) for time in times]
    assert begun == {f"default/p{n}": max(NOW, time) for n, time in enumerate(whole)}


@given(st.integers(1, 5), st.integers(0, 120))
@examples(20)
def test_the_checker_sees_a_start_that_is_too_early(cpu: int, minutes: int) -> None:
    waits = pod("p", 1, annotations={NOT_BEFORE: at(minutes)})
    objects = [node("n1", cpu=cpu), waits]
    early = decide([objects[0], pod("p", 1)])
    found = verify(objects, early, now=NOW)
    assert bool(found) == (minutes > 0)
