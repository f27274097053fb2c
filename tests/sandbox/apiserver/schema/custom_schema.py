"""A schema of a custom resource with one field for each kind of rule, and bodies that keep them or do not."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body

SPEC: Body = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^x"},
        "count": {"type": "integer", "minimum": 2, "maximum": 10, "multipleOf": 2},
        "small": {"type": "integer", "format": "int32"},
        "above": {"type": "number", "minimum": 1.5, "exclusiveMinimum": True},
        "below": {"type": "number", "maximum": 9, "exclusiveMaximum": True},
        "choice": {"type": "string", "enum": ["q", "p"]},
        "digit": {"type": "integer", "enum": [1, 2]},
        "names": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "amounts": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 2,
            "additionalProperties": {"type": "integer"},
        },
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "value": {"type": "integer", "default": 3}},
            },
        },
        "either": {"x-kubernetes-int-or-string": True},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "inner": {"type": "object", "properties": {"flag": {"type": "boolean", "default": True}}},
        "maybe": {"type": "string", "nullable": True, "default": "d"},
        "given": {"type": "string", "default": "d"},
    },
}
SCHEMA: Body = {"type": "object", "properties": {"spec": SPEC}}
DEFINITION: Body = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}
WELL: list[Any] = [
    {"text": "xa"},
    {"text": "xa", "count": 2.0, "above": 2, "below": 8.5, "small": -1, "either": "5"},
    {"text": "xa", "inner": None, "names": None, "maybe": None, "given": None},
    {"text": "xa", "inner": {}, "names": ["a"], "set": [], "either": 5},
    {"text": "xa", "inner": {"x": 1}, "open": {"x": None}, "keyed": [{"name": "a", "x": 2}], "other": 1},
    {"text": "xa", "amounts": {"a": 1, "b": None}},
]
ILL: list[Any] = [
    "text",
    {},
    {"text": None},
    {"text": 1},
    {"text": "y"},
    {"text": "yy"},
    {"text": "xaaaa"},
    {"text": "xa", "count": 1},
    {"text": "xa", "count": 12},
    {"text": "xa", "count": "s"},
    {"text": "xa", "count": 2.5},
    {"text": "xa", "small": 3000000000},
    {"text": "xa", "above": 1.5},
    {"text": "xa", "above": 1},
    {"text": "xa", "below": 9},
    {"text": "xa", "below": 9.5},
    {"text": "xa", "choice": "z"},
    {"text": "xa", "choice": 3},
    {"text": "xa", "digit": 3},
    {"text": "xa", "names": []},
    {"text": "xa", "names": ["a", "b", "c"]},
    {"text": "xa", "names": [1]},
    {"text": "xa", "names": [None]},
    {"text": "xa", "names": {}},
    {"text": "xa", "amounts": {}},
    {"text": "xa", "amounts": {"a": None}},
    {"text": "xa", "amounts": {"a": 1, "b": 2, "c": 3}},
    {"text": "xa", "amounts": {"a": "x"}},
    {"text": "xa", "set": ["a", "b", "a"]},
    {"text": "xa", "keyed": [{"name": "a"}, {"name": "a", "value": 1}]},
    {"text": "xa", "keyed": [{}]},
    {"text": "xa", "either": True},
    {"text": "xa", "either": 1.5},
    {"text": "xa", "inner": []},
    {"text": "xa", "inner": {"flag": "yes"}},
    {"text": "y", "names": []},
]
