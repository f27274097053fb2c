"""The JobSet of a TrainJob, as Kubeflow Trainer 2.2 makes it from a training runtime."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from maitred.model.operators.jobset import TRAIN_JOB_CONTROLLER, JobSet, JobSetSpec, TrainJob
from maitred.model.operators.pods.jobs import of_job_set
from maitred.model.operators.pods.replicas import MissingObject, Replicas, made, other_manager
from maitred.model.operators.runtimes import (
    AnyRuntime,
    ClusterTrainingRuntime,
    RuntimeJob,
    RuntimeTemplate,
    TrainingPolicy,
    TrainingRuntime,
)
from maitred.model.owner_chain import Found

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
"""On a replicated job of a runtime: which step of the TrainJob it is."""
TRAINER, NODE = "trainer", "node"
STEPS = (TRAINER, "dataset-initializer", "model-initializer")
"""Of these the Trainer makes one Job each."""
MERGED_BY = {"replicatedJobs": "name", "volumes": "name", "schedulingGates": "name"}
"""Lists whose items are merged by a key when Kubernetes patches them; others are replaced."""


def of_train_job(train_job: TrainJob, known: Found | None, version: str = "") -> Iterator[Replicas]:
    manager = other_manager(train_job.spec.managed_by, TRAIN_JOB_CONTROLLER, "spec.managedBy")
    job_set = job_set_of(train_job, known, version)
    for part in of_job_set(job_set, known):
        yield replace(
            part,
            between=(*part.between, job_set),
            manager=manager or part.manager,
            deadline=part.deadline or train_job.spec.active_deadline_seconds,
            field=f"spec.runtimeRef ({runtime_name(train_job)})",
            count_field="spec.trainer.numNodes",
        )


def runtime_name(train_job: TrainJob) -> str:
    ref = train_job.spec.runtime_ref
    return f"{ref.kind} {ref.name}"


def runtime_of(train_job: TrainJob, known: Found | None) -> AnyRuntime:
    """Raises MissingObject."""
    ref, namespace = train_job.spec.runtime_ref, train_job.metadata.namespace or "default"
    found: AnyRuntime | None = None
    if known is not None and ref.kind == "TrainingRuntime":
        found = known.find(TrainingRuntime, f"{namespace}/{ref.name}")
    elif known is not None:
        found = known.find(ClusterTrainingRuntime, ref.name)
    if found is None:
        raise MissingObject(runtime_name(train_job))
    return found


def job_set_of(train_job: TrainJob, known: Found | None, version: str = "") -> JobSet:
    """The JobSet that the TrainJob has, or the one that it will have. Raises MissingObject."""
    about = made(JobSet, train_job.metadata.name, train_job, known, version)
    if about.uid and known is not None:
        existing = known.find(JobSet, f"{about.namespace or 'default'}/{about.name}", about.uid)
        if existing is not None:
            return existing
    runtime = runtime_of(train_job, known)
    template = patched(train_job, runtime.spec.template)
    jobs = tuple(stepped(train_job, runtime.spec.ml_policy, job) for job in template.spec.replicated_jobs)
    spec = msgspec.structs.replace(template.spec, replicated_jobs=jobs, suspend=False)
    metadata = msgspec.structs.replace(
        about, labels=template.metadata.labels, annotations=template.metadata.annotations
    )
    return JobSet(metadata, msgspec.convert(msgspec.to_builtins(spec), JobSetSpec))


def stepped(train_job: TrainJob, policy: TrainingPolicy | None, job: RuntimeJob) -> RuntimeJob:
    """One replicated job, with as many pods and the resources that the TrainJob asks for."""
    step, spec = job.template.metadata.labels.get(ANCESTOR), job.template.spec
    count = nodes(train_job, policy, job, step)
    pods, asked = spec.template, train_job.spec.trainer.resources_per_node
    as_node = policy is not None and policy.mpi is not None and policy.mpi.run_launcher_as_node
    if asked is not None and (step == TRAINER or (as_node and job.name == NODE)):
        containers = tuple(
            msgspec.structs.replace(one, resources=asked) if one.name == NODE else one
            for one in pods.spec.containers
        )
        pods = msgspec.structs.replace(pods, spec=msgspec.structs.replace(pods.spec, containers=containers))
    spec = msgspec.structs.replace(spec, parallelism=count, completions=count, template=pods)
    template = msgspec.structs.replace(job.template, spec=spec)
    replicas = 1 if step in STEPS else job.replicas
    return msgspec.structs.replace(job, replicas=replicas, template=template)


def nodes(train_job: TrainJob, policy: TrainingPolicy | None, job: RuntimeJob, step: str | None) -> int:
    """Pods of one replicated job. With MPI, the number in a TrainJob is that of nodes, not of launchers."""
    asked, own = train_job.spec.trainer.num_nodes, job.template.spec.parallelism
    mpi = None if policy is None else policy.mpi
    if mpi is not None and job.name == NODE and asked is not None:
        return max(asked - 1, 1) if mpi.run_launcher_as_node else asked
    if step == TRAINER and mpi is None and asked is not None:
        return asked
    if step == TRAINER and policy is not None:
        return 1 if policy.num_nodes is None else policy.num_nodes
    return 1 if own is None else max(0, own)


# -- patches -----------------------------------------------------------------------------------------------


def patched(train_job: TrainJob, template: RuntimeTemplate) -> RuntimeTemplate:
    if not train_job.spec.runtime_patches:
        return template
    body = msgspec.to_builtins(template)
    for patch in train_job.spec.runtime_patches:
        body = merged(body, msgspec.to_builtins(patch.training_runtime_spec.template))
    return msgspec.convert(body, RuntimeTemplate)


def merged(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for key, value in patch.items():
        before = found.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            found[key] = merged(before, value)
        elif isinstance(before, list | tuple) and key in MERGED_BY:
            found[key] = merged_items(before, value, key)
        else:
            found[key] = value
    return found


def merged_items(base: Any, patch: Any, field: str) -> list[Any]:
    """A replicated job that the runtime does not have cannot be patched; other items are added."""
    key = MERGED_BY[field]
    changes = {one[key]: one for one in patch}
    kept = [merged(one, changes.pop(one[key])) if one[key] in changes else one for one in base]
    return kept if field == "replicatedJobs" else [*kept, *changes.values()]
