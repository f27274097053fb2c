"""Holds for groups that wait: who has one, where and when, what others may do beside it, when it moves."""

import json
from datetime import datetime
from typing import Any

import pytest

from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from tests.decide.holding import after_noon, decided, holds, judged, remembered, runs, waits
from tests.decide.reading import entry, seated, verdict
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, policy_of, snapshot_of

ONE: Obj = {"holds": {"depth": 1}}
NODES = [b.node("n1", cpu=4), b.node("n2", cpu=4)]


def two_nodes() -> list[Obj]:
    """One node has a core free, and four at half past twelve; the other one four at two o'clock."""
    return [*NODES, runs("r1", "n1", cpu=3, until=30), runs("r2", "n2", until=120)]


def test_without_the_policy_nothing_is_held() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("long", cpu=1, minutes=600, since=-10)]
    plan = decided(world, {})
    assert plan["planned"] is None
    assert seated(plan) == ["long"]
    assert plan == decided(world, {"holds": {"depth": 0}})


def test_the_first_has_a_place_and_a_time() -> None:
    """It has those places that are free at the earliest; not the others, which it could have later."""
    plan = decided([*two_nodes(), *waits("big", minutes=60)], ONE)
    assert holds(plan) == {"big": (after_noon(30), ["n1"])}
    assert plan["wakeAt"] == after_noon(30)
    (hold,) = plan["planned"]["holds"]
    assert hold["ends"] == after_noon(90)
    assert hold["promised"] == after_noon(30)
    assert hold["basis"] == "limits"
    (blocker,) = entry(plan, "big")["blockers"]
    assert blocker["category"] == "Capacity"
    assert blocker["message"].endswith(
        "it starts at 2026-01-31T12:30:00Z at the latest, on n1, when default/r1 ends by its limit"
    )
    assert blocker["detail"]["hold"] == {"begins": after_noon(30), "on": ["n1"], "after": ["default/r1"]}


def test_who_ends_in_time_starts_beside_it() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("short", cpu=1, minutes=30, since=-10)]
    plan = decided(world, ONE)
    assert seated(plan) == ["short"]
    assert holds(plan)["big"] == (after_noon(30), ["n1"])


@pytest.mark.parametrize("minutes", [31, None], ids=["too long", "no limit"])
def test_who_would_delay_it_waits_and_is_told_so(minutes: float | None) -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("late", cpu=1, minutes=minutes, since=-10)]
    plan = decided(world, ONE)
    assert seated(plan) == []
    (blocker,) = entry(plan, "late")["blockers"]
    assert blocker["category"] == "Priority"
    assert blocker["detail"]["heldFor"] == ["default/big"]
    assert blocker["detail"]["from"] == after_noon(30)
    assert blocker["detail"].get("ends") == (None if minutes is None else after_noon(minutes))
    assert "a group that ends within 30m could start now" in blocker["message"]


def test_who_leaves_enough_for_it_starts_on_the_same_node() -> None:
    """At half past twelve there are four cores, of which it needs three."""
    world = [*two_nodes(), *waits("big", cpu=3, minutes=60), *waits("ever", cpu=1, since=-10)]
    assert seated(decided(world, ONE)) == ["ever"]


def test_who_ranks_higher_takes_what_it_needs() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("king", cpu=1, since=-10, priority=5)]
    plan = decided(world, {**ONE, "preemption": {"mode": "never"}})
    assert seated(plan) == ["king"]
    assert holds(plan) == {"big": (after_noon(120), ["n2"])}


def test_so_many_have_a_hold_as_the_policy_says() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("next", minutes=60, since=-20)]
    assert holds(decided(world, ONE)).keys() == {"big"}
    both = decided(world, {"holds": {"depth": 2}})
    assert holds(both) == {"big": (after_noon(30), ["n1"]), "next": (after_noon(90), ["n1"])}


def test_so_many_of_one_queue_have_a_hold_as_the_policy_says() -> None:
    mine: Obj = {"labels": {"maitred.dev/queue": "a"}}
    queues = [{"name": "a"}, {"name": "b"}]
    world = [
        *two_nodes(),
        *waits("first", minutes=60, **mine),
        *waits("second", minutes=60, since=-20, **mine),
        *waits("other", minutes=60, since=-10, labels={"maitred.dev/queue": "b"}),
    ]
    plan = decided(world, {"queues": queues, "holds": {"depth": 3, "perQueue": 1}})
    assert holds(plan).keys() == {"first", "other"}


