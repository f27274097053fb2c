"""Who may do what: role-based access control, from the roles and bindings that are stored."""

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.kinds.simple import RBAC as GROUP
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Change, Key, Shelf, Store
from maitred.sandbox.apiserver.users import User

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
ALL = "*"
MOST_KNOWN = 10_000
"""Users and namespaces whose rights are kept ready. Anyone may ask about any number of users."""


@dataclass(frozen=True, slots=True)
class Rule:
    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Of objects; empty for all."""
    paths: tuple[str, ...] = ()

    @classmethod
    def read(cls, body: Body) -> Self:
        return cls(
            frozenset(body.get("verbs") or ()),
            frozenset(body.get("apiGroups") or ()),
            frozenset(body.get("resources") or ()),
            frozenset(body.get("resourceNames") or ()),
            tuple(body.get("nonResourceURLs") or ()),
        )

    def allows(self, verb: str, group: str, resource: str, name: str) -> bool:
        """`resource` may be a subresource, such as pods/binding."""
        return (
            bool(self.verbs & {ALL, verb})
            and bool(self.groups & {ALL, group})
            and self._has_resource(resource)
            and (not self.names or name in self.names)
        )

    def _has_resource(self, resource: str) -> bool:
        _, slash, part = resource.partition("/")
        return bool(self.resources & {ALL, resource}) or bool(slash and f"*/{part}" in self.resources)

    def allows_path(self, verb: str, path: str) -> bool:
        if not self.verbs & {ALL, verb}:
            return False
        return any(
            path.startswith(known.rstrip(ALL)) if known.endswith(ALL) else path == known
            for known in self.paths
        )


PROBES = ("/healthz", "/livez", "/readyz", "/version", "/version/")
DESCRIPTIONS = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
SELF_REVIEWS = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})
EVERYONES = (
    Rule(frozenset({"get"}), paths=(*PROBES, *DESCRIPTIONS)),
    Rule(frozenset({"create"}), frozenset({"authorization.k8s.io", "authentication.k8s.io"}), SELF_REVIEWS),
)
"""What the server lets every user do who has a name: see what it serves, and ask about themselves."""


@dataclass(frozen=True, slots=True)
class Rights:
    """Of one user in one namespace, or, without one, in the whole cluster."""

    rules: tuple[Rule, ...]
    missing: tuple[str, ...] = ()
    """Roles that are bound but not there."""


class Authorizer:
    def __init__(self, store: Store) -> None:
        self._roles = self._follow(store, "roles")
        self._cluster_roles = self._follow(store, "clusterroles")
        self._bindings = self._follow(store, "rolebindings")
        self._cluster_bindings = self._follow(store, "clusterrolebindings")
        self._known: dict[tuple[User, str], Rights] = {}

    def _follow(self, store: Store, plural: str) -> Shelf:
        shelf = store.shelf(f"{plural}.{GROUP}")
        shelf.listen(self._forget)
        return shelf

    def _forget(self, change: Change) -> None:
        self._known.clear()

    def refusal(
        self, user: User, verb: str, group: str, resource: str, namespace: str = "", name: str = ""
    ) -> Refusal | None:
        """Why a user may not do this, or None. `resource` may be a subresource, such as pods/binding."""
        if MASTERS in user.groups:
            return None
        rights = self._rights(user, namespace)
        if any(rule.allows(verb, group, resource, name) for rule in rights.rules):
            return None
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        wish = f'User "{user.name}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
        return refusals.forbidden(group, resource.partition("/")[0], name, explained(wish, rights))

    def path_refusal(self, user: User, verb: str, path: str) -> Refusal | None:
        """The same for paths that are not those of objects, such as /version."""
        if MASTERS in user.groups:
            return None
        rights = self._rights(user, "")
        if any(rule.allows_path(verb, path) for rule in rights.rules):
            return None
        why = explained(f'User "{user.name}" cannot {verb} path "{path}"', rights)
        return Refusal(403, "Forbidden", f"forbidden: {why}", {})

    def _rights(self, user: User, namespace: str) -> Rights:
        rights = self._known.get((user, namespace))
        if rights is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            rights = self._known[user, namespace] = self._collect(user, namespace)
        return rights

    def _collect(self, user: User, namespace: str) -> Rights:
        rules, missing = list(EVERYONES), list[str]()
        for binding in self._bindings_of(user, namespace):
            role = binding["roleRef"]
            kind, name = role.get("kind", ""), role.get("name", "")
            shelf = self._roles if kind == "Role" else self._cluster_roles
            found = shelf.get(Key(namespace if kind == "Role" else "", name))
            if found is None:
                missing.append(f'{kind.lower()}.{GROUP} "{name}" not found')
            else:
                rules += map(Rule.read, found.body.get("rules") or ())
        return Rights(tuple(rules), tuple(missing))

    def _bindings_of(self, user: User, namespace: str) -> Iterator[Body]:
        yield from (item.body for item in self._cluster_bindings if binds(item.body, user))
        if namespace:
            for item in self._bindings:
                if item.key.namespace == namespace and binds(item.body, user):
                    yield item.body


def binds(binding: Body, user: User) -> bool:
    namespace = binding["metadata"].get("namespace", "")
    return any(means(subject, user, namespace) for subject in binding.get("subjects") or ())


def means(subject: Body, user: User, namespace: str) -> bool:
    """`namespace`: that of the binding, for service accounts that have none."""
    name: str = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return name == user.name
        case "Group":
            return name == AUTHENTICATED or name in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and user.name == f"system:serviceaccount:{home}:{name}"
    return False


def explained(wish: str, rights: Rights) -> str:
    safe = html.escape(wish, quote=False)
    return f"{safe}: RBAC: {listed(rights.missing)}" if rights.missing else safe


def listed(problems: Iterable[str]) -> str:
    unique = list(dict.fromkeys(problems))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
