"""Objects as housekeeping reads them: what the scheduler reads of a pod, and what it has no use for."""

from typing import Any, Protocol

from msgspec import field

from maitred.kube.resources import Resource
from maitred.kube.wire import Condition, WatchedMeta, WatchedOwner, WatchedPod, WatchedPodStatus
from maitred.model.budget import BudgetSpec
from maitred.model.container_status import ContainerStatus
from maitred.model.group import PodGroupSpec, PodGroupStatus
from maitred.model.meta import Lean, Timestamp
from maitred.model.node import Node as PlainNode
from maitred.model.node import NodeStatus as PlainNodeStatus
from maitred.model.pod import PodSpec as PlainPodSpec
from maitred.model.pod import Toleration as PlainToleration
from maitred.model.reports import SaidCondition

Json = dict[str, Any]

SCHEDULING = "scheduling.k8s.io"
JOBS = Resource("batch", "v1", "jobs", "Job")
WORKLOADS = Resource(SCHEDULING, "v1beta1", "workloads", "Workload")
POD_GROUPS = Resource(SCHEDULING, "v1beta1", "podgroups", "PodGroup")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")

READY = "Ready"
DISRUPTION_TARGET = "DisruptionTarget"
FINISHED = ("Succeeded", "Failed")


class Owner(WatchedOwner, frozen=True):
    block_owner_deletion: bool = False


class Meta(WatchedMeta, frozen=True):
    owner_references: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> Owner | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class WithMeta(Protocol):
    @property
    def metadata(self) -> Meta: ...


class Anything(Lean, frozen=True):
    """Of an object whose kind is of no concern."""

    metadata: Meta


# -- pods --------------------------------------------------------------------------------------------------


class Toleration(PlainToleration, frozen=True):
    toleration_seconds: int | None = None


class PodSpec(PlainPodSpec, frozen=True):
    tolerations: tuple[Toleration, ...] = ()


class PodStatus(WatchedPodStatus, frozen=True):
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(WatchedPod, frozen=True, kw_only=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in FINISHED

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None and not self.is_finished

    @property
    def is_active(self) -> bool:
        return self.metadata.deletion_timestamp is None and not self.is_finished

    @property
    def is_ready(self) -> bool:
        ready = self.condition(READY)
        return ready is not None and ready.status == "True"

    def condition(self, type: str) -> Condition | None:
        return next((condition for condition in self.status.conditions if condition.type == type), None)


def group_name(pod: Pod) -> str | None:
    """`namespace/name` of the PodGroup that the pod is a member of."""
    group = pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return f"{pod.metadata.namespace}/{group.pod_group_name}"


# -- nodes -------------------------------------------------------------------------------------------------


class NodeCondition(SaidCondition, frozen=True):
    last_heartbeat_time: Timestamp | None = None


class NodeStatus(PlainNodeStatus, frozen=True):
    conditions: tuple[NodeCondition, ...] = ()


class Node(PlainNode, frozen=True):
    metadata: Meta
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> str:
        """`True`, `False` or `Unknown`; nothing if it was never said."""
        return next((c.status for c in self.status.conditions if c.type == READY), "")


class LeaseSpec(Lean, frozen=True):
    renew_time: Timestamp | None = None


class Lease(Lean, frozen=True):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


# -- namespaces, groups, budgets ---------------------------------------------------------------------------


class NamespaceSpec(Lean, frozen=True):
    finalizers: tuple[str, ...] = ()


class Namespace(Lean, frozen=True):
    metadata: Meta
    spec: NamespaceSpec = NamespaceSpec()


class ControllerReference(Lean, frozen=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(Lean, frozen=True):
    controller_ref: ControllerReference | None = None
    pod_group_templates: tuple[Json, ...] = ()


class Workload(Lean, frozen=True):
    metadata: Meta
    spec: WorkloadSpec = WorkloadSpec()


class PodGroup(Lean, frozen=True):
    metadata: Meta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class BudgetStatus(Lean, frozen=True, omit_defaults=False):
    observed_generation: int = 0
    disrupted_pods: dict[str, Timestamp] = field(default_factory=dict)
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class DisruptionBudget(Lean, frozen=True):
    metadata: Meta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()
