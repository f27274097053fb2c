"""Kinds to patch and to apply, and who does it."""

from typing import Any

from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.apply import apply
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.types import Body, Field, Scalar, Struct
from maitred.sandbox.apiserver.users import ADMIN

NOW = "2026-03-01T12:00:00Z"
LATER = "2026-03-01T12:30:00Z"

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", struct("core.v1.ConfigMap"))
POD = Kind("", "v1", "Pod", "pods", struct("core.v1.Pod"), subresources=("status",))
NODE = Kind("", "v1", "Node", "nodes", struct("core.v1.Node"), namespaced=False, subresources=("status",))
JOB = Kind("batch", "v1", "Job", "jobs", struct("batch.v1.Job"), subresources=("status",))
BUDGET = Kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", struct("policy.v1.PodDisruptionBudget")
)
POD_GROUP = Kind(
    "scheduling.k8s.io",
    "v1beta1",
    "PodGroup",
    "podgroups",
    struct("scheduling.v1beta1.PodGroup"),
    subresources=("status",),
    status_has_metadata=False,
)
TEMPLATE = Kind(
    "",
    "v1",
    "PodTemplate",
    "podtemplates",
    Struct(
        "core.v1.PodTemplate",
        {
            "apiVersion": Field(Scalar.STRING),
            "kind": Field(Scalar.STRING),
            "metadata": Field(struct("meta.v1.ObjectMeta"), kept=True),
            "template": Field(struct("core.v1.PodTemplateSpec"), kept=True),
        },
    ),
)
"""All of a pod, and everything may change."""


def call(manager: str = "tester", now: str = NOW, *, force: bool = False) -> Call:
    return Call(ADMIN, now, manager, force=force)


def thing(kind: Kind, metadata: Body | None = None, **fields: Any) -> Body:
    about = {"name": "thing", **(metadata or {})}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, **fields}


def container(name: str, **fields: Any) -> Body:
    return {"name": name, "image": f"{name}:1", "imagePullPolicy": "Always", **fields}


def pod_template(*containers: Body, **spec: Any) -> Body:
    return thing(TEMPLATE, template={"spec": {"containers": list(containers), **spec}})


def received(body: Body, kind: Kind) -> Body:
    """As the server makes it of what is sent. An empty list of owners says something: it stays."""
    owners = (body.get("metadata") or {}).get("managedFields")
    conform(body, kind.type)
    fill(body, kind.type)
    if owners == []:
        body["metadata"]["managedFields"] = owners
    return body


def applied(
    live: Body | None,
    what: Body,
    manager: str,
    now: str = NOW,
    *,
    kind: Kind = CONFIG_MAP,
    force: bool = False,
) -> Body:
    """Apply as the server does. A real object has an identity from its creation on."""
    return received(apply(live, what, kind, call(manager, now, force=force)), kind)


def owners(body: Body) -> dict[str, Any]:
    """What each owns, by name."""
    return {entry["manager"]: entry["fieldsV1"] for entry in body["metadata"].get("managedFields", [])}
