"""Volumes that name a disk as Kubernetes did before CSI, and the drivers that attach them today."""

from .fields import Doc
from .selectors import Labels

PROVISIONERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    # Taken over as well, but nobody counts them.
    "kubernetes.io/azure-file": "",
    "kubernetes.io/vsphere-volume": "",
}
NOWHERE = ("", "")


def attached_as(spec: Doc, labels: Labels) -> tuple[str, str]:
    """The driver and the handle under which a PersistentVolume is attached; empty if no driver does that."""
    if spec.given("csi"):
        return spec.doc("csi").text("driver"), spec.doc("csi").text("volumeHandle")
    found = NOWHERE
    if spec.given("awsElasticBlockStore"):
        found = "ebs.csi.aws.com", _ebs(spec.doc("awsElasticBlockStore").text("volumeID"))
    elif spec.given("gcePersistentDisk"):
        found = "pd.csi.storage.gke.io", _gce(spec.doc("gcePersistentDisk").text("pdName"), labels)
    elif spec.given("azureDisk"):
        disk = spec.doc("azureDisk")
        managed = disk.text("kind", "Shared").lower() == "managed"
        found = "disk.csi.azure.com", disk.text("diskURI") if managed else ""
    elif spec.given("cinder"):
        found = "cinder.csi.openstack.org", spec.doc("cinder").text("volumeID")
    elif spec.given("portworxVolume"):
        found = "pxd.portworx.com", spec.doc("portworxVolume").text("volumeID")
    return found if found[1] else NOWHERE


def _ebs(volume: str) -> str:
    """Either the id itself, or a URL whose path is the id."""
    if not volume.startswith("aws://"):
        return volume
    path = volume.removeprefix("aws://").partition("/")[2].strip("/")
    return path if path.startswith("vol-") and "/" not in path else ""


def _gce(disk: str, labels: Labels) -> str:
    beta, modern = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    zones = (labels.get(beta) or labels.get(modern) or "UNSPECIFIED").split("__")
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0]}/disks/{disk}"
    parts = [zone.split("-") for zone in zones]
    if any(len(part) != 3 for part in parts) or len({tuple(part[:2]) for part in parts}) > 1:
        return ""
    return f"projects/UNSPECIFIED/regions/{parts[0][0]}-{parts[0][1]}/disks/{disk}"
