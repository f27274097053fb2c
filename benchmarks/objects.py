"""Kubernetes objects as an API server sends them. Nothing here is random: same arguments, same object."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
RACK = "topology.example.com/rack"
POOL = "node.example.com/pool"
PRODUCT = "nvidia.com/gpu.product"
INDEX = "batch.kubernetes.io/job-completion-index"
CREATED = "2026-01-30T08:00:00Z"
NAMESPACE = "training"
DRIVER = "csi.example.com"


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of node."""

    instance: str
    cpu: int
    memory: int
    """GiB."""
    gpus: int = 0
    product: str = ""
    pool: str = "general"
    taints: tuple[str, ...] = ()
    """Keys of NoSchedule taints."""


H100 = Machine("h100-8", 192, 2048, 8, "NVIDIA-H100-80GB-HBM3", "training", (GPU,))
A100 = Machine("a100-8", 96, 1024, 8, "NVIDIA-A100-SXM4-80GB", "training", (GPU,))
L4 = Machine("l4-4", 48, 192, 4, "NVIDIA-L4", "inference", (GPU,))
LARGE = Machine("cpu-64", 64, 256)


def node(name: str, rack: str, zone: str, machine: Machine, taints: Sequence[str] = ()) -> Obj:
    amounts = {
        "cpu": f"{machine.cpu * 1000 - 180}m",
        "memory": f"{machine.memory * 1024 * 1024 - 2_621_440}Ki",
        "ephemeral-storage": "1819274934272",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": "110",
    }
    if machine.gpus:
        amounts[GPU] = str(machine.gpus)
    keys = (*machine.taints, *taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"7d0c9a5e-0000-4000-8000-{name:0>12}",
            "creationTimestamp": CREATED,
            "labels": node_labels(name, rack, zone, machine),
            "annotations": {
                "csi.volume.kubernetes.io/nodeid": f'{{"{DRIVER}":"{name}"}}',
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {
            "podCIDR": "10.1.2.0/24",
            "providerID": f"example:///{zone}/{name}",
            **({"taints": [{"key": key, "effect": "NoSchedule"} for key in keys]} if keys else {}),
        },
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": NODE_CONDITIONS},
    }


def node_labels(name: str, rack: str, zone: str, machine: Machine) -> dict[str, str]:
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": machine.instance,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": "amd64",
        HOST: name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine.instance,
        POOL: machine.pool,
        "topology.kubernetes.io/region": "region-1",
        ZONE: zone,
        RACK: rack,
    }
    if machine.gpus:
        labels |= {
            "nvidia.com/cuda.driver.major": "570",
            "nvidia.com/gpu.count": str(machine.gpus),
            "nvidia.com/gpu.memory": "81559",
            "nvidia.com/gpu.present": "true",
            PRODUCT: machine.product,
            "nvidia.com/mig.capable": "true",
        }
    return labels


def condition(kind: str, status: str, reason: str) -> Obj:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": f"kubelet has {reason}",
        "lastHeartbeatTime": CREATED,
        "lastTransitionTime": CREATED,
    }


NODE_CONDITIONS = [
    condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    condition("PIDPressure", "False", "KubeletHasSufficientPID"),
    condition("Ready", "True", "KubeletReady"),
]


# -- pods ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Template:
    """What the pods of one Job have in common."""

    cpu: str = "8"
    memory: str = "64Gi"
    gpus: int = 1
    spec: Obj = field(default_factory=dict)
    """Selectors, affinity and the like, put into the pod's spec."""
    labels: dict[str, str] = field(default_factory=dict)
    image: str = "registry.example.com/ml/trainer:2.9.1-cuda12"


GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
USUAL_TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
]


def job_pod(job: str, index: int | str, template: Template, group: str = "", node_name: str = "") -> Obj:
    """A pod of an Indexed Job, with its completion index in a label, an annotation, a name and a variable."""
    name, uid = f"{job}-{index}", f"00000000-0000-4000-8000-{job}"
    spec = {
        **pod_spec(template, index),
        "hostname": name,
        "subdomain": job,
        "restartPolicy": "Never",
    }
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if node_name:
        spec["nodeName"] = node_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-x7k2p",
            "generateName": f"{name}-",
            "namespace": NAMESPACE,
            "uid": f"5f1e0b1c-0000-4000-8000-{name}",
            "resourceVersion": "184467440",
            "creationTimestamp": CREATED,
            "labels": {
                "app": job,
                "batch.kubernetes.io/controller-uid": uid,
                INDEX: str(index),
                "batch.kubernetes.io/job-name": job,
                "controller-uid": uid,
                "job-name": job,
                **template.labels,
            },
            "annotations": {INDEX: str(index)},
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "ownerReferences": [owner("batch/v1", "Job", job, uid)],
        },
        "spec": spec,
        "status": {"phase": "Running" if node_name else "Pending", "qosClass": "Guaranteed"},
    }


def owner(version: str, kind: str, name: str, uid: str) -> Obj:
    return {
        "apiVersion": version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_spec(template: Template, index: int | str) -> Obj:
    amounts = {"cpu": template.cpu, "memory": template.memory}
    tolerations = [*template.spec.get("tolerations", []), *USUAL_TOLERATIONS]
    if template.gpus:
        amounts[GPU] = str(template.gpus)
        tolerations.append(GPU_TOLERATION)
    container = {
        "name": "worker",
        "image": template.image,
        "command": ["torchrun", "--nnodes=$(NODES)", "--node-rank=$(JOB_COMPLETION_INDEX)", "train.py"],
        "env": [
            {"name": "NODES", "value": "64"},
            {"name": "NCCL_DEBUG", "value": "WARN"},
            {
                "name": "JOB_COMPLETION_INDEX",
                "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
            },
            {"name": "RUN_TAG", "value": f"run-{index}"},
        ],
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": amounts, "limits": amounts},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
    }
    return {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "schedulerName": "maitred",
        "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        **template.spec,
        "containers": [container],
        "tolerations": tolerations,
        "volumes": [*template.spec.get("volumes", []), *USUAL_VOLUMES],
    }


USUAL_VOLUMES = [
    {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
    {
        "name": "token",
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ],
        },
    },
]


def apart(labels: dict[str, str], key: str) -> Obj:
    """Part of a spec: no two pods with these labels in one domain of the key."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"podAntiAffinity": {required: [term]}}}


def spread(labels: dict[str, str], key: str) -> Obj:
    """Part of a spec: the domains of the key differ by at most one pod with these labels."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {"topologySpreadConstraints": [constraint]}


def daemon_pod(name: str, node_name: str, port: int) -> Obj:
    """A small pod that belongs to its node and takes a port of the host."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{node_name}",
            "namespace": "kube-system",
            "uid": f"9b2f6d1a-0000-4000-8000-{name}-{node_name}",
            "creationTimestamp": CREATED,
            "labels": {"app": name, "controller-revision-hash": "6d8f9c", "pod-template-generation": "3"},
            "ownerReferences": [owner("apps/v1", "DaemonSet", name, f"0000-{name}")],
        },
        "spec": {
            "nodeName": node_name,
            "hostNetwork": True,
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": name,
                    "image": f"registry.example.com/system/{name}:1.4",
                    "ports": [{"containerPort": port, "hostPort": port, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "200Mi"}},
                }
            ],
        },
        "status": {"phase": "Running"},
    }


def pod_group(name: str, quorum: int, rack_bound: bool = False) -> Obj:
    spec: Obj = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
    if rack_bound:
        spec["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": CREATED},
        "spec": spec,
    }
