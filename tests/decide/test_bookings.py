"""Booked starts: who gets a promise, what others may do beside it, and what becomes of it."""

import json
from datetime import datetime, timedelta

import pytest

from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.model.overrides import Override, OverrideMemory
from tests.decide.booking import START_BY, asks, booked, kept
from tests.decide.holding import after_noon, decided, judged, runs, waits
from tests.decide.reading import entry, seated, seats
from tests.decide.test_overrides import kept as lifting
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, policy_of, snapshot_of

TWO: Obj = {"bookings": 2}
NODES = [b.node("n1", cpu=4), b.node("n2", cpu=4)]
AT = after_noon(31)
"""A pod may take a minute to leave after its end."""


def two_nodes() -> list[Obj]:
    """One node has a core free, and four at half past twelve; the other one four at two o'clock."""
    return [*NODES, runs("r1", "n1", cpu=3, until=30), runs("r2", "n2", until=120)]


def world() -> list[Obj]:
    return [*two_nodes(), *asks("big", by=60, minutes=60)]


def promised(objects: list[Obj], policy: Obj = TWO) -> Obj:
    """The record of what a first decision has booked."""
    plan = decided(objects, policy)
    assert plan["bookings"]["bookings"], plan["groups"]
    return kept(plan["bookings"])


def told(plan: Obj, group: str = "big") -> str:
    return str(entry(plan, group)["blockers"][0]["message"])


def ended(plan: Obj) -> list[tuple[bool, str, str]]:
    return [(one["kept"], one["cause"], one["who"]) for one in plan["bookings"]["ended"]]


# -- who is booked -------------------------------------------------------------------------------------


def test_without_the_policy_nothing_is_promised_and_that_is_said() -> None:
    plan = decided(world(), {})
    assert plan["bookings"] is None
    assert told(plan).endswith(
        "its start by 2026-01-31T13:00:00Z is not booked: the policy allows no booked starts for groups that "
        "are in no queue"
    )


def test_who_does_not_ask_is_decided_as_without_it() -> None:
    objects = [*two_nodes(), *waits("big", minutes=60), *waits("long", cpu=1, since=-10)]
    assert decided(objects, TWO) == decided(objects, {})


def test_it_is_promised_the_earliest_start_that_is_certain() -> None:
    plan = decided(world(), TWO)
    assert booked(plan) == {"big": (AT, ["n1"])}
    [one] = plan["bookings"]["bookings"]
    assert (one["startBy"], one["ends"], one["queue"]) == (after_noon(60), after_noon(91), "")
    assert plan["wakeAt"] == after_noon(30)
    assert told(plan).endswith("its start is booked: it starts at 2026-01-31T12:31:00Z at the latest, on n1")
    assert entry(plan, "big")["blockers"][0]["detail"]["booked"] == {"startsBy": AT, "on": ["n1"]}


def test_what_comes_too_late_is_refused_with_the_first_time_that_would_do() -> None:
    plan = decided([*two_nodes(), *asks("big", by=30, minutes=60)], TWO)
    assert plan["bookings"] is None
    assert told(plan).endswith("the first start that can be promised is 2026-01-31T12:31:00Z")
    detail = entry(plan, "big")["blockers"][0]["detail"]["notBooked"]
    assert detail == {"wanted": after_noon(30), "earliest": AT}


def test_what_has_passed_is_refused() -> None:
    plan = decided([*two_nodes(), *asks("big", by=-1, minutes=60)], TWO)
    assert told(plan).endswith("is not booked: that time has passed")


def test_what_cannot_be_read_is_told() -> None:
    pods = asks("big", by=60, minutes=60)
    pods[0]["metadata"]["annotations"][START_BY] = "soon"
    plan = decided([*two_nodes(), *pods], TWO)
    assert plan["bookings"] is None
    assert any("maitred.dev/start-by: 'soon' is not a time" in warning for warning in plan["warnings"])


def test_only_ends_that_somebody_enforces_count() -> None:
    marks = {"maitred.dev/expected-runtime": "90m"}
    objects = [NODES[0], runs("r1", "n1", annotations=marks), *asks("big", by=600, minutes=60)]
    plan = decided(objects, TWO)
    assert plan["bookings"] is None
    assert "it is not known when there will be places for it" in told(plan)


