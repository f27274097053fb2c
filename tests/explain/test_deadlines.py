"""Deadlines in answers: whether a group will be done in time, what would save it, and when it may start."""

from typing import Any

import pytest

from maitred.explain.forecast.forecast import estimates
from maitred.explain.why.answer import Why
from maitred.explain.why.tables import why_lines
from tests.explain.supposing import plan
from tests.explain.whys import situation_of, why_of
from tests.oracle import builders as b
from tests.support import Obj

DEADLINE, NOT_BEFORE = "maitred.dev/deadline", "maitred.dev/not-before"
EXPECTED = "maitred.dev/expected-runtime"


def today(clock: str) -> str:
    return f"2026-01-31T{clock}:00Z"


def runner(name: str, ends: int) -> Obj:
    """It runs since eleven, on all of a node, for so many hours."""
    pod = b.pod(name, 4, node="n1", annotations={EXPECTED: f"{ends - 11}h"})
    pod["status"]["startTime"] = today("11:00")
    return pod


def waits(name: str = "crew", deadline: str = "", not_before: str = "", runs: str = "1h", **more: Any) -> Obj:
    said = {DEADLINE: deadline, NOT_BEFORE: not_before, EXPECTED: runs}
    return b.pod(name, 4, created=1, annotations={key: text for key, text in said.items() if text}, **more)


def asked(*pods: Obj, policy: Obj | None = None) -> Why:
    return why_of([b.node("n1", cpu=4), *pods], policy=policy)


@pytest.mark.parametrize(
    ("deadline", "at_risk", "words"),
    [
        (
            today("16:00"),
            False,
            "it takes 1h by maitred.dev/expected-runtime, so it must start by 2026-01-31T15:00:00Z; it is "
            "expected to",
        ),
        (
            today("14:30"),
            True,
            "so it must start by 2026-01-31T13:30:00Z; at risk: it is expected to start about "
            "2026-01-31T14:00:00Z",
        ),
        (today("12:30"), True, "at risk: it cannot start by then any more"),
        (today("11:30"), True, "2026-01-31T11:30:00Z; it has passed"),
    ],
)
def test_whether_it_starts_in_time(deadline: str, at_risk: bool, words: str) -> None:
    answer = asked(runner("r", 14), waits(deadline=deadline))
    assert answer.due is not None
    assert answer.due.at_risk is at_risk
    assert words in answer.due.words
    assert [line.plain.split()[1] for line in why_lines(answer) if line.plain.startswith("Deadline")] == [
        f"{deadline};"
    ]


def test_what_would_save_it_is_what_was_tried() -> None:
    lesser = b.priority_class("high", 10)
    answer = why_of([lesser, b.node("n1", cpu=4), runner("r", 14), waits(deadline=today("14:00"))])
    assert answer.due is not None
    assert answer.remedies
    assert answer.due.words.endswith(f"; to save it, {answer.remedies[0].change}")


def test_without_a_run_time_nobody_knows() -> None:
    answer = asked(runner("r", 14), waits(deadline=today("15:00"), runs=""))
    assert answer.due is not None
    assert (answer.due.at_risk, answer.due.latest_start) == (None, None)
    assert answer.due.words.endswith("set maitred.dev/expected-runtime")


def test_of_one_that_runs_its_end_counts() -> None:
    for ends, late in ((12, True), (14, False)):
        pod = runner("crew", 13)
        pod["metadata"]["annotations"][DEADLINE] = today(f"{ends}:30")
        answer = asked(pod)
        assert answer.due is not None
        assert answer.due.at_risk is late


def starts(objects: list[Obj], policy: Obj | None = None) -> dict[str, str | None]:
    found = situation_of([b.node("n1", cpu=4), *objects], policy)
    keys = [one.group.key for one in found.snapshot.groups]
    return {key: one.likely for key, one in estimates(found, keys).items()}


def test_it_is_expected_when_it_may_start() -> None:
    assert starts([waits(not_before=today("15:00"))]) == {"default/crew": today("15:00")}
    assert starts([runner("r", 14), waits(not_before=today("13:00"))]) == {"default/crew": today("14:00")}
    answer = asked(waits(not_before=today("15:00"), deadline=today("15:30")))
    assert answer.estimate is not None
    assert answer.estimate.likely == today("15:00")
    assert answer.due is not None
    assert answer.due.at_risk


def test_who_may_not_start_yet_is_in_nobodys_way() -> None:
    other = b.pod("other", 4, created=2, annotations={EXPECTED: "4h"})
    found = starts([runner("r", 14), waits(not_before=today("15:00")), other])
    assert found == {"default/crew": today("18:00"), "default/other": today("14:00")}


def test_forecasts_go_by_deadlines_until_they_are_lost() -> None:
    policy = {"order": ["priority", "deadline", "age"]}
    older = b.pod("older", 4, created=0, annotations={EXPECTED: "4h"})
    urgent = waits(deadline=today("15:00"))
    assert starts([runner("r", 14), older, urgent], policy)["default/crew"] == today("14:00")
    urgent = waits(deadline=today("14:59"))
    assert starts([runner("r", 14), older, urgent], policy)["default/crew"] == today("18:00")


@pytest.mark.parametrize(
    ("deadline", "words"),
    [
        (today("16:00"), "it would be done about 2026-01-31T15:00:00Z, in time"),
        (today("14:30"), "it would be done about 2026-01-31T15:00:00Z, too late"),
    ],
)
def test_a_plan_says_whether_it_would_be_done(deadline: str, words: str) -> None:
    objects = [b.node("n1", cpu=4), runner("r", 14)]
    (proposal,) = plan(objects, waits(deadline=deadline)).proposals
    assert proposal.due.endswith(words)
    (proposal,) = plan(objects[:1], waits(deadline=deadline)).proposals
    assert proposal.due.endswith("it would be done about 2026-01-31T13:00:00Z, in time")


def test_to_take_the_mark_out_is_a_remedy_that_was_tried() -> None:
    waiting = waits(not_before=today("15:00"))
    answer = asked(waiting)
    assert [one.detail for one in answer.remedies] == [{"kind": "notBefore"}]
    assert answer.remedies[0].change == "take out maitred.dev/not-before"
    assert not [one for one in asked(runner("r", 14), waiting).remedies if one.detail["kind"] == "notBefore"]
