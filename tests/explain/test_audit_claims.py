"""What an audit says of devices that pods ask for by resource claims."""

from typing import Any

from maitred.explain.audit.answer import DeviceCounts
from maitred.model.policy import DevicePrice, Policy, Prices
from tests.explain import audited as made
from tests.explain.audited import Json, audited, half_started, job
from tests.oracle.device_builders import claim_spec, device, resource_claim, resource_slice, use

GPU = "gpu.example.com"
PRICED = Policy(prices=Prices(devices=(DevicePrice(2.0, GPU, "h100"),)))
NO_PLUGIN = {made.GPU: 0}


def node(name: str, *ill: int, **allocatable: Any) -> list[Json]:
    """A node without a device plugin, and four GPUs, of which some are tainted."""
    devices = [
        device(f"gpu-{i}", {"model": "h100"}, taints=["bad:NoSchedule"] if i in ill else ()) for i in range(4)
    ]
    return [
        made.node(name, **{**NO_PLUGIN, **allocatable}),
        resource_slice(f"{name}-gpus", GPU, devices, node=name),
    ]


def pod(name: str, on: str, *numbers: int, **fields: Any) -> list[Json]:
    """A pod with these GPUs of its node."""
    one = made.pod(name, node=on, requests={"cpu": 1}, **fields)
    one["spec"]["resourceClaims"] = [use("gpus", claim=name)]
    results = [{"request": "r", "driver": GPU, "pool": on, "device": f"gpu-{i}"} for i in numbers]
    reserved = [{"resource": "pods", "name": name, "uid": name}]
    claim = resource_claim(name, claim_spec(), {"devices": {"results": results}}, reserved, space="ml")
    return [one, claim]


def adds_up(one: DeviceCounts) -> bool:
    return one.total == one.taken + one.unwell + one.free and one.free == one.in_whole_nodes + one.in_part


def test_devices_are_counted_by_driver() -> None:
    found = audited(*node("n1"), *node("n2", 3), *node("n3"), *pod("a", "n1", 0, 1))
    (one,) = found.devices
    assert (one.resource, one.total, one.taken, one.unwell, one.free) == (GPU, 12, 2, 1, 9)
    assert (one.whole_nodes, one.in_whole_nodes, one.part_nodes, one.in_part) == (1, 4, 2, 5)
    assert adds_up(one)
    assert not found.warnings


def test_tainted_devices_are_told_by_node() -> None:
    (one,) = audited(*node("n1", 0, 2), *pod("a", "n1", 0)).unwell
    assert (one.node, one.resource, one.unwell, one.of, one.cause) == ("n1", GPU, 2, 4, "Tainted")


def test_a_half_started_gang_holds_what_its_claims_have() -> None:
    owner = {"owner": ("Job", "train"), "labels": {"batch.kubernetes.io/job-name": "train"}}
    members = [*pod("train-0", "n1", 0, 1, **owner), *pod("train-1", "n1", 2, **owner)]
    found = audited(*node("n1"), job("train", 4), *members)
    assert half_started(found) == {"train": (2, 4)}
    (gang,) = found.half_started
    assert gang.devices == 3
    assert found.devices[0].half_started == 3


def test_devices_beside_pods_without_any_are_stranded() -> None:
    greedy = made.pod("web", node="n2", requests={"cpu": 16})
    found = audited(*node("n1"), *node("n2"), *pod("a", "n1", 0), greedy)
    assert [(one.node, one.resource, one.devices, one.lacks) for one in found.stranded] == [
        ("n2", GPU, 4, "cpu")
    ]


def test_a_day_costs_what_the_policy_says_of_the_model() -> None:
    found = audited(*node("n1", 3), *pod("a", "n1", 0), policy=PRICED)
    assert [(one.what, one.devices, one.money_per_day) for one in found.costs] == [
        ("free, on partly used nodes", 2, 96.0),
        ("unwell, tainted", 1, 48.0),
    ]


def test_without_slices_it_says_what_to_add() -> None:
    found = audited(made.node("n1"), *pod("a", "n1", 0))
    assert [text for text in found.warnings if "add resourceslices" in text]
