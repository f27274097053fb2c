"""Roles, and who has them. What they allow is in `authorization.py`."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required, unsupported
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

GROUP = "rbac.authorization.k8s.io"
PEOPLE = ("User", "Group")
"""Subjects that the server knows by name only; they belong to the API group of the roles."""


class RoleStrategy(Strategy):
    def __init__(self, *, namespaced: bool) -> None:
        self.namespaced = namespaced

    def check(self, body: Body) -> list[FieldError]:
        rules = body.get("rules") or []
        errors = list[FieldError]()
        for index, rule in enumerate(rules):
            errors += check_rule(rule, f"rules[{index}]", namespaced=self.namespaced)
        return errors


def check_rule(rule: Body, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, why)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, why)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


class BindingStrategy(Strategy):
    def __init__(self, *, namespaced: bool) -> None:
        self.namespaced = namespaced

    def set_defaults(self, body: Body) -> None:
        for subject in body.get("subjects", []):
            if subject.get("kind") in PEOPLE:
                subject.setdefault("apiGroup", GROUP)

    def check(self, body: Body) -> list[FieldError]:
        errors = list[FieldError]()
        if not self.namespaced and body["roleRef"].get("kind") == "Role":
            errors.append(unsupported("roleRef.kind", "Role", ("ClusterRole",)))
        for index, subject in enumerate(body.get("subjects", [])):
            errors += check_subject(subject, f"subjects[{index}]", namespaced=self.namespaced)
        return errors


def check_subject(subject: Body, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    group = subject.get("apiGroup", "")
    match subject.get("kind", ""):
        case "ServiceAccount":
            if group:
                yield unsupported(f"{path}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        case "User" | "Group":
            if group != GROUP:
                yield unsupported(f"{path}.apiGroup", group, (GROUP,))


ROLES = RoleStrategy(namespaced=True)
CLUSTER_ROLES = RoleStrategy(namespaced=False)
ROLE_BINDINGS = BindingStrategy(namespaced=True)
CLUSTER_ROLE_BINDINGS = BindingStrategy(namespaced=False)
