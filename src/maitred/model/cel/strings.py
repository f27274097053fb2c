"""Functions on strings: CEL's string extension as Kubernetes has it, regular expressions, conversions.

Positions count characters, as in cel-go. Patterns are RE2's, the same that Go takes.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from maitred.model.cel.values import (
    LARGEST_INT,
    LARGEST_UINT,
    SMALLEST_INT,
    EvaluationError,
    Unsigned,
    no_overload,
)

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_SPACES = (
    *range(9, 14),
    32,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)
_WHITE_SPACE = "".join(map(chr, _SPACES))
"""What Go takes for white space."""


@lru_cache(maxsize=1024)
def pattern(text: str) -> Any:
    """The compiled pattern. Raises EvaluationError."""
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        raise EvaluationError(f"{text!r} is no regular expression: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What RE2 says, which it gives as bytes."""
    text = error.args[0] if error.args else ""
    return text.decode() if isinstance(text, bytes) else str(text)


def matches(text: str, expression: str) -> bool:
    return pattern(expression).search(text) is not None


def find(text: str, expression: str) -> str:
    found = pattern(expression).search(text)
    return found[0] if found else ""


def find_all(text: str, expression: str, most: int = -1) -> list[str]:
    found = [match[0] for match in pattern(expression).finditer(text)]
    return found if most < 0 else found[:most]


def _position(text: str, index: int, last: int) -> int:
    if not 0 <= index <= last:
        raise EvaluationError(f"index out of range: {index}")
    return index


def _char_at(text: str, index: int) -> str:
    return text[_position(text, index, len(text)) :][:1]


def _from(start: int) -> int:
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return start


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return min(_from(start), len(text))
    return text.find(part, _from(start))


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not part:
        return min(_from(start), len(text))
    return text.rfind(part, 0, start + len(part)) if _from(start) < len(text) else -1


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if start > stop:
        raise EvaluationError(f"invalid substring range: {start} to {stop}")
    return text[_position(text, start, len(text)) : _position(text, stop, len(text))]


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most >= len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]]


def replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most if most >= 0 else -1)


def replacing_costs(text: Any, old: Any, new: Any, *_: Any) -> int:
    if not isinstance(text, str) or not isinstance(old, str) or not isinstance(new, str):
        return 1
    grown = text.count(old) * max(0, len(new) - len(old)) if len(new) > len(old) else 0
    return -(-(2 * len(text) + grown) // 10)


def join(parts: list[Any], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise no_overload("join", parts)
    return separator.join(parts)


def joining_costs(parts: Any, separator: Any = "") -> int:
    if not isinstance(parts, list) or not isinstance(separator, str):
        return 1
    length = sum(len(part) for part in parts if isinstance(part, str)) + len(separator) * len(parts)
    return -(-2 * length // 10)


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(c) if c.isascii() else c for c in text)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(_ESCAPES.get(c, c) for c in escaped) + '"'


METHODS: dict[str, dict[tuple[type, ...], Callable[..., Any]]] = {
    "charAt": {(str, int): _char_at},
    "lowerAscii": {(str,): _ascii(str.lower)},
    "upperAscii": {(str,): _ascii(str.upper)},
    "substring": {(str, int): _substring, (str, int, int): _substring},
    "split": {(str, str): _split, (str, str, int): _split},
    "trim": {(str,): lambda text: text.strip(_WHITE_SPACE)},
    "strings.quote": {(str,): _quote},
}
INDEXES = {"indexOf": _index_of, "lastIndexOf": _last_index_of}


def _integer(text: str, smallest: int, largest: int) -> int:
    form = r"[+-]?[0-9]{1,64}" if smallest < 0 else r"[0-9]{1,64}"
    if not re.fullmatch(form, text) or not smallest <= int(text) <= largest:
        raise EvaluationError(f"{text!r} cannot be converted to a number")
    return int(text)


def _whole(value: float, smallest: int, largest: int) -> int:
    if value != value or not min(smallest, -1) < value < largest:
        raise EvaluationError(f"{value} is out of range")
    return int(value)


def _double(text: str) -> float:
    try:
        if text != text.strip():
            raise ValueError
        return float(text)
    except ValueError:
        raise EvaluationError(f"{text!r} cannot be converted to a double") from None


def _ranged(value: int, smallest: int, largest: int) -> int:
    if not smallest <= value <= largest:
        raise EvaluationError(f"{value} is out of range")
    return value


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise EvaluationError(f"{text!r} cannot be converted to a bool")


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("the bytes are not UTF-8") from None


def _float_text(value: float) -> str:
    """As Go's shortest form: an exponent from a million on, and below a ten-thousandth."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent - 1
    if value and not -4 <= point < 6:
        mantissa = "".join(map(str, digits))
        fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
        return f"{'-' if sign else ''}{mantissa[0]}{fraction}e{'-' if point < 0 else '+'}{abs(point):02d}"
    return f"{Decimal(repr(value)):f}".removesuffix(".0")


CONVERSIONS: dict[str, dict[tuple[type, ...], Callable[..., Any]]] = {
    "int": {
        (int,): int,
        (Unsigned,): lambda v: _ranged(int(v), SMALLEST_INT, LARGEST_INT),
        (float,): lambda v: _whole(v, SMALLEST_INT, LARGEST_INT),
        (str,): lambda v: _integer(v, SMALLEST_INT, LARGEST_INT),
    },
    "uint": {
        (int,): lambda v: Unsigned(_ranged(v, 0, LARGEST_UINT)),
        (Unsigned,): Unsigned,
        (float,): lambda v: Unsigned(_whole(v, 0, LARGEST_UINT)),
        (str,): lambda v: Unsigned(_integer(v, 0, LARGEST_UINT)),
    },
    "double": {(int,): float, (Unsigned,): float, (float,): float, (str,): _double},
    "string": {
        (str,): str,
        (int,): str,
        (Unsigned,): str,
        (bool,): lambda v: "true" if v else "false",
        (float,): _float_text,
        (bytes,): _decode,
    },
    "bool": {(bool,): bool, (str,): _bool},
    "bytes": {(bytes,): bytes, (str,): str.encode},
}