def test_who_waits_for_nobody_with_an_end_is_passed_over() -> None:
    world = [*NODES, runs("r1", "n1", until=30), runs("r2", "n2")]
    world += [*waits("pair", size=2, minutes=60), *waits("single", minutes=60, since=-20)]
    assert holds(decided(world, ONE)) == {"single": (after_noon(30), ["n1"])}


def test_who_waits_for_something_else_has_no_hold() -> None:
    """Of one a member is not created yet; the other has no quota."""
    some = waits("some", size=2, minutes=60)[:1]
    poor = waits("poor", cpu=4, minutes=60, labels={"maitred.dev/queue": "a"})
    queues = [{"name": "a", "limits": [{"resource": "cpu", "cap": 1}]}]
    plan = decided([*two_nodes(), *some, *poor], {**ONE, "queues": queues})
    assert holds(plan) == {}


def test_places_that_are_free_now_are_left_to_others() -> None:
    """Two of three nodes are needed at half past twelve: the one that is free now is not one of them."""
    world = [b.node(f"n{i}", cpu=4) for i in range(3)]
    world += [runs("r0", "n0", until=30), runs("r1", "n1", until=20)]
    world += [*waits("pair", size=2, minutes=60), *waits("ever", since=-20)]
    pair = decided(world[:5] + world[5:7], ONE)
    assert holds(pair) == {"pair": (after_noon(20), ["n1", "n2"])}
    world = [b.node(f"n{i}", cpu=4) for i in range(3)]
    world += [runs("r0", "n0", until=30), runs("r1", "n1", until=30)]
    world += [*waits("pair", size=2, minutes=60), *waits("ever", since=-20)]
    plan = decided(world, ONE)
    assert holds(plan) == {"pair": (after_noon(30), ["n0", "n1"])}
    assert seated(plan) == ["ever"]


def test_topology_is_kept() -> None:
    """Two nodes are free at half past twelve, and are not in one rack."""
    racks = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
    world = [b.node(name, cpu=4, labels={"example.com/rack": rack}) for name, rack in racks.items()]
    ends = {"a1": 30, "b1": 30, "a2": 90, "b2": 60}
    world += [runs(f"r-{name}", name, until=until) for name, until in ends.items()]
    group = b.pod_group("gang", min_count=2, topology="example.com/rack")
    pods = [b.pod(f"gang-{i}", cpu=4, group="gang") for i in range(2)]
    plan = decided([*world, group, *pods], ONE)
    assert holds(plan) == {"gang": (after_noon(60), ["b1", "b2"])}


def test_ports_of_a_hold_are_kept() -> None:
    """There are cores for both, and only one of them can have the port."""
    world = [b.node("n1", cpu=8), runs("r1", "n1", cpu=6, until=30)]
    world += [*waits("big", cpu=4, minutes=60, ports=[80]), *waits("other", cpu=1, since=-10, ports=[80])]
    plan = decided(world, ONE)
    assert seated(plan) == []
    world[-1:] = waits("other", cpu=1, since=-10, ports=[81])
    assert seated(decided(world, ONE)) == ["other"]


def test_the_quota_of_a_hold_is_kept() -> None:
    """The queue may have five cores, and the hold needs four of them."""
    own: Obj = {"labels": {"maitred.dev/queue": "a"}}
    queues = [{"name": "a", "limits": [{"resource": "cpu", "cap": 5}]}]
    world = [b.node("n1", cpu=16), runs("r1", "n1", cpu=13, until=30)]
    world += [*waits("big", cpu=4, minutes=60, **own), *waits("two", cpu=2, since=-10, **own)]
    plan = decided(world, {**ONE, "queues": queues})
    assert holds(plan) == {"big": (after_noon(30), ["n1"])}
    assert seated(plan) == []
    world[-1] = waits("one", cpu=1, since=-10, **own)[0]
    assert seated(decided(world, {**ONE, "queues": queues})) == ["one"]


