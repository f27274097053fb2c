"""Schemas of custom kinds: the server must know the type of every field, and what its lists and maps are."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required, unsupported
from maitred.sandbox.apiserver.schema.patterns import BadPattern, compiled
from maitred.sandbox.apiserver.schema.types import Body

TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
MAP_TYPES = ("atomic", "granular")
LIST, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP = "x-kubernetes-map-type"
OPEN, EITHER, EMBEDDED = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)
UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
JUNCTORS = ("anyOf", "allOf", "oneOf")
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]

EMPTY, UNDEFINED, FALSE = "empty", "undefined", "false"
NOT_NESTED = {
    "type": EMPTY,
    "additionalProperties": UNDEFINED,
    "default": UNDEFINED,
    "title": EMPTY,
    "description": EMPTY,
    "nullable": FALSE,
    OPEN: FALSE,
    EMBEDDED: FALSE,
    EITHER: FALSE,
    KEYS: EMPTY,
    LIST: UNDEFINED,
    MAP: UNDEFINED,
}
"""What anyOf and its like may not say: they restrict values, and do not describe them."""
NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def check_schema(schema: Body, path: str) -> list[FieldError]:
    structure = sorted(check_structure(schema, path, "root"), key=str)
    return [*structure, *check_openapi(schema, path)]


# -- structure ---------------------------------------------------------------------------------------------


def check_structure(schema: Body, path: str, level: str) -> Iterator[FieldError]:
    if schema.get("type") == "array" and "items" not in schema:
        yield required(f"{path}.items", "must be specified")
    for child, here, below in children(schema, path):
        yield from check_structure(child, here, below)
    if "additionalProperties" in schema and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    for name in (OPEN, EMBEDDED):
        if schema.get(EITHER) and schema.get(name):
            yield invalid(f"{path}.{name}", True, f"must be false if {EITHER} is true")
    yield from check_restrictions(schema, path)
    yield from check_type(schema, path, level)
    if level == "root" or schema.get(EMBEDDED):
        yield from check_resource(schema, path, is_root=level == "root")


def children(schema: Body, path: str) -> Iterator[tuple[Body, str, str]]:
    """With their paths and levels."""
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}.items", "item"
    for name, child in schema.get("properties", {}).items():
        yield child, f"{path}.properties[{name}]", "field"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties", "field"


def parts(schema: Body, path: str) -> Iterator[tuple[Body, str]]:
    """All schemas directly within this one, those that only restrict it too."""
    for child, here, _ in children(schema, path):
        yield child, here
    if "not" in schema:
        yield schema["not"], f"{path}.not"
    for junctor in JUNCTORS:
        for index, nested in enumerate(schema.get(junctor, [])):
            yield nested, f"{path}.{junctor}[{index}]"


def every_schema(schema: Body) -> Iterator[Body]:
    """This one, and all within it."""
    yield schema
    for child, _ in parts(schema, ""):
        yield from every_schema(child)


def check_type(schema: Body, path: str, level: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if schema.get(EMBEDDED) and kind != "object":
        why = f"must be object if {EMBEDDED} is true"
        yield invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)
    elif not kind and not schema.get(EITHER) and not schema.get(OPEN):
        yield required(f"{path}.type", NO_TYPE[level])
    if level == "root" and kind not in ("", "object"):
        yield invalid(f"{path}.type", kind, "must be object at the root")


def check_resource(schema: Body, path: str, *, is_root: bool) -> Iterator[FieldError]:
    """What every object has is known already."""
    properties = schema.get("properties", {})
    for name, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        found = properties.get(name, {"type": expected}).get("type", "")
        if found != expected:
            yield invalid(f"{path}.properties[{name}].type", found, f"must be {expected}")
    metadata = properties.get("metadata", {})
    if is_root and (set(metadata) - {"type", "properties"} or not only_names(metadata.get("properties", {}))):
        why = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield forbidden(f"{path}.properties[metadata]", why)


def only_names(properties: Body) -> bool:
    return set(properties) <= {"name", "generateName"}


def check_restrictions(schema: Body, path: str) -> Iterator[FieldError]:
    for junctor in JUNCTORS:
        if junctor == "anyOf" and schema.get(junctor) == INT_OR_STRING:
            continue
        for index, nested in enumerate(schema.get(junctor, [])):
            yield from check_nested(nested, f"{path}.{junctor}[{index}]")
    if "not" in schema:
        yield from check_nested(schema["not"], f"{path}.not")
    if schema.get("pattern"):
        yield from check_pattern(schema["pattern"], f"{path}.pattern")


def check_pattern(pattern: str, path: str) -> Iterator[FieldError]:
    try:
        compiled(pattern)
    except BadPattern as bad:
        yield invalid(path, pattern, f"must be a valid regular expression, but isn't: {bad}")


def check_nested(schema: Body, path: str) -> Iterator[FieldError]:
    yield from check_restrictions(schema, path)
    for child, here, _ in children(schema, path):
        if here != f"{path}.additionalProperties":
            yield from check_nested(child, here)
    for name, state in NOT_NESTED.items():
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"must be {state} to be structural")
    if "metadata" in schema.get("properties", {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


# -- OpenAPI -----------------------------------------------------------------------------------------------


def check_openapi(schema: Body, path: str) -> Iterator[FieldError]:
    yield from check_words(schema, path)
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties", True) is not True:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", why)
    for child, here in parts(schema, path):
        yield from check_openapi(child, here)
    if schema.get(OPEN) is False:
        yield invalid(f"{path}.{OPEN}", False, "must be true or undefined")
    yield from check_relation(schema, path, MAP, "object", MAP_TYPES)
    yield from check_relation(schema, path, LIST, "array", LIST_TYPES)
    yield from check_keys(schema, path)


def check_words(schema: Body, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        yield unsupported(f"{path}.type", kind, TYPES)
    for name in UNSUPPORTED:
        if name in schema:
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")


def check_relation(
    schema: Body, path: str, name: str, expected: str, known: tuple[str, ...]
) -> Iterator[FieldError]:
    relation, kind = schema.get(name), schema.get("type", "")
    if relation is None:
        return
    if kind != expected:
        why = f"must be {expected} if {name} is specified"
        yield invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)
    if relation not in known:
        yield unsupported(f"{path}.{name}", relation, known)


def check_keys(schema: Body, path: str) -> Iterator[FieldError]:
    relation, keys = schema.get(LIST), schema.get(KEYS, [])
    if keys and relation != "map":
        why = f"must be map if {KEYS} is non-empty"
        yield invalid(f"{path}.{LIST}", relation, why) if relation else required(f"{path}.{LIST}", why)
    if relation != "map":
        return
    if not keys:
        yield required(f"{path}.{KEYS}", f"must not be empty if {LIST} is map")
    items = schema.get("items")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {LIST} is map")
    elif isinstance(items, dict) and items.get("type") != "object":
        why = f"must be object if parent array's {LIST} is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), why)
    elif isinstance(items, dict):
        yield from check_each_key(items, path, keys)


def check_each_key(items: Body, path: str, keys: list[str]) -> Iterator[FieldError]:
    properties, seen = items.get("properties", {}), set[str]()
    for key in keys:
        if key not in properties:
            yield invalid(f"{path}.{KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = f"must be a scalar type if parent array's {LIST} is map"
            yield invalid(f"{path}.items.properties[{key}].type", "object", why)
        if key in seen:
            yield invalid(f"{path}.{KEYS}", keys, "must not contain duplicate entries")
        seen.add(key)
    for key in keys:
        if key in properties and key not in items.get("required", []) and "default" not in properties[key]:
            why = "so it must have a default or be a required property"
            here = f"{path}.items.properties[{key}].default"
            yield required(here, f"this property is in {KEYS}, {why}")
