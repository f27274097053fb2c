"""What one move would free, and who would start within a wider level: carried out, the engine agrees."""

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.capacity import survey
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Fragmented
from maitred.explain.capacity.tables import capacity_lines
from maitred.model.history import History
from tests.explain.capacity_situations import (
    RACKS,
    a_moment_later,
    asked,
    crew,
    crowded,
    moved,
    nodes,
    situation_of,
)
from tests.oracle import builders as b
from tests.oracle.builders import GPU, Obj
from tests.oracle.effort import examples
from tests.support import decide

# -- one move ----------------------------------------------------------------------------------------------


def check_moves(objects: list[Obj], policy: Obj | None = None) -> int:
    situation, found = situation_of(objects, policy), 0
    for blocked in capacity(situation).fragmented:
        if blocked.move is not None:
            seats = {placement.pod: placement.target for placement in blocked.move.pods}
            carried_out = moved(a_moment_later(objects, situation), seats)
            after = {group["group"]: group["verdict"] for group in decide(carried_out, policy)["groups"]}
            assert after[blocked.group] == "Scheduled", blocked
            found += 1
    return found


@given(crowded())
@examples(30)
def test_a_move_that_is_told_seats_the_group(objects: list[Obj]) -> None:
    check_moves(objects, RACKS)


@given(crowded(priorities=True))
@examples(20)
def test_the_same_where_priorities_differ(objects: list[Obj]) -> None:
    check_moves(objects, RACKS)


def blocked_by(objects: list[Obj], policy: Obj | None = RACKS) -> dict[str, Fragmented]:
    check_moves(objects, policy)
    return {each.group: each for each in asked(objects, policy).fragmented}


def old(name: str, node: str, gpu: int, **fields: Any) -> Obj:
    return b.pod(name, gpu=gpu, node=node, **fields)


def test_one_pod_in_the_way() -> None:
    objects = [*nodes(4, per_rack=2), old("a", "n0", 1), old("b", "n2", 6), old("c", "n3", 6)]
    found = blocked_by([*objects, *crew("crew", 2, "rack", gpu=8)])["default/crew"]
    assert found.category == "Fragmentation"
    assert found.move is not None
    assert (found.move.kind, found.move.units) == ("migration", ("default/a",))
    assert [(p.pod, p.source, p.target) for p in found.move.pods] == [
        ("default/a", "n0", found.move.pods[0].target)
    ]
    assert found.move.pods[0].target in ("n2", "n3")


def test_the_fewest_pods_then_the_least_work() -> None:
    gang = [b.pod_group("pair", 2), *b.pods("pair", 2, gpu=4, group="pair", node="n0")]
    recent = {"status": {"phase": "Running", "startTime": "2026-01-31T11:00:00Z"}}
    long_ago = {"status": {"phase": "Running", "startTime": "2026-01-30T11:00:00Z"}}
    objects = [
        *nodes(4),
        *gang,
        old("a", "n1", 4) | long_ago,
        old("b", "n2", 4) | recent,
        old("c", "n3", 4) | long_ago,
    ]
    found = blocked_by([*objects, *crew("crew", 1, gpu=8)])["default/crew"]
    assert found.move is not None
    assert found.move.units == ("default/b",)
    assert found.move.lost_device_hours == 4.0


def test_between_moves_that_are_as_good_names_decide() -> None:
    first, second = old("x", "n0", 4), old("y", "n1", 4)
    for pods in ([first, second], [second, first]):
        found = blocked_by([*nodes(2), *pods, *crew("crew", 1, gpu=8)])["default/crew"]
        assert found.move is not None
        assert found.move.units == ("default/x",)


def test_all_of_a_gang_that_moves_start_again_and_are_told() -> None:
    """One of them has its place on its old node again."""
    gang = [b.pod_group("trio", 3)]
    gang += [b.pod(f"trio-{i}", gpu=2, group="trio", node=f"n{i}") for i in range(3)]
    started = {"status": {"phase": "Running", "startTime": "2026-01-31T11:00:00Z"}}
    gang[1:] = [pod | started for pod in gang[1:]]
    mark = {"maitred.dev/non-preemptible": "true"}
    objects = [*nodes(3), *gang, *(old(f"o{i}", f"n{i}", 2, annotations=mark) for i in (1, 2))]
    found = blocked_by([*objects, *crew("crew", 1, gpu=8)])["default/crew"]
    assert found.move is not None
    places = {placement.pod: (placement.source, placement.target) for placement in found.move.pods}
    assert sorted(places) == ["default/trio-0", "default/trio-1", "default/trio-2"]
    assert any(source == target for source, target in places.values())
    assert found.move.lost_device_hours == 6.0
    everything = [*objects, *crew("crew", 1, gpu=8)]
    assert asked(everything[::-1], RACKS) == asked(everything, RACKS)
    text = "\n".join(line.plain for line in capacity_lines(asked(everything, RACKS)))
    assert "in place; 6 device-hours lost" in text


