"""Which claims of a Plan are for which group, and who of the group uses each.

A Plan has each claim once, with everyone in it for whom it is reserved. Groups are bound one by one, and
each is given its own share: the claims that its members use, reserved for these members.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from maitred.controllers.scheduling.device_claims import POD_GROUPS, PODS, User
from maitred.model.membership import said_by
from maitred.model.plan import Bind, ClaimAllocation, Detail
from maitred.model.pod import Pod

ByUser = Mapping[User, Iterable[ClaimAllocation]]


def user_in_plan(claim: ClaimAllocation, consumer: Detail) -> User:
    namespace = claim.claim.partition("/")[0]
    return consumer.get("apiGroup", ""), consumer["resource"], f"{namespace}/{consumer['name']}"


def users_of(bind: Bind, pod: Pod) -> tuple[User, ...]:
    """A pod uses what is reserved for it, or for the PodGroup that it is in."""
    group = pod_group_of(bind.pod, pod)
    return ((*PODS, bind.pod), (*POD_GROUPS, group)) if group else ((*PODS, bind.pod),)


def pod_group_of(key: str, pod: Pod) -> str:
    """`namespace/name` of the PodGroup that a pod names; empty if it names none."""
    named = said_by(pod).pod_group
    return f"{key.partition('/')[0]}/{named}" if named else ""


def by_user(claims: Iterable[ClaimAllocation]) -> dict[User, list[ClaimAllocation]]:
    found = dict[User, list[ClaimAllocation]]()
    for claim in claims:
        for consumer in claim.reserved_for:
            found.setdefault(user_in_plan(claim, consumer), []).append(claim)
    return found


def share_of(users: Collection[User], claims: ByUser) -> tuple[ClaimAllocation, ...]:
    """What these users get, each claim reserved for them and for no other."""
    found = {claim.claim: claim for user in users for claim in claims.get(user, ())}
    return tuple(reserved_for(users, found[key]) for key in sorted(found))


def reserved_for(users: Collection[User], claim: ClaimAllocation) -> ClaimAllocation:
    kept = tuple(one for one in claim.reserved_for if user_in_plan(claim, one) in users)
    return msgspec.structs.replace(claim, reserved_for=kept)


def without_users(claims: Iterable[ClaimAllocation], gone: Collection[User]) -> tuple[ClaimAllocation, ...]:
    """Claims that nobody else uses are left out."""
    found = list[ClaimAllocation]()
    for claim in claims:
        kept = {user_in_plan(claim, one) for one in claim.reserved_for}.difference(gone)
        if kept or not claim.reserved_for:
            found.append(reserved_for(kept, claim))
    return tuple(found)
