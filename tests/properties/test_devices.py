"""Devices: a gang starts if any placement with any allocation of devices seats it, and only then.

Brute force, which shares no code with the engine, says whether there is one; the independent checker says
whether what a Plan allocates is what was asked for, in reach, reserved, and given away once.
"""

from typing import Any

import pytest
from hypothesis import event, given

from maitred.verify import verify
from tests.oracle import devices
from tests.oracle.builders import Obj
from tests.oracle.device_claims import applied
from tests.oracle.device_worlds import FEATURES, device_worlds
from tests.oracle.effort import examples
from tests.oracle.reading import Group, groups, only_group
from tests.support import decide

SINGLE = {1, 2, 3, 7, 8}
PLAIN = ("alternatives", "links", "running", "topology")


def check_devices(objects: list[Obj]) -> None:
    """Scheduled if and only if a quorum can be had, with as many members as can be, by the laws."""
    group = only_group(objects)
    assert group is not None
    plan = decide(objects)
    assert not plan["searchExhausted"], "a cluster of this size is searched to the end"
    _check_feasible(plan, objects, group)
    broken = [breach for breach in verify(objects, plan, None) if breach.law in SINGLE]
    assert broken == [], plan


def _check_feasible(plan: dict[str, Any], objects: list[Obj], group: Group) -> None:
    (entry,) = plan["groups"]
    found = devices.solve(objects, group)
    if found is None:
        event("does not fit")
        assert entry["verdict"] in ("Waiting", "Impossible"), entry
        assert (plan["binds"], plan["claims"]) == ([], [])
        return
    easy = devices.one_by_one(objects, group) >= group.needed
    event("fits one by one" if easy else "fits for those who look further")
    assert entry["verdict"] == "Scheduled", (entry, found)
    assert len(plan["binds"]) == devices.most_seated(objects, group), (plan["binds"], found)


@given(device_worlds(PLAIN))
@examples(200)
def test_a_gang_starts_if_brute_force_finds_devices_for_it(objects: list[Obj]) -> None:
    check_devices(objects)


@given(device_worlds())
@examples(300)
def test_every_kind_of_device_is_allocated_as_brute_force_does(objects: list[Obj]) -> None:
    check_devices(objects)


@given(device_worlds(groups=2, size=(1, 3)))
@examples(200)
def test_what_one_gang_got_is_gone_for_the_next(objects: list[Obj]) -> None:
    """The first is decided as if it were alone; the second on what the first leaves, and so it is once the
    Plan has been carried out, but for late members of the first, which come before it then."""
    plan = decide(objects)
    assert [breach for breach in verify(objects, plan, None) if breach.law in SINGLE] == [], plan
    first, second = groups(objects)
    entries = {entry["group"]: entry["verdict"] for entry in plan["groups"]}
    assert (entries[first.name] == "Scheduled") == (devices.solve(objects, first) is not None)
    only = {bind["pod"] for bind in plan["binds"] if bind["group"] == first.name}
    served = applied(objects, narrowed(plan, only))
    assert [breach for breach in verify(served, None) if breach.law != 2] == []
    after = next(group for group in groups(served) if group.name == second.name)
    fits = devices.solve(served, after) is not None
    event(f"{entries[first.name]}, then {entries[second.name]}")
    assert (entries[second.name] == "Scheduled") == fits
    again = {entry["group"]: entry["verdict"] for entry in decide(without_late(served, first))["groups"]}
    assert (again[second.name] == "Scheduled") == fits


def without_late(objects: list[Obj], group: Group) -> list[Obj]:
    """Members that have no seat yet are late once their quorum runs, and late members go before whoever came
    after their group."""
    late = {member["metadata"]["name"] for member in group.members}
    return [
        item
        for item in objects
        if item["kind"] != "Pod" or item["metadata"]["name"] not in late or item["spec"].get("nodeName")
    ]


def narrowed(plan: Obj, pods: set[str]) -> Obj:
    """What a Plan does for these pods: their binds, and the claims that are reserved for one of them."""
    names = {name.partition("/")[2] for name in pods} | {
        name.partition("/")[2].rpartition("-")[0] for name in pods
    }
    claims = [
        entry | {"reservedFor": [user for user in entry["reservedFor"] if user["name"] in names]}
        for entry in plan["claims"]
    ]
    binds = [bind for bind in plan["binds"] if bind["pod"] in pods]
    return {"binds": binds, "claims": [entry for entry in claims if entry["reservedFor"]]}


# ---- the same, at length


@pytest.mark.slow
@given(device_worlds(FEATURES, size=(3, 4)))
@examples(300)
def test_gangs_with_devices_at_length(objects: list[Obj]) -> None:
    check_devices(objects)
