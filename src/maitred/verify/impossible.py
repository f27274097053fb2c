"""Law 8: Impossible means proven. One placement on the empty healthy cluster disproves it."""

from collections.abc import Iterator
from dataclasses import replace

from .case import Breach, Case, breach, shown
from .filters import from_devices
from .groups import Group
from .models import by_model
from .objects import Node
from .pods import ClaimUse, Pod, term_matches
from .policy import Template
from .selectors import matches
from .volumes import claim_of
from .whole import place_whole
from .world import World, world_of

MIRROR = "kubernetes.io/config.mirror"
HOSTNAME = "kubernetes.io/hostname"


def judge_impossible(case: Case) -> Iterator[Breach]:
    for group in case.groups:
        entries = case.entries.get(group.key, [])
        if len(entries) != 1 or entries[0].text("verdict") != "Impossible" or not case.allowed(group):
            continue
        seats = disproof(case, group)
        if seats is not None:
            yield breach(8, group.key, f"its quorum fits on the empty healthy cluster: {shown(seats)}")


def disproof(case: Case, group: Group) -> dict[str, str] | None:
    """Seats for the quorum of a group with everybody else gone, if a search finds any: for all members anew,
    or, where some have succeeded already, for those that wait once those that run have too, and are gone.

    A group that is invalid, missing or not yet created in full is not judged: whether it could be seated is
    not known. Nor is one with claims of devices: there may be none that match. For the same reason, nodes
    where a class would have to serve a resource are left out.
    """
    if group.problems or group.quorum is None or any(pod.devices for pod in group.active):
        return None
    need = group.anew
    if group.short or case.links.is_unclear(group):
        return None
    link = case.links.of(group)
    world = empty_world(case, need + len(case.links.coming(group)))
    managed = case.policy.managed
    served = {resource for pod in group.active for resource in pod.by_class}
    nodes = [
        n
        for n in world.cluster.nodes.values()
        if (managed is None or matches(managed, n.labels))
        and not any(from_devices(world, n, resource) for resource in served)
    ]
    ways = [(group.active, need)]
    if group.succeeded:
        ways.append((group.pending, need - len(group.staying)))
    for members, missing in ways:
        pods = [_assume_others(world, group, pod) for pod in members]
        for some in by_model(case, group, nodes) if missing > 0 else ():
            seats = place_whole(world, group, link, pods, missing, some)
            if seats is not None:
                return {pod: node.name for pod, node in seats.items()}
    return None


def empty_world(case: Case, need: int) -> World:
    """The cluster with its nodes healed, with what an autoscaler could add, and only daemons running."""
    nodes = {name: _healed(case, node) for name, node in case.cluster.nodes.items()}
    for template in case.policy.templates:
        nodes |= {node.name: node for node in _copies(template, need)}
    world = world_of(replace(case.cluster, nodes=nodes), filter(stays, case.cluster.pods.values()))
    world.occupied = False
    return world


def stays(pod: Pod) -> bool:
    """Whether a pod belongs to its node: DaemonSets and static pods."""
    return pod.is_daemon or MIRROR in pod.annotations


def _healed(case: Case, node: Node) -> Node:
    taints = tuple(t for t in node.taints if t.key not in case.policy.health)
    classes = case.cluster.device_resources
    untold = {name: count for name, count in node.unregistered.items() if name not in classes}
    return replace(node, taints=taints, allocatable={**node.allocatable, **node.repaired, **untold})


def _copies(template: Template, need: int) -> Iterator[Node]:
    for number in range(need if template.most is None else min(need, template.most)):
        name = f"{template.node.name}#{number}"
        yield replace(template.node, name=name, labels={HOSTNAME: name, **template.node.labels})


def _assume_others(world: World, group: Group, pod: Pod) -> Pod:
    """A member with what others may still do for it assumed done.

    A claim that does not exist, or that others have to bind before the pod is seated, may be bound anywhere.
    A pod that its affinity asks for and that is no member may come to run wherever the topology keys are.
    """
    spaces = world.cluster.namespaces
    claims = tuple(replace(use, assumed=_open(world, pod, use)) for use in pod.claims)
    inside = any(all(term_matches(t, member, spaces) for t in pod.affinity) for member in group.members)
    nobody = any(term.selector is None for term in pod.affinity)
    terms = tuple(replace(term, assumed=not inside and not nobody) for term in pod.affinity)
    return replace(pod, claims=claims, affinity=terms)


def _open(world: World, pod: Pod, use: ClaimUse) -> bool:
    claim = claim_of(world, pod, use)
    if claim is None:
        return True
    known = world.cluster.class_of(claim)
    waits = known is not None and known.waits
    return not claim.volume and not claim.lost and not claim.deleting and not waits
