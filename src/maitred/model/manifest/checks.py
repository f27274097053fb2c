"""What the API server would refuse beyond wrong types, as far as a decision would go wrong on it.

Dumps have tens of thousands of pods made from few templates, so what repeats is looked up, not checked.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from maitred.model.budget import PodDisruptionBudget
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.group import CompositePodGroup, PodGroup, SchedulingConstraints
from maitred.model.manifest import device_checks
from maitred.model.manifest.errors import FieldError
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, Taint
from maitred.model.objects import Object
from maitred.model.pod import (
    PREFERRED,
    REQUIRED,
    Affinity,
    Container,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Resources,
    Toleration,
    TopologySpreadConstraint,
    Volume,
)
from maitred.model.priority import PriorityClass
from maitred.model.quantity import amount
from maitred.model.requests import all_resources
from maitred.model.selector import LabelSelector, Requirement, decimal_integer
from maitred.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

LONGEST_NAME = 253
LONGEST_NAMESPACE = 63
INT32 = range(-(2**31), 2**31)
DEADLINES = range(1, 2**31)
"""Seconds after which a node ends a pod."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_PREFIX = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?/)?"
_LABEL_KEY = re.compile(_PREFIX + r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)


@lru_cache(maxsize=65536)
def name_problem(name: str, longest: int = LONGEST_NAME) -> str:
    if not name:
        return "is required"
    if len(name) > longest:
        return f"is {len(name)} characters long; the API allows {longest}"
    return "" if _NAME.fullmatch(name) else f"{name!r} is not a name: letters, digits, '-' and '.' only"


@lru_cache(maxsize=65536)
def label_key_problem(key: str) -> str:
    if not key:
        return "is required"
    shortened = key if len(key) <= 60 else f"{key[:57]}..."
    return "" if _LABEL_KEY.fullmatch(key) else f"{shortened!r} is not a label key"


@lru_cache(maxsize=65536)
def quantity_problem(resource: str, quantity: str | int | float) -> str:
    if not _LABEL_KEY.fullmatch(resource):
        return f"{resource[:60]!r} is not the name of a resource"
    try:
        amount(resource, quantity)
    except (ValueError, OverflowError) as error:
        text = str(error)
        return text if len(text) <= 200 else f"{str(quantity)[:40]}... is not a quantity that any cluster has"
    return ""


def check_name(metadata: ObjectMeta) -> None:
    if problem := name_problem(metadata.name):
        raise FieldError("metadata.name", problem)
    if metadata.namespace and (problem := name_problem(metadata.namespace, LONGEST_NAMESPACE)):
        raise FieldError("metadata.namespace", problem)


def check_key(field: str, key: str) -> None:
    if problem := label_key_problem(key):
        raise FieldError(field, problem)


def check_quantities(maps: Iterable[tuple[str, Resources]]) -> None:
    for field, quantities in maps:
        for resource, quantity in quantities.items():
            if problem := quantity_problem(resource, quantity):
                raise FieldError(f"{field}.{resource}" if resource else field, problem)


def check_int32(field: str, number: int | None) -> None:
    if number is not None and number not in INT32:
        raise FieldError(field, f"{str(number)[:40]} is out of range")


def check_pattern(field: str, pattern: str, of: str) -> None:
    if not pattern or any(character.isspace() for character in pattern):
        raise FieldError(field, f"{pattern!r} is not a pattern for {of}")


