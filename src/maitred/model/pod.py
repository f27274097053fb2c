"""Pods: the fields that scheduling reads, as the API writes them."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import field

from maitred.model.container_status import ContainerStatus
from maitred.model.meta import Lean, ObjectMeta, OwnerReference, Timestamp
from maitred.model.objects import Object
from maitred.model.reports import SaidCondition
from maitred.model.selector import LabelSelector, Requirement

Quantity = str | int | float
Resources = dict[str, Quantity]
Weight = Annotated[int, msgspec.Meta(ge=1, le=100)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DEFAULT_SCHEDULER = "default-scheduler"
SCHEDULED = "PodScheduled"
MIRROR = "kubernetes.io/config.mirror"
NODE_OWNERS = {"DaemonSet": "apps", "Node": ""}
"""Kinds whose pods belong to their nodes, and the API group of each."""


class ResourceRequirements(Lean, frozen=True):
    requests: Resources = {}
    limits: Resources = {}


class ContainerPort(Lean, frozen=True):
    container_port: Port = 0
    host_port: Port = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class RestartRule(Lean, frozen=True):
    action: str = ""


class VolumeMount(Lean, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(Lean, frozen=True):
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    name: str = ""


class EphemeralContainer(Lean, frozen=True):
    """One that was added to look at a pod; it takes nothing of the node."""

    volume_mounts: tuple[VolumeMount, ...] = ()


class Toleration(Lean, frozen=True):
    key: str = ""
    operator: Literal["", "Exists", "Equal", "Lt", "Gt"] = ""
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class NodeSelectorTerm(Lean, frozen=True):
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Lean, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(Lean, frozen=True):
    weight: Weight
    preference: NodeSelectorTerm


class NodeAffinity(Lean, frozen=True):
    required: NodeSelector | None = field(default=None, name=REQUIRED)
    preferred: tuple[PreferredNodeTerm, ...] = field(default=(), name=PREFERRED)


class PodAffinityTerm(Lean, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Lean, frozen=True):
    weight: Weight
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Lean, frozen=True):
    required: tuple[PodAffinityTerm, ...] = field(default=(), name=REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(default=(), name=PREFERRED)


class Affinity(Lean, frozen=True):
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class TopologySpreadConstraint(Lean, frozen=True):
    max_skew: Annotated[int, msgspec.Meta(ge=1)]
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    min_domains: Annotated[int, msgspec.Meta(ge=1)] = 1
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(Lean, frozen=True):
    claim_name: str


class EphemeralClaimSpec(Lean, frozen=True):
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""


class EphemeralClaimTemplate(Lean, frozen=True):
    spec: EphemeralClaimSpec


class EphemeralVolume(Lean, frozen=True):
    volume_claim_template: EphemeralClaimTemplate | None = None


class Volume(Lean, frozen=True):
    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class SchedulingGate(Lean, frozen=True):
    name: str


class PodResourceClaim(Lean, frozen=True):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class MadeClaim(Lean, frozen=True):
    """The claim that was made from a template, by the name that the pod, or the PodGroup, has for it."""

    name: str
    resource_claim_name: str = ""
    """Empty if no claim is needed."""


class ExtendedResourceClaim(Lean, frozen=True):
    """The claim by which a pod has the devices that it asks for by a resource."""

    resource_claim_name: str = ""


class SchedulingGroup(Lean, frozen=True):
    pod_group_name: str | None = None


class PodSpec(Lean, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    overhead: Resources = {}
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    host_network: bool = False
    host_users: bool = True
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    scheduler_name: str = DEFAULT_SCHEDULER
    node_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: Literal["", "PreemptLowerPriority", "Never"] = ""
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None


class PodStatus(Lean, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[SaidCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    start_time: Timestamp | None = None
    nominated_node_name: str = ""
    resource_claim_statuses: tuple[MadeClaim, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaim | None = None


class Pod(Object, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def bound_at(pod: Pod) -> datetime | None:
    """Since when it has its node, as the API server wrote down with the bind; else since its kubelet has it.
    Whatever is written there, not before it was created, and not after its kubelet had it."""
    created, started = pod.metadata.creation_timestamp, pod.status.start_time
    told = (one for one in pod.status.conditions if one.type == SCHEDULED and one.status == "True")
    said = next(told, SaidCondition()).last_transition_time
    if said is None or created is None:
        return started
    since = max(said, created)
    return since if started is None else min(since, started)


def is_node_bound(metadata: ObjectMeta) -> bool:
    """Pods that belong to their node (DaemonSet and static pods) and would be there on an empty cluster.

    They are never evicted, so a pod that only says so must not count: a reference without `controller`, or to
    a kind of that name in another API group, is one that no controller and no garbage collector looks after.
    """
    if MIRROR in metadata.annotations:
        return True  # a kubelet deletes at once what it has no static pod for
    return any(_is_of_a_node(owner) for owner in metadata.owner_references)


def _is_of_a_node(owner: OwnerReference) -> bool:
    if not owner.api_version:
        return owner.kind in NODE_OWNERS
    group = owner.api_version.rpartition("/")[0]
    return owner.controller and NODE_OWNERS.get(owner.kind) == group
