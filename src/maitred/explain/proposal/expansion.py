"""From manifests to the pods that their controllers would make, with the groups that these say they are in.

Pods without a group are decided one by one, so a Deployment is so many lone pods. A Job comes with its pods,
because it may be one gang by itself. Other kinds whose pods are of no use without each other (JobSets, and
training jobs with `...ReplicaSpecs`) are taken for gangs, and a note says which marks make them so in the
cluster.

Only what a decision reads is kept: commands, environments and most annotations stay where they are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from maitred.explain.gang_advice import marks_words
from maitred.explain.proposal.workloads import (
    MOST_PODS,
    Body,
    Manager,
    Replicas,
    WorkloadManifest,
    expansion_of,
)
from maitred.model.group import GROUP, MIN_COUNT, CompositePodGroup, PodGroup
from maitred.model.job import Job
from maitred.model.manifest import Document, InputError, Reader
from maitred.model.manifest.errors import FieldError
from maitred.model.membership import said_by
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.objects import Object
from maitred.model.pod import ClaimVolume, Pod, SchedulingGroup, Volume
from maitred.model.recording import allowed, without_secrets
from maitred.model.runtime import EXPECTED_RUNTIME
from maitred.model.storage import PersistentVolumeClaim

POD_GROUP_VERSION = "scheduling.k8s.io/v1beta1"
Planned = Pod | PodGroup | CompositePodGroup | Job | PersistentVolumeClaim
VERSIONS = {
    Pod: "v1",
    PodGroup: POD_GROUP_VERSION,
    CompositePodGroup: "scheduling.k8s.io/v1alpha3",
    Job: "batch/v1",
    PersistentVolumeClaim: "v1",
}
PLANNED = (Pod, PodGroup, CompositePodGroup, Job, PersistentVolumeClaim)
"""What new pods bring along. Of the rest of a file nothing is asked of a scheduler."""


@dataclass
class Expansion:
    """The objects that would come to be, and what to know about them."""

    objects: list[Object] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def members_of(documents: Iterable[Document], namespace: str) -> Expansion:
    """All pods, groups and claims of some manifests; `namespace` is that of those that name none."""
    expander = Expander(namespace)
    for document in documents:
        expander.take(document)
    return expander.found


class Expander:
    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.found = Expansion()
        self._reader = Reader()
        self._pods = 0

    def take(self, document: Document) -> None:
        """Raises InputError."""
        try:
            self._take(document)
        except FieldError as problem:
            raise InputError(document.source, document.title, problem.field, problem.what) from None

    def _take(self, document: Document) -> None:
        body = document.plain()
        expansion = expansion_of(document.api_version, document.kind, body)
        if expansion is not None:
            Made(self, document, expansion(body)).add()
        else:
            item = self._reader.take(self._named(document, body))
            if isinstance(item, PLANNED):
                self.reserve(isinstance(item, Pod), "")
                self.add(as_new(item))

    def _named(self, document: Document, body: Body) -> Document:
        """With a namespace, and a name where it has only the beginning of one."""
        metadata = body.get("metadata")
        if isinstance(metadata, dict):
            named = {"namespace": self.namespace, **metadata}
            if isinstance(prefix := metadata.get("generateName"), str):
                named.setdefault("name", prefix.rstrip("-."))
            body = {**body, "metadata": named}
        return Document(document.source, document.place, document.api_version, document.kind, body)

    def add(self, item: Object) -> None:
        self.found.objects.append(item)

    def reserve(self, pods: int, field: str) -> None:
        """Before that many pods are made."""
        self._pods += pods
        if self._pods > MOST_PODS:
            raise FieldError(field, f"at most {MOST_PODS} pods can be planned, all files together")

    def note(self, text: str) -> None:
        self.found.notes.append(text)


class Made:
    """What the controller of one workload would make."""

    def __init__(self, expander: Expander, document: Document, workload: WorkloadManifest) -> None:
        self.expander, self.document, self.workload = expander, document, workload
        self.name = workload.meta.title
        self.namespace = workload.meta.namespace or expander.namespace
        self.title = f"{document.kind} {self.namespace}/{self.name}"

    def add(self) -> None:
        note = self.expander.note
        pods, managers = list[Pod](), dict[Manager, None]()
        for replicas in self.workload.replicas:
            if replicas.manager is None:
                pods += self._replicas(replicas)
            else:
                managers[replicas.manager] = None
        for manager in managers:
            note(f"{self.title} {managed_words(manager)}")
        if self.workload.suspended and pods:
            note(f"{self.title} is suspended; this is the answer for when it is resumed")
        if not pods and not managers:
            note(f"{self.title} asks for no pods")
        if pods and self.workload.job is not None:
            self.expander.add(without_secrets(self._named(self.workload.job)))
        for pod in self._grouped(pods):
            self.expander.add(pod)

    def _named(self, job: Job) -> Job:
        metadata = msgspec.structs.replace(job.metadata, name=self.name, namespace=self.namespace)
        return Job(metadata, job.spec)

    # -- pods ------------------------------------------------------------------------------------------

    def _replicas(self, replicas: Replicas) -> Iterator[Pod]:
        """The template is read once, however many pods are made from it."""
        self.expander.reserve(replicas.count, replicas.count_field)
        if replicas.count == 0:
            return
        first = self._first(replicas)
        for index in range(replicas.count):
            name = replicas.name(index)
            labels = {**first.metadata.labels, **replicas.labels(index)}
            metadata = msgspec.structs.replace(first.metadata, name=name, labels=labels)
            claims = tuple(self._claim(template, name) for template in replicas.claims)
            spec = msgspec.structs.replace(first.spec, volumes=(*first.spec.volumes, *claims))
            yield Pod(metadata, spec)

    def _first(self, replicas: Replicas) -> Pod:
        template, workload = replicas.template, self.workload
        named = {**template.metadata, "name": replicas.name(0), "namespace": self.namespace}
        pod = self._read("v1", "Pod", {"metadata": named, "spec": template.spec}, replicas.field)
        assert isinstance(pod, Pod)
        said = {**workload.meta.annotations, **workload.meta.labels}
        runtime = {key: value for key, value in said.items() if key == EXPECTED_RUNTIME}
        annotations = {**runtime, **pod.metadata.annotations}
        version = self.document.api_version
        owner = OwnerReference(self.document.kind, self.name, controller=True, api_version=version)
        return Pod(
            msgspec.structs.replace(pod.metadata, annotations=annotations, owner_references=(owner,)),
            msgspec.structs.replace(
                pod.spec,
                priority_class_name=pod.spec.priority_class_name or workload.priority_class,
                active_deadline_seconds=pod.spec.active_deadline_seconds or workload.deadline,
            ),
        )

    def _claim(self, template: Body, pod: str) -> Volume:
        name = template.get("metadata", {}).get("name", "")
        body = {**template, "metadata": {"name": f"{name}-{pod}", "namespace": self.namespace}}
        self.expander.add(self._read("v1", "PersistentVolumeClaim", body, "spec.volumeClaimTemplates"))
        return Volume(name, ClaimVolume(f"{name}-{pod}"))

    def _read(self, version: str, kind: str, body: Body, field: str) -> Planned:
        """What a template says, refused in terms of the manifest that has it."""
        try:
            item = Reader().take(Document("", "", version, kind, body))
            assert isinstance(item, PLANNED)
            return as_new(item)
        except (InputError, FieldError) as problem:
            raise FieldError(f"{field}.{problem.field}".rstrip("."), problem.what) from None

    # -- groups ----------------------------------------------------------------------------------------

    def _grouped(self, pods: list[Pod]) -> Iterable[Pod]:
        """The pods with what says their group."""
        if not pods or any(said_by(pod).names_a_group for pod in pods):
            return pods
        if self.workload.scheduling is not None:
            return self._in_pod_group(pods, self.workload.scheduling)
        count = self.workload.quorum or len(pods)
        if self.workload.gang:
            said = marks_words(self.name, count)
            self.expander.note(f"{self.title} is planned as one gang; to have it scheduled as one, {said}")
            marks = {GROUP: self.name, MIN_COUNT: str(count)}
            return [with_annotations(pod, marks) for pod in pods]
        return pods

    def _in_pod_group(self, pods: list[Pod], scheduling: Body) -> list[Pod]:
        """As the Job controller of Kubernetes 1.37 makes one, where a Job asks for it."""
        spec = {"schedulingPolicy": {"basic": {}}, **scheduling}
        policy = spec["schedulingPolicy"]
        if isinstance(policy, dict) and isinstance(policy.get("gang"), dict):
            spec["schedulingPolicy"] = {"gang": {"minCount": len(pods), **policy["gang"]}}
        if pods[0].spec.priority_class_name:
            spec["priorityClassName"] = pods[0].spec.priority_class_name
        body = {"metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec}
        try:
            self.expander.add(self._read(POD_GROUP_VERSION, "PodGroup", body, ""))
        except FieldError as problem:
            field = problem.field.removeprefix(".spec.")
            raise FieldError(f"spec.scheduling.{field}", problem.what) from None
        group = SchedulingGroup(self.name)
        return [Pod(pod.metadata, msgspec.structs.replace(pod.spec, scheduling_group=group)) for pod in pods]


def managed_words(manager: Manager) -> str:
    return (
        f"is managed by {manager.name} ({manager.field}): the usual controller does not create its pods, "
        f"so none are planned; this command does not know which pods {manager.name} creates"
    )


def as_new(item: Planned) -> Planned:
    """The object as it would be created: without a history, and a pod without a node."""
    if isinstance(item, Pod) and item.spec.node_name:
        raise FieldError("spec.nodeName", f"is {item.spec.node_name}, so the pod has a node already")
    if isinstance(item, Pod) and not item.spec.containers:
        raise FieldError("spec.containers", "is required")
    meta = item.metadata
    metadata = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        labels=meta.labels,
        annotations=allowed(meta.annotations),
        owner_references=tuple(owner for owner in meta.owner_references if owner.controller),
    )
    return type(item)(metadata, item.spec)  # type: ignore[arg-type]  # each kind has its own spec


def manifest_of(item: Planned) -> Body:
    """The object as somebody would write it, in lists and dicts."""
    said = msgspec.json.decode(msgspec.json.encode(item))
    return {"apiVersion": VERSIONS[type(item)], "kind": type(item).__name__, **said}


def with_annotations(pod: Pod, added: dict[str, str]) -> Pod:
    annotations = {**pod.metadata.annotations, **added}
    return Pod(msgspec.structs.replace(pod.metadata, annotations=annotations), pod.spec)
