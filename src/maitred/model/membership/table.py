"""The table of sources: how the groups of each are described, in the order of precedence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from maitred.model.group import (
    GROUP,
    MIN_COUNT,
    Group,
    Marks,
    TopologyRequest,
    group_from_marks,
)
from maitred.model.job import Job
from maitred.model.membership.conventions import CONVENTIONS, Convention
from maitred.model.membership.owners import OWNERS
from maitred.model.membership.settling import settle
from maitred.model.membership.source import ALONE, JOB, MARKS, OWNER, POD_GROUP, GroupId
from maitred.model.membership.words import PodWords, said_by
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.owner_chain import Found
from maitred.model.owners import BATCH_JOB
from maitred.model.pod import Pod
from maitred.model.policy import Workloads

GroupRule = Callable[[str, Sequence[Marks], Group | None, int], Group]
"""The group of this key, from the marks of its members, from what an object declares, and from how many
members there are."""


@dataclass(frozen=True, slots=True)
class Source:
    title: str
    """As answers call it."""
    group: GroupRule
    written: bool = True
    """Whether somebody names the group; else owners imply it."""


# -- rules -------------------------------------------------------------------------------------------------


def of_pod_group(key: str, _: Sequence[Marks], declared: Group | None, __: int) -> Group:
    return declared or Group(key, exists=False, origin=f"PodGroup {key}")


def of_marks(key: str, marks: Sequence[Marks], _: Group | None, __: int) -> Group:
    group = group_from_marks(key, marks)
    if any(one.min_count is not None for one in marks):
        return msgspec.structs.replace(group, origin=f"{MIN_COUNT} of its members")
    origin = f"{GROUP} of its members, none of which has {MIN_COUNT}"
    unsaid = f"group {key}: no member has {MIN_COUNT}, so the quorum is 1"
    return msgspec.structs.replace(group, origin=origin, warnings=(unsaid,))


def by_convention(convention: Convention) -> GroupRule:
    def rule(key: str, marks: Sequence[Marks], declared: Group | None, _: int) -> Group:
        count_key = convention.counts[0] if convention.counts else MIN_COUNT
        if declared is not None:
            marks = [msgspec.structs.replace(one, min_count=None) for one in marks]
        marked = group_from_marks(key, marks, count_key)
        if declared is None:
            problems = marked.problems if marked.gang else (*marked.problems, convention.unsaid)
            return msgspec.structs.replace(marked, origin=f"{count_key} of its members", problems=problems)
        return msgspec.structs.replace(
            declared,
            topology=_both(declared.topology, marked.topology),
            problems=(*declared.problems, *marked.problems),
        )

    return rule


def _both(declared: TopologyRequest, marked: TopologyRequest) -> TopologyRequest:
    """What a PodGroup asks for, and its members where it says nothing. That they require one level is checked
    by those who know which names are one level."""
    return msgspec.structs.replace(
        marked,
        required=declared.required or marked.required,
        preferred=declared.preferred or marked.preferred,
        annotated=marked.required,
    )


def by_owner(title: str) -> GroupRule:
    def rule(key: str, marks: Sequence[Marks], declared: Group | None, there: int) -> Group:
        if declared is not None:
            return declared
        marked = group_from_marks(key, marks)
        origin = f"the pods of {title} {key} that there are: the {title} itself is not known"
        quorum = marked.quorum if marked.gang else max(1, there)
        return msgspec.structs.replace(marked, quorum=quorum, gang=True, origin=origin)

    return rule


def of_job(key: str, _: Sequence[Marks], declared: Group | None, __: int) -> Group:
    return declared or Group(key, exists=False, origin=f"Job {key}")


SOURCES = (
    Source(POD_GROUP, of_pod_group),
    Source(MARKS, of_marks),
    *(Source(one.title, by_convention(one)) for one in CONVENTIONS),
    *(Source(row.title, by_owner(row.title), written=False) for row in OWNERS),
    Source(JOB, of_job, written=False),
    Source(OWNER, of_marks, written=False),
)
"""In the order of precedence."""

_BY_TITLE = {source.title: source for source in SOURCES}
_PRECEDENCE = {title: number for number, title in enumerate((*_BY_TITLE, ALONE))}


# -- questions ---------------------------------------------------------------------------------------------


def sorting_key(id: GroupId) -> tuple[str, int, str]:
    """Groups by name; those of one name in the order of their sources, a lone pod last."""
    return id.key, _PRECEDENCE.get(id.source, len(_PRECEDENCE)), id.uid


def group_of(id: GroupId, marks: Iterable[Marks], declared: Group | None, there: int) -> Group:
    """The group as its members describe it and an object declares it; `there` is how many members it has."""
    said, source = list(marks), _BY_TITLE.get(id.source)
    if source is None:  # a lone pod: a count means nothing where no other pod can join
        alone = (msgspec.structs.replace(one, min_count=None) for one in said)
        return declared or group_from_marks(id.key, alone)
    return source.group(id.key, said, declared, there)


def is_written(id: GroupId) -> bool:
    """Whether somebody has named the group."""
    source = _BY_TITLE.get(id.source)
    return source is not None and source.written


def group_of_template(job: Job, known: Found, rules: Workloads) -> GroupId | None:
    """The group that the pods of a Job will belong to, as far as is known."""
    return settle(words_of_template(job), known, rules).id


def words_of_template(job: Job) -> PodWords:
    """What the pods of a Job will say."""
    about, template = job.metadata, job.spec.template
    owner = OwnerReference(BATCH_JOB.kind, about.name, about.uid, controller=True, api_version="batch/v1")
    metadata = ObjectMeta(
        namespace=about.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(owner,),
    )
    return said_by(Pod(metadata, template.spec))


def named_group(said: PodWords) -> GroupId | None:
    """The group that a pod itself names, whatever its owners say; None if it names none."""
    named = [
        (POD_GROUP, said.pod_group),
        (MARKS, said.group),
        *((one.source, one.name) for one in said.named),
    ]
    return next((GroupId(source, f"{said.namespace}/{name}") for source, name in named if name), None)


def group_key(pod: Pod) -> str | None:
    """`namespace/name` of the group that a pod itself names; None if it names none."""
    found = named_group(said_by(pod))
    return None if found is None else found.key
