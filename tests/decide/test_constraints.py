"""What keeps a pod from a node, by itself: amounts, selectors, taints, ports.

One line bites, the next just does not. The pod is always ``p`` and the node that is asked about always ``n``.
"""

from typing import Any

import pytest

from tests.decide.fitting import fits
from tests.decide.reading import first, seats
from tests.oracle.builders import (
    HOSTNAME,
    Obj,
    container,
    expr,
    node,
    on_nodes,
    pod,
    port,
)
from tests.support import decide

Case = tuple[Obj, Obj, bool]
"""The node, the pod, and whether they fit."""


# ---- amounts


def taking(requests: Obj | None = None, **more: Any) -> Obj:
    return pod("p", requests=requests, **more)


AMOUNTS: dict[str, Case] = {
    "cpu, to the last thousandth": (node("n", cpu=2), pod("p", "2000m"), True),
    "cpu, a thousandth too many": (node("n", cpu=2), pod("p", "2001m"), False),
    "memory, to the last byte": (node("n", memory="1Ki"), pod("p", memory=1024), True),
    "memory, one byte too many": (node("n", memory="1Ki"), pod("p", memory=1025), False),
    "a fraction of a byte is a byte": (node("n", memory="1Ki"), pod("p", memory="1024001m"), False),
    "devices": (node("n", gpu=8), pod("p", gpu=8), True),
    "a device too many": (node("n", gpu=8), pod("p", gpu=9), False),
    "devices that the node does not have": (node("n"), pod("p", gpu=1), False),
    "none of a device that the node does not have": (node("n"), taking({"nvidia.com/gpu": "0"}), True),
    "ephemeral storage": (
        node("n", allocatable={"ephemeral-storage": "10Gi"}),
        taking({"ephemeral-storage": "10Gi"}),
        True,
    ),
    "too much ephemeral storage": (
        node("n", allocatable={"ephemeral-storage": "10Gi"}),
        taking({"ephemeral-storage": "11Gi"}),
        False,
    ),
    "huge pages": (
        node("n", allocatable={"hugepages-2Mi": "4Mi"}),
        taking({"hugepages-2Mi": "4Mi"}),
        True,
    ),
    "too many huge pages": (
        node("n", allocatable={"hugepages-2Mi": "4Mi"}),
        taking({"hugepages-2Mi": "6Mi"}),
        False,
    ),
    "huge pages of another size": (
        node("n", allocatable={"hugepages-1Gi": "4Gi"}),
        taking({"hugepages-2Mi": "4Mi"}),
        False,
    ),
    "a limit is a request": (node("n", cpu=2), taking(limits={"cpu": "3"}), False),
    "a limit beside a request is none": (node("n", cpu=2), taking({"cpu": "2"}, limits={"cpu": "3"}), True),
    "overhead": (node("n", cpu=2), pod("p", 1, overhead={"cpu": "1"}), True),
    "too much overhead": (node("n", cpu=2), pod("p", 1, overhead={"cpu": "1001m"}), False),
    "a large init container": (node("n", cpu=2), pod("p", 1, init=[container("i", {"cpu": "3"})]), False),
    "init containers one after the other": (
        node("n", cpu=2),
        pod("p", 1, init=[container("i", {"cpu": "2"}), container("j", {"cpu": "2"})]),
        True,
    ),
    "a sidecar beside the container": (
        node("n", cpu=2),
        pod("p", 1, init=[container("s", {"cpu": "1"}, sidecar=True)]),
        True,
    ),
    "a sidecar too many": (
        node("n", cpu=2),
        pod("p", 1, init=[container("s", {"cpu": "1001m"}, sidecar=True)]),
        False,
    ),
    "a request of the pod as a whole": (
        node("n", cpu=2),
        pod("p", 1, spec={"resources": {"requests": {"cpu": "3"}}}),
        False,
    ),
    "a request of the whole pod replaces those of its containers": (
        node("n", cpu=2),
        pod("p", 3, spec={"resources": {"requests": {"cpu": "2"}}}),
        True,
    ),
    "a place among the pods of the node": (node("n", pods=1), pod("p"), True),
    "no place among the pods of the node": (node("n", pods=0), pod("p"), False),
}


