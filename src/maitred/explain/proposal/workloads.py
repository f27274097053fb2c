"""Kinds that make pods, read as far as it takes to know which: how many, from which template, named how."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from maitred.model.manifest.errors import FieldError, field_error
from maitred.model.meta import Lean
from maitred.model.selector import Labels

MOST_PODS = 10_000
"""In all. A Job may ask for two thousand million pods, and nobody has room for so many."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
REPLICA_SPECS = "ReplicaSpecs"
"""How the field is called in which training jobs have their templates: `pytorchReplicaSpecs` and so on."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Body = dict[str, Any]


class Meta(Lean, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def title(self) -> str:
        """Its name, or what its name will begin with."""
        name = self.name or self.generate_name.rstrip("-.")
        if not name:
            raise FieldError("metadata.name", "is required")
        return name


class Template(Lean, frozen=True):
    metadata: Body = {}
    spec: Body = {}


@dataclass(frozen=True, slots=True)
class Replicas:
    """Pods from one template."""

    field: str
    """Where the manifest has the template."""
    count_field: str
    template: Template
    count: int
    name: Callable[[int], str]
    labels: Callable[[int], Labels]
    """What its controller adds."""
    claims: Sequence[Body] = ()
    """Of which each pod gets its own."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One manifest, as the pods that it stands for."""

    meta: Meta
    replicas: Iterable[Replicas]
    gang: bool = False
    """Whether its pods are of no use without each other, also where they do not say so."""
    quorum: int | None = None
    scheduling: Body | None = None
    """The group that a Job asks for, in its own words."""
    suspended: bool = False
    deadline: int | None = None
    priority_class: str = ""


def decoded(body: Body, wanted: type[Any], path: str = "") -> Any:
    try:
        return msgspec.convert(body, wanted)
    except msgspec.ValidationError as error:
        problem = field_error(error, body, wanted)
        raise FieldError(".".join(filter(None, (path, problem.field))), problem.what) from None


# -- Jobs --------------------------------------------------------------------------------------------------


