"""The pods that an owner will make when it is resumed: from which templates, how many, and with which labels.

Its user may write any number there, so it is always asked for so many pods at most.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from maitred.model.job import Job, JobSpec, PodTemplate, index_ranges
from maitred.model.kinds import row_of
from maitred.model.meta import OwnerReference, controller_of, key_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import JOB_INDEX, JOB_SET_NAME, REPLICATED_JOB, JobSet, TrainJob
from maitred.model.operators.ray import CLUSTER, NODE_TYPE, WORKER_GROUP, RayCluster, RayClusterSpec, RayJob
from maitred.model.selector import Labels
from maitred.model.training import JOB_NAME, REPLICA_INDEX, REPLICA_TYPE, MPIJob, PyTorchJob

INDEX = "batch.kubernetes.io/job-completion-index"

T = TypeVar("T", bound=Object)
Find = Callable[[type[T], str], T | None]


@dataclass(frozen=True, slots=True)
class ComingPods:
    """Pods that come from one template."""

    template: PodTemplate
    numbers: tuple[int, ...]
    maker: OwnerReference
    """Their controller; an owner above it, where that is made anew as well."""
    labels: Labels
    number_label: str = ""
    """The label, and annotation, that tells the pods apart."""


class Objects:
    """The objects that are known."""

    def __init__(self, find: Callable[[type[Object], str], Object | None]) -> None:
        self._find = find

    def below(self, owner: Object, kind: type[T], key: str) -> T | None:
        """An object of this kind and name, if the owner controls it."""
        found = self._find(kind, key)
        controller = None if found is None else controller_of(found.metadata)
        if not isinstance(found, kind) or controller is None or controller.uid != owner.metadata.uid:
            return None
        return found


def coming_pods(one: Object, known: Objects, most: int) -> list[ComingPods]:
    """So many pods at most."""
    found = list[ComingPods]()
    for coming in _of_owner(one, known, most):
        numbers = coming.numbers[: most - sum(len(each.numbers) for each in found)]
        if not numbers:
            break
        found.append(ComingPods(coming.template, numbers, coming.maker, coming.labels, coming.number_label))
    return found


def _of_owner(one: Object, known: Objects, most: int) -> Iterator[ComingPods]:
    if isinstance(one, Job):
        yield _of_job(one, most)
    elif isinstance(one, JobSet):
        yield from _of_job_set(one, known, most)
    elif isinstance(one, TrainJob):
        below = known.below(one, JobSet, key_of(one.metadata))
        yield from () if below is None else _of_job_set(below, known, most)
    elif isinstance(one, RayCluster):
        yield from _of_ray(one, one.spec, one.metadata.name, most)
    elif isinstance(one, RayJob) and one.spec.ray_cluster_spec is not None:
        name = one.status.ray_cluster_name or one.metadata.name
        yield from _of_ray(one, one.spec.ray_cluster_spec, name, most)
    elif isinstance(one, PyTorchJob | MPIJob):
        yield from _of_roles(one, most)


def _of_job(job: Job, most: int) -> ComingPods:
    spec, wanted = job.spec, min(job.members, most)
    if spec.completion_mode == "Indexed":
        numbers, label = tuple(islice(open_indexes(job), wanted)), INDEX
    elif spec.completions is None and job.status.succeeded:
        numbers, label = (), ""  # one that has succeeded is enough, and no more are made
    else:
        numbers, label = tuple(range(wanted)), ""
    return ComingPods(spec.template, numbers, reference_to(job), {}, label)


def open_indexes(job: Job) -> Iterator[int]:
    """Those that have neither succeeded nor failed for good, lowest first."""
    done = sorted(index_ranges(job.status.completed_indexes) + index_ranges(job.status.failed_indexes))
    index, end = 0, job.spec.completions or 0
    for first, last in done:
        yield from range(index, min(first, end))
        index = max(index, first, last + 1)
    yield from range(index, end)


def _of_job_set(one: JobSet, known: Objects, most: int) -> Iterator[ComingPods]:
    name, succeeded = (
        one.metadata.name,
        {said.name: said.succeeded for said in one.status.replicated_jobs_status},
    )
    for several in one.spec.replicated_jobs:
        spec, left = several.template.spec, several.replicas - succeeded.get(several.name, 0)
        size = _size(spec)
        for number in range(min(left, most) if size else 0):
            labels = {JOB_SET_NAME: name, REPLICATED_JOB: several.name, JOB_INDEX: str(number)}
            job = known.below(one, Job, f"{key_of(one.metadata)}-{several.name}-{number}")
            label = INDEX if spec.completion_mode == "Indexed" else ""
            yield ComingPods(
                spec.template, tuple(range(min(size, most))), reference_to(job or one), labels, label
            )


def _size(spec: JobSpec) -> int:
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return max(0, parallelism if spec.completions is None else min(parallelism, spec.completions))


def _of_ray(one: Object, spec: RayClusterSpec, name: str, most: int) -> Iterator[ComingPods]:
    maker = reference_to(one)
    yield ComingPods(spec.head_group_spec.template, (0,), maker, {CLUSTER: name, NODE_TYPE: "head"})
    for several in spec.worker_group_specs:
        if not several.suspend:
            labels = {CLUSTER: name, NODE_TYPE: "worker", WORKER_GROUP: several.group_name}
            wanted = min(several.wanted * several.num_of_hosts, most)
            yield ComingPods(several.template, tuple(range(wanted)), maker, labels)


def _of_roles(one: PyTorchJob | MPIJob, most: int) -> Iterable[ComingPods]:
    for role, spec in one.spec.roles.items():
        labels = {JOB_NAME: one.metadata.name, REPLICA_TYPE: role.lower()}
        numbers = tuple(range(min(spec.replicas, most)))
        yield ComingPods(spec.template, numbers, reference_to(one), labels, REPLICA_INDEX)


def reference_to(one: Object) -> OwnerReference:
    row = row_of(type(one))
    return OwnerReference(
        row.name, one.metadata.name, one.metadata.uid, controller=True, api_version=row.api_versions[0]
    )
