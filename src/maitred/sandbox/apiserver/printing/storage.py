"""Volumes, their claims and classes, and the drivers on nodes in tables."""

from collections.abc import Sequence
from datetime import datetime

from maitred.sandbox.apiserver.kinds.claims import CLASS_ANNOTATION
from maitred.sandbox.apiserver.kinds.volumes import default_class
from maitred.sandbox.apiserver.printing.printer import AGE, NAME, Cells, Column, Printer, wide
from maitred.sandbox.apiserver.printing.text import UNSET, age, name_of, spec_of, status_of
from maitred.sandbox.apiserver.schema.types import Body

ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def access_modes(chosen: Sequence[str]) -> str:
    return ",".join(short for mode, short in ACCESS_MODES.items() if mode in chosen)


def storage_class(body: Body) -> str:
    old = body["metadata"].get("annotations", {}).get(CLASS_ANNOTATION)
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


MODES = Column("Access Modes")
CLASS = Column("StorageClass")
ATTRIBUTES_CLASS = Column("VolumeAttributesClass")
VOLUME_MODE = wide("VolumeMode")
VOLUME = Printer(
    (
        NAME,
        Column("Capacity"),
        MODES,
        Column("Reclaim Policy"),
        Column("Status"),
        Column("Claim"),
        CLASS,
        ATTRIBUTES_CLASS,
        Column("Reason"),
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
        Column("Status"),
        Column("Volume"),
        Column("Capacity"),
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


STORAGE_CLASS = Printer(
    (
        NAME,
        Column("Provisioner"),
        Column("ReclaimPolicy"),
        Column("VolumeBindingMode"),
        Column("AllowVolumeExpansion"),
        AGE,
    ),
    storage_class_cells,
    default_among=default_class,
)


def csi_node_cells(node: Body, now: datetime) -> Cells:
    return [name_of(node), len(spec_of(node).get("drivers") or ()), age(node, now)]


CSI_NODE = Printer((NAME, Column("Drivers", type="integer"), AGE), csi_node_cells)