def test_limits_that_a_queue_enforces_are_ends() -> None:
    spec: Obj = {"parallelism": 1, "completions": 1, "completionMode": "Indexed"}
    job = b.owner_object("batch/v1", "Job", "j", "default", spec)
    job["status"] = {"startTime": after_noon(-60)}
    pod = runs("j-0", "n1", owner="Job/j", index=0)
    world = [b.node("n1", cpu=4), job, pod, *waits("big", minutes=60)]
    for enforce, found in ((True, {"big": (after_noon(60), ["n1"])}), (False, {})):
        queues = [{"name": "default", "runtime": {"default": "2h", "enforce": enforce}}]
        assert holds(decided(world, {**ONE, "queues": queues})) == found


def test_nobody_leaves_for_a_group_that_only_waits_for_a_hold() -> None:
    world = [*two_nodes(), *waits("big", minutes=60, priority=5)]
    world += [*waits("late", cpu=1, since=-10, priority=5), *[runs("lesser", "n2", cpu=0, priority=-5)]]
    world[3] = runs("r2", "n2", cpu=4, until=120, priority=9)
    world[2] = runs("r1", "n1", cpu=3, until=30, priority=9)
    plan = decided(world, ONE)
    assert plan["evictions"] == []
    assert entry(plan, "late")["blockers"][0]["detail"]["preemption"] == "it only waits for holds of others"


# -- what is remembered --------------------------------------------------------------------------------------


def test_a_hold_that_stays_is_not_written_again() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    first = decided(world, ONE)
    assert decided([*world, remembered(first["planned"])], ONE, after_noon(5))["planned"] is None


def test_a_hold_that_can_be_earlier_is() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = remembered(decided(world, ONE)["planned"])
    world[2] = runs("r1", "n1", cpu=3, until=20)
    plan = decided([*world, known], ONE, after_noon(5))
    (hold,) = plan["planned"]["holds"]
    assert (hold["begins"], hold["promised"], hold["moved"]) == (after_noon(20), after_noon(30), "")
    assert hold["made"] == NOON


def later(world: list[Obj], known: Obj, now: float = 5, policy: Obj = ONE) -> tuple[str, str]:
    plan = decided([*world, known], policy, after_noon(now))
    (hold,) = plan["planned"]["holds"]
    assert hold["moved"] in json.dumps(entry(plan, "big")["blockers"])
    return hold["begins"], hold["moved"]


def test_a_hold_is_later_only_for_a_cause() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = remembered(decided(world, ONE)["planned"])
    never: Obj = {**ONE, "preemption": {"mode": "never"}}
    closed = [b.node("n1", cpu=4, cordoned=True), *world[1:]]
    assert later(closed, known) == (after_noon(120), "capacity")
    taken = [*world, runs("king", "n1", cpu=1, priority=5)]
    assert later(taken, known, policy=never) == (after_noon(120), "others")
    assert later([*world, *waits("king", cpu=1, priority=5)], known, policy=never) == (
        after_noon(120),
        "rank",
    )
    assert later(world, known, now=32) == (after_noon(120), "unkept")


def test_who_follows_a_hold_that_is_due_keeps_its_place() -> None:
    """`first` is due at half past twelve and runs for an hour. `second` was promised its place after that, so
    `wide`, which came before it and has waited for both nodes, cannot have it now that both are free."""
    waiting = [
        *waits("first", minutes=60, since=-30),
        *waits("wide", minutes=120, since=-20, size=2),
        *waits("second", minutes=90, since=-10),
    ]
    policy: Obj = {"holds": {"depth": 3}}
    world = [*NODES, runs("r1", "n1", until=30), runs("r2", "n2", until=300), *waiting]
    plan = decided(world, policy)
    assert holds(plan)["second"] == (after_noon(90), ["n1"])
    assert holds(plan)["wide"][0] == after_noon(300)
    due = [*NODES, *waiting, remembered(plan["planned"])]
    then = decided(due, policy, after_noon(30))
    assert seated(then) == ["first", "second"]
    assert holds(then)["wide"][0] == after_noon(180)