@pytest.mark.parametrize(("where", "asking", "right"), AMOUNTS.values(), ids=AMOUNTS.keys())
def test_amounts(where: Obj, asking: Obj, right: bool) -> None:
    assert fits(where, asking) is right


def test_every_pod_takes_a_place_on_its_node() -> None:
    """Pods that ask for nothing: two places, one of them taken."""
    one = [node("n", pods=2), pod("a", node="n")]
    assert fits(*one, pod("p"))
    assert not fits(*one, pod("b", node="n", deleted=True), pod("p"))
    assert fits(*one, pod("b", node="n", phase="Succeeded"), pod("p"))


def test_others_hold_what_they_ask_for_until_they_are_gone() -> None:
    assert fits(node("n", cpu=4), pod("a", 2, node="n"), pod("p", 2))
    assert not fits(node("n", cpu=4), pod("a", 2, node="n"), pod("p", "2001m"))
    assert not fits(node("n", cpu=4), pod("a", 2, node="n", deleted=True), pod("p", 3))
    assert fits(node("n", cpu=4), pod("a", 2, node="n", phase="Succeeded"), pod("p", 4))


def test_a_node_that_does_not_say_takes_110_pods() -> None:
    crowd = [pod(f"a{i}", node="n") for i in range(109)]
    assert fits(node("n", pods=None), *crowd, pod("p"))
    assert not fits(node("n", pods=None), *crowd, pod("b", node="n"), pod("p"))


def test_capacity_stands_in_for_allocatable() -> None:
    where = node("n", cpu=2)
    del where["status"]["allocatable"]
    assert fits(where, pod("p", 2))
    assert not fits(where, pod("p", 3))


def test_allocatable_goes_before_capacity() -> None:
    where = node("n", cpu=2)
    where["status"]["capacity"]["cpu"] = "8"
    assert not fits(where, pod("p", 3))


def test_an_overcommitted_node_takes_nobody_who_asks_for_more_of_it() -> None:
    where, others = node("n", cpu=2, memory="4Gi"), [pod("a", 3, node="n")]
    assert not fits(where, *others, pod("p", "1m"))
    assert fits(where, *others, pod("p", memory="1Gi"))


def test_pods_on_a_node_that_is_not_known_take_nothing_from_others() -> None:
    assert fits(node("n", cpu=1), pod("a", 1, node="ghost"), pod("p", 1))


# ---- node selector and node affinity


def labelled(**labels: str) -> Obj:
    return node("n", labels=labels)


def choosing(*terms: Any) -> Obj:
    return pod("p", node_affinity=terms)


