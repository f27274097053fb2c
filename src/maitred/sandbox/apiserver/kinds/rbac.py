"""Roles, and who has them. What they allow is in `authorization.py`."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required, unsupported
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.labels import check_label_selector
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.kinds.names import check_name, path_segment, subdomain
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

GROUP = "rbac.authorization.k8s.io"
ROLE_REF = {"apiGroup": "", "kind": "", "name": ""}
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
        errors += check_aggregation(body.get("aggregationRule"))
        return errors + [
            required(f"rules[{index}].verbs") for index, rule in enumerate(rules) if not rule.get("verbs")
        ]


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


def check_aggregation(aggregation: Body | None) -> Iterator[FieldError]:
    if aggregation is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors", [])
    if not selectors:
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        yield from check_label_selector(selector, f"{path}[{index}]")


class BindingStrategy(Strategy):
    def __init__(self, *, namespaced: bool) -> None:
        self.namespaced = namespaced
        self.roles = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)

    def set_defaults(self, body: Body) -> None:
        for subject in body.get("subjects", []):
            if subject.get("kind") in PEOPLE:
                subject.setdefault("apiGroup", GROUP)

    def check(self, body: Body) -> list[FieldError]:
        role, subjects = body["roleRef"], body.get("subjects", [])
        errors = list(check_role(role, self.roles))
        for index, subject in enumerate(subjects):
            errors += check_subject(subject, f"subjects[{index}]", namespaced=self.namespaced)
        errors += [
            required(f"subjects[{index}].name")
            for index, subject in enumerate(subjects)
            if not subject.get("name")
        ]
        return errors if role.get("name") else [*errors, required("roleRef.name")]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        errors = self.check(new)
        if new["roleRef"] != old["roleRef"]:
            errors.append(invalid("roleRef", inner(new["roleRef"], ROLE_REF), IMMUTABLE))
        return errors


def check_role(role: Body, known: tuple[str, ...]) -> Iterator[FieldError]:
    if role.get("apiGroup") != GROUP:
        yield unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,))
    if role.get("kind") not in known:
        yield unsupported("roleRef.kind", role.get("kind", ""), known)
    yield from check_name("roleRef.name", role.get("name", ""), path_segment)


def check_subject(subject: Body, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    group = subject.get("apiGroup", "")
    match subject.get("kind", ""):
        case "ServiceAccount":
            if name := subject.get("name"):
                yield from check_name(f"{path}.name", name, subdomain)
            if group:
                yield unsupported(f"{path}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        case "User" | "Group":
            if group != GROUP:
                yield unsupported(f"{path}.apiGroup", group, (GROUP,))
        case other:
            yield unsupported(f"{path}.kind", other, ("ServiceAccount", *PEOPLE))


ROLES = RoleStrategy(namespaced=True)
CLUSTER_ROLES = RoleStrategy(namespaced=False)
ROLE_BINDINGS = BindingStrategy(namespaced=True)
CLUSTER_ROLE_BINDINGS = BindingStrategy(namespaced=False)
