"""The types and the rules of custom resources, from the schemas in their definitions."""

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
from maitred.sandbox.apiserver.schema.formats import has_format, is_known
from maitred.sandbox.apiserver.schema.gotext import quoted
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
_WIDTHS: Final = {int: "int64", float: "float64"}
"""What the server calls a value where a text of some format belongs."""
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
    told_once = {str(fault): fault for fault in _faults(body, schema, "")}
    return [*told_once.values(), *_repeated(body, schema, "")]


def _faults(value: Any, schema: Body, path: str) -> list[FieldError]:
    faults = [*_type_faults(value, schema, path)]
    if value is not None:
        faults += _junctor_faults(value, schema, path)
    match value:
        case str():
            faults += _text_faults(value, schema, path)
            faults += _format_faults(value, schema, path)
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
    given, format = _NAMES[value.__class__], _text_format(schema)
    if given in expected or (value is None and schema.get("nullable")):
        return []
    if format and not isinstance(value, str | list | None):
        return [_misformed(path, format, _WIDTHS.get(value.__class__, ""))]
    # The server takes a list for a text that has a format, and so do we.
    if expected == [None] or (format and isinstance(value, list) and expected == ["string"]):
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
    if pattern and not matches(pattern, text):
        return [invalid(path, text, f"{path} in body should match '{pattern}'")]
    return []


def _format_faults(text: str, schema: Body, path: str) -> list[FieldError]:
    format = _text_format(schema)
    return [_misformed(path, format, text)] if format and not has_format(text, format) else []


def _text_format(schema: Body) -> str:
    format, type = schema.get("format", ""), schema.get("type", "")
    return format if type in ("", "string") and is_known(format, type) else ""


def _misformed(path: str, format: str, shown: str) -> FieldError:
    detail = f"{path} in body must be of type {format}: {quoted(shown)}"
    return FieldError(Fault.TYPE_INVALID, path, shown, detail)


def _junctor_faults(value: Any, schema: Body, path: str) -> list[FieldError]:
    """What is said of the value by anyOf, oneOf, allOf and not."""
    faults: list[FieldError] = []
    tried = [_faults(value, each, path) for each in schema.get("anyOf", ())]
    if tried and all(tried):
        faults.append(_misjoined(path, "must validate at least one schema (anyOf)"))
        faults += _nearest(value, schema["anyOf"], tried)
    tried = [_faults(value, each, path) for each in schema.get("oneOf", ())]
    valid = sum(not each for each in tried)
    if tried and valid != 1:
        found = f"Found {valid} valid alternatives" if valid else "Found none valid"
        faults.append(_misjoined(path, f"must validate one and only one schema (oneOf). {found}"))
        faults += [] if valid else _nearest(value, schema["oneOf"], tried)
    tried = [_faults(value, each, path) for each in schema.get("allOf", ())]
    if any(tried):
        none = ". None validated" if all(tried) else ""
        faults += [fault for each in tried for fault in each]
        faults.append(_misjoined(path, f"must validate all the schemas (allOf){none}"))
    if "not" in schema and not _faults(value, schema["not"], path):
        faults.append(_misjoined(path, "must not validate the schema (not)"))
    return faults


def _misjoined(path: str, words: str) -> FieldError:
    return _of_no_field(f"{quoted(path)} {words}")


def _of_no_field(words: str) -> FieldError:
    return invalid("<nil>", "", words)


def _nearest(value: Any, schemas: list[Body], tried: list[list[FieldError]]) -> list[FieldError]:
    """The faults in the sight of the schema that has looked at most of the value."""
    looks = [_looks(value, each) for each in schemas]
    return tried[looks.index(max(looks))]


def _looks(value: Any, schema: Body) -> int:
    """How many parts of the value have a rule in this schema."""
    if isinstance(value, dict):
        return 1 + sum(_looks(each, rules) for _, each, rules in _members(value, schema))
    if isinstance(value, list) and "items" in schema:
        return 1 + sum(_looks(each, schema["items"]) for each in value)
    return 1


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
    return [_of_no_field(f"Checked value must be of type integer {form} in {path}")]


def _limit(value: float, limit: float) -> float:
    """The server compares integers with integers."""
    return int(limit) if isinstance(value, int) else limit


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _list_faults(items: list[Any], schema: Body, path: str) -> list[FieldError]:
    rules = schema.get("items") or {}
    faults: list[FieldError] = []
    for place, item in enumerate(items if rules else ()):
        faults += _faults(item, rules, f"{path}[{place}]")
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
    """What there are rules for in an object, with the schema of each."""
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    rest = others if isinstance(others, dict) else None
    found = [(name, body[name], known.get(name, rest)) for name in sorted(body)]
    return [(name, value, rules) for name, value, rules in found if rules is not None]


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