def test_nodes_that_another_scheduler_uses_do_not_count() -> None:
    objects = [*world(), runs("theirs", "n1", cpu=1, until=1, scheduler="default-scheduler")]
    for pod in objects:
        if pod["kind"] == "Pod" and pod["metadata"]["name"] != "theirs":
            pod["spec"]["schedulerName"] = "maitred"
    plan = decide(objects, TWO)
    assert judged(objects, plan, TWO) == []
    assert plan["bookings"] is None
    assert told(plan).endswith("the first start that can be promised is 2026-01-31T14:01:00Z")


def test_so_many_may_be_booked_as_the_policy_says() -> None:
    """Those that come first. More marks give nobody more."""
    many = [pod for n in range(4) for pod in asks(f"g{n}", by=600, cpu=1, minutes=60, since=-30 + n)]
    objects = [b.node("n1", cpu=4), runs("r1", "n1", until=30), *many]
    plan = decided(objects, TWO)
    assert booked(plan) == {"g0": (AT, ["n1"]), "g1": (AT, ["n1"])}
    assert told(plan, "g2").endswith("booked starts for groups that are in no queue as the policy allows: 2")
    again = decided([*objects, kept(plan["bookings"])], TWO)
    assert again["bookings"] is None


def test_every_queue_has_its_own_number_and_its_limits_count() -> None:
    policy: Obj = {
        "queues": [
            {"name": "a", "bookings": 1, "limits": [{"resource": "cpu", "cap": 4}]},
            {"name": "b"},
            {"name": "c", "bookings": 1, "limits": [{"resource": "cpu", "cap": 2}]},
        ]
    }
    objects = [b.node("n1", cpu=4), runs("r1", "n1", until=30)]
    for queue in "abc":
        pods = asks(f"of-{queue}", by=600, minutes=60)
        pods[0]["metadata"]["annotations"]["maitred.dev/queue"] = queue
        objects += pods
    plan = decided(objects, policy)
    assert booked(plan) == {"of-a": (AT, ["n1"])}
    assert plan["bookings"]["bookings"][0]["queue"] == "a"
    assert told(plan, "of-b").endswith("the policy allows no booked starts for queue b")
    assert told(plan, "of-c").endswith("the limits of its queue do not allow it")


def test_what_is_booked_counts_as_use_of_its_queue() -> None:
    """Else those who come later would use up what the booked group needs."""
    policy: Obj = {"queues": [{"name": "a", "bookings": 1, "limits": [{"resource": "cpu", "cap": 6}]}]}

    def mine(pods: list[Obj]) -> list[Obj]:
        for pod in pods:
            pod["metadata"].setdefault("annotations", {})["maitred.dev/queue"] = "a"
        return pods

    objects = [*NODES, *mine([runs("r1", "n1", cpu=3, until=30)]), *mine(asks("big", by=60, minutes=60))]
    objects += mine([runs("r2", "n2", cpu=1, until=240)])
    late = mine(waits("late", cpu=2, minutes=60, since=-10, priority=10))
    known = promised(objects, policy)
    assert seated(decided([*objects, known, *late], policy)) == []
    short = mine(waits("short", cpu=2, minutes=30, since=-10))
    assert seated(decided([*objects, known, *short], policy)) == ["short"]


# -- what others may do --------------------------------------------------------------------------------


def test_a_higher_priority_may_not_delay_it_but_may_use_what_is_free_until_then() -> None:
    objects = [*world(), promised(world())]
    high = waits("high", cpu=1, minutes=60, since=-10, priority=1000)
    plan = decided([*objects, *high], TWO)
    assert seated(plan) == []
    assert told(plan, "high").startswith("there is room now, but it is held for default/big from 2026-")
    short = waits("short", cpu=1, minutes=30, since=-10, priority=1000)
    assert seats(decided([*objects, *short], TWO)) == {"short": "n1"}


