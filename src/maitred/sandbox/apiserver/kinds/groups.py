"""Groups of pods: PodGroup, CompositePodGroup, and the Workload that has templates of both."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.devicerules import check_claims_of
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, duplicate, invalid, required
from maitred.sandbox.apiserver.kinds.rules import check_conditions
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

MAX_DEPTH = 4
LEAVES, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"


class GroupStrategy(Strategy):
    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return check_conditions(new)


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
        if "parentCompositePodGroupName" in body["spec"] and "workloadRef" not in body["spec"]:
            return [required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")]
        return []

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return [*check_conditions(new), *check_claims_of(new)]


class WorkloadStrategy(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        spec = body["spec"]
        errors = list(check_composites(spec, "spec", {leaf.get("name", "") for leaf in leaves(spec)}))
        if len(set(priorities_within(spec))) > 1:
            errors.append(invalid("spec", None, "all templates must have the same priority"))
        return errors


WORKLOADS = WorkloadStrategy()
POD_GROUPS = PodGroupStrategy()
COMPOSITE_POD_GROUPS = GroupStrategy()


# -- the tree of templates ---------------------------------------------------------------------------------


def composites(parent: Body) -> list[Body]:
    found: list[Body] = parent.get(COMPOSITES, [])
    return found


def leaves(parent: Body) -> list[Body]:
    found: list[Body] = parent.get(LEAVES) or []
    return found


def check_composites(parent: Body, path: str, seen: set[str], depth: int = 1) -> Iterator[FieldError]:
    """`seen`: names that other lists have; each list's own are told by the rules of its type."""
    yield from repeated(composites(parent), f"{path}.{COMPOSITES}", seen)
    for index, template in enumerate(composites(parent)):
        here = f"{path}.{COMPOSITES}[{index}]"
        if depth == MAX_DEPTH:
            yield invalid(here, template.get("name", ""), f"maximum template hierarchy depth is {MAX_DEPTH}")
        if not leaves(template) and not composites(template):
            why = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            yield invalid(here, template.get("name", ""), why)
        yield from repeated(leaves(template), f"{here}.{LEAVES}", seen)
        yield from check_composites(template, here, seen, depth + 1)


def repeated(templates: list[Body], path: str, seen: set[str]) -> Iterator[FieldError]:
    names = [template.get("name", "") for template in templates]
    yield from (duplicate(f"{path}[{n}].name", name) for n, name in enumerate(names) if name in seen)
    seen.update(names)


def priorities_within(parent: Body) -> Iterator[tuple[Any, Any]]:
    for template in (*leaves(parent), *composites(parent)):
        yield template.get("priorityClassName"), template.get("priority")
        yield from priorities_within(template)
