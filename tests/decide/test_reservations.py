"""Reservations: which nodes are kept, for whom, from when, and what others are told."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from maitred.decide import decide as decide_snapshot
from maitred.explain.tenant_words import as_told_at_home
from maitred.model.meta import Timestamp
from maitred.verify import verify
from tests.decide.reserving import GPU, UNTIL, at, inside, job, keeping, kept, planned, racks, saying, seats
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import policy_of, snapshot_of


def blocker(plan: Obj, group: str) -> Obj:
    entry = next(one for one in plan["groups"] if one["group"] == group)
    found: Obj = entry["blockers"][0]
    return found


def test_a_place_that_was_promised_on_nodes_that_are_reserved_by_now_is_lost() -> None:
    """Somebody has written the reservation since."""
    leaves = inside("leaves", "r0n0", at("10:00"))
    leaves["metadata"] |= {"deletionTimestamp": at("14:59"), "deletionGracePeriodSeconds": 30}
    waits = job("waits", priority=10)
    waits["status"]["nominatedNodeName"] = "r0n0"
    only = saying(nodes={"matchLabels": {"rack": "r0"}}, devices=None, within="")
    plan = planned(
        [*racks(), leaves, *[inside(f"x{i}", f"r1n{i}", at("10:00"), priority=10) for i in (0, 1)], waits],
        keeping(only),
        at("14:59"),
    )
    assert (blocker(plan, "default/waits")["category"], plan["nominations"]) == ("Reservation", [])


def test_whoever_ends_before_it_begins_may_start_there() -> None:
    crowd = [job(f"short-{i}", hours=1) for i in range(4)]
    assert len(seats(planned([*racks(), *crowd], keeping(), at("12:00")))) == 4
    assert len(seats(planned([*racks(), *crowd], keeping(), at("13:00")))) == 4
    late = planned([*racks(), *crowd], keeping(), at("13:01"))
    assert set(seats(late).values()) == {"r1n0", "r1n1"}
    told = blocker(late, "default/short-2")
    assert told["category"] == "Reservation"
    assert told["message"] == (
        "it would fit, but r0n0 is reserved for namespace vision from 2026-03-02T14:00:00Z to "
        "2026-03-02T18:00:00Z (reservation demo); the group would end at 2026-03-02T14:01:00Z by its limit; "
        "a group that ends within 59m could start now"
    )
    assert told["detail"]["reservation"] == "demo"
    assert late["wakeAt"] == at("14:00")


def test_whose_end_is_not_known_waits_from_the_lead_time_on() -> None:
    policy = keeping(saying(leadTime="2h"))
    crowd = [job(f"p{i}") for i in range(4)]
    assert len(seats(planned([*racks(), *crowd], policy, at("11:59")))) == 4
    plan = planned([*racks(), *crowd], policy, at("12:00"))
    assert set(seats(plan).values()) == {"r1n0", "r1n1"}
    assert (
        "nobody enforces an end of the group; a group that ends within 2h"
        in blocker(plan, "default/p2")["message"]
    )
    assert planned([*racks()], policy, at("11:59"))["wakeAt"] == at("12:00")


def test_from_the_beginning_to_the_end_only_those_for_whom_it_is() -> None:
    ours = [job(f"v{i}", namespace="vision") for i in range(2)]
    others = [job(f"p{i}", hours=0.1, priority=1000) for i in range(4)]
    plan = planned([*racks(), *ours, *others], keeping(), at("14:00"))
    assert {seats(plan)[name] for name in ("v0", "v1")} == {"r0n0", "r0n1"}
    assert len(seats(plan)) == 4
    assert kept(plan) == {
        "name": "demo",
        "for": "namespace vision",
        "from": at("14:00"),
        "until": UNTIL,
        "nodes": ["r0n0", "r0n1"],
        "state": "begun",
        "others": 0,
        "by": "",
        "warned": [],
    }
    idle = planned([*racks(), *others], keeping(), at("17:59"))
    assert len(seats(idle)) == 2
    assert blocker(idle, "default/p2")["message"].endswith("(reservation demo)")
    over = planned([*racks(), *others], keeping(), at("18:00"))
    assert (len(seats(over)), over["reservations"]) == (4, [])
    assert over["warnings"] == [
        "reservation demo is over, and does not come again; remove it from the policy"
    ]


def test_from_its_beginning_on_its_nodes_are_taken_first() -> None:
    stranger, ours = inside("old", "r0n0", "2026-03-01T00:00:00Z"), job("v", namespace="vision")
    assert seats(planned([*racks(), stranger, ours], keeping(), at("13:00"))) == {"v": "r0n1"}
    assert seats(planned([*racks(), stranger, ours], keeping(), at("14:00"))) == {"v": "r1n0"}


def test_those_for_whom_it_is_may_start_there_before() -> None:
    plan = planned([*racks(1), job("v", namespace="vision")], keeping(), at("13:30"))
    assert seats(plan) == {"v": "r0n0"}


def test_nobody_is_made_to_leave_for_it_and_nobody_in_it_for_others() -> None:
    stayer = inside("old", "r0n0", "2026-03-01T00:00:00Z")
    ours = inside("v", "r0n1", at("14:10"), namespace="vision")
    vip = job("vip", priority=1000)
    plan = planned([*racks(1), stayer, ours, vip], keeping(), at("15:00"))
    assert (plan["binds"], plan["evictions"], kept(plan)["others"]) == ([], [], 1)
    assert planned([*racks(1), stayer, ours, vip], {}, at("15:00"))["evictions"] != []


def test_it_is_where_fewest_of_others_will_be_left() -> None:
    stays = inside("stays", "r0n1", at("10:00"), hours=5)
    leaves = [inside(f"l{i}", f"r1n{i}", at("10:00"), hours=4) for i in range(2)]
    plan = planned([*racks(), stays, *leaves], keeping(), at("11:00"))
    assert (kept(plan)["nodes"], kept(plan)["others"]) == (["r1n0", "r1n1"], 0)


def test_it_stays_where_those_for_whom_it_is_have_started() -> None:
    """The first rack is empty by now, too."""
    ours = inside("v", "r1n1", at("14:05"), namespace="vision")
    assert kept(planned([*racks(), ours], keeping(), at("15:00")))["nodes"] == ["r1n0", "r1n1"]
    before = inside("v", "r1n1", at("13:05"), namespace="vision")
    assert kept(planned([*racks(), before], keeping(), at("15:00")))["nodes"] == ["r0n0", "r0n1"]


def test_unwell_nodes_are_replaced() -> None:
    nodes = [*racks(3)]
    nodes[0] = b.node("r0n0", gpu=8, rack="r0", cordoned=True)
    assert kept(planned(nodes, keeping(), at("13:00")))["nodes"] == ["r1n0", "r1n1"]


def test_two_at_once_have_different_nodes() -> None:
    policy = keeping(saying(), saying(name="other", **{"for": {"namespace": "sound"}}))
    plan = planned([*racks(3), job("p", hours=1)], policy, at("13:30"))
    assert (kept(plan)["nodes"], kept(plan, "other")["nodes"]) == (["r0n0", "r0n1"], ["r1n0", "r1n1"])
    assert seats(plan) == {"p": "r2n0"}
    apart = saying(name="other", until="2026-03-02T20:00", **{"from": "2026-03-02T18:00"})
    assert kept(planned(racks(1), keeping(saying(), apart), at("13:30")), "other")["nodes"] == [
        "r0n0",
        "r0n1",
    ]


def test_nodes_by_their_labels() -> None:
    by_labels = saying(devices=None, within="", nodes={"matchLabels": {"rack": "r1"}})
    plan = planned([*racks(), *(job(f"p{i}") for i in range(3))], keeping(by_labels), at("13:30"))
    assert (kept(plan)["nodes"], len(seats(plan))) == (["r1n0", "r1n1"], 2)
    nowhere = saying(devices=None, within="", nodes={"matchLabels": {"rack": "r9"}})
    warned = planned(racks(), keeping(nowhere), at("13:30"))["warnings"]
    assert warned == ["reservation demo: no node has these labels; correct its selector"]


def test_nodes_that_two_name_are_for_the_first() -> None:
    named = {"devices": None, "within": "", "nodes": {"matchLabels": {"rack": "r1"}}}
    later = saying(name="later", **{"for": {"namespace": "sound"}, "from": "2026-03-02T15:00"}, **named)
    plan = planned(racks(), keeping(later, saying(**named)), at("13:30"))
    assert (kept(plan)["nodes"], kept(plan, "later")["nodes"]) == (["r1n0", "r1n1"], [])


def test_a_group_is_told_of_the_one_that_is_in_its_way() -> None:
    """Its own comes first on these nodes, and it would not end before the next one."""
    after = {"from": "2026-03-02T18:00", "until": "2026-03-02T20:00"}
    policy = keeping(saying(), saying(name="next", **{"for": {"namespace": "sound"}}, **after))
    long = job("v", hours=5, namespace="vision")
    told = blocker(planned([*racks(1), long], policy, at("15:00")), "vision/v")
    assert told["detail"]["reservation"] == "next"
    assert told["message"].endswith(
        "(reservation next); the group would end at 2026-03-02T20:00:00Z by its limit; a group that ends "
        "within 3h could start now"
    )
    assert seats(planned([*racks(1), job("v", hours=3, namespace="vision")], policy, at("15:00")))


def test_a_hold_begins_when_a_reservation_is_over_or_ends_before_it() -> None:
    policy = keeping(saying(), holds={"depth": 2})
    busy = [inside(f"t{i}", f"r1n{i}", at("10:00")) for i in range(2)]
    long = planned([*racks(), *busy, job("long", hours=3)], policy, at("13:00"))
    assert [(one["group"], one["begins"]) for one in long["planned"]["holds"]] == [
        ("default/long", at("18:00"))
    ]
    first = inside("first", "r0n0", at("12:00"), hours=1.25)
    second = inside("second", "r0n1", at("12:00"), hours=1.25)
    short = planned([*racks(), *busy, first, second, job("short", hours=0.5)], policy, at("13:00"))
    assert [(one["group"], one["begins"]) for one in short["planned"]["holds"]] == [
        ("default/short", at("13:15"))
    ]


def test_more_than_there_is_is_said() -> None:
    plan = planned(racks(), keeping(saying(devices={"resource": GPU, "count": 24})), at("13:30"))
    assert plan["warnings"] == [
        "reservation demo asks for 24 nvidia.com/gpu in one rack, and 16 are there that are well and not "
        "reserved for others; ask for fewer, or add nodes"
    ]
    assert kept(plan)["nodes"] == ["r0n0", "r0n1"]
    none = keeping(saying(devices={"resource": GPU, "count": 8, "model": "B200"}))
    assert kept(planned(racks(), none, at("13:30")))["nodes"] == []


@pytest.mark.parametrize(
    ("fields", "back"),
    [
        ({}, True),
        ({"namespace": "vision", "gates": ["later"]}, True),
        ({"namespace": "vision", "gpu": 16}, False),
        ({"namespace": "vision", "node": "r0n0"}, False),
    ],
    ids=["nobody", "gated", "waiting", "inside"],
)
def test_unused_it_is_given_back(fields: Obj, back: bool) -> None:
    policy = keeping(saying(releaseAfter="1h"))
    crowd = [job(f"p{i}") for i in range(4)]
    found = [b.pod("v", **{"gpu": 8, **fields})] if fields else []
    assert kept(planned([*racks(), *crowd, *found], policy, at("14:59")))["state"] == "begun"
    plan = planned([*racks(), *crowd, *found], policy, at("15:00"))
    assert kept(plan)["state"] == ("given back" if back else "begun")
    assert len([name for name in seats(plan) if name.startswith("p")]) == (4 if back else 2)


def test_given_back_for_today_it_is_kept_for_tomorrow() -> None:
    policy = keeping(saying(releaseAfter="1h", every="day", leadTime="1h"))
    long, short = job("long", hours=24), job("short", hours=22)
    taken = [inside(f"t{i}", f"r1n{i}", at("10:00")) for i in range(2)]
    assert set(seats(planned([*racks(), *taken, long, short], policy, at("15:00")))) == {"short"}


QUEUES = [{"name": "research"}, {"name": "vision", "parent": "research"}, {"name": "default"}]


@pytest.mark.parametrize(
    ("who", "fields", "is_for"),
    [
        ({"queue": "vision"}, {"labels": {"maitred.dev/queue": "vision"}}, True),
        ({"queue": "research"}, {"labels": {"maitred.dev/queue": "vision"}}, True),
        ({"queue": "vision"}, {}, False),
        ({"queue": "default"}, {}, True),
        ({"namespace": "default"}, {}, True),
        ({"namespace": "vision"}, {}, False),
        ({"group": "default/p"}, {}, True),
        ({"group": "default/q"}, {}, False),
    ],
)
def test_for_whom_it_is(who: Obj, fields: Obj, is_for: bool) -> None:
    policy = keeping(saying(**{"for": who}), queues=QUEUES)
    assert bool(planned([*racks(1), job("p", **fields)], policy, at("15:00"))["binds"]) == is_for
    running = inside("p", "r0n0", at("14:30"), **fields)
    assert kept(planned([*racks(1), running], policy, at("15:00")))["others"] == (0 if is_for else 1)


def test_a_queue_that_a_namespace_may_not_use_is_not_its_own() -> None:
    closed = [{"name": "vision", "namespaces": {"matchLabels": {"team": "vision"}}}, {"name": "default"}]
    policy = keeping(saying(releaseAfter="1h", **{"for": {"queue": "vision"}}), queues=closed)
    liar = inside("liar", "r0n0", at("14:30"), labels={"maitred.dev/queue": "vision"})
    plan = planned([*racks(1), b.namespace("default"), liar], policy, at("16:00"))
    assert (kept(plan)["state"], kept(plan)["others"]) == ("given back", 1)


def test_a_gang_of_others_is_told_and_not_impossible() -> None:
    gang = [b.pod_group("g", 3), *(b.pod(f"g-{i}", gpu=8, group="g", index=i) for i in range(3))]
    plan = planned([*racks(), *gang], keeping(), at("13:30"))
    assert (plan["groups"][0]["verdict"], blocker(plan, "default/g")["category"]) == (
        "Waiting",
        "Reservation",
    )


def test_spares_are_elsewhere() -> None:
    policy = keeping(healing={"spares": {"nodes": 2}})
    plan = planned(racks(), policy, at("13:30"))
    assert [hold["node"] for hold in plan["holds"]] == ["r1n0", "r1n1"]


def test_in_its_own_namespace_a_group_is_not_told_whose_it_is() -> None:
    objects = [*racks(1), job("p")]
    policy, now = policy_of(keeping()), msgspec.convert(at("15:00"), Timestamp)
    plan = decide_snapshot(snapshot_of(objects), policy, now)
    [found] = as_told_at_home(plan.groups[0]).blockers
    assert found.message == (
        "it would fit, but r0n0 is reserved for others from 2026-03-02T14:00:00Z to 2026-03-02T18:00:00Z"
    )


def test_without_reservations_nothing_is_different() -> None:
    crowd = [job(f"p{i}") for i in range(4)]
    plan = planned([*racks(), *crowd], {}, at("15:00"))
    assert (plan["reservations"], plan["wakeAt"], len(plan["binds"])) == ([], None, 4)


def changed(plan: Obj, **fields: Any) -> Obj:
    return {**plan, "reservations": [{**kept(plan), **fields}]}


def faults(objects: list[Obj], plan: Obj, now: str) -> list[str]:
    found = verify(objects, plan, keeping(), now=datetime.fromisoformat(now))
    return [one.message for one in found if one.law == 16]


def test_the_checker_sees_what_is_wrong() -> None:
    objects = [*racks(), job("p")]
    plan = planned(objects, keeping(), at("15:00"))
    assert faults(objects, {**plan, "reservations": []}, at("15:00")) == [
        "is a reservation that the Plan does not keep"
    ]
    [found] = faults(objects, changed(plan, nodes=["r1n0", "r1n1"]), at("15:00"))
    assert found.startswith("starts on r1n0, which is reserved from 2026-03-02T14:00:00Z")
    assert faults(objects, changed(plan, nodes=["r0n0", "r1n1"]), at("15:00")) == ["is in 2 domains of rack"]
    assert "has 8 of 16 nvidia.com/gpu" in faults(objects, changed(plan, nodes=["r0n0"]), at("15:00"))[0]
    assert "and the Plan says" in faults(objects, changed(plan, until=at("19:00")), at("15:00"))[0]
    assert faults(objects, changed(plan, state="given back"), at("15:00")) == [
        "is given back, though it is not unused for so long"
    ]
    assert faults(objects, {**plan, "reservations": [kept(plan), {**kept(plan), "name": "x"}]}, at("15:00"))
