"""The types and the rules of custom resources, from the schemas in their definitions."""

import re
from typing import Any, Final

import msgspec

from maitred.sandbox.apiserver.kinds.fielderrors import (
    Fault,
    FieldError,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.schema.catalogue import struct
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
_NAMES: Final = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
"""What JSON Schema calls a value."""
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
        required=required,
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
    """What of the body its schema does not allow, in the words of the API server."""
    return [*_faults(body, schema, ""), *_repeated(body, schema, "")]


def _faults(value: Any, schema: Body, path: str) -> list[FieldError]:
    faults = [*_type_faults(value, schema, path)]
    match value:
        case str():
            faults += _text_faults(value, schema, path)
        case bool():
            pass
        case int() | float():
            faults += _number_faults(value, schema, path)
        case list():
            faults += _list_faults(value, schema, path)
    faults += _choice_faults(value, schema, path)
    if isinstance(value, dict):
        faults += _object_faults(value, schema, path)
    return faults


def _type_faults(value: Any, schema: Body, path: str) -> list[FieldError]:
    expected = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type")]
    given = _NAMES[value.__class__]
    if expected == [None] or given in expected or (value is None and schema.get("nullable")):
        return []
    if (given == "integer" and "number" in expected) or (
        "integer" in expected and given == "number" and value.is_integer()
    ):
        return []
    names = ",".join(str(name) for name in expected)
    detail = f'{path} in body must be of type {names}: "{given}"'
    return [FieldError(Fault.TYPE_INVALID, path, given, detail)]


def _text_faults(text: str, schema: Body, path: str) -> list[FieldError]:
    """The first of them: the server looks no further."""
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None and len(text) > longest:
        return [too_long(path, longest)]
    if shortest is not None and len(text) < shortest:
        return [invalid(path, text, f"{path} in body should be at least {shortest} chars long")]
    if pattern and not _matches(pattern, text):
        return [invalid(path, text, f"{path} in body should match '{pattern}'")]
    return []


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        # Go knows some that Python does not; a definition with a pattern that Go does not know is refused.
        return True


def _number_faults(value: float, schema: Body, path: str) -> list[FieldError]:
    faults = _range_faults(value, schema, path)
    factor, least, most = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if factor and value % factor:
        faults.append(invalid(path, value, f"{path} in body should be a multiple of {_shown(factor)}"))
    if least is not None:
        least, strictly = _limit(value, least), bool(schema.get("exclusiveMinimum"))
        if value < least or (strictly and value == least):
            words = "greater than" if strictly else "greater than or equal to"
            faults.append(invalid(path, value, f"{path} in body should be {words} {_shown(least)}"))
    if most is not None:
        most, strictly = _limit(value, most), bool(schema.get("exclusiveMaximum"))
        if value > most or (strictly and value == most):
            words = "less than" if strictly else "less than or equal to"
            faults.append(invalid(path, value, f"{path} in body should be {words} {_shown(most)}"))
    return faults


def _range_faults(value: float, schema: Body, path: str) -> list[FieldError]:
    if schema.get("type") != "integer":
        return []
    format = schema.get("format", "")
    end = 2**31 if format == "int32" else 2**63
    if value == int(value) and -end <= value < end:
        return []
    form = f"with format {format}" if format else "(default format)"
    # The server says this of no field.
    return [invalid("<nil>", "", f"Checked value must be of type integer {form} in {path}")]


def _limit(value: float, limit: float) -> float:
    """The server compares integers with integers."""
    return int(limit) if isinstance(value, int) else limit


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _list_faults(items: list[Any], schema: Body, path: str) -> list[FieldError]:
    rules = schema.get("items") or {}
    faults = [fault for place, item in enumerate(items) for fault in _faults(item, rules, f"{path}[{place}]")]
    least, most, size = schema.get("minItems"), schema.get("maxItems"), len(items)
    if least is not None and size < least:
        faults.append(invalid(path, size, f"{path} in body should have at least {least} items"))
    if most is not None and size > most:
        faults.append(too_many(path, size, most))
    return faults


def _choice_faults(value: Any, schema: Body, path: str) -> list[FieldError]:
    choices = schema.get("enum")
    if not choices or value in choices:
        return []
    texts = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in choices]
    return [unsupported(path, value, texts)]


def _object_faults(body: Body, schema: Body, path: str) -> list[FieldError]:
    faults: list[FieldError] = []
    least, most, size = schema.get("minProperties"), schema.get("maxProperties"), len(body)
    if least is not None and size < least:
        faults.append(invalid(path, size, f"{path} in body should have at least {least} properties"))
    if most is not None and size > most:
        faults.append(too_many(path, size, most))
    for name, value, rules in _members(body, schema):
        faults += _faults(value, rules, _child(path, name))
    missing = [name for name in schema.get("required", []) if name not in body]
    return faults + [required(_child(path, name)) for name in missing]


def _members(body: Body, schema: Body) -> list[tuple[str, Any, Body]]:
    """What is in an object, with the schema of each."""
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    rest = others if isinstance(others, dict) else {}
    return [(name, body[name], known.get(name, rest)) for name in sorted(body)]


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _repeated(value: Any, schema: Body, path: str) -> list[FieldError]:
    """Items of sets and of lists with keys that are there twice."""
    within: list[list[FieldError]] = []
    if isinstance(value, dict):
        within = [_repeated(each, rules, _child(path, name)) for name, each, rules in _members(value, schema)]
    elif isinstance(value, list):
        rules = schema.get("items") or {}
        items = [_repeated(item, rules, f"{path}[{place}]") for place, item in enumerate(value)]
        within = [_twice(value, schema, path), *items]
    return [fault for faults in within for fault in faults]


def _twice(items: list[Any], schema: Body, path: str) -> list[FieldError]:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            marks = items
        case "map":
            marks = [_keys_of(item, schema.get("x-kubernetes-list-map-keys", [])) for item in items]
        case _:
            return []
    seen: set[bytes] = set()
    faults = []
    for place, mark in enumerate(marks):
        text = msgspec.json.encode(mark, order="deterministic")
        if text in seen:
            faults.append(duplicate(f"{path}[{place}]", mark))
        seen.add(text)
    return faults


def _keys_of(item: Any, keys: list[str]) -> Any:
    return {key: item[key] for key in keys if key in item} if isinstance(item, dict) else item
