"""What kubelets write: nodes, their heartbeats, and the status of their pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maitred import __version__
from maitred.kube.bodies import micro_time, timestamp, wall_clock
from maitred.model.node import Taint
from maitred.model.pod import Resources
from maitred.sandbox.kubelets.admission import Rejection
from maitred.sandbox.kubelets.objects import Container, Pod

Json = dict[str, Any]

LEASE_SECONDS = 40
KILLED = 137
MAX_PODS = "110"
SOFTWARE = {
    "kubeletVersion": f"maitred-{__version__}",
    "osImage": "simulated",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A node to pretend. `resources` is what it has and gives to pods; 110 pods unless it says otherwise."""

    name: str
    resources: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


def node(machine: Machine) -> Json:
    labels = {"kubernetes.io/hostname": machine.name, "kubernetes.io/os": "linux", **machine.labels}
    return {
        "metadata": {"name": machine.name, "labels": labels},
        "spec": taints(machine.taints),
        "status": node_status(machine),
    }


def taints(chosen: Sequence[Taint]) -> Json:
    return {"taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in chosen]}


def node_status(machine: Machine) -> Json:
    resources = {"pods": MAX_PODS, **machine.resources}
    return {"capacity": resources, "allocatable": resources, "nodeInfo": SOFTWARE, **readiness(True)}


def adopted_status(allocatable: Resources) -> Json:
    """Of a node that others have made: what it has is for them to say, but it has room for pods."""
    missing = {} if "pods" in allocatable else {"pods": MAX_PODS}
    return {"capacity": missing, "allocatable": missing, "nodeInfo": SOFTWARE, **readiness(True)}


def readiness(ready: bool) -> Json:
    """Of a node: ready, or not heard of, which others say of a kubelet that has died."""
    now = timestamp()
    words = (
        {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
        if ready
        else {
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
        }
    )
    return {"conditions": [{"type": "Ready", "lastHeartbeatTime": now, "lastTransitionTime": now, **words}]}


def lease(name: str) -> Json:
    now = micro_time(wall_clock())
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
    return {"metadata": {"name": name}, "spec": spec}


def rejected(why: Rejection) -> Json:
    return {"phase": "Failed", "reason": why.reason, "message": f"Pod was rejected: {why.message}"}


def waiting(pod: Pod, why: str) -> Json:
    """Admitted, and not started yet. A real kubelet says the reason in an Event only."""
    state = {"waiting": {"reason": "ContainerCreating", "message": why}}
    return {"phase": "Pending", "startTime": timestamp(), "containerStatuses": containers(pod, False, state)}


def failed_to_prepare(pod: Pod, why: str) -> Json:
    meta, now = pod.metadata, timestamp()
    involved = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    return {
        "metadata": {"generateName": f"{meta.name[:200]}.", "namespace": meta.namespace},
        "involvedObject": involved,
        "reason": "FailedPrepareDynamicResources",
        "message": f"Failed to prepare dynamic resources: {why}"[:1024],
        "type": "Warning",
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": "kubelet", "host": pod.spec.node_name},
        "reportingComponent": "kubelet",
    }


def running(pod: Pod, pod_ip: str, host_ip: str) -> Json:
    now = timestamp()
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "conditions": conditions("True", "Initialized", "ContainersReady", "Ready"),
        "containerStatuses": containers(pod, True, {"running": {"startedAt": now}}),
    }


def ended(pod: Pod, exit_code: int) -> Json:
    phase, reason = ("Failed", "Error") if exit_code else ("Succeeded", "Completed")
    ending = {"exitCode": exit_code, "reason": reason, "finishedAt": timestamp()}
    return {
        "phase": phase,
        "conditions": conditions("False", "ContainersReady", "Ready"),
        "containerStatuses": containers(pod, False, {"terminated": ending}),
    }


def past_its_deadline(pod: Pod) -> Json:
    words = "Pod was active on the node longer than the specified deadline"
    return {**ended(pod, KILLED), "reason": "DeadlineExceeded", "message": words}


def conditions(status: str, *types: str) -> list[Json]:
    now = timestamp()
    return [{"type": kind, "status": status, "lastTransitionTime": now} for kind in types]


def containers(pod: Pod, ready: bool, state: Json) -> list[Json]:
    return [container_status(container, ready, state) for container in pod.spec.containers]


def container_status(container: Container, ready: bool, state: Json) -> Json:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "restartCount": 0,
        "ready": ready,
        "started": ready,
        "state": state,
    }
