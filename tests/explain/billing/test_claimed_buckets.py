"""Devices that pods claim: each is in exactly one bucket, and held by whoever has the claim."""

from collections import Counter

import pytest
from hypothesis import given

from maitred.explain.billing.device_buckets import NOBODY, levels
from maitred.model.policy import Policy, is_device_driver
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import claim_spec, consumer, device, resource_claim, resource_slice
from tests.oracle.device_claims import applied
from tests.oracle.device_worlds import device_worlds
from tests.oracle.effort import examples
from tests.support import decide, snapshot_of

GPU = "gpu.example.com"
GPUS = [
    device("gpu-0", {"model": "h100"}),
    device("gpu-1", {"model": "h100"}),
    device("gpu-2", {"model": "a100"}),
    device("gpu-3", {"model": "a100"}, taints=["bad:NoSchedule"]),
]
NODE = [b.node("n1", cpu=8), resource_slice("n1-gpus", GPU, GPUS, node="n1")]
NICS = resource_slice("n1-nics", "nic.example.com", [device("nic-0")], node="n1", pool="nics")


def held(name: str, by: Obj, *numbers: int) -> Obj:
    results = [{"request": "r", "driver": GPU, "pool": "n1", "device": f"gpu-{i}"} for i in numbers]
    return resource_claim(name, claim_spec(), {"devices": {"results": results}}, [consumer(by)])


def buckets(*objects: Obj) -> dict[tuple[str, str, str], int]:
    """By holder, model and bucket."""
    found = levels(snapshot_of([*NODE, *objects]), Policy())
    assert {key.resource for key in found.devices} == {GPU}
    return {(key.holder, key.model, key.bucket): count for key, count in found.devices.items()}


def test_a_claim_belongs_to_the_pod_that_uses_it() -> None:
    pod = b.pod("a", node="n1", phase="Running")
    assert buckets(pod, held("c", pod, 0, 2)) == {
        ("default/a", "h100", "productive"): 1,
        ("default/a", "a100", "productive"): 1,
        (NOBODY, "h100", "idle"): 1,
        (NOBODY, "a100", "unwell"): 1,
    }


def test_what_a_group_shares_is_counted_once() -> None:
    group, members = b.pod_group("g", 2), b.pods("g", 2, group="g", node="n1", phase="Running")
    assert buckets(group, *members, held("c", group, 0))["default/g", "h100", "productive"] == 1


def test_on_a_closed_node_free_devices_are_broken() -> None:
    closed = [b.node("n1", cpu=8, cordoned=True), NODE[1]]
    found = levels(snapshot_of(closed), Policy())
    assert {key.bucket for key in found.devices} == {"broken"}


def test_nics_are_not_in_the_bill() -> None:
    assert levels(snapshot_of([*NODE, NICS]), Policy()).capacity == {(GPU, "h100"): 2, (GPU, "a100"): 2}


@pytest.mark.parametrize(
    ("driver", "counts"),
    [
        ("gpu.nvidia.com", True),
        ("tpu.google.com", True),
        ("compute-domain.nvidia.com", False),
        ("nic.example.com", False),
        ("gpu", False),
    ],
)
def test_which_drivers_have_devices(driver: str, counts: bool) -> None:
    assert is_device_driver(Policy(), driver) is counts


@given(device_worlds())
@examples(60)
def test_buckets_add_up_to_the_capacity(objects: list[Obj]) -> None:
    for world in (objects, applied(objects, decide(objects))):
        found = levels(snapshot_of(world), Policy())
        sums = Counter[tuple[str, str]]()
        for key, count in found.devices.items():
            assert count > 0
            sums[key.resource, key.model] += count
        assert sums == found.capacity
