"""What is asked of nodes beside room: features of their kubelets, devices of classes, and amounts beyond
the usual."""

import numpy as np
import pytest

from maitred.cluster.nodes import total
from maitred.verify import verify
from tests.decide.reading import categories, detail, entry, first, seats, verdict
from tests.oracle.builders import Obj, csi_driver, csi_node, node, pod, pods, pv, pvc
from tests.oracle.device_builders import device, resource_slice
from tests.support import decide

RESTARTS = "RestartAllContainersOnContainerExits"
GPU = "dra.example.com/gpu"
CLASS: Obj = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "fast"},
    "spec": {"extendedResourceName": GPU},
}


def decided(*objects: Obj) -> Obj:
    plan = decide(list(objects))
    assert verify(list(objects), plan) == []
    return plan


def message(plan: Obj, group: str) -> str:
    return str(entry(plan, group)["blockers"][0]["message"])


# -- features ----------------------------------------------------------------------------------------------


def test_a_pod_goes_to_a_kubelet_that_declares_what_it_needs() -> None:
    nodes = [node("a"), node("b", features=[RESTARTS])]
    assert seats(decided(*nodes, pod("p", restarts_all=True))) == {"p": "b"}


def test_a_feature_that_is_not_declared_is_named_with_its_nodes() -> None:
    plan = decided(node("a"), node("b"), pod("p", restarts_all=True))
    assert (verdict(plan, "p"), first(plan, "p")) == ("Impossible", "Affinity")
    assert detail(plan, "Affinity", "p")["features"] == {RESTARTS: ["a", "b"]}
    assert detail(plan, "Affinity", "p")["excluded"] == {f"lack of the feature {RESTARTS}": 2}
    assert f"need the kubelet feature {RESTARTS}, which these nodes do not declare: a, b" in message(
        plan, "p"
    )


def test_a_node_that_could_be_added_may_declare_it() -> None:
    template = {"name": "new", "allocatable": {"cpu": "8"}, "declaredFeatures": [RESTARTS]}
    plan = decide([node("a"), pod("p", restarts_all=True)], policy={"nodeTemplates": [template]})
    assert verdict(plan, "p") == "Waiting"


# -- devices of classes ------------------------------------------------------------------------------------


def test_a_resource_that_a_class_serves_is_impossible_only_where_no_devices_are_published() -> None:
    plan = decided(CLASS, node("a"), pod("p", requests={GPU: 1}))
    assert (verdict(plan, "p"), categories(plan, "p")) == ("Impossible", ["Devices"])
    assert detail(plan, "Devices", "p")["classes"] == {GPU: "fast"}
    assert f"{GPU}, which device class fast serves: it wants 1 device; no device is" in message(plan, "p")
    published = resource_slice("a", "gpu.example.com", [device("gpu-0")], node="a")
    plan = decided(CLASS, published, node("a"), pod("p", requests={GPU: 1}), pod("q", requests={GPU: 1}))
    assert (seats(plan), verdict(plan, "q")) == ({"p": "a"}, "Waiting")


def test_every_class_serves_a_resource_of_its_name() -> None:
    plan = decided(CLASS, node("a"), pod("p", requests={"deviceclass.resource.kubernetes.io/fast": 1}))
    assert (verdict(plan, "p"), first(plan, "p")) == ("Impossible", "Devices")


def test_without_a_class_the_resource_is_one_that_no_node_has() -> None:
    plan = decided(node("a"), pod("p", requests={GPU: 1}))
    assert (verdict(plan, "p"), first(plan, "p")) == ("Impossible", "Request")


def test_nodes_that_have_the_resource_themselves_are_used_as_ever() -> None:
    nodes = [node("a"), node("b", allocatable={GPU: 2}), pod("old", requests={GPU: 1}, node="b")]
    plan = decided(CLASS, *nodes, pod("p", requests={GPU: 1}), pod("q", requests={GPU: 2}))
    assert seats(plan) == {"p": "b"}
    assert (verdict(plan, "q"), first(plan, "q")) == ("Waiting", "Devices")


# -- amounts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "fits"),
    [("4Pi", True), (str(2**52 + 1), False), ("1Ei", False), ("9Ei", False), ("1e60", False)],
)
def test_petabytes_are_counted_to_the_byte(asked: str, fits: bool) -> None:
    plan = decided(node("a", memory="4Pi"), pod("p", memory=asked), pod("q", cpu=1))
    assert ("p" in seats(plan), "q" in seats(plan)) == (fits, True)


def test_a_node_on_which_others_put_more_than_a_column_holds_is_full() -> None:
    absurd = pods("x", 40, memory="1Ei", node="a")
    plan = decide([node("a", memory="1Ei"), node("b"), *absurd, *pods("p", 2, memory="1Gi", cpu=1)])
    assert set(seats(plan).values()) == {"b"}


def test_sums_over_nodes_may_be_more_than_a_column_holds() -> None:
    nodes = [node(f"n{number}", memory="1Ei") for number in range(20)]
    plan = decided(*nodes, *pods("p", 21, memory="1Ei"))
    assert len(seats(plan)) == 20
    assert total(np.full(20, 2**60)) == 20 * 2**60


# -- drivers -----------------------------------------------------------------------------------------------


def test_a_driver_that_must_be_there_and_is_not_is_named() -> None:
    claim = [pvc("c", volume="v"), pv("v", claim="default/c", driver="d")]
    plan = decided(csi_driver("d", strict=True), node("a"), node("b"), *claim, pod("p", claims=["c"]))
    assert (verdict(plan, "p"), first(plan, "p")) == ("Waiting", "Volume")
    assert detail(plan, "Volume", "p")["drivers"] == {"d": 2}
    assert "the CSI driver d is not installed on 2 nodes" in message(plan, "p")


def test_a_driver_that_is_there_lets_the_pod_in() -> None:
    claim = [pvc("c", volume="v"), pv("v", claim="default/c", driver="d")]
    there = [csi_driver("d", strict=True), csi_node("b", {"d": 4})]
    plan = decided(*there, node("a"), node("b"), *claim, pod("p", claims=["c"]))
    assert seats(plan) == {"p": "b"}
