"""Laws 1 and 3 over resource claims: what a Plan allocates, or what has been allocated in a cluster.

Every claim of a pod on a node is allocated, and reserved for the pod or for its PodGroup; what is allocated
is what the claim asks for, within reach of the node; and no device, counter or capacity is given away twice.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from .allocations import faults
from .case import Breach, Case, breach
from .claims import Result, Use, consumers, reach_of, results_of, uses, wish_of
from .devices import DeviceId, parsed, shown_device
from .fields import Doc
from .made_claims import judge_made_claims
from .objects import Cluster, Node
from .pods import DeviceUse, Pod
from .selectors import NodeTerms

MOST_CONSUMERS = 256
Uses = dict[str, list[tuple[DeviceUse, Use]]]


def judge_allocations(case: Case) -> Iterator[Breach]:
    """What the Plan allocates and reserves."""
    bound, running = _users(case, case.binds), _users(case, _running(case))
    entries = case.plan.docs("claims")
    yield from _named_twice(entries)
    yield from _unserved(case, bound)
    yield from judge_made_claims(case)
    for entry in entries:
        key = entry.text("claim")
        if entry.doc("made").raw:
            continue
        if key not in bound:
            yield breach(3, key, "is allocated or reserved, but no pod that is bound uses it")
            continue
        for fault in _entry_faults(case, entry, bound[key], running.get(key, [])):
            yield breach(3, key, fault)
    new = {entry.text("claim") for entry in entries} - case.allocated_before.keys()
    yield from judge_consumption(case.cluster, new)


def judge_standing_claims(case: Case) -> Iterator[Breach]:
    """What has been allocated. Claims that nobody described, of which a pod speaks, are left alone."""
    known = case.cluster.device_objects["ResourceClaim"]
    for key, found in sorted(_users(case, _running(case)).items()):
        if key not in known:
            continue
        allocation, status = case.cluster.allocations.get(key), known[key].doc("status")
        for _, use in found:
            if allocation is None:
                yield breach(3, use.pod.key, f"is on {use.node.name}, and its claim {key} is not allocated")
            elif not _named_among(reach_of(allocation), use.node):
                yield breach(3, use.pod.key, f"is on {use.node.name}, and the devices of {key} are not")
            if use.consumer not in consumers(status) and ("", "pods", *_id(use.pod)) not in consumers(status):
                yield breach(3, key, f"is not reserved for {use.pod.key}, which uses it")
    yield from judge_consumption(case.cluster, set(case.cluster.allocations))


def _id(pod: Pod) -> tuple[str, str]:
    return pod.name, pod.uid


def _named_among(terms: NodeTerms | None, node: Node) -> bool:
    """Labels may have changed since, names not."""
    return terms is None or any(term.labels or term.holds(node.labels, node.name) for term in terms)


def _running(case: Case) -> list[tuple[Pod, Node]]:
    nodes = case.cluster.nodes
    pods = [pod for pod in case.cluster.pods.values() if pod.holds and pod.node_name in nodes]
    return [(pod, nodes[pod.node_name]) for pod in pods]


def _users(case: Case, seats: list[tuple[Pod, Node]]) -> Uses:
    found: Uses = {}
    for key, claim, use in uses(case.cluster, seats):
        found.setdefault(key, []).append((claim, use))
    return found


def _named_twice(entries: list[Doc]) -> Iterator[Breach]:
    for key, count in Counter(entry.text("claim") for entry in entries).items():
        if count > 1:
            yield breach(1, key, f"the Plan allocates it {count} times")


def _unserved(case: Case, bound: Uses) -> Iterator[Breach]:
    """Claims of pods that are bound without what they need."""
    known = case.cluster.device_objects["ResourceClaim"]
    reserved = {entry.text("claim"): consumers(entry) for entry in case.plan.docs("claims")}
    for key, found in sorted(bound.items()):
        if key not in case.cluster.allocations:
            yield breach(3, found[0][1].pod.key, f"is bound, but its resource claim {key} has no allocation")
            continue
        before = consumers(known[key].doc("status")) if key in known else []
        for _, use in found:
            if use.consumer not in (*before, *reserved.get(key, [])):
                whom = " ".join(part for part in use.consumer[1:3])
                yield breach(3, key, f"is not reserved for {whom}, and {use.pod.key} is bound")


def _entry_faults(
    case: Case, entry: Doc, bound: list[tuple[DeviceUse, Use]], running: list[tuple[DeviceUse, Use]]
) -> Iterator[str]:
    key, allocation = entry.text("claim"), entry.doc("allocation")
    claim = case.cluster.device_objects["ResourceClaim"].get(key)
    before = consumers(claim.doc("status")) if claim is not None else []
    given = consumers(entry)
    users = {use.consumer for _, use in (*bound, *running)}
    for stranger in sorted(set(given) - users - set(before)):
        yield f"is reserved for {stranger[1]} {stranger[2]}, which does not use it"
    if len({*before, *given}) > MOST_CONSUMERS:
        yield f"is reserved for {len({*before, *given})}, and can be for {MOST_CONSUMERS}"
    earlier = case.allocated_before.get(key)
    if earlier is not None:
        if allocation.raw and _devices(allocation) != _devices(earlier):
            yield "was allocated already, and is allocated anew"
        return
    wish = wish_of(case.cluster, bound[0][1].pod, bound[0][0])
    if wish is not None and allocation.raw:
        nodes = {use.node.name: use.node for _, use in bound}
        yield from faults(case.cluster, wish, allocation, list(nodes.values()))


def _devices(allocation: Doc) -> list[tuple[str, DeviceId]]:
    return sorted((result.request, result.device) for result in results_of(allocation))


# -- what is given away --------------------------------------------------------------------------------------


def judge_consumption(cluster: Cluster, blamed: set[str]) -> Iterator[Breach]:
    """Law 1. Only where one of these claims has a part in it. Admin access takes nothing from anybody."""
    held: dict[DeviceId, list[tuple[str, Result]]] = {}
    for key, allocation in sorted(cluster.allocations.items()):
        for result in results_of(allocation):
            if not result.admin:
                held.setdefault(result.device, []).append((key, result))
    for device, holders in sorted(held.items()):
        if any(key in blamed for key, _ in holders):
            yield from _overused(cluster, device, holders)
    yield from _overdrawn(cluster, held, blamed)


def _overused(cluster: Cluster, device: DeviceId, holders: list[tuple[str, Result]]) -> Iterator[Breach]:
    if len(holders) > 1 and not all(result.share for _, result in holders):
        names = ", ".join(sorted(key for key, _ in holders))
        yield breach(1, shown_device(device), f"is given to {len(holders)} requests: {names}")
    shares = Counter(result.share for _, result in holders if result.share)
    for share, count in sorted(shares.items()):
        if count > 1:
            yield breach(1, shown_device(device), f"{count} of its shares have the shareID {share}")
    pool = cluster.pools.get(device[:2])
    known = None if pool is None else pool.devices.get(device)
    for name, capacity in sorted(known.capacity.items()) if known is not None and shares else ():
        used = sum((result.consumed.get(name, Fraction(0)) for _, result in holders), Fraction(0))
        if used > parsed(capacity, "value"):
            have = capacity.raw.get("value")
            yield breach(1, shown_device(device), f"{used} of {name} are given away, it has {have}")


def _overdrawn(
    cluster: Cluster, held: dict[DeviceId, list[tuple[str, Result]]], blamed: set[str]
) -> Iterator[Breach]:
    """Counters: each device takes its own once, however many share it."""
    for key, pool in sorted(cluster.pools.items()):
        taken = [device for device in pool.devices.values() if device.id in held]
        new = [d for d in taken if any(claim in blamed for claim, _ in held[d.id])]
        for counter in sorted({name for device in new for name in device.counters}):
            used = sum((device.counters.get(counter, Fraction(0)) for device in taken), Fraction(0))
            if counter in pool.counters and used > pool.counters[counter]:
                what = f"{used} of the counter {'/'.join(counter)} are given away"
                yield breach(1, "/".join(key), f"{what}, it has {pool.counters[counter]}")
