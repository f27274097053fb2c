"""How much there is: counts that the engine confirms, and every idle device under one reason."""

from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given

from maitred.explain.capacity.asked import asked_about
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity, Gangs, Largest, Placeable, PlaceablePriority
from maitred.explain.capacity.shapes import shapes
from maitred.explain.capacity.survey import Survey, with_shapes
from maitred.explain.capacity.tables import capacity_lines
from maitred.explain.situation import Situation
from maitred.model.history import History
from tests.decide import test_later as later
from tests.explain.capacity_situations import (
    RACKS,
    asked,
    crew,
    crowded,
    nodes,
    situation_of,
    verdicts,
    with_gang,
)
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.oracle.builders import GPU, Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters

COUNTABLE = ("gpu", "memory", "pod_count", "requests", "node_selector", "node_affinity", "taints", "health")
"""Features of clusters in which nobody minds his neighbours, and nobody comes back for a second turn."""


# -- can the next gang be placed ---------------------------------------------------------------------------


def check_counts(situation: Situation) -> None:
    """A gang of the size that is told is seated, or is made room for; one larger is not."""
    found = capacity(situation).placeable
    snapshot, numbers = with_shapes(
        situation.snapshot, [(each.needs, each.devices) for each in shapes(Survey(situation))]
    )
    alone = not situation.plan(()).evictions
    for each, number in zip(found, numbers, strict=True):
        for rank in each.ranks:
            for gangs in rank.gangs:

                def verdict(
                    members: int, shape: int = number, rank: PlaceablePriority = rank, gangs: Gangs = gangs
                ) -> str:
                    gang = with_gang(snapshot, shape, members, gangs.level, rank.priority)
                    return verdicts(gang, situation)["default/~next"]

                check_gangs(verdict, gangs, alone and not rank.ahead)


def check_gangs(verdict: Callable[[int], str], gangs: Gangs, alone: bool) -> None:
    """`alone`: nobody else is ahead of it who waits, or for whom others leave."""
    now = gangs.now.members
    room = now if gangs.with_room is None else gangs.with_room.members
    assert now <= room
    assert not now or verdict(now) == "Scheduled"
    assert verdict(now + 1) != "Scheduled"
    assert verdict(room + 1) == "Waiting"
    if room > now and alone:
        assert verdict(room) == "Preempting"


@given(crowded())
@examples(8)
def test_the_largest_gang_is_the_largest_that_the_engine_seats(objects: list[Obj]) -> None:
    check_counts(situation_of(objects, RACKS))


@pytest.mark.slow
@given(crowded(priorities=True))
@examples(40)
def test_the_same_by_priority_and_if_others_left(objects: list[Obj]) -> None:
    check_counts(situation_of(objects, RACKS))


@given(clusters(features=COUNTABLE))
@examples(12)
def test_the_same_among_selectors_taints_and_nodes_that_are_unwell(objects: list[Obj]) -> None:
    check_counts(situation_of(objects))


def gangs_of(found: Capacity, requests: dict[str, str], priority: int = 0) -> dict[str | None, Gangs]:
    (each,) = (one for one in found.placeable if one.shape.requests == requests)
    (rank,) = (rank for rank in each.ranks if rank.priority == priority)
    return {gangs.level: gangs for gangs in rank.gangs}


def test_what_a_gang_could_have_by_level() -> None:
    running = [b.pod("old", gpu=5, node="n0"), b.pod("other", gpu=1, node="n2")]
    found = gangs_of(asked([*nodes(6), *running], RACKS), {GPU: "1"})
    assert found[None].now == Largest(42, None)
    assert found["zone"].now == Largest(26, "z0")
    assert found["shelf"].now == Largest(16, "r2")
    assert gangs_of(asked([*nodes(6), *running], RACKS), {GPU: "8"})["shelf"].now == Largest(2, "r2")


def test_the_shapes_that_wait_come_first_and_carry_what_they_select() -> None:
    waiting = crew("crew", 3, gpu=8, cpu=2, where={"rack": "r9"})
    running = b.pods("old", 5, gpu=1, cpu=1, node="n0")
    found = asked([*nodes(2), *waiting, *running]).placeable
    own = [each.shape for each in found if each.shape.kind == "asked"]
    assert [shape.waiting for shape in own] == [3, 0]
    assert [shape.running for shape in own] == [0, 5]
    assert own[0].selects == {"rack": "r9"}
    assert own[1].requests == {"cpu": "1", GPU: "1"}


