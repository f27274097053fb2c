"""What is sent to both servers: stories of a few requests each.

In every text of a request `{ns}` stands for the namespace of its story, also in names of objects without
a namespace. A text that begins with `$` stands for a part of an earlier answer: `$pod.metadata.uid`.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

PODS = "/api/v1/namespaces/{ns}/pods"
CONFIG_MAPS = "/api/v1/namespaces/{ns}/configmaps"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{ns}/podgroups"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@dataclass(frozen=True, slots=True)
class Request:
    verb: str
    path: str
    body: Json | list[Any] | str | None = None
    """A text is sent as it is."""
    params: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON
    accept: str = JSON
    user: str = "admin"
    """Or `other`, who may do next to nothing, `nobody`, without a token, or `stranger`, with a wrong one."""
    saved: str = ""
    """The name by which later requests speak of the answer."""
    awaited: int = 0
    """Asked again until this is the status: what was done before takes a server a moment to notice."""
    only: tuple[str, ...] = ()
    """Of lists in the answer, the entries with these names alone: the sandbox serves fewer kinds."""

    def named(self, name: str) -> "Request":
        return replace(self, saved=name)

    def by(self, user: str) -> "Request":
        return replace(self, user=user)

    def until(self, status: int) -> "Request":
        return replace(self, awaited=status)

    def as_(self, accept: str) -> "Request":
        return replace(self, accept=accept)

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.verb} {self.path}" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Watch:
    """A stream that is opened before the requests in `during` are sent, and read until `until`."""

    path: str
    params: dict[str, str]
    during: tuple[Request, ...] = ()
    until: tuple[str, str] | None = None
    """The type and the name of its last event; None: the server ends it."""
    accept: str = JSON

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.params.items())
        return f"WATCH {self.path}" + (f"?{query}" if query else "")


Step: TypeAlias = Request | Watch


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    steps: tuple[Step, ...]


def story(name: str, *steps: Step) -> Story:
    return Story(name, steps)


def get(path: str, **params: str) -> Request:
    return Request("GET", path, params=params)


def post(path: str, body: Json | str, **params: str) -> Request:
    return Request("POST", path, body, params)


def put(path: str, body: Json | str, **params: str) -> Request:
    return Request("PUT", path, body, params)


def patch(sort: str, path: str, body: Json | list[Any] | str, **params: str) -> Request:
    return Request("PATCH", path, body, params, PATCHES[sort])


def apply(path: str, body: Json | str, manager: str = "corpus", **params: str) -> Request:
    return Request("PATCH", path, body, {"fieldManager": manager, **params}, PATCHES["apply"])


def delete(path: str, options: Json | None = None, **params: str) -> Request:
    return Request("DELETE", path, options, params)


def watch(path: str, *during: Request, until: tuple[str, str] | None = None, **params: str) -> Watch:
    return Watch(path, {"watch": "1", **params}, during, until)
