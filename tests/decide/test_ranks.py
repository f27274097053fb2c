"""Rank order: members with an index sit next to their neighbours, as far as their seats allow."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.preempting import decided, gang, leaving, nominated, running
from tests.decide.reading import nodes_used, seats, verdict
from tests.oracle.builders import RACK, ZONE, Obj, node, pod, pod_group, pods, spread
from tests.support import decide

LEVELS: Obj = {"topology": {"levels": [{"name": "zone", "key": ZONE}, {"name": "rack", "key": RACK}]}}
SLICES = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": RACK}

Where = dict[int, str]
"""Index -> node."""


def racks(*widths: int, cpu: int = 1, per_zone: int = 2) -> list[Obj]:
    """So many nodes in each rack. By name, one rack comes after the other node by node."""
    return [
        node(f"n{place}-r{rack}", cpu=cpu, rack=f"r{rack}", zone=f"z{rack // per_zone}")
        for rack, width in enumerate(widths)
        for place in range(width)
    ]


def label(nodes: Sequence[Obj], key: str) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["labels"].get(key, "") for one in nodes}


def crossings(where: Where, nodes: Sequence[Obj]) -> tuple[int, int, int]:
    """Pairs (i, i + 1) that cross a rack, a zone, and a node."""
    rack, zone = label(nodes, RACK), label(nodes, ZONE)
    pairs = [(where[i], where[i + 1]) for i in where if i + 1 in where]
    return (
        sum(rack[a] != rack[b] for a, b in pairs),
        sum(zone[a] != zone[b] for a, b in pairs),
        sum(a != b for a, b in pairs),
    )


def where_of(plan: Obj, among: str = "binds") -> Where:
    return {int(bind["pod"].rpartition("-")[2]): bind["node"] for bind in plan[among]}


def other_ways(moved: Where) -> Iterator[Where]:
    """All ways to give these members these seats."""
    for rows in set(permutations(moved.values())):
        yield dict(zip(moved, rows, strict=True))


# ---- one shape, against all ways to do it


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Obj], list[Obj], list[int]]:
    """Nodes of few places in racks, members of one gang of which some run, and the indexes that wait."""
    widths = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    nodes = racks(*widths)
    for one in nodes:
        one["status"]["allocatable"]["cpu"] = str(draw(st.integers(1, 3)))
    room = sum(int(one["status"]["allocatable"]["cpu"]) for one in nodes)
    indexes = draw(st.lists(st.integers(0, 8), min_size=2, max_size=min(8, room), unique=True))
    left = {one["metadata"]["name"]: int(one["status"]["allocatable"]["cpu"]) for one in nodes}
    members, waiting = list[Obj](), list[int]()
    for index in draw(st.permutations(indexes)):
        runs_on = draw(st.sampled_from(sorted(n for n in left if left[n]))) if draw(st.booleans()) else None
        if runs_on is None and len(waiting) < 6:
            waiting.append(index)
            members.append(pod(f"g-{index}", 1, group="g", index=index))
        elif runs_on is not None:
            left[runs_on] -= 1
            members.append(pod(f"g-{index}", 1, group="g", index=index, node=runs_on))
    return nodes, members, waiting


@given(clusters())
def test_no_other_way_to_give_members_their_seats_has_fewer_neighbours_apart(
    drawn: tuple[list[Obj], list[Obj], list[int]],
) -> None:
    nodes, members, waiting = drawn
    objects = [*nodes, pod_group("g", 1), *members]
    plan = decide(objects, LEVELS)
    moved = where_of(plan)
    assert sorted(moved) == sorted(waiting)
    stay = {
        int(one["metadata"]["name"][2:]): one["spec"]["nodeName"]
        for one in members
        if one["spec"].get("nodeName")
    }
    least = min((crossings({**stay, **way}, nodes) for way in other_ways(moved)), default=(0, 0, 0))
    got = crossings({**stay, **moved}, nodes)
    assert got[:2] == least[:2]
    if not stay and len(moved) == max(moved, default=0) - min(moved, default=0) + 1:
        assert got == least
    assert verify(objects, plan, LEVELS) == []


# ---- where seats are


def test_neighbours_are_together_although_nodes_alternate_by_name() -> None:
    nodes = racks(4, 4, 4, 4)
    plan = decide([*nodes, pod_group("g", 16), *pods("g", 16, 1, group="g")], LEVELS)
    assert crossings(where_of(plan), nodes) == (3, 1, 15)


def test_the_quorum_and_the_surplus_are_one_line() -> None:
    nodes = racks(3, 3, 3)
    plan = decide([*nodes, pod_group("g", 4), *pods("g", 9, 1, group="g")], LEVELS)
    assert crossings(where_of(plan), nodes) == (2, 1, 8)


def test_without_levels_neighbours_share_nodes() -> None:
    """Spread puts one here and one there: what each node has in the end is all that counts."""
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    even = spread("kubernetes.io/hostname", {"app": "g"})
    members = pods("g", 6, 1, group="g", labels={"app": "g"}, spread=[even])
    plan = decide([*nodes, pod_group("g", 6), *members])
    assert crossings(where_of(plan), nodes)[2] == 1


def on(where: Where) -> list[Obj]:
    """Members that run."""
    return [pod(f"g-{index}", 1, group="g", index=index, node=name) for index, name in where.items()]


def test_late_members_go_next_to_their_neighbours() -> None:
    """Each of the two free seats is beside one of the two that come back, and not in the order of names."""
    nodes = racks(3, 3)
    stay = on({0: "n0-r1", 2: "n1-r1", 3: "n0-r0", 4: "n1-r0"})
    late = [pod(f"g-{i}", 1, group="g", index=i) for i in (1, 5)]
    plan = decide([*nodes, pod_group("g", 6), *stay, *late], LEVELS)
    assert where_of(plan) == {1: "n2-r1", 5: "n2-r0"}


def test_of_equally_good_nodes_those_in_the_fewest_racks_are_taken() -> None:
    nodes = racks(2, 3, 4, 2, per_zone=4)
    plan = decide([*nodes, pod_group("g", 6), *pods("g", 6, 1, group="g")], LEVELS)
    rack = label(nodes, RACK)
    assert {rack[one] for one in nodes_used(plan)} == {"r2", "r0"}, "the last is the tightest"


def test_a_better_node_counts_more_than_fewer_racks() -> None:
    """A node that is half used is filled first, wherever it is."""
    nodes = [node(f"{rack}-{i}", gpu=2, rack=rack, zone="z") for rack in ("r0", "r1", "r2") for i in range(2)]
    busy = pod("busy", 1, gpu=1, node="r2-1")
    plan = decide([*nodes, busy, pod_group("g", 7), *pods("g", 7, 1, group="g", gpu=1)], LEVELS)
    assert "r2-1" in nodes_used(plan)


# ---- what changes places, and what does not


def test_shapes_keep_to_one_order_of_racks() -> None:
    nodes = racks(2, 2, cpu=3)
    members = [pod(f"g-{i}", 1 + i % 2, group="g", index=i) for i in range(8)]
    objects = [*nodes, pod_group("g", 8), *members]
    plan = decide(objects, LEVELS)
    assert crossings(where_of(plan), nodes)[0] <= 2
    assert verify(objects, plan, LEVELS) == []


def test_members_without_an_index_keep_their_seats() -> None:
    nodes = racks(2, 2)
    members = [pod(f"g-{i}", 1, group="g", created=i) for i in range(4)]
    plan = decide([*nodes, pod_group("g", 4), *members], LEVELS)
    assert sorted(seats(plan)) == [f"g-{i}" for i in range(4)]


def test_slices_stay_whole_and_neighbouring_slices_share_racks() -> None:
    nodes = racks(4, 4, 2)
    objects = [*nodes, pod_group("g", 10, annotations=SLICES), *pods("g", 10, 1, group="g")]
    plan = decide(objects, LEVELS)
    where, rack = where_of(plan), label(nodes, RACK)
    assert all(rack[where[i]] == rack[where[i + 1]] for i in range(0, 10, 2))
    assert crossings(where, nodes)[0] == 2
    assert verify(objects, plan, LEVELS) == []


def test_a_slice_goes_next_to_one_that_runs_in_part() -> None:
    """The third slice has to stay in the second rack: the fourth joins it, and the first two share a rack."""
    nodes, stay = racks(4, 4), {4: "n0-r1"}
    waiting = [pod(f"g-{i}", 1, group="g", index=i) for i in range(8) if i not in stay]
    objects = [*nodes, pod_group("g", 8, annotations=SLICES), *on(stay), *waiting]
    plan = decide(objects, LEVELS)
    assert crossings({**stay, **where_of(plan)}, nodes)[0] == 1
    assert verify(objects, plan, LEVELS) == []


def test_members_of_a_jobset_are_in_the_order_of_their_jobs() -> None:
    """Each Job has indexes 0 and 1. By these alone the first of all Jobs would be neighbours."""
    nodes = racks(2, 2, 2)
    job = "jobset.sigs.k8s.io/job-global-index"
    members = [
        pod(f"g-{j}-{i}", 1, group="g", index=i, labels={job: str(j)}) for j in range(3) for i in range(2)
    ]
    plan = decide([*nodes, pod_group("g", 6), *members], LEVELS)
    rack = label(nodes, RACK)
    found = [rack[where] for _, where in sorted(seats(plan).items())]
    assert sum(a != b for a, b in pairwise(found)) == 2


def everywhere(nodes: Sequence[Obj]) -> list[Obj]:
    """A pod of low priority on each node."""
    names = [one["metadata"]["name"] for one in nodes]
    return [running(f"low-{name}", name) for name in names]


def test_places_that_others_leave_are_promised_in_rank_order() -> None:
    nodes = racks(3, 3)
    plan = decided([*nodes, *everywhere(nodes), *gang(6)], policy=LEVELS)
    assert verdict(plan) == "Preempting"
    assert crossings(where_of(plan, "nominations"), nodes)[0] == 1


def test_promised_places_that_are_as_good_stay_as_they_were_promised() -> None:
    nodes = racks(2, 2)
    promised = ("n1-r1", "n0-r1", "n1-r0", "n0-r0")
    waiting = nominated(gang(4), *promised)
    plan = decided([*nodes, *leaving(everywhere(nodes)), *waiting], policy=LEVELS)
    assert where_of(plan, "nominations") == dict(enumerate(promised))
