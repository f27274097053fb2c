"""The pods of training jobs of Kubeflow, as its training operator 1.9 and its MPI operator 0.6 make them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from maitred.model import training
from maitred.model.job import Job, JobSpec
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
from maitred.model.training import LAUNCHER, WORKER, MPIJob, PyTorchJob, Role, RunPolicy

PREFIX = "training.kubeflow.org/"
OPERATOR_NAME, JOB_NAME, REPLICA_TYPE, REPLICA_INDEX, JOB_ROLE = (
    f"{PREFIX}{name}" for name in ("operator-name", "job-name", "replica-type", "replica-index", "job-role")
)
MASTERS = ("master", "chief")
MPI_VERSION = "kubeflow.org/v2beta1"
"""Of MPIJobs that the MPI operator runs. The training operator runs those of v1."""


def of_pytorch_job(job: PyTorchJob, _: Found | None, version: str = "") -> Iterator[Replicas]:
    owner = reference(job, version)
    return of_roles(owner, job.metadata.namespace, job.spec.run_policy, job.spec.roles, "pytorchReplicaSpecs")


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


# -- MPIJobs -----------------------------------------------------------------------------------------------


def of_mpi_job(job: MPIJob, known: Found | None, version: str = "") -> Iterator[Replicas]:
    version = version or MPI_VERSION
    owner, spec = reference(job, version), job.spec
    roles = of_roles(owner, job.metadata.namespace, spec.run_policy, spec.roles, "mpiReplicaSpecs")
    for part in roles:
        if version == MPI_VERSION:
            yield from by_mpi_operator(job, part, spec.roles[part.role], known, version)
        elif part.role == LAUNCHER:
            yield replace(part, count=1, name=lambda _: f"{owner.name}-launcher", labels=nothing)
        else:
            yield replace(part, labels=nothing)


def by_mpi_operator(
    job: MPIJob, part: Replicas, spec: Role, known: Found | None, version: str
) -> Iterator[Replicas]:
    """Its workers are pods, and its launcher is a Job."""
    name = job.metadata.name
    labels = {OPERATOR_NAME: "mpi-operator", JOB_NAME: name, JOB_ROLE: part.role.lower()}
    part = replace(part, template=marked(spec.template, labels))
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
