"""Gangs whose pods claim devices: how many are decided per second, and what a change costs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from benchmarks.clusters import rack_of, zone_of
from benchmarks.device_objects import (
    ON_LINK,
    Wanted,
    allocated_claim,
    claim_template,
    claiming_pod,
    device_class,
    product_of,
    resource_slice,
)
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.loading import NOW, Loaded, loaded
from benchmarks.objects import H100, Obj, node, pod_group
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.pools import DevicePool
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.policy import Policy

REPEATS = 5
DEVICES = 8


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    members: int = 8
    taken: bool = False
    """Half of the devices are allocated already."""
    alike: bool = True
    """Templates are of four kinds; else no two ask for the same."""

    @property
    def case(self) -> str:
        devices = "half of the devices taken" if self.taken else "all devices free"
        templates = "" if self.alike else ", no two templates alike"
        return (
            f"{self.gangs} gangs × {self.members} pods with claims, {self.nodes:,} nodes × {DEVICES}, "
            f"{devices}{templates}"
        )


FULL, QUICK = Size(1_000, 100), Size(64, 6)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    figures = list[Figure]()
    for one in (size, replace(size, taken=True), replace(size, alike=False)):
        cluster = loaded(objects(one))
        snapshot = cluster.state.snapshot()
        check(snapshot, one)
        figures += decisions(snapshot, one)
        if one.taken:
            figures += changes(cluster, one)
    return figures


def decisions(snapshot: Snapshot, size: Size) -> list[Figure]:
    """With what earlier decisions have found out about the devices, and without it."""
    forgetful = Work(lambda: decide(forgotten(snapshot), Policy(), NOW))
    usual, floor = Work(lambda: decide(snapshot, Policy(), NOW)), Work(lambda: bare(size))
    warm, cold, least = (
        seconds.rate(size.gangs * size.members) for seconds in in_turns([usual, forgetful, floor], REPEATS)
    )
    goal = Goal(5_000, at_least=True)
    return [
        Figure(size.case, "decide", "pods/s", warm, least, goal, rate=True),
        Figure(size.case, "decide, first of all", "pods/s", cold, least, rate=True),
    ]


def forgotten(snapshot: Snapshot) -> Snapshot:
    pools = {id: unread(pool) for id, pool in snapshot.inventory.pools.items()}
    nodes = replace(snapshot.nodes, cache={})
    return replace(snapshot, nodes=nodes, inventory=Inventory(pools, snapshot.inventory.classes))


def unread(pool: DevicePool) -> DevicePool:
    return DevicePool(pool.id, pool.devices, pool.counters, pool.node)


def objects(size: Size) -> Iterator[Obj]:
    yield device_class()
    for number in range(size.nodes):
        rack, name = rack_of(number, size.nodes), node_name(number)
        yield node(name, f"rack-{rack:04}", zone_of(rack), replace(H100, gpus=0))
        yield resource_slice(name, number, DEVICES)
        if size.taken:
            yield allocated_claim(f"busy-{number}", name, taken_of(number))
    for number in range(size.gangs):
        name = f"train-{number:03}"
        yield pod_group(name, size.members)
        yield claim_template(name, wanted_by(number, size))
        for index in range(size.members):
            yield claiming_pod(name, index, name)


def node_name(number: int) -> str:
    return f"gpu-{number:05}"


KINDS = (Wanted(2), Wanted(1), Wanted(4), Wanted(1, "A100", 32))


def wanted_by(number: int, size: Size) -> Wanted:
    wanted = KINDS[number % len(KINDS)]
    return wanted if size.alike else replace(wanted, memory=wanted.memory - number // len(KINDS))


def taken_of(number: int) -> range:
    """Half of the devices of a node are taken on average, differently on each of seven."""
    return (range(4), range(4, 8), range(2, 6), range(1), range(7), range(1, 7), range(2))[number % 7]


def check(snapshot: Snapshot, size: Size) -> None:
    """A figure for a wrong answer would be worth nothing."""
    plan = decide(snapshot, Policy(), NOW)
    assert len(plan.binds) == size.gangs * size.members, "every gang is seated"
    given = Counter[tuple[str, str]]()
    for claim in plan.claims:
        results = claim.allocation["devices"]["results"]
        places = {int(result["device"].removeprefix("gpu-")) // ON_LINK for result in results}
        assert len(places) == 1, "the devices of a claim are on one link"
        given.update((result["pool"], result["device"]) for result in results)
    assert max(given.values()) == 1, "no device is given twice"
    devices = sum(size.members * wanted_by(number, size).count for number in range(size.gangs))
    assert len(given) == devices, "every claim has its devices"


# -- what changes cost -------------------------------------------------------------------------------------


def changes(cluster: Loaded, size: Size) -> list[Figure]:
    """One slice, or one claim after the other: until the next snapshot, and until the next Plan."""
    numbers = count(1)

    def change_slice() -> None:
        number = next(numbers)
        cluster.show(resource_slice(node_name(0), 0, DEVICES, generation=1 + number))

    def change_claim() -> None:
        number = next(numbers)
        cluster.show(allocated_claim(f"new-{number}", node_name(number), range(DEVICES - 1, DEVICES)))

    figures = list[Figure]()
    for what, change in (("a slice", change_slice), ("a claim", change_claim)):
        anew = Work(cluster.state.snapshot, change)
        deciding = Work(lambda: decide(cluster.state.snapshot(), Policy(), NOW), change)
        snapshots, decided = (seconds.times(1e3) for seconds in in_turns([anew, deciding], REPEATS))
        figures.append(Figure(size.case, f"snapshot after {what} changed", "ms", snapshots))
        figures.append(Figure(size.case, f"snapshot and decide after {what} changed", "ms", decided))
    return figures


# -- the floor ---------------------------------------------------------------------------------------------


def bare(size: Size) -> None:
    """Free devices of each link, as many claims as each has devices for, the fullest nodes first."""
    free = bare_links(size)
    models = np.array([product_of(number).model for number in range(size.nodes)])
    for gang in range(size.gangs):
        wanted, left = wanted_by(gang, size), size.members
        room = np.where(models == wanted.model, (free // wanted.count).sum(axis=0), 0)
        for row in np.argsort(np.where(room > 0, room, DEVICES + 1), kind="stable").tolist():
            for link in range(len(free)):
                served = min(left, int(free[link, row]) // wanted.count)
                free[link, row] -= served * wanted.count
                left -= served
            if not left:
                break


def bare_links(size: Size) -> NDArray[np.int64]:
    free = np.full((DEVICES // ON_LINK, size.nodes), ON_LINK, dtype=np.int64)
    for number in range(size.nodes if size.taken else 0):
        for place in taken_of(number):
            free[place // ON_LINK, number] -= 1
    return free
