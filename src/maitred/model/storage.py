"""Claims, volumes, classes and attach limits, as far as they decide where a pod may run."""

from typing import Literal

from msgspec import field

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.pod import NodeSelector, ResourceRequirements, Resources
from maitred.model.selector import LabelSelector

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
"""An annotation of claims and volumes that goes before `storageClassName`."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"

# Older volumes carry the place they live in as labels rather than as a node affinity.
PLACE_LABELS = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Label of a volume -> the label of a node that answers it where the node lacks the same one. A beta label
may be answered by the modern one, never the other way round."""


class Place(Lean, frozen=True):
    """A zone or region label of a volume: the node label that must have one of the values."""

    key: str
    modern: str
    """The label that answers for a node without the first."""
    values: tuple[str, ...]


class ClaimSpec(Lean, frozen=True):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""


class StoragePhase(Lean, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Object, frozen=True):
    spec: ClaimSpec = ClaimSpec()
    status: StoragePhase = StoragePhase()


class ClaimReference(Lean, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Lean, frozen=True):
    required: NodeSelector | None = None


class CSISource(Lean, frozen=True):
    driver: str
    volume_handle: str


class VolumeById(Lean, frozen=True):
    """A disk of AWS, OpenStack or Portworx, as volumes named it before there were CSI drivers."""

    volume_id: str = field(default="", name="volumeID")


class GoogleDisk(Lean, frozen=True):
    pd_name: str = ""


class AzureDisk(Lean, frozen=True):
    disk_uri: str = field(default="", name="diskURI")
    kind: str = "Shared"


class VolumeSpec(Lean, frozen=True):
    capacity: Resources = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()
    csi: CSISource | None = None
    aws_elastic_block_store: VolumeById | None = None
    gce_persistent_disk: GoogleDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: VolumeById | None = None
    portworx_volume: VolumeById | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""


class PersistentVolume(Object, frozen=True):
    spec: VolumeSpec = VolumeSpec()
    status: StoragePhase = StoragePhase()


class TopologyValues(Lean, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Lean, frozen=True):
    match_label_expressions: tuple[TopologyValues, ...] = ()


class StorageClass(Object, frozen=True):
    provisioner: str = NO_PROVISIONER
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class DriverLimit(Lean, frozen=True):
    count: int | None = None


class CSIDriverOnNode(Lean, frozen=True):
    name: str
    allocatable: DriverLimit = DriverLimit()


class CSINodeSpec(Lean, frozen=True):
    drivers: tuple[CSIDriverOnNode, ...] = ()


class CSINode(Object, frozen=True):
    spec: CSINodeSpec = field(default_factory=CSINodeSpec)


class CSIDriverSpec(Lean, frozen=True):
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(Object, frozen=True):
    spec: CSIDriverSpec = CSIDriverSpec()


class AttachmentSource(Lean, frozen=True):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Lean, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Object, frozen=True):
    """A volume that is attached to a node, or is to be, whether or not a pod there still uses it."""

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