def test_a_pod_that_can_stay_is_not_moved_with_the_others_of_its_node() -> None:
    objects = [*nodes(2), *(old(f"a{i}", "n0", 1) for i in range(4)), old("b", "n1", 6)]
    found = blocked_by([*objects, *crew("crew", 1, gpu=6)])["default/crew"]
    assert found.move is not None
    assert (found.move.kind, found.move.node) == ("migration", None)
    assert found.move.units == ("default/a2", "default/a3")
    assert [placement.target for placement in found.move.pods] == ["n1", "n1"]


@given(crowded(priorities=True), st.randoms(use_true_random=False))
@examples(30)
def test_the_order_in_which_objects_are_read_does_not_matter(objects: list[Obj], random: Random) -> None:
    shuffled = objects.copy()
    random.shuffle(shuffled)
    assert asked(shuffled, RACKS) == asked(objects, RACKS)


@given(crowded(priorities=True))
@examples(30)
def test_fragmentation_is_the_first_blocker_of_those_it_is_said_to_block(objects: list[Obj]) -> None:
    plan = decide(objects, RACKS)
    first = {group["group"]: group["blockers"][0] for group in plan["groups"] if group["blockers"]}
    for blocked in asked(objects, RACKS).fragmented:
        assert (blocked.category, blocked.message) == (
            first[blocked.group]["category"],
            first[blocked.group]["message"],
        )


def test_who_only_came_too_late_is_not_blocked_by_fragmentation() -> None:
    """Enough is left in total and not together, but it was before another took its turn."""
    ahead = b.pod("ahead", gpu=4, priority_class="high", where={b.HOSTNAME: "n0"})
    objects = [*nodes(2), b.priority_class("high", 100), old("a", "n1", 4), ahead, *crew("crew", 1, gpu=8)]
    (blocker,) = next(g for g in decide(objects, RACKS)["groups"] if g["group"] == "default/crew")["blockers"]
    assert blocker["category"] == "Priority"
    assert asked(objects, RACKS).fragmented == ()


def test_a_gang_moves_whole() -> None:
    gang = [b.pod_group("pair", 2), *b.pods("pair", 2, gpu=2, group="pair", node="n0")]
    objects = [*nodes(2), *gang, old("stays", "n1", 4, annotations={"maitred.dev/non-preemptible": "true"})]
    found = blocked_by([*objects, *crew("crew", 1, gpu=8)])["default/crew"]
    assert found.move is not None
    assert found.move.units == ("default/pair",)
    assert len(found.move.pods) == 2


def test_a_node_is_drained_where_one_unit_is_not_enough() -> None:
    objects = [*nodes(2), old("a", "n0", 2), old("b", "n0", 2), *(old(f"c{i}", "n1", 1) for i in range(4))]
    found = blocked_by([*objects, *crew("crew", 1, gpu=8)])["default/crew"]
    assert found.move is not None
    assert (found.move.kind, found.move.node) == ("drain", "n0")
    assert sorted(p.pod for p in found.move.pods) == ["default/a", "default/b"]
    assert {p.target for p in found.move.pods} == {"n1"}


def test_pods_that_stay_are_not_moved() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "default"},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "kept"}}},
    }
    mark = {"maitred.dev/non-preemptible": "true"}
    for fixed in (
        old("a", "n0", 4, owner="DaemonSet/agent"),
        old("a", "n0", 4, annotations=mark),
        old("a", "n0", 4, labels={"app": "kept"}),
    ):
        objects = [*nodes(2), budget, fixed, old("b", "n1", 4, annotations=mark)]
        found = blocked_by([*objects, *crew("crew", 1, gpu=8)])
        assert found["default/crew"].move is None, fixed
        assert found["default/crew"].sought


def test_the_room_is_not_told_to_one_if_another_would_take_it() -> None:
    """Both lack the same; the older one has it."""
    objects = [*nodes(2), old("a", "n0", 4), old("b", "n1", 4)]
    first, second = crew("first", 1, gpu=8), crew("second", 2, gpu=8, quorum=1)
    second[0]["metadata"]["creationTimestamp"] = second[1]["metadata"]["creationTimestamp"] = b.moment(9)
    second[2]["metadata"]["creationTimestamp"] = b.moment(9)
    found = blocked_by([*objects, *first, *second])
    assert found["default/first"].move is not None
    assert found["default/second"].move is None


def test_groups_that_ask_for_the_same_are_told_of_once() -> None:
    objects = [*nodes(2), old("a", "n0", 4), old("b", "n1", 4)]
    (found,) = blocked_by([*objects, *crew("one", 1, gpu=8), *crew("two", 1, gpu=8)]).values()
    assert (found.group, found.alike) == ("default/one", 1)