def test_shapes_that_differ_only_in_what_they_tolerate_or_require_are_told_apart() -> None:
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    closed = b.node("n1", gpu=8, cpu=64)
    closed["spec"]["taints"] = [taint]
    shape: Obj = {"gpu": 2, "cpu": 4}
    pods = [
        b.pod("plain", **shape),
        b.pod("tolerant", **shape, tolerations=[{"operator": "Exists"}]),
        b.pod("picky", **shape, node_affinity=[{"key": "zone", "operator": "NotIn", "values": ["a", "b"]}]),
    ]
    for pod in pods:
        pod["spec"]["nodeName"] = "n0"
        pod["status"]["phase"] = "Running"
    found = asked([b.node("n0", gpu=8, cpu=64), closed, *pods])
    asked_for = {each.shape.tolerates + each.shape.requires: count(each) for each in found.placeable[2:]}
    assert asked_for == {(): 1, ("everything",): 5, ("zone NotIn a, b",): 1}
    lines = [line.plain for line in capacity_lines(found)]
    labels = [place for place, line in enumerate(lines) if line.startswith("  2 gpu, 4 cpu")]
    below = sorted(lines[place + 1].strip() for place in labels)
    assert {"on zone NotIn a, b", "tolerates everything"} < set(below)
    assert len(labels) == 3


def test_models_are_counted_apart() -> None:
    labels = [{"nvidia.com/gpu.product": "H100"}] * 2 + [{"nvidia.com/gpu.product": "L4"}]
    some = [b.node(f"n{i}", gpu=4, labels=own) for i, own in enumerate(labels)]
    found = [(each.shape.model, each.shape.kind, count(each)) for each in asked(some).placeable]
    assert found == [("H100", "one", 8), ("H100", "node", 2), ("L4", "one", 4), ("L4", "node", 1)]


def count(each: Placeable) -> int:
    return each.ranks[0].gangs[0].now.members


def test_without_devices_cpu_is_counted() -> None:
    agent = b.pod("agent", cpu=1, node="n0", owner="DaemonSet/agent")
    found = asked([*nodes(3, gpu=0, cpu=8), agent, b.pod("old", cpu=2, node="n1")])
    assert found.resources == ("cpu",)
    assert [(each.shape.kind, each.shape.requests["cpu"], count(each)) for each in found.placeable] == [
        ("one", "1", 21),
        ("node", "7", 2),
        ("asked", "2", 10),
    ]


@pytest.mark.parametrize("there", [[], [1], [1, 2]])
def test_room_that_is_kept_for_pods_that_come_later_is_not_there(there: list[int]) -> None:
    """One leader runs, and three workers are to come, whether or not some of them have come already."""
    objects = [*later.nodes(3, 3), later.worker_set(), later.of_group(0, "n1"), *map(later.of_group, there)]
    assert [count(each) for each in asked(objects).placeable if each.shape.kind == "one"] == [2]


def test_a_gang_that_is_asked_about() -> None:
    low = b.pods("low", 2, gpu=8, node="n0", priority=-5)
    objects = [*nodes(2), *low[:1], *crew("crew", 1, gpu=1, cpu=999)]
    answered = asked_about(asked(objects), 2)
    assert answered.gang == 2
    assert gangs_of(answered, {GPU: "1"})[None].fits == "now"
    assert gangs_of(answered, {GPU: "8"})[None].fits == "with-room"
    assert gangs_of(asked_about(answered, 3), {GPU: "8"})[None].fits == "no"


def test_nobody_makes_room_where_the_policy_says_so() -> None:
    low = b.pod("low", gpu=8, node="n0", priority=-5)
    found = asked([*nodes(1), low, *crew("crew", 1, gpu=8)], {"preemption": {"mode": "never"}})
    assert gangs_of(found, {GPU: "8"})[None] == Gangs(None, Largest(0, None), None)


# -- idle --------------------------------------------------------------------------------------------------