SSD = labelled(disk="ssd", size="10")
SELECTORS: dict[str, Case] = {
    "nodeSelector": (SSD, pod("p", where={"disk": "ssd"}), True),
    "nodeSelector with another value": (SSD, pod("p", where={"disk": "hdd"}), False),
    "nodeSelector with a label that is missing": (SSD, pod("p", where={"cpu": "fast"}), False),
    "nodeSelector: all of it": (SSD, pod("p", where={"disk": "ssd", "size": "9"}), False),
    "In": (SSD, choosing(expr("disk", "In", "hdd", "ssd")), True),
    "In, without the value": (SSD, choosing(expr("disk", "In", "hdd")), False),
    "In, without the label": (SSD, choosing(expr("cpu", "In", "fast")), False),
    "NotIn": (SSD, choosing(expr("disk", "NotIn", "hdd")), True),
    "NotIn, with the value": (SSD, choosing(expr("disk", "NotIn", "hdd", "ssd")), False),
    "NotIn, without the label": (SSD, choosing(expr("cpu", "NotIn", "fast")), True),
    "Exists": (SSD, choosing(expr("disk", "Exists")), True),
    "Exists, without the label": (SSD, choosing(expr("cpu", "Exists")), False),
    "Exists, with an empty value": (labelled(disk=""), choosing(expr("disk", "Exists")), True),
    "DoesNotExist": (SSD, choosing(expr("cpu", "DoesNotExist")), True),
    "DoesNotExist, with the label": (SSD, choosing(expr("disk", "DoesNotExist")), False),
    "Gt": (SSD, choosing(expr("size", "Gt", "9")), True),
    "Gt, equal": (SSD, choosing(expr("size", "Gt", "10")), False),
    "Gt compares numbers, not text": (labelled(size="10"), choosing(expr("size", "Gt", "9")), True),
    "Gt, no number": (SSD, choosing(expr("disk", "Gt", "0")), False),
    "Gt, without the label": (SSD, choosing(expr("cpu", "Gt", "0")), False),
    "Gt, negative": (labelled(size="-1"), choosing(expr("size", "Gt", "-2")), True),
    "Lt": (SSD, choosing(expr("size", "Lt", "11")), True),
    "Lt, equal": (SSD, choosing(expr("size", "Lt", "10")), False),
    "Lt, without the label": (SSD, choosing(expr("cpu", "Lt", "99")), False),
    "requirements of a term hold together": (
        SSD,
        choosing(expr("disk", "In", "ssd"), expr("size", "Gt", "10")),
        False,
    ),
    "one of the terms is enough": (
        SSD,
        choosing([expr("disk", "In", "hdd")], [expr("size", "Gt", "9")]),
        True,
    ),
    "none of the terms": (SSD, choosing([expr("disk", "In", "hdd")], [expr("size", "Lt", "9")]), False),
    "a term that asks for nothing selects nothing": (SSD, choosing({}), False),
    "selector and affinity hold together": (
        SSD,
        pod("p", where={"disk": "hdd"}, node_affinity=[expr("disk", "Exists")]),
        False,
    ),
    "matchFields": (SSD, choosing(on_nodes("n")), True),
    "matchFields, another node": (SSD, choosing(on_nodes("m")), False),
    "matchFields NotIn": (SSD, choosing({"matchFields": [expr("metadata.name", "NotIn", "m")]}), True),
    "matchFields NotIn, this node": (
        SSD,
        choosing({"matchFields": [expr("metadata.name", "NotIn", "n")]}),
        False,
    ),
    "matchFields beside matchExpressions": (
        SSD,
        choosing({**on_nodes("n"), "matchExpressions": [expr("disk", "In", "hdd")]}),
        False,
    ),
    "matchFields reads the name, not the hostname label": (
        labelled(**{HOSTNAME: "m"}),
        choosing(on_nodes("m")),
        False,
    ),
}


@pytest.mark.parametrize(("where", "asking", "right"), SELECTORS.values(), ids=SELECTORS.keys())
def test_selectors(where: Obj, asking: Obj, right: bool) -> None:
    assert fits(where, asking) is right


def test_a_policy_limits_the_nodes_that_are_managed() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"pool": "ours"}}}}
    assert seats(decide([node("a"), node("b", labels={"pool": "ours"}), pod("p")], policy)) == {"p": "b"}
    assert seats(decide([node("a"), pod("p")], policy)) == {}


# ---- taints


def tainted(*taints: str) -> Obj:
    return node("n", taints=taints)


def bearing(*tolerations: str | Obj) -> Obj:
    return pod("p", tolerations=tolerations)


def numeric(operator: str, value: str) -> Obj:
    return {"key": "sla", "operator": operator, "value": value, "effect": "NoSchedule"}


NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
CLOSED = "node.kubernetes.io/unschedulable"
TAINTS: dict[str, Case] = {
    "NoSchedule": (tainted("team=ml:NoSchedule"), pod("p"), False),
    "NoExecute": (tainted("team=ml:NoExecute"), pod("p"), False),
    "PreferNoSchedule keeps nobody out": (tainted("team=ml:PreferNoSchedule"), pod("p"), True),
    "Equal": (tainted("team=ml:NoSchedule"), bearing("team=ml:NoSchedule"), True),
    "Equal, another value": (tainted("team=ml:NoSchedule"), bearing("team=web:NoSchedule"), False),
    "Equal, another key": (tainted("team=ml:NoSchedule"), bearing("crew=ml:NoSchedule"), False),
    "Equal, another effect": (tainted("team=ml:NoSchedule"), bearing("team=ml:NoExecute"), False),
    "no operator means Equal": (
        tainted("team=ml:NoSchedule"),
        bearing({"key": "team", "value": "ml", "effect": "NoSchedule"}),
        True,
    ),
    "no operator, no value: the empty value": (
        tainted("team=ml:NoSchedule"),
        bearing({"key": "team", "effect": "NoSchedule"}),
        False,
    ),
    "Exists": (tainted("team=ml:NoSchedule"), bearing("team:NoSchedule"), True),
    "Exists, another key": (tainted("team=ml:NoSchedule"), bearing("crew:NoSchedule"), False),
    "every effect": (tainted("team=ml:NoExecute"), bearing("team"), True),
    "everything": (tainted("team=ml:NoExecute", "gpu:NoSchedule"), bearing("*"), True),
    "one of two taints": (tainted("team=ml:NoSchedule", "gpu:NoSchedule"), bearing("team"), False),
    "both taints": (tainted("team=ml:NoSchedule", "gpu:NoSchedule"), bearing("team", "gpu"), True),
    "one key with two effects": (
        tainted("team=ml:NoSchedule", "team=ml:NoExecute"),
        bearing("team:NoSchedule"),
        False,
    ),
    "Gt": (tainted("sla=99:NoSchedule"), bearing(numeric("Gt", "95")), True),
    "Gt, equal": (tainted("sla=95:NoSchedule"), bearing(numeric("Gt", "95")), False),
    "Gt, less": (tainted("sla=9:NoSchedule"), bearing(numeric("Gt", "95")), False),
    "Lt": (tainted("sla=9:NoSchedule"), bearing(numeric("Lt", "95")), True),
    "Lt, equal": (tainted("sla=95:NoSchedule"), bearing(numeric("Lt", "95")), False),
    "Lt, more": (tainted("sla=100:NoSchedule"), bearing(numeric("Lt", "95")), False),
    "Gt, a taint that is no number": (tainted("sla=high:NoSchedule"), bearing(numeric("Gt", "95")), False),
    "Gt, a taint without a value": (tainted("sla:NoSchedule"), bearing(numeric("Gt", "-1")), False),
    "a cordoned node": (node("n", cordoned=True), pod("p"), False),
    "a cordoned node, tolerated": (node("n", cordoned=True), bearing(f"{CLOSED}:NoSchedule"), True),
    "a node that is not ready": (node("n", ready=False), pod("p"), False),
    "a node that is not ready, tolerated": (node("n", ready=False), bearing(f"{NOT_READY}:NoSchedule"), True),
    "not ready is not unreachable": (node("n", ready=False), bearing(f"{UNREACHABLE}:NoSchedule"), False),
    "a node that went silent": (node("n", ready=None), pod("p"), False),
    "a node that went silent, tolerated": (node("n", ready=None), bearing(f"{UNREACHABLE}:NoSchedule"), True),
    "silent is not not-ready": (node("n", ready=None), bearing(f"{NOT_READY}:NoSchedule"), False),
    "pods tolerate for five minutes what evicts, not what keeps out": (
        node("n", ready=False),
        bearing({"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
        False,
    ),
    "a daemon on a cordoned node that is not ready": (
        node("n", cordoned=True, ready=False),
        bearing(f"{CLOSED}:NoSchedule", f"{NOT_READY}"),
        True,
    ),
}


@pytest.mark.parametrize(("where", "asking", "right"), TAINTS.values(), ids=TAINTS.keys())
def test_taints(where: Obj, asking: Obj, right: bool) -> None:
    assert fits(where, asking) is right


def test_a_node_without_conditions_is_ready() -> None:
    where = node("n")
    where["status"]["conditions"] = []
    assert fits(where, pod("p"))


def test_other_conditions_do_not_make_a_node_unready() -> None:
    where = node("n")
    where["status"]["conditions"] += [{"type": "MemoryPressure", "status": "True"}]
    assert fits(where, pod("p"))


# ---- host ports


def with_ports(name: str, *ports: int | Obj, on: str | None = None, **more: Any) -> Obj:
    return pod(name, ports=ports, node=on, **more)


def host_network(name: str, number: int, on: str | None = None) -> Obj:
    return pod(name, node=on, ports=[{"containerPort": number}], spec={"hostNetwork": True})


HOME = port(80, ip="127.0.0.1")
AWAY = port(80, ip="10.0.0.1")
EVERYWHERE = port(80, ip="0.0.0.0")
PORTS: dict[str, Case] = {
    "the same port": (with_ports("a", 80, on="n"), with_ports("p", 80), False),
    "another port": (with_ports("a", 80, on="n"), with_ports("p", 81), True),
    "one of several ports": (with_ports("a", 80, 81, on="n"), with_ports("p", 79, 81), False),
    "the same port of another protocol": (
        with_ports("a", 80, on="n"),
        with_ports("p", port(80, "UDP")),
        True,
    ),
    "TCP, written or not": (with_ports("a", 80, on="n"), with_ports("p", port(80, "TCP")), False),
    "the same port and address": (with_ports("a", HOME, on="n"), with_ports("p", HOME), False),
    "the same port at another address": (with_ports("a", HOME, on="n"), with_ports("p", AWAY), True),
    "an address and every address": (with_ports("a", HOME, on="n"), with_ports("p", EVERYWHERE), False),
    "every address and an address": (with_ports("a", EVERYWHERE, on="n"), with_ports("p", HOME), False),
    "an address and none, which is every": (with_ports("a", HOME, on="n"), with_ports("p", 80), False),
    "every address, another protocol": (
        with_ports("a", EVERYWHERE, on="n"),
        with_ports("p", port(80, "UDP", "127.0.0.1")),
        True,
    ),
    "a container port is no host port": (
        with_ports("a", 80, on="n"),
        pod("p", ports=[{"containerPort": 80}]),
        True,
    ),
    "a container port on the host's network is one": (
        with_ports("a", 80, on="n"),
        host_network("p", 80),
        False,
    ),
    "another container port on the host's network": (
        with_ports("a", 80, on="n"),
        host_network("p", 81),
        True,
    ),
    "the port of a terminating pod": (with_ports("a", 80, on="n", deleted=True), with_ports("p", 80), False),
    "the port of a finished pod": (with_ports("a", 80, on="n", phase="Failed"), with_ports("p", 80), True),
    "the port of a pod in another namespace": (
        with_ports("a", 80, on="n", namespace="other"),
        with_ports("p", 80),
        False,
    ),
    "the port of a sidecar": (
        with_ports("a", 80, on="n"),
        pod("p", init=[{**container("s", sidecar=True), "ports": [port(80)]}]),
        False,
    ),
    "the port of an init container that ends": (
        with_ports("a", 80, on="n"),
        pod("p", init=[{**container("i"), "ports": [port(80)]}]),
        True,
    ),
}


@pytest.mark.parametrize(("there", "asking", "right"), PORTS.values(), ids=PORTS.keys())
def test_ports(there: Obj, asking: Obj, right: bool) -> None:
    assert fits(node("n"), there, asking) is right


def test_members_with_one_port_go_to_different_nodes() -> None:
    group = {"maitred.dev/group": "g", "maitred.dev/min-count": "2"}
    members = [pod(f"g-{i}", ports=[80], labels=group) for i in range(2)]
    assert set(seats(decide([node("n"), node("m"), *members])).values()) == {"m", "n"}
    plan = decide([node("n"), *members])
    assert (seats(plan), first(plan)) == ({}, "Fragmentation")


def test_a_resource_that_no_node_has_is_not_given_to_the_second_member_either() -> None:
    members = [
        pod("g-0", gpu=1, labels={"maitred.dev/group": "g"}),
        pod("g-1", 1, labels={"maitred.dev/group": "g"}),
    ]
    assert seats(decide([node("n1"), *members])) == {"g-1": "n1"}
