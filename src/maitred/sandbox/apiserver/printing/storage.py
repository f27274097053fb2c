"""Volumes, their claims and classes, and the drivers on nodes in tables."""

from collections.abc import Sequence
from datetime import datetime

from maitred.sandbox.apiserver.kinds.claims import CLASS_ANNOTATION
from maitred.sandbox.apiserver.kinds.volumes import default_class
from maitred.sandbox.apiserver.printing.printer import Cells, printer
from maitred.sandbox.apiserver.printing.text import UNSET, spec_of, status_of
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
        spec.get("capacity", {}).get("storage", "0"),
        access_modes(spec.get("accessModes", ())),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        storage_class(volume),
        spec.get("volumeAttributesClassName", UNSET),
        status_of(volume).get("reason", ""),
        spec.get("volumeMode", UNSET),
    ]


VOLUME = printer(
    "Name | Capacity | Access Modes | Reclaim Policy | Status | Claim | StorageClass | "
    "VolumeAttributesClass | Reason | Age | +VolumeMode",
    volume_cells,
)


def claim_cells(claim: Body, now: datetime) -> Cells:
    spec, status = spec_of(claim), status_of(claim)
    bound = spec.get("volumeName", "")
    return [
        phase(claim),
        bound,
        status.get("capacity", {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes", ())) if bound else "",
        storage_class(claim),
        spec.get("volumeAttributesClassName", UNSET),
        spec.get("volumeMode", UNSET),
    ]


VOLUME_CLAIM = printer(
    "Name | Status | Volume | Capacity | Access Modes | StorageClass | VolumeAttributesClass | "
    "Age | +VolumeMode",
    claim_cells,
)


def storage_class_cells(storage: Body, now: datetime) -> Cells:
    return [
        storage.get("provisioner", ""),
        storage.get("reclaimPolicy", "Delete"),
        storage.get("volumeBindingMode", "Immediate"),
        storage.get("allowVolumeExpansion", False),
    ]


STORAGE_CLASS = printer(
    "Name | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age",
    storage_class_cells,
    default_among=default_class,
)


CSI_NODE = printer(
    "Name | Drivers:integer | Age", lambda node, now: [len(spec_of(node).get("drivers") or ())]
)
