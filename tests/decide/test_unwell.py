"""Devices that nodes have and do not offer: which blocker that is, of which nodes it speaks, and when."""

from typing import Any

import pytest

from maitred.verify import verify
from tests.decide.reading import detail, entry, first, seats, verdict
from tests.oracle.builders import GPU, Obj, node, pod, pod_group, pods
from tests.oracle.device_builders import device, resource_slice
from tests.support import decide, snapshot_of

COUNT, PRESENT = "nvidia.com/gpu.count", "nvidia.com/gpu.present"


def decided(*objects: Obj, policy: Obj | None = None) -> Obj:
    plan = decide(list(objects), policy)
    assert verify(list(objects), plan, policy=policy) == []
    return plan


def crew(count: int, gpu: int = 8, cpu: int = 1, **more: Any) -> list[Obj]:
    return [pod_group("g", count), *pods("g", count, cpu, gpu=gpu, group="g", **more)]


def unregistered(name: str, label: str = COUNT, value: str = "8", **more: Any) -> Obj:
    return node(name, labels={label: value, **more.pop("labels", {})}, **more)


def message(plan: Obj) -> str:
    return str(entry(plan)["blockers"][0]["message"])


# ---- words


def test_some_that_are_unwell_on_several_nodes() -> None:
    plan = decided(node("n1", gpu=8, broken=3), node("n2", gpu=8, broken=1), *crew(2))
    told = "3 of 8 nvidia.com/gpu on n1, 1 of 8 nvidia.com/gpu on n2 are unwell"
    assert message(plan) == f"it would fit, but {told}; what is left has room for 0 of 2"


def test_one_that_is_unwell() -> None:
    plan = decided(node("n1", gpu=8, broken=1), *crew(1))
    assert message(plan).startswith("it would fit, but 1 of 8 nvidia.com/gpu on n1 is unwell; ")


def test_plugins_that_are_not_registered() -> None:
    plan = decided(unregistered("n1"), unregistered("n2", PRESENT, "true"), *crew(2, cpu=8))
    told = "the device plugins of nvidia.com/gpu on n1 (8), n2 (unknown) are not registered; the numbers are "
    assert message(plan).startswith(f"it may fit, but {told}those of their labels {COUNT}, {PRESENT}; ")


@pytest.mark.parametrize(
    ("driver", "told"),
    [("gpu.nvidia.com", ["n2"]), ("compute-domain.nvidia.com", ["n1", "n2"]), ("gpu.amd.com", ["n1", "n2"])],
)
def test_devices_that_a_driver_publishes_in_slices_need_no_plugin(driver: str, told: list[str]) -> None:
    """The labels of feature discovery are there in both cases, and every device would be counted twice."""
    published = resource_slice("n1-gpus", driver, [device("gpu-0")], node="n1")
    plan = decided(unregistered("n1"), unregistered("n2"), published, *crew(2))
    nodes = snapshot_of([unregistered("n1"), unregistered("n2"), published]).nodes
    assert sorted(nodes.names[row] for row in nodes.unwell) == told
    assert verdict(plan) == ("Impossible" if told == ["n2"] else "Waiting")


def test_devices_that_are_counted_are_spoken_of_first() -> None:
    plan = decided(unregistered("n1", PRESENT, "true"), unregistered("n2"), *crew(1))
    assert message(plan).startswith(
        "it would fit, but the device plugin of nvidia.com/gpu on n2 is not registered: its label "
        "nvidia.com/gpu.count says 8; "
    )


def test_every_cause_at_once() -> None:
    plan = decided(node("n1", gpu=8, broken=3), node("n2", gpu=8, broken=8), unregistered("n3"), *crew(3))
    assert message(plan) == (
        "it would fit, but 3 of 8 nvidia.com/gpu on n1 are unwell and the device plugin of nvidia.com/gpu on "
        "n2 is not answering, or all 8 are unwell and the device plugin of nvidia.com/gpu on n3 is not "
        "registered: its label nvidia.com/gpu.count says 8; what is left has room for 0 of 3"
    )
    assert [one["cause"] for one in detail(plan, "Health")["devices"]] == [
        "Unhealthy",
        "NotAnswering",
        "NotRegistered",
    ]


# ---- of which nodes


def test_only_nodes_that_the_group_may_use_are_spoken_of() -> None:
    nodes = [node("a", gpu=8, broken=1), node("b", gpu=8, broken=1, labels={"pool": "ours"})]
    plan = decided(*nodes, *crew(1, where={"pool": "ours"}))
    assert [one["node"] for one in detail(plan, "Health")["devices"]] == ["b"]


def test_beside_another_reason_all_nodes_that_accept_it_are_spoken_of() -> None:
    """It would have to be in one rack too."""
    nodes = [node("n1", gpu=8, broken=1, rack="r1"), node("n2", gpu=8, broken=1, rack="r2")]
    nodes.append(node("n3", gpu=8, broken=1, rack="r3", labels={"pool": "theirs"}, taints=["a=b:NoSchedule"]))
    members = pods("g", 2, 1, gpu=8, group="g")
    plan = decided(*nodes, pod_group("g", 2, "rack"), *members)
    told = [b for b in entry(plan)["blockers"] if b["category"] == "Health"]
    assert [[one["node"] for one in b["detail"]["devices"]] for b in told] in ([], [["n1", "n2"]])


def test_devices_of_another_kind_are_not_the_reason() -> None:
    plan = decided(node("n1", cpu=1, gpu=8, broken=3), pod("busy", 1, node="n1"), pod("g", 1))
    assert first(plan) == "Capacity"


# ---- impossible or not


@pytest.mark.parametrize(("count", "told"), [("8", "Waiting"), ("7", "Impossible")])
def test_the_label_is_what_the_empty_healthy_cluster_has(count: str, told: str) -> None:
    assert verdict(decided(unregistered("n1", value=count), *crew(1))) == told


def test_where_nobody_says_how_many_there_are_nothing_is_impossible() -> None:
    plan = decided(unregistered("n1", PRESENT, "true"), *crew(1, gpu=64))
    assert (verdict(plan), first(plan)) == ("Waiting", "Health")


def test_devices_of_a_class_need_no_plugin() -> None:
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": GPU},
    }
    assert first(decided(served, unregistered("n1"), *crew(1))) == "Devices"
    broken = decided(served, unregistered("n1"), node("n2", gpu=8, broken=1), *crew(1, where={"x": "y"}))
    assert "not registered" not in str(entry(broken)["blockers"])


def test_templates_say_all_that_they_have() -> None:
    """A kind of node that an autoscaler could add has no plugin that could be missing."""
    template = {"name": "gpu", "allocatable": {"cpu": "8", "pods": "110"}, "labels": {COUNT: "8"}}
    plan = decided(node("n1"), *crew(1), policy={"nodeTemplates": [template]})
    assert (verdict(plan), first(plan)) == ("Impossible", "Request")


# ---- where pods without devices go


@pytest.mark.parametrize(
    "ill", [node("a", gpu=8, broken=8), unregistered("a"), unregistered("a", PRESENT, "true")]
)
def test_a_node_whose_devices_are_all_unwell_is_kept_for_who_needs_them(ill: Obj) -> None:
    assert seats(decided(ill, node("b"), pod("g", 1))) == {"g": "b"}
