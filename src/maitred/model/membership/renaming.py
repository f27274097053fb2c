"""Objects under other names, in groups of other names: for what is only supposed to be there."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from maitred.model.group import GROUP, CompositePodGroup, PodGroup
from maitred.model.membership.conventions import CONVENTIONS
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.objects import Object
from maitred.model.operators.leaderworkerset import SET_NAME, LeaderWorkerSet
from maitred.model.owner_chain import row_of_owner
from maitred.model.pod import Pod, SchedulingGroup

T = TypeVar("T", bound=Object)
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
    if isinstance(changed, PodGroup | CompositePodGroup):
        parent = changed.spec.parent_composite_pod_group_name
        if not parent or not supposed(CompositePodGroup, f"{space}/{parent}"):
            return changed
        below = msgspec.structs.replace(changed.spec, parent_composite_pod_group_name=f"{parent}{suffix}")
        return msgspec.structs.replace(changed, spec=below)
    if not isinstance(changed, Pod) or changed.spec.scheduling_group is None:
        return changed
    name = changed.spec.scheduling_group.pod_group_name
    if name is None or not supposed(PodGroup, f"{space}/{name}"):
        return changed
    spec = msgspec.structs.replace(changed.spec, scheduling_group=SchedulingGroup(f"{name}{suffix}"))
    return msgspec.structs.replace(changed, spec=spec)


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
