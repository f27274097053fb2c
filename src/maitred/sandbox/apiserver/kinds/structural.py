"""Schemas of custom kinds: the server must know the type of every field, and what its lists and maps are.

Checked is what this server needs of a schema, and what people get wrong. What a schema may not say in places
where it only restricts (`anyOf` and its like) is left to the real server.
"""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required, unsupported
from maitred.sandbox.apiserver.schema.patterns import BadPattern, compiled
from maitred.sandbox.apiserver.schema.types import Body

TYPES = ("array", "boolean", "integer", "number", "object", "string")
LIST_TYPES = ("atomic", "set", "map")
MAP_TYPES = ("atomic", "granular")
LIST, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
MAP = "x-kubernetes-map-type"
OPEN, EITHER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
JUNCTORS = ("anyOf", "allOf", "oneOf")


def check_schema(schema: Body, path: str) -> Iterator[FieldError]:
    if schema.get("type") != "object":
        yield invalid(f"{path}.type", schema.get("type", ""), "must be object at the root")
    yield from check_structure(schema, path)


def check_structure(schema: Body, path: str, *, restricts: bool = False) -> Iterator[FieldError]:
    """`restricts`: what is below `anyOf` and its like restricts values, and need not describe them."""
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        yield unsupported(f"{path}.type", kind, TYPES)
    elif not kind and not restricts and not schema.get(EITHER) and not schema.get(OPEN):
        yield required(f"{path}.type", "must not be empty")
    if not isinstance(schema.get("items", {}), dict):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    elif kind == "array" and "items" not in schema and not restricts:
        yield required(f"{path}.items", "must be specified")
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), dict):
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", why)
    if pattern := schema.get("pattern"):
        yield from check_pattern(pattern, f"{path}.pattern")
    yield from check_relations(schema, path)
    for child, here, below in parts(schema, path):
        yield from check_structure(child, here, restricts=restricts or below)


def parts(schema: Body, path: str) -> Iterator[tuple[Body, str, bool]]:
    """All schemas directly within this one, with their paths, and whether they only restrict it."""
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield schema[name], f"{path}.{name}", False
    for name, child in schema.get("properties", {}).items():
        yield child, f"{path}.properties[{name}]", False
    if "not" in schema:
        yield schema["not"], f"{path}.not", True
    for junctor in JUNCTORS:
        for index, nested in enumerate(schema.get(junctor, [])):
            yield nested, f"{path}.{junctor}[{index}]", True


def every_schema(schema: Body) -> Iterator[Body]:
    """This one, and all within it."""
    yield schema
    for child, _, _ in parts(schema, ""):
        yield from every_schema(child)


def check_pattern(pattern: str, path: str) -> Iterator[FieldError]:
    try:
        compiled(pattern)
    except BadPattern as bad:
        yield invalid(path, pattern, f"must be a valid regular expression, but isn't: {bad}")


def check_relations(schema: Body, path: str) -> Iterator[FieldError]:
    for name, known in ((MAP, MAP_TYPES), (LIST, LIST_TYPES)):
        if schema.get(name) is not None and schema[name] not in known:
            yield unsupported(f"{path}.{name}", schema[name], known)
    keys = schema.get(KEYS, [])
    if schema.get(LIST) != "map":
        if keys:
            yield required(f"{path}.{LIST}", f"must be map if {KEYS} is non-empty")
        return
    if not keys:
        yield required(f"{path}.{KEYS}", f"must not be empty if {LIST} is map")
    items = schema.get("items")
    properties = items.get("properties", {}) if isinstance(items, dict) else {}
    for key in keys:
        if properties.get(key, {"type": "object"}).get("type") in ("array", "object"):
            yield invalid(f"{path}.{KEYS}", keys, "entries must all be names of scalar item properties")
