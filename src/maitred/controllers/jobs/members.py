"""The members that a suspended Job would have: made from its template, as its controller would make them.

They stand in the state for pods that do not exist, so that the group keeps its turn and its age while it is
away. Nothing is ever written about one: its name is none that the API server would accept.

A template has not passed admission, and its user may change it while the Job is away. So there are never
more stand-ins than pods left, whatever the Job asks for by now, and their priority is that of their class: a
number in a template is not looked at.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from maitred.kube.resources import JOBS
from maitred.kube.wire import WatchedJob, WatchedMeta, WatchedOwner, WatchedPod, WatchedPodStatus
from maitred.model.job import failed_indexes, succeeded_indexes
from maitred.model.membership import group_from_job, words_of_template
from maitred.model.pod import PodSpec, SchedulingGroup
from maitred.model.suspension import Suspension

INDEX = "batch.kubernetes.io/job-completion-index"
HOSTNAME = "kubernetes.io/hostname"
MOST_ALONE = 64
"""Pods that are in no group are seated one by one, and the Job is resumed as soon as one of them fits. So
many stand for all of them, however many they are."""


def number_of_stand_ins(job: WatchedJob, record: Suspension) -> int:
    """At most; fewer where indexes are done."""
    wanted = min(job.members, record.members)
    said = words_of_template(job)
    grouped = record.pod_group or said.names_a_group or group_from_job(job, "gang") is not None
    return wanted if grouped else min(wanted, MOST_ALONE)


def stand_ins(job: WatchedJob, record: Suspension, scheduler: str) -> list[WatchedPod]:
    """The pods that the Job would make if it were resumed now; the scheduler is the one to decide of them."""
    member = members_of(job, spec_of(job, record, scheduler))
    wanted = number_of_stand_ins(job, record)
    if job.spec.completion_mode == "Indexed":
        return [member(index, str(index)) for index in islice(open_indexes(job), wanted)]
    if job.spec.completions is None and job.status.succeeded:
        return []  # one that has succeeded is enough, and no more are made
    return [member(number, "") for number in range(wanted)]


def members_of(job: WatchedJob, spec: PodSpec) -> Callable[[int, str], WatchedPod]:
    """How its members are made. They share whatever is alike in them, so that each takes little room."""
    meta, template = job.metadata, job.spec.template.metadata
    owner = WatchedOwner(JOBS.kind, meta.name, meta.uid, controller=True, api_version=JOBS.api_version)
    owners, status = (owner,), WatchedPodStatus(phase="Pending")

    def member(number: int, index: str) -> WatchedPod:
        indexed = {INDEX: index}
        return WatchedPod(
            metadata=WatchedMeta(
                name=f"{meta.name}:{number}",
                namespace=meta.namespace,
                uid=f"{meta.uid}:{number}",
                creation_timestamp=meta.creation_timestamp,
                labels={**template.labels, **indexed} if index else template.labels,
                annotations={**template.annotations, **indexed} if index else template.annotations,
                owner_references=owners,
            ),
            spec=spec,
            status=status,
        )

    return member


def spec_of(job: WatchedJob, record: Suspension, scheduler: str) -> PodSpec:
    """Without gates: who lifts them waits for pods, and the pods would wait for the gates to be lifted."""
    spec = job.spec.template.spec
    group = SchedulingGroup(record.pod_group) if record.pod_group else spec.scheduling_group
    pinned = {HOSTNAME: spec.node_name} if spec.node_name else {}
    return msgspec.structs.replace(
        spec,
        scheduler_name=scheduler,
        scheduling_group=group,
        scheduling_gates=(),
        priority=None,
        preemption_policy="",
        node_selector={**spec.node_selector, **pinned},
        node_name="",
    )


def open_indexes(job: WatchedJob) -> Iterator[int]:
    """Those that have neither succeeded nor failed for good, lowest first."""
    done = sorted(succeeded_indexes(job) + failed_indexes(job))
    index, end = 0, job.spec.completions or 0
    for first, last in done:
        yield from range(index, min(first, end))
        index = max(index, first, last + 1)
    yield from range(index, end)
