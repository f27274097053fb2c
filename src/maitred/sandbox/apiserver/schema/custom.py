"""The types and the rules of custom resources, from the schemas in their definitions."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    FieldFault,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.patterns import matches
from maitred.sandbox.apiserver.schema.types import (
    UNSET,
    Body,
    Field,
    ListOf,
    MapOf,
    Relation,
    Scalar,
    Struct,
    Type,
)

_INTEGERS: Final = {"int32": Scalar.INT32, "int64": Scalar.INT64}
_CLASSES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_SCALARS: Final = {"string": Scalar.STRING, "number": Scalar.NUMBER, "boolean": Scalar.BOOL}


def from_openapi(schema: Body) -> Struct:
    """The type of a custom resource whose definition has this schema."""
    type = _struct(schema)
    type.fields.update(_of_every_object())
    return type


def _of_every_object() -> dict[str, Field]:
    return {
        "apiVersion": Field(Scalar.STRING),
        "kind": Field(Scalar.STRING),
        "metadata": Field(struct("meta.v1.ObjectMeta"), kept=True),
    }


def _type(schema: Body) -> Type:
    if schema.get("x-kubernetes-int-or-string"):
        return Scalar.INT_OR_STRING
    match schema.get("type"):
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return MapOf(_type(schema["additionalProperties"]), atomic=_is_atomic(schema))
        case "object":
            return _struct(schema)
        case "array":
            return _list(schema)
        case "integer":
            return _INTEGERS.get(schema.get("format", ""), Scalar.INT64)
        case kind:
            return _SCALARS.get(str(kind), Scalar.ANY)


def _struct(schema: Body) -> Struct:
    required = schema.get("required", [])
    fields = {name: _field(each, name in required) for name, each in schema.get("properties", {}).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        fields.update(_of_every_object())
    return Struct(
        "",
        fields,
        atomic=_is_atomic(schema),
        preserves_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        or schema.get("additionalProperties") is True,
        custom=True,
    )


def _field(schema: Body, required: bool) -> Field:
    return Field(
        _type(schema),
        default=schema.get("default", UNSET),
        listed=required,
        explicit=True,
        nullable=bool(schema.get("nullable")),
    )


def _list(schema: Body) -> ListOf:
    relation = Relation(schema.get("x-kubernetes-list-type", "atomic"))
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    return ListOf(_type(schema.get("items", {})), relation, keys)


def _is_atomic(schema: Body) -> bool:
    return schema.get("x-kubernetes-map-type") == "atomic"


# Rules


def violations(body: Body, schema: Body) -> list[FieldError]:
    """What of the body its schema does not allow."""
    return list({str(fault): fault for fault in _faults(body, schema, "")}.values())


def _faults(value: Any, schema: Body, path: str) -> Iterator[FieldError]:
    if value is None and (schema.get("nullable") or "type" not in schema):
        return
    expected = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (schema.get("type"),)
    if expected != (None,) and not any(_is_of(value, name) for name in expected):
        words = ",".join(str(name) for name in expected)
        yield FieldError(FieldFault.TYPE_INVALID, path, value, f"must be of type {words}")
        return
    if schema.get("enum") and value not in schema["enum"]:
        yield unsupported(path, value, [_shown(each) for each in schema["enum"]])
    yield from _junctor_faults(value, schema, path)
    match value:
        case str():
            yield from _text_faults(value, schema, path)
        case bool():
            pass
        case int() | float():
            yield from _number_faults(value, schema, path)
        case list():
            yield from _list_faults(value, schema, path)
        case dict():
            yield from _object_faults(value, schema, path)


def _is_of(value: Any, name: str | None) -> bool:
    if name == "integer" and value.__class__ is float:
        return bool(value.is_integer())
    return value.__class__ in _CLASSES.get(str(name), ())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text_faults(text: str, schema: Body, path: str) -> Iterator[FieldError]:
    pattern = schema.get("pattern")
    if len(text) > schema.get("maxLength", len(text)):
        yield too_long(path, schema["maxLength"])
    elif len(text) < schema.get("minLength", 0):
        yield invalid(path, text, f"should be at least {schema['minLength']} chars long")
    elif pattern and not matches(pattern, text):
        yield invalid(path, text, f"should match '{pattern}'")


def _number_faults(value: float, schema: Body, path: str) -> Iterator[FieldError]:
    least, most, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if schema.get("type") == "integer":
        end = 2**31 if schema.get("format") == "int32" else 2**63
        if not -end <= value < end:
            yield invalid(path, value, f"must be of type integer with format {schema.get('format', 'int64')}")
    if factor and value % factor:
        yield invalid(path, value, f"should be a multiple of {factor}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        yield invalid(path, value, f"should be greater than{_or_equal(schema, 'exclusiveMinimum')} {least}")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        yield invalid(path, value, f"should be less than{_or_equal(schema, 'exclusiveMaximum')} {most}")


def _or_equal(schema: Body, exclusive: str) -> str:
    return "" if schema.get(exclusive) else " or equal to"


def _list_faults(items: list[Any], schema: Body, path: str) -> Iterator[FieldError]:
    if len(items) < schema.get("minItems", 0):
        yield invalid(path, len(items), f"should have at least {schema['minItems']} items")
    if len(items) > schema.get("maxItems", len(items)):
        yield too_many(path, len(items), schema["maxItems"])
    relation, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", [])
    seen = set[bytes]()
    for place, item in enumerate(items):
        yield from _faults(item, schema.get("items") or {}, f"{path}[{place}]")
        if relation not in ("set", "map"):
            continue
        is_keyed = relation == "map" and isinstance(item, dict)
        mark = {key: item[key] for key in keys if key in item} if is_keyed else item
        text = msgspec.json.encode(mark, order="deterministic")
        if text in seen:
            yield duplicate(f"{path}[{place}]", mark)
        seen.add(text)


def _object_faults(body: Body, schema: Body, path: str) -> Iterator[FieldError]:
    if len(body) < schema.get("minProperties", 0):
        yield invalid(path, len(body), f"should have at least {schema['minProperties']} properties")
    if len(body) > schema.get("maxProperties", len(body)):
        yield too_many(path, len(body), schema["maxProperties"])
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in sorted(body):
        rules = known.get(name, others if isinstance(others, dict) else None)
        if rules is not None:
            yield from _faults(body[name], rules, _child(path, name))
    for name in schema.get("required", []):
        if name not in body:
            yield required(_child(path, name))


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _junctor_faults(value: Any, schema: Body, path: str) -> Iterator[FieldError]:
    """What is said of the value by anyOf, oneOf, allOf and not."""
    fitting = {
        name: [not any(_faults(value, each, path)) for each in schema.get(name, ())]
        for name in ("anyOf", "oneOf", "allOf")
    }
    if fitting["anyOf"] and not any(fitting["anyOf"]):
        yield invalid(path, value, "must validate at least one schema (anyOf)")
    if fitting["oneOf"] and sum(fitting["oneOf"]) != 1:
        yield invalid(path, value, "must validate one and only one schema (oneOf)")
    if not all(fitting["allOf"]):
        yield invalid(path, value, "must validate all the schemas (allOf)")
    if "not" in schema and not any(_faults(value, schema["not"], path)):
        yield invalid(path, value, "must not validate the schema (not)")
