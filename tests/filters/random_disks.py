"""Random storage: classes, volumes of every kind that filters tell apart, claims, drivers and what is
attached."""

from random import Random
from typing import Any

Obj = dict[str, Any]

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
DRIVER, STRICT_DRIVER, EBS_DRIVER = "disk.example.com", "strict.example.com", "ebs.csi.aws.com"
NO_PROVISIONER, EBS = "kubernetes.io/no-provisioner", "kubernetes.io/aws-ebs"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
SELECTED = "volume.kubernetes.io/selected-node"
DELETED = "2026-01-01T00:00:00Z"
WAITING = ("filters-local", "filters-disk", "filters-near", "filters-strict", "filters-ebs")


def lasting() -> list[Obj]:
    """Classes and drivers, which all cases share."""
    return [
        storage_class("filters-now", DRIVER, "Immediate"),
        storage_class("filters-local", NO_PROVISIONER),
        storage_class("filters-disk", DRIVER),
        storage_class("filters-near", DRIVER, zones=["za"]),
        storage_class("filters-strict", STRICT_DRIVER),
        storage_class("filters-ebs", EBS),
        csi_driver(DRIVER, strict=False),
        csi_driver(STRICT_DRIVER, strict=True),
    ]


def storage_class(
    name: str, provisioner: str, mode: str = "WaitForFirstConsumer", zones: list[str] | None = None
) -> Obj:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}] if zones else None
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        "allowedTopologies": terms,
    }


def csi_driver(name: str, strict: bool) -> Obj:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {"preventPodSchedulingIfMissing": strict},
    }