def check_sums(situation: Situation) -> None:
    found, nodes_, used = capacity(situation), situation.snapshot.nodes, situation.snapshot.used
    unwell = [one for devices in nodes_.unwell.values() for one in devices.values()]
    assert sum(each.unwell for each in found.idle) == sum(one.unwell for one in unwell)
    idle = np.maximum(nodes_.whole().allocatable - used, 0) * nodes_.alive
    total = Counter[str]()
    for each in found.idle:
        assert sum(part.devices for part in each.reasons) == each.idle <= each.total
        assert all(part.devices > 0 and part.nodes > 0 for part in each.reasons)
        total[each.resource] += each.idle
    for resource in found.resources:
        assert total[resource] == idle[nodes_.resources.index(resource)].sum()


@given(clusters())
@examples(50)
def test_every_idle_device_is_under_one_reason(objects: list[Obj]) -> None:
    check_sums(situation_of(objects))


@given(crowded(priorities=True))
@examples(15)
def test_the_same_where_others_leave(objects: list[Obj]) -> None:
    check_sums(situation_of(objects, {"nodes": {"managed": {"matchLabels": {"rack": "r0"}}}}))


def reasons(objects: list[Obj], policy: Obj | None = None) -> dict[str, int]:
    (each,) = asked(objects, policy).idle
    return {f"{part.reason} {part.detail}".rstrip(): part.devices for part in each.reasons}


def one(**fields: object) -> list[Obj]:
    return [b.node("n0", gpu=8, **fields)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        (one(), "Free"),
        (one(cordoned=True), "Cordoned"),
        (one(ready=False), "NotReady"),
        (one(ready=None), "NotReady"),
        (
            one(taints=["node.kubernetes.io/disk-pressure:NoSchedule"]),
            "Unhealthy node.kubernetes.io/disk-pressure",
        ),
        (one(taints=["team=red:NoSchedule"]), "Tainted team"),
        ([*one(taints=["team=red:NoSchedule"]), *crew("c", 1, gpu=1)], "Tainted team"),
        (
            [*one(taints=["team=red:NoSchedule"]), *crew("c", 2, gpu=8, tolerations=["team=red:NoSchedule"])],
            "Fragmented",
        ),
        (one(taints=[f"{GPU}:NoSchedule"]), "Free"),
        ([*one(), *crew("c", 2, gpu=8)], "Fragmented"),
        ([*one(), *crew("c", 1, gpu=8, where={"rack": "r1"})], "Free"),
        ([*one(), *crew("c", 1, gpu=8, gates=["example.com/quota"])], "Free"),
        ([*one(), *crew("c", 1, gpu=8)], "Starting"),
        ([*one(cpu=8), b.pod("web", cpu=8, node="n0"), *crew("c", 1, gpu=1, cpu=1)], "Stranded cpu"),
        ([*one(pods=1), b.pod("web", node="n0")], "Stranded pods"),
    ],
)
def test_why_devices_are_idle(objects: list[Obj], reason: str) -> None:
    assert reasons(objects) == {reason: 8}


def test_nodes_that_are_left_to_others() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"pool": "ours"}}}}
    assert reasons(one(), policy) == {"NotManaged": 8}


def test_places_that_are_promised() -> None:
    low = b.pod("low", gpu=4, node="n0", priority=-5)
    assert reasons([*one(), low, *crew("crew", 1, gpu=8)]) == {"Promised": 4}


def test_what_idleness_costs() -> None:
    prices = {"prices": {"currency": "EUR", "devices": [{"perHour": 2.5}]}}
    found = asked(one(), prices)
    assert found.currency == "EUR"
    assert found.idle[0].reasons[0].cost_per_hour == 20.0
    assert asked(one()).idle[0].reasons[0].cost_per_hour is None
    prices["prices"]["hours"] = [{"from": "11:00", "until": "13:00", "factor": 1.5}]
    assert asked(one(), prices).idle[0].reasons[0].cost_per_hour == 30.0


# -- incomplete groups -------------------------------------------------------------------------------------


def started(pods: list[Obj], at: str) -> list[Obj]:
    return [{**pod, "status": {**pod["status"], "startTime": at}} for pod in pods]


