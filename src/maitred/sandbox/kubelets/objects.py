"""Pods and nodes: what a kubelet reads of them."""

from msgspec import field

from maitred.model.meta import Lean, ObjectMeta

Quantities = dict[str, str]


class Resources(Lean, frozen=True):
    """The API server has filled in requests where there were only limits."""

    requests: Quantities = {}


class Port(Lean, frozen=True):
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Lean, frozen=True):
    name: str = ""
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""

    @property
    def is_sidecar(self) -> bool:
        """Of an init container: it starts in its turn and keeps running."""
        return self.restart_policy == "Always"


class Requirement(Lean, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Lean, frozen=True):
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class Terms(Lean, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(Lean, frozen=True):
    required: Terms | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(Lean, frozen=True):
    node_affinity: NodeAffinity = NodeAffinity()


class Toleration(Lean, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodSpec(Lean, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = {}
    resources: Resources = Resources()
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()


class PodStatus(Lean, frozen=True):
    phase: str = ""


class Pod(Lean, frozen=True):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")


class Taint(Lean, frozen=True):
    key: str
    effect: str
    value: str = ""


class NodeSpec(Lean, frozen=True):
    taints: tuple[Taint, ...] = ()


class NodeCondition(Lean, frozen=True):
    type: str
    status: str


class NodeStatus(Lean, frozen=True):
    allocatable: Quantities = {}
    conditions: tuple[NodeCondition, ...] = ()

    @property
    def is_ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.conditions)


class NodeMeta(ObjectMeta, frozen=True):
    resource_version: str = ""


class Node(Lean, frozen=True):
    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
