"""Filters about volumes: where they can be reached, who may share them, how many a node can attach."""

from .intree import PROVISIONERS
from .objects import Claim, Node, Volume, read_claim
from .pods import ClaimUse, Pod
from .selectors import any_term, matches
from .world import World

NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")
SOLE = "ReadWriteOncePod"
ZONE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}

Attached = tuple[str, str]  # driver, handle
Matched = tuple[str | None, dict[str, str], dict[str, str]]


def claim_of(world: World, pod: Pod, use: ClaimUse) -> Claim | None:
    """The claim behind a volume of a pod. One of a generic ephemeral volume may still have to be made."""
    key = f"{pod.namespace}/{use.name}"
    known = world.cluster.claims.get(key)
    if known is None and use.template is not None:
        return read_claim(key, use.template)
    return known


def persistent_volumes(world: World, pod: Pod, node: Node) -> str | None:
    return match_claims(world, pod, node)[0]


def match_claims(world: World, pod: Pod, node: Node) -> Matched:
    """Why the claims of a pod keep it from a node, or what its unbound ones would get there.

    The second part maps claims to existing volumes, the third to the node that a volume will be made for.
    """
    taken: dict[str, str] = {}
    selected: dict[str, str] = {}
    waiting: list[Claim] = []
    for use in pod.claims:
        if use.assumed:
            continue
        claim = claim_of(world, pod, use)
        reason = _claim_problem(world, claim, use, node)
        if reason is not None:
            return reason, {}, {}
        if claim is not None and not claim.volume and claim not in waiting:
            waiting.append(claim)
    for claim in sorted(waiting, key=lambda claim: (claim.size, claim.key)):
        volume = _choose_volume(world, claim, node, set(taken.values()))
        if volume is not None:
            taken[claim.key] = volume.name
        elif can_be_made(world, claim, node):
            selected[claim.key] = node.name
        else:
            return f"no volume for claim {claim.key} can be used on {node.name}", {}, {}
    return None, taken, selected


def _claim_problem(world: World, claim: Claim | None, use: ClaimUse, node: Node) -> str | None:
    """What is wrong with a claim before any volume is looked for."""
    if claim is None:
        return f"claim {use.name} does not exist"
    if claim.lost or claim.deleting:
        return f"claim {claim.key} is {'lost' if claim.lost else 'being deleted'}"
    if claim.volume and not claim.complete:
        return f"claim {claim.key} names volume {claim.volume}, and is not bound to it yet"
    if claim.volume:
        return _bound_problem(world, claim, node)
    if not waits(world, claim):
        return f"claim {claim.key} is not bound, and its class does not wait for a pod"
    return None


def waits(world: World, claim: Claim) -> bool:
    """Whether a claim gets its volume when its first pod is bound."""
    known = world.cluster.class_of(claim)
    return not claim.volume and known is not None and known.waits


def _bound_problem(world: World, claim: Claim, node: Node) -> str | None:
    volume = world.cluster.volumes.get(claim.volume)
    if volume is None:
        return f"volume {claim.volume} of claim {claim.key} does not exist"
    if not any_term(volume.node_terms, node.labels, node.name):
        return f"volume {volume.name} cannot be reached from {node.name}"
    if not in_zone(volume, node):
        return f"volume {volume.name} is in another zone than {node.name}"
    return None


def in_zone(volume: Volume, node: Node) -> bool:
    """Zone and region labels of a volume; a node without any such label is taken as a one-zone cluster."""
    if not any(key in node.labels for key in ZONE_LABELS):
        return True
    for key, modern in ZONE_LABELS.items():
        zones = volume.labels.get(key, "").split("__")
        if key not in volume.labels or not all(zone.strip() for zone in zones):
            continue
        if node.labels.get(key, node.labels.get(modern)) not in [zone.strip() for zone in zones]:
            return False
    return True


def _choose_volume(world: World, claim: Claim, node: Node, chosen: set[str]) -> Volume | None:
    """The volume that Kubernetes would bind a waiting claim to: its own, else the smallest that will do."""
    if claim.key in world.taken:
        own = world.cluster.volumes[world.taken[claim.key]]
        reached = any_term(own.node_terms, node.labels, node.name) and in_zone(own, node)
        return own if reached else None
    if claim.selected_node or claim.key in world.selected:
        return None
    gone = chosen | set(world.taken.values())
    volumes = list(world.cluster.volumes.values())
    if claim.key in world.given:
        volumes = [volume for volume in volumes if volume.name == world.given[claim.key]]
    fitting = [volume for volume in volumes if volume.name not in gone and suits(world, claim, volume)]
    named = [volume for volume in fitting if volume.claim]
    near = [v for v in named or fitting if any_term(v.node_terms, node.labels, node.name)]
    if world.cluster.users[claim.key] > 1:  # its labels count once it is bound: others must be able to follow
        near = [volume for volume in near if in_zone(volume, node)]
    return min(near, key=lambda volume: (volume.size, volume.name), default=None)