def test_what_incomplete_groups_hold() -> None:
    half = crew("half", 2, quorum=4, gpu=4, node="n0")
    half[1:] = started(half[1:], "2026-01-31T09:00:00Z")
    whole = crew("whole", 2, gpu=1, node="n1")
    (found,) = asked([*nodes(2), *half, *whole], {"prices": {"devices": [{"perHour": 3}]}}).incomplete
    assert (found.group, found.counted, found.quorum) == ("default/half", 2, 4)
    assert (found.holds, found.since, found.device_hours) == ({GPU: 8}, "2026-01-31T09:00:00Z", 24.0)
    assert (found.starts_now, found.cost_per_hour) == (False, 24.0)


def test_what_a_group_held_while_it_was_whole_is_not_held_in_vain() -> None:
    """Both started at six; one failed at half past seven, when another was made in its place."""
    here = b.pod("crew-0", gpu=8, group="crew", node="n0", created=0)
    here["status"]["startTime"] = "2026-01-31T06:00:00Z"
    again = b.pod("crew-2", gpu=8, group="crew")
    again["metadata"]["creationTimestamp"] = "2026-01-31T07:30:00Z"
    other = b.pod("other", gpu=8, node="n1", priority=1000)
    (found,) = asked([*nodes(2), b.pod_group("crew", 2), here, again, other]).incomplete
    assert (found.since, found.device_hours) == ("2026-01-31T07:30:00Z", 36.0)


def test_it_is_not_known_since_when_a_group_with_a_failed_member_holds_in_vain() -> None:
    here = started(b.pods("crew", 2, gpu=8, group="crew", node="n0"), "2026-01-31T06:00:00Z")
    failed = b.pod("crew-2", gpu=8, group="crew", node="n1", phase="Failed")
    (found,) = asked([*nodes(2), b.pod_group("crew", 3), *here, failed]).incomplete
    assert (found.counted, found.since, found.device_hours) == (2, None, 0)


def test_members_on_lost_nodes_hold_nothing_and_do_not_run() -> None:
    """As `why` says of the same group."""
    crew_of_two = [
        b.pod_group("crew", 2),
        *(b.pod(f"crew-{i}", gpu=8, group="crew", node=f"n{i}") for i in (0, 1)),
    ]
    objects = [b.node("n0", gpu=8), b.node("n1", gpu=8, ready=None), *crew_of_two]
    (found,) = asked(objects).incomplete
    assert (found.counted, found.quorum, found.holds, found.since) == (1, 2, {GPU: 8}, None)
    assert why_of(objects).placed == found.counted
    silent = [b.node(f"n{i}", gpu=8, ready=None) for i in (0, 1)]
    assert asked([*silent, *crew_of_two]).incomplete == ()


def test_an_incomplete_group_whose_rest_starts_now() -> None:
    here, coming = crew("half", 2, gpu=4, node="n0"), b.pods("half", 2, gpu=4, group="half", start=2)
    here[0]["spec"]["schedulingPolicy"]["gang"]["minCount"] = 4
    (found,) = asked([*nodes(2), *here, *coming]).incomplete
    assert found.starts_now
    assert found.since is None


# -- small ones first --------------------------------------------------------------------------------------


def running_for(hours: int, pods: list[Obj]) -> list[Obj]:
    for pod in pods:
        pod["metadata"]["annotations"] = {"maitred.dev/expected-runtime": f"{hours}h"}
    return started(pods, "2026-01-31T12:00:00Z") if pods[0]["spec"].get("nodeName") else pods


def test_both_orders_are_rolled_forward_for_the_largest() -> None:
    """One node is free, the others in two and four hours: the pair takes two of them for six."""
    first = running_for(2, [b.pod("first", gpu=8, node="n1")])
    second = running_for(4, [b.pod("second", gpu=8, node="n2")])
    large = running_for(1, crew("large", 3, gpu=8))
    pair = running_for(6, crew("pair", 2, gpu=8))
    for item in pair:
        item["metadata"]["creationTimestamp"] = b.moment(9)
    (found,) = asked([*nodes(3), *first, *second, *large, *pair]).orders
    assert found.group == "default/large"
    assert (found.as_now, found.holding) == ("2026-01-31T20:00:00Z", "2026-01-31T16:00:00Z")
    assert (found.gained_hours, [shift.group for shift in found.shifted]) == (4.0, ["default/pair"])


