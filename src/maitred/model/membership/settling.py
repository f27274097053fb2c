"""Which group a pod belongs to, once the objects that it points to are known.

What somebody wrote counts first: a PodGroup or a marked group on the pod, then marks on its Job. Where
nothing is written, the Job may be one gang by itself, or its controller may have made a PodGroup for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from maitred.model.group import (
    GROUP,
    MIN_COUNT,
    NO_MARKS,
    Group,
    Marks,
    PodGroup,
    group_from_pod_group,
    marks_of,
)
from maitred.model.job import Job
from maitred.model.membership.declared import MARKS, POD_GROUP, by_marks, by_pod_group
from maitred.model.membership.jobs import filled, group_named_by
from maitred.model.membership.owned import JOB, by_job
from maitred.model.membership.source import GroupId, in_namespace
from maitred.model.meta import controller_of, key_of, own_mark
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.pod import Pod


class PodWords(NamedTuple):
    """What a pod itself says of its group."""

    pod_group: GroupId | None
    marked: GroupId | None
    job: GroupId | None
    """The group that its Job would be, by the owner reference."""
    marks: Marks


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a Job means to the group of its pods."""

    job: Job
    group: Group | None
    """What its pods are where nothing names another group; None if each of them is alone."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The group that a pod belongs to; no `id` for a pod on its own."""

    id: GroupId | None
    marks: Marks = NO_MARKS
    conflict: str = ""
    """Two places that say different things of the group, which makes it invalid."""
    overruled: str = ""
    """What says something else, and does not count."""


def same_uid(named: str, known: str) -> bool:
    """Whether an owner reference means an object. Files may leave either of the two out."""
    return not (named and known) or named == known


def said_by(pod: Pod) -> PodWords:
    found = [None if one is None else one.id for one in (by_pod_group(pod), by_marks(pod), by_job(pod))]
    return PodWords(found[0], found[1], found[2], marks_of(pod.metadata))


def settle(
    pod: str, said: PodWords, facts: JobFacts | None, pod_group: PodGroup | None, waits: bool
) -> Settled:
    """`pod_group` is the one that the pod names and `facts` are of its Job, as far as they are known.

    With `waits`, an object that is not known yet will be, and a pod is not taken for a lone one before that:
    watches of pods and of Jobs do not keep pace with each other.
    """
    if facts is None:
        unclear = said.pod_group is None or (pod_group is not None and _made_for_a_job(pod_group))
        if waits and said.job is not None and said.marked is None and unclear:
            return Settled(said.job)
        return _as_named(pod, _names(said, None), said.marks, "", "")
    job = facts.job
    default = pod_group if pod_group is not None and _is_default(pod_group, job) else None
    marks, differing = filled(said.marks, marks_of(job.metadata), "on the pod", "on its Job")
    named = _names(said if default is None else said._replace(pod_group=None), job)
    if named:
        other = _other_count(pod_group, job) if default is None else ""
        return _as_named(pod, named, marks, "; ".join(differing) or other, _words(default))
    if default is not None and (facts.group is None or (_is_gang(default) and marks.min_count is None)):
        return Settled(said.pod_group)
    if facts.group is None:
        return Settled(None, said.marks)
    return Settled(GroupId(JOB, facts.group.key, job.metadata.uid), overruled=_words(default))


Names = Sequence[tuple[GroupId, str]]
"""Groups that somebody has named, and where."""


def _names(said: PodWords, job: Job | None) -> Names:
    found = [(said.pod_group, "in spec.schedulingGroup"), (said.marked, f"by {GROUP}")]
    if job is not None and (name := group_named_by(job)):
        found.append((GroupId(MARKS, in_namespace(job.metadata, name)), f"by {GROUP} on its Job"))
    return [(id, where) for id, where in found if id is not None]


def _as_named(pod: str, names: Names, marks: Marks, differing: str, overruled: str) -> Settled:
    if not names:
        return Settled(None, marks)
    first, where = names[0]
    for other, elsewhere in names[1:]:
        if other.key != first.key:
            name = other.key.partition("/")[2]
            differing = (
                f"pod {pod} names group {first.key} {where} and {name} {elsewhere}; remove one of the two"
            )
            break
    if first.source == POD_GROUP:
        return Settled(first, NO_MARKS, differing)
    return Settled(first, marks, differing, overruled)


def _other_count(pod_group: PodGroup | None, job: Job) -> str:
    """Where a Job says how many of its pods must start together, and the PodGroup of its pods disagrees."""
    said = own_mark(job.metadata, MIN_COUNT)
    if pod_group is None or said is None:
        return ""
    quorum = group_from_pod_group(pod_group).quorum
    if said == str(quorum):
        return ""
    return (
        f"Job {key_of(job.metadata)} has {MIN_COUNT}: {said}, and PodGroup {key_of(pod_group.metadata)} "
        f"of its pods has a quorum of {quorum}; remove one of the two"
    )


# -- PodGroups that the Job controller makes -----------------------------------------------------------------


def _is_default(pod_group: PodGroup, job: Job) -> bool:
    """Whether the Job controller has made it for a Job that says nothing of scheduling."""
    owner = controller_of(pod_group.metadata)
    own = owner is not None and kind_of(owner) == BATCH_JOB.title and owner.uid == job.metadata.uid
    return own and job.spec.scheduling is None


def _made_for_a_job(pod_group: PodGroup) -> bool:
    owner = controller_of(pod_group.metadata)
    return owner is not None and kind_of(owner) == BATCH_JOB.title


def _is_gang(pod_group: PodGroup) -> bool:
    return group_from_pod_group(pod_group).gang


def _words(default: PodGroup | None) -> str:
    if default is None:
        return ""
    group = group_from_pod_group(default)
    said = f"a gang of {group.quorum}" if group.gang else "basic"
    return (
        f"PodGroup {group.key}, which the Job controller made by default, is {said}; that does not count, "
        "because the Job says more"
    )
