"""One truth about time: worlds in which holds, reservations or deadlines decide when a group starts."""

from itertools import permutations
from typing import Any

import msgspec
import pytest

from maitred.explain.capacity.capacity import capacity
from maitred.explain.why.answer import Why
from maitred.explain.why.comparing import compare
from maitred.explain.why.why import why
from maitred.verify import verify
from tests.decide.holding import after_noon, remembered, runs, waits
from tests.explain.applying import check_remedies
from tests.explain.forecasts import hours
from tests.explain.test_forecast_holds import busy, pair, reserved, said
from tests.explain.test_forecast_queues import inside
from tests.one_truth.coming_true import starts
from tests.one_truth.hearing_all import NOW, Cluster
from tests.one_truth.test_one_truth import assert_one_truth
from tests.one_truth.test_queues import seen
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

HOLDS: Obj = {"holds": {"depth": 1}}
BY_AGE: Obj = {"holds": {"depth": 1, "after": "10m", "idle": 1}}
CORES_OF_NODE = 4_000
"""As capacity counts them."""
DEADLINE, NOT_BEFORE = "maitred.dev/deadline", "maitred.dev/not-before"


def mine(minutes: float | None = None, runs_for: float = 120, **marks: str) -> list[Obj]:
    """It runs for two hours, whether or not anybody ends it."""
    found = said(waits("mine", 4, minutes, -20), runs_for)
    for one in found:
        one["metadata"]["annotations"] |= {key.replace("_", "-"): text for key, text in marks.items()}
    return found


def due(objects: list[Obj], **marks: str) -> list[Obj]:
    for one in objects:
        named = {"deadline": DEADLINE, "not_before": NOT_BEFORE}
        one["metadata"].setdefault("annotations", {}).update({named[key]: at for key, at in marks.items()})
    return objects