def test_who_begins_later_has_other_nodes_at_the_same_time() -> None:
    """14 minutes after noon `n1` is free, but from half past on it was to be `after`'s, and `long` stays for
    longer. By then `n2` is free too."""
    waiting = [*waits("long", minutes=30, since=-30), *waits("after", minutes=20, since=-20)]
    policy: Obj = {"holds": {"depth": 2}}
    early = runs("r1", "n1", until=30)
    plan = decided([*NODES, early, runs("r2", "n2", until=20), *waiting], policy)
    assert holds(plan) == {"long": (after_noon(20), ["n2"]), "after": (after_noon(30), ["n1"])}
    world = [*NODES, runs("r2", "n2", until=20), *waiting, remembered(plan["planned"])]
    then = decided(world, policy, after_noon(14))
    assert seated(then) == ["long"]
    assert holds(then) == {"after": (after_noon(20), ["n2"])}


def test_who_would_rather_be_in_some_domain_keeps_its_nodes() -> None:
    """The same, but `after` prefers a rack, which other nodes may not be."""
    (after,) = waits("after", minutes=20, since=-20)
    marks = {"maitred.dev/group": "after", "maitred.dev/topology-preferred": "rack"}
    after["metadata"]["annotations"] = marks
    waiting = [*waits("long", minutes=30, since=-30), after]
    policy: Obj = {"holds": {"depth": 2}, "topology": {"levels": [{"name": "rack", "key": "rack"}]}}
    racks = [b.node(name, cpu=4, labels={"rack": name}) for name in ("n1", "n2")]
    early = runs("r1", "n1", until=30)
    plan = decided([*racks, early, runs("r2", "n2", until=20), *waiting], policy)
    assert holds(plan) == {"long": (after_noon(20), ["n2"]), "after": (after_noon(30), ["n1"])}
    world = [*racks, runs("r2", "n2", until=20), *waiting, remembered(plan["planned"])]
    assert seated(decided(world, policy, after_noon(14))) == ["after"]


def test_a_pod_that_has_passed_its_end_gets_a_minute_to_leave() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = remembered(decided(world, ONE)["planned"])
    assert later(world, known, now=30.5) == (after_noon(31), "unkept")


def test_groups_that_are_not_looked_at_keep_their_holds() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = remembered(decided(world, ONE)["planned"])
    snapshot = snapshot_of([*world, known, *waits("late", cpu=1, since=-10)], ONE)
    now = datetime.fromisoformat(NOON)
    plan = decide_snapshot(snapshot, policy_of(ONE), now, Scope(groups={"default/late"}))
    assert [group.group for group in plan.groups] == ["default/late"]
    assert plan.binds == ()
    assert plan.planned is None


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"holds": 3}', json.dumps({"holds": [{"group": "default/big"}]}), "x" * 900_001]
)
def test_what_cannot_be_read_counts_for_nothing(text: str) -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    broken = remembered({})
    broken["data"]["record"] = text
    plan = decided([*world, broken], ONE)
    assert holds(plan) == {"big": (after_noon(30), ["n1"])}
    assert any("maitred-holds" in warning for warning in plan["warnings"])


def test_a_group_that_is_another_one_begins_anew() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = decided(world, ONE)["planned"]
    known["holds"][0]["source"] = ["pod", "default/big", "another"]
    (hold,) = decided([*world, remembered(known)], ONE, after_noon(5))["planned"]["holds"]
    assert hold["made"] == after_noon(5)


def test_holds_are_forgotten_with_the_policy() -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    known = remembered(decided(world, ONE)["planned"])
    assert decided([*world, known], {})["planned"] == {"policy": "", "holds": []}


# -- by age --------------------------------------------------------------------------------------------------

AGED: Obj = {"holds": {"depth": 1, "after": "30m", "idle": 2}}
GPUS = [b.node(f"n{i}", cpu=8, gpu=4) for i in range(2)]


def devices(name: str, node: str, gpu: int, **more: Any) -> Obj:
    pod = b.pod(name, gpu=gpu, node=node, **more)
    pod["status"] = {"phase": "Running", "startTime": after_noon(-60)}
    return pod


