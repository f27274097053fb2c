"""Groups of pods: PodGroup, CompositePodGroup, and the Workload that has templates of both."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from maitred.sandbox.apiserver.kinds.conditions import check_conditions
from maitred.sandbox.apiserver.kinds.declared import (
    Rule,
    Shape,
    at_least,
    at_most,
    format_of,
    one_of,
    violations,
)
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, duplicate, invalid, required
from maitred.sandbox.apiserver.kinds.names import label, label_key, path_segment, subdomain
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

MAX_TEMPLATES = 8
MAX_CLAIMS = 4
MAX_DEPTH = 4
MAX_PRIORITY = 1_000_000_000

short_name, long_name = format_of(label), format_of(subdomain)
EMPTY = Shape()
OPTION = Rule(shape=EMPTY)

TOPOLOGY = Rule(limit=1, shape=Shape({"key": Rule((format_of(label_key),), is_required=True)}))
CONSTRAINTS = Rule(shape=Shape({"topology": TOPOLOGY}), is_immutable=True)
MODE = Rule(shape=Shape({"single": OPTION, "all": OPTION}, union=("single", "all")), is_immutable=True)
CLAIM = Shape(
    {
        "name": Rule((short_name,), is_required=True),
        "resourceClaimName": Rule((long_name,)),
        "resourceClaimTemplateName": Rule((long_name,)),
    },
    union=("resourceClaimName", "resourceClaimTemplateName"),
)
CLAIMS = Rule(shape=CLAIM, key="name", limit=MAX_CLAIMS, is_immutable=True)


def policy(count: str) -> Rule:
    """Either of both kinds for good; how many make a gang may change."""
    gang = Shape({count: Rule((at_least(1),), is_required=True)})
    variants = {"basic": replace(OPTION, is_immutable=True), "gang": Rule(shape=gang, is_fixed=True)}
    return Rule(shape=Shape(variants, union=("basic", "gang")))


PRIORITY = {
    "priorityClassName": Rule((long_name,), is_immutable=True),
    "priority": Rule((at_most(MAX_PRIORITY),), is_immutable=True),
    "preemptionPolicy": Rule((one_of("Never", "PreemptLowerPriority"),), is_immutable=True),
}
ORIGIN = Shape(
    {
        "workloadName": Rule((long_name,), is_required=True),
        "templateName": Rule((short_name,), is_required=True),
    }
)
NAME = Rule((short_name,), is_required=True)
PARENT = Rule((long_name,), is_immutable=True)

POD_GROUP = Shape(
    {
        "parentCompositePodGroupName": PARENT,
        "workloadRef": Rule(shape=ORIGIN, is_immutable=True),
        "schedulingPolicy": policy("minCount"),
        "schedulingConstraints": CONSTRAINTS,
        "resourceClaims": CLAIMS,
        "disruptionMode": MODE,
        **PRIORITY,
    }
)
COMPOSITE = Shape(
    {
        "parentCompositePodGroupName": PARENT,
        "workloadRef": Rule(shape=ORIGIN, is_immutable=True, is_required=True),
        "schedulingPolicy": replace(policy("minGroupCount"), is_immutable=True),
        "schedulingConstraints": CONSTRAINTS,
        "disruptionMode": MODE,
        **PRIORITY,
    }
)
TEMPLATE = Shape(
    {
        "name": NAME,
        "schedulingPolicy": policy("minCount"),
        "schedulingConstraints": CONSTRAINTS,
        "resourceClaims": CLAIMS,
        "disruptionMode": MODE,
        **PRIORITY,
    }
)
TEMPLATES = Rule(shape=TEMPLATE, key="name", limit=MAX_TEMPLATES, has_fixed_items=True)
COMPOSITE_TEMPLATE = Shape(
    {
        "name": NAME,
        "schedulingPolicy": policy("minGroupCount"),
        "schedulingConstraints": CONSTRAINTS,
        "disruptionMode": MODE,
        **PRIORITY,
        "podGroupTemplates": TEMPLATES,
    }
)
COMPOSITE_TEMPLATES = replace(TEMPLATES, shape=COMPOSITE_TEMPLATE)
COMPOSITE_TEMPLATE.fields["compositePodGroupTemplates"] = COMPOSITE_TEMPLATES

path_segments = format_of(path_segment)
CONTROLLER = Shape(
    {
        "apiGroup": Rule((long_name,)),
        "kind": Rule((path_segments,), is_required=True),
        "name": Rule((path_segments,), is_required=True),
    }
)
WORKLOAD = Shape(
    {
        "controllerRef": Rule(shape=CONTROLLER, is_immutable=True),
        "podGroupTemplates": TEMPLATES,
        "compositePodGroupTemplates": COMPOSITE_TEMPLATES,
    },
    union=("podGroupTemplates", "compositePodGroupTemplates"),
)
CLAIM_STATUSES = Shape(
    {
        "resourceClaimStatuses": Rule(
            shape=Shape({"resourceClaimName": Rule((long_name,))}), key="name", limit=MAX_CLAIMS
        )
    }
)


class GroupStrategy(Strategy):
    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def check(self, body: Body) -> list[FieldError]:
        return violations(self.shape, "spec", body["spec"])

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return violations(self.shape, "spec", new["spec"], old["spec"])

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return check_conditions(new.get("status", {}).get("conditions", []), "status.conditions")


class PodGroupStrategy(GroupStrategy):
    def understand(self, body: Body) -> list[str]:
        """The shorthand `minMember`, which says how many make a gang."""
        spec = body.get("spec")
        if not isinstance(spec, dict) or "minMember" not in spec or spec.get("schedulingPolicy"):
            return []
        count = spec.pop("minMember")
        spec["schedulingPolicy"] = {"gang": {"minCount": count}}
        return [f"spec.minMember is a shorthand, read as spec.schedulingPolicy.gang.minCount: {count}"]

    def check(self, body: Body) -> list[FieldError]:
        return [*check_parent(body["spec"]), *super().check(body)]

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        status, before = new.get("status", {}), old.get("status", {})
        return [
            *super().check_status(new, old),
            *check_claim_statuses(status.get("resourceClaimStatuses", []), new["spec"]),
            *violations(CLAIM_STATUSES, "status", status, before),
        ]


class WorkloadStrategy(GroupStrategy):
    def check(self, body: Body) -> list[FieldError]:
        return [*check_templates(body["spec"]), *super().check(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*check_templates(new["spec"]), *super().check_update(new, old)]


def check_parent(spec: Body) -> Iterator[FieldError]:
    if "parentCompositePodGroupName" in spec and "workloadRef" not in spec:
        yield required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")


def check_claim_statuses(statuses: list[Body], spec: Body) -> Iterator[FieldError]:
    claims = {claim.get("name") for claim in spec.get("resourceClaims", [])}
    for index, status in enumerate(statuses):
        name = status.get("name", "")
        if name not in claims:
            path = f"status.resourceClaimStatuses[{index}].name"
            yield invalid(path, name, "must match the name of an entry in `spec.resourceClaims`")


# -- the tree of templates ---------------------------------------------------------------------------------


def check_templates(spec: Body) -> list[FieldError]:
    return [
        *repeated_names(spec),
        *too_deep(spec),
        *mixed_priorities(spec),
        *childless(spec, "spec"),
    ]


def composites(parent: Body) -> list[Body]:
    found: list[Body] = parent.get("compositePodGroupTemplates", [])
    return found


def leaves(parent: Body) -> list[Body]:
    found: list[Body] = parent.get("podGroupTemplates") or []
    return found


def repeated_names(spec: Body) -> Iterator[FieldError]:
    """Names that lists have in common; each list's own are told by the rules of its type."""
    seen = {template.get("name", "") for template in leaves(spec)}
    yield from repeated_among(composites(spec), "spec.compositePodGroupTemplates", seen)
    yield from repeated_below(composites(spec), "spec.compositePodGroupTemplates", seen)