def free_now() -> list[Obj]:
    """One node is free, the other in an hour. `large` needs both, and runs for two."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    return [*nodes, busy("early", "b", 60), *waits("large", 4, 120, -40, size=2)]


def as_remembered(objects: list[Obj], policy: Obj) -> list[Obj]:
    """Nothing else of it is new, either."""
    plan = decide(objects, policy)
    return [*seen(objects), remembered(plan["planned"])]


def endless() -> list[Obj]:
    """Nobody knows when the other node is free."""
    nodes = [b.node("a", cpu=4), b.node("b", cpu=4)]
    return [*nodes, runs("endless", "b"), *waits("large", 4, 120, -40, size=2)]


def node_of_demo() -> list[Obj]:
    return [b.node("a", cpu=4, labels={"pool": "demo"})]


QUEUES: Obj = {
    **HOLDS,
    "queues": [{"name": "q", "limits": [{"resource": "cpu", "cap": 12}]}, {"name": "r"}],
}

WORLDS: dict[str, tuple[list[Obj], Obj, str, float | None]] = {
    "it would end too late": ([*free_now(), *mine(180)], HOLDS, "Priority", 3.0),
    "nobody ends it": ([*free_now(), *mine()], HOLDS, "Priority", 3.0),
    "it ends in time": ([*free_now(), *mine(60)], HOLDS, "", 0.0),
    "the hold is known": (as_remembered([*free_now(), *mine(180)], HOLDS), HOLDS, "Priority", 3.0),
    "no room before the hold": ([*pair(), *mine(180)], HOLDS, "Capacity", 3.0),
    "its own hold": ([*free_now()[:3], *waits("mine", 4, 120, -40, size=2)], HOLDS, "Capacity", 1.0),
    "several holds": (
        [*free_now(), *waits("second", 4, 60, -35, size=2), *mine(180)],
        {"holds": {"depth": 2}},
        "Priority",
        4.0,
    ),
    "a hold that is made later": (
        [
            *free_now(),
            b.node("c", cpu=4),
            busy("late", "c", 120),
            *waits("second", 4, 60, -35, size=3),
            *mine(180),
        ],
        HOLDS,
        "Priority",
        4.0,
    ),
    "one hold of two per queue": (
        [
            *inside("q", free_now()),
            *inside("r", [b.node("c", cpu=4), busy("r-early", "c", 90)]),
            *inside("r", waits("second", 4, 60, -35, size=3)),
            *inside("q", mine(180)),
        ],
        {**QUEUES, "holds": {"depth": 3, "perQueue": 1}},
        "Priority",
        4.0,
    ),
    "held because it has waited": ([*endless(), *mine(60)], BY_AGE, "Priority", 1.0),
    "reserved now": ([*node_of_demo(), *mine(60)], reserved(-60, 90), "Reservation", 1.5),
    "reserved later": ([*node_of_demo(), *mine(60)], reserved(30, 90), "Reservation", 1.5),
    "reserved later, nobody ends it": ([*node_of_demo(), *mine()], reserved(30, 90), "Reservation", 1.5),
    "reserved, and nobody is left out": ([*node_of_demo(), *mine(30)], reserved(30, 90), "", 0.0),
    "reserved every day": (
        [*node_of_demo(), *mine(60 * 23)],
        reserved(30, 90, every="day"),
        "Reservation",
        1.5,
    ),
    "reserved, and a hold": (
        [b.node("c", cpu=4, labels={"pool": "demo"}), *free_now(), *mine(180)],
        {**HOLDS, **reserved(30, 90)},
        "Priority",
        1.5,
    ),
    "at risk by a hold": (
        [*free_now(), *due(mine(180), deadline=after_noon(290))],
        HOLDS,
        "Priority",
        3.0,
    ),
    "at risk by a reservation": (
        [*node_of_demo(), *due(mine(60), deadline=after_noon(140))],
        reserved(30, 90),
        "Reservation",
        1.5,
    ),
    "not before": ([*free_now(), *due(mine(180), not_before=after_noon(45))], HOLDS, "Gated", 3.0),
    "short, and not before": (
        [*free_now(), *due(mine(15), not_before=after_noon(45))],
        HOLDS,
        "Gated",
        0.75,
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_everybody_says_the_same_of_times(name: str) -> None:
    objects, policy, first, start = WORLDS[name]
    cluster = Cluster(objects, policy)
    blockers = cluster.verdicts["default/mine"].blockers
    assert [one.category for one in blockers][:1] == [first][: len(first)]
    assert_one_truth(cluster)
    plain = msgspec.json.decode(msgspec.json.encode(cluster.plan))
    check_remedies(objects, plain, policy)
    assert verify(objects, plain, policy, now=NOW) == []
    assert_times_agree(cluster)
    assert_idle_agrees(cluster)
    assert_comes_true(cluster, policy, start)


def assert_times_agree(cluster: Cluster) -> None:
    """Who has a hold is expected by then; who waits is at risk if and only if it is expected too late."""
    waiting = [one for one in cluster.plan.decisions if one.verdict == "Waiting"]
    for verdict in waiting:
        for answer in (why(cluster.situation, verdict.group), cluster.live_why(verdict.group)):
            hold = verdict.blockers[0].detail.get("hold", {})
            assert answer.estimate is not None
            if "begins" in hold:
                assert answer.estimate.earliest is not None
                assert answer.estimate.likely is not None
                assert answer.estimate.latest is not None
                latest = hours(hold["begins"])
                assert hours(answer.estimate.earliest) <= hours(answer.estimate.likely) <= latest
                assert hours(answer.estimate.latest) <= latest
            assert_due_agrees(answer)
    for one, other in permutations(waiting, 2):
        assert compare(cluster.situation, one.group, other.group).without_other


def assert_idle_agrees(cluster: Cluster) -> None:
    """What is idle for a hold is what its nodes have free; of several holds, the first is told."""
    (idle,) = capacity(cluster.situation).idle
    told = {part.detail: part.devices for part in idle.reasons if part.reason == "Held"}
    busy = {one["spec"].get("nodeName") for one in cluster.raw if one["kind"] == "Pod"}
    busy |= {bind.node for bind in cluster.plan.binds}
    expected = dict[str, int]()
    for plan in cluster.situation.cycle().holds.planned:
        names = {cluster.situation.snapshot.nodes.names[row] for row in plan.rows.tolist()} - busy
        if names:
            expected[plan.key], busy = CORES_OF_NODE * len(names), busy | names
    assert told == expected
    begun = [one for one in cluster.plan.reservations if one.state == "begun"]
    reserved = {part.detail for part in idle.reasons if part.reason == "Reserved"}
    assert reserved == {one.beneficiary for one in begun}


def assert_due_agrees(answer: Why) -> None:
    due, told = answer.due, answer.estimate
    if due is not None and due.latest_start is not None and told is not None and told.likely is not None:
        assert due.at_risk == (hours(told.likely) > hours(due.latest_start))


def assert_comes_true(cluster: Cluster, policy: Obj, start: float | None) -> None:
    """Where everybody says when it ends, estimates are what comes true."""
    found: dict[str, Any] = starts(cluster.raw, policy)
    assert found.get("default/mine") == start
    for verdict in cluster.plan.decisions:
        if verdict.verdict == "Waiting" and verdict.group in found:
            told = why(cluster.situation, verdict.group).estimate
            assert told is not None
            assert hours(told.likely) == pytest.approx(found[verdict.group], abs=0.001)