def streams(*more: Obj, age: float = -30, gpu: int = 8) -> list[Obj]:
    """A large group waits, and so does a small one, for which there is room."""
    large = [b.pod(f"big-{i}", gpu=gpu // 2, created=after_noon(age), annotations=gang(2)) for i in range(2)]
    small = b.pod("small", gpu=1, created=after_noon(-1))
    return [*GPUS, devices("r0", "n0", 3), devices("r1", "n1", 4), *large, small, *more]


def gang(size: int) -> dict[str, str]:
    return {"maitred.dev/group": "big", "maitred.dev/min-count": str(size)}


def test_after_so_long_a_wait_places_are_kept_though_nobody_knows_when_they_are_free() -> None:
    early = decided(streams(age=-29), AGED)
    assert seated(early) == ["small"]
    assert early["wakeAt"] == after_noon(1)
    plan = decided(streams(), AGED)
    assert seated(plan) == []
    assert holds(plan) == {"big": (None, ["n0", "n1"])}
    (hold,) = plan["planned"]["holds"]
    assert (hold["basis"], hold["idle"], hold["rate"]) == ("age", 0.0, 1.0)
    assert "it has waited for so long that it has a hold" in entry(plan, "big")["blockers"][0]["message"]
    assert entry(plan, "small")["blockers"][0]["detail"]["heldFor"] == ["default/big"]
    assert plan["wakeAt"] == after_noon(120), "then two device-hours have stood idle"


def test_idle_devices_are_counted_and_the_hold_ends() -> None:
    known = decided(streams(), AGED)["planned"]
    assert decided([*streams(), remembered(known)], AGED, after_noon(30))["planned"] is None
    fewer = [one for one in streams() if one["metadata"]["name"] != "r0"]
    (hold,) = decided([*fewer, remembered(known)], AGED, after_noon(60))["planned"]["holds"]
    assert (hold["idle"], hold["rate"]) == (1.0, 4.0)
    over = decided([*streams(), remembered(known)], AGED, after_noon(120))
    assert seated(over) == ["small"]
    (hold,) = over["planned"]["holds"]
    assert (hold["nodes"], hold["over"]) == ([], after_noon(120))
    again = decided([*streams(), remembered(over["planned"])], AGED, after_noon(150))
    assert seated(again) == []
    assert again["planned"]["holds"][0]["made"] == after_noon(150)


def test_a_hold_does_not_stay_where_nobody_leaves() -> None:
    """Nothing stands idle for it there, so the hold would never end; others have begun elsewhere."""
    world = [*GPUS, devices("r0", "n0", 4), devices("r1", "n1", 4)]
    world.append(b.pod("big", gpu=4, created=after_noon(-40)))
    world[3]["status"]["startTime"] = after_noon(-90)
    first = decided(world, AGED)
    assert holds(first) == {"big": (None, ["n0"])}
    assert first["wakeAt"] == after_noon(30)
    world[3]["status"]["startTime"] = after_noon(20)
    known = remembered(first["planned"])
    assert decided([*world, known], AGED, after_noon(29))["planned"] is None
    moved = decided([*world, known], AGED, after_noon(30))
    assert holds(moved) == {"big": (None, ["n1"])}
    (hold,) = moved["planned"]["holds"]
    assert (hold["made"], hold["at"], hold["idle"]) == (after_noon(0), after_noon(30), 0.0)
    assert moved["wakeAt"] == after_noon(60)


def test_who_restarts_for_ever_is_not_waited_for() -> None:
    """Beside the Deployment there is no room for the group, however long it waits."""
    service = devices("web", "n0", 1, owner="ReplicaSet/web")
    assert holds(decided(streams(service, gpu=8), AGED)) == {}
    assert holds(decided(streams(service, gpu=6), AGED)) == {"big": (None, ["n0", "n1"])}


def test_a_hold_by_age_becomes_one_with_a_time_once_ends_are_known() -> None:
    known = remembered(decided(streams(), AGED)["planned"])
    world = streams(known)
    for pod in world[2:4]:
        pod["spec"]["activeDeadlineSeconds"] = 2 * 3600
    plan = decided(world, AGED, after_noon(5))
    assert holds(plan) == {"big": (after_noon(60), ["n0", "n1"])}


def test_who_says_how_long_it_runs_is_likely_to_leave_then() -> None:
    """Both nodes would do. What is said moves no hold, but says where it is."""
    world = [*GPUS, devices("r0", "n0", 4, annotations={"maitred.dev/expected-runtime": "5h"})]
    world += [devices("r1", "n1", 4, annotations={"maitred.dev/expected-runtime": "3h"})]
    world.append(b.pod("big", gpu=4, created=after_noon(-40)))
    assert holds(decided(world, AGED)) == {"big": (None, ["n1"])}


# -- verify --------------------------------------------------------------------------------------------------


def test_verify_sees_who_delays_a_hold() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("late", cpu=1, minutes=90, since=-10)]
    plan = decide(world, ONE)
    bind = {"pod": "default/late", "uid": "default-late", "node": "n1", "group": "default/late"}
    late = next(one for one in plan["groups"] if one["group"] == "default/late")
    late.update(verdict="Scheduled", placed=1, blockers=[])
    assert judged(world, {**plan, "binds": [bind]}, ONE) == [
        "takes cpu on n1 beyond the beginning of the hold of default/big"
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"begins": after_noon(10)}, "3000 cpu are missing"),
        ({"begins": after_noon(-10)}, "begins at no time to come"),
        ({"nodes": [["n3", 1]]}, "n3, which is not there"),
        ({"group": "default/nobody"}, "nothing of it waits"),
        ({"basis": "age", "idle": 200.0}, "200 device-hours stood idle"),
    ],
)
def test_verify_sees_what_is_wrong_with_a_hold(change: Obj, problem: str) -> None:
    world = [*two_nodes(), *waits("big", minutes=60)]
    plan = decide(world, ONE)
    plan["planned"]["holds"][0].update(change)
    assert any(problem in found for found in judged(world, plan, ONE))


