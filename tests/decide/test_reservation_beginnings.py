"""Who is warned that it will have to leave for a reservation, and who leaves when that begins."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.situation import Situation
from maitred.explain.why.why import why
from maitred.model.reserving import ReservationMemory
from maitred.verify import verify
from tests.decide.reserving import DAY, GPU, at, inside, keeping, kept, made_as, planned, racks, saying
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import policy_of, snapshot_of

EVICTS = saying(onStart="evict", leadTime="2h", devices={"resource": GPU, "count": 32}, within="")
"""All nodes."""
OLD = "2026-03-01T04:00:00Z"
"""Before it was made."""
OWNED = {"owner": "ReplicaSet/rs"}


def runs(name: str, node: str = "r0n0", since: str = at("09:00"), **fields: Any) -> Obj:
    return inside(name, node, since, **{**OWNED, **fields})


def remembered(plan: Obj) -> Obj:
    """What the next decision reads."""
    return made_as(msgspec.json.encode(plan["madeReservations"]).decode())


def told(plan: Obj, name: str = "demo") -> dict[str, str]:
    """Who is warned, and when it leaves; or why it does not."""
    return {one["unit"]: one["stays"] or one["leaves"] for one in kept(plan, name)["warned"]}


def gone(plan: Obj) -> list[str]:
    return sorted(one["pod"].partition("/")[2] for one in plan["evictions"])


def story(objects: list[Obj], *hours: str, policy: Obj | None = None, said: Obj = EVICTS) -> list[Obj]:
    """The Plans at some hours, each with what the one before remembered."""
    record, found = made_as(said) if policy is None else None, list[Obj]()
    for hour in hours:
        plan = planned([*objects, *([record] if record else [])], policy or keeping_none(), at(hour))
        record = remembered(plan) if plan["madeReservations"] else record
        found.append(plan)
    return found


def keeping_none() -> Obj:
    return {**keeping(), "reservations": []}


def test_who_started_after_it_was_made_is_warned_and_leaves_when_it_begins() -> None:
    first, again, before, then = story([*racks(), runs("x")], "10:00", "10:01", "13:59", "14:00")
    assert told(first) == {"default/x": at("14:00")}
    [warned] = kept(first)["warned"]
    assert (warned["warned"], warned["pods"], warned["pod"]) == (at("10:00"), 1, "default/x")
    assert (again["madeReservations"], told(again)) == (None, told(first)), "it is warned once"
    assert [gone(plan) for plan in (first, again, before, then)] == [[], [], [], ["x"]]
    [eviction] = then["evictions"]
    assert (eviction["cause"], eviction["for"]) == ("Reservation", "reservation/demo")
    assert eviction["receipt"]["rule"] == (
        "its nodes are reserved for others from 2026-03-02T14:00:00Z; it started after that was made, and "
        "was warned at 2026-03-02T10:00:00Z"
    )


def test_why_tells_who_is_warned_and_who_leaves_without_naming_anybody() -> None:
    objects = [
        *racks(),
        runs("x", namespace="lab"),
        b.namespace("lab"),
        made_as({**EVICTS, "name": "secret"}),
    ]
    for hour, words in (
        ("10:00", f"its nodes are reserved for others from {at('14:00')}: it is evicted then"),
        ("14:00", f"its nodes are reserved for others from {at('14:00')}: it is evicted at {at('16:00')}"),
    ):
        rules = policy_of(keeping_none())
        now = datetime.fromisoformat(at(hour))
        whole = Situation(snapshot_of(objects, keeping_none()), rules, now)
        answer = why(as_seen_by(whole, ["lab"]), "lab/x")
        assert answer.yields is not None
        assert answer.yields.words.startswith(words)
        assert answer.yields.cause == "Reservation"
        assert "secret" not in str(answer)


def test_whoever_was_there_before_it_was_made_stays_and_it_waits() -> None:
    first, then = story([*racks(), runs("x", since=OLD)], "10:00", "14:00")
    assert (told(first), gone(then), kept(then)["others"]) == ({}, [], 1)


def test_who_is_warned_late_leaves_later_and_never_without_notice() -> None:
    begun, early, late = story([*racks(), runs("x")], "13:00", "14:59", "15:00")
    assert told(begun) == {"default/x": at("15:00")}
    assert (gone(early), gone(late)) == ([], ["x"])
    assert early["wakeAt"] == at("15:00")
    short = {**EVICTS, "leadTime": "0s"}
    now, soon = story([*racks(), runs("x")], "14:00", "14:01", said=short)
    assert (gone(now), gone(soon)) == ([], ["x"])


def test_an_earlier_one_of_its_name_was_warned_and_not_this_one() -> None:
    [first] = story([*racks(), runs("x")], "10:00")
    new = runs("x", since=at("13:30"))
    plan = planned([*racks(), new, remembered(first)], keeping_none(), at("14:00"))
    assert (gone(plan), told(plan)) == ([], {"default/x": at("16:00")})


def test_a_gang_leaves_as_a_whole_also_what_is_elsewhere() -> None:
    nodes = [*racks(), b.node("other", gpu=8)]
    said = {**EVICTS, "devices": None, "nodes": {"matchLabels": {"rack": "r0"}}}
    gang = [runs(f"g{i}", node, group="g") for i, node in enumerate(("r0n0", "r1n0"))]
    objects = [*nodes, b.pod_group("g", 2, created=at("08:00")), *gang]
    first, then = story(objects, "10:00", "14:00", said=said)
    assert told(first) == {"default/g": at("14:00")}
    assert gone(then) == ["g0", "g1"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"owner": None}, "no controller would recreate it"),
        ({"annotations": {"maitred.dev/non-preemptible": "true"}}, "is marked maitred.dev/non-preemptible"),
        ({"annotations": {"maitred.dev/min-runtime": "1d"}}, "is protected until 2026-03-03T09:00:00Z"),
    ],
)
def test_who_may_not_be_evicted_stays_and_that_is_said(fields: Obj, why: str) -> None:
    first, then = story([*racks(), runs("x", **fields)], "10:00", "14:00")
    assert told(first) == {"default/x": why}
    assert gone(then) == []


def test_priority_helps_nobody_and_those_for_whom_it_is_stay() -> None:
    objects = [*racks(), runs("high", priority=1000), runs("ours", "r0n1", namespace="vision")]
    first, then = story(objects, "10:00", "14:00")
    assert told(first) == {"default/high": at("14:00")}
    assert gone(then) == ["high"]


def test_one_that_waits_and_one_that_is_given_back_evict_nobody() -> None:
    assert [
        gone(plan)
        for plan in story([*racks(), runs("x")], "10:00", "14:00", said={**EVICTS, "onStart": "wait"})
    ] == [[], []]
    back = {**EVICTS, "releaseAfter": "0s"}
    assert gone(story([*racks(), runs("x")], "10:00", "14:00", said=back)[1]) == []


def test_of_the_policy_it_counts_from_when_it_was_first_seen() -> None:
    policy = keeping(EVICTS)
    seen, first, then = story(
        [*racks(), runs("x", since=at("09:00"))], "08:00", "10:00", "14:00", policy=policy
    )
    assert seen["madeReservations"]["standing"][0]["since"] == at("08:00")
    assert (told(first), gone(then)) == ({"default/x": at("14:00")}, ["x"])
    late = story([*racks(), runs("x", since=at("09:00"))], "10:00", "14:00", policy=policy)
    assert [told(plan) for plan in late] == [{}, {}]
    changed = keeping({**EVICTS, "until": f"{DAY}T19:00"})
    [anew] = story([*racks(), runs("x"), remembered(seen)], "10:00", policy=changed)
    assert told(anew) == {}


def test_each_time_is_told_anew() -> None:
    daily = {**EVICTS, "every": "day", "until": f"{DAY}T15:00"}
    [first, then] = story(
        [*racks(), runs("x", annotations={"maitred.dev/non-preemptible": "true"})],
        "10:00",
        "16:00",
        said=daily,
    )
    assert [one["begin"] for one in then["madeReservations"]["warned"]] == ["2026-03-03T14:00:00Z"]
    assert first["madeReservations"]["warned"][0]["begin"] == at("14:00")


def test_an_eviction_without_a_warning_or_before_it_begins_is_found() -> None:
    objects = [*racks(), runs("x")]
    first, then = story(objects, "10:00", "14:00")
    record, now = remembered(first), datetime.fromisoformat(at("14:00"))
    assert verify([*objects, record], then, keeping_none(), now=now) == []
    for objects_then, hour in (
        ([*objects, made_as(EVICTS)], "14:00"),
        ([*objects, record], "13:30"),
        ([*racks(), runs("x", since=OLD), record], "14:00"),
        ([*racks(), runs("x", since=at("10:30")), record], "14:00"),
        ([*racks(), runs("x", owner=None), record], "14:00"),
    ):
        when = datetime.fromisoformat(at(hour))
        laws = {one.law for one in verify(objects_then, then, keeping_none(), now=when)}
        assert 4 in laws


def test_a_forged_warning_elsewhere_counts_for_nothing() -> None:
    [first] = story([*racks(), runs("x")], "10:00")
    forged = remembered(first)
    forged["metadata"]["namespace"] = "default"
    plan = planned([*racks(), runs("x"), made_as(EVICTS), forged], keeping_none(), at("14:00"))
    assert gone(plan) == []
    assert isinstance(msgspec.convert(plan["madeReservations"], ReservationMemory), ReservationMemory)
