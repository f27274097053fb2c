"""Pods that come later: their controller creates them once others of the same owner are scheduled or ready.

They are groups of their own (see `stages`), so that no gang waits for pods that wait for it. But the first
ones are of no use without them, so the first ones are seated only where there is room for all, and the room
is kept until the others come. What is here says which pods these are, from the templates of the owner.

Pods that are created once others are complete are not reckoned with: those others have left by then.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from maitred.model.group import Group
from maitred.model.membership.owners import group_from_owners
from maitred.model.membership.source import JOB, RAY_CLUSTER, GroupId
from maitred.model.membership.stages import SUBMITTER
from maitred.model.membership.words import said_by
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators import jobset
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.pods import After, MissingObject, Replicas, pods_of
from maitred.model.operators.pods.remaining import numbers_of
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.owner_chain import Found, owners_above
from maitred.model.suspending import row_of_suspendable

MOST_LATER = 5_000
"""Pods of one owner. A user may ask for two thousand million; where it is more, the first so many count."""
IN_TIME = (After.SCHEDULED, After.READY)


@dataclass(frozen=True, slots=True)
class ComingPods:
    """Pods of one controller."""

    replicas: Replicas
    numbers: frozenset[int]
    """Those that are not done: indexes, where the pods have some."""
    level: str = ""
    """They must be in one domain of this level with the first pod of the same controller."""


@dataclass(frozen=True, slots=True)
class LaterGroup:
    id: GroupId
    group: Group
    before: tuple[GroupId, ...]
    """The groups whose pods must be scheduled or ready first."""
    pods: list[ComingPods] = field(default_factory=list)
    beside: bool = False
    """All of it must be in one domain with the group before it, of the level that its topology names."""


def later_groups(owner: Object, known: Found) -> list[LaterGroup]:
    """The groups that come later, in the order in which their pods are created. Which of the pods are there
    already is not looked at; those that have ended are left out."""
    row = row_of_suspendable(type(owner))
    if owner.metadata.deletion_timestamp is not None or (row is not None and row.is_over(owner)):
        return []
    found, left = dict[GroupId, LaterGroup](), MOST_LATER
    try:
        for replicas in islice(pods_of(owner, known), MOST_LATER):
            if replicas.after not in IN_TIME or replicas.manager is not None or not left:
                continue
            numbers = frozenset(islice(numbers_of(owner, replicas, known), left))
            made = _group_of(owner, replicas, known)
            if made is not None and numbers:
                found.setdefault(made.id, made).pods.append(ComingPods(replicas, numbers, _level(replicas)))
                left -= len(numbers)
    except MissingObject:
        return []  # nothing is known of its pods
    return list(found.values())


def is_reckoned(replicas: Replicas) -> bool:
    """Whether these pods need not be there to be reckoned with: they come later, and the owner says what
    group they are in."""
    return replicas.after in IN_TIME and not said_by(replicas.pod(replicas.first)).names_a_group


def is_suspended(owner: Object) -> bool:
    row = row_of_suspendable(type(owner))
    return row is not None and row.is_suspended(owner)


def _group_of(owner: Object, replicas: Replicas, known: Found) -> LaterGroup | None:
    """None for pods that say themselves what group they are in: then it is not the owner's to say."""
    said = said_by(replicas.pod(replicas.first))
    if said.names_a_group:
        return None
    if isinstance(owner, RayJob):
        return _submitter(owner, replicas, known)
    made = group_from_owners(said, (*replicas.between, owner, *owners_above(owner.metadata, known)))
    if made is None:
        return None
    beside = isinstance(owner, LeaderWorkerSet) and bool(made.group.topology.required)
    return LaterGroup(made.id, made.group, made.before, beside=beside)


def _submitter(owner: RayJob, replicas: Replicas, known: Found) -> LaterGroup | None:
    """The pod that submits the job is a group of one. Once the job has a status beyond these it is there."""
    if owner.status.job_deployment_status not in ("", "Initializing"):
        return None
    namespace = owner.metadata.namespace or "default"
    cluster = known.find(RayCluster, f"{namespace}/{owner.status.ray_cluster_name or owner.metadata.name}")
    if cluster is None:
        return None
    key = f"{namespace}/{replicas.owner.name}-{SUBMITTER}"
    before = GroupId(RAY_CLUSTER, key_of(cluster.metadata), cluster.metadata.uid)
    return LaterGroup(GroupId(JOB, key, replicas.owner.uid), Group(key), (before,))


def _level(replicas: Replicas) -> str:
    """Of the pods of a JobSet that follow the first pod of their Job."""
    about = replicas.template.metadata
    follows = replicas.first > 0 and jobset.JOB_SET_NAME in about.labels
    return about.annotations.get(jobset.EXCLUSIVE_TOPOLOGY, "") if follows else ""


def all_before(needs: Mapping[GroupId, tuple[GroupId, ...]], id: GroupId) -> Iterator[GroupId]:
    """Every group that must have its place before the pods of this one are created, the nearest first;
    `needs` are those right before each."""
    seen, left = dict[GroupId, None](), list(needs.get(id, ()))
    while left:
        one = left.pop(0)
        if one not in seen:
            seen[one] = None
            yield one
            left += needs.get(one, ())
