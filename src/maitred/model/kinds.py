"""The table of kinds: every kind of object that is read, from the API or from files, has one row.

To add a kind, write its struct as a subclass of `Object` and give it a row. From the row follow: that
manifests and dumps with it are read, that the scheduler, answers and audits list and watch it where the API
server has it, that the state keeps it in a table of its own, and that records and the process that answers
pass it on. What the API server would refuse of it, beyond wrong types, is in `manifest.checks.CHECKS`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from maitred.model.budget import PodDisruptionBudget
from maitred.model.categories import Effect
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.group import CompositePodGroup, PodGroup, Workload
from maitred.model.job import CronJob, Job
from maitred.model.memory import MemoryObject
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.operators.jobset import JobSet, TrainJob
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.podgroups import (
    CoschedulingPodGroup,
    ForeignGroup,
    GodelPodGroup,
    KaiPodGroup,
    KoordinatorPodGroup,
    VolcanoPodGroup,
)
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.operators.runtimes import ClusterTrainingRuntime, TrainingRuntime
from maitred.model.operators.volcano import VolcanoJob
from maitred.model.pod import Pod
from maitred.model.priority import PriorityClass
from maitred.model.provisioning import ProvisioningRequest
from maitred.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from maitred.model.training import JAXJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob

NOTHING = Effect(0)
ONE = ("v1",)
"""Of most kinds that every API server has."""
SCHEDULING, STORAGE, DEVICES = "scheduling.k8s.io", "storage.k8s.io", "resource.k8s.io"
WORKLOADS = ("v1beta1", "v1alpha3", "v1alpha2")
TRAINER = ("trainer.kubeflow.org", ("v1alpha1",))


@dataclass(frozen=True, slots=True)
class Kind:
    """All that others need to know of a kind, but for its fields."""

    type: type[Object]
    group: str
    """The API group; empty for the core group."""
    versions: tuple[str, ...]
    """Those that are read, best first."""
    plural: str
    namespaced: bool = True
    optional: bool = False
    """Only some API servers have it: it is asked for by discovery."""
    watched: bool = True
    """False for what is understood in files, and looked up nowhere."""
    effect: Effect = NOTHING
    """Which waiting groups a change of it may seat, where the state does not know that better."""
    short: str = ""
    """What kubectl calls it for short, in the dump that the documentation shows."""
    serial: bool = False
    """It makes one piece of work after another, which are no parts of it. Only who made it is read."""
    called: str = ""
    """The `kind` of its objects, where other kinds have the same; without it: the name of the struct."""

    @property
    def title(self) -> str:
        """How records call it."""
        return self.type.__name__

    @property
    def name(self) -> str:
        """The `kind` of its objects."""
        return self.called or self.title

    @property
    def api_versions(self) -> tuple[str, ...]:
        """As objects name them, best first: `v1`, `scheduling.k8s.io/v1beta1`."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


def operated(type: type[Object], api_version: str, plural: str, **more: Any) -> Kind:
    """Of an operator or of another scheduler, which not every cluster has. `|` stands between versions."""
    group, _, versions = api_version.partition("/")
    return Kind(type, group, tuple(versions.split("|")), plural, optional=True, **more)


def pod_group(type: type[ForeignGroup], api_version: str) -> Kind:
    return operated(type, api_version, "podgroups", called="PodGroup")


