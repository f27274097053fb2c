"""Objects under other names, in groups of other names: for what is only supposed to be there."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from maitred.model.devices.claims import ResourceClaimTemplate
from maitred.model.group import GROUP, CompositePodGroup, CompositePodGroupSpec, PodGroup, PodGroupSpec
from maitred.model.membership.conventions import CONVENTIONS
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.objects import Object
from maitred.model.operators.leaderworkerset import SET_NAME, LeaderWorkerSet
from maitred.model.owner_chain import row_of_owner
from maitred.model.pod import Pod, PodResourceClaim, PodSpec, SchedulingGroup

T = TypeVar("T", bound=Object)
Parented = TypeVar("Parented", PodGroupSpec, CompositePodGroupSpec)
Claiming = TypeVar("Claiming", PodSpec, PodGroupSpec)
Supposed = Callable[[type[Object], str], bool]
NAMES = frozenset((GROUP, *(key for one in CONVENTIONS for key in one.names)))
"""Labels and annotations that name a group."""


def renamed(item: T, suffix: str, supposed: Supposed) -> T:
    """The object with a longer name, and so all groups that it names by marks. What it refers to has a longer
    name only if it is `supposed` as well, by kind and `namespace/name`."""
    space = item.metadata.namespace or "default"
    about = msgspec.structs.replace(item.metadata, name=f"{item.metadata.name}{suffix}")
    about = _in_renamed_groups(about, suffix, supposed)
    changed = msgspec.structs.replace(item, metadata=about)
    if isinstance(changed, CompositePodGroup):
        return msgspec.structs.replace(changed, spec=_below(changed.spec, space, suffix, supposed))
    if isinstance(changed, PodGroup):
        spec = _below(changed.spec, space, suffix, supposed)
        return msgspec.structs.replace(changed, spec=_from_templates(spec, space, suffix, supposed))
    if isinstance(changed, Pod):
        own = _from_templates(changed.spec, space, suffix, supposed)
        return msgspec.structs.replace(changed, spec=_in_group(own, space, suffix, supposed))
    return changed


def _below(spec: Parented, space: str, suffix: str, supposed: Supposed) -> Parented:
    parent = spec.parent_composite_pod_group_name
    if not parent or not supposed(CompositePodGroup, f"{space}/{parent}"):
        return spec
    return msgspec.structs.replace(spec, parent_composite_pod_group_name=f"{parent}{suffix}")


def _in_group(spec: PodSpec, space: str, suffix: str, supposed: Supposed) -> PodSpec:
    name = None if spec.scheduling_group is None else spec.scheduling_group.pod_group_name
    if name is None or not supposed(PodGroup, f"{space}/{name}"):
        return spec
    return msgspec.structs.replace(spec, scheduling_group=SchedulingGroup(f"{name}{suffix}"))


def _from_templates(spec: Claiming, space: str, suffix: str, supposed: Supposed) -> Claiming:
    if not spec.resource_claims:
        return spec

    def longer(claim: PodResourceClaim) -> PodResourceClaim:
        name = claim.resource_claim_template_name
        if name is None or not supposed(ResourceClaimTemplate, f"{space}/{name}"):
            return claim
        return msgspec.structs.replace(claim, resource_claim_template_name=f"{name}{suffix}")

    return msgspec.structs.replace(spec, resource_claims=tuple(map(longer, spec.resource_claims)))


def _in_renamed_groups(about: ObjectMeta, suffix: str, supposed: Supposed) -> ObjectMeta:
    space = about.namespace or "default"

    def longer(key: str, value: str) -> str:
        if key == SET_NAME:
            return f"{value}{suffix}" if supposed(LeaderWorkerSet, f"{space}/{value}") else value
        return f"{value}{suffix}" if key in NAMES and value else value

    def owner_of(owner: OwnerReference) -> OwnerReference:
        row = row_of_owner(owner)
        known = row is not None and supposed(row.type, f"{space}/{owner.name}")
        return msgspec.structs.replace(owner, name=f"{owner.name}{suffix}") if known else owner

    return msgspec.structs.replace(
        about,
        labels={key: longer(key, value) for key, value in about.labels.items()},
        annotations={key: longer(key, value) for key, value in about.annotations.items()},
        owner_references=tuple(owner_of(owner) for owner in about.owner_references),
    )
