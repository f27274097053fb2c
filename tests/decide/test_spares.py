"""Nodes that are kept free for repairs: which these are, who may have them, and what others are told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.healing import lost, train
from tests.decide.lemons import at, memory, score
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.support import decide

LEVELS = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}


def keeping(nodes: int = 1, **more: Any) -> Obj:
    return {**LEVELS, "healing": {"spares": {"level": "rack", "nodes": nodes, **more}}}


def racks(count: int = 2, size: int = 3) -> list[Obj]:
    return [b.node(f"r{r}n{i}", gpu=8, rack=f"r{r}") for r in range(count) for i in range(size)]


def spares(plan: Obj) -> list[str]:
    return [hold["node"] for hold in plan["holds"] if hold["cause"] == "Spare"]


def test_one_node_of_each_rack_is_kept_free() -> None:
    pods = [b.pod(f"p{i}", gpu=8) for i in range(6)]
    plan = decide([*racks(), *pods], keeping())
    assert spares(plan) == ["r0n0", "r1n0"]
    assert {bind["node"] for bind in plan["binds"]} == {"r0n1", "r0n2", "r1n1", "r1n2"}
    assert decide([*racks(), *pods])["holds"] == []


def test_a_group_that_would_fit_is_told_for_whom_the_room_is_kept() -> None:
    taken = [b.pod(f"t{i}", gpu=8, node=f"r{i // 2}n{1 + i % 2}") for i in range(4)]
    plan = decide([*racks(), *taken, b.pod("p", gpu=8)], keeping())
    [group] = plan["groups"]
    [blocker] = group["blockers"]
    assert (group["verdict"], blocker["category"]) == ("Waiting", "Reservation")
    assert blocker["message"] == (
        "it would fit, but r0n0 is kept free for repairs: the policy keeps 1 node of each rack for groups "
        "that hardware fails under"
    )
    assert blocker["detail"]["nodes"] == ["r0n0"]


def test_a_group_that_would_not_fit_there_either_hears_nothing_of_it() -> None:
    plan = decide([*racks(1, 2), b.pod("p", gpu=16)], keeping())
    assert plan["groups"][0]["blockers"][0]["category"] != "Reservation"
    gang = [b.pod_group("g", 3), *(b.pod(f"g-{i}", gpu=8, group="g", index=i) for i in range(3))]
    plan = decide([*racks(1, 2), *gang], keeping())
    assert (plan["groups"][0]["verdict"], plan["binds"]) == ("Impossible", [])


def test_a_group_of_all_nodes_waits_and_is_not_impossible() -> None:
    gang = [b.pod_group("g", 2), *(b.pod(f"g-{i}", gpu=8, group="g", index=i) for i in range(2))]
    plan = decide([*racks(1, 2), *gang], keeping())
    [group] = plan["groups"]
    assert (group["verdict"], group["blockers"][0]["category"]) == ("Waiting", "Reservation")


def test_free_nodes_before_those_that_failed_and_no_lemons() -> None:
    worn = memory(score("r0n0", 2.0, lemonSince=at(-1)), score("r0n1", 0.5))
    assert spares(decide([*racks(1), worn], keeping())) == ["r0n2"]
    assert spares(decide([*racks(1), worn], keeping(2))) == ["r0n1", "r0n2"]
    assert spares(decide([*racks(1), worn], keeping(3))) == ["r0n1", "r0n2"]


@pytest.mark.parametrize(
    "node",
    [
        b.node("r0n0", gpu=8, rack="r0", cordoned=True),
        b.node("r0n0", gpu=8, rack="r0", ready=False),
        b.node("r0n0", gpu=8, rack="r0", broken=1),
        b.node("r0n0", rack="r0"),
        b.node("r0n0", gpu=8),
    ],
)
def test_only_whole_and_well_nodes_with_devices_are_spares(node: Obj) -> None:
    assert spares(decide([node, *racks(1)[1:]], keeping())) == ["r0n1"]


def test_pods_of_the_node_itself_do_not_make_it_less_free() -> None:
    daemon = b.pod("d", cpu=1, node="r0n0", owner="DaemonSet/d")
    assert spares(decide([*racks(1), daemon], keeping())) == ["r0n0"]
    assert spares(decide([*racks(1), b.pod("p", cpu=1, node="r0n0")], keeping())) == ["r0n1"]


def test_without_a_level_the_whole_cluster_is_one_domain() -> None:
    assert spares(decide(racks(), {"healing": {"spares": {"nodes": 2}}})) == ["r0n0", "r0n1"]


def test_the_last_free_nodes_are_all_spares() -> None:
    taken = [b.pod(f"t{i}", gpu=8, node=f"r0n{i}") for i in range(2)]
    plan = decide([*racks(1), *taken, b.pod("p", gpu=1)], keeping(2))
    assert (spares(plan), plan["binds"]) == (["r0n2"], [])


def test_whoever_may_be_evicted_may_sit_there() -> None:
    cheap = b.pod("cheap", gpu=8, priority=-5)
    taken = [b.pod(f"t{i}", gpu=8, node=f"r0n{i}") for i in (1, 2)]
    plan = decide([*racks(1), *taken, cheap], keeping())
    assert [bind["node"] for bind in plan["binds"]] == ["r0n0"]
    there = b.pod("cheap", gpu=4, priority=-5, node="r0n0")
    plan = decide([*racks(1), *taken, there, b.pod("p", gpu=4)], keeping())
    assert (plan["binds"], plan["evictions"]) == ([], [])
    never = {**keeping(), "preemption": {"mode": "never"}}
    assert decide([*racks(1), *taken, cheap], never)["binds"] == []


def test_a_group_that_is_healed_gets_the_spare() -> None:
    """Its room is kept there, and what its owner makes anew is seated there."""
    nodes = [lost("r0n0", gpu=8, rack="r0"), *racks(1, 4)[1:]]
    members = train("r0n0", "r0n1", "r0n2", quorum=3)
    plan = decide([*nodes, *members, b.pod("other", gpu=8)], keeping())
    assert [(hold["node"], hold["cause"]) for hold in plan["holds"]] == [
        ("r0n3", "Healing"),
        ("r0n3", "Spare"),
    ]
    assert plan["binds"] == []
    anew = train("", "r0n1", "r0n2", quorum=3)
    kept = memory(*plan["memory"]["scores"], incidents=tuple(plan["memory"]["incidents"]))
    plan = decide([*nodes, *anew, b.pod("other", gpu=8), kept], keeping(), at(1))
    assert [(bind["pod"], bind["node"]) for bind in plan["binds"]] == [("default/train-0", "r0n3")]


def test_a_healed_group_evicts_only_lesser_ones_from_a_spare() -> None:
    nodes = [lost("r0n0", gpu=8, rack="r0"), *racks(1, 4)[1:]]
    guest = b.pod("guest", gpu=8, priority=-5, node="r0n3")
    plan = decide([*nodes, *train("r0n0", "r0n1", "r0n2", quorum=3), guest], keeping())
    kept = memory(*plan["memory"]["scores"], incidents=tuple(plan["memory"]["incidents"]))
    anew = train("", "r0n1", "r0n2", quorum=3)
    plan = decide([*nodes, *anew, guest, kept], keeping(), at(1))
    assert [one["pod"] for one in plan["evictions"]] == ["default/guest"]
    equal = b.pod("guest", gpu=8, priority=0, node="r0n3")
    plan = decide([*nodes, *anew, equal, kept], keeping(), at(1))
    assert plan["evictions"] == []


worlds = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 8), st.sampled_from([-5, 0, 5])), min_size=1, max_size=10
)


@given(worlds, st.integers(1, 2))
@examples(40)
def test_spares_are_never_given_to_others(pods: list[tuple[int, int, int]], kept: int) -> None:
    """Nobody ordinary is put onto a spare, the checker agrees, and the same input gives the same Plan."""
    objects, free = racks(2, 3), dict.fromkeys((f"r{r}n{i}" for r in range(2) for i in range(3)), 8)
    names = sorted(free)
    for number, (place, gpu, priority) in enumerate(pods):
        node = names[place] if place < 6 and free[names[place]] >= gpu else None
        if node is not None:
            free[node] -= gpu
        objects.append(b.pod(f"p{number}", gpu=gpu, priority=priority, node=node, owner="ReplicaSet/x"))
    policy = keeping(kept)
    plan = decide(objects, policy)
    assert decide(list(reversed(objects)), policy) == plan
    ordinary = {f"default/p{n}" for n, (_, _, priority) in enumerate(pods) if priority >= 0}
    assert not {one["node"] for one in plan["binds"] if one["pod"] in ordinary} & {*spares(plan)}
    assert list(verify(objects, plan, policy)) == []
