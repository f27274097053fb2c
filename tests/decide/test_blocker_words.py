"""Which constraint a blocker names, with which numbers: an engineer changes what the words say."""

from typing import Any

import pytest

from tests.decide.reading import categories, detail, entry, verdict
from tests.oracle.builders import Obj, node, pod, pod_group, pods, spread
from tests.oracle.device_builders import device, resource_slice
from tests.support import decide

APP = {"app": "g"}
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_LEVEL = "maitred.dev/slice-topology"


def message(plan: Obj, category: str) -> str:
    [found] = [b["message"] for b in entry(plan)["blockers"] if b["category"] == category]
    return str(found)


def spreading(**more: Any) -> Obj:
    """Three members over two racks, one of which is full."""
    nodes = [node("n1", cpu=4, rack="r1"), node("n2", cpu=1, rack="r2"), pod("old", 1, node="n2")]
    members = pods("g", 3, 1, group="g", labels=APP, spread=[spread("rack", APP, **more)])
    return decide([*nodes, pod_group("g", 3), *members])


def test_a_topology_spread_that_is_in_the_way_is_named() -> None:
    assert "its pods ask for topology spread over" in message(spreading(), "Affinity")
    assert message(spreading(), "Affinity").endswith("with maxSkew 1")


@pytest.mark.parametrize(("least", "named"), [(2, False), (3, True)])
def test_min_domains_are_named_where_there_are_fewer(least: int, named: bool) -> None:
    told = message(spreading(min_domains=least), "Affinity")
    assert ("minDomains" in told, told.endswith("and minDomains 3 (there are 2)")) == (named, named)


@pytest.mark.parametrize(("size", "members", "told"), [(2, 4, 2), (4, 3, 3)])
def test_a_slice_that_fits_nowhere_is_no_larger_than_the_group(size: int, members: int, told: int) -> None:
    """No rack has two seats."""
    nodes = [node(f"n{i}", cpu=1, rack=f"r{i}") for i in range(4)]
    marks = {SLICE_SIZE: str(size), SLICE_LEVEL: "rack"}
    plan = decide([*nodes, pod_group("g", members, annotations=marks), *pods("g", members, 1, group="g")])
    assert verdict(plan) == "Impossible"
    assert message(plan, "Topology") == f"no rack has room for a slice of {told}; rack r0 has room for 1"
    assert detail(plan, "Topology")["needed"] == members


# ---- devices of classes


def classes(*nodes: Obj, **pod_fields: Any) -> Obj:
    """A group of two that asks for a resource which a class of devices serves, and for nodes of a pool."""
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "fast"},
        "spec": {"extendedResourceName": "dra.example.com/gpu"},
    }
    members = pods("g", 2, 1, group="g", requests={"dra.example.com/gpu": 1}, **pod_fields)
    return decide([served, *nodes, pod_group("g", 2), *members])


def test_devices_of_a_class_are_named_beside_room_only_where_no_node_has_them_itself() -> None:
    """The nodes are too small, which is one thing; that no node offers the devices is another."""
    small = [node("n1", cpu=1), node("n2", cpu="500m")]
    served = [resource_slice(name, "gpu.example.com", [device("gpu-0")], node=name) for name in ("n1", "n2")]
    offered = [node("n1", cpu=1), node("n2", cpu="500m", allocatable={"dra.example.com/gpu": 1})]
    assert categories(classes(*small)) == ["Capacity", "Devices"]
    assert categories(classes(*small, *served)) == ["Capacity"]
    assert categories(classes(*offered, *served)) == ["Capacity"]


# ---- warnings


def test_a_running_time_that_cannot_be_read_is_warned_of() -> None:
    plan = decide([node("n1"), pod("g", 1, annotations={"maitred.dev/expected-runtime": "soon"})])
    [told] = plan["warnings"]
    assert told.startswith("group default/g: maitred.dev/expected-runtime: 'soon' is not ")
    assert told.endswith("; so it is not known when it ends")
