"""The kinds of objects that the API server keeps, and where each is found."""

from dataclasses import dataclass


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


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
JOBS = Resource("batch", "v1", "jobs", "Job")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
