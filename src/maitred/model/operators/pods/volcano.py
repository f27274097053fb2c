"""The pods and the PodGroup of Volcano's Jobs, as Volcano 1.10 makes them."""

from collections.abc import Iterator

import msgspec

from maitred.model.meta import ObjectMeta
from maitred.model.operators.podgroups import VolcanoPodGroup, VolcanoPodGroupSpec
from maitred.model.operators.pods.replicas import After, Replicas, made, marked, reference
from maitred.model.operators.volcano import Task, VolcanoJob
from maitred.model.owner_chain import Found
from maitred.model.pod import DEFAULT_SCHEDULER

PREFIX = "volcano.sh/"
GROUP_NAME = "scheduling.k8s.io/group-name"
FORWARDED = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
"""Annotations of a Job that its pods get as well."""


def of_volcano_job(job: VolcanoJob, known: Found | None, version: str = "") -> Iterator[Replicas]:
    group = pod_group_of(job, known)
    for position, task in enumerate(job.spec.tasks):
        if task.replicas:
            yield of_task(job, group, task, position, version)


def of_task(job: VolcanoJob, group: VolcanoPodGroup, task: Task, position: int, version: str) -> Replicas:
    name, namespace = job.metadata.name, job.metadata.namespace
    role, path = task_name(task, position), f"spec.tasks[{position}]"
    labels = {
        f"{PREFIX}job-name": name,
        f"{PREFIX}task-spec": role,
        f"{PREFIX}job-namespace": namespace,
        f"{PREFIX}queue-name": job.spec.queue,
    }
    annotations = {
        f"{PREFIX}job-name": name,
        f"{PREFIX}task-spec": role,
        f"{PREFIX}queue-name": job.spec.queue,
        GROUP_NAME: group.metadata.name,
        **{key: job.metadata.annotations[key] for key in FORWARDED if key in job.metadata.annotations},
    }
    template = marked(task.template, labels, annotations)
    scheduler = template.spec.scheduler_name
    if scheduler == DEFAULT_SCHEDULER and job.spec.scheduler_name:
        spec = msgspec.structs.replace(template.spec, scheduler_name=job.spec.scheduler_name)
        template = msgspec.structs.replace(template, spec=spec)
    return Replicas(
        role=role,
        template=template,
        count=task.replicas,
        namespace=namespace,
        owner=reference(job, version),
        name=lambda index: f"{name}-{role}-{index}",
        labels=lambda index: {f"{PREFIX}task-index": str(index)},
        annotations=lambda index: {f"{PREFIX}task-index": str(index)},
        between=(group,),
        after=After.READY if task.depends_on.name else After.NOTHING,
        field=f"{path}.template",
        count_field=f"{path}.replicas",
    )


def task_name(task: Task, position: int) -> str:
    return task.name or f"default{position}"


def pod_group_of(job: VolcanoJob, known: Found | None) -> VolcanoPodGroup:
    """Volcano makes it with the Job: it says how many of the pods must start together."""
    name, spec = job.metadata.name, job.spec
    about: ObjectMeta = made(VolcanoPodGroup, f"{name}-{job.metadata.uid}".rstrip("-"), job, known)
    least = {
        task_name(task, position): task.replicas if task.min_available is None else task.min_available
        for position, task in enumerate(spec.tasks)
    }
    return VolcanoPodGroup(
        about,
        VolcanoPodGroupSpec(
            min_member=spec.min_available or sum(least.values()),
            min_task_member=least,
            queue=spec.queue,
            priority_class_name=spec.priority_class_name,
            network_topology=spec.network_topology,
        ),
    )
