"""Volumes, claims, classes, drivers and devices in tables."""

from collections.abc import Sequence
from datetime import datetime

from maitred.sandbox.apiserver.printing.printer import AGE, NAME, Cells, Column, Printer, wide
from maitred.sandbox.apiserver.printing.text import (
    NONE,
    UNSET,
    age,
    name_of,
    spec_of,
    status_of,
)
from maitred.sandbox.apiserver.schema.types import Body

ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def access_modes(chosen: Sequence[str]) -> str:
    return ",".join(short for mode, short in ACCESS_MODES.items() if mode in chosen)


def storage_class(body: Body) -> str:
    old = body["metadata"].get("annotations", {}).get(OLD_CLASS)
    return str(old if old is not None else spec_of(body).get("storageClassName", ""))


def phase(body: Body) -> str:
    if "deletionTimestamp" in body["metadata"]:
        return "Terminating"
    return str(status_of(body).get("phase", ""))


def volume_cells(volume: Body, now: datetime) -> Cells:
    spec, claim = spec_of(volume), spec_of(volume).get("claimRef")
    return [
        name_of(volume),
        spec.get("capacity", {}).get("storage", "0"),
        access_modes(spec.get("accessModes", ())),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        storage_class(volume),
        spec.get("volumeAttributesClassName", UNSET),
        status_of(volume).get("reason", ""),
        age(volume, now),
        spec.get("volumeMode", UNSET),
    ]


MODES = Column("Access Modes", "How many nodes may mount it, and how.")
CLASS = Column("StorageClass", "The storage class that it is of.")
ATTRIBUTES_CLASS = Column("VolumeAttributesClass", "The class of its further attributes.")
VOLUME_MODE = wide("VolumeMode", "Whether it is a file system or a raw block device.")
VOLUME = Printer(
    (
        NAME,
        Column("Capacity", "How much it holds."),
        MODES,
        Column("Reclaim Policy", "What becomes of it when its claim is gone."),
        Column("Status", "Whether it is free, bound or released."),
        Column("Claim", "The claim that it is bound to."),
        CLASS,
        ATTRIBUTES_CLASS,
        Column("Reason", "Why it is in this state."),
        AGE,
        VOLUME_MODE,
    ),
    volume_cells,
)


def claim_cells(claim: Body, now: datetime) -> Cells:
    spec, status = spec_of(claim), status_of(claim)
    bound = spec.get("volumeName", "")
    return [
        name_of(claim),
        phase(claim),
        bound,
        status.get("capacity", {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes", ())) if bound else "",
        storage_class(claim),
        spec.get("volumeAttributesClassName", UNSET),
        age(claim, now),
        spec.get("volumeMode", UNSET),
    ]


VOLUME_CLAIM = Printer(
    (
        NAME,
        Column("Status", "Whether the claim is bound."),
        Column("Volume", "The volume that it is bound to."),
        Column("Capacity", "How much this volume holds."),
        MODES,
        CLASS,
        ATTRIBUTES_CLASS,
        AGE,
        VOLUME_MODE,
    ),
    claim_cells,
)


def storage_class_cells(storage: Body, now: datetime) -> Cells:
    return [
        name_of(storage),
        storage.get("provisioner", ""),
        storage.get("reclaimPolicy", "Delete"),
        storage.get("volumeBindingMode", "Immediate"),
        storage.get("allowVolumeExpansion", False),
        age(storage, now),
    ]


def default_storage_class(classes: Sequence[Body]) -> str:
    """Of those that say they are the default, the youngest; of these, the first by name."""
    marked = [c["metadata"] for c in classes if _is_default(c["metadata"].get("annotations", {}))]
    if not marked:
        return ""
    youngest = max(meta.get("creationTimestamp", "") for meta in marked)
    return min(str(m["name"]) for m in marked if m.get("creationTimestamp", "") == youngest)


def _is_default(annotations: Body) -> bool:
    return any(annotations.get(name) == "true" for name in DEFAULT_CLASSES)


STORAGE_CLASS = Printer(
    (
        NAME,
        Column("Provisioner", "Who makes its volumes."),
        Column("ReclaimPolicy", "What becomes of its volumes when their claims are gone."),
        Column("VolumeBindingMode", "When its claims are bound."),
        Column("AllowVolumeExpansion", "Whether its volumes can grow."),
        AGE,
    ),
    storage_class_cells,
    default_among=default_storage_class,
)


def csi_node_cells(node: Body, now: datetime) -> Cells:
    return [name_of(node), len(spec_of(node).get("drivers") or ()), age(node, now)]


CSI_NODE = Printer(
    (NAME, Column("Drivers", "How many drivers run on the node.", type="integer"), AGE), csi_node_cells
)


def csi_driver_cells(driver: Body, now: datetime) -> Cells:
    spec = spec_of(driver)
    tokens = spec.get("tokenRequests")
    return [
        name_of(driver),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes", ())) or NONE,
        age(driver, now),
    ]


def boolean(name: str, description: str) -> Column:
    return Column(name, description, type="boolean")


CSI_DRIVER = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes are attached before they are mounted."),
        boolean("PodInfoOnMount", "Whether the driver is told about the pod."),
        boolean("StorageCapacity", "Whether the driver says how much room there is."),
        Column("TokenRequests", "For whom the driver gets tokens."),
        boolean("RequiresRepublish", "Whether the driver is called again from time to time."),
        Column("Modes", "How long its volumes live."),
        AGE,
    ),
    csi_driver_cells,
)


def attachment_cells(attachment: Body, now: datetime) -> Cells:
    spec = spec_of(attachment)
    return [
        name_of(attachment),
        spec.get("attacher", ""),
        spec.get("source", {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        status_of(attachment).get("attached", False),
        age(attachment, now),
    ]


VOLUME_ATTACHMENT = Printer(
    (
        NAME,
        Column("Attacher", "The driver that attaches it.", format="name"),
        Column("PV", "The volume."),
        Column("Node", "The node."),
        boolean("Attached", "Whether it is attached."),
        AGE,
    ),
    attachment_cells,
)


def resource_claim_cells(claim: Body, now: datetime) -> Cells:
    return [name_of(claim), _claim_state(claim), age(claim, now)]


def _claim_state(claim: Body) -> str:
    status = status_of(claim)
    states = ["deleted"] if "deletionTimestamp" in claim["metadata"] else []
    if "allocation" in status:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not states:
        states = ["pending"]
    return ",".join(states)


RESOURCE_CLAIM = Printer(
    (NAME, Column("State", "Whether the claim has its devices, and is in use."), AGE), resource_claim_cells
)


def resource_slice_cells(devices: Body, now: datetime) -> Cells:
    spec = spec_of(devices)
    return [
        name_of(devices),
        spec.get("nodeName", ""),
        spec.get("driver", ""),
        spec.get("pool", {}).get("name", ""),
        age(devices, now),
    ]


RESOURCE_SLICE = Printer(
    (
        NAME,
        Column("Node", "The node that the devices are on."),
        Column("Driver", "The driver of the devices."),
        Column("Pool", "The pool that the devices belong to."),
        AGE,
    ),
    resource_slice_cells,
)
