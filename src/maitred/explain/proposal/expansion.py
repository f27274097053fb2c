"""From manifests to the pods that their controllers would make, with the owners that say what group they are.

A workload comes with its owner and with what is made between the two (the Jobs of a JobSet, the RayCluster of
a RayJob), so that the table of membership groups its pods as it will group those in the cluster.

Only what a decision reads is kept: commands, environments and most annotations stay where they are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec

from maitred.explain.proposal.workloads import (
    MOST_PODS,
    Body,
    GivenManifest,
    Workload,
    decoded,
    expansion_of,
    given_manifest,
)
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.job import Job
from maitred.model.kinds import OPERATED, row_of
from maitred.model.manifest import Document, InputError, Reader
from maitred.model.manifest.checks import CHECKS
from maitred.model.manifest.errors import FieldError
from maitred.model.membership.later import is_reckoned
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import TrainJob
from maitred.model.operators.pods import Manager, MissingObject, Replicas
from maitred.model.operators.runtimes import AnyRuntime, ClusterTrainingRuntime, TrainingRuntime
from maitred.model.owners import api_group
from maitred.model.pod import ClaimVolume, Pod, PodSpec, SchedulingGroup, Volume
from maitred.model.recording import allowed, without_secrets
from maitred.model.runtime import EXPECTED_RUNTIME
from maitred.model.storage import PersistentVolumeClaim

T = TypeVar("T", bound=Object)
POD_GROUP_VERSION = "scheduling.k8s.io/v1beta1"
PLANNED: tuple[type[Object], ...] = (
    *(Pod, PodGroup, CompositePodGroup, Job, PersistentVolumeClaim, ResourceClaim, ResourceClaimTemplate),
    *(row.type for row in OPERATED),
)
"""What new pods bring along. Of the rest of a file nothing is asked of a scheduler."""


@dataclass
class Expansion:
    """The objects that would come to be, and what to know about them."""

    objects: list[Object] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Gathered:
    """Objects, found as in a cluster."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._items: dict[tuple[type[Object], str], Any] = {}
        for item in objects:
            row = row_of(type(item))
            key = key_of(item.metadata) if row.namespaced else item.metadata.name
            self._items[row.type, key] = item

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        found: T | None = self._items.get((kind, key))
        return found if found is None or not uid or found.metadata.uid in ("", uid) else None


def members_of(
    documents: Iterable[Document], namespace: str, known: Iterable[Object] = (), later: bool = False
) -> Expansion:
    """All pods, groups and claims of some manifests; `namespace` is that of those that name none. `known` are
    objects that the manifests may refer to. With `later`, also those pods that are created once others are
    scheduled or ready: a decision reckons with them when they are not there."""
    given, reader = list(documents), Reader()
    for document in given:
        if is_runtime(document):
            reader.take(in_namespace(document, namespace))
    expander = Expander(namespace, Gathered((*known, *reader.objects)), later)
    for document in given:
        expander.take(document)
    return expander.found


class RuntimeName(NamedTuple):
    """The runtime that a TrainJob refers to."""

    kind: type[AnyRuntime]
    namespace: str
    """Empty for one of the whole cluster."""
    name: str


def runtimes_of(documents: Iterable[Document], namespace: str) -> list[RuntimeName]:
    """Those that TrainJobs among these manifests need, and that are not among them. Raises InputError."""
    wanted, given = dict[RuntimeName, None](), set[RuntimeName]()
    for document in documents:
        if api_group(document.api_version) != row_of(TrainJob).group:
            continue
        body = {"metadata": {}, **document.plain()}
        try:
            home = given_manifest(body, document.kind, document.api_version, namespace).meta.namespace
            if (document.api_version, document.kind) == TRAIN_JOB:
                ref = decoded(body, TrainJob).spec.runtime_ref
                wanted[runtime_name(ref.kind, home, ref.name)] = None
            elif is_runtime(document):
                given.add(runtime_name(document.kind, home, body["metadata"].get("name", "")))
        except FieldError as problem:
            raise InputError(document.source, document.title, problem.field, problem.what) from None
    return [one for one in wanted if one not in given]


