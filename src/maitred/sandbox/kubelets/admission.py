"""Whether a node takes a pod that was bound to it, in the order and the words of the kubelet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from maitred.model.needs import HostPort, host_ports
from maitred.model.node import tolerates
from maitred.model.pod import NodeSelectorTerm
from maitred.model.quantity import PODS
from maitred.model.requests import Amounts, amounts, pod_requests
from maitred.model.selector import holds
from maitred.sandbox.kubelets.objects import Node, Pod

FIRST = {"cpu": 0, "memory": 1, "ephemeral-storage": 2}
NODE_AFFINITY = "NodeAffinity"


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: str
    message: str


@dataclass(slots=True)
class NodeRoom:
    """What the pods on one node have taken of it."""

    requested: dict[str, Amounts] = field(default_factory=dict)
    """By pod UID."""
    ports: dict[str, tuple[HostPort, ...]] = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)

    def __contains__(self, uid: str) -> bool:
        return uid in self.requested

    def take(self, pod: Pod) -> None:
        needed = requests(pod)
        self.requested[pod.metadata.uid] = needed
        for resource, amount in needed.items():
            self.used[resource] = self.used.get(resource, 0) + amount
        if ports := host_ports(pod.spec):
            self.ports[pod.metadata.uid] = ports

    def free(self, uid: str) -> None:
        for resource, amount in self.requested.pop(uid, {}).items():
            self.used[resource] -= amount
        self.ports.pop(uid, None)


def rejection(pod: Pod, node: Node, room: NodeRoom) -> Rejection | None:
    """The first reason against it, if there is any."""
    return next(reasons(pod, node, room), None)


def reasons(pod: Pod, node: Node, room: NodeRoom) -> Iterator[Rejection]:
    yield from shortages(pod, node, room)
    if not fits_node(pod, node):
        yield predicate(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
    if clashes(host_ports(pod.spec), room.ports.values()):
        yield predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    # The other effects are for schedulers.
    taints = [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
    if not all(any(tolerates(one, taint) for one in pod.spec.tolerations) for taint in taints):
        yield predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")


def predicate(name: str, why: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {why}")


# -- resources ---------------------------------------------------------------------------------------------


def requests(pod: Pod) -> Amounts:
    """What the pod asks of its node; its own place among the node's pods is not in here."""
    return {resource: amount for resource, amount in pod_requests(pod.spec).items() if resource != PODS}


def shortages(pod: Pod, node: Node, room: NodeRoom) -> Iterator[Rejection]:
    capacity = amounts(node.status.allocatable)
    if len(room.requested) + 1 > capacity.get("pods", 0):
        yield shortage("pods", 1, len(room.requested), capacity.get("pods", 0))
    needed = requests(pod)
    for resource in sorted(needed, key=lambda name: (FIRST.get(name, len(FIRST)), name)):
        if resource not in capacity and is_extended(resource):
            continue  # It may be one that belongs to the cluster and that no node knows of.
        used, most = room.used.get(resource, 0), capacity.get(resource, 0)
        if needed[resource] > most - used:
            yield shortage(resource, needed[resource], used, most)


def shortage(resource: str, requested: int, used: int, capacity: int) -> Rejection:
    numbers = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejection(f"OutOf{resource}", f"Node didn't have enough resource: {resource}, {numbers}")


def is_extended(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource


# -- labels ------------------------------------------------------------------------------------------------


def fits_node(pod: Pod, node: Node) -> bool:
    labels, affinity = node.metadata.labels, pod.spec.affinity
    required = None if affinity is None else affinity.node_affinity.required
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    return required is None or any(matches(term, node) for term in required.node_selector_terms)


def matches(term: NodeSelectorTerm, node: Node) -> bool:
    if not (term.match_expressions or term.match_fields):
        return False
    fields = {"metadata.name": node.metadata.name}
    return all(holds(wanted, node.metadata.labels) for wanted in term.match_expressions) and all(
        holds(wanted, fields) for wanted in term.match_fields
    )


# -- ports and taints --------------------------------------------------------------------------------------


def clashes(wanted: Iterable[HostPort], taken: Iterable[tuple[HostPort, ...]]) -> bool:
    in_use = [port for ports in taken for port in ports]
    return any(port.conflicts(other) for port in wanted for other in in_use)