def repeated_among(templates: list[Body], path: str, seen: set[str]) -> Iterator[FieldError]:
    names = [template.get("name", "") for template in templates]
    for index, name in enumerate(names):
        if name in seen:
            yield duplicate(f"{path}[{index}].name", name)
    seen.update(names)


def repeated_below(templates: list[Body], path: str, seen: set[str]) -> Iterator[FieldError]:
    for index, template in enumerate(templates):
        here = f"{path}[{index}]"
        yield from repeated_among(leaves(template), f"{here}.podGroupTemplates", seen)
        yield from repeated_among(composites(template), f"{here}.compositePodGroupTemplates", seen)
        yield from repeated_below(composites(template), f"{here}.compositePodGroupTemplates", seen)


def too_deep(spec: Body) -> Iterator[FieldError]:
    for index, template in enumerate(composites(spec)):
        if height(template) >= MAX_DEPTH:
            path = f"spec.compositePodGroupTemplates[{index}]"
            yield invalid(path, composites(template), f"maximum template hierarchy depth is {MAX_DEPTH}")


def height(template: Body) -> int:
    return 1 + max(map(height, composites(template)), default=0)


def mixed_priorities(spec: Body) -> Iterator[FieldError]:
    flat = {priority_of(template) for template in leaves(spec)}
    nested = {priority for template in composites(spec) for priority in priorities_within(template)}
    if len(flat) > 1:
        yield invalid("spec", None, "detected multiple priority configurations")
    elif len(flat | nested) > 1:
        why = "all priority and priorityClassName values must be identical, detected multiple values"
        yield invalid("spec", None, why)


def priority_of(template: Body) -> tuple[Any, Any]:
    return template.get("priorityClassName"), template.get("priority")


def priorities_within(template: Body) -> Iterator[tuple[Any, Any]]:
    yield priority_of(template)
    yield from map(priority_of, leaves(template))
    for child in composites(template):
        yield from priorities_within(child)


def childless(parent: Body, path: str) -> Iterator[FieldError]:
    for index, template in enumerate(composites(parent)):
        here = f"{path}.compositePodGroupTemplates[{index}]"
        if not leaves(template) and not composites(template):
            why = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            yield invalid(here, template.get("name", ""), why)
        yield from childless(template, here)


WORKLOADS = WorkloadStrategy(WORKLOAD)
POD_GROUPS = PodGroupStrategy(POD_GROUP)
COMPOSITE_POD_GROUPS = GroupStrategy(COMPOSITE)