TRAIN_JOB = (row_of(TrainJob).api_versions[0], row_of(TrainJob).name)
RUNTIMES = {
    (version, row_of(kind).name)
    for kind in (TrainingRuntime, ClusterTrainingRuntime)
    for version in row_of(kind).api_versions
}


def is_runtime(document: Document) -> bool:
    return (document.api_version, document.kind) in RUNTIMES


def runtime_name(kind: str, namespace: str, name: str) -> RuntimeName:
    if kind == "TrainingRuntime":
        return RuntimeName(TrainingRuntime, namespace, name)
    return RuntimeName(ClusterTrainingRuntime, "", name)


class Expander:
    def __init__(self, namespace: str, known: Gathered, later: bool = False) -> None:
        self.namespace, self.known, self.later = namespace, known, later
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
            given = given_manifest(body, document.kind, document.api_version, self.namespace, self.known)
            Made(self, given, expansion(given)).add()
        else:
            item = self._reader.take(in_namespace(document, self.namespace))
            if isinstance(item, PLANNED):
                self.reserve(isinstance(item, Pod), "")
                self.add(as_new(item))

    def add(self, item: Object) -> None:
        self.found.objects.append(item)

    def reserve(self, pods: int, field: str) -> None:
        """Before that many pods are made."""
        self._pods += pods
        if self._pods > MOST_PODS:
            raise FieldError(field, f"at most {MOST_PODS} pods can be planned, all files together")

    def note(self, text: str) -> None:
        self.found.notes.append(text)


def in_namespace(document: Document, namespace: str) -> Document:
    """With a namespace, and a name where it has only the beginning of one."""
    body = document.plain()
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        named = {"namespace": namespace, **metadata}
        if isinstance(prefix := metadata.get("generateName"), str):
            named.setdefault("name", prefix.rstrip("-."))
        body = {**body, "metadata": named}
    return Document(document.source, document.place, document.api_version, document.kind, body)


