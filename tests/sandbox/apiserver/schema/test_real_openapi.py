"""The catalogue, and what we tell kubectl of it, beside what the real API server says of itself."""

from typing import Any

import pytest

from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.openapi import document, schema_name, schema_of
from maitred.sandbox.apiserver.schema.types import Body, Field, Scalar
from tests.sandbox.apiserver.schema.real import Real
from tests.sandbox.apiserver.schema.types_in_use import types_in_use


def kinds_by_path() -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {}
    for kind in BUILTIN:
        path = f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"
        found.setdefault(path, []).append(kind)
    return found


GROUPS = kinds_by_path()
OF_ANY_SHAPE = {
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
}
"""The real server has names for what the catalogue calls `any`."""

LEFT_OUT = {
    "description": "texts are not taken over",
    "default": "compared by itself: the catalogue has defaults that the real server does not tell",
    "enum": "the rules of a kind know which values there are",
    "x-kubernetes-unions": "nobody reads them",
    "x-kubernetes-group-version-kind": "the real server lists every group that takes DeleteOptions",
}
GRANULAR = {
    (
        "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
        "allocatedResourceStatuses",
    ): "all maps are, unless they say otherwise",
}


@pytest.fixture(scope="module")
def said(real: Real) -> dict[str, Body]:
    """The documents of the real server, by path."""
    return {path: real.ask("GET", f"/openapi/v3/{path}")[1] for path in GROUPS}


def test_every_type_of_the_catalogue_is_as_the_real_server_has_it(said: dict[str, Body]) -> None:
    real, ours = all_schemas(said), {schema_name(each): schema_of(each) for each in types_in_use().values()}
    differences = {
        f"{name}: {field}": (ours_of, real_of)
        for name in ours
        for field, ours_of, real_of in differing(name, ours[name], real[name])
    }
    assert differences == {}


def test_the_defaults_that_the_real_server_tells_are_in_the_catalogue(said: dict[str, Body]) -> None:
    real = all_schemas(said)
    told = {
        f"{name}.{field}": schema["default"]
        for name, type in types_in_use().items()
        for field, schema in real[schema_name(type)].get("properties", {}).items()
        if "default" in schema and schema["default"] not in beginnings(type.fields[field])
    }
    assert told == {}


@pytest.mark.parametrize("path", GROUPS)
def test_what_can_be_done_with_a_kind_is_where_the_real_server_has_it(
    path: str, said: dict[str, Body]
) -> None:
    for at, operations in document(GROUPS[path], "")["paths"].items():
        there = said[path]["paths"][at]
        for verb, ours in operations.items():
            if verb == "parameters":
                assert parameters(ours) <= parameters(there["parameters"])
                continue
            # The real server writes parameters that all operations on a path have only once.
            assert parameters(ours["parameters"]) <= parameters(
                there[verb].get("parameters", []) + there["parameters"]
            )
            for mark in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
                assert ours[mark] == there[verb][mark], (at, verb)


def all_schemas(documents: dict[str, Body]) -> Body:
    return {
        name: schema
        for each in documents.values()
        for name, schema in each["components"]["schemas"].items()
        if not name.endswith("List")
    }


def differing(name: str, ours: Body, real: Body) -> list[tuple[str, Any, Any]]:
    ours, real = plain(ours), plain(real)
    fields, real_fields = ours.pop("properties", {}), real.pop("properties", {})
    found = [("", ours, real)] if ours != real else []
    for field in sorted(fields.keys() | real_fields.keys()):
        mine, theirs = plain(fields.get(field)), plain(real_fields.get(field))
        if theirs and (name, field) in GRANULAR:
            assert theirs.pop("x-kubernetes-map-type") == "granular"
        if mine != theirs:
            found.append((field, mine, theirs))
    return found


def plain(schema: Any) -> Any:
    """Without what is left out, with `any` as we write it, and with references in one manner."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in LEFT_OUT}
    if "required" in kept:
        kept["required"] = set(kept["required"])
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = plain(kept[key])
    # Alone, or within `allOf` because something may stand beside it.
    (reference,) = [each.get("$ref") for each in kept.pop("allOf", [{}])]
    reference = kept.pop("$ref", reference)
    if reference is None:
        return kept
    name = reference.rpartition("/")[2]
    return {**kept, **({"type": "object"} if name in OF_ANY_SHAPE else {"$ref": name})}


def beginnings(field: Field) -> list[Any]:
    """What the real server may tell as a default: also what Go begins with where nothing is declared."""
    zero = EMPTY.get(field.type) if isinstance(field.type, Scalar) else {}
    return [field.default] if field.explicit else [field.default, zero]


EMPTY: dict[Scalar, Any] = {
    Scalar.STRING: "",
    Scalar.BOOL: False,
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.NUMBER: 0,
}


def parameters(described: list[Body]) -> set[tuple[str, str, str]]:
    return {(each["name"], each["in"], each["schema"]["type"]) for each in described}
