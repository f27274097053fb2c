"""What to write so that the pods of a workload are one gang, as the cluster at hand wants it said."""

from maitred.cluster.groupapi import GroupApi
from maitred.model.group import GROUP, MIN_COUNT
from maitred.model.owners import BATCH_JOB, REPLICA_SET
from maitred.model.words import counted

SERVICES = frozenset(("Deployment", REPLICA_SET.title, "ReplicationController", "DaemonSet"))
"""Kinds whose pods serve one by one: nobody needs to be told how to make a gang of them."""
POLICY = "spec.scheduling.schedulingPolicy.gang.minCount"


def marks_words(name: str, count: int) -> str:
    return f"set {GROUP}: {name} and {MIN_COUNT}: {str(count)!r} in its pod template"


def gang_advice(api: GroupApi, kind: str, name: str, count: int) -> str:
    """How its pods become one gang. `kind` is that of what makes them, as `OwnerKind.title` has it."""
    marks = marks_words(name, count)
    if kind != BATCH_JOB.title or api.served is False:
        return marks
    scheduling = f"write {POLICY}: {count}"
    if api.jobs == "1.37":
        return f"{scheduling}; this cluster makes a PodGroup of each Job, which {GROUP} would contradict"
    if api.jobs == "1.36":
        return (
            f"write completionMode: Indexed with parallelism and completions of {count}: this cluster makes "
            f"a PodGroup of such a Job, which {GROUP} would contradict"
        )
    return (
        f"{marks}; where the cluster makes PodGroups of Jobs (Kubernetes 1.37 with WorkloadWithJob), "
        f"{scheduling} instead, because both together are not valid"
    )


def contradiction(api: GroupApi, kind: str, group: str, at_once: bool) -> str:
    """Why a Job whose pods name a group by marks is never seated where the Job controller makes PodGroups;
    empty where it does not do that for this Job."""
    makes = api.jobs == "1.37" or (api.jobs == "1.36" and at_once)
    if kind != BATCH_JOB.title or not makes:
        return ""
    instead = f"remove {GROUP} and {MIN_COUNT}"
    said = f"{instead}, and write {POLICY} if it is a gang" if api.jobs == "1.37" else instead
    return (
        f"would be Invalid: this cluster makes a PodGroup of the Job, and its pods name group {group} by "
        f"{GROUP} too; {said}"
    )


def gang_by_itself(api: GroupApi, kind: str, at_once: bool, count: int) -> str:
    """What Kubernetes 1.36 makes of a Job all of whose indexes run at once; else empty."""
    if kind != BATCH_JOB.title or api.jobs != "1.36" or not at_once:
        return ""
    return (
        f"this cluster makes it a gang without further settings: no pod starts before all "
        f"{counted(count, 'pod')} can"
    )