def test_verify_says_who_delays_it() -> None:
    objects = [*world(), promised(world()), *waits("high", cpu=1, minutes=60, priority=1000)]
    plan = decide(objects, TWO)
    bind = {"pod": "default/high", "uid": "default-high", "node": "n1", "group": "default/high"}
    plan["binds"].append(bind)
    for told_of in plan["groups"]:
        if told_of["group"] == "default/high":
            told_of.update(verdict="Scheduled", placed=1, blockers=[])
    faults = judged(objects, plan, TWO)
    assert "starts on n1, where 1000 cpu are missing for the booked start of default/big" in faults
    plan["bookings"] = {"policy": "", "bookings": [], "ended": [], "tallies": []}
    assert "had a booked start, which is forgotten" in judged(objects, plan, TWO)


def test_it_starts_when_its_time_comes_before_a_higher_priority() -> None:
    gone = [*NODES, runs("r2", "n2", until=120), *asks("big", by=60, minutes=60), promised(world())]
    plan = decided([*gone, *waits("high", minutes=60, priority=1000)], TWO, after_noon(30))
    assert seats(plan) == {"big": "n1"}


def test_it_starts_sooner_where_it_can() -> None:
    gone = [*NODES, runs("r1", "n1", cpu=3, until=30), *asks("big", by=60, minutes=60), promised(world())]
    assert seats(decided(gone, TWO, after_noon(5))) == {"big": "n2"}


def test_while_pods_take_their_time_to_leave_nobody_else_starts_there() -> None:
    objects = [*world(), promised(world()), *waits("tiny", cpu=1, minutes=0.5, since=-10)]
    plan = decided(objects, TWO, after_noon(30.5))
    assert seated(plan) == []
    assert plan["bookings"] is None


def test_groups_that_are_not_looked_at_keep_their_booked_starts() -> None:
    late = waits("late", cpu=1, minutes=60, since=-10)
    snapshot = snapshot_of([*world(), promised(world()), *late], TWO)
    now = datetime.fromisoformat(NOON)
    plan = decide_snapshot(snapshot, policy_of(TWO), now, Scope(groups={"default/late"}))
    assert plan.binds == ()
    assert plan.bookings is None


# -- what becomes of it --------------------------------------------------------------------------------


def test_it_is_kept_when_the_group_has_started_in_time() -> None:
    known = promised(world())
    there = runs("big", "n1")
    there["status"]["startTime"] = after_noon(31)
    there["metadata"]["annotations"] = {START_BY: after_noon(60)}
    plan = decided([*NODES, there, known], TWO, after_noon(32))
    assert ended(plan) == [(True, "", "")]
    assert plan["bookings"]["tallies"] == [{"queue": "", "kept": 1, "broken": 0}]
    there["status"]["startTime"] = after_noon(33)
    assert ended(decided([*NODES, there, known], TWO, after_noon(34)))[0][:2] == (False, "late")


def test_other_nodes_will_do_at_the_same_time() -> None:
    known = promised(world())
    objects = [b.node("n3", cpu=4), b.node("n2", cpu=4), *asks("big", by=60, minutes=60), known]
    objects += [runs("r3", "n3", until=20), runs("r2", "n2", until=120)]
    plan = decided(objects, TWO)
    assert booked(plan) == {"big": (AT, ["n3"])}
    assert plan["bookings"]["ended"] == []


@pytest.mark.parametrize(
    ("change", "cause", "who"),
    [
        ("gone", "capacity", "n1 is gone"),
        ("closed", "capacity", "n1 is closed, or not well"),
        ("foreign", "foreign", "another scheduler has put default/theirs there"),
        ("unkept", "unkept", "the end of default/r1 has passed, and it is still there"),
        ("policy", "policy", "the policy was changed"),
    ],
)
def test_what_breaks_it_is_remembered_and_told(change: str, cause: str, who: str) -> None:
    policy, now, minute = TWO, NOON, 0.0
    known, pods = promised(world()), asks("big", by=60, minutes=60)
    nodes = [*NODES]
    there = [runs("r1", "n1", cpu=3, until=30), runs("r2", "n2", until=120)]
    if change == "gone":
        nodes, there = [NODES[1]], [there[1]]
    elif change == "closed":
        nodes = [b.node("n1", cpu=4, taints=["down=yes:NoSchedule"]), NODES[1]]
    elif change == "foreign":
        theirs = runs("theirs", "n1", cpu=1, scheduler="another")
        theirs["status"]["startTime"] = after_noon(1)
        there, minute = [*there, theirs], 2
    elif change == "unkept":
        minute = 31.5
    elif change == "policy":
        policy = {**TWO, "nodes": {"managed": {"matchLabels": {"pool": "maitred"}}}}
        nodes = [b.node("n1", cpu=4), b.node("n2", cpu=4, labels={"pool": "maitred"})]
    now = after_noon(minute)
    plan = decided([*nodes, *there, *pods, known], policy, now)
    assert ended(plan) == [(False, cause, who)]
    assert plan["bookings"]["tallies"] == [{"queue": "", "kept": 0, "broken": 1}]
    assert f"It was booked for {AT} before, and that is broken" in told(plan)
    again = decided([*nodes, *there, *pods, kept(plan["bookings"])], policy, after_noon(minute + 0.1))
    assert f"({who})" in told(again), "as long as the group waits"


