"""Every kind of object that a decision may read."""

from maitred.model.budget import PodDisruptionBudget
from maitred.model.device import DeviceClass
from maitred.model.group import CompositePodGroup, PodGroup, Workload
from maitred.model.job import Job
from maitred.model.meta import Namespace
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.priority import PriorityClass
from maitred.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

Object = (
    Pod
    | Node
    | Namespace
    | PodGroup
    | CompositePodGroup
    | Workload
    | PriorityClass
    | PodDisruptionBudget
    | Job
    | PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | VolumeAttachment
    | DeviceClass
)