def check_distinct(field: str, part: str, values: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for position, value in enumerate(values):
        first = seen.setdefault(value, position)
        if first != position:
            raise FieldError(f"{field}[{position}].{part}", f"{value!r} is already used by {field}[{first}]")


# ---- pods


def check_pod(pod: Pod) -> None:
    spec = pod.spec
    check_quantities(all_resources(spec))
    check_int32("spec.priority", spec.priority)
    check_deadline(spec.active_deadline_seconds)
    group = spec.scheduling_group
    if group and group.pod_group_name is not None and (problem := name_problem(group.pod_group_name)):
        raise FieldError("spec.schedulingGroup.podGroupName", problem)
    for position, toleration in enumerate(spec.tolerations):
        if problem := toleration_problem(toleration):
            raise FieldError(f"spec.tolerations[{position}]", problem)
    for kind, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for position, container in enumerate(containers):
            if container.ports:
                check_ports(f"spec.{kind}[{position}].ports", container)
    if spec.affinity is not None:
        check_affinity(spec.affinity)
    for position, constraint in enumerate(spec.topology_spread_constraints):
        check_spread(f"spec.topologySpreadConstraints[{position}]", constraint)
    for position, volume in enumerate(spec.volumes):
        check_volume(f"spec.volumes[{position}]", volume)
    device_checks.check_named_claims(spec.resource_claims)


def check_deadline(seconds: int | None) -> None:
    if seconds is not None and seconds not in DEADLINES:
        problem = f"is {str(seconds)[:40]}, and must be from {DEADLINES[0]} to {DEADLINES[-1]}"
        raise FieldError("spec.activeDeadlineSeconds", problem)


@lru_cache(maxsize=4096)
def toleration_problem(toleration: Toleration) -> str:
    if not toleration.key and toleration.operator != "Exists":
        return "without a key, operator must be Exists"
    if toleration.value and toleration.operator == "Exists":
        return "with operator Exists there is no value"
    if toleration.operator in ("Lt", "Gt") and decimal_integer(toleration.value) is None:
        return f"operator {toleration.operator} needs a value that is a whole number"
    return ""


def check_ports(field: str, container: Container) -> None:
    for position, port in enumerate(container.ports):
        if port.protocol not in ("", "TCP", "UDP", "SCTP"):
            raise FieldError(
                f"{field}[{position}].protocol", f"{port.protocol!r} is not one of TCP, UDP, SCTP"
            )


def check_volume(field: str, volume: Volume) -> None:
    claim = volume.persistent_volume_claim
    if claim is not None and (problem := name_problem(claim.claim_name)):
        raise FieldError(f"{field}.persistentVolumeClaim.claimName", problem)
    template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
    if template is not None:
        inner = f"{field}.ephemeral.volumeClaimTemplate.spec.resources.requests"
        check_quantities([(inner, template.spec.resources.requests)])


def check_affinity(affinity: Affinity) -> None:
    field, nodes = "spec.affinity.nodeAffinity", affinity.node_affinity
    if nodes.required is not None:
        check_node_selector(f"{field}.{REQUIRED}", nodes.required)
    for position, preferred in enumerate(nodes.preferred):
        check_node_term(f"{field}.{PREFERRED}[{position}].preference", preferred.preference)
    both = (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity))
    for name, pods in both:
        for field, term in pod_terms(f"spec.affinity.{name}", pods):
            check_key(f"{field}.topologyKey", term.topology_key)
            check_selector(f"{field}.labelSelector", term.label_selector)
            check_selector(f"{field}.namespaceSelector", term.namespace_selector)


def pod_terms(field: str, pods: PodAffinity) -> Iterator[tuple[str, PodAffinityTerm]]:
    for position, term in enumerate(pods.required):
        yield f"{field}.{REQUIRED}[{position}]", term
    for position, weighted in enumerate(pods.preferred):
        yield f"{field}.{PREFERRED}[{position}].podAffinityTerm", weighted.pod_affinity_term


def check_spread(field: str, constraint: TopologySpreadConstraint) -> None:
    check_key(f"{field}.topologyKey", constraint.topology_key)
    check_selector(f"{field}.labelSelector", constraint.label_selector)
    check_int32(f"{field}.maxSkew", constraint.max_skew)
    check_int32(f"{field}.minDomains", constraint.min_domains)


# ---- selectors


def check_selector(field: str, selector: LabelSelector | None) -> None:
    if selector is None:
        return
    for position, requirement in enumerate(selector.match_expressions):
        here = f"{field}.matchExpressions[{position}]"
        if requirement.operator in ("Gt", "Lt"):
            raise FieldError(f"{here}.operator", f"{requirement.operator!r} is only for node affinity")
        check_requirement(here, requirement)


def check_node_selector(field: str, selector: NodeSelector) -> None:
    if not selector.node_selector_terms:
        raise FieldError(f"{field}.nodeSelectorTerms", "is required")
    for position, term in enumerate(selector.node_selector_terms):
        check_node_term(f"{field}.nodeSelectorTerms[{position}]", term)


def check_node_term(field: str, term: NodeSelectorTerm) -> None:
    for position, requirement in enumerate(term.match_expressions):
        check_requirement(f"{field}.matchExpressions[{position}]", requirement)
    for position, requirement in enumerate(term.match_fields):
        here = f"{field}.matchFields[{position}]"
        if requirement.key != "metadata.name":
            raise FieldError(
                f"{here}.key", f"{requirement.key!r} is not metadata.name, the only field that is allowed"
            )
        check_requirement(here, requirement)


def check_requirement(field: str, requirement: Requirement) -> None:
    if found := requirement_problem(requirement):
        raise FieldError(f"{field}.{found[0]}", found[1])


@lru_cache(maxsize=65536)
def requirement_problem(requirement: Requirement) -> tuple[str, str] | None:
    operator, values = requirement.operator, requirement.values
    if problem := label_key_problem(requirement.key):
        return "key", problem
    if operator in ("In", "NotIn") and not values:
        return "values", f"operator {operator} needs at least one value"
    if operator in ("Exists", "DoesNotExist") and values:
        return "values", f"operator {operator} takes no values"
    if operator in ("Gt", "Lt") and len(values) != 1:
        # Only the scheduler looks whether it is a number; if not, no node is above it.
        return "values", f"operator {operator} needs exactly one value"
    return None


# ---- everything else


def check_node(node: Node) -> None:
    status = node.status
    check_quantities((("status.allocatable", status.allocatable), ("status.capacity", status.capacity)))
    check_taints("spec.taints", node.spec.taints)


