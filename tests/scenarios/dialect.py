"""One description, two ways to say it: group objects of the version that is served, or marks on pods."""

from collections.abc import Iterator
from typing import Any, Protocol

from maitred.kube.discovery import Served
from maitred.kube.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES, Resource
from tests.scenarios.objects import Budget, Composite, Group, Job, Pods, Rank, Storage

Json = dict[str, Any]

JOBS = Resource("batch", "v1", "jobs", "Job")
RUN_SECONDS = "maitred.dev/run-seconds"
SIZE = {"storage": "1Gi"}
WORKLOAD = {"workloadName": "w", "templateName": "t"}


class Dialect(Protocol):
    version: str
    """Of the group API; empty where there is none."""

    def declare(self, group: Group) -> Json | None:
        """The object that declares the group, where there is such a thing."""

    def join(self, group: Group, pod: Json) -> None:
        """Make the pod, or a template of pods, say that it belongs to the group."""


class Objects:
    """With a group API. What differs between its versions is nothing that scenarios use, but their names."""

    def __init__(self, groups: Resource) -> None:
        self.version = groups.version
        self._groups = groups

    def declare(self, group: Group) -> Json:
        policy: Json = {"gang": {"minCount": group.quorum}} if group.quorum else {"basic": {}}
        spec: Json = {"schedulingPolicy": policy}
        if group.topology:
            spec["schedulingConstraints"] = {"topology": [{"key": group.topology}]}
        if group.rank:
            spec["priorityClassName"] = group.rank
        if group.never and self.version != "v1alpha2":
            spec["preemptionPolicy"] = "Never"
        if group.whole:
            spec["disruptionMode"] = "PodGroup" if self.version == "v1alpha2" else {"all": {}}
        if group.parent:
            spec |= {"workloadRef": WORKLOAD, "parentCompositePodGroupName": group.parent}
        return {
            "apiVersion": self._groups.api_version,
            "kind": self._groups.kind,
            "metadata": {"name": group.name},
            "spec": spec,
        }

    def join(self, group: Group, pod: Json) -> None:
        pod["spec"]["schedulingGroup"] = {"podGroupName": group.name}


def composite_body(composite: Composite) -> Json:
    policy: Json = {"gang": {"minGroupCount": composite.quorum}} if composite.quorum else {"basic": {}}
    spec: Json = {"schedulingPolicy": policy, "workloadRef": WORKLOAD}
    if composite.topology:
        spec["schedulingConstraints"] = {"topology": [{"key": composite.topology}]}
    if composite.rank:
        spec["priorityClassName"] = composite.rank
    if composite.whole:
        spec["disruptionMode"] = {"all": {}}
    if composite.parent:
        spec["parentCompositePodGroupName"] = composite.parent
    return {"metadata": {"name": composite.name}, "spec": spec}


class Marks:
    """Without a group API the pods say all of it themselves."""

    version = ""

    def declare(self, group: Group) -> None:
        return None

    def join(self, group: Group, pod: Json) -> None:
        marks = {"maitred.dev/group": group.name}
        if group.quorum:
            marks["maitred.dev/min-count"] = str(group.quorum)
        if group.topology:
            marks["maitred.dev/topology-required"] = group.topology
        pod["metadata"].setdefault("annotations", {}).update(marks)


def dialect_of(served: Served) -> Dialect:
    return Marks() if served.groups is None else Objects(served.groups)


def pod_bodies(pods: Pods, dialect: Dialect) -> list[Json]:
    return [{**pod_template(pods, dialect), "metadata": metadata(name, pods, dialect)} for name in pods.names]


def metadata(name: str, pods: Pods, dialect: Dialect) -> Json:
    return {**pod_template(pods, dialect)["metadata"], "name": name}


def pod_template(pods: Pods, dialect: Dialect) -> Json:
    requests = {"cpu": str(pods.cpu)} if pods.cpu else {}
    body: Json = {
        "metadata": {"labels": {"app": pods.name}},
        "spec": {
            "schedulerName": pods.scheduler,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            **({"nodeName": pods.node} if pods.node else {}),
            **pods.spec,
        },
    }
    if pods.run_seconds is not None:
        body["metadata"]["annotations"] = {RUN_SECONDS: str(pods.run_seconds)}
    if pods.group is not None:
        dialect.join(pods.group, body)
    return body


def job_body(job: Job, dialect: Dialect) -> Json:
    pods = Pods(job.name, job.size, job.group, cpu=job.cpu, run_seconds=job.run_seconds, spec=job.spec)
    return {
        "metadata": {"name": job.name},
        "spec": {
            "completionMode": "Indexed",
            "parallelism": job.size,
            "completions": job.size,
            "backoffLimit": 1000,
            "template": pod_template(pods, dialect),
        },
    }


def rank_body(rank: Rank) -> Json:
    policy = "PreemptLowerPriority" if rank.preempts else "Never"
    return {"metadata": {"name": rank.name}, "value": rank.value, "preemptionPolicy": policy}


def budget_body(budget: Budget) -> Json:
    selector = {"matchLabels": {"app": budget.pods.name}}
    return {"metadata": {"name": budget.name}, "spec": {"selector": selector, "minAvailable": budget.least}}


def storage_bodies(storage: Storage, namespace: str) -> Iterator[tuple[Resource, Json]]:
    """The claim, and what there must be for it to get its volume one day."""
    waits = bool(storage.node or storage.made)
    if waits:
        yield STORAGE_CLASSES, storage_class(storage, namespace)
    if storage.node:
        yield VOLUMES, volume(storage, namespace, storage.node)
    elif not storage.made:
        yield VOLUMES, volume(storage, namespace)
    spec = {**common(storage, namespace), "resources": {"requests": SIZE}}
    if not waits:
        spec["volumeName"] = full_name(storage, namespace)
    yield VOLUME_CLAIMS, {"metadata": {"name": storage.name}, "spec": spec}


def storage_class(storage: Storage, namespace: str) -> Json:
    return {
        "metadata": {"name": full_name(storage, namespace)},
        "provisioner": "example.com/maker" if storage.made else "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def volume(storage: Storage, namespace: str, node: str = "") -> Json:
    """For this claim alone, unless it waits on a node for anyone."""
    name = full_name(storage, namespace)
    source = {"csi": {"driver": "none.example.com", "volumeHandle": name}}
    spec: Json = {**common(storage, namespace), "capacity": SIZE, **source}
    if node:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if not storage.node:
        spec["claimRef"] = {"namespace": namespace, "name": storage.name}
    return {"metadata": {"name": name}, "spec": spec}


def common(storage: Storage, namespace: str) -> Json:
    waits = storage.node or storage.made
    return {
        "accessModes": ["ReadWriteOncePod"],
        "storageClassName": full_name(storage, namespace) if waits else "",
    }


def full_name(storage: Storage, namespace: str) -> str:
    """What belongs to no namespace has the name of ours in its own."""
    return f"{namespace}-{storage.name}"
