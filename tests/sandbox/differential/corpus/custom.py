"""Definitions of custom resources, and their objects."""

from dataclasses import replace
from typing import Any

from tests.sandbox.differential.corpus.objects import of_kind
from tests.sandbox.differential.requests import (
    TABLE,
    Json,
    apply,
    delete,
    get,
    patch,
    post,
    story,
)

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/example.dev/v1/namespaces/{ns}/queues"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["weight"],
            "properties": {
                "weight": {"type": "integer", "minimum": 1, "maximum": 10},
                "mode": {"type": "string", "enum": ["fifo", "fair"], "default": "fifo"},
                "word": {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"},
                "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "properties": {"length": {"type": "integer"}}},
    },
}
COLUMNS = [
    {"name": "Weight", "type": "integer", "jsonPath": ".spec.weight"},
    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
    {"name": "Tag", "type": "string", "jsonPath": ".spec.tags[0]", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def definition(plural: str, group: str = "example.dev", *, schema: Json = SCHEMA, **changes: Any) -> Json:
    kind = plural.capitalize().removesuffix("s")
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": COLUMNS,
    }
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [version],
        **changes,
    }
    return of_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def queue(name: str, *, status: Json | None = None, **spec: Any) -> Json:
    body = of_kind("example.dev/v1", "Queue", name, spec=spec)
    return body if status is None else {**body, "status": status}


STORIES = [
    story(
        "queues",
        post(DEFINITIONS, definition("queues")),
        get(QUEUES).until(200),
        get(f"{DEFINITIONS}/queues.example.dev"),
        get("/apis/example.dev/v1"),
        get("/apis/example.dev"),
        post(QUEUES, queue("a", weight=1)),
        post(QUEUES, queue("b", weight=2, mode="fair", tags=["x"], free={"any": {"thing": 1}}, port="http")),
        post(QUEUES, queue("c")),
        post(QUEUES, queue("c", weight=0)),
        post(QUEUES, queue("c", weight=11)),
        post(QUEUES, queue("c", weight="1")),
        post(QUEUES, queue("c", weight=1, mode="none")),
        post(QUEUES, queue("c", weight=1, word="Long_word")),
        post(QUEUES, queue("c", weight=1, tags=["x", "y", "z"])),
        post(QUEUES, queue("c", weight=1, nothing=1)),
        post(QUEUES, queue("d", weight=1, nothing=1), fieldValidation="Strict"),
        post(QUEUES, queue("e", weight=1, status={"length": 3})),
        post(QUEUES, {**queue("f", weight=1), "kind": "Other"}),
        get(QUEUES),
        get(QUEUES).as_(TABLE),
        get(f"{QUEUES}/b").as_(TABLE),
        patch("merge", f"{QUEUES}/a", {"spec": {"weight": 3}}),
        patch("merge", f"{QUEUES}/a/status", {"status": {"length": 3}, "spec": {"weight": 4}}),
        patch("strategic", f"{QUEUES}/a", {"spec": {"weight": 4}}),
        patch("json", f"{QUEUES}/a", [{"op": "replace", "path": "/spec/weight", "value": 5}]),
        apply(f"{QUEUES}/g", queue("g", weight=6)),
        apply(f"{QUEUES}/g", queue("g", weight=7), manager="other"),
        delete(f"{QUEUES}/a"),
        get(f"{QUEUES}/none"),
        delete(f"{DEFINITIONS}/queues.example.dev"),
        get(f"{DEFINITIONS}/queues.example.dev").until(404),
        get(QUEUES).until(404),
        replace(post(DEFINITIONS, definition("queues")), awaited=201),
        get(QUEUES).until(200),
    ),
    story(
        "definitions",
        post(DEFINITIONS, {**definition("queues"), "metadata": {"name": "other.example.dev"}}),
        post(DEFINITIONS, definition("queues", scope="Everywhere")),
        post(DEFINITIONS, definition("queues", versions=[])),
        post(DEFINITIONS, definition("queues", schema={"type": "object", "properties": {"a": {}}})),
        post(DEFINITIONS, definition("queues", group="bare")),
        get("/apis/unknown.example/v1/namespaces/{ns}/queues"),
    ),
]
