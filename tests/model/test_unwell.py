"""Devices that nodes have and do not offer: by their status, by their labels, as three readers find them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.node import Node
from maitred.model.unwell import UnwellDevices, unwell_devices
from maitred.verify.fields import Doc
from maitred.verify.hardware import ANY
from maitred.verify.objects import read_node
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.unwell import PLENTY, repaired
from tests.support import read

GPU, AMD, TPU = "nvidia.com/gpu", "amd.com/gpu", "google.com/tpu"
COUNT, PRESENT, PRODUCT = "nvidia.com/gpu.count", "nvidia.com/gpu.present", "nvidia.com/gpu.product"
GKE, GKE_TPU = "cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator"
GKE_COUNT = "cloud.google.com/gke-accelerator-count"


def node(capacity: dict[str, str], allocatable: dict[str, str], labels: dict[str, str]) -> Obj:
    status = {"capacity": capacity, "allocatable": allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": status}


def found(raw: Obj) -> dict[str, UnwellDevices]:
    [made] = read([raw])
    assert isinstance(made, Node)
    return unwell_devices(made)


def told(labels: dict[str, str], **capacity: str) -> dict[str, UnwellDevices]:
    """Of a node that offers all that it has in its status."""
    has = {"cpu": "8", **{name.replace("_", "."): count for name, count in capacity.items()}}
    return found(node(has, has, labels))


def test_only_devices_are_unwell() -> None:
    have = {"cpu": "8", "memory": "32Gi", "hugepages-2Mi": "4Gi", "kubernetes.io/batch-cpu": "8", GPU: "8"}
    assert found(node(have, {"cpu": "7", "memory": "30Gi", GPU: "5"}, {})) == {GPU: UnwellDevices(3, 8)}
    assert found(node(have, {"cpu": "7", GPU: "8"}, {})) == {}


def test_a_plugin_that_offers_none_may_have_stopped() -> None:
    for offered in ({"cpu": "8", GPU: "0"}, {"cpu": "8"}):
        [one] = found(node({"cpu": "8", GPU: "8"}, offered, {})).values()
        assert (one, one.cause) == (UnwellDevices(8, 8), "NotAnswering")
    [one] = found(node({"cpu": "8", GPU: "8"}, {"cpu": "8", GPU: "7"}, {})).values()
    assert one.cause == "Unhealthy"


def test_a_node_that_does_not_state_its_capacity_has_what_it_offers() -> None:
    assert found(node({}, {"cpu": "8"}, {COUNT: "8"})) == {}


LABELS: dict[str, tuple[dict[str, str], dict[str, UnwellDevices]]] = {
    "no label": ({}, {}),
    "how many": ({COUNT: "8"}, {GPU: UnwellDevices(8, 8, COUNT)}),
    "none": ({COUNT: "0", PRESENT: "true"}, {}),
    "only that there are some": ({PRESENT: "true"}, {GPU: UnwellDevices(0, 0, PRESENT)}),
    "that there are none": ({PRESENT: "false"}, {}),
    "which": ({PRODUCT: "NVIDIA-H100"}, {GPU: UnwellDevices(0, 0, PRODUCT)}),
    "no number": ({COUNT: "many"}, {GPU: UnwellDevices(0, 0, COUNT)}),
    "more than any machine has": ({COUNT: "10001"}, {GPU: UnwellDevices(0, 0, COUNT)}),
    "a negative number": ({COUNT: "-8"}, {GPU: UnwellDevices(0, 0, COUNT)}),
    "of Google": ({GKE: "nvidia-l4", GKE_COUNT: "2"}, {GPU: UnwellDevices(2, 2, GKE_COUNT)}),
    "of Google, another maker's": ({GKE: "other", GKE_COUNT: "2"}, {}),
    "of Google, a TPU": ({GKE_TPU: "tpu-v5p", GKE_COUNT: "4"}, {TPU: UnwellDevices(4, 4, GKE_COUNT)}),
    "of AMD": ({"amd.com/gpu.family": "AI"}, {AMD: UnwellDevices(0, 0, "amd.com/gpu.family")}),
    "shared": (
        {COUNT: "8", "nvidia.com/gpu.sharing-strategy": "time-slicing"},
        {GPU: UnwellDevices(0, 0, COUNT)},
    ),
    "not shared": (
        {COUNT: "8", "nvidia.com/gpu.sharing-strategy": "none"},
        {GPU: UnwellDevices(8, 8, COUNT)},
    ),
    "partitioned": ({COUNT: "8", "nvidia.com/mig.strategy": "mixed"}, {GPU: UnwellDevices(0, 0, COUNT)}),
    "without a plugin on purpose": ({COUNT: "8", "nvidia.com/gpu.deploy.device-plugin": "false"}, {}),
    "for virtual machines": ({COUNT: "8", "nvidia.com/gpu.workload.config": "vm-passthrough"}, {}),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_tell_of_devices_before_a_plugin_does(name: str) -> None:
    labels, expected = LABELS[name]
    assert told(labels) == expected
    assert all(one.cause == "NotRegistered" for one in told(labels).values())


def test_a_plugin_that_offers_anything_of_the_kind_is_registered() -> None:
    for resource in (GPU, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"):
        assert told({COUNT: "8"}, **{resource: "1"}) == {}
        assert told({COUNT: "8"}, **{resource: "0"}) == {GPU: UnwellDevices(8, 8, COUNT)}
    assert told({COUNT: "8"}, **{"nvidia.com/hostdev": "4"}) == {GPU: UnwellDevices(8, 8, COUNT)}


VALUES = (
    "",
    "0",
    "1",
    "8",
    "08",
    "+8",
    "10001",
    "true",
    "false",
    "nvidia-l4",
    "mixed",
    "mps",
    "vm-vgpu",
    "none",
)
KEYS = (
    *(
        COUNT,
        PRESENT,
        PRODUCT,
        GKE,
        GKE_TPU,
        GKE_COUNT,
        "amd.com/gpu.family",
        "k8s.amazonaws.com/accelerator",
    ),
    *("nvidia.com/mig.strategy", "nvidia.com/gpu.sharing-strategy", "nvidia.com/gpu.workload.config"),
    "nvidia.com/gpu.deploy.device-plugin",
)
RESOURCES = (GPU, AMD, TPU, "nvidia.com/mig-1g.10gb", "nvidia.com/hostdev", "kubernetes.io/x", "cpu")
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.sampled_from(("0", "1", "8")))


@examples(400)
@given(AMOUNTS, AMOUNTS, st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)))
def test_the_engine_the_checker_and_the_oracle_read_the_same(
    capacity: dict[str, str], allocatable: dict[str, str], labels: dict[str, str]
) -> None:
    raw = node(capacity, allocatable, labels)
    offered = {name: int(count) for name, count in (allocatable or capacity).items()}
    engine = dict(offered)
    for resource, one in found(raw).items():
        engine[resource] = offered.get(resource, 0) + one.unwell if one.is_counted else PLENTY
    read_by_checker = read_node(Doc(raw, "a test"))
    checker: dict[str, Any] = {**offered, **read_by_checker.repaired, **read_by_checker.unregistered}
    assert {name: PLENTY if n == ANY else n for name, n in checker.items() if n} == nonzero(engine)
    assert nonzero({name: int(n) for name, n in repaired(raw).items()}) == nonzero(engine)


def nonzero(amounts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in amounts.items() if count}
