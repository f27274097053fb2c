"""What answers say of groups that run without paying, because the budget of their queue is spent."""

from typing import Any

from maitred.explain.queues.survey import queues
from maitred.explain.queues.tables import queue_lines
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.situation import Situation
from maitred.explain.tables import plan_lines
from maitred.explain.why.comparing import compare
from maitred.model.plan import Plan
from tests.decide.test_scavengers import asks, policy, remembered
from tests.explain.capacity_situations import situation_of
from tests.explain.supposing import plan
from tests.explain.test_policy_findings import found
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import NOON

NOTE = (
    "it runs without paying, because the budget of its queue was spent when it started: any group that pays "
    "may evict it at any time"
)
KEPT = remembered(("g", ["g"]))


def scene(*more: Obj, **fields: Any) -> list[Obj]:
    return [b.node("n", gpu=16), asks("a", node="n"), asks("g", node="n", **fields), KEPT, *more]


def test_why_says_of_a_group_that_runs_that_it_may_have_to_leave() -> None:
    for group, notes in (("g", 1), ("a", 0)):
        answer = why_of(scene(), f"default/{group}", policy=policy())
        assert answer.notes.count(NOTE) == notes


def test_why_says_of_one_that_waits_what_is_too_dear() -> None:
    answer = why_of(scene(asks("s")), "default/s", policy=policy(20))
    assert answer.blockers[0].message.endswith(
        "; queue team has 4 of 20 device-hours left, and the group needs 16, so it runs only where nobody "
        "who pays wants to"
    )
    assert answer.preemption is not None
    assert answer.preemption.words == "it would run without paying, so no pod leaves for it"


def test_whoever_begins_to_run_so_is_told() -> None:
    objects = [b.node("n", gpu=8), asks("g")]
    note = (
        "it runs without paying, because no budget of its queue pays for it: any group that pays may evict "
        "it at any time"
    )
    assert note in why_of(objects, "default/g", policy=policy(0)).notes
    lines = [line.plain.rstrip() for line in plan_lines(decided(situation_of(objects, policy(0))))]
    row = "  default/g  no budget pays for it: any group that pays may evict it at any time"
    assert lines[lines.index("Without paying") + 1] == row
    lines = [line.plain for line in plan_lines(decided(situation_of(objects, policy(16))))]
    assert "Without paying" not in lines


def test_whoever_plans_a_group_is_told_that_it_would() -> None:
    objects, rules = [b.node("n", gpu=8)], policy(0)
    for spent, told in ((0, True), (16, False)):
        rules["queues"][0]["budget"]["deviceHours"] = spent
        (answer,) = plan(objects, asks("g"), policy=rules).proposals
        notes = [note for note in answer.notes if "would run without paying" in note]
        assert (answer.outcome, bool(notes)) == ("fits", told)


def test_whoever_pays_comes_before_who_does_not_by_that_rule() -> None:
    objects = scene(asks("s", priority=10), asks("p", queue="other"))
    answer = compare(situation_of(objects, policy()), "default/p", "default/s")
    (point,) = (one for one in answer.points if one.decides)
    assert (point.rule, point.group, point.other, point.first) == ("paying", "yes", "no", "group")


def test_queues_show_what_runs_without_paying() -> None:
    answer = queues(situation_of(scene(), policy()))
    (team,) = (one.budget for one in answer.queues if one.budget is not None)
    assert (team.on_spent, team.unpaid, team.spent, team.committed) == ("scavenge", 8.0, 8.0, 8.0)
    lines = "\n".join(line.plain.rstrip() for line in queue_lines(answer))
    assert "UNTIL                 UNPAID\n" in lines
    assert "8 an hour" in lines
    waits = queues(situation_of(scene(), policy(onSpent="wait")))
    assert "UNPAID" in "\n".join(line.plain for line in queue_lines(waits))
    none = queues(situation_of(scene()[:-1], policy(onSpent="wait")))
    assert "UNPAID" not in "\n".join(line.plain for line in queue_lines(none))


def test_a_policy_that_lets_nobody_take_their_places_is_pointed_out() -> None:
    budget = "budget: {deviceHours: 1, period: day, onSpent: scavenge}, runtime: {default: 1h}"
    rules = f"queues: [{{name: a, {budget}}}]"
    (warning,) = found(rules + "\npreemption: {mode: never}")
    assert warning.startswith(
        "queues[0].budget.onSpent: groups of a that run without paying keep their places"
    )
    assert found(rules) == []


# -- one truth -----------------------------------------------------------------------------------------


def decided(situation: Situation) -> Plan:
    return situation.decided()


def test_others_are_told_what_is_decided() -> None:
    """Whose groups they are is hidden, and what becomes of the reader's own is the same."""
    member = asks("m1", 1, namespace="theirs", group="gang")
    gang = [b.pod_group("gang", 1, namespace="theirs"), member]
    gang.append(asks("m0", 1, node="n", namespace="theirs", group="gang"))
    kept = remembered(("x", []))
    kept["data"]["record"] = kept["data"]["record"].replace(
        '"group":"default/x","pods":[]', '"group":"theirs/gang","pods":["theirs-m0"]'
    )
    objects = [b.node("n", gpu=3), *gang, kept, asks("p", 3, queue="other", namespace="mine")]
    every = situation_of(objects, policy())
    seen = as_seen_by(every, ["mine"])
    plans = [decided(one) for one in (every, seen)]
    assert [(one.cause, one.receipt.rule) for one in plans[0].evictions] == [
        (one.cause, one.receipt.rule) for one in plans[1].evictions
    ]
    assert plans[0].evictions
    assert "gang" not in str(plans[1])
    alone = situation_of(objects[:-1], policy())
    for one in (alone, as_seen_by(alone, ["mine"])):
        memory = decided(one).budgets
        assert memory is not None
        assert [len(group.pods) for group in memory.scavengers] == [2]


def test_estimates_know_that_they_yield() -> None:
    """Once one that pays has ended: also where the queue is within its guarantee."""
    rules = policy()
    rules["queues"][0]["limits"] = [{"resource": b.GPU, "guarantee": 8}]
    long, short = ({"maitred.dev/max-runtime": limit} for limit in ("20h", "2h"))
    pod = asks("p", 16, queue="other")
    pod["metadata"]["creationTimestamp"] = NOON
    objects = [b.node("n", gpu=16), pod, asks("g", node="n", marks=long)]
    objects.append(asks("r", node="n", queue="other", marks=short))
    starts = [why_of([*objects, *more], "default/p", policy=rules).estimate for more in ([KEPT], [])]
    ends = [one.latest or "" for one in starts if one is not None]
    assert ends[0] <= "2026-01-31T13:00:00Z" < "2026-02-01T00:00:00Z" < ends[1]
