"""Nodes: what they have, how they are marked, and who they turn away."""

from typing import Final, Literal

from maitred.model.meta import Lean, Timestamp
from maitred.model.objects import Object
from maitred.model.pod import Resources, Toleration
from maitred.model.quantity import LARGEST_AMOUNT, PODS
from maitred.model.reports import SaidCondition
from maitred.model.requests import Amounts, amounts
from maitred.model.selector import decimal_integer

HOSTNAME = "kubernetes.io/hostname"
KUBELET_MAX_PODS = 110

LEMON = "maitred.dev/lemon"
"""A node that fails more often than others. Who may write nodes is no tenant."""
LEMON_EFFECT: Final = "NoSchedule"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

HEALTH_TAINTS = frozenset(
    {
        NOT_READY,
        UNREACHABLE,
        UNSCHEDULABLE,
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        LEMON,
    }
)
"""Keys of taints that say a node is unwell or closed for now; an empty healthy cluster has none of them."""


class Taint(Lean, frozen=True):
    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""
    time_added: Timestamp | None = None
    """Left out where taints are compared: it tells nothing of whom they turn away."""


class NodeSpec(Lean, frozen=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class ContainerImage(Lean, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Lean, frozen=True):
    allocatable: Resources = {}
    capacity: Resources = {}
    conditions: tuple[SaidCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


def allocatable(node: Node) -> Amounts:
    """What pods may take; `pods` as the kubelet defaults it where the node does not say."""
    have = amounts(node.status.allocatable or node.status.capacity)
    return {PODS: KUBELET_MAX_PODS} | {name: min(count, LARGEST_AMOUNT) for name, count in have.items()}


def effective_taints(node: Node) -> tuple[Taint, ...]:
    """The node's taints and those that its state implies, which the node controller adds a moment later."""
    taints = [Taint(taint.key, taint.effect, taint.value) for taint in node.spec.taints]
    implied = [UNSCHEDULABLE] if node.spec.unschedulable else []
    ready = next((c.status for c in node.status.conditions if c.type == "Ready"), "True")
    if ready != "True":
        implied.append(NOT_READY if ready == "False" else UNREACHABLE)
    present = {(taint.key, taint.effect) for taint in taints}
    taints += [Taint(key, "NoSchedule") for key in implied if (key, "NoSchedule") not in present]
    return tuple(taints)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case operator:
            have, limit = decimal_integer(taint.value), decimal_integer(toleration.value)
            if have is None or limit is None:
                return False
            return have < limit if operator == "Lt" else have > limit


def tolerates_all(
    tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...], effects: tuple[str, ...]
) -> bool:
    return all(
        any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
        if taint.effect in effects
    )
