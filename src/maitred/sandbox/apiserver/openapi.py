"""The description of the API as OpenAPI version 3, as far as kubectl reads it.

`kubectl explain` reads the schemas and finds them by the operations on a resource, `kubectl apply` looks up
how lists merge, and all commands that write look at whether the server can validate a patch, or try it
without effect. All else is left out: texts, bodies, answers, and operations that nobody looks for.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from maitred.sandbox.apiserver.kinds.kind import Kind
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

_REF: Final = "#/components/schemas/"
_GVK: Final = "x-kubernetes-group-version-kind"
_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")

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
    for kind in kinds:
        name = _kind_name(kind)
        schemas.update(_reachable(kind.type))
        schemas[name] = {**schema_of(kind.type), _GVK: [_gvk(kind)]}
        paths.update(_paths(kind))
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


def _gvk(kind: Kind) -> Body:
    return {"group": kind.group, "version": kind.version, "kind": kind.name}


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


# Paths


def _paths(kind: Kind) -> Body:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    collection = f"{root}{'/namespaces/{namespace}' if kind.namespaced else ''}/{kind.plural}"
    found: Body = {}
    if "list" in kind.verbs:
        found[collection] = {"get": _operation(kind, "list")}
    if "get" in kind.verbs:
        item = {"get": _operation(kind, "get"), "patch": _operation(kind, "patch", _WRITING)}
        found[f"{collection}/{{name}}"] = item
    return {path: {**operations, "parameters": _path_parameters(path)} for path, operations in found.items()}


def _operation(kind: Kind, action: str, query: Sequence[str] = ()) -> Body:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in query]
    return {"parameters": parameters, "x-kubernetes-action": action, _GVK: _gvk(kind)}


def _path_parameters(path: str) -> list[Body]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in ("namespace", "name")
        if f"{{{name}}}" in path
    ]