def check_taints(field: str, taints: tuple[Taint, ...]) -> None:
    for position, taint in enumerate(taints):
        check_key(f"{field}[{position}].key", taint.key)


def check_pod_group(group: PodGroup) -> None:
    spec = group.spec
    gang, basic = spec.scheduling_policy.gang, spec.scheduling_policy.basic
    if gang is not None and basic is not None:
        raise FieldError("spec.schedulingPolicy", "has both basic and gang; exactly one is allowed")
    if gang is None and basic is None and spec.min_member is None:
        raise FieldError("spec.schedulingPolicy", "is required: basic: {} or gang: {minCount: N}")
    if spec.min_member is not None and (basic is not None or (gang and gang.min_count != spec.min_member)):
        policy = "basic" if gang is None else f"gang.minCount: {gang.min_count}"
        raise FieldError("spec.minMember", f"{spec.min_member} contradicts spec.schedulingPolicy.{policy}")
    check_constraints(spec.scheduling_constraints)
    device_checks.check_named_claims(spec.resource_claims)
    mode = spec.disruption_mode
    known = mode in ("Pod", "PodGroup") if isinstance(mode, str) else list(mode) in (["single"], ["all"])
    if not known:
        known_modes = "Pod, PodGroup, {single: {}} or {all: {}}"
        raise FieldError("spec.disruptionMode", f"{str(mode)[:60]!r} is not {known_modes}")
    check_int32("spec.priority", spec.priority)
    check_parent(spec.parent_composite_pod_group_name)


def check_composite(group: CompositePodGroup) -> None:
    policy = group.spec.scheduling_policy
    if (policy.gang is None) == (policy.basic is None):
        raise FieldError(
            "spec.schedulingPolicy", "needs exactly one of basic: {} and gang: {minGroupCount: N}"
        )
    check_constraints(group.spec.scheduling_constraints)
    check_int32("spec.priority", group.spec.priority)
    check_parent(group.spec.parent_composite_pod_group_name)


def check_parent(name: str) -> None:
    if name and (problem := name_problem(name)):
        raise FieldError("spec.parentCompositePodGroupName", problem)


def check_constraints(constraints: SchedulingConstraints) -> None:
    field, keys = "spec.schedulingConstraints.topology", constraints.topology
    if len(keys) > 1:
        raise FieldError(field, f"has {len(keys)} keys; one is allowed")
    for constraint in keys:
        check_key(f"{field}[0].key", constraint.key)


def check_priority_class(priority: PriorityClass) -> None:
    check_int32("value", priority.value)


def check_budget(budget: PodDisruptionBudget) -> None:
    check_selector("spec.selector", budget.spec.selector)
    check_share("spec.minAvailable", budget.spec.min_available)
    check_share("spec.maxUnavailable", budget.spec.max_unavailable)


def check_share(field: str, share: int | str | None) -> None:
    if isinstance(share, str) and not re.fullmatch(r"(100|[0-9]{1,2})%", share, re.ASCII):
        raise FieldError(field, f"{share[:40]!r} is not a percentage from 0% to 100%")
    if isinstance(share, int) and share not in range(INT32.stop):
        raise FieldError(field, f"{str(share)[:40]} is out of range")


def check_claim(claim: PersistentVolumeClaim) -> None:
    field, resources = "spec.resources", claim.spec.resources
    check_quantities(((f"{field}.requests", resources.requests), (f"{field}.limits", resources.limits)))
    check_selector("spec.selector", claim.spec.selector)


def check_volume_object(volume: PersistentVolume) -> None:
    check_quantities([("spec.capacity", volume.spec.capacity)])
    if volume.spec.node_affinity.required is not None:
        check_node_selector("spec.nodeAffinity.required", volume.spec.node_affinity.required)


def check_storage_class(storage: StorageClass) -> None:
    for position, term in enumerate(storage.allowed_topologies):
        for number, values in enumerate(term.match_label_expressions):
            field = f"allowedTopologies[{position}].matchLabelExpressions[{number}]"
            check_key(f"{field}.key", values.key)
            if not values.values:
                raise FieldError(f"{field}.values", "is required")


def check_csi_node(node: CSINode) -> None:
    for position, driver in enumerate(node.spec.drivers):
        check_int32(f"spec.drivers[{position}].allocatable.count", driver.allocatable.count)


CHECKS: dict[type[Object], Callable[[Any], None]] = {
    Pod: check_pod,
    Node: check_node,
    PodGroup: check_pod_group,
    CompositePodGroup: check_composite,
    PriorityClass: check_priority_class,
    PodDisruptionBudget: check_budget,
    PersistentVolumeClaim: check_claim,
    PersistentVolume: check_volume_object,
    StorageClass: check_storage_class,
    CSINode: check_csi_node,
    DeviceClass: device_checks.check_class,
    ResourceSlice: device_checks.check_slice,
    ResourceClaim: device_checks.check_claim,
    ResourceClaimTemplate: device_checks.check_template,
    DeviceTaintRule: device_checks.check_taint_rule,
}
"""Of other kinds the types say it all."""
