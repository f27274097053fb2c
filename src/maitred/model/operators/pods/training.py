"""The pods of training jobs of Kubeflow, as its training operator 1.9 and its MPI operator 0.6 make them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import msgspec

from maitred.model import training
from maitred.model.job import Job, JobSpec, PodTemplate
from maitred.model.meta import OwnerReference
from maitred.model.operators.pods.jobs import of_job
from maitred.model.operators.pods.replicas import (
    After,
    Replicas,
    made,
    marked,
    nothing,
    other_manager,
    reference,
)
from maitred.model.owner_chain import Found
from maitred.model.pod import Container, ResourceRequirements, Resources
from maitred.model.training import LAUNCHER, WORKER, MPIJob, PyTorchJob, Role, RunPolicy, TrainingJob

PREFIX = "training.kubeflow.org/"
OPERATOR_NAME, JOB_NAME, REPLICA_TYPE, REPLICA_INDEX, JOB_ROLE = (
    f"{PREFIX}{name}" for name in ("operator-name", "job-name", "replica-type", "replica-index", "job-role")
)
MASTER, MASTERS = "Master", ("master", "chief")
_KUBECTL: Resources = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
GETS_KUBECTL = ResourceRequirements(_KUBECTL, _KUBECTL)
"""Of a container that runs before that of a launcher, where the training operator makes it,"""
WAITS_FOR_MASTER = ResourceRequirements({"cpu": "50m", "memory": "10Mi"}, {"cpu": "100m", "memory": "20Mi"})
"""and of one before that of a worker that has a master."""
MPI_VERSION = "kubeflow.org/v2beta1"
"""Of MPIJobs that the MPI operator runs. The training operator runs those of v1."""


def of_training_job(field: str) -> Callable[[TrainingJob, Found | None, str], Iterator[Replicas]]:
    """`field` is where its kind has the roles."""

    def maker(job: TrainingJob, _: Found | None, version: str) -> Iterator[Replicas]:
        owner = reference(job, version)
        return of_roles(owner, job.metadata.namespace, job.spec.run_policy, job.spec.roles, field)

    return maker


def of_pytorch_job(job: PyTorchJob, _: Found | None, version: str = "") -> Iterator[Replicas]:
    for part in of_training_job("pytorchReplicaSpecs")(job, None, version):
        waits = part.role == WORKER and MASTER in job.spec.roles
        yield replace(part, template=preceded(part.template, WAITS_FOR_MASTER)) if waits else part


def of_roles(
    owner: OwnerReference, namespace: str, run: RunPolicy, roles: Mapping[str, Role], field: str
) -> Iterator[Replicas]:
    """Each role has a template; its pods are called by the job, the role and their index."""
    for role, spec in roles.items():
        if spec.replicas:
            yield of_role(owner, namespace, run, role, spec, f"spec.{field}.{role}")


def of_role(
    owner: OwnerReference, namespace: str, run: RunPolicy, role: str, spec: Role, path: str
) -> Replicas:
    kind = role.lower()
    labels = {OPERATOR_NAME: f"{owner.kind.lower()}-controller", JOB_NAME: owner.name, REPLICA_TYPE: kind}
    if kind in MASTERS:
        labels[JOB_ROLE] = "master"
    return Replicas(
        role=role,
        template=marked(spec.template, labels),
        count=spec.replicas,
        namespace=namespace,
        owner=owner,
        name=lambda index: f"{owner.name}-{kind}-{index}",
        labels=lambda index: {REPLICA_INDEX: str(index)},
        manager=other_manager(run.managed_by, training.OPERATOR, "spec.runPolicy.managedBy"),
        deadline=run.active_deadline_seconds,
        field=f"{path}.template",
        count_field=f"{path}.replicas",
    )


def preceded(template: PodTemplate, needs: ResourceRequirements) -> PodTemplate:
    """With a container that runs before the others."""
    first = (*template.spec.init_containers, Container(resources=needs))
    return PodTemplate(template.metadata, msgspec.structs.replace(template.spec, init_containers=first))


# -- MPIJobs -----------------------------------------------------------------------------------------------


def of_mpi_job(job: MPIJob, known: Found | None, version: str = "") -> Iterator[Replicas]:
    version = version or MPI_VERSION
    owner, spec = reference(job, version), job.spec
    roles = of_roles(owner, job.metadata.namespace, spec.run_policy, spec.roles, "mpiReplicaSpecs")
    for part in roles:
        if version == MPI_VERSION:
            yield from by_mpi_operator(job, part, spec.roles[part.role], known, version)
        elif part.role == LAUNCHER:
            template = preceded(part.template, GETS_KUBECTL)
            yield replace(
                part,
                template=marked(template, {JOB_ROLE: "master"}),
                count=1,
                name=lambda _: f"{owner.name}-launcher",
                labels=nothing,
            )
        else:
            yield part


def by_mpi_operator(
    job: MPIJob, part: Replicas, spec: Role, known: Found | None, version: str
) -> Iterator[Replicas]:
    """Its workers are pods, and its launcher is a Job."""
    name = job.metadata.name
    labels = {OPERATOR_NAME: "mpi-operator", JOB_NAME: name, JOB_ROLE: part.role.lower()}
    managed_by = job.spec.run_policy.managed_by
    manager = None if managed_by == training.MPI_OPERATOR else part.manager
    part = replace(part, template=marked(spec.template, labels), manager=manager)
    if part.role == WORKER:
        yield part
        return
    launcher = Job(made(Job, f"{name}-launcher", job, known, version), JobSpec(template=part.template))
    waits = job.spec.launcher_creation_policy == "WaitForWorkersReady"
    for pods in of_job(launcher):
        yield replace(
            pods,
            role=part.role,
            between=(launcher,),
            after=After.READY if waits else After.NOTHING,
            manager=part.manager,
            deadline=part.deadline,
            field=part.field,
            count_field=part.count_field,
        )
