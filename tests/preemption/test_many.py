"""Who leaves where there are too many candidates to compare all sets of them: answers worked out by hand.

Twelve racks of two nodes with four GPUs each, all of them taken. Half a day of work is lost with a victim,
unless a rack is made cheaper than the others by what runs there.
"""

from typing import Any

import pytest

from tests.decide.preempting import NOON, band, decided, evicted, party, receipt, running, tolls
from tests.decide.reading import verdict
from tests.oracle.builders import Obj, near, node

RACKS = [f"r{i:02}" for i in range(12)]
MIDNIGHT = 2 * NOON
HOUR = 3600


def nodes_of(rack: str) -> tuple[str, str]:
    return f"{rack}-a", f"{rack}-b"


def one(name: str, on: str, gpus: int = 1, hours: float = 12) -> Obj:
    """A pod that has run for so long."""
    return running(name, on, gpus, gpu=gpus, started=int(MIDNIGHT - hours * HOUR))


def ordinary(rack: str) -> list[Obj]:
    return [one(f"{on}-{i}", on) for on in nodes_of(rack) for i in range(4)]


def cluster(**special: list[Obj]) -> list[Obj]:
    """The racks, with what runs in each: four pods of one GPU on a node, unless said otherwise."""
    nodes = [node(name, cpu=8, gpu=4, rack=rack) for rack in RACKS for name in nodes_of(rack)]
    return [*nodes, *(item for rack in RACKS for item in special.get(rack, ordinary(rack)))]


def in_one_rack(count: int, gpus: int = 1, **more: Any) -> list[Obj]:
    return party(count, count, gpus, gpu=gpus, group={"topology": "rack"}, **more)


@pytest.mark.parametrize("cheap", ["r00", "r05", "r11"])
def test_the_rack_where_least_work_is_lost(cheap: str) -> None:
    young = [one(f"{on}-{i}", on, hours=11) for on in nodes_of(cheap) for i in range(4)]
    plan = decided([*cluster(**{cheap: young}), *in_one_rack(5)])
    assert (verdict(plan), len(evicted(plan))) == ("Preempting", 5)
    assert {name[:3] for name in evicted(plan)} == {cheap}


@pytest.mark.parametrize("cheap", ["r00", "r05", "r11"])
def test_the_rack_where_room_is_already(cheap: str) -> None:
    """Three GPUs are free there, and two victims do for five members."""
    some = [
        one(f"{on}-{i}", on) for on, count in zip(nodes_of(cheap), (2, 3), strict=True) for i in range(count)
    ]
    plan = decided([*cluster(**{cheap: some}), *in_one_rack(5)])
    assert len(evicted(plan)) == 2
    assert {name[:3] for name in evicted(plan)} == {cheap}


@pytest.mark.parametrize("cheap", ["r00", "r05", "r11"])
def test_what_need_not_leave_does_not_make_a_rack_dear(cheap: str) -> None:
    """One young pod of four GPUs is all that four members need; who runs beside it has run for years."""
    young, old = nodes_of(cheap)
    there = [one("young", young, 4, hours=4), *(one(f"old-{i}", old, hours=9999) for i in range(4))]
    plan = decided([*cluster(**{cheap: there}), *in_one_rack(4)])
    assert evicted(plan) == ["young"]
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [4 * 4 * 6]


@pytest.mark.parametrize("cheap", ["r00", "r05", "r11"])
def test_a_rack_in_which_too_little_can_be_freed_is_not_cheap(cheap: str) -> None:
    """Three young pods, and five that may not leave: for four members that is one too few."""
    first, second = nodes_of(cheap)
    there = [one(f"young-{i}", first, hours=1) for i in range(3)]
    there += [running(f"high-{i}", on, gpu=1, priority=100) for i, on in enumerate([first, *[second] * 4])]
    plan = decided([*cluster(**{cheap: there}), *in_one_rack(4)])
    assert len(evicted(plan)) == 4
    assert cheap not in {name[:3] for name in evicted(plan)}
    assert not any(name.startswith("young") for name in evicted(plan))


def test_members_that_take_a_whole_node_get_the_one_with_the_fewest_victims() -> None:
    """On one node a single pod has all four GPUs; it has lost no more work than four of one GPU."""
    there = [one("whole", "r07-a", 4), *(one(f"r07-b-{i}", "r07-b") for i in range(4))]
    plan = decided([*cluster(r07=there), *party(1, 1, 4, gpu=4)])
    assert evicted(plan) == ["whole"]


def test_a_gang_of_victims_is_priced_as_a_whole() -> None:
    """A gang across two racks is young, but all of it would have to leave; a lone pod is cheaper."""
    gang = band(
        "many", [f"r{i:02}-a" for i in range(8)], 8, gpu=1, started=MIDNIGHT - 3 * HOUR, disruption="all"
    )
    rest = [one(f"{on}-{i}", on) for rack in RACKS for on in nodes_of(rack) for i in range(1, 4)]
    rest += [
        one(f"{on}-0", on) for rack in RACKS for on in nodes_of(rack) if rack > "r07" or on.endswith("b")
    ]
    nodes = [node(name, cpu=8, gpu=4, rack=rack) for rack in RACKS for name in nodes_of(rack)]
    plan = decided([*nodes, *gang, *rest, *party(1, 1, 1, gpu=1)])
    assert len(evicted(plan)) == 1
    assert not evicted(plan)[0].startswith("many")


def apart(count: int, gpus: int = 1) -> list[Obj]:
    """Members that keep off each other's nodes."""
    marks = {"app": "apart"}
    return party(count, count, gpus, gpu=gpus, labels=marks, anti_affinity=[near("hostname", marks)])


@pytest.mark.parametrize("members", [6, 10])
def test_members_that_keep_apart_cost_no_more_than_one_victim_each(members: int) -> None:
    """The youngest are all on two nodes, where only two of the members can be."""
    young = {"r03": [one(f"{on}-{i}", on, hours=1) for on in nodes_of("r03") for i in range(4)]}
    plan = decided([*cluster(**young), *apart(members)])
    names = evicted(plan)
    assert len(names) == len({name[:5] for name in names}) == members
    assert sum(name.startswith("r03") for name in names) == 2
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [6 * (2 * 1 + (members - 2) * 12)]


def test_who_is_not_in_the_way_of_members_that_keep_apart_stays() -> None:
    """Two of four must leave each node; the oldest, who cost most, stay."""
    there = {
        rack: [one(f"{on}-{i}", on, hours=1 + i) for on in nodes_of(rack) for i in range(4)] for rack in RACKS
    }
    plan = decided([*cluster(**there), *apart(5, 2)])
    names = evicted(plan)
    assert len(names) == 10
    assert {name[-1] for name in names} == {"0", "1"}
    assert len({name[:5] for name in names}) == 5
    alternatives = receipt(plan, names[0])["alternatives"]
    assert [other["toll"] for other in alternatives] == [*tolls(plan), *tolls(plan)], "other nodes do as well"


def test_where_those_of_the_lowest_rank_are_not_enough_others_leave_too() -> None:
    """Twelve low pods and twelve of middle rank, for a gang of eighteen."""
    nodes = [node(f"n{i:02}", cpu=2) for i in range(12)]
    lows = [running(f"low-{i:02}", f"n{i:02}", priority=1) for i in range(12)]
    mids = [running(f"mid-{i:02}", f"n{i:02}", priority=5) for i in range(12)]
    plan = decided([*nodes, *lows, *mids, *party(18, 18)])
    assert (verdict(plan), len(evicted(plan))) == ("Preempting", 18)
