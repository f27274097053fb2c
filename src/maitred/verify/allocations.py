"""Whether an allocation is what its claim asks for, and is written as Kubernetes writes it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .claims import Result, reach_of, results_of
from .devices import Device, shown_device
from .fields import Doc
from .objects import Cluster, Node
from .requests import Request, Wish
from .selectors import any_term, tolerations

MOST_RESULTS = 32
Pick = tuple[Result, Request, Device]


def faults(cluster: Cluster, wish: Wish, allocation: Doc, nodes: Sequence[Node]) -> Iterator[str]:
    """What is wrong with an allocation for pods on these nodes."""
    results = results_of(allocation)
    if len(results) > MOST_RESULTS:
        yield f"is given {len(results)} devices, and a claim can have {MOST_RESULTS}"
    picks: list[Pick] = []
    for result in results:
        request, device = wish.named(result.request), _device(cluster, result)
        name = shown_device(result.device)
        if request is None:
            yield f"is given {name} for {result.request}, which it does not ask for"
        elif device is None:
            yield f"is given {name}, which does not exist"
        else:
            picks.append((result, request, device))
            yield from (f"is given {name}: {fault}" for fault in _device_faults(cluster, *picks[-1], nodes))
    if len(picks) == len(results):
        yield from _counts(cluster, wish, picks, nodes)
        yield from _constraints(wish, picks)
        yield from _reach(cluster, allocation, picks, nodes)
        yield from _configuration(wish, allocation, picks)


def _device(cluster: Cluster, result: Result) -> Device | None:
    pool = cluster.pools.get(result.device[:2])
    return None if pool is None else pool.devices.get(result.device)


def _device_faults(
    cluster: Cluster, result: Result, request: Request, device: Device, nodes: Sequence[Node]
) -> Iterator[str]:
    pool = cluster.pools[device.id[0], device.id[1]]
    for node in nodes:
        problem = pool.problem(node.name, node.labels)
        if problem is not None:
            yield f"its pool {problem}"
        if not device.reach.includes(node.name, node.labels):
            yield f"it cannot be reached from {node.name}"
    reason = request.why_not(device)
    if reason is not None:
        yield f"{reason}, for {request.name}"
    elif (result.consumed or None) != (request.consumed(device) or None if device.shared else None):
        yield f"consumedCapacity is {result.doc.raw.get('consumedCapacity')}, not what {request.name} takes"
    yield from _form(result, request, device)


def _form(result: Result, request: Request, device: Device) -> Iterator[str]:
    if result.admin != request.admin:
        yield f"adminAccess is {result.admin}, and {request.name} asks for {request.admin}"
    if bool(result.share) != device.shared:
        yield "it is shared, and has no shareID" if device.shared else "it is not shared, and has a shareID"
    if tolerations(result.doc) != request.tolerations:
        yield f"its tolerations are not those of {request.name}"
    for field in ("bindingConditions", "bindingFailureConditions"):
        if result.doc.texts(field) != device.doc.texts(field):
            yield f"its {field} are not those of the device"


def _counts(cluster: Cluster, wish: Wish, picks: list[Pick], nodes: Sequence[Node]) -> Iterator[str]:
    for alternatives in wish.requests:
        parent = alternatives[0].parent
        chosen = {request.name: request for _, request, _ in picks if request.parent == parent}
        if len(chosen) != 1:
            names = ", ".join(sorted(chosen)) or "none"
            yield f"has devices for {names} of {parent}, and needs those for one"
            continue
        request = next(iter(chosen.values()))
        ids = [device.id for _, other, device in picks if other is request]
        if request.count is not None and len(ids) != request.count:
            yield f"is given {len(ids)} devices for {request.name}, which asks for {request.count}"
        if request.count is None and not any(_is_all(cluster, request, set(ids), node) for node in nodes):
            yield f"is given {len(ids)} devices for {request.name}, which asks for all that match"
        if len(ids) != len(set(ids)):
            yield f"is given a device twice for {request.name}"
    whole = Counter(device.id for _, _, device in picks if not device.shared)
    yield from (f"is given {shown_device(d)} for {n} requests" for d, n in whole.items() if n > 1)


def _is_all(cluster: Cluster, request: Request, given: set[Any], node: Node) -> bool:
    """Whether nothing else on a node matches. Where a pool is not known in full, nobody knows what all is."""
    found = set()
    for pool in cluster.pools.values():
        near = [one for one in pool.slices if one.concerns(node.name, node.labels)]
        if near and pool.problem(node.name, node.labels) is not None:
            return False
        devices = [device for one in near for device in one.devices]
        found |= {
            device.id
            for device in devices
            if device.reach.includes(node.name, node.labels) and request.why_not_chosen(device) is None
        }
    return found == given


def _constraints(wish: Wish, picks: list[Pick]) -> Iterator[str]:
    for constraint in wish.constraints:
        reason = constraint.why_not([device for _, request, device in picks if constraint.covers(request)])
        if reason is not None:
            yield reason


def _reach(cluster: Cluster, allocation: Doc, picks: list[Pick], nodes: Sequence[Node]) -> Iterator[str]:
    """The node selector lets later pods come wherever all of the devices can be used, and nowhere else."""
    said = reach_of(allocation)
    devices = [device for _, _, device in picks]
    fixed = any(device.reach.node_name or device.doc.flag("bindsToNode") for device in devices)
    for node in cluster.nodes.values():
        right = all(device.reach.includes(node.name, node.labels) for device in devices)
        if fixed:
            right = right and node in nodes
        if right != any_term(said, node.labels, node.name):
            word = "admits" if not right else "leaves out"
            yield f"its nodeSelector {word} {node.name}"
            return


def _configuration(wish: Wish, allocation: Doc, picks: list[Pick]) -> Iterator[str]:
    """What applies to each request: first what its class says, then what the claim says."""
    said = allocation.doc("devices").docs("config")
    for request in {request.name: request for _, request, _ in picks}.values():
        owners = [] if request.class_doc is None else request.class_doc.doc("spec").docs("config")
        expected = [("FromClass", one.raw.get("opaque")) for one in owners]
        own = (one for one in wish.doc.docs("config") if _applies(one, request))
        expected += [("FromClaim", one.raw.get("opaque")) for one in own]
        found = [(one.text("source"), one.raw.get("opaque")) for one in said if _applies(one, request)]
        if found != expected:
            yield f"its configuration for {request.name} is not that of the class and the claim"


def _applies(config: Doc, request: Request) -> bool:
    names = config.texts("requests")
    return not names or request.name in names or request.parent in names
