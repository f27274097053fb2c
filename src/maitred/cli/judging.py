"""Whether the API server would take some manifests. What it would refuse need not be planned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from maitred.explain.proposal.workloads import Body
from maitred.model import training
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.group import PodGroup
from maitred.model.kinds import row_of
from maitred.model.manifest import Document, InputError
from maitred.model.owners import BATCH_JOB, api_group
from maitred.model.selector import LabelSelector, matches, selector_of

SERVING = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
"""Kinds whose pods are always started again."""
PLANNED = {
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
    ("batch/v1", BATCH_JOB.kind),
    *(
        (version, row_of(kind).name)
        for kind in (PodGroup, ResourceClaim, ResourceClaimTemplate)
        for version in row_of(kind).api_versions
    ),
}
"""What is planned as it is. All else in the files is left out of the plan, and is not looked at."""


@dataclass(frozen=True, slots=True)
class Part:
    """What can be judged by itself of a kind that is not served here: a Job or a pod in it."""

    api_version: str
    kind: str
    body: Body
    inside: str
    """The path at which the manifest has it."""

    def field(self, name: str) -> str:
        return f"{self.inside}.{name}" if self.inside and name else name or self.inside


def judge_manifests(found: list[Document], namespace: str) -> list[str]:
    """Warnings of fields that do not exist. Raises InputError for the first that the server would refuse."""
    from maitred.sandbox.apiserver.judging import judged  # nobody else of this verb needs a server

    warnings = []
    for document in found:
        body = document.plain()
        home = body.get("metadata", {}).get("namespace") or namespace
        for part in parts_of(document, body):
            judgement = judged(part.api_version, part.kind, part.body, home)
            if judgement is None:
                continue
            for name, what in sorted(judgement.faults, key=lambda fault: not is_said(part.body, fault[0])):
                raise InputError(document.source, document.title, part.field(name), what)
            warnings += [
                f'{document.source}: {document.title}: unknown field "{part.field(name)}"'
                for name in judgement.unknown
            ]
        if problem := next(own_problems(document, body), None):
            raise InputError(document.source, document.title, *problem)
    return warnings


def is_said(body: Body, field: str) -> bool:
    """Whether the manifest has it, or what is around it: the server copies labels, and finds faults twice."""
    outer, _, inner = field.partition(".")
    return not inner or inner.partition(".")[0].partition("[")[0] in body.get(outer, {})


def parts_of(document: Document, body: Body) -> Iterator[Part]:
    spec, group = body.get("spec", {}), api_group(document.api_version)
    match group, document.kind:
        case "batch", "CronJob":
            yield job_part(spec.get("jobTemplate", {}), "spec.jobTemplate")
        case "jobset.x-k8s.io", "JobSet":
            for position, several in enumerate(spec.get("replicatedJobs", ())):
                inside = f"spec.replicatedJobs[{position}].template"
                yield job_part(several.get("template", {}), inside, **SET_DEFAULTS)
        case _ if (document.api_version, document.kind) in PLANNED:
            yield Part(document.api_version, document.kind, body, "")
        case _:
            for template, inside in templates_of(group, document.kind, body):
                yield pod_part(template, inside)


RAY = ("headGroupSpec.template", "workerGroupSpecs.*.template")
TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {
    **{("" if kind == "ReplicationController" else "apps", kind): ("spec.template",) for kind in SERVING},
    **{("kubeflow.org", kind): ("spec.*ReplicaSpecs.*.template",) for kind in training.KINDS},
    ("batch.volcano.sh", "Job"): ("spec.tasks.*.template",),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    ("ray.io", "RayCluster"): tuple(f"spec.{path}" for path in RAY),
    ("ray.io", "RayJob"): (*(f"spec.rayClusterSpec.{path}" for path in RAY), "spec.submitterPodTemplate"),
}
"""Where other kinds have templates of pods; `*` stands for any name, or for each item of a list."""


def templates_of(group: str, kind: str, body: Body) -> Iterator[tuple[Body, str]]:
    """Templates of pods, each with the path at which the manifest has it."""
    for path in TEMPLATES.get((group, kind), ()):
        yield from found_at(body, path.split("."), "")


def found_at(part: object, path: Sequence[str], inside: str) -> Iterator[tuple[Body, str]]:
    if not path:
        if isinstance(part, dict):
            yield part, inside
    elif isinstance(part, list) and path[0] == "*":
        for position, item in enumerate(part):
            yield from found_at(item, path[1:], f"{inside}[{position}]")
    elif isinstance(part, dict):
        for key in part:
            if fnmatchcase(key, path[0]):
                yield from found_at(part[key], path[1:], f"{inside}.{key}".lstrip("."))


def job_part(template: Body, inside: str, mode: str = "", restart: str = "") -> Part:
    """`mode` and `restart` are what its operator writes where the template says nothing."""
    spec = dict(template.get("spec", {}))
    if mode:
        spec.setdefault("completionMode", mode)
    if restart:
        pods = spec.get("template", {})
        inner = {"restartPolicy": restart, **pods.get("spec", {})}
        spec["template"] = {**pods, "spec": inner}
    return Part("batch/v1", BATCH_JOB.kind, {"metadata": {"name": "planned"}, "spec": spec}, inside)


SET_DEFAULTS = {"mode": "Indexed", "restart": "OnFailure"}
"""As JobSet's webhook has them."""


def pod_part(template: Body, inside: str) -> Part:
    about = template.get("metadata", {})
    return Part(
        "v1", "Pod", {"metadata": {**about, "name": "planned"}, "spec": template.get("spec", {})}, inside
    )


def own_problems(document: Document, body: Body) -> Iterator[tuple[str, str]]:
    """Of kinds that keep pods running: their pods must be theirs, and come back."""
    if document.kind not in SERVING or api_group(document.api_version) not in ("apps", ""):
        return
    spec = body.get("spec", {})
    template = spec.get("template", {})
    policy = template.get("spec", {}).get("restartPolicy", "Always")
    if policy != "Always":
        yield "spec.template.spec.restartPolicy", f'Unsupported value: "{policy}": supported values: "Always"'
    if document.kind == "ReplicationController":
        return
    selector, labels = spec.get("selector"), template.get("metadata", {}).get("labels", {})
    if not selector:
        yield "spec.selector", "Required value"
    elif not matches(selector_of(msgspec.convert(selector, LabelSelector)), labels):
        yield "spec.template.metadata.labels", "Invalid value: `selector` does not match template `labels`"
