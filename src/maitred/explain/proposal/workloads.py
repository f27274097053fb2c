"""Manifests of kinds that make pods: the owner that they describe, and the pods that it would make.

What operators make of their objects is in `model.operators.pods`. Here are the kinds that no decision reads:
those that keep pods running one by one, CronJobs, and training jobs of Kubeflow that nobody else asks for.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from maitred.model import training
from maitred.model.job import Job, JobSpec, PodTemplate, TemplateMeta
from maitred.model.kinds import row_of
from maitred.model.manifest.errors import FieldError, field_error
from maitred.model.meta import Lean, ObjectMeta, OwnerReference
from maitred.model.objects import Object
from maitred.model.operators.parts import Several
from maitred.model.operators.pods import MAKERS, Found, Replicas, of_job, of_roles, pods_of
from maitred.model.owners import api_group, owner_kind
from maitred.model.selector import Labels
from maitred.model.training import Role, TrainingSpec

MOST_PODS = 10_000
"""In all. A Job may ask for two thousand million pods, and nobody has room for so many."""
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


@dataclass(frozen=True, slots=True)
class GivenManifest:
    """One manifest, under the name and in the namespace that it would get."""

    body: Body
    kind: str
    api_version: str
    meta: ObjectMeta
    known: Found | None
    """Objects that it may refer to."""

    @property
    def owner(self) -> OwnerReference:
        return OwnerReference(self.kind, self.meta.name, controller=True, api_version=self.api_version)


@dataclass(frozen=True, slots=True)
class Workload:
    """The pods that a manifest stands for, and what comes with them."""

    replicas: Iterable[Replicas]
    owner: Object | None = None
    """The manifest itself, if its kind says what group its pods are."""
    scheduling: Body | None = None
    """The group that a Job asks for, in its own words."""
    suspended: bool = False
    priority_class: str = ""
    """Of pods that have none."""


def given_manifest(
    body: Body, kind: str, api_version: str, namespace: str, known: Found | None = None
) -> GivenManifest:
    found: ManifestMeta = decoded(body, Manifest).metadata
    meta = ObjectMeta(
        name=found.title,
        namespace=found.namespace or namespace,
        labels=found.labels,
        annotations=found.annotations,
    )
    return GivenManifest(body, kind, api_version, meta, known)


def decoded(body: Body, wanted: type[Any], path: str = "") -> Any:
    try:
        return msgspec.convert(body, wanted)
    except msgspec.ValidationError as error:
        problem = field_error(error, body, wanted)
        raise FieldError(".".join(filter(None, (path, problem.field))), problem.what) from None


# -- kinds that the model has -------------------------------------------------------------------------------


def operated(kind: type[Object]) -> "Expansion":
    def workload(given: GivenManifest) -> Workload:
        owner: Any = decoded({"metadata": {}, **given.body}, kind)
        owner = msgspec.structs.replace(owner, metadata=given.meta)
        run = getattr(owner.spec, "run_policy", None)
        suspended = getattr(run or owner.spec, "suspend", False)
        return Workload(
            pods_of(owner, given.known, given.api_version),
            owner,
            suspended=suspended,
            priority_class="" if run is None else run.scheduling_policy.priority_class,
        )

    return workload


def job(given: GivenManifest) -> Workload:
    found = operated(Job)(given)
    assert isinstance(found.owner, Job)
    return Workload(found.replicas, found.owner, found.owner.spec.scheduling, found.suspended)


class JobTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: JobSpec = JobSpec()


class CronSpec(Lean, frozen=True):
    job_template: JobTemplate = JobTemplate()


class CronJob(Lean, frozen=True):
    spec: CronSpec = CronSpec()


def cron_job(given: GivenManifest) -> Workload:
    """One of its Jobs, by its own name."""
    found: CronJob = decoded(given.body, CronJob)
    template = found.spec.job_template
    marks = {"labels": template.metadata.labels, "annotations": template.metadata.annotations}
    owner = (given.owner,)
    one = Job(msgspec.structs.replace(given.meta, **marks, owner_references=owner), template.spec)
    path = "spec.jobTemplate.spec"
    return Workload(of_job(one, path=path), one, one.spec.scheduling, one.spec.suspend)


# -- pods that run until they are told otherwise -----------------------------------------------------------


class ReplicaSpec(Lean, frozen=True):
    template: PodTemplate = PodTemplate()
    replicas: Count = 1
    volume_claim_templates: Several[Body] = ()


class ReplicaOwner(Lean, frozen=True):
    spec: ReplicaSpec = ReplicaSpec()


def replica_owner(given: GivenManifest) -> Workload:
    return Workload(numbered(given, lambda index: {}))


def stateful_set(given: GivenManifest) -> Workload:
    name = given.meta.name

    def labels(index: int) -> Labels:
        pod = "statefulset.kubernetes.io/pod-name"
        return {pod: f"{name}-{index}", "apps.kubernetes.io/pod-index": str(index)}

    return Workload(numbered(given, labels))


def numbered(given: GivenManifest, labels: Callable[[int], Labels]) -> list[Replicas]:
    spec: ReplicaSpec = decoded(given.body, ReplicaOwner).spec
    name = given.meta.name
    if not spec.replicas:
        return []
    return [
        Replicas(
            role="",
            template=spec.template,
            count=spec.replicas,
            namespace=given.meta.namespace,
            owner=given.owner,
            name=lambda index: f"{name}-{index}",
            labels=labels,
            claims=spec.volume_claim_templates,
            field="spec.template",
            count_field="spec.replicas",
        )
    ]


# -- training jobs -----------------------------------------------------------------------------------------


class TrainingManifest(Lean, frozen=True):
    spec: TrainingSpec = TrainingSpec()


def training_job(given: GivenManifest) -> Workload:
    """Of a kind that the model has no struct for: their roles are in a field that is called by the kind."""
    found: TrainingManifest = decoded(given.body, TrainingManifest)
    fields = [key for key in given.body.get("spec", {}) if key.endswith(REPLICA_SPECS)]
    if not fields:
        raise FieldError("spec", f"has no {REPLICA_SPECS}, such as pytorch{REPLICA_SPECS}")
    field = fields[0]
    roles: dict[str, Role] = decoded(given.body["spec"][field], dict[str, Role], f"spec.{field}")
    run = found.spec.run_policy
    return Workload(
        of_roles(given.owner, given.meta.namespace, run, roles, field),
        suspended=run.suspend,
        priority_class=run.scheduling_policy.priority_class,
    )


Expansion = Callable[[GivenManifest], Workload]
EXPANSIONS: dict[tuple[str, str], Expansion] = {
    ("batch", "CronJob"): cron_job,
    ("apps", "Deployment"): replica_owner,
    ("apps", "ReplicaSet"): replica_owner,
    ("apps", "StatefulSet"): stateful_set,
    ("", "ReplicationController"): replica_owner,
    **{(training.API_GROUP, kind): training_job for kind in training.KINDS},
    **{(row_of(kind).group, row_of(kind).name): operated(kind) for kind in MAKERS},
    ("batch", "Job"): job,
}
"""By API group and kind: others have kinds of the same names."""
SERVED = {"batch": "batch/v1", "apps": "apps/v1", "": "v1"}
"""The one version in which Kubernetes has its own kinds."""
UNDERSTOOD = (
    "Job and CronJob of batch/v1; Deployment, ReplicaSet and StatefulSet of apps/v1; ReplicationController "
    "of v1; JobSet of jobset.x-k8s.io; LeaderWorkerSet of leaderworkerset.x-k8s.io; TrainJob of "
    "trainer.kubeflow.org; RayCluster and RayJob of ray.io; training jobs of kubeflow.org; Job of "
    "batch.volcano.sh"
)


def expansion_of(api_version: str, kind: str, body: Body) -> Expansion | None:
    """How its pods are made; None for what makes none. Raises FieldError for what makes pods in a way that
    is not known here."""
    group = api_group(api_version)
    found = EXPANSIONS.get((group, kind))
    if found is not None and api_version != SERVED.get(group, api_version):
        raise FieldError("apiVersion", f"a {kind} is of {SERVED[group]}, not of {api_version}")
    if found is not None or not api_version:
        return found
    templates = api_version != "v1" and group != "trainer.kubeflow.org" and has_template(body)
    if owner_kind(api_version, kind) is not None or templates:
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
