"""Claims and volumes: network disks that follow the pod or wait in a zone, and disks of single nodes."""

from collections.abc import Iterator

from benchmarks.objects import DRIVER, HOST, NAMESPACE, ZONE, Obj

ATTACHABLE = 25
NETWORK, LOCAL = "network-ssd", "local-nvme"


def classes() -> Iterator[Obj]:
    waiting = {"volumeBindingMode": "WaitForFirstConsumer"}
    for name, provisioner, more in (
        (NETWORK, DRIVER, {"allowedTopologies": [{"matchLabelExpressions": [zones("zone-a", "zone-b")]}]}),
        (LOCAL, "kubernetes.io/no-provisioner", {}),
    ):
        version = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
        yield {**version, "metadata": {"name": name}, "provisioner": provisioner, **waiting, **more}


def zones(*values: str) -> Obj:
    return {"key": ZONE, "values": list(values)}


def csi_node(name: str) -> Obj:
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": ATTACHABLE}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def local_volumes(node_names: list[str]) -> Iterator[Obj]:
    """One disk on each of these nodes, not claimed yet."""
    for name in node_names:
        yield volume(f"disk-{name}", LOCAL, {"key": HOST, "operator": "In", "values": [name]}, {})


def claim_volume(claim: str) -> Obj:
    """Part of a spec: mounts the claim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def waiting_claims(names: list[str]) -> Iterator[Obj]:
    """Provisioned where their pods go."""
    return (claim(name, NETWORK) for name in names)


def local_claims(names: list[str]) -> Iterator[Obj]:
    return (claim(name, LOCAL) for name in names)


def bound_claims(names: list[str]) -> Iterator[Obj]:
    """Bound to volumes that can be reached from one zone only."""
    for name in names:
        reference = {"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": name}
        more = {"claimRef": reference, "csi": {"driver": DRIVER, "volumeHandle": f"vol-{name}"}}
        yield volume(f"pv-{name}", NETWORK, {"operator": "In", **zones("zone-a")}, more)
        bound = claim(name, NETWORK)
        bound["spec"]["volumeName"] = f"pv-{name}"
        yield bound


def claim(name: str, storage_class: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "100Gi"}},
        },
    }


def volume(name: str, storage_class: str, requirement: Obj, more: Obj) -> Obj:
    terms = [{"matchExpressions": [requirement]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "200Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            **more,
        },
    }
