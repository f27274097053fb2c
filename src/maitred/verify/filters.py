"""kube-scheduler's filters, one function each. Every one says why a pod may not go to a node, or None."""

from collections.abc import Callable, Collection

from .claims import devices_of_class, why_not_usable
from .neighbours import pod_affinity, pod_anti_affinity, topology_spread
from .objects import Node
from .pods import ANY_ADDRESS, Pod, Port
from .selectors import any_term, matches, untolerated
from .volumes import attach_limits, match_claims, missing_drivers, persistent_volumes, sole_use
from .world import World

Filter = Callable[[World, Pod, Node], str | None]


def resources(world: World, pod: Pod, node: Node) -> str | None:
    """Amounts, the number of pods among them. What a pod does not ask for cannot keep it away."""
    for resource, amount in sorted(pod.requests.items()):
        free = world.free(node, resource)
        if amount > 0 and amount > free and not from_devices(world, node, resource):
            return f"asks for {amount} of {resource}, {max(free, 0)} is free on {node.name}"
    return None


def from_devices(world: World, node: Node, resource: str) -> bool:
    """Whether devices of a class stand for a resource on a node, which then counts none of it itself."""
    return resource in world.cluster.device_resources and not node.allocatable.get(resource)


def declared_features(world: World, pod: Pod, node: Node) -> str | None:
    missing = sorted(pod.features - node.features)
    return f"{node.name} does not declare {', '.join(missing)}, which it needs" if missing else None


def node_choice(world: World, pod: Pod, node: Node) -> str | None:
    """The node selector and required node affinity."""
    if not matches(pod.node_selector, node.labels):
        return f"its node selector does not match {node.name}"
    if not any_term(pod.node_terms, node.labels, node.name):
        return f"its node affinity does not match {node.name}"
    return None


def taints(world: World, pod: Pod, node: Node) -> str | None:
    taint = untolerated(node.taints, pod.tolerations)
    if taint is None:
        return None
    return f"it does not tolerate {taint.key}={taint.value}:{taint.effect} of {node.name}"


def clash(a: Port, b: Port) -> bool:
    return a[1:] == b[1:] and (a[0] == b[0] or ANY_ADDRESS in (a[0], b[0]))


def host_ports(world: World, pod: Pod, node: Node) -> str | None:
    for other in world.on[node.name]:
        for port in sorted(pod.ports):
            if any(clash(port, used) for used in other.ports):
                return f"host port {port[2]}/{port[1]} of {node.name} is taken by {other.key}"
    return None


def device_claims(world: World, pod: Pod, node: Node) -> str | None:
    """Claims on devices must exist, and their devices, once allocated, be within reach. Where a class has to
    serve a resource, some device of the class must be."""
    for resource in sorted(pod.by_class):
        name = world.cluster.device_resources[resource]
        if from_devices(world, node, resource) and not any(devices_of_class(world.cluster, name, node)):
            return f"asks for {resource}, and no device of class {name} is within reach of {node.name}"
    reasons = (why_not_usable(world.cluster, pod, use, node) for use in pod.devices)
    return next((reason for reason in reasons if reason is not None), None)


FILTERS: dict[str, Filter] = {
    "node choice": node_choice,
    "taints": taints,
    "declared features": declared_features,
    "resources": resources,
    "host ports": host_ports,
    "attach limits": attach_limits,
    "pod anti-affinity": pod_anti_affinity,
    "pod affinity": pod_affinity,
    "topology spread": topology_spread,
    "volumes": persistent_volumes,
    "sole use": sole_use,
    "missing drivers": missing_drivers,
    "device claims": device_claims,
}
# Filters whose answer over a whole set of pods is the same in every order: judged on the outcome.
AMOUNTS = frozenset({"resources", "host ports", "attach limits"})


def why_not(world: World, pod: Pod, node: Node, without: Collection[str] = ()) -> str | None:
    """Why a pod may not go to a node now, or None if it may."""
    for name, check in FILTERS.items():
        reason = None if name in without else check(world, pod, node)
        if reason is not None:
            return reason
    return None


def place(world: World, pod: Pod, node: Node) -> None:
    """Put a pod on a node, and promise its unbound claims the volumes that they would get there."""
    _, taken, selected = match_claims(world, pod, node)
    world.taken.update(taken)
    world.selected.update(selected)
    world.put(pod, node.name)
