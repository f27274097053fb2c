"""Kinds that make pods, read as far as it takes to know which: how many, from which template, named how."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec

from maitred.model import training
from maitred.model.job import JOB_CONTROLLER, JOB_NAMES, Job
from maitred.model.manifest.errors import FieldError, field_error
from maitred.model.meta import Lean
from maitred.model.operators.jobset import (
    JOB_INDEX,
    JOB_SET_CONTROLLER,
    JOB_SET_NAME,
    REPLICATED_JOB,
    JobSet,
    ReplicatedJob,
)
from maitred.model.owners import api_group, owner_kind
from maitred.model.selector import Labels
from maitred.model.training import TrainingSpec

MOST_PODS = 10_000
"""In all. A Job may ask for two thousand million pods, and nobody has room for so many."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
REPLICA_SPECS = "ReplicaSpecs"
"""How the field is called in which training jobs have their templates: `pytorchReplicaSpecs` and so on."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Body = dict[str, Any]


class ManifestMeta(Lean, frozen=True):
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


class Manifest(Lean, frozen=True):
    metadata: ManifestMeta = ManifestMeta()


class Template(Lean, frozen=True):
    metadata: Body = {}
    spec: Body = {}


@dataclass(frozen=True, slots=True)
class Manager:
    """A controller that a manifest names in place of the one of its kind, which then leaves it alone."""

    field: str
    name: str


def other_manager(name: str, usual: str, field: str) -> Manager | None:
    return Manager(field, name) if name not in ("", usual) else None


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
    manager: Manager | None = None
    """Who else would have to make them; what it would make is not known."""


@dataclass(frozen=True, slots=True)
class WorkloadManifest:
    """One manifest, as the pods that it stands for."""

    meta: ManifestMeta
    replicas: Iterable[Replicas]
    gang: bool = False
    """Whether its pods are of no use without each other, also where they do not say so."""
    quorum: int | None = None
    scheduling: Body | None = None
    """The group that a Job asks for, in its own words."""
    suspended: bool = False
    deadline: int | None = None
    priority_class: str = ""
    job: Job | None = None
    """The manifest itself, if it is a Job: it may be one gang without saying so."""


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
    managed_by: str = ""

    @property
    def pods(self) -> int:
        """How many it runs at a time."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)


class JobTemplate(Lean, frozen=True):
    metadata: ManifestMeta = ManifestMeta()
    spec: JobSpec = JobSpec()


def job(body: Body) -> WorkloadManifest:
    found: JobTemplate = decoded(body, JobTemplate)
    return replace(
        job_workload(found.metadata, found.spec, "spec"), job=decoded({"metadata": {}, **body}, Job)
    )


class CronSpec(Lean, frozen=True):
    job_template: JobTemplate = JobTemplate()
    suspend: bool = False


class CronJob(Lean, frozen=True):
    metadata: ManifestMeta = ManifestMeta()
    spec: CronSpec = CronSpec()


def cron_job(body: Body) -> WorkloadManifest:
    found: CronJob = decoded(body, CronJob)
    return job_workload(found.metadata, found.spec.job_template.spec, "spec.jobTemplate.spec")


def job_workload(meta: ManifestMeta, spec: JobSpec, path: str) -> WorkloadManifest:
    return WorkloadManifest(
        meta,
        [job_replicas(spec, path, meta.title, {})],
        scheduling=spec.scheduling,
        suspended=spec.suspend,
        deadline=spec.active_deadline_seconds,
    )


def job_replicas(spec: JobSpec, path: str, name: str, labels: Labels) -> Replicas:
    own = {**dict.fromkeys(JOB_NAMES, name), **labels}
    indexed = spec.completion_mode == "Indexed"

    def labels_of(index: int) -> Labels:
        return {**own, COMPLETION_INDEX: str(index)} if indexed else own

    count_field = f"{path}.parallelism"
    return Replicas(
        f"{path}.template",
        count_field,
        spec.template,
        spec.pods,
        lambda index: f"{name}-{index}",
        labels_of,
        manager=other_manager(spec.managed_by, JOB_CONTROLLER, f"{path}.managedBy"),
    )


def job_set(body: Body) -> WorkloadManifest:
    meta: ManifestMeta = decoded(body, Manifest).metadata
    name, spec = meta.title, decoded({"metadata": {}, **body}, JobSet).spec
    manager = other_manager(spec.managed_by, JOB_SET_CONTROLLER, "spec.managedBy")
    replicas = (
        replace(part, manager=manager or part.manager)
        for position, several in enumerate(spec.replicated_jobs)
        for part in replicated(several, body["spec"]["replicatedJobs"][position], position, name)
    )
    return WorkloadManifest(meta, replicas, gang=True, suspended=spec.suspend)


