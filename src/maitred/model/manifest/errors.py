"""Refusals in words that a person can act on: which file, which object, which field, and what is wrong."""

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import inspect

Token = str | int
"""A step of a path: the name of a field, a position in a list, or `ANY_KEY`."""

ANY_KEY = "..."

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MESSAGE = re.compile(r"(?s)(.*?)(?: - at (?:`key` in )?`\$(.*)`)?")
_MISMATCH = re.compile(r"Expected `(.+)`, got `(.+)`")
_BOUND = re.compile(r"Expected `.+` (>=|<=|>|<) (-?\d+(?:\.\d*[1-9])?)(?:\.0)?")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.+)`")
_ENUM = re.compile(r"Invalid enum value (.*)", re.DOTALL)

_NOUNS = {
    "datetime": "a time such as 2026-01-31T12:00:00Z",
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_SCALARS = ("int", "float", "bool")


class InputError(Exception):
    """Input that is not valid. Empty parts are left out of the message."""

    def __init__(self, source: str, object: str, field: str, what: str) -> None:
        super().__init__(source, object, field, what)
        self.source, self.object, self.field, self.what = source, object, field, what

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.object, self.field, self.what) if part)


class FieldError(Exception):
    """What a check found in one object; the reader adds which object and where it came from."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(field, what)
        self.field, self.what = field, what


def field_error(error: msgspec.ValidationError, value: object, wanted: type) -> FieldError:
    """A type error of msgspec, in words. `value` is what it was decoding into `wanted`."""
    match = _MESSAGE.fullmatch(str(error))
    message, path = (match[1], match[2] or "") if match else (str(error), "")
    tokens = [int(index) if index.isdigit() else name or index for name, index in _STEP.findall(path)]
    if found := _FIELD.fullmatch(message):
        name, missing = found[2], "missing" in found[1]
        what = "is required" if missing else unknown_field(name, wanted, tokens)
        tokens = named_keys(value, tokens, lambda v: isinstance(v, dict) and (name in v) != missing)
        return FieldError(join([*tokens, name]), what)
    mismatch = _MISMATCH.fullmatch(message)
    tokens = named_keys(value, tokens, lambda v: mismatch is None or type_name(v) == mismatch[2])
    if mismatch:
        return FieldError(join(tokens), mismatch_words(mismatch[1], mismatch[2]))
    given = shown(value_at(value, tokens))
    if found := _BOUND.fullmatch(message):
        bound = f"must be {_BOUNDS[found[1]]} {found[2]}"
        return FieldError(join(tokens), f"{bound}, not {given}" if given else bound)
    if found := _ENUM.fullmatch(message):
        known = choices(wanted, tokens)
        return FieldError(join(tokens), f"{found[1]} is not {'one of ' * (len(known) > 1)}{', '.join(known)}")
    if "datetime" in message:
        return FieldError(join(tokens), f"{given or 'this'} is not a time such as 2026-01-31T12:00:00Z")
    return FieldError(join(tokens), message[:1].lower() + message[1:].replace("`", ""))


def mismatch_words(expected: str, got: str) -> str:
    names = [name for name in expected.split(" | ") if name != "null"]
    hint = "; put it in quotes" if names == ["str"] and got in _SCALARS else ""
    nouns = [noun(name) for name in names if name != "int" or "float" not in names]
    given = "a boolean" if got == "bool" else noun(got)
    return f"expected {' or '.join(nouns)}, got {given}{hint}"


def noun(type_name: str) -> str:
    return _NOUNS.get(type_name, type_name)


def type_name(value: object) -> str:
    """The name that msgspec gives to the type of a decoded value."""
    names = {dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def unknown_field(name: str, wanted: type, tokens: list[Token]) -> str:
    structs = [found for found in types_at(wanted, tokens) if isinstance(found, inspect.StructType)]
    known = [field.encode_name for struct in structs for field in struct.fields]
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]}?" if close else f"the fields here are {', '.join(known)}"
    return f"there is no such field; {hint}"


def choices(wanted: type, tokens: list[Token]) -> list[str]:
    found = [t for t in types_at(wanted, tokens) if isinstance(t, inspect.LiteralType)]
    return [str(value) for literal in found for value in literal.values if value]


def types_at(wanted: type, tokens: list[Token]) -> list[inspect.Type]:
    """The types that a value at this path may have."""
    types = list(alternatives(inspect.type_info(wanted)))
    for token in tokens:
        types = [inner for t in types for s in step(t, token) for inner in alternatives(s)]
    return types


def alternatives(found: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(found, inspect.UnionType):
        for inner in found.types:
            yield from alternatives(inner)
    elif isinstance(found, inspect.Metadata):
        yield from alternatives(found.type)
    else:
        yield found


def step(found: inspect.Type, token: Token) -> Iterator[inspect.Type]:
    match found:
        case inspect.StructType():
            yield from (field.type for field in found.fields if field.encode_name == token)
        case inspect.VarTupleType() | inspect.ListType():
            yield found.item_type
        case inspect.DictType():
            yield found.value_type


def named_keys(value: object, tokens: list[Token], bad: Callable[[object], bool]) -> list[Token]:
    """The path with the keys that are at fault in place of `ANY_KEY`, where msgspec does not say which."""
    return next(fitting(value, tokens, bad), [token for token in tokens if token != ANY_KEY])


def fitting(value: Any, tokens: list[Token], bad: Callable[[object], bool]) -> Iterator[list[Token]]:
    if not tokens:
        if bad(value):
            yield []
        return
    first, rest = tokens[0], tokens[1:]
    for key in list(value) if first == ANY_KEY and isinstance(value, dict) else [first]:
        try:
            inner = value[key]
        except (LookupError, TypeError):
            continue
        yield from ([key, *found] for found in fitting(inner, rest, bad))


def value_at(value: Any, tokens: list[Token]) -> object:
    for token in tokens:
        try:
            value = value[token]
        except (LookupError, TypeError):
            return None
    return value


def shown(value: object) -> str:
    """A scalar as it was given, cut to a length that fits a message."""
    text = repr(value) if isinstance(value, str | int | float) else ""
    return text if len(text) <= 60 else f"{text[:57]}..."


def join(tokens: list[Token]) -> str:
    text = "".join(f"[{token}]" if isinstance(token, int) else f".{token}" for token in tokens)
    return text.removeprefix(".")
