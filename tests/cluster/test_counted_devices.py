"""Devices that claims are for, counted: every piece of hardware once, and in use, unwell or free."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import event, given

from maitred.cluster.devices.counted import claimable_devices, held_devices
from maitred.cluster.devices.hardware import DeviceKind, Tally
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import (
    claim_spec,
    consumer,
    device,
    exactly,
    resource_claim,
    resource_slice,
    taint_rule,
    wish,
)
from tests.oracle.device_claims import applied
from tests.oracle.device_worlds import device_worlds
from tests.oracle.effort import examples
from tests.support import decide, snapshot_of

GPU = "gpu.example.com"
H100 = DeviceKind(GPU, "h100")
NODE = b.node("n1", cpu=8)
MIG = [
    device("gpu-0", {"model": "h100"}, counters={"gpu-0": {"slots": "4"}}),
    *(device(f"gpu-0-{i}", {"model": "h100"}, counters={"gpu-0": {"slots": "1"}}) for i in range(4)),
    device("gpu-1", {"model": "h100"}, counters={"gpu-1": {"slots": "4"}}),
    *(device(f"gpu-1-{i}", {"model": "h100"}, counters={"gpu-1": {"slots": "2"}}) for i in range(2)),
]
COUNTERS = {"gpu-0": {"slots": "4"}, "gpu-1": {"slots": "4"}}


def pool(*devices: Obj, counters: dict[str, dict[str, str]] | None = None) -> Obj:
    """On n1; devices and counters in one slice, which the state reads all the same."""
    return resource_slice("n1-gpus", GPU, devices, node="n1", counters=counters)


def plain(count: int, **more: Any) -> list[Obj]:
    return [device(f"gpu-{i}", {"model": "h100"}, **more) for i in range(count)]


def held(name: str, *devices: str, by: Obj | None = None, share: dict[str, str] | None = None) -> Obj:
    more = {} if share is None else {"shareID": name, "consumedCapacity": share}
    results = [{"request": "r", "driver": GPU, "pool": "n1", "device": one, **more} for one in devices]
    reserved = [] if by is None else [consumer(by)]
    spec = claim_spec(exactly("r", wish("gpu", len(devices))))
    return resource_claim(name, spec, {"devices": {"results": results}}, reserved)


def tally(*objects: Obj) -> Tally:
    (found,) = claimable_devices(snapshot_of([NODE, *objects])).values()
    return found.everything


TAINTED = device("x", {"model": "h100"}, taints=["bad:NoSchedule"])
CUT = pool(*MIG, counters=COUNTERS)
SHARED = pool(*plain(2, capacity={"memory": "80Gi"}, shared=True))
BUDGET = pool(*plain(3, counters={"power": {"watts": "300"}}), counters={"power": {"watts": "700"}})
RULE = taint_rule("bad", "bad:NoExecute", driver=GPU, pool="n1", device="gpu-0")
CASES = {
    "each is free": ([pool(*plain(3))], Tally(3)),
    "some are in use": ([pool(*plain(3)), held("a", "gpu-0", "gpu-2")], Tally(3, used=2)),
    "one is tainted": ([pool(*plain(2), TAINTED)], Tally(3, unwell=1, tainted=1)),
    "a rule taints one in use": ([pool(*plain(2)), held("a", "gpu-0"), RULE], Tally(2, used=1, tainted=1)),
    "a taint without effect": ([pool(*plain(2, taints=["note:None"]))], Tally(2)),
    "partitions are parts of one": ([CUT], Tally(2)),
    "a partition is in use": ([CUT, held("a", "gpu-0-1")], Tally(2, used=1, partly=1)),
    "all partitions are in use": ([CUT, held("a", "gpu-1-0", "gpu-1-1")], Tally(2, used=1)),
    "a whole one is in use": ([CUT, held("a", "gpu-0")], Tally(2, used=1)),
    "equals that draw on one budget are not parts": ([BUDGET], Tally(3)),
    "a share is in use": ([SHARED, held("a", "gpu-0", share={"memory": "20Gi"})], Tally(2, used=1, partly=1)),
    "shares of all of it are in use": (
        [
            SHARED,
            held("a", "gpu-0", share={"memory": "20Gi"}),
            held("b", "gpu-0", share={"memory": "60Gi"}),
        ],
        Tally(2, used=1),
    ),
    "a device that is gone was in use": ([pool(*plain(1)), held("a", "gpu-9")], Tally(1)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_counted(case: str) -> None:
    objects, expected = CASES[case]
    assert tally(*objects) == expected
    assert expected.total == expected.used + expected.free + expected.unwell


def test_kinds_are_told_apart_by_driver_and_model() -> None:
    mixed = pool(device("a", {"model": "h100"}), device("b", {"productName": "a100"}), device("c"))
    found = claimable_devices(snapshot_of([NODE, mixed]))
    assert [(*kind, one.everything.total) for kind, one in found.items()] == [
        (GPU, "", 1),
        (GPU, "a100", 1),
        (GPU, "h100", 1),
    ]


def test_devices_that_several_nodes_can_use_are_on_none_of_them() -> None:
    everywhere = resource_slice("fabric", "fabric", [device("c0"), device("c1")], everywhere=True)
    (found,) = claimable_devices(snapshot_of([NODE, everywhere])).values()
    assert (found.total.sum(), found.beyond) == (0, Tally(2))


def test_a_cluster_without_slices_has_none() -> None:
    assert claimable_devices(snapshot_of([NODE])) == {}
    assert held_devices(snapshot_of([NODE])) == {}


# -- who has them ------------------------------------------------------------------------------------------


def holders(*objects: Obj) -> dict[str, int]:
    snapshot = snapshot_of([NODE, *objects])
    names = [one.key for one in snapshot.bound.occupants]
    return {names[place]: kinds[H100] for place, kinds in held_devices(snapshot).items()}


def test_pods_have_what_their_claims_have() -> None:
    first, second = b.pod("a", node="n1"), b.pod("b", node="n1")
    claims = [held("x", "gpu-0", "gpu-1", by=first), held("y", "gpu-2", by=second)]
    assert holders(pool(*plain(4)), first, second, *claims) == {"default/a": 2, "default/b": 1}


def test_what_a_group_shares_is_counted_once() -> None:
    group = b.pod_group("g", 2)
    members = b.pods("g", 2, group="g", node="n1")
    shared = held("x", "gpu-0", by=group)
    assert holders(pool(*plain(4)), group, *members, shared) == {"default/g-0": 1}


def test_of_parts_of_one_device_the_first_pod_has_it() -> None:
    first, second = b.pod("a", node="n1"), b.pod("b", node="n1")
    claims = [held("x", "gpu-0-1", by=second), held("y", "gpu-0-0", by=first)]
    assert holders(pool(*MIG, counters=COUNTERS), first, second, *claims) == {"default/a": 1}


@given(device_worlds())
@examples(100)
def test_in_use_unwell_and_free_add_up(objects: list[Obj]) -> None:
    """Before and after a Plan has been carried out, on every node and in all."""
    for world in (objects, applied(objects, decide(objects))):
        snapshot = snapshot_of(world)
        kinds = claimable_devices(snapshot)
        mine = Counter[DeviceKind]()
        for has in held_devices(snapshot).values():
            mine.update(has)
        for kind, found in kinds.items():
            every = found.everything
            event("some are in use" if every.used else "none is in use")
            assert every.total == every.used + every.unwell + every.free
            assert min(found.free.min(initial=0), every.free) >= 0
            assert every.partly <= every.used
            assert every.unwell <= every.tainted <= every.total
            assert mine[kind] <= every.used
