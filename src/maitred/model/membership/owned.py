"""Groups that have no name: pods of one owner, if it is of a kind whose pods need each other."""

from collections.abc import Iterable

import msgspec

from maitred.model import training
from maitred.model.group import Group, Marks
from maitred.model.job import Job
from maitred.model.membership.jobs import group_from_job
from maitred.model.membership.source import (
    Decided,
    GroupId,
    Members,
    Membership,
    Objects,
    Source,
    in_namespace,
)
from maitred.model.meta import ObjectMeta, OwnerReference, mark
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.pod import Pod
from maitred.model.training import PyTorchJob

JOB_SET, RAY, JOB, TRAINING = "JobSet", "Ray", "Job", "Kubeflow"
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
RAY_CLUSTER, RAY_GANG = "ray.io/cluster", "ray.io/gang-scheduling-enabled"


def by_job_set(pod: Pod) -> Membership | None:
    name = mark(pod.metadata, JOB_SET_NAME)
    return Membership(GroupId(JOB_SET, in_namespace(pod.metadata, name))) if name else None


def by_ray_cluster(pod: Pod) -> Membership | None:
    name = mark(pod.metadata, RAY_CLUSTER)
    if not name or mark(pod.metadata, RAY_GANG) is None:
        return None
    return Membership(GroupId(RAY, in_namespace(pod.metadata, name)))


def by_job(pod: Pod) -> Membership | None:
    return of_controller(JOB, pod.metadata, (BATCH_JOB.title,))


def by_training_job(pod: Pod) -> Membership | None:
    return of_controller(TRAINING, pod.metadata, training.KINDS)


def of_controller(source: str, about: ObjectMeta, kinds: tuple[str, ...]) -> Membership | None:
    for owner in about.owner_references:
        if owner.controller and kind_of(owner) in kinds:
            return of_owner(source, about, owner)
    return None


def of_owner(source: str, about: ObjectMeta, owner: OwnerReference) -> Membership:
    return Membership(GroupId(source, in_namespace(about, owner.name), owner.uid))


# -- quorums -----------------------------------------------------------------------------------------------


def quorum_of_job(id: GroupId, members: Members, known: Objects) -> int | None:
    """Of members that succeeded and whose pods were removed since, the status of the Job knows."""
    job = known.find(Job, id.key, id.uid)
    if job is None:
        return None
    group = group_from_job(job, "gang")
    if group is None:
        return 1
    removed = max(0, job.status.succeeded - members.succeeded_and_kept)
    return max(group.quorum - removed, 1)


def group_of_job(key: str, _: Iterable[Marks], declared: Group | None) -> Group:
    return declared or Group(key, exists=False, origin=f"Job {key}")


def of_another_job(pod: Pod, name: str) -> Pod:
    owners = (
        msgspec.structs.replace(owner, name=name) if owner.controller else owner
        for owner in pod.metadata.owner_references
    )
    about = msgspec.structs.replace(pod.metadata, owner_references=tuple(owners))
    return msgspec.structs.replace(pod, metadata=about)


def quorum_of_job_set(id: GroupId, members: Members, known: Objects) -> int:
    """All pods of all Jobs of the set that may have any; those that succeeded count as members."""
    jobs = known.jobs_marked(JOB_SET_NAME).get(id.key, ())
    wanted = sum(job.members for job in jobs if not job.spec.suspend)
    return wanted + members.succeeded if wanted else members.there


def quorum_of_training(id: GroupId, members: Members, known: Objects) -> int:
    job = known.find(PyTorchJob, id.key, id.uid)
    return (None if job is None else job.spec.quorum) or members.there


def all_there(_: GroupId, members: Members, __: Objects) -> int:
    """Who makes such pods makes all of them."""
    return members.there


OWNED = (
    Source(JOB_SET, (JOB_SET_NAME,), by_job_set, quorum_of_job_set),
    Source(RAY, (RAY_CLUSTER, RAY_GANG), by_ray_cluster, all_there),
    Source(JOB, (), by_job, quorum_of_job, Decided(group=group_of_job, renamed=of_another_job)),
    Source(TRAINING, (), by_training_job, quorum_of_training),
)
