"""What `capacity` says of devices that pods ask for by resource claims."""

from typing import Any

from hypothesis import event, given

from maitred.explain.capacity.document import Capacity, Idle, Placeable
from tests.explain.capacity_situations import asked, situation_of
from tests.explain.test_capacity import check_counts
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    consumer,
    device,
    device_class,
    exactly,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.oracle.device_claims import applied
from tests.oracle.device_worlds import device_worlds
from tests.oracle.effort import examples
from tests.support import decide

GPU = "gpu.example.com"
CLASS = device_class("gpu", f'device.driver == "{GPU}"')
RACKS = {"topology": {"levels": [{"name": "rack", "key": b.RACK}]}}


def node(name: str, gpus: int = 4, model: str = "h100", rack: str = "r1", **fields: Any) -> list[Obj]:
    devices = [device(f"gpu-{i}", {"model": model}) for i in range(gpus)]
    made = b.node(name, rack=rack, **{"cpu": 64, **fields})
    return [made, resource_slice(f"{name}-gpus", GPU, devices, node=name)]


def running(name: str, on: str, *numbers: int, **fields: Any) -> list[Obj]:
    """A pod on a node, with these of its GPUs."""
    pod = b.pod(name, node=on, spec={"resourceClaims": [use("gpus", claim=name)]}, **fields)
    results = [{"request": "r", "driver": GPU, "pool": on, "device": f"gpu-{i}"} for i in numbers]
    spec = claim_spec(exactly("r", wish("gpu", len(numbers))))
    return [pod, resource_claim(name, spec, {"devices": {"results": results}}, [consumer(pod)])]


def gang(name: str, members: int, count: int, **fields: Any) -> list[Obj]:
    template = claim_template(name, claim_spec(exactly("r", wish("gpu", count))))
    uses = {"resourceClaims": [use("gpus", template=name)]}
    return [template, b.pod_group(name, members), *b.pods(name, members, group=name, spec=uses, **fields)]


def idle(found: Capacity, model: str = "h100") -> Idle:
    (one,) = (one for one in found.idle if one.model == model)
    return one


def reasons(one: Idle) -> dict[str, int]:
    return {part.reason: part.devices for part in one.reasons}


def largest(found: Capacity, kind: str, model: str = "h100") -> list[int]:
    """Anywhere, then in one rack."""
    (one,) = (p for p in found.placeable if (p.shape.kind, p.shape.model) == (kind, model))
    return [gangs.now.members for gangs in one.ranks[0].gangs]


def shape(one: Placeable) -> dict[str, str]:
    return {**one.shape.claims, **one.shape.requests}


def test_devices_are_counted_by_driver_and_model() -> None:
    objects = [CLASS, *node("n1"), *node("n2", rack="r2"), *node("n3", 2, "a100", "r2")]
    found = asked([*objects, *running("a", "n1", 0, 1)], RACKS)
    assert found.resources == (GPU,)
    assert (idle(found).total, idle(found).idle, reasons(idle(found))) == (8, 6, {"Free": 6})
    assert (idle(found, "a100").total, idle(found, "a100").idle) == (2, 2)
    assert largest(found, "one") == [6, 4]
    assert largest(found, "node") == [1, 1]
    assert largest(found, "one", "a100") == [2, 2]
    assert [shape(one) for one in found.placeable] == [{"gpu": "1"}, {"gpu": "4"}, {"gpu": "1"}, {"gpu": "2"}]


def test_what_may_be_evicted_counts_as_room() -> None:
    low, high = b.priority_class("low", 1), b.priority_class("high", 9)
    pods = running("a", "n1", 0, 1, 2, 3, priority_class="low", owner="Job/a")
    other = b.pod("other", priority_class="high", node="n1", cpu=1)
    found = asked([CLASS, low, high, *node("n1"), *pods, *gang("g", 1, 9, priority_class="high"), other])
    (one,) = (p for p in found.placeable if p.shape.kind == "node")
    top = one.ranks[0].gangs[0]
    assert top.with_room is not None
    assert (top.now.members, top.with_room.members) == (0, 1)


def test_why_they_are_idle() -> None:
    closed = node("n2", cordoned=True)
    tainted = device("gpu-0", {"model": "h100"}, taints=["example.com/bad:NoSchedule"])
    well = device("gpu-1", {"model": "h100"})
    unwell = [b.node("n3", cpu=64), resource_slice("n3-gpus", GPU, [tainted, well], node="n3")]
    full = node("n4", cpu=1)
    objects = [CLASS, *node("n1"), *closed, *unwell, *full, *running("a", "n1", 0), *gang("g", 9, 4, cpu=2)]
    one = idle(asked(objects))
    assert reasons(one) == {"Cordoned": 4, "DeviceTainted": 1, "Stranded": 4, "Fragmented": 4}
    assert (one.total, one.idle, one.unwell) == (14, 13, 1)
    (bad,) = (part for part in one.reasons if part.reason == "DeviceTainted")
    assert bad.detail == "example.com/bad"


def test_what_starts_now_is_not_free() -> None:
    one = idle(asked([CLASS, *node("n1"), *gang("g", 1, 3)]))
    assert reasons(one) == {"Starting": 3, "Free": 1}


def test_devices_that_belong_to_no_node_are_counted() -> None:
    channels = resource_slice("fabric", "fabric", [device("c0"), device("c1")], everywhere=True)
    found = asked([device_class("channel"), b.node("n1", cpu=8), channels])
    assert (idle(found, "").total, reasons(idle(found, ""))) == (2, {"Free": 2})
    assert not [one for one in found.placeable if one.shape.kind != "asked"]


def test_incomplete_groups_hold_what_their_claims_have() -> None:
    group = b.pod_group("half", 4)
    members = [item for i in range(2) for item in running(f"half-{i}", "n1", i, group="half")]
    (found,) = asked([CLASS, *node("n1"), group, *members]).incomplete
    assert (found.group, found.holds) == ("default/half", {GPU: 2})


def test_the_cost_is_that_of_the_driver_and_the_model() -> None:
    prices = {"prices": {"devices": [{"resource": GPU, "model": "h100", "perHour": 2.5}]}}
    one = idle(asked([CLASS, *node("n1")], prices))
    assert [part.cost_per_hour for part in one.reasons] == [10.0]


def test_a_cluster_without_claims_is_told_as_before() -> None:
    found = asked([b.node("n1", cpu=8)])
    assert found.resources == ("cpu",)
    assert all(not one.shape.claims for one in found.placeable)


@given(device_worlds(("alternatives", "links", "running", "topology")))
@examples(60)
def test_every_device_is_in_use_or_idle_for_one_reason(objects: list[Obj]) -> None:
    for world in (objects, applied(objects, decide(objects))):
        for one in asked(world).idle:
            event("idle" if one.idle else "all in use")
            assert sum(part.devices for part in one.reasons) == one.idle
            assert 0 <= one.idle <= one.total


def test_a_gang_of_the_size_that_is_told_starts() -> None:
    objects = [CLASS, *node("n1"), *node("n2", rack="r2"), *node("n3", 2, "a100", "r2")]
    check_counts(situation_of([*objects, *running("a", "n1", 0, 1), *gang("g", 2, 5)], RACKS))
