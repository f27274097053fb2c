"""Claims, volumes, classes and attach limits, as far as they decide where a pod may run."""

from typing import Literal

from msgspec import field

from maitred.model.meta import Lean, ObjectMeta
from maitred.model.pod import NodeSelector, ResourceRequirements, Resources
from maitred.model.selector import LabelSelector

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"

# Older volumes carry the place they live in as labels rather than as a node affinity.
PLACE_LABELS = {
    "topology.kubernetes.io/zone": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    "topology.kubernetes.io/region": (
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/region",
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    "failure-domain.beta.kubernetes.io/region": (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
}
"""Label of a volume -> labels of a node that may answer it."""


class ClaimSpec(Lean, frozen=True):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"


class StoragePhase(Lean, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Lean, frozen=True):
    metadata: ObjectMeta
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


class VolumeSpec(Lean, frozen=True):
    capacity: Resources = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()
    csi: CSISource | None = None
    volume_mode: str = "Filesystem"


class PersistentVolume(Lean, frozen=True):
    metadata: ObjectMeta
    spec: VolumeSpec = VolumeSpec()
    status: StoragePhase = StoragePhase()


class TopologyValues(Lean, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(Lean, frozen=True):
    match_label_expressions: tuple[TopologyValues, ...] = ()


class StorageClass(Lean, frozen=True):
    metadata: ObjectMeta
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


class CSINode(Lean, frozen=True):
    metadata: ObjectMeta
    spec: CSINodeSpec = field(default_factory=CSINodeSpec)
