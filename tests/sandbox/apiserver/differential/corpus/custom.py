"""Definitions of custom resources, and their objects."""

from dataclasses import replace
from typing import Any

from tests.sandbox.apiserver.differential.corpus.objects import of_kind
from tests.sandbox.apiserver.differential.requests import (
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


RESTRICTED: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": "^(a+)+$"},
                "b": {"type": "string", "format": "date-time"},
                "c": {"type": "integer", "not": {"maximum": 3}},
                "d": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^[[:alpha:]]+$"}]},
            },
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "anyOf": [{"required": ["c"]}, {"required": ["d"]}],
        },
    },
}
RULED: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string", "format": "odd"}},
            "x-kubernetes-validations": [{"rule": "self.a > 1"}],
        }
    },
}
LOCKS = "/apis/example.dev/v1/namespaces/{ns}/locks"
FREES = "/apis/example.dev/v1/namespaces/{ns}/frees"
COUNTED: Json = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
RULERS = "/apis/example.dev/v1/namespaces/{ns}/rulers"


def lock(**spec: Any) -> Json:
    return of_kind("example.dev/v1", "Lock", "a", spec=spec)


def free(name: str = "a", **fields: Any) -> Json:
    return of_kind("example.dev/v1", "Free", name, **fields)


def pattern(text: str) -> Json:
    return {"type": "object", "properties": {"a": {"type": "string", "pattern": text}}}


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
        get("/apis/unknown.example/v1/namespaces/{ns}/queues"),
        post(DEFINITIONS, definition("queues", schema=pattern("("))),
        post(DEFINITIONS, definition("queues", schema=pattern("(?=a)"))),
        post(DEFINITIONS, definition("dries"), dryRun="All"),
        get(f"{DEFINITIONS}/dries.example.dev"),
    ),
    story(
        "restrictions",
        post(DEFINITIONS, definition("locks", schema=RESTRICTED)),
        get(LOCKS).until(200),
        post(LOCKS, lock(a="aaa", c=4)),
        post(LOCKS, lock(a="a" * 40 + "!", c=4), dryRun="All"),
        post(LOCKS, lock(b="2026-01-02T03:04:05Z", d="ab"), dryRun="All"),
        post(LOCKS, lock(), dryRun="All"),
        post(LOCKS, lock(a="a", b="2026-01-02T03:04:05Z", c=4), dryRun="All"),
        post(LOCKS, lock(a="a", c=3), dryRun="All"),
        post(LOCKS, lock(a="a", d="1"), dryRun="All"),
        post(LOCKS, lock(a="a", d="12"), dryRun="All"),
        patch("merge", f"{LOCKS}/a", {"spec": {"c": 1}}),
    ),
    story(
        "open-schema",
        post(
            DEFINITIONS,
            definition("frees", schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ),
        get(FREES).until(200),
        post(FREES, free(spec={"a": [1]}, status={"b": 1})),
        patch("merge", f"{FREES}/a/status", {"status": {"c": 1}}),
        patch("merge", f"{FREES}/a", {"spec": {"d": 1}, "status": {"c": 2}}),
        post(FREES, {**free("b"), "kind": ""}),
        post(FREES, {**free("b"), "apiVersion": ""}),
        post(FREES, {"metadata": {"name": "b"}}),
        get("/apis/example.dev/v1/namespaces/{ns}/nothings"),
    ),
    story(
        "rules",
        post(DEFINITIONS, definition("rulers", schema=RULED)),
        get(RULERS).until(200),
        post(RULERS, of_kind("example.dev/v1", "Ruler", "a", spec={"a": 1})),
    ),
]
