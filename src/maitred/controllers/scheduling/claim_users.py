"""Who of those for whom a claim is reserved does not use it.

A member of ours that waits, and is not on its way to a node, uses no device. Neither does a PodGroup of ours
none of whose members is on a node: its pods wait, or have finished, or were told to leave. What is reserved
for others, or for pods that have finished or are gone, is not looked at: of these Kubernetes' own controller
takes care.
"""

from collections.abc import Collection

from maitred.controllers.scheduling.device_claims import POD_GROUPS, PODS, user_of
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.claim_writes import is_made_for, is_marked
from maitred.kube.wire import WatchedClaim
from maitred.model.devices.claims import ALLOCATED_BY, Consumer
from maitred.model.meta import controller_of, key_of


def idle_users(mirror: Mirror, claim: WatchedClaim, scheduler: str) -> frozenset[str]:
    """Their UIDs."""
    ours = claim.metadata.annotations.get(ALLOCATED_BY) == scheduler
    return frozenset(
        one.uid for one in claim.status.reserved_for if _is_idle(mirror, claim, one, ours, scheduler)
    )


def is_left_over(claim: WatchedClaim, scheduler: str) -> bool:
    """Whether we were about to allocate it, and did not. What is allocated and reserved for nobody is left
    alone: we reserve in the same write in which we allocate, so others have done that."""
    return claim.status.allocation is None and is_marked(claim, scheduler)


def is_made_in_vain(mirror: Mirror, claim: WatchedClaim) -> bool:
    """Whether a scheduler has made the claim for a pod of ours that is not on its way to a node."""
    owner = controller_of(claim.metadata)
    if owner is None or not is_made_for(claim, owner.uid):
        return False
    return waits(mirror, f"{key_of(claim.metadata).partition('/')[0]}/{owner.name}", owner.uid)


def waits(mirror: Mirror, pod: str, uid: str) -> bool:
    """Whether this pod is ours, and neither on a node nor on its way to one."""
    found = mirror.waiting.get(pod)
    return found is not None and found.metadata.uid == uid and not mirror.overlay.is_assumed(pod)


def _is_idle(mirror: Mirror, claim: WatchedClaim, user: Consumer, ours: bool, scheduler: str) -> bool:
    *kind, key = user_of(key_of(claim.metadata).partition("/")[0], user)
    if tuple(kind) == PODS:
        return waits(mirror, key, user.uid)
    group = mirror.groups.get(key) if tuple(kind) == POD_GROUPS else None
    if group is None or group.metadata.uid != user.uid:
        return False
    return group_is_idle(mirror, key, scheduler, if_empty=ours)


def group_is_idle(
    mirror: Mirror, group: str, scheduler: str, *, if_empty: bool, besides: Collection[str] = ()
) -> bool:
    """Whether no pod of a PodGroup of ours is on a node, or on its way to one, besides these."""
    members = [one for one in mirror.state.unfinished_in(group) if one.pod not in besides]
    if not members:
        return if_empty
    return all(one.scheduler == scheduler and not one.on_node for one in members)