OPERATED = (
    operated(JobSet, "jobset.x-k8s.io/v1alpha2", "jobsets"),
    operated(LeaderWorkerSet, "leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    operated(TrainJob, "trainer.kubeflow.org/v1alpha1", "trainjobs"),
    operated(PyTorchJob, "kubeflow.org/v1", "pytorchjobs"),
    operated(TFJob, "kubeflow.org/v1", "tfjobs"),
    operated(JAXJob, "kubeflow.org/v1", "jaxjobs"),
    operated(XGBoostJob, "kubeflow.org/v1", "xgboostjobs"),
    operated(PaddleJob, "kubeflow.org/v1", "paddlejobs"),
    operated(MPIJob, "kubeflow.org/v2beta1|v1", "mpijobs"),
    operated(RayCluster, "ray.io/v1", "rayclusters"),
    operated(RayJob, "ray.io/v1", "rayjobs"),
    operated(KueueWorkload, "kueue.x-k8s.io/v1beta2|v1beta1", "workloads", called="Workload"),
    operated(VolcanoJob, "batch.volcano.sh/v1alpha1", "jobs", called="Job"),
    pod_group(CoschedulingPodGroup, "scheduling.x-k8s.io/v1alpha1"),
    pod_group(VolcanoPodGroup, "scheduling.volcano.sh/v1beta1"),
    pod_group(KaiPodGroup, "scheduling.run.ai/v2alpha2"),
    pod_group(KoordinatorPodGroup, "scheduling.sigs.k8s.io/v1alpha1"),
    pod_group(GodelPodGroup, "scheduling.godel.kubewharf.io/v1alpha1"),
)
"""Kinds of operators and of other schedulers. All are namespaced, and the state keeps them by their keys."""

KINDS = (
    Kind(Node, "", ONE, "nodes", namespaced=False),
    Kind(Pod, "", ONE, "pods"),
    Kind(Job, "batch", ONE, "jobs"),
    Kind(CronJob, "batch", ONE, "cronjobs", optional=True, serial=True),
    Kind(PodDisruptionBudget, "policy", ONE, "poddisruptionbudgets", short="pdb"),
    Kind(
        PriorityClass,
        SCHEDULING,
        ("v1", "v1beta1"),
        "priorityclasses",
        namespaced=False,
        effect=Effect.RULES,
        short="pc",
    ),
    Kind(Namespace, "", ONE, "namespaces", namespaced=False, effect=Effect.RULES, short="ns"),
    Kind(PersistentVolumeClaim, "", ONE, "persistentvolumeclaims", effect=Effect.STORAGE, short="pvc"),
    Kind(
        PersistentVolume,
        "",
        ONE,
        "persistentvolumes",
        namespaced=False,
        effect=Effect.STORAGE,
        short="pv",
    ),
    *(
        Kind(type, STORAGE, ("v1", "v1beta1"), plural, namespaced=False, effect=Effect.STORAGE, short=short)
        for type, plural, short in (
            (StorageClass, "storageclasses", "sc"),
            (CSINode, "csinodes", ""),
            (CSIDriver, "csidrivers", ""),
            (VolumeAttachment, "volumeattachments", ""),
        )
    ),
    *(
        Kind(type, DEVICES, versions, plural, namespaced=namespaced, optional=True, effect=Effect.DEVICES)
        for type, versions, plural, namespaced in (
            (DeviceClass, ("v1", "v1beta2", "v1beta1"), "deviceclasses", False),
            (ResourceSlice, ("v1", "v1beta2"), "resourceslices", False),
            (ResourceClaim, ("v1", "v1beta2"), "resourceclaims", True),
            (ResourceClaimTemplate, ("v1", "v1beta2"), "resourceclaimtemplates", True),
            (DeviceTaintRule, ("v1", "v1beta2", "v1alpha3"), "devicetaintrules", False),
        )
    ),
    Kind(PodGroup, SCHEDULING, WORKLOADS, "podgroups", optional=True),
    Kind(CompositePodGroup, SCHEDULING, WORKLOADS, "compositepodgroups", optional=True, effect=Effect.RULES),
    Kind(Workload, SCHEDULING, WORKLOADS, "workloads", optional=True, watched=False),
    Kind(MemoryObject, "", ONE, "configmaps", watched=False, called="ConfigMap"),
    Kind(TrainingRuntime, *TRAINER, "trainingruntimes", optional=True, watched=False),
    Kind(
        ClusterTrainingRuntime,
        *TRAINER,
        "clustertrainingruntimes",
        namespaced=False,
        optional=True,
        watched=False,
    ),
    *OPERATED,
    Kind(
        ProvisioningRequest,
        "autoscaling.x-k8s.io",
        ("v1", "v1beta1"),
        "provisioningrequests",
        optional=True,
    ),
)
_BY_TYPE = {row.type: row for row in KINDS}
DUMPED = ",".join(row.short or row.plural for row in KINDS if row.watched and not row.optional)
"""What to ask kubectl for: all that decisions read and every API server has."""


@cache
def row_of(kind: type[Object]) -> Kind:
    """The row of a kind, also for those who read more of its fields than decisions do."""
    return next(_BY_TYPE[one] for one in kind.__mro__ if one in _BY_TYPE)