class JobSpec(Lean, frozen=True):
    template: Template = Template()
    parallelism: Count | None = None
    completions: Count | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    active_deadline_seconds: Count | None = None
    scheduling: Body | None = None

    @property
    def pods(self) -> int:
        """How many it runs at a time."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)


class JobTemplate(Lean, frozen=True):
    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()


def job(body: Body) -> Workload:
    found: JobTemplate = decoded(body, JobTemplate)
    return job_workload(found.metadata, found.spec, "spec")


class CronSpec(Lean, frozen=True):
    job_template: JobTemplate = JobTemplate()
    suspend: bool = False


class CronJob(Lean, frozen=True):
    metadata: Meta = Meta()
    spec: CronSpec = CronSpec()


def cron_job(body: Body) -> Workload:
    found: CronJob = decoded(body, CronJob)
    return job_workload(found.metadata, found.spec.job_template.spec, "spec.jobTemplate.spec")


def job_workload(meta: Meta, spec: JobSpec, path: str) -> Workload:
    return Workload(
        meta,
        [job_replicas(spec, path, meta.title, {})],
        scheduling=spec.scheduling,
        suspended=spec.suspend,
        deadline=spec.active_deadline_seconds,
    )


def job_replicas(spec: JobSpec, path: str, name: str, labels: Labels) -> Replicas:
    own = {"batch.kubernetes.io/job-name": name, "job-name": name, **labels}
    indexed = spec.completion_mode == "Indexed"

    def labels_of(index: int) -> Labels:
        return {**own, COMPLETION_INDEX: str(index)} if indexed else own

    count_field = f"{path}.parallelism"
    return Replicas(
        f"{path}.template", count_field, spec.template, spec.pods, lambda index: f"{name}-{index}", labels_of
    )


class ReplicatedJob(Lean, frozen=True):
    name: str
    template: JobTemplate = JobTemplate()
    replicas: Annotated[int, msgspec.Meta(ge=0, le=MOST_PODS)] = 1


class JobSetSpec(Lean, frozen=True):
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    suspend: bool = False


class JobSet(Lean, frozen=True):
    metadata: Meta = Meta()
    spec: JobSetSpec = JobSetSpec()


def job_set(body: Body) -> Workload:
    found: JobSet = decoded(body, JobSet)
    name = found.metadata.title
    replicas = (
        part
        for position, several in enumerate(found.spec.replicated_jobs)
        for part in replicated(several, f"spec.replicatedJobs[{position}]", name)
    )
    return Workload(found.metadata, replicas, gang=True, suspended=found.spec.suspend)


def replicated(several: ReplicatedJob, path: str, name: str) -> Iterator[Replicas]:
    spec = several.template.spec
    for number in range(several.replicas):
        labels = {
            "jobset.sigs.k8s.io/jobset-name": name,
            "jobset.sigs.k8s.io/replicatedjob-name": several.name,
            "jobset.sigs.k8s.io/job-index": str(number),
        }
        yield job_replicas(spec, f"{path}.template.spec", f"{name}-{several.name}-{number}", labels)


# -- pods that run until they are told otherwise -----------------------------------------------------------


class ReplicaSpec(Lean, frozen=True):
    template: Template = Template()
    replicas: Count = 1
    volume_claim_templates: tuple[Body, ...] = ()


class ReplicaOwner(Lean, frozen=True):
    metadata: Meta = Meta()
    spec: ReplicaSpec = ReplicaSpec()


def replica_owner(body: Body) -> Workload:
    found: ReplicaOwner = decoded(body, ReplicaOwner)
    return Workload(found.metadata, [numbered(found, lambda index: {})])


def stateful_set(body: Body) -> Workload:
    found: ReplicaOwner = decoded(body, ReplicaOwner)
    name = found.metadata.title

    def labels(index: int) -> Labels:
        pod = "statefulset.kubernetes.io/pod-name"
        return {pod: f"{name}-{index}", "apps.kubernetes.io/pod-index": str(index)}

    return Workload(found.metadata, [numbered(found, labels)])


def numbered(found: ReplicaOwner, labels: Callable[[int], Labels]) -> Replicas:
    name, spec = found.metadata.title, found.spec
    return Replicas(
        field="spec.template",
        count_field="spec.replicas",
        template=spec.template,
        count=spec.replicas,
        name=lambda index: f"{name}-{index}",
        labels=labels,
        claims=spec.volume_claim_templates,
    )


# -- training jobs -----------------------------------------------------------------------------------------


class GangPolicy(Lean, frozen=True):
    min_available: Count | None = None
    priority_class: str = ""


class RunPolicy(Lean, frozen=True):
    suspend: bool = False
    active_deadline_seconds: Count | None = None
    scheduling_policy: GangPolicy = GangPolicy()


class TrainingSpec(Lean, frozen=True):
    run_policy: RunPolicy = RunPolicy()


class TrainingJob(Lean, frozen=True):
    metadata: Meta = Meta()
    spec: TrainingSpec = TrainingSpec()


def is_training_job(body: Body) -> bool:
    spec = body.get("spec")
    return isinstance(spec, dict) and any(key.endswith(REPLICA_SPECS) for key in spec)


def training_job(body: Body) -> Workload:
    found: TrainingJob = decoded(body, TrainingJob)
    field, roles = next((key, value) for key, value in body["spec"].items() if key.endswith(REPLICA_SPECS))
    several: dict[str, ReplicaSpec] = decoded(roles, dict[str, ReplicaSpec], f"spec.{field}")
    run, name = found.spec.run_policy, found.metadata.title
    return Workload(
        found.metadata,
        [role_replicas(name, role, spec, f"spec.{field}.{role}") for role, spec in several.items()],
        gang=True,
        quorum=run.scheduling_policy.min_available,
        suspended=run.suspend,
        deadline=run.active_deadline_seconds,
        priority_class=run.scheduling_policy.priority_class,
    )


def role_replicas(name: str, role: str, spec: ReplicaSpec, path: str) -> Replicas:
    kind = role.lower()

    def labels(index: int) -> Labels:
        prefix = "training.kubeflow.org"
        return {
            f"{prefix}/job-name": name,
            f"{prefix}/replica-type": kind,
            f"{prefix}/replica-index": str(index),
        }

    return Replicas(
        f"{path}.template",
        f"{path}.replicas",
        spec.template,
        spec.replicas,
        lambda index: f"{name}-{kind}-{index}",
        labels,
    )


EXPANSIONS: dict[str, Callable[[Body], Workload]] = {
    "Job": job,
    "CronJob": cron_job,
    "JobSet": job_set,
    "Deployment": replica_owner,
    "ReplicaSet": replica_owner,
    "ReplicationController": replica_owner,
    "StatefulSet": stateful_set,
}
