"""Parties as objects of the API, for `decide`."""

import msgspec

from maitred.model.group import TOPOLOGY_REQUIRED, GangPolicy, PodGroup, PodGroupSpec, SchedulingPolicy
from maitred.model.meta import ObjectMeta
from maitred.model.pod import Pod, SchedulingGroup
from maitred.simulate.clock import moment
from maitred.simulate.jobs import Job
from maitred.simulate.party import Party

NAMESPACE = "simulation"


def is_lone(job: Job) -> bool:
    return job.members == 1


def group_key(job: Job) -> str:
    return f"{NAMESPACE}/{job.name}"


def pod_name(job: Job, member: int) -> str:
    return job.name if is_lone(job) else f"{job.name}-{member}"


def pod_key(job: Job, member: int) -> str:
    return f"{NAMESPACE}/{pod_name(job, member)}"


def pod_group(job: Job) -> PodGroup:
    marks = {TOPOLOGY_REQUIRED: job.within} if job.within else {}
    return PodGroup(
        ObjectMeta(name=job.name, namespace=NAMESPACE, annotations=marks),
        PodGroupSpec(scheduling_policy=SchedulingPolicy(gang=GangPolicy(job.quorum)), priority=job.priority),
    )


def pod(party: Party, member: int) -> Pod:
    """On the node of its seat, if it has one."""
    job = party.job
    name = pod_name(job, member)
    spec = msgspec.structs.replace(
        job.crew_of[member].spec,
        node_name=party.seats[member],
        priority=job.priority,
        scheduling_group=None if is_lone(job) else SchedulingGroup(job.name),
    )
    metadata = ObjectMeta(
        name=name,
        namespace=NAMESPACE,
        uid=f"{name}.{party.births[member]}",
        creation_timestamp=moment(party.created[member]),
    )
    return Pod(metadata, spec)
