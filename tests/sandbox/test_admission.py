"""What a simulated kubelet admits: in the words of the real one, and with the sums of the scheduler."""

from typing import Any

import msgspec
import pytest

from maitred.sandbox.kubelets.admission import NodeRoom, Rejection, rejection
from maitred.sandbox.kubelets.objects import Node, Pod

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
NODE: Json = {
    "metadata": {"name": "n1", "labels": {"zone": "a", "slots": "4"}},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", GPU: "2", "pods": "3"}
    },
}


def node(**spec: Any) -> Node:
    return msgspec.convert({**NODE, "spec": spec}, Node)


def pod(name: str = "p", asked: Json | None = None, ports: list[Json] | None = None, **spec: Any) -> Pod:
    container = {"resources": {"requests": asked or {}}, "ports": ports or []}
    body = {"metadata": {"name": name, "uid": name}, "spec": {"containers": [container], **spec}}
    return msgspec.convert(body, Pod)


def room(*pods: Pod) -> NodeRoom:
    taken = NodeRoom()
    for one in pods:
        taken.take(one)
    return taken


def reason(one: Pod, on: Node | None = None, beside: NodeRoom | None = None) -> str | None:
    found = rejection(one, on or node(), beside or NodeRoom())
    return None if found is None else found.reason


# -- resources ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "fits", "too_much"),
    [
        ("cpu", "1500m", "1501m"),
        ("memory", "3Gi", "3073Mi"),
        ("ephemeral-storage", "5Gi", "6Gi"),
        (GPU, "1", "2"),
    ],
)
def test_what_is_left_fits_and_not_a_bit_more(resource: str, fits: str, too_much: str) -> None:
    half = {"cpu": "2500m", "memory": "5Gi", "ephemeral-storage": "5Gi", GPU: "1"}
    beside = room(pod("other", half))
    assert reason(pod(asked={resource: fits}), beside=beside) is None
    assert reason(pod(asked={resource: too_much}), beside=beside) == f"OutOf{resource}"


def test_a_shortage_is_told_in_the_words_of_the_kubelet() -> None:
    beside = room(pod("other", {"cpu": "3"}))
    words = "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"
    assert rejection(pod(asked={"cpu": "2"}), node(), beside) == Rejection("OutOfcpu", words)


def test_pods_are_counted_before_anything_else() -> None:
    beside = room(pod("a"), pod("b"), pod("c"))
    words = "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"
    assert rejection(pod(asked={"cpu": "9"}), node(), beside) == Rejection("OutOfpods", words)


def test_the_first_shortage_is_the_one_that_is_told() -> None:
    assert reason(pod(asked={GPU: "9", "memory": "99Gi", "ephemeral-storage": "99Gi"})) == "OutOfmemory"


def test_a_pod_that_asks_for_nothing_fits_a_node_that_is_overfull() -> None:
    assert reason(pod(), beside=room(pod("other", {"cpu": "99"}))) is None


def test_what_no_node_has_heard_of_may_belong_to_the_cluster() -> None:
    assert reason(pod(asked={"example.com/licence": "1"})) is None
    assert reason(pod(asked={"hugepages-2Mi": "2Mi"})) == "OutOfhugepages-2Mi"


def test_who_leaves_makes_room() -> None:
    beside = room(pod("other", {"cpu": "4"}, [{"hostPort": 80}]))
    late = pod("late", {"cpu": "4"}, [{"hostPort": 80}])
    assert reason(late, beside=beside) == "OutOfcpu"
    beside.free("other")
    beside.free("other")
    assert reason(late, beside=beside) is None


# -- labels, ports, taints ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "In", "values": ["b"]}, False),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "rack", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "rack", "operator": "DoesNotExist"}, True),
        ({"key": "slots", "operator": "Gt", "values": ["3"]}, True),
        ({"key": "slots", "operator": "Lt", "values": ["4"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["3"]}, False),
    ],
)
def test_node_affinity(expression: Json, fits: bool) -> None:
    found = reason(pod(affinity=affinity({"matchExpressions": [expression]})))
    assert found == (None if fits else "NodeAffinity")


def affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_one_term_of_several_is_enough_and_an_empty_one_is_none() -> None:
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert reason(pod(affinity=affinity({}, here))) is None
    assert reason(pod(affinity=affinity({}))) == "NodeAffinity"
    assert reason(pod(affinity=affinity(here), nodeSelector={"zone": "b"})) == "NodeAffinity"


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "hostIP": "127.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "127.0.0.1"}, {"hostPort": 80, "hostIP": "127.0.0.2"}, False),
        ({"containerPort": 80}, {"containerPort": 80}, False),
    ],
)
def test_host_ports(one: Json, other: Json, clash: bool) -> None:
    found = rejection(pod(ports=[one]), node(), room(pod("other", ports=[other])))
    words = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert found == (Rejection("NodePorts", words) if clash else None)


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"key": "gone", "operator": "Exists"}, True),
        ({"key": "gone", "value": "yes"}, True),
        ({"key": "gone", "value": "no"}, False),
        ({"key": "gone", "operator": "Exists", "effect": "NoSchedule"}, False),
    ],
)
def test_taints_that_drive_pods_away(toleration: Json, fits: bool) -> None:
    taint = {"key": "gone", "value": "yes", "effect": "NoExecute"}
    found = reason(pod(tolerations=[toleration]), on=node(taints=[taint]))
    assert found == (None if fits else "TaintToleration")


def test_taints_for_schedulers_are_not_the_business_of_a_kubelet() -> None:
    assert reason(pod(), on=node(taints=[{"key": "busy", "effect": "NoSchedule"}])) is None
