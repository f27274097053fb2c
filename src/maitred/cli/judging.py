"""Whether the API server would take some manifests. What it would refuse need not be planned."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from maitred.explain.proposal.workloads import Body
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
    *((version, "PodGroup") for version in row_of(PodGroup).api_versions),
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
    name = {"name": "planned"}
    match group, document.kind:
        case "batch", "CronJob":
            inner = spec.get("jobTemplate", {}).get("spec", {})
            yield Part("batch/v1", BATCH_JOB.kind, {"metadata": name, "spec": inner}, "spec.jobTemplate")
        case "jobset.x-k8s.io", "JobSet":
            for position, several in enumerate(spec.get("replicatedJobs", ())):
                inner = several.get("template", {}).get("spec", {})
                inside = f"spec.replicatedJobs[{position}].template"
                yield Part("batch/v1", BATCH_JOB.kind, {"metadata": name, "spec": inner}, inside)
        case ("apps" | "", kind) if kind in SERVING:
            yield pod_part(spec.get("template", {}), "spec.template")
        case "kubeflow.org", _:
            for field, roles in spec.items():
                if field.endswith("ReplicaSpecs"):
                    for role, several in roles.items():
                        yield pod_part(several.get("template", {}), f"spec.{field}.{role}.template")
        case _ if (document.api_version, document.kind) in PLANNED:
            yield Part(document.api_version, document.kind, body, "")


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
