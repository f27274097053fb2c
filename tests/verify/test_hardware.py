"""Devices that are unwell: they count on the empty healthy cluster, and what is said of them is checked."""

from typing import Any

import pytest

from .make import Raw, blocker, entry, judged, node, plan, pod

GPU = "nvidia.com/gpu"
COUNT, PRESENT = "nvidia.com/gpu.count", "nvidia.com/gpu.present"


def machine(capacity: str | None, offered: str | None, **labels: str) -> Raw:
    """A node whose device plugin says so; with labels, by their last word."""
    made = node("n1", labels={f"nvidia.com/gpu.{name}": value for name, value in labels.items()})
    plain = made["status"]["allocatable"]
    made["status"] = {
        "capacity": {**plain, **({GPU: capacity} if capacity else {})},
        "allocatable": {**plain, **({GPU: offered} if offered else {})},
    }
    return made


BROKEN, SILENT = machine("8", "5"), machine("8", "0")
UNREGISTERED, UNCOUNTED = machine(None, None, count="8"), machine("0", "0", present="true")
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": GPU},
}


def asking(count: str) -> Raw:
    return pod("p", amounts={GPU: count})


IMPOSSIBLE: dict[str, tuple[list[Raw], str, bool]] = {
    "some are broken": ([BROKEN], "8", True),
    "more than there are": ([BROKEN], "9", False),
    "the plugin does not answer": ([SILENT], "8", True),
    "the plugin is not registered": ([UNREGISTERED], "8", True),
    "more than the label says": ([UNREGISTERED], "9", False),
    "nobody says how many": ([UNCOUNTED], "64", True),
    "no label": ([machine(None, None)], "1", False),
    "a class serves them": ([UNREGISTERED, DEVICE_CLASS], "8", False),
    "broken, beside a class": ([BROKEN, DEVICE_CLASS], "8", True),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_devices_that_are_unwell_disprove_impossible(name: str) -> None:
    objects, count, possible = IMPOSSIBLE[name]
    made = plan([], [entry("p", "Impossible", 1, 1, 0, blocker("Topology"))])
    assert (8 in judged([*objects, asking(count)], made)) == possible


def told(**changes: Any) -> Raw:
    right = {"node": "n1", "resource": GPU, "unwell": 3, "of": 8, "cause": "Unhealthy"}
    return right | changes


def uncounted(**changes: Any) -> Raw:
    return told(unwell=None, of=None, cause="NotRegistered", label=PRESENT) | changes


DETAILS: dict[str, tuple[Raw, list[Raw], bool]] = {
    "right": (BROKEN, [told()], True),
    "too few": (BROKEN, [told(unwell=2)], False),
    "of too many": (BROKEN, [told(of=9)], False),
    "another cause": (BROKEN, [told(cause="NotAnswering")], False),
    "another node": (BROKEN, [told(node="n2")], False),
    "nobody asks for them": (BROKEN, [told(resource="amd.com/gpu")], False),
    "all of them": (SILENT, [told(unwell=8, cause="NotAnswering")], True),
    "by the label": (UNREGISTERED, [told(unwell=8, cause="NotRegistered", label=COUNT)], True),
    "not as the label says": (
        UNREGISTERED,
        [told(unwell=4, of=4, cause="NotRegistered", label=COUNT)],
        False,
    ),
    "nobody knows": (UNCOUNTED, [uncounted()], True),
    "nobody knows, and it says a number": (UNCOUNTED, [uncounted(of=8)], False),
    "all are well": (machine("8", "8"), [told()], False),
}


@pytest.mark.parametrize("name", DETAILS)
def test_what_a_blocker_says_of_devices_is_true(name: str) -> None:
    made, devices, right = DETAILS[name]
    said = blocker("Health", nodes=[], unwell=0, devices=devices, holds=0, needed=1)
    waits = plan([], [entry("p", "Waiting", 1, 1, 0, said)])
    assert judged([made, asking("8"), taken(made)], waits) == ([] if right else [7])


def test_devices_that_are_tainted_may_be_the_reason_and_no_node() -> None:
    tainted = [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]
    said = blocker("Health", nodes=[], unwell=0, tainted=tainted, taintedDevices=1, holds=0, needed=1)
    waits = plan([], [entry("p", "Waiting", 1, 1, 0, said)])
    closed = node("n2", unschedulable=True)
    assert judged([BROKEN, closed, asking("8"), taken(BROKEN)], waits) == []


def taken(made: Raw) -> Raw:
    """So that none of them is free, well or not."""
    return pod("other", on="n1", amounts={GPU: made["status"]["allocatable"].get(GPU, "0")})


@pytest.mark.parametrize(
    ("unwell", "names", "right"), [(1, ["n1"], True), (2, ["n1"], False), (1, ["n2"], False)]
)
def test_what_a_blocker_says_of_nodes_is_true(unwell: int, names: list[str], right: bool) -> None:
    closed = {**BROKEN, "spec": {"unschedulable": True}}
    said = blocker("Health", nodes=names, unwell=unwell, holds=0, needed=1)
    waits = plan([], [entry("p", "Waiting", 1, 1, 0, said)])
    assert judged([closed, node("n2"), asking("8")], waits) == ([] if right else [7])
