"""What is created on the server: nodes, groups and their pods, as bytes to be posted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import msgspec

from benchmarks.clusters import RACK_NODES, zone_of
from benchmarks.device_objects import claiming_pod
from benchmarks.dressing import dressed_node
from benchmarks.objects import H100, Obj, Template, daemon_pod, job_pod, node, pod_group
from maitred.kube.resources import NODES, PODS, Resource

GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
MEMBERS = 64
NODE_GPUS = H100.gpus
CLAIM_TEMPLATE = "one-gpu"
SET_BY_SERVER = ("uid", "creationTimestamp", "resourceVersion", "managedFields")


@dataclass(frozen=True, slots=True)
class Body:
    """One object and where it is posted to."""

    path: str
    name: str
    data: bytes


def body(resource: Resource, item: Obj) -> Body:
    metadata = item["metadata"]
    # Nobody runs here who would take a finalizer off again.
    kept = {key: value for key, value in metadata.items() if key not in (*SET_BY_SERVER, "finalizers")}
    path = resource.path(metadata.get("namespace", ""))
    return Body(path, metadata["name"], msgspec.json.encode({**item, "metadata": kept}))


# -- nodes ---------------------------------------------------------------------------------------------


def node_name(number: int) -> str:
    return f"gpu-{number:05}"


def node_number(name: str) -> int:
    return int(name.removeprefix("gpu-"))


def rack_name(number: int) -> str:
    return f"rack-{number // RACK_NODES:04}"


def node_body(number: int) -> Body:
    zone = zone_of(number // RACK_NODES)
    return body(NODES, dressed_node(node(node_name(number), rack_name(number), zone, H100), number))


READY_TAINTS = msgspec.json.encode(
    {"spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in H100.taints]}}
)
"""A patch: the server taints every new node as not ready, and here nobody else takes that off."""


# -- gangs ---------------------------------------------------------------------------------------------


class Ask(Enum):
    """How a gang asks for its GPUs, and what follows the numbers in its title."""

    FREE = ""
    RACK = ", each in one rack"
    CLAIMS = ", a claim from a template for each pod"


@dataclass(frozen=True, slots=True)
class Gang:
    """64 pods of one GPU each."""

    name: str
    scheduler: str
    ask: Ask

    def group(self) -> Body:
        item = pod_group(self.name, MEMBERS, self.ask is Ask.RACK)
        return body(GROUPS, {**item, "apiVersion": GROUPS.api_version})

    def members(self) -> list[Body]:
        return [body(PODS, self._member(number)) for number in range(MEMBERS)]

    def _member(self, number: int) -> Obj:
        if self.ask is Ask.CLAIMS:
            return claiming_pod(self.name, number, CLAIM_TEMPLATE, schedulerName=self.scheduler)
        return job_pod(self.name, number, Template(spec={"schedulerName": self.scheduler}), self.name)


def gangs(count: int, scheduler: str, ask: Ask) -> list[Gang]:
    return [Gang(f"gang-{number:04}", scheduler, ask) for number in range(count)]


def gang_of(pod: str) -> str:
    """The gang of a pod, by its name: gang-0003-17-x7k2p."""
    return "-".join(pod.split("-")[:2])


# -- running load --------------------------------------------------------------------------------------

APPLICATIONS = (
    Template("8", "64Gi", 1),
    Template("16", "128Gi", 2),
    Template("4", "16Gi", 0, labels={"tier": "data"}),
    Template("2", "8Gi", 0, labels={"tier": "service"}),
    Template("500m", "1Gi", 0, labels={"tier": "sidecar"}),
)


def running_load(nodes: int, pods: int) -> Iterator[Body]:
    """Pods that have their nodes: on each one of a DaemonSet, and members of jobs of five shapes."""
    for number in range(nodes):
        yield body(PODS, daemon_pod("node-exporter", node_name(number), 9100))
    for number in range(pods - nodes):
        job, index = divmod(number, MEMBERS)
        template = APPLICATIONS[job % len(APPLICATIONS)]
        labelled = replace(template, labels={**template.labels, "app.kubernetes.io/name": f"app-{job % 60}"})
        place = node_name(number % nodes)
        yield body(PODS, job_pod(f"job-{job:05}", index, labelled, node_name=place))