def test_how_long_the_largest_would_wait_is_weighed_against_what_others_lose() -> None:
    low = running_for(3, [b.pod(f"low-{i}", gpu=8, node=f"n{i}", priority=-5) for i in range(2)])
    crews = [*crew("large", 2, gpu=8), *crew("small", 1, gpu=4, priority=-5)]
    found = asked([*nodes(2), *low, *crews], {"preemption": {"mode": "never"}})
    assert [(each.group, each.expected_wait_hours) for each in found.preemption] == [("default/large", 3.0)]


def test_groups_of_one_size_do_not_go_before_each_other() -> None:
    objects = [*nodes(1), b.pod("old", gpu=4, node="n0")]
    assert asked([*objects, *crew("a", 1, gpu=8), *crew("b", 2, gpu=4)]).orders == ()
    assert asked([*objects, *crew("a", 1, gpu=8)]).orders == ()


def test_the_largest_that_can_start_at_all() -> None:
    crews = [*crew("never", 9, gpu=8), *crew("large", 1, gpu=8), *crew("small", 1, gpu=5)]
    (found,) = asked([*nodes(1), b.pod("old", gpu=4, node="n0"), *crews]).orders
    assert found.group == "default/large"
    assert found.words == "it is not known when it starts, even with room held for it"


# -- preemption --------------------------------------------------------------------------------------------


def test_what_it_costs_to_start_at_once_and_after_how_long_that_is_worth_it() -> None:
    low = started([b.pod("low", gpu=8, node="n0", priority=-5)], "2026-01-31T10:00:00Z")
    found = asked([*nodes(1), *low, *crew("crew", 1, gpu=4)], {"prices": {"devices": [{"perHour": 2}]}})
    (told,) = found.preemption
    assert (told.group, told.allowed, told.victims, told.pods) == ("default/crew", True, ("default/low",), 1)
    assert (told.lost_device_hours, told.break_even_hours, told.lost_money) == (16.0, 4.0, 32.0)


@pytest.mark.parametrize(
    ("policy", "fields", "why"),
    [
        ({"preemption": {"mode": "never"}}, {}, "the policy allows no preemption"),
        ({"order": "fifo"}, {}, "the policy's order is fifo"),
        ({}, {"preemption": "Never"}, "its preemptionPolicy is Never"),
        ({"preemption": {"delay": "9000h"}}, {}, "the policy delays preemption by 9000h"),
    ],
)
def test_what_it_would_take_if_it_were_allowed(policy: Obj, fields: Obj, why: str) -> None:
    low = started([b.pod("low", gpu=8, node="n0", priority=-5)], "2026-01-31T11:00:00Z")
    (told,) = asked([*nodes(1), *low, *crew("crew", 1, gpu=8, **fields)], policy).preemption
    assert not told.allowed
    assert told.why_not.startswith(why)
    assert (told.lost_device_hours, told.break_even_hours) == (8.0, 1.0)


def test_nobody_is_told_of_whom_preemption_would_not_help() -> None:
    low = b.pod("low", gpu=8, node="n0", priority=-5)
    policy = {"preemption": {"mode": "never"}}
    assert asked([*nodes(1), low, *crew("crew", 2, gpu=8)], policy).preemption == ()
    equal = b.pod("equal", gpu=8, node="n0")
    assert asked([*nodes(1), equal, *crew("crew", 1, gpu=8)], policy).preemption == ()


# -- the whole ---------------------------------------------------------------------------------------------


def test_an_empty_cluster() -> None:
    assert asked([]) == Capacity()
    assert asked(crew("crew", 2)) == Capacity(waiting=1)


def test_a_cluster_on_which_nothing_waits_or_runs() -> None:
    found = asked(nodes(2))
    assert (found.nodes, found.waiting, found.fragmented, found.preemption) == (2, 0, (), ())
    assert (found.constraints, found.incomplete, found.notes) == ((), (), ())


@given(clusters())
@examples(15)
def test_the_same_scene_gives_the_same_answer_and_it_travels_as_json(objects: list[Obj]) -> None:
    situation = situation_of(objects, history=History(since=0.0, waits={"default/g0": {"Topology": 7200.0}}))
    found = capacity(situation)
    assert capacity(situation) == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=Capacity) == found
