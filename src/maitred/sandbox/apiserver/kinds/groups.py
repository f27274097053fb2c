"""Groups of pods: PodGroup, CompositePodGroup, and the Workload that has templates of both."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.conditions import check_conditions
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, duplicate, invalid, required
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

MAX_DEPTH = 4


class GroupStrategy(Strategy):
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
        return list(check_parent(body["spec"]))

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        status = new.get("status", {})
        return [
            *super().check_status(new, old),
            *check_claim_statuses(status.get("resourceClaimStatuses", []), new["spec"]),
        ]


class WorkloadStrategy(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        return check_templates(body["spec"])


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


WORKLOADS = WorkloadStrategy()
POD_GROUPS = PodGroupStrategy()
COMPOSITE_POD_GROUPS = GroupStrategy()
