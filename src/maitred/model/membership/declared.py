"""The sources that decisions go by: PodGroups, and marks of ours where there is no PodGroup."""

from collections.abc import Iterable

import msgspec

from maitred.model.group import (
    GROUP,
    MIN_COUNT,
    Group,
    Marks,
    PodGroup,
    group_from_marks,
    group_from_pod_group,
)
from maitred.model.membership.source import (
    Decided,
    GroupId,
    Members,
    Membership,
    Objects,
    Source,
    in_namespace,
)
from maitred.model.meta import ObjectMeta, mark
from maitred.model.pod import Pod, SchedulingGroup

POD_GROUP, MARKS = "PodGroup", "maitred.dev"


# -- PodGroups ---------------------------------------------------------------------------------------------


def by_pod_group(pod: Pod) -> Membership | None:
    named = pod.spec.scheduling_group
    if named is None or named.pod_group_name is None:
        return None
    return Membership(GroupId(POD_GROUP, in_namespace(pod.metadata, named.pod_group_name)))


def group_of_pod_group(key: str, _: Iterable[Marks], declared: Group | None) -> Group:
    return declared or Group(key, exists=False, origin=f"PodGroup {key}")


def quorum_of_pod_group(id: GroupId, _: Members, known: Objects) -> int | None:
    declared = known.find(PodGroup, id.key)
    return None if declared is None else group_from_pod_group(declared).quorum


def in_pod_group(pod: Pod, name: str) -> Pod:
    spec = msgspec.structs.replace(pod.spec, scheduling_group=SchedulingGroup(name))
    return msgspec.structs.replace(pod, spec=spec)


# -- marks -------------------------------------------------------------------------------------------------


def by_marks(pod: Pod) -> Membership | None:
    name = mark(pod.metadata, GROUP)
    return None if name is None else Membership(GroupId(MARKS, in_namespace(pod.metadata, name)))


def group_of_marks(key: str, marks: Iterable[Marks], _: Group | None) -> Group:
    said = list(marks)
    group = group_from_marks(key, said)
    if any(one.min_count is not None for one in said):
        return msgspec.structs.replace(group, origin=f"{MIN_COUNT} of its members")
    origin = f"{GROUP} of its members, none of which has {MIN_COUNT}"
    unsaid = f"group {key}: no member has {MIN_COUNT}, so the quorum is 1"
    return msgspec.structs.replace(group, origin=origin, warnings=(unsaid,))


def quorum_of_marks(id: GroupId, members: Members, _: Objects) -> int | None:
    marked = group_from_marks(id.key, members.marks)
    return None if marked.problems else marked.quorum


def naming_group(about: ObjectMeta, name: str) -> ObjectMeta:
    """What names a group by a mark, with another name in it."""
    labels, annotations = (
        {**marks, GROUP: name} if GROUP in marks else marks for marks in (about.labels, about.annotations)
    )
    return msgspec.structs.replace(about, labels=labels, annotations=annotations)


def in_marked_group(pod: Pod, name: str) -> Pod:
    return msgspec.structs.replace(pod, metadata=naming_group(pod.metadata, name))


DECLARED = (
    Source(
        POD_GROUP,
        keys=(),
        find=by_pod_group,
        quorum=quorum_of_pod_group,
        decided=Decided(group=group_of_pod_group, renamed=in_pod_group, named=True),
    ),
    Source(
        MARKS,
        keys=(GROUP, MIN_COUNT),
        find=by_marks,
        quorum=quorum_of_marks,
        decided=Decided(group=group_of_marks, renamed=in_marked_group, named=True),
    ),
)