def suits(world: World, claim: Claim, volume: Volume) -> bool:
    """Whether a volume could serve a claim, wherever it is. One that names the claim need not match in
    all."""
    known = world.cluster.class_of(claim)
    if volume.deleting or (volume.claim and not is_kept_for(volume, claim)):
        return False
    if volume.size < claim.size or volume.volume_mode != claim.volume_mode:
        return False
    if volume.attributes_class != claim.attributes_class:
        return False
    if known is None or volume.storage_class != known.name:
        return False
    if volume.claim:
        return True
    return (
        volume.available
        and claim.modes <= volume.modes
        and (claim.selector is None or matches(claim.selector, volume.labels))
    )


def is_kept_for(volume: Volume, claim: Claim) -> bool:
    """By name, and by UID where the volume has one: a claim that was made anew is another claim."""
    return volume.claim == claim.key and volume.claim_uid in ("", claim.uid)


def can_be_made(world: World, claim: Claim, node: Node) -> bool:
    """Dynamic provisioning. Once a node has been selected for a claim, its volume is made there."""
    if claim.key in world.taken or world.given.get(claim.key):
        return False
    if world.selected.get(claim.key, claim.selected_node) not in ("", node.name):
        return False
    known = world.cluster.class_of(claim)
    if known is None or known.provisioner in NO_PROVISIONER:
        return False
    return not known.topologies or any(matches(term, node.labels) for term in known.topologies)


def sole_use(world: World, pod: Pod, node: Node) -> str | None:
    """A ReadWriteOncePod claim serves one pod in the whole cluster."""
    for use in pod.claims:
        claim = claim_of(world, pod, use)
        if claim is None or SOLE not in claim.modes:
            continue
        for _, other in world.pods():
            if other.namespace == pod.namespace and any(o.name == use.name for o in other.claims):
                return f"claim {claim.key} may be used by one pod only, and {other.key} uses it"
    return None


def attachments(world: World, pod: Pod) -> set[Attached]:
    """The CSI volumes of a pod as (driver, handle). One yet to be made counts for its class's driver."""
    found = set()
    for use in pod.claims:
        claim = claim_of(world, pod, use)
        if claim is None:
            continue
        volume = world.cluster.volumes.get(claim.volume)
        known = world.cluster.class_of(claim)
        if volume is not None and volume.driver:
            found.add((volume.driver, volume.handle))
        elif volume is None and known is not None:
            driver = PROVISIONERS.get(known.provisioner, known.provisioner)
            found |= {(driver, f"claim {claim.key}")} if driver else set()
    return found


def left_behind(world: World, node: Node) -> set[Attached]:
    """What is attached to a node though no pod there used it when all this began: it takes room until it is
    gone, while what the pods that leave have attached goes with them."""
    used = set().union(*(attachments(world, pod) for pod in world.at_first[node.name]))
    found = set()
    for attachment in world.cluster.attached.values() if world.occupied else ():
        volume = world.cluster.volumes.get(attachment.volume)
        here = attachment.node == node.name and attachment.driver
        if here and volume is not None and volume.driver and not volume.in_tree:
            found.add((attachment.driver, volume.handle))
    return found - used


def attach_limits(world: World, pod: Pod, node: Node) -> str | None:
    """A volume that is new to the pods of a node counts beside what is attached there, even if it is the
    same."""
    limits = world.cluster.attach_limits.get(node.name, {})
    there = set().union(*(attachments(world, other) for other in world.on[node.name])) if limits else set()
    new = attachments(world, pod) - there if limits else set()
    for driver in sorted({driver for driver, _ in new}):
        taken = there | left_behind(world, node)
        count = sum(d == driver for d, _ in taken) + sum(d == driver for d, _ in new)
        if driver in limits and count > limits[driver]:
            return f"{count} volumes of {driver} on {node.name} are more than its {limits[driver]}"
    return None


def missing_drivers(world: World, pod: Pod, node: Node) -> str | None:
    """A CSIDriver may ask that pods with its volumes stay away from nodes that do not have it."""
    there = world.cluster.installed.get(node.name)
    if not world.occupied:  # where all are gone, drivers may still come
        return None
    for use in pod.claims:
        claim = None if use.assumed else claim_of(world, pod, use)
        if claim is None:
            continue
        volume, known = world.cluster.volumes.get(claim.volume), world.cluster.class_of(claim)
        if volume is not None:
            driver, migrated = volume.driver, volume.in_tree
        else:
            provisioner = known.provisioner if known else ""
            driver, migrated = PROVISIONERS.get(provisioner, provisioner), provisioner in PROVISIONERS
        # A volume of a plugin that was built in counts only where there is a CSINode.
        looked_for = driver in world.cluster.strict_drivers and (there is not None or not migrated)
        if looked_for and driver not in (there or ()):
            return f"the driver {driver} of claim {claim.key} is not installed on {node.name}"
    return None
