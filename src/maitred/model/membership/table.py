"""The table of sources, and the questions that it answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from maitred.model.group import (
    NO_MARKS,
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
from maitred.model.membership.owned import JOB, OWNED
from maitred.model.membership.source import Decided, GroupId, Known, Members, Membership, Objects, Source
from maitred.model.meta import ObjectMeta, OwnerReference, key_of
from maitred.model.owners import BATCH_JOB
from maitred.model.pod import Pod

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
_DECLARED_BY = {
    source.title: decided.declared_by for source, decided in DECIDED if decided.declared_by is not None
}
DECLARING: tuple[type[Any], ...] = tuple(kind for kind, _ in _DECLARED_BY.values())
"""Kinds of objects that declare groups."""
_PRECEDENCE = {title: number for number, title in enumerate((*_BY_TITLE, ALONE))}


# -- which group -------------------------------------------------------------------------------------------


def memberships(pod: Pod) -> list[Membership]:
    """All that decisions could go by; the first is the one that they do go by."""
    return [found for source, _ in DECIDED if (found := source.find(pod)) is not None]


def membership_of(pod: Pod) -> Membership | None:
    """The group that a pod belongs to; None for a lone pod."""
    for source, _ in DECIDED:
        if (found := source.find(pod)) is not None:
            return found
    return None


def group_key(pod: Pod) -> str | None:
    """`namespace/name` of the group that a pod belongs to; None for a lone pod."""
    found = membership_of(pod)
    return None if found is None else found.key


def membership_of_template(job: Job) -> Membership | None:
    """The group that the pods of a Job will belong to, as far as the Job itself tells."""
    about, template = job.metadata, job.spec.template
    owner = OwnerReference(BATCH_JOB.kind, about.name, about.uid, controller=True, api_version="batch/v1")
    metadata = ObjectMeta(
        namespace=about.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(owner,),
    )
    return membership_of(Pod(metadata, template.spec))


def contradiction(pod: Pod, found: Sequence[Membership]) -> str:
    """What is wrong when a pod names one group in one way and another group in another way; else empty."""
    said = [(one, words) for one in found if (words := _DECIDED[one.source].said)]
    for other, words in said[1:]:
        first, first_words = said[0]
        if other.key != first.key:
            name = other.key.partition("/")[2]
            return (
                f"pod {pod.metadata.name} names group {first.key} {first_words} and {name} {words}; "
                "remove one of the two"
            )
    return ""


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


def marks_for(pod: Pod, found: Membership | None) -> Marks:
    """What the marks on a pod say of its group: nothing if a PodGroup is there to say it."""
    return NO_MARKS if found is not None and found.source == POD_GROUP else marks_of(pod.metadata)


def declaration(item: Any) -> tuple[GroupId, Group]:
    """The group that an object of a declaring kind declares."""
    for title, (kind, group) in _DECLARED_BY.items():
        if isinstance(item, kind):
            return GroupId(title, key_of(item.metadata)), group(item)
    raise TypeError(type(item).__name__)


def declared_id(kind: type[Any], key: str) -> GroupId:
    """The group that an object of a declaring kind declares, by the key of the object."""
    return next(GroupId(title, key) for title, (one, _) in _DECLARED_BY.items() if issubclass(kind, one))


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
    """What `observed` found, unless nobody meant it: since 1.37 a Job makes a PodGroup of its pods, which is
    `basic` if the user says nothing. The pods of such a group are what their Job makes of them."""
    if found is None or found.source != POD_GROUP:
        return found
    group = known.find(PodGroup, found.key)
    if group is None or group_from_pod_group(group).gang:
        return found
    owned = next((one for source in OWNED if (one := source.find(pod)) is not None), None)
    job = None if owned is None or owned.source != JOB else known.find(Job, owned.key)
    return found if job is None or job.spec.scheduling is not None else owned


def quorum_of(id: GroupId, members: Members, objects: Objects) -> int | None:
    """How many members a group takes. None where nobody says, or where they contradict each other."""
    return _BY_TITLE[id.source].quorum(id, members, objects)
