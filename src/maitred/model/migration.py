"""Volumes of the plugins that Kubernetes once had built in, as the CSI drivers that took them over see them.

Such a volume still names a disk in the old way, and a class its old provisioner. The driver that serves it
now is what limits how many a node attaches, so they count there, under the names that the driver gives
them.
"""

import re

from maitred.model.storage import PersistentVolume

IN_TREE = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/azure-file": "",
    "kubernetes.io/vsphere-volume": "",
}
"""Old provisioner -> the driver that took over; empty where Kubernetes counts the volumes of neither."""

ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
UNKNOWN_PLACE = "UNSPECIFIED"
_EBS_VOLUME = re.compile(r"vol-[^/]*")


def driver_of(provisioner: str) -> str:
    """The driver whose limits a volume of this provisioner counts against; empty if none are known."""
    return IN_TREE.get(provisioner, provisioner)


def migrated_source(volume: PersistentVolume) -> tuple[str, str] | None:
    """Driver and handle of a volume that is not a CSI volume itself; None if no driver took over for it."""
    spec = volume.spec
    if spec.aws_elastic_block_store is not None:
        handle = _ebs_handle(spec.aws_elastic_block_store.volume_id)
        return (IN_TREE["kubernetes.io/aws-ebs"], handle) if handle else None
    if spec.gce_persistent_disk is not None:
        handle = _gce_handle(spec.gce_persistent_disk.pd_name, volume.metadata.labels)
        return (IN_TREE["kubernetes.io/gce-pd"], handle) if handle else None
    if spec.azure_disk is not None:
        managed = spec.azure_disk.kind.lower() == "managed" and spec.azure_disk.disk_uri
        return (IN_TREE["kubernetes.io/azure-disk"], spec.azure_disk.disk_uri) if managed else None
    for source, plugin in ((spec.cinder, "cinder"), (spec.portworx_volume, "portworx-volume")):
        if source is not None and source.volume_id:
            return IN_TREE[f"kubernetes.io/{plugin}"], source.volume_id
    return None


def _ebs_handle(volume_id: str) -> str:
    """`vol-1` itself, or the last part of `aws://zone/vol-1`; empty if it is neither."""
    if not volume_id.startswith("aws://"):
        return volume_id
    name = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
    return name if _EBS_VOLUME.fullmatch(name) else ""


def _gce_handle(disk: str, labels: dict[str, str]) -> str:
    zones = next((labels[key] for key in ZONE_LABELS if labels.get(key)), "").split("__")
    if len(zones) == 1:
        return f"projects/{UNKNOWN_PLACE}/zones/{zones[0] or UNKNOWN_PLACE}/disks/{disk}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    regional = len(regions) == 1 and all(zone.count("-") == 2 for zone in zones)
    return f"projects/{UNKNOWN_PLACE}/regions/{regions.pop()}/disks/{disk}" if regional else ""
