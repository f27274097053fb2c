"""The description of the API as OpenAPI version 3, as far as kubectl reads it.

`kubectl explain` reads the schemas and finds them by the operations on a resource, `kubectl apply` looks up
how lists merge, and all commands that write look at whether the server can validate a patch, or try it
without effect. Texts are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.media import CUSTOM_PATCHES, JSON, PATCHES, YAML
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import (
    Body,
    Field,
    ListOf,
    MapOf,
    Relation,
    Scalar,
    Struct,
    Type,
)

_STATUS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
_OPTIONS: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
OF_EVERY_GROUP: Final = ("meta.v1.ListMeta", "meta.v1.DeleteOptions", "meta.v1.Status")
_VERBS: Final = {"post": "create", "put": "update"}
"""Of actions that have another name than the verb that it takes a right to."""
_REF: Final = "#/components/schemas/"
_GVK: Final = "x-kubernetes-group-version-kind"
_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETING: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_SELECTING: Final = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
)
_LISTING: Final = (*_SELECTING, "allowWatchBookmarks", "watch")
_TYPES: Final = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
"""Of query parameters that are no strings."""

_NAMED_SCALARS: Final[dict[Type, tuple[str, Body]]] = {
    Scalar.QUANTITY: (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    Scalar.INT_OR_STRING: (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    Scalar.TIME: (
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        {"type": "string", "format": "date-time"},
    ),
    Scalar.MICRO_TIME: (
        "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        {"type": "string", "format": "date-time"},
    ),
}
_SCALARS: Final[dict[Scalar, Body]] = {
    Scalar.STRING: {"type": "string"},
    Scalar.INT32: {"type": "integer", "format": "int32"},
    Scalar.INT64: {"type": "integer", "format": "int64"},
    Scalar.NUMBER: {"type": "number", "format": "double"},
    Scalar.BOOL: {"type": "boolean"},
    Scalar.BYTES: {"type": "string", "format": "byte"},
    Scalar.ANY: {"type": "object"},
}
_LIBRARIES: Final = {
    "meta": "io.k8s.apimachinery.pkg.apis",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis",
}


def index(documents: Mapping[str, bytes]) -> Body:
    """What is at `/openapi/v3`, from the encoded documents by their paths, such as `apis/batch/v1`.

    Clients keep a document for as long as the address, with the hash of it, stays the same.
    """
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={sha256(document).hexdigest().upper()}"}
            for path, document in documents.items()
        }
    }


def document(kinds: Sequence[Kind], version: str) -> Body:
    """The description of the kinds of one group and version."""
    paths: Body = {}
    schemas: Body = {}
    for needed in OF_EVERY_GROUP:
        schemas.update(_reachable(struct(needed)))
    for kind in kinds:
        name = _kind_name(kind)
        schemas.update(_reachable(kind.type))
        schemas[name] = {**schema_of(kind.type), _GVK: [_gvk(kind)]}
        schemas[f"{name}List"] = _list_of(kind, name)
        paths.update(_paths(kind, name))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


# Schemas


def schema_name(type: Struct) -> str:
    group = type.name.partition(".")[0]
    return f"{_LIBRARIES.get(group, 'io.k8s.api')}.{type.name}"


def _kind_name(kind: Kind) -> str:
    if not kind.is_custom:
        return schema_name(kind.type)
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.name])


def _gvk(kind: Kind, suffix: str = "") -> Body:
    return {"group": kind.group, "version": kind.version, "kind": kind.name + suffix}


@lru_cache(maxsize=256)
def _reachable(root: Type) -> Body:
    """The named schemas of a type and of all that it refers to."""
    found: Body = {}
    seen: set[Type] = set()
    waiting: list[Type] = [root]
    while waiting:
        type = waiting.pop()
        if type in seen:
            continue
        seen.add(type)
        if type in _NAMED_SCALARS:
            name, schema = _NAMED_SCALARS[type]
            found[name] = schema
        elif isinstance(type, Struct) and not type.custom:
            found[schema_name(type)] = schema_of(type)
        waiting.extend(_within(type))
    return found


def _within(type: Type) -> Iterable[Type]:
    match type:
        case Struct():
            return [field.type for field in type.fields.values()]
        case ListOf():
            return [type.item]
        case MapOf():
            return [type.value]
        case _:
            return []


def schema_of(type: Struct) -> Body:
    schema: Body = {"type": "object"}
    needed = sorted(name for name, field in type.fields.items() if field.listed)
    if needed:
        schema["required"] = needed
    if type.fields:
        schema["properties"] = {name: _property(field) for name, field in type.fields.items()}
    if type.atomic or type.granular:
        schema["x-kubernetes-map-type"] = "atomic"
    if type.preserves_unknown:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def _property(field: Field) -> Body:
    schema = _schema(field.type)
    if "$ref" in schema:
        # A reference may have nothing beside it.
        schema = {"allOf": [schema]}
    if isinstance(field.type, Struct) and field.type.granular:
        schema["x-kubernetes-map-type"] = "granular"
    if isinstance(field.type, ListOf):
        # Fields say so of themselves even where it is the rule, as it is for lists within others.
        schema["x-kubernetes-list-type"] = field.type.relation.value
    return schema | _merging(field)


def _schema(type: Type) -> Body:
    match type:
        case Struct():
            return schema_of(type) if type.custom else {"$ref": _REF + schema_name(type)}
        case ListOf():
            schema = {"type": "array", "items": _schema(type.item)}
            if type.relation is not Relation.ATOMIC:
                schema["x-kubernetes-list-type"] = type.relation.value
            return schema | ({"x-kubernetes-list-map-keys": list(type.keys)} if type.keys else {})
        case MapOf():
            schema = {"type": "object", "additionalProperties": _schema(type.value)}
            return schema | ({"x-kubernetes-map-type": "atomic"} if type.atomic else {})
        case Scalar() if type in _NAMED_SCALARS:
            return {"$ref": _REF + _NAMED_SCALARS[type][0]}
        case Scalar():
            return dict(_SCALARS[type])


def _merging(field: Field) -> Body:
    merges = isinstance(field.type, ListOf) and field.type.merges
    strategies = {"merge": merges, "retainKeys": field.retains_keys, "replace": field.replaced}
    strategy = ",".join(name for name, applies in strategies.items() if applies)
    said: Body = {"x-kubernetes-patch-strategy": strategy} if strategy else {}
    if isinstance(field.type, ListOf) and field.type.merge_key:
        said["x-kubernetes-patch-merge-key"] = field.type.merge_key
    return said


def _list_of(kind: Kind, name: str) -> Body:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": _REF + name}},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": _REF + _LIST_META}]},
        },
        _GVK: [_gvk(kind, "List")],
    }


# Paths


def _paths(kind: Kind, name: str) -> Body:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    collection = f"{root}{scope}/{kind.plural}"
    item = f"{collection}/{{name}}"
    paths = {
        collection: {
            "get": _operation(kind, "list", f"{name}List", _LISTING),
            "post": _operation(kind, "post", name, _WRITING, takes=name),
            "delete": _operation(
                kind, "deletecollection", _STATUS, (*_DELETING, *_SELECTING), takes=_OPTIONS
            ),
        },
        item: {
            "get": _operation(kind, "get", name, ()),
            "put": _operation(kind, "put", name, _WRITING, takes=name),
            "patch": _patch(kind, name),
            "delete": _operation(kind, "delete", _STATUS, _DELETING, takes=_OPTIONS),
        },
    }
    if kind.namespaced:
        paths[f"{root}/{kind.plural}"] = {"get": _operation(kind, "list", f"{name}List", _LISTING)}
    if "status" in kind.subresources:
        paths[f"{item}/status"] = {
            "get": _operation(kind, "get", name, ()),
            "put": _operation(kind, "put", name, _WRITING, takes=name),
            "patch": _patch(kind, name),
        }
    return {
        path: {**allowed, "parameters": _path_parameters(path)}
        for path, operations in paths.items()
        if (allowed := _allowed(kind, operations))
    }


def _allowed(kind: Kind, operations: Body) -> Body:
    return {
        method: operation
        for method, operation in operations.items()
        if _VERBS.get(operation["x-kubernetes-action"], operation["x-kubernetes-action"]) in kind.verbs
    }


def _operation(kind: Kind, action: str, gives: str, query: Sequence[str], takes: str = "") -> Any:
    operation: Body = {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": _TYPES.get(name, "string")}} for name in query
        ],
        "responses": {"200": {"description": "OK", "content": _content(gives, (JSON, YAML))}},
        "x-kubernetes-action": action,
        _GVK: _gvk(kind),
    }
    if takes:
        operation["requestBody"] = {"content": _content(takes, ("*/*",))}
    return operation


def _patch(kind: Kind, name: str) -> Any:
    patches = CUSTOM_PATCHES if kind.is_custom else PATCHES
    content = {media: {"schema": {"type": "object"}} for media in patches}
    return _operation(kind, "patch", name, (*_WRITING, "force")) | {"requestBody": {"content": content}}


def _content(name: str, media_types: Sequence[str]) -> Body:
    return {media: {"schema": {"$ref": _REF + name}} for media in media_types}


def _path_parameters(path: str) -> list[Body]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("namespace", "name")
        if f"{{{name}}}" in path
    ]
