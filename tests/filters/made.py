"""Manifests for cases made by hand."""

from typing import Any

Obj = dict[str, Any]

SPACE = "filters-a"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
DELETED = "2026-01-01T00:00:00Z"
DRIVER, STRICT, EBS = "disk.example.com", "strict.example.com", "ebs.csi.aws.com"
GPU = "dra.example.com/gpu"


def node(name: str, allocatable: Obj | None = None, features: tuple[str, ...] = (), **labels: str) -> Obj:
    named = {
        {"zone": ZONE, "beta": BETA_ZONE, "rack": "example.com/rack"}.get(k, k): v for k, v in labels.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **named}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "10", **(allocatable or {})},
            "capacity": {},
            "declaredFeatures": sorted(features),
        },
    }


def pod(name: str = "probe", claims: tuple[str, ...] = (), requests: Obj | None = None, **spec: Any) -> Obj:
    resources = {
        "requests": requests or {},
        "limits": {r: q for r, q in (requests or {}).items() if "/" in r},
    }
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": "a"}},
        "spec": {
            "containers": [{"name": "main", "image": "example.com/image", "resources": resources}],
            "volumes": volumes,
            **spec,
        },
    }


def running(name: str, on: str, claims: tuple[str, ...] = (), requests: Obj | None = None) -> Obj:
    return pod(name, claims, requests, nodeName=on)


def claim(name: str, volume: str = "", class_name: str = "filters-disk", **spec: Any) -> Obj:
    metadata: Obj = {"name": name, "namespace": SPACE}
    if volume:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": {
            "storageClassName": class_name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": volume,
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(
    name: str, of: str = "", class_name: str = "filters-disk", labels: Obj | None = None, **spec: Any
) -> Obj:
    """`of` is the claim that has it; without one it is anybody's."""
    source = (
        {}
        if spec.keys() & {"csi", "awsElasticBlockStore"}
        else {"nfs": {"server": "example.com", "path": "/"}}
    )
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": SPACE, "name": of} if of else None,
            **source,
            **spec,
        },
        "status": {"phase": "Bound" if of else "Available"},
    }


def csi(handle: str, driver: str = DRIVER) -> Obj:
    return {"driver": driver, "volumeHandle": handle}


def ebs(volume_id: str) -> Obj:
    return {"volumeID": volume_id}


def csi_node(name: str, **counts: int | None) -> Obj:
    """Drivers and how many volumes each attaches there: `disk`, `strict` and `ebs`."""
    drivers = {"disk": DRIVER, "strict": STRICT, "ebs": EBS}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {
            "drivers": [
                {
                    "name": drivers[short],
                    "nodeID": name,
                    "allocatable": None if count is None else {"count": count},
                }
                for short, count in counts.items()
            ]
        },
    }


def attachment(name: str, on: str, volume: str, driver: str = DRIVER) -> Obj:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": driver, "nodeName": on, "source": {"persistentVolumeName": volume}},
    }


def in_zone(zone: str) -> Obj:
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def by_field(name: str) -> Obj:
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def spread(selector: Obj | None, **more: Any) -> Obj:
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector, **more}]}


def numbered(operator: str, value: str) -> Obj:
    term = {"matchExpressions": [{"key": "number", "operator": operator, "values": [value]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