def replicated(several: ReplicatedJob, body: Body, position: int, name: str) -> Iterator[Replicas]:
    path = f"spec.replicatedJobs[{position}]"
    if not several.name:
        raise FieldError(f"{path}.name", "is required")
    if several.replicas > MOST_PODS:
        raise FieldError(f"{path}.replicas", f"must be at most {MOST_PODS}")
    found: JobTemplate = decoded(body.get("template", {}), JobTemplate, f"{path}.template")
    for number in range(several.replicas):
        labels = {JOB_SET_NAME: name, REPLICATED_JOB: several.name, JOB_INDEX: str(number)}
        yield job_replicas(found.spec, f"{path}.template.spec", f"{name}-{several.name}-{number}", labels)


# -- pods that run until they are told otherwise -----------------------------------------------------------


class ReplicaSpec(Lean, frozen=True):
    template: Template = Template()
    replicas: Count = 1
    volume_claim_templates: tuple[Body, ...] = ()


class ReplicaOwner(Lean, frozen=True):
    metadata: ManifestMeta = ManifestMeta()
    spec: ReplicaSpec = ReplicaSpec()


def replica_owner(body: Body) -> WorkloadManifest:
    found: ReplicaOwner = decoded(body, ReplicaOwner)
    return WorkloadManifest(found.metadata, [numbered(found, lambda index: {})])


def stateful_set(body: Body) -> WorkloadManifest:
    found: ReplicaOwner = decoded(body, ReplicaOwner)
    name = found.metadata.title

    def labels(index: int) -> Labels:
        pod = "statefulset.kubernetes.io/pod-name"
        return {pod: f"{name}-{index}", "apps.kubernetes.io/pod-index": str(index)}

    return WorkloadManifest(found.metadata, [numbered(found, labels)])


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


class TrainingManifest(Manifest, frozen=True):
    spec: TrainingSpec = TrainingSpec()


def training_job(body: Body) -> WorkloadManifest:
    found: TrainingManifest = decoded(body, TrainingManifest)
    given = [(key, value) for key, value in body.get("spec", {}).items() if key.endswith(REPLICA_SPECS)]
    if not given:
        raise FieldError("spec", f"has no {REPLICA_SPECS}, such as pytorch{REPLICA_SPECS}")
    field, roles = given[0]
    several: dict[str, ReplicaSpec] = decoded(roles, dict[str, ReplicaSpec], f"spec.{field}")
    run, name = found.spec.run_policy, found.metadata.title
    manager = other_manager(run.managed_by, training.OPERATOR, "spec.runPolicy.managedBy")
    replicas = (role_replicas(name, role, spec, f"spec.{field}.{role}") for role, spec in several.items())
    return WorkloadManifest(
        found.metadata,
        [replace(part, manager=manager) for part in replicas],
        gang=True,
        quorum=found.spec.quorum,
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


EXPANSIONS: dict[tuple[str, str], Callable[[Body], WorkloadManifest]] = {
    ("batch", "Job"): job,
    ("batch", "CronJob"): cron_job,
    ("apps", "Deployment"): replica_owner,
    ("apps", "ReplicaSet"): replica_owner,
    ("apps", "StatefulSet"): stateful_set,
    ("", "ReplicationController"): replica_owner,
    ("jobset.x-k8s.io", "JobSet"): job_set,
    **{(training.API_GROUP, kind): training_job for kind in training.KINDS},
}
"""By API group and kind: others have kinds of the same names."""
SERVED = {"batch": "batch/v1", "apps": "apps/v1", "": "v1"}
"""The one version in which Kubernetes has its own kinds."""
UNDERSTOOD = (
    "Job and CronJob of batch/v1; Deployment, ReplicaSet and StatefulSet of apps/v1; ReplicationController "
    "of v1; JobSet of jobset.x-k8s.io; training jobs of kubeflow.org"
)


def expansion_of(api_version: str, kind: str, body: Body) -> Callable[[Body], WorkloadManifest] | None:
    """How its pods are made; None for what makes none. Raises FieldError for what makes pods in a way that
    is not known here."""
    group = api_group(api_version)
    found = EXPANSIONS.get((group, kind))
    if found is not None and api_version != SERVED.get(group, api_version):
        raise FieldError("apiVersion", f"a {kind} is of {SERVED[group]}, not of {api_version}")
    if found is not None or not api_version:
        return found
    if owner_kind(api_version, kind) is not None or (api_version != "v1" and has_template(body)):
        what = (
            f"this command does not know which pods a {kind} of {api_version} creates; give the pods "
            f"themselves"
        )
        raise FieldError("kind", f"{what}. Known kinds are: {UNDERSTOOD}")
    return None


def has_template(value: object) -> bool:
    """Whether something in it looks like the spec of pods."""
    if isinstance(value, dict):
        return isinstance(value.get("containers"), list) or any(map(has_template, value.values()))
    return isinstance(value, list) and any(map(has_template, value))
