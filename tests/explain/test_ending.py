"""When those who run end, and by whose word: in `why`, and in estimates of when others start."""

from typing import Any

import pytest

from maitred.explain.forecast.forecast import estimate
from maitred.explain.tables import plan_lines
from maitred.explain.why.answer import Why
from maitred.explain.why.tables import why_lines
from maitred.model.plan import DeadlineToSet, Plan
from maitred.model.runtime import MAX_RUNTIME
from tests.explain.forecasts import at, gang, hours, nodes, situation
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.support import Obj

SPEC: Obj = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
WAITS = gang("wait")


def queue(**runtime: Any) -> Obj:
    return {"queues": [{"name": "default", "runtime": runtime}]}


def crew(policy: Obj | None = None, marks: Obj | None = None, **spec: Any) -> Why:
    job = b.owner_object("batch/v1", "Job", "crew", "default", {**SPEC, **spec}, annotations=marks)
    job["status"] = {"startTime": "2026-01-31T08:00:00Z"}
    pods = [b.pod(f"crew-{i}", cpu=1, owner="Job/crew", index=i, node="n1") for i in range(2)]
    for pod in pods:
        pod["status"]["startTime"] = "2026-01-31T11:00:00Z"
    return why_of([b.node("n1"), job, *pods], policy=policy)


@pytest.mark.parametrize(
    ("policy", "marks", "spec", "words"),
    [
        (
            None,
            None,
            {"activeDeadlineSeconds": 21600},
            "at 2026-01-31T14:00:00Z at the latest, by active",
        ),
        (
            queue(enforce=True),
            {MAX_RUNTIME: "2h"},
            {},
            "at 2026-01-31T13:00:00Z at the latest, by its limit",
        ),
        (
            queue(),
            {MAX_RUNTIME: "2h"},
            {},
            "about 2026-01-31T13:00:00Z, by its limit, ",
        ),
        (
            queue(default="3h", enforce=True),
            None,
            {},
            "at 2026-01-31T14:00:00Z at the latest, by the default",
        ),
        (
            queue(most="1d", enforce=True),
            None,
            {},
            "at 2026-02-01T11:00:00Z at the latest, by the most",
        ),
        (
            None,
            {"maitred.dev/expected-runtime": "90m"},
            {},
            "about 2026-01-31T12:30:00Z, by its own",
        ),
        (
            queue(enforce=True),
            {MAX_RUNTIME: "2h", "maitred.dev/expected-runtime": "1h"},
            {},
            "at 2026-01-31T13:00:00Z at the latest, by its limit",
        ),
    ],
)
def test_why_says_when_a_group_that_runs_ends_and_by_whose_word(
    policy: Obj | None, marks: Obj | None, spec: Obj, words: str
) -> None:
    answer = crew(policy, marks, **spec)
    assert answer.ends is not None
    assert answer.ends.words.startswith(words)
    assert answer.ends.enforced == ("at the latest" in words)
    assert any(line.plain.split()[:1] == ["End"] for line in why_lines(answer, 200))


def test_where_nobody_says_it_nothing_is_said() -> None:
    assert crew().ends is None


def with_limit(policy: Obj | None, limit: str) -> tuple[float, float, tuple[str, ...]]:
    job = b.owner_object("batch/v1", "Job", "run", "default", SPEC, annotations={MAX_RUNTIME: limit})
    job["status"] = {"startTime": at(-3)}
    running = gang("run", on="n0", ran=1, owner="Job/run")
    found = estimate(situation([*nodes(1), job, *running, *WAITS], policy), "default/wait")
    return hours(found.earliest), hours(found.latest), found.assumptions


def test_estimates_count_on_limits_that_are_enforced_as_on_deadlines() -> None:
    earliest, latest, assumptions = with_limit(queue(enforce=True), "3h")
    assert 0 < earliest < latest <= 2.1
    assert "1 group on nodes will end at any moment before the deadline" in assumptions


def test_estimates_say_that_nobody_enforces_a_limit() -> None:
    earliest, latest, assumptions = with_limit(None, "3h")
    assert 0 < earliest < latest <= 2.1
    words = "1 group on nodes will end at any moment before a run-time limit that is not enforced"
    assert words in assumptions


def test_a_limit_that_nobody_enforced_and_that_is_over_tells_nothing() -> None:
    running = gang("run", on="n0", ran=4)
    running[0]["metadata"]["annotations"] = {MAX_RUNTIME: "3h"}
    found = estimate(situation([*nodes(1), *running, *WAITS]), "default/wait")
    assert found.earliest is None
    assert "1 group on nodes will not end: no run time is declared" in found.assumptions


def test_the_plan_shows_the_deadlines_that_it_sets_and_takes_back() -> None:
    deadlines = (
        DeadlineToSet("a/new", "u", "a/new", 60, "2026-01-31T12:01:00Z", MAX_RUNTIME),
        DeadlineToSet("a/old", "u"),
        DeadlineToSet("", "u", "a/p", 60, "2026-01-31T12:01:00Z", "team", "a/p"),
    )
    lines = [line.plain.strip() for line in plan_lines(Plan(deadlines=deadlines))]
    place = lines.index("Deadlines of Jobs")
    assert lines[place + 1 : place + 3] == [
        "a/new  ends at 2026-01-31T12:01:00Z, by the run-time limit of a/new (maitred.dev/max-runtime)",
        "a/old  has none any more: it waits for places again",
    ]
    place = lines.index("Deadlines of pods")
    assert lines[place + 1] == "a/p  ends at 2026-01-31T12:01:00Z, by the run-time limit of a/p (queue team)"