class Made:
    """What the controller of one workload would make."""

    def __init__(self, expander: Expander, given: GivenManifest, workload: Workload) -> None:
        self.expander, self.given, self.workload = expander, given, workload
        self.title = f"{given.kind} {given.meta.namespace}/{given.meta.name}"

    def add(self) -> None:
        note = self.expander.note
        pods, managers, between = list[Pod](), dict[Manager, None](), dict[int, Object]()
        for replicas in self._replicas():
            if replicas.manager is None:
                if self.expander.later or not is_reckoned(replicas):
                    pods += self._pods(replicas)
                    between |= {id(one): one for one in replicas.between}
            else:
                managers[replicas.manager] = None
        for manager in managers:
            note(f"{self.title} {managed_words(manager)}")
        if self.workload.suspended and pods:
            note(f"{self.title} is suspended; this is the answer for when it is resumed")
        if not pods and not managers:
            note(f"{self.title} asks for no pods")
        if pods:
            owners = [*between.values(), *([self.workload.owner] if self.workload.owner else ())]
            for owner in owners:
                self.expander.add(without_secrets(owner))
        for pod in self._grouped(pods):
            self.expander.add(pod)

    def _replicas(self) -> Iterator[Replicas]:
        try:
            yield from self.workload.replicas
        except MissingObject as missing:
            raise FieldError("spec.runtimeRef", missing_words(missing)) from None

    # -- pods ------------------------------------------------------------------------------------------

    def _pods(self, replicas: Replicas) -> Iterator[Pod]:
        """The template is checked once, however many pods are made from it."""
        self.expander.reserve(replicas.count, replicas.count_field)
        first = replicas.pod(replicas.first)
        try:
            CHECKS[Pod](as_new(first))
        except FieldError as problem:
            raise FieldError(f"{replicas.field}.{problem.field}".rstrip("."), problem.what) from None
        spec = self._spec(first.spec, replicas)
        for pod in replicas.pods():
            claims = tuple(self._claim(template, pod.metadata.name) for template in replicas.claims)
            metadata = msgspec.structs.replace(
                pod.metadata, annotations=allowed({**self._runtime, **pod.metadata.annotations})
            )
            own = msgspec.structs.replace(spec, volumes=(*spec.volumes, *claims)) if claims else spec
            yield Pod(metadata, own)

    @property
    def _runtime(self) -> dict[str, str]:
        """What the owner says of how long it runs."""
        said = {**self.given.meta.annotations, **self.given.meta.labels}
        return {key: value for key, value in said.items() if key == EXPECTED_RUNTIME}

    def _spec(self, spec: PodSpec, replicas: Replicas) -> PodSpec:
        """Owners may end at once, after 0 seconds; pods may not."""
        ends = None if replicas.deadline is None else max(1, replicas.deadline)
        return msgspec.structs.replace(
            spec,
            priority_class_name=spec.priority_class_name or self.workload.priority_class,
            active_deadline_seconds=spec.active_deadline_seconds or ends,
        )

    def _claim(self, template: Body, pod: str) -> Volume:
        name = template.get("metadata", {}).get("name", "")
        namespace = self.given.meta.namespace
        body = {**template, "metadata": {"name": f"{name}-{pod}", "namespace": namespace}}
        self.expander.add(read_new("v1", "PersistentVolumeClaim", body, "spec.volumeClaimTemplates"))
        return Volume(name, ClaimVolume(f"{name}-{pod}"))

    # -- groups ----------------------------------------------------------------------------------------

    def _grouped(self, pods: list[Pod]) -> Iterable[Pod]:
        """The pods, in the PodGroup that the Job controller of Kubernetes 1.37 makes if a Job asks for it."""
        named = any(pod.spec.scheduling_group is not None for pod in pods)
        if not pods or named or self.workload.scheduling is None:
            return pods
        spec = {"schedulingPolicy": {"basic": {}}, **self.workload.scheduling}
        policy = spec["schedulingPolicy"]
        if isinstance(policy, dict) and isinstance(policy.get("gang"), dict):
            spec["schedulingPolicy"] = {"gang": {"minCount": len(pods), **policy["gang"]}}
        if pods[0].spec.priority_class_name:
            spec["priorityClassName"] = pods[0].spec.priority_class_name
        name = self.given.meta.name
        body = {"metadata": {"name": name, "namespace": self.given.meta.namespace}, "spec": spec}
        try:
            self.expander.add(read_new(POD_GROUP_VERSION, "PodGroup", body, ""))
        except FieldError as problem:
            field = problem.field.removeprefix(".spec.")
            raise FieldError(f"spec.scheduling.{field}", problem.what) from None
        group = SchedulingGroup(name)
        return [Pod(pod.metadata, msgspec.structs.replace(pod.spec, scheduling_group=group)) for pod in pods]


def read_new(version: str, kind: str, body: Body, field: str) -> Object:
    """What a part of a manifest says, refused in terms of the manifest that has it."""
    try:
        item = Reader().take(Document("", "", version, kind, body))
        assert item is not None
        return as_new(item)
    except (InputError, FieldError) as problem:
        raise FieldError(f"{field}.{problem.field}".rstrip("."), problem.what) from None


def missing_words(missing: MissingObject) -> str:
    kind, _, name = str(missing).partition(" ")
    return (
        f"{missing} has the templates of its pods, and is neither in the input nor in the cluster; add it: "
        f"kubectl get {kind.lower()} {name} -o yaml"
    )


def managed_words(manager: Manager) -> str:
    return (
        f"is managed by {manager.name} ({manager.field}): the usual controller does not create its pods, "
        f"so none are planned; this command does not know which pods {manager.name} creates"
    )


def as_new(item: T) -> T:
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
    new: Any = type(item)
    return new(metadata, item.spec) if hasattr(item, "spec") else new(metadata)  # type: ignore[no-any-return]


def manifest_of(item: Object) -> Body:
    """The object as somebody would write it, in lists and dicts."""
    row = row_of(type(item))
    said = msgspec.json.decode(msgspec.json.encode(item))
    return {"apiVersion": row.api_versions[0], "kind": row.name, **said}
