"""Which of the pods of an owner are still to be made, or to be made again, and how they are described before
they have passed admission."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from maitred.model.job import Job, failed_indexes, succeeded_indexes
from maitred.model.kinds import row_of
from maitred.model.objects import Object
from maitred.model.operators.pods.replicas import Replicas
from maitred.model.owner_chain import Found
from maitred.model.pod import PodSpec

HOSTNAME = "kubernetes.io/hostname"


def numbers_of(one: Object, replicas: Replicas, known: Found) -> Iterator[int]:
    """The pods by their numbers, without those that are done, as far as their Job says so."""
    job = one if isinstance(one, Job) else job_of(replicas, known)
    numbers = range(replicas.first, replicas.first + replicas.count)
    if job is None:
        return iter(numbers)
    if job.spec.completion_mode == "Indexed":
        # The first of a Job may come from another template than the rest of them.
        end = replicas.first + replicas.count if replicas.first + replicas.count < job.members else None
        wanted = islice(open_indexes(job), job.members)
        return (number for number in wanted if replicas.first <= number and (end is None or number < end))
    if job.spec.completions is None and job.status.succeeded:
        return iter(())  # one that has succeeded is enough, and no more are made
    return iter(numbers[: job.members])


def job_of(replicas: Replicas, known: Found) -> Job | None:
    """The Job that has made such pods before, and is still there."""
    owner = replicas.owner
    if row_of(Job).name != owner.kind or not owner.uid:
        return None
    return known.find(Job, f"{replicas.namespace or 'default'}/{owner.name}", owner.uid)


def open_indexes(job: Job) -> Iterator[int]:
    """Those that have neither succeeded nor failed for good, lowest first."""
    done = sorted(succeeded_indexes(job) + failed_indexes(job))
    index, end = 0, job.spec.completions or 0
    for first, last in done:
        yield from range(index, min(first, end))
        index = max(index, first, last + 1)
    yield from range(index, end)


def before_admission(spec: PodSpec) -> PodSpec:
    """What a template says that can be believed. Its priority is that of its class: a number in a template is
    not looked at. It has no gates: who lifts them waits for pods, and these would wait for that."""
    pinned = {HOSTNAME: spec.node_name} if spec.node_name else {}
    return msgspec.structs.replace(
        spec,
        scheduling_gates=(),
        priority=None,
        preemption_policy="",
        node_selector={**spec.node_selector, **pinned},
        node_name="",
    )