class Disks:
    def __init__(self, random: Random, prefix: str, nodes: list[str], namespaces: tuple[str, ...]) -> None:
        self.random, self.prefix, self.nodes, self.namespaces = random, prefix, nodes, namespaces
        self.claims: dict[str, list[Obj]] = {namespace: [] for namespace in namespaces}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def objects(self) -> list[Obj]:
        found = [self.csi_node(name) for name in self.nodes if self.chance(0.7)]
        for number in range(self.random.randint(4, 10)):
            found += self.claim(number)
        found += [self.spare(number) for number in range(self.random.randint(0, 4))]
        volumes = [item["metadata"]["name"] for item in found if item["kind"] == "PersistentVolume"]
        for number in range(self.random.randint(0, 3) if volumes else 0):
            found.append(self.attachment(number, self.random.choice(volumes)))
        return found

    def mounts(self, pod: Obj, bound: bool = False) -> list[Obj]:
        """Some claims of its namespace; only such as are `bound` for a pod that runs already."""
        claims = self.claims[pod["metadata"]["namespace"]]
        claims = [claim for claim in claims if not bound or "volumeName" in claim["spec"]]
        chosen = self.random.sample(claims, min(len(claims), self.random.choice((1, 1, 2))))
        names = [claim["metadata"]["name"] for claim in chosen]
        if names and "volumeName" in chosen[0]["spec"] and self.chance(0.2):
            names.append(names[0])
        if self.chance(0.03):
            names.append("missing")
        return [
            {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
            for number, name in enumerate(names)
        ]

    # -- objects ---------------------------------------------------------------------------------------

    def csi_node(self, node: str) -> Obj:
        drivers = [
            {
                "name": driver,
                "nodeID": node,
                "topologyKeys": None,
                "allocatable": self.random.choice((None, {"count": 1}, {"count": 1}, {"count": 2})),
            }
            for driver in (DRIVER, STRICT_DRIVER, EBS_DRIVER)
            if self.chance(0.8)
        ]
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": drivers},
        }

    def claim(self, number: int) -> list[Obj]:
        """A claim, and its volume if it has one."""
        namespace = self.random.choice(self.namespaces)
        name, state = f"{self.prefix}-claim{number}", self.random.random()
        waiting = self.random.choice(WAITING)
        claim: Obj = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "annotations": {}},
            "spec": {
                "storageClassName": waiting,
                "accessModes": ["ReadWriteOncePod" if self.chance(0.1) else "ReadWriteOnce"],
                "resources": {"requests": {"storage": self.random.choice(("1Gi", "5Gi"))}},
                "volumeAttributesClassName": "gold" if self.chance(0.15) else None,
                "selector": {"matchLabels": {"fast": "yes"}} if self.chance(0.1) else None,
            },
            "status": {"phase": "Pending"},
        }
        self.claims[namespace].append(claim)
        made = [claim]
        if state < 0.6:
            volume = self.volume(f"{self.prefix}-pv{number}", claim["spec"]["storageClassName"])
            self._bind(claim, volume)
            made += [volume] if self.chance(0.95) else []
        elif state < 0.63:
            claim["spec"]["storageClassName"] = "filters-now"
        elif state < 0.67:
            claim["metadata"]["annotations"][SELECTED] = self.random.choice(self.nodes)
        elif state < 0.72:
            volume = self.volume(f"{self.prefix}-pv{number}", waiting)
            volume["spec"]["claimRef"] = {"namespace": namespace, "name": name}
            volume["status"] = {"phase": "Available"}
            made.append(volume)
        if self.chance(0.03):
            claim["metadata"]["deletionTimestamp"] = DELETED
        return made

    def _bind(self, claim: Obj, volume: Obj) -> None:
        metadata, name = claim["metadata"], volume["metadata"]["name"]
        claim["spec"]["volumeName"] = name
        if self.chance(0.9):
            metadata["annotations"] = dict(BOUND)
            claim["status"] = {"phase": "Lost" if self.chance(0.05) else "Bound"}
        volume["spec"]["claimRef"] = {"namespace": metadata["namespace"], "name": metadata["name"]}
        volume["status"] = {"phase": "Bound"}

    def spare(self, number: int) -> Obj:
        """A volume that any claim of its class may have."""
        volume = self.volume(f"{self.prefix}-spare{number}", self.random.choice(WAITING))
        volume["status"] = {"phase": "Available" if self.chance(0.9) else "Released"}
        if self.chance(0.15):
            volume["metadata"]["deletionTimestamp"] = DELETED
        return volume

    def volume(self, name: str, class_name: str) -> Obj:
        labels = {}
        if self.chance(0.2):
            labels["fast"] = "yes"
        if self.chance(0.25):
            key = self.random.choice((ZONE, BETA_ZONE))
            labels[key] = self.random.choice(("za", "zb", "za__zb", "zc"))
        source = self.source(name)
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "capacity": {"storage": self.random.choice(("1Gi", "5Gi", "2Pi"))},
                "accessModes": ["ReadWriteOnce", "ReadWriteMany"][: self.random.choice((1, 2))],
                "storageClassName": class_name,
                "persistentVolumeReclaimPolicy": "Retain",
                "volumeAttributesClassName": "gold" if "csi" in source and self.chance(0.3) else None,
                "nodeAffinity": self.affinity(),
                **source,
            },
        }

    def source(self, name: str) -> Obj:
        kind = self.random.random()
        if kind < 0.6:
            driver = self.random.choice((DRIVER, STRICT_DRIVER))
            handle = f"{self.prefix}-shared" if self.chance(0.3) else name
            return {"csi": {"driver": driver, "volumeHandle": handle}}
        if kind < 0.85:
            handle = self.random.choice((f"vol-{name}", f"aws://za/vol-{name}"))
            return {"awsElasticBlockStore": {"volumeID": handle}}
        return {"nfs": {"server": "example.com", "path": "/"}}

    def affinity(self) -> Obj | None:
        kind = self.random.random()
        if kind < 0.7:
            return None
        term: Obj = {}
        if kind < 0.9:
            zones = [self.random.choice(("za", "zb"))]
            term["matchExpressions"] = [{"key": ZONE, "operator": "In", "values": zones}]
        if kind > 0.85:
            name = self.random.choice(self.nodes)
            term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [name]}]
        return {"required": {"nodeSelectorTerms": [term]}}

    def attachment(self, number: int, volume: str) -> Obj:
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": f"{self.prefix}-at{number}"},
            "spec": {
                "attacher": self.random.choice((DRIVER, STRICT_DRIVER)),
                "nodeName": self.random.choice(self.nodes),
                "source": {"persistentVolumeName": volume},
            },
        }
