"""Nodes, namespaces, volumes and the small kinds beside them, good and bad, and how they may change."""

from base64 import b64encode
from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case

GPU = "example.dev/gpu"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""New nodes get this taint by admission, unless they have it."""
SIZE = {"requests": {"storage": "1Gi"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": SIZE}
VOLUME = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/data"},
}
ON_RACK = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]}
SPEC_IS_FIXED = "spec: Forbidden: spec is immutable after creation"


def of_kind(kind: str, metadata: Body | None = None, api: str = "v1", **fields: Any) -> Body:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", **(metadata or {})}, **fields}


def node(what: str, *errors: str, status: Body | None = None, **spec: Any) -> Case:
    spec["taints"] = [*spec.get("taints", ()), NOT_READY]
    return Case(what, of_kind("Node", spec=spec, status=status or {}), errors)


def changed_node(what: str, *errors: str, before: Body | None = None, part: str = "", **change: Any) -> Case:
    body = of_kind("Node", spec={"taints": [NOT_READY], **(before or {})})
    return Case(what, body, errors, change, part=part)


def namespace(what: str, *errors: str, metadata: Body | None = None, **fields: Any) -> Case:
    return Case(what, of_kind("Namespace", metadata, **fields), errors)


def claim(what: str, *errors: str, **spec: Any) -> Case:
    return Case(what, of_kind("PersistentVolumeClaim", spec={**CLAIM, **spec}), errors)


def changed_claim(what: str, *errors: str, status: Body | None = None, **spec: Any) -> Case:
    body = of_kind("PersistentVolumeClaim", spec=CLAIM)
    return Case(what, body, errors, {"spec": spec}, status)


def volume(what: str, *errors: str, **spec: Any) -> Case:
    return Case(what, of_kind("PersistentVolume", spec={**VOLUME, **spec}), errors)


def changed_volume(what: str, *errors: str, before: Body | None = None, **spec: Any) -> Case:
    body = of_kind("PersistentVolume", spec={**VOLUME, **(before or {})})
    return Case(what, body, errors, {"spec": spec})


def storage_class(what: str, *errors: str, change: Body | None = None, **fields: Any) -> Case:
    body = of_kind("StorageClass", api="storage.k8s.io/v1", **{"provisioner": "example.dev/disk", **fields})
    return Case(what, body, errors, change)


def config_map(what: str, *errors: str, change: Body | None = None, **fields: Any) -> Case:
    return Case(what, of_kind("ConfigMap", **fields), errors, change)


def secret(what: str, *errors: str, change: Body | None = None, **fields: Any) -> Case:
    return Case(what, of_kind("Secret", **fields), errors, change)


def service(what: str, *errors: str, **spec: Any) -> Case:
    return Case(what, of_kind("Service", spec={"ports": [{"port": 80}], **spec}), errors)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


NODES = (
    node("plain"),
    node("capacity", status={"capacity": {"cpu": "8", "memory": "64Gi", GPU: "8", "pods": "110"}}),
    # One each: the server names the parts of a map in any order.
    node(
        "bad capacity",
        "status.capacity.cpu: Invalid",
        "status.allocatable.pods: Invalid",
        status={"capacity": {"cpu": "-1"}, "allocatable": {"pods": "100m"}},
    ),
    node(
        "half a device",
        f"status.capacity.{GPU}: Invalid",
        f"status.allocatable.{GPU}: Invalid",
        status={"capacity": {GPU: "500m"}},
    ),
    node(
        "taints",
        taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}],
    ),
    node(
        "bad taints",
        "metadata.taints[0].key: Invalid",
        "metadata.taints[0].key: Invalid",
        "metadata.taints[0].effect: Required",
        "metadata.taints[1].value: Invalid",
        "metadata.taints[1].effect: Unsupported",
        taints=[{"key": "", "effect": ""}, {"key": "a", "value": "b c", "effect": "Perhaps"}],
    ),
    node(
        "taints that repeat",
        "metadata.taints[1]: Duplicate",
        taints=[{"key": "a", "value": value, "effect": "NoSchedule"} for value in ("b", "c")],
    ),
    node("range of addresses", podCIDR="10.1.0.0/24"),
    node("two ranges", podCIDRs=["10.1.0.0/24", "fd00::/64"]),
    node("bad ranges", "spec.podCIDRs[0]: Invalid", podCIDRs=["10.1.0.0"]),
    node("range with a rest", "spec.podCIDRs[0]: Invalid", podCIDRs=["10.1.0.1/24"]),
    node("ranges of a family", "spec.podCIDRs: Invalid", podCIDRs=["10.1.0.0/24", "10.2.0.0/24"]),
    node(
        "bad features",
        "status.declaredFeatures[0]: Invalid",
        "status.declaredFeatures[2]: Duplicate",
        status={"declaredFeatures": ["1a", "A", "A"]},
    ),
    changed_node("cordon", spec={"unschedulable": True}),
    changed_node("taints", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}),
    changed_node(
        "bad taints",
        "metadata.taints[0].effect: Unsupported",
        spec={"taints": [{"key": "a", "effect": "No"}]},
    ),
    changed_node("range", spec={"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}),
    changed_node(
        "other range",
        "spec.podCIDRs: Forbidden",
        before={"podCIDR": "10.1.0.0/24"},
        spec={"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]},
    ),
    changed_node("provider", spec={"providerID": "a"}),
    changed_node(
        "other provider", "spec.providerID: Invalid", before={"providerID": "a"}, spec={"providerID": "b"}
    ),
    changed_node(
        "no provider", "spec.providerID: Invalid", before={"providerID": "a"}, spec={"providerID": None}
    ),
    changed_node(
        "bad capacity of",
        "status.capacity.cpu: Invalid",
        "status.allocatable.cpu: Invalid",
        part="status",
        status={"capacity": {"cpu": "-1"}},
    ),
    changed_node(
        "addresses that repeat",
        "status.addresses[1]: Duplicate",
        part="status",
        status={"addresses": [{"type": "InternalIP", "address": "10.1.0.1"}] * 2},
    ),
)

NAMESPACES = (
    namespace("plain"),
    namespace("labels", metadata={"labels": {"a": "b"}}),
    namespace("name with dots", "metadata.name: Invalid", metadata={"name": "a.b"}),
    namespace("finalizers", spec={"finalizers": ["example.dev/mine"]}),
    namespace("bad finalizers", "spec.finalizers: Invalid", spec={"finalizers": ["mine"]}),
)

CLAIMS = (
    claim("plain"),
    claim("of a class", storageClassName="fast", volumeMode="Block"),
    claim("of a volume", volumeName="v", selector={"matchLabels": {"a": "b"}}),
    claim("no modes", "spec.accessModes: Required", accessModes=[]),
    claim("bad mode", "spec.accessModes: Unsupported", accessModes=["Perhaps"]),
    claim(
        "modes that contradict",
        "spec.accessModes: Forbidden",
        accessModes=["ReadWriteOncePod", "ReadOnlyMany"],
    ),
    claim("no size", "spec.resources[storage]: Required", resources={}),
    claim("size of nothing", "spec.resources[storage]: Invalid", resources={"requests": {"storage": "0"}}),
    claim("bad class", "spec.storageClassName: Invalid", storageClassName="Fast"),
    claim("bad kind of volume", "spec.volumeMode: Unsupported", volumeMode="Perhaps"),
    claim(
        "bad selector",
        "spec.selector.matchExpressions[0].values: Required",
        selector={"matchExpressions": [{"key": "a", "operator": "In"}]},
    ),
    claim("copy", dataSource={"kind": "PersistentVolumeClaim", "name": "y"}),
    claim(
        "copy of anything",
        "spec.dataSource: Invalid",
        "spec.dataSourceRef: Invalid",
        dataSourceRef={"kind": "Pod", "name": "y"},
    ),
    changed_claim("volume", volumeName="v"),
    changed_claim("class", storageClassName="fast"),
    changed_claim("modes", SPEC_IS_FIXED, accessModes=["ReadOnlyMany"]),
    changed_claim("size", SPEC_IS_FIXED, resources={"requests": {"storage": "2Gi"}}),
    changed_claim(
        "less than there is",
        "spec.resources.requests.storage: Forbidden",
        status={"phase": "Bound", "capacity": {"storage": "1Gi"}},
        resources={"requests": {"storage": "512Mi"}},
    ),
)

VOLUMES = (
    volume("plain"),
    volume("of a class", storageClassName="fast", persistentVolumeReclaimPolicy="Delete"),
    volume("no modes", "spec.accessModes: Required", accessModes=[]),
    volume("no capacity", "spec.capacity: Required", "spec.capacity: Unsupported", capacity=None),
    volume(
        "capacity of other things",
        "spec.capacity: Unsupported",
        capacity={"storage": "1Gi", "cpu": "1"},
    ),
    volume("capacity of nothing", "spec.capacity[storage]: Invalid", capacity={"storage": "0"}),
    volume(
        "less than nothing",
        *["spec.capacity[storage]: Invalid"] * 2,
        capacity={"storage": "-1Gi"},
    ),
    volume(
        "bad reclaim policy",
        "spec.persistentVolumeReclaimPolicy: Unsup",
        persistentVolumeReclaimPolicy="Perhaps",
    ),
    volume("no source", "spec: Required", hostPath=None),
    volume("two sources", "spec.nfs: Forbidden", nfs={"server": "s", "path": "/"}),
    volume("local", hostPath=None, local={"path": "/disk"}, nodeAffinity={"required": ON_RACK}),
    volume("local anywhere", "spec.nodeAffinity: Required", hostPath=None, local={"path": "/disk"}),
    volume("bad affinity", "spec.nodeAffinity.required: Required", nodeAffinity={}),
    volume(
        "bad driver",
        "spec.csi.driver: Required",
        "spec.csi.volumeHandle: Required",
        hostPath=None,
        csi={"driver": "", "volumeHandle": ""},
    ),
    volume("bad class", "spec.storageClassName: Invalid", storageClassName="Fast"),
    volume("bad kind of volume", "spec.volumeMode: Unsupported", volumeMode="Perhaps"),
    changed_volume("policy", persistentVolumeReclaimPolicy="Delete"),
    changed_volume("claim", claimRef={"name": "x", "namespace": "default"}),
    changed_volume("source", "spec.persistentvolumesource: Forbidden", hostPath={"path": "/other"}),
    changed_volume("kind of volume", "volumeMode: Invalid", volumeMode="Block"),
    storage_class("plain"),
    storage_class("that waits", volumeBindingMode="WaitForFirstConsumer", parameters={"a": "b"}),
    storage_class("no provisioner", "provisioner: Required", provisioner=""),
    storage_class("bad provisioner", "provisioner: Invalid", provisioner="a b"),
    storage_class("bad policy", "reclaimPolicy: Unsupported", reclaimPolicy="Recycle"),
    storage_class("bad mode", "volumeBindingMode: Unsupported", volumeBindingMode="Perhaps"),
    storage_class(
        "bad topologies",
        "allowedTopologies[0].matchLabelExpressions[0].values: Required",
        "allowedTopologies[0].matchLabelExpressions[1].values[1]: Duplicate",
        "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate",
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": "a", "values": []}, {"key": "a", "values": ["b", "b"]}]}
        ],
    ),
    storage_class("expansion", change={"allowVolumeExpansion": True}),
    storage_class(
        "other class",
        "provisioner: Invalid",
        "parameters: Invalid",
        "reclaimPolicy: Invalid",
        "volumeBindingMode: Invalid",
        change={
            "provisioner": "example.dev/tape",
            "parameters": {"a": "b"},
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ),
)

SMALL = (
    config_map("plain", data={"a.b-c_D": "x"}, binaryData={"e": encoded("y")}),
    config_map("bad key", "data[a b]: Invalid", data={"a b": "x"}),
    config_map("key up", *["data[..]: Invalid"], data={"..": "x"}),
    config_map("key twice", "data[a]: Invalid", data={"a": "x"}, binaryData={"a": encoded("x")}),
    config_map("too large", "[]: Too long", data={"a": "x" * (2**20 + 1)}),
    config_map("change", data={"a": "x"}, change={"data": {"a": "y"}}),
    config_map(
        "change of a sealed one",
        "immutable: Forbidden",
        "data: Forbidden",
        data={"a": "x"},
        immutable=True,
        change={"data": {"a": "y"}, "immutable": False},
    ),
    secret("plain", data={"a": encoded("x")}, stringData={"b": "y"}),
    secret("bad key", "data[a b]: Invalid", data={"a b": encoded("x")}),
    secret("too large", "data: Too long", data={"a": encoded("x" * (2**20 + 1))}),
    secret(
        "certificate without key", "data[tls.key]: Required", type="kubernetes.io/tls", data={"tls.crt": ""}
    ),
    secret("nobody", "data[username]: Required", "data[password]: Required", type="kubernetes.io/basic-auth"),
    secret("no key", "data[ssh-privatekey]: Required", type="kubernetes.io/ssh-auth"),
    secret("no config", "data[.dockerconfigjson]: Required", type="kubernetes.io/dockerconfigjson"),
    secret(
        "no account",
        "metadata.annotations[kubernetes.io/service-account.name]: Required",
        type="kubernetes.io/service-account-token",
    ),
    secret("other type", "type: Invalid", type="a", change={"type": "b"}),
    Case("plain", of_kind("ServiceAccount")),
    Case("bad name", of_kind("ServiceAccount", {"name": "X"}), ("metadata.name: Invalid",)),
    service("headless", clusterIP="None", selector={"a": "b"}),
    service("of another name", type="ExternalName", externalName="example.dev"),
    service("of no name", "spec.externalName: Required", type="ExternalName"),
    service("no ports", "spec.ports: Required", ports=[]),
    service(
        "bad ports",
        "spec.ports[0].port: Invalid",
        "spec.ports[0].protocol: Unsupported",
        "spec.ports[0].targetPort: Invalid",
        ports=[{"port": 0, "protocol": "IP"}],
        clusterIP="None",
    ),
    service(
        "ports without name",
        "spec.ports[0].name: Required",
        "spec.ports[1].name: Required",
        clusterIP="None",
        ports=[{"port": 80}, {"port": 81}],
    ),
    service(
        "ports that repeat",
        "spec.ports[1].name: Duplicate",
        "spec.ports[1]: Duplicate",
        clusterIP="None",
        ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "a"}],
    ),
    service("bad type", "spec.type: Unsupported", type="Perhaps", clusterIP="None"),
    service("bad affinity", "spec.sessionAffinity: Unsupported", sessionAffinity="Perhaps", clusterIP="None"),
    service("bad selector", "spec.selector: Invalid", selector={"a b": "c"}, clusterIP="None"),
    service("affinity", sessionAffinity="ClientIP", clusterIP="None"),
)

OF_CORE = (*NODES, *NAMESPACES, *CLAIMS, *VOLUMES, *SMALL)
