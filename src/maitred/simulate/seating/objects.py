"""Groups as objects of the API, for `decide`."""

from functools import lru_cache

import msgspec

from maitred.model.container_status import (
    ContainerState,
    ContainerStatus,
    DeviceReport,
    DeviceReports,
    EndedContainer,
)
from maitred.model.group import TOPOLOGY_REQUIRED, GangPolicy, PodGroup, PodGroupSpec, SchedulingPolicy
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.pod import Pod, PodStatus, SchedulingGroup
from maitred.model.protection import CHECKPOINT_INTERVAL, MIN_RUNTIME, NON_PREEMPTIBLE
from maitred.model.queues import QUEUE, USER
from maitred.simulate.clock import SECOND, Time, moment
from maitred.simulate.group import Crash, SimulatedGroup
from maitred.simulate.jobs import SimulatedJob

NAMESPACE = "simulation"
LEAST_INTERVAL = SECOND // 1000
"""Between two checkpoints: for jobs that save all the time."""
NOTHING_SAID: dict[str, str] = {}
DEVICE = "nvidia.com/gpu"
WAITING = PodStatus()


def is_lone(job: SimulatedJob) -> bool:
    return job.members == 1


def group_key(job: SimulatedJob) -> str:
    return f"{NAMESPACE}/{job.name}"


def pod_name(job: SimulatedJob, member: int) -> str:
    return job.name if is_lone(job) else f"{job.name}-{member}"


def pod_key(job: SimulatedJob, member: int) -> str:
    return f"{NAMESPACE}/{pod_name(job, member)}"


def pod_group(job: SimulatedJob) -> PodGroup:
    marks = {TOPOLOGY_REQUIRED: job.within} if job.within else {}
    return PodGroup(
        ObjectMeta(name=job.name, namespace=NAMESPACE, annotations={**marks, **protection_of(job)}),
        PodGroupSpec(
            scheduling_policy=SchedulingPolicy(gang=GangPolicy(job.quorum)),
            disruption_mode=job.disruption,
            priority=job.priority,
        ),
    )


def annotations_of(job: SimulatedJob) -> dict[str, str]:
    """Of each of its pods."""
    marks = protection_of(job) if is_lone(job) else NOTHING_SAID
    return {**marks, USER: job.user} if job.user else marks


def protection_of(job: SimulatedJob) -> dict[str, str]:
    """What a job says about being evicted."""
    return protection(job.checkpoint, job.min_run_time, job.non_preemptible)


@lru_cache(maxsize=1024)
def protection(checkpoint: Time | None, min_run_time: Time, non_preemptible: bool) -> dict[str, str]:
    marks = {}
    if checkpoint is not None:
        marks[CHECKPOINT_INTERVAL] = written(max(checkpoint, LEAST_INTERVAL))
    if min_run_time:
        marks[MIN_RUNTIME] = written(min_run_time)
    if non_preemptible:
        marks[NON_PREEMPTIBLE] = "true"
    return marks


def written(time: Time) -> str:
    return f"{time / SECOND:.6f}s"


def pod(group: SimulatedGroup, member: int) -> Pod:
    """On the node of its seat, if it has one."""
    job, leaves = group.job, group.leaving.get(member)
    name = pod_name(job, member)
    spec = msgspec.structs.replace(
        job.crew_of[member].spec,
        node_name=group.seats[member],
        active_deadline_seconds=deadline_of(group, member),
        priority=job.priority,
        scheduling_group=None if is_lone(job) else SchedulingGroup(job.name),
    )
    metadata = ObjectMeta(
        name=name,
        namespace=NAMESPACE,
        uid=f"{name}.{group.births[member]}",
        creation_timestamp=moment(group.created[member]),
        deletion_timestamp=None if leaves is None else moment(leaves),
        labels={QUEUE: job.queue} if job.queue else NOTHING_SAID,
        annotations=annotations_of(job),
        owner_references=(owner(job.name),) if group.owned else (),
    )
    return Pod(metadata, spec, status_of(group, member))


def deadline_of(group: SimulatedGroup, member: int) -> int | None:
    """It counts from its start, by which its start-up is over."""
    limit = group.job.limit
    if limit is None:
        return None
    counted = limit if group.starts[member] is None else limit - group.job.start_up
    return max(1, -(-counted // SECOND))


@lru_cache(maxsize=1024)
def owner(name: str) -> OwnerReference:
    """Of no kind that Kubernetes knows."""
    return OwnerReference("Gang", name, name, controller=True, api_version="simulation.maitred.dev/v1")


def status_of(group: SimulatedGroup, member: int) -> PodStatus:
    """It starts when it begins to work: that is what it may lose."""
    crash, starts = group.crashed.get(member), group.starts[member]
    if crash is not None:
        return PodStatus(phase="Running", container_statuses=(container_status(crash),))
    if starts is not None:
        return PodStatus(start_time=moment(starts))
    return PodStatus(nominated_node_name=group.nominated[member]) if member in group.nominated else WAITING


def container_status(crash: Crash) -> ContainerStatus:
    """As a kubelet tells of it that reports the health of devices."""
    reports = (DeviceReports(DEVICE, (DeviceReport("device", "Unhealthy"),)),) if crash.by_device else ()
    ended = EndedContainer(exit_code=1, reason="Error", finished_at=moment(crash.at))
    return ContainerStatus(state=ContainerState(terminated=ended), allocated_resources_status=reports)
