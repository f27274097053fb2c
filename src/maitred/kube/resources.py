"""The kinds of objects that the API server keeps, and where each is found."""

from dataclasses import dataclass

from maitred.model.budget import PodDisruptionBudget
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.overrides import API_GROUP
from maitred.model.overrides import GROUPS as GROUPS_PLURAL
from maitred.model.pod import Pod
from maitred.model.priority import PriorityClass
from maitred.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource in one API version. The empty group is the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects name it: `v1`, `scheduling.k8s.io/v1beta1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """All objects without a name; of all namespaces without a namespace."""
        place = f"/apis/{self.group}" if self.group else "/api"
        scope = f"/namespaces/{namespace}" if namespace else ""
        below = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{place}/{self.version}{scope}/{self.plural}{below}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def resource_of(kind: type[Object], version: str = "") -> Resource:
    """Where objects of a kind of the table are found; in the best version unless another one is given."""
    row = row_of(kind)
    return Resource(row.group, version or row.versions[0], row.plural, row.name, row.namespaced)


PODS = resource_of(Pod)
NODES = resource_of(Node)
NAMESPACES = resource_of(Namespace)
VOLUMES = resource_of(PersistentVolume)
VOLUME_CLAIMS = resource_of(PersistentVolumeClaim)
STORAGE_CLASSES = resource_of(StorageClass)
CSI_NODES = resource_of(CSINode)
PRIORITY_CLASSES = resource_of(PriorityClass)
BUDGETS = resource_of(PodDisruptionBudget)
JOBS = resource_of(Job)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
GROUPS = Resource(API_GROUP, "v1alpha1", GROUPS_PLURAL, "Group")
"""No API server serves it: rights to it are rights to ask maitred for something about a group."""
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
