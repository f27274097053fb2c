"""The steps of a path as FieldsV1 writes them.

`f:name` is a field, `k:{"name":"a"}` the item of a list with these keys, `v:"x"` the item that is this value.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from maitred.sandbox.apiserver.schema.types import UNSET, Body, ListOf, Relation, Scalar, Struct, Type

FIELD, KEYS, VALUE, INDEX = "f:", "k:", "v:", "i:"
ITSELF = "."
"""Not a step: it says that the path so far is meant too, and not only what is below it."""
ZEROS: Final[dict[Scalar, Any]] = {
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.NUMBER: 0,
    Scalar.BOOL: False,
    Scalar.STRING: "",
    Scalar.BYTES: "",
}
"""What scalars are when nobody has said anything."""
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.decode
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""As Go writes JSON. The text must be the same, for it is what names the step."""


class Nameless(Exception):
    """An item that has no step: it says nothing that tells it apart."""


def item_step(item: Any, type: ListOf) -> str:
    if type.relation is Relation.SET:
        return value_step(item)
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise Nameless(f"associative list with keys may not have {what}")
    keys = {name: item.get(name, default) for name, default in key_defaults(type)}
    keys = {name: value for name, value in keys.items() if value is not UNSET}
    if not keys:
        names = " ".join(f'"{name}"' for name in type.keys)
        raise Nameless(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return keys_step(keys)


def value_step(value: Any) -> str:
    if isinstance(value, dict):
        raise Nameless("associative list without keys has an element that's a map type")
    if isinstance(value, list):
        raise Nameless("not supported: associative list with lists as elements")
    if value is None:
        raise Nameless("associative list without keys has an element that's an explicit null")
    return VALUE + json_text(value)


def keys_step(keys: Body) -> str:
    """`keys` are in the order of their names."""
    return f"{KEYS}{{{','.join(f'{json_text(name)}:{json_text(value)}' for name, value in keys.items())}}}"


@lru_cache(maxsize=1024)
def key_defaults(type: ListOf) -> tuple[tuple[str, Any], ...]:
    """The keys by name, each with what it is where an item does not say."""
    return tuple((name, key_default(type.item, name)) for name in sorted(type.keys))


def key_default(type: Type, name: str) -> Any:
    field = type.fields.get(name) if isinstance(type, Struct) else None
    if field is None or not isinstance(field.type, Scalar):
        return UNSET
    # What Go always writes is never missing for Go: it is empty.
    is_always_there = field.kept and not field.explicit
    return ZEROS.get(field.type, UNSET) if field.default is UNSET and is_always_there else field.default


def json_text(value: Any) -> str:
    return _encode(value).decode().translate(_ESCAPED)


def canonical(step: str) -> str | None:
    """The step as this server writes it; None if its kind is not known, and ValueError if it is no step."""
    kind, rest = step[:2], step[2:]
    if kind[1:] != ":":
        raise ValueError(f"{step!r} is not a step of a path")
    if kind == FIELD:
        return step
    if kind == KEYS:
        keys = _decode(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"{step!r} is not a step of a path")
        return keys_step(dict(sorted(keys.items())))
    if kind == VALUE:
        return VALUE + json_text(_decode(rest))
    return INDEX + str(int(rest)) if kind == INDEX else None


@lru_cache(maxsize=4096)
def rank(step: str) -> tuple[Any, ...]:
    """The order of steps on the wire and in messages: fields by name, then items by what tells them apart."""
    kind, rest = step[:2], step[2:]
    if kind == FIELD:
        return (1, rest)
    if kind == KEYS:
        return (2, tuple((name, value_rank(value)) for name, value in _decode(rest).items()))
    if kind == VALUE:
        return (3, value_rank(_decode(rest)))
    return (4, int(rest)) if kind == INDEX else (0,)


def value_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, json_text(value))


def shown(step: str) -> str:
    """The step as messages have it: `.spec`, `[name="a"]`, `[="x"]`."""
    kind, rest = step[:2], step[2:]
    if kind == FIELD:
        return f".{rest}"
    if kind == KEYS:
        return f"[{','.join(f'{name}={quoted(value)}' for name, value in _decode(rest).items())}]"
    return f"[={quoted(_decode(rest))}]" if kind == VALUE else f"[{rest}]"


def quoted(value: Any) -> str:
    return _encode(value).decode()
