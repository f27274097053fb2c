"""Whether groups that sit in part block each other for good."""

from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from maitred.cluster.nodes import NodeTable, NodeView
from maitred.model.node import Node, Taint
from maitred.model.pod import PodSpec, Resources
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import Crew
from maitred.simulate.seating.deadlock import deadlocked
from tests.simulate.seating.groups import GPU, container, crew, group, node, sit


def view(*nodes: Node) -> NodeView:
    table = NodeTable()
    for one in nodes:
        table.put(one)
    return table.view()


TWO = view(node("a", gpu=4), node("b", gpu=4))


def test_nobody_incomplete_is_no_deadlock() -> None:
    assert not deadlocked(TWO, [])


def test_two_gangs_that_hold_half_each_block_each_other() -> None:
    gangs = [sit(group(number, crew(6, gpu=1)), *seats * 4) for number, seats in enumerate("ab")]
    assert deadlocked(TWO, gangs)
    assert not deadlocked(TWO, gangs[:1])


def test_one_that_could_be_completed_is_enough() -> None:
    large, small = group(0, crew(8, gpu=1)), group(1, crew(3, gpu=1))
    assert not deadlocked(TWO, [sit(large, *"aaaab"), sit(small, *"bb")])
    assert deadlocked(TWO, [sit(large, *"aaaab"), sit(small, *"bb"), sit(group(2, crew(8, gpu=1)), "b")])


def test_only_the_quorum_counts() -> None:
    half = sit(group(0, crew(4, gpu=4), quorum=2), "a")
    assert not deadlocked(TWO, [half])
    assert deadlocked(TWO, [half, sit(group(1, crew(6, gpu=1)), "b")])


def test_what_is_free_in_pieces_is_no_room() -> None:
    gangs = [sit(group(number, crew(2, gpu=3)), seat) for number, seat in enumerate("ab")]
    assert deadlocked(TWO, gangs)


def test_room_on_closed_nodes_is_none() -> None:
    gang = sit(group(0, crew(2, gpu=4)), "a")
    closed = view(node("a", gpu=4), node("b", gpu=4, taints=(Taint("team", "NoSchedule"),)))
    assert deadlocked(closed, [gang])
    assert not deadlocked(TWO, [gang])


def test_a_group_larger_than_the_cluster_never_gets_on() -> None:
    assert deadlocked(TWO, [sit(group(0, crew(9, gpu=1)), *"aaaabbbb")])


def test_a_resource_that_no_node_has() -> None:
    fpga = Crew(PodSpec((container(),), overhead={"example.com/fpga": 1}), 1, 0)
    assert deadlocked(TWO, [sit(group(0, crew(1), fpga), "a")])


# ---- against brute force

ROOMS = st.tuples(st.integers(1, 4), st.integers(1, 4))
CREWS = st.tuples(st.integers(2, 3), st.tuples(st.integers(0, 2), st.integers(0, 2)))


def free_room(nodes: list[tuple[int, int]], groups: list[SimulatedGroup]) -> list[list[int]]:
    free = [list(size) for size in nodes]
    for one in groups:
        for member, seat in enumerate(one.seats):
            if seat:
                take(free[int(seat)], one, member)
    return free


def take(room: list[int], one: SimulatedGroup, member: int) -> None:
    requests: Resources = one.job.crew_of[member].spec.containers[0].resources.requests
    room[0] -= int(requests.get("cpu", 0))
    room[1] -= int(requests.get(GPU, 0))


def completable(nodes: list[tuple[int, int]], groups: list[SimulatedGroup], one: SimulatedGroup) -> bool:
    """Every way to seat some of the rest, or not, is tried."""
    standing = one.standing()
    for seats in product((None, *range(len(nodes))), repeat=len(standing)):
        free = free_room(nodes, groups)
        seated = [(member, seat) for member, seat in zip(standing, seats, strict=True) if seat is not None]
        for member, seat in seated:
            take(free[seat], one, member)
        if one.sitting + len(seated) >= one.job.quorum and all(min(room) >= 0 for room in free):
            return True
    return False


@st.composite
def situations(draw: st.DrawFn, most_crews: int) -> tuple[list[tuple[int, int]], list[SimulatedGroup]]:
    """Nodes by cpu and GPUs, and groups of which some members, below the quorum, took seats one by one."""
    nodes = draw(st.lists(ROOMS, min_size=1, max_size=3))
    groups: list[SimulatedGroup] = []
    for number in range(draw(st.integers(1, 3))):
        crews = draw(st.lists(CREWS, min_size=1, max_size=most_crews))
        members = sum(count for count, _ in crews)
        quorum = members - draw(st.integers(0, 1))
        one = group(number, *(crew(count, cpu, "", gpu) for count, (cpu, gpu) in crews), quorum=quorum)
        groups.append(one)
        for member in range(members):
            seat = draw(st.integers(0, len(nodes)))
            if seat < len(nodes) and one.sitting + 1 < quorum:
                one.seats[member] = str(seat)
                if min(free_room(nodes, groups)[seat]) < 0:
                    one.seats[member] = ""
                else:
                    one.sitting += 1
    return nodes, [one for one in groups if one.sitting]


def answer(nodes: list[tuple[int, int]], groups: list[SimulatedGroup]) -> bool:
    return deadlocked(view(*(node(str(n), cpu, gpu=gpu) for n, (cpu, gpu) in enumerate(nodes))), groups)


@given(situations(most_crews=1))
def test_exact_for_groups_of_one_kind(situation: tuple[list[tuple[int, int]], list[SimulatedGroup]]) -> None:
    nodes, groups = situation
    stuck = bool(groups) and not any(completable(nodes, groups, one) for one in groups)
    event(f"{'deadlock' if stuck else 'no deadlock'}, {len(groups)} groups")
    assert answer(nodes, groups) == stuck


@given(situations(most_crews=2))
def test_what_is_called_a_deadlock_is_one(
    situation: tuple[list[tuple[int, int]], list[SimulatedGroup]],
) -> None:
    nodes, groups = situation
    if answer(nodes, groups):
        assert not any(completable(nodes, groups, one) for one in groups)