def test_verify_sees_a_hold_that_stays_where_nobody_leaves() -> None:
    world = [*GPUS, devices("r0", "n0", 4), devices("r1", "n1", 4)]
    world.append(b.pod("big", gpu=4, created=after_noon(-40)))
    known = decided(world, AGED)["planned"]
    later, problem = [*world, remembered(known)], "has a hold where nobody has left for too long"
    plan = decided(later, AGED, after_noon(29))
    assert problem in judged(later, plan, AGED, after_noon(30))


def test_verify_sees_holds_that_are_too_many_or_later_for_no_cause() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("next", minutes=60, since=-20)]
    plan = decide(world, {"holds": {"depth": 2}})
    assert "are 2, and the policy allows 1" in judged(world, plan, ONE)
    assert "are remembered, although the policy has none" in judged(world, plan, {})
    known = decide(world, ONE)["planned"]
    plan = decide([*world, remembered(known)], ONE)
    moved = json.loads(json.dumps(known))
    moved["holds"][0].update(begins=after_noon(120), nodes=[["n2", 1]])
    found = judged([*world, remembered(known)], {**plan, "planned": moved}, ONE)
    assert "has a hold that begins later than it did, for no cause" in found


def test_verify_does_not_believe_that_a_hold_is_in_the_way_which_is_not_there() -> None:
    world = [*two_nodes(), *waits("big", minutes=60), *waits("late", cpu=1, since=-10)]
    plan = decide(world, ONE)
    plan["planned"]["holds"] = []
    assert any("its quorum fits" in found for found in judged(world, plan, ONE))
    assert verdict(plan, "late") == "Waiting"


@pytest.mark.parametrize("cpu", [2, 4])
def test_groups_that_begin_at_one_time_do_not_change_places_for_ever(cpu: int) -> None:
    """All nodes are free for them at one moment, and it is all the same who sits where."""
    nodes = [b.node(name, cpu=4) for name in "abc"]
    objects = [*nodes, *(runs(f"r{name}", name, until=60) for name in "abc")]
    objects += [*waits("trio", cpu, 20, -40, size=3), *waits("lone", 2, 110, -5), *waits("other", 2, 90, -60)]
    policy: Obj = {"holds": {"depth": 5}}
    for now in (NOON, after_noon(10), after_noon(20)):
        plan = decided(objects, policy, now)
        for _ in range(3):
            if plan["planned"] is not None:
                objects = [one for one in objects if one["metadata"]["name"] != "maitred-holds"]
                objects.append(remembered(plan["planned"]))
            plan = decided(objects, policy, now)
        assert plan["planned"] is None
