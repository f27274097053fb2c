"""From the path of a request to what it is about."""

from dataclasses import dataclass

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.served import GroupVersion, Served


@dataclass(frozen=True, slots=True)
class Target:
    kind: Kind
    namespace: str
    name: str
    subresource: str


def api_of(path: str) -> tuple[GroupVersion, list[str]] | None:
    """The API that a path belongs to, and the parts below it."""
    match path.removeprefix("/").removesuffix("/").split("/"):
        case ["api", version, *rest]:
            return GroupVersion("", version), rest
        case ["apis", group, version, *rest] if group:
            return GroupVersion(group, version), rest
    return None


OF_CONTAINERS = ("attach", "exec", "log", "portforward")
"""What can be asked of the containers of a pod; a simulated kubelet runs none."""


def container_target(served: Served, api: GroupVersion, parts: list[str]) -> Target | None:
    """A pod of whose containers something is asked."""
    match parts:
        case ["namespaces", namespace, "pods", name, part] if part in OF_CONTAINERS:
            pods = served.find(api.group, api.version, "pods")
            return Target(pods, namespace, name, part) if pods is not None else None
    return None


def target_of(served: Served, api: GroupVersion, parts: list[str]) -> Target | None:
    """None where nothing of this name is served."""
    namespace = ""
    # `namespaces/x/pods` is within a namespace; `namespaces/x` and `namespaces/x/status` are the namespace.
    if parts[:1] == ["namespaces"] and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    if parts[2:3] == ["proxy"]:
        parts = parts[:3]  # The rest is for whoever is behind it.
    if not 1 <= len(parts) <= 3 or "" in parts:
        return None
    plural, name, subresource = (*parts, "", "")[:3]
    kind = served.find(api.group, api.version, plural)
    if kind is None or (subresource and subresource not in kind.subresources):
        return None
    if namespace and not kind.namespaced:
        return None
    if name and ("get" not in kind.verbs or (kind.namespaced and not namespace)):
        return None
    return Target(kind, namespace, name, subresource)
