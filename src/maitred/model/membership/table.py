"""The table of sources, and the questions that it answers."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from maitred.model.group import (
    Group,
    Marks,
    PodGroup,
    group_from_marks,
    group_from_pod_group,
    marks_of,
)
from maitred.model.job import Job
from maitred.model.membership.conventions import CONVENTIONS
from maitred.model.membership.declared import DECLARED, POD_GROUP
from maitred.model.membership.jobs import group_from_job
from maitred.model.membership.owned import JOB, OWNED
from maitred.model.membership.settling import JobFacts, said_by, settle
from maitred.model.membership.source import Decided, GroupId, Known, Members, Membership, Objects, Source
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.owners import BATCH_JOB
from maitred.model.pod import Pod
from maitred.model.policy import JobsRule

SOURCES: tuple[Source, ...] = (*DECLARED, *CONVENTIONS, *OWNED)
"""In the order of precedence."""
DECIDED: tuple[tuple[Source, Decided], ...] = tuple(
    (source, source.decided) for source in SOURCES if source.decided is not None
)
"""Those that decisions go by."""
ALONE = "pod"
"""Instead of a source: a pod of no group is a group of one, called like the pod."""
KEYS = frozenset(key for source in SOURCES for key in source.keys)
"""Every label or annotation that some source reads."""

_BY_TITLE = {source.title: source for source in SOURCES}
_DECIDED = {source.title: decided for source, decided in DECIDED}
_PRECEDENCE = {title: number for number, title in enumerate((*_BY_TITLE, ALONE))}


# -- which group -------------------------------------------------------------------------------------------


def membership_of(pod: Pod) -> Membership | None:
    """The group that a pod itself names; None if it names none."""
    for source, decided in DECIDED:
        if decided.named and (found := source.find(pod)) is not None:
            return found
    return None


def group_key(pod: Pod) -> str | None:
    """`namespace/name` of the group that a pod belongs to; None for a lone pod."""
    found = membership_of(pod)
    return None if found is None else found.key


def group_of_template(job: Job, rule: JobsRule) -> GroupId | None:
    """The group that the pods of a Job will belong to, as far as the Job itself tells."""
    about, template = job.metadata, job.spec.template
    owner = OwnerReference(BATCH_JOB.kind, about.name, about.uid, controller=True, api_version="batch/v1")
    metadata = ObjectMeta(
        namespace=about.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(owner,),
    )
    facts = JobFacts(job, group_from_job(job, rule))
    return settle("", said_by(Pod(metadata, template.spec)), facts, None, waits=False).id


def sorting_key(id: GroupId) -> tuple[str, int, str]:
    """Groups by name; those of one name in the order of their sources, a lone pod last."""
    return id.key, _PRECEDENCE[id.source], id.uid


# -- what decisions make of it -----------------------------------------------------------------------------


def is_decided(id: GroupId) -> bool:
    """Whether decisions go by the source of this group."""
    return id.source in _DECIDED


def group_of(id: GroupId, marks: Iterable[Marks], declared: Group | None) -> Group:
    """The group as its members describe it and an object declares it."""
    if id.source == ALONE:  # a count means nothing where no other pod can join
        return group_from_marks(id.key, (msgspec.structs.replace(one, min_count=None) for one in marks))
    return _DECIDED[id.source].group(id.key, marks, declared)


def group_of_pods(key: str, pods: Sequence[Pod], declared: Mapping[str, PodGroup]) -> Group:
    """The group that these pods are, where there is no cluster state to ask; without pods, the PodGroup."""
    found = membership_of(pods[0]) if pods else Membership(GroupId(POD_GROUP, key))
    group = declared.get(key) if found is not None and found.source == POD_GROUP else None
    if group is not None:
        return group_from_pod_group(group)
    return group_from_marks(key, (marks_of(pod.metadata) for pod in pods))


# -- what observers make of it -----------------------------------------------------------------------------


def observed(pod: Pod) -> Membership | None:
    """The group that a pod belongs to, by whatever source claims it first; None for a pod on its own."""
    for source in SOURCES:
        if (found := source.find(pod)) is not None:
            return found
    return None


def settled(pod: Pod, found: Membership | None, known: Known) -> Membership | None:
    """What `observed` found, as the objects that the pod points to have it."""
    said = said_by(pod)
    job = None if said.job is None else known.find(Job, said.job.key, said.job.uid)
    facts = None if job is None else JobFacts(job, group_from_job(job, "gang"))
    group = None if said.pod_group is None else known.find(PodGroup, said.pod_group.key)
    one = settle(pod.metadata.name, said, facts, group, waits=False)
    if one.id is None or (one.id.source == JOB and found is not None and found.source != POD_GROUP):
        return found
    return Membership(one.id)


def quorum_of(id: GroupId, members: Members, objects: Objects) -> int | None:
    """How many members a group takes. None where nobody says, or where they contradict each other."""
    return _BY_TITLE[id.source].quorum(id, members, objects)