def test_a_reservation_that_comes_later_may_break_it_and_is_told() -> None:
    times = {"from": "2026-01-31T12:10", "until": "2026-01-31T20:00"}
    evening = {"name": "evening", "for": {"namespace": "other"}, "nodes": {}, **times}
    plan = decided([*world(), promised(world())], {**TWO, "reservations": [evening]})
    assert ended(plan) == [(False, "policy", "n1 is reserved for others by now")]


def test_a_named_override_may_break_it_and_is_named() -> None:
    policy: Obj = {"queues": [{"name": "a", "bookings": 1}, {"name": "b"}]}
    objects = [*two_nodes(), *asks("big", by=60, minutes=60), *waits("demo", cpu=1, minutes=600, since=-10)]
    for pod in objects:
        if pod["kind"] == "Pod":
            queue = "b" if pod["metadata"]["name"] == "demo" else "a"
            pod["metadata"].setdefault("annotations", {})["maitred.dev/queue"] = queue
    objects.append(promised(objects[:-1], policy))
    assert seated(decided(objects, policy)) == []
    noon = datetime.fromisoformat(NOON)
    override = Override(
        group="default/demo",
        source=("pod", "default/demo", ""),
        created=noon - timedelta(minutes=10),
        asks={"cpu": 1000},
        by="alice",
        reason="the board sees it today",
        granted=noon,
        until=noon + timedelta(hours=1),
    )
    plan = decided([*objects, lifting(OverrideMemory((override,)))], policy)
    assert seats(plan) == {"demo": "n1"}
    assert ended(plan) == [(False, "override", "alice lifted default/demo: the board sees it today")]


@pytest.mark.parametrize("change", ["not wanted", "sooner", "other pods", "gated", "gone"])
def test_who_gives_it_up_has_none_and_nobody_broke_it(change: str) -> None:
    known, pods = promised(world()), asks("big", by=60, minutes=60)
    if change == "not wanted":
        del pods[0]["metadata"]["annotations"][START_BY]
    elif change == "sooner":
        pods[0]["metadata"]["annotations"][START_BY] = after_noon(20)
    elif change == "other pods":
        pods = asks("big", by=60, minutes=60, since=-1)
        pods[0]["spec"]["nodeName"] = ""
        pods[0]["metadata"]["annotations"][START_BY] = after_noon(30)
    elif change == "gated":
        pods[0]["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    else:
        pods = []
    plan = decided([*two_nodes(), *pods, known], TWO)
    assert (plan["bookings"]["bookings"], plan["bookings"]["ended"]) == ([], [])


def test_what_was_promised_stays_so_when_the_policy_allows_no_more() -> None:
    known = promised(world())
    plan = decided([*world(), known, *waits("high", cpu=1, minutes=60, priority=9)], {"bookings": 0})
    assert (seated(plan), booked(plan)) == ([], {"big": (AT, ["n1"])})


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"bookings": 3}', json.dumps({"bookings": [{"group": "default/big"}]}), "x" * 900_001],
    ids=["not JSON", "no object", "other type", "fields missing", "too long"],
)
def test_a_record_that_cannot_be_read_counts_for_nothing(text: str) -> None:
    broken = kept({})
    broken["data"]["record"] = text
    plan = decided([*world(), broken], TWO)
    assert booked(plan) == {"big": (AT, ["n1"])}
    assert any("maitred-bookings" in warning for warning in plan["warnings"])