def test_where_there_is_too_little_in_total_fragmentation_is_not_to_blame() -> None:
    assert blocked_by([*nodes(1), *crew("crew", 2, gpu=8)]) == {}


# -- one level wider ---------------------------------------------------------------------------------------


KEYS = {"shelf": "rack", "zone": b.ZONE}


def required(objects: list[Obj]) -> dict[str, str]:
    """Groups and the level that each must be within one domain of."""
    return {
        f"default/{item['metadata']['name']}": item["spec"]["schedulingConstraints"]["topology"][0]["key"]
        for item in objects
        if item["kind"] == "PodGroup" and item["spec"].get("schedulingConstraints")
    }


def widened(objects: list[Obj], level: str, wider: str | None, waits: set[str]) -> list[Obj]:
    """The objects with every group that waits and must be within a level allowed a wider one."""
    changed, levels = copy.deepcopy(objects), required(objects)
    for item in changed:
        key = f"default/{item['metadata']['name']}"
        if item["kind"] == "PodGroup" and key in waits and levels.get(key) == KEYS[level]:
            wide = {"topology": [{"key": KEYS[wider]}]} if wider else {}
            item["spec"]["schedulingConstraints"] = wide
    return changed


def check_constraints(objects: list[Obj], policy: Obj) -> None:
    situation = situation_of(objects, policy)
    waits = {group.group for group in situation.decided().groups if group.verdict == "Waiting"}
    for each in capacity(situation).constraints:
        plan = decide(widened(objects, each.level, each.wider, waits), policy)
        after = {group["group"] for group in plan["groups"] if group["verdict"] == "Scheduled"}
        theirs = {key for key, level in required(objects).items() if level == KEYS[each.level]}
        assert each.tried
        assert set(each.would_start) == after & theirs & waits, each
        assert each.blocked <= each.groups


@given(crowded())
@examples(30)
def test_who_would_start_within_a_wider_level_starts_and_nobody_else(objects: list[Obj]) -> None:
    check_constraints(objects, RACKS)


def test_a_wider_level_is_tried_in_its_turn_before_those_behind_take_the_room() -> None:
    wide = crew("wide", 2, "rack", gpu=8)
    late = b.pod("late", gpu=8, created=9)
    objects = [*nodes(3), old("a", "n1", 8), *wide, late]
    check_constraints(objects, RACKS)
    (found,) = asked(objects, RACKS).constraints
    assert (found.blocked, found.wider, found.would_start) == (1, "zone", ("default/wide",))


def test_what_is_too_much_to_try_is_not_told_as_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "EFFORT", 1)
    found = asked([*nodes(4), *crew("crew", 4, "rack", gpu=8)], RACKS)
    assert (found.constraints[0].tried, found.constraints[0].would_start) == (False, ())
    assert any("one zone: not tried" in line.plain for line in capacity_lines(found))


def test_a_level_that_is_in_the_way() -> None:
    gang = crew("crew", 4, "rack", gpu=8, created=0)
    objects = [*nodes(4), *gang, *crew("other", 9, "rack", gpu=8), *crew("third", 3, "rack", gpu=8)]
    (found,) = asked(objects, RACKS).constraints
    assert (found.constraint, found.level, found.wider, found.groups) == ("required", "shelf", "zone", 3)
    assert found.devices == 32 + 72 + 24
    assert (found.blocked, found.would_start, found.devices_started) == (2, ("default/crew",), 32)
    assert found.because_hours is None
    assert found.blocked_hours == found.waited_hours / 3 * 2


def test_the_ledger_knows_for_how_long() -> None:
    waits = {"default/crew": {"Topology": 5400.0, "Capacity": 99.0}, "default/gone": {"Topology": 7.0}}
    situation = situation_of(
        [*nodes(4), *crew("crew", 4, "rack", gpu=8)], RACKS, history=History(since=0.0, waits=waits)
    )
    (found,) = capacity(situation).constraints
    assert found.because_hours == 1.5


def test_slices_are_a_constraint_of_their_own() -> None:
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "shelf"}
    group = b.pod_group("crew", 4, annotations=marks)
    objects = [*nodes(4, per_rack=1), group, *b.pods("crew", 4, gpu=8, group="crew")]
    (found,) = asked(objects, RACKS).constraints
    assert (found.constraint, found.level, found.wider) == ("slice", "shelf", "zone")
    assert found.would_start == ("default/crew",)


def test_what_is_counted_where_there_are_no_devices() -> None:
    objects = [*nodes(4, gpu=0, cpu=8), *crew("crew", 4, "rack", cpu=8)]
    (found,) = asked(objects, RACKS).constraints
    assert (found.devices, GPU in asked(objects).resources) == (32000, False)
