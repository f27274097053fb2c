"""The types that Kubernetes adds to CEL: quantities and semantic versions."""

import math
from collections.abc import Callable
from typing import Any

from maitred.model.cel.values import EvaluationError, Quantity, Version
from maitred.model.quantity import QuantityError

Overloads = dict[tuple[type, ...], Callable[..., Any]]

TYPES = (Quantity, Version)


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def _version(text: str, normalize: bool = False) -> Version:
    try:
        return Version.parse(_normal(text) if normalize else text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_version(text: str, normalize: bool = False) -> bool:
    try:
        _version(text, normalize)
    except EvaluationError:
        return False
    return True


def _normal(text: str) -> str:
    """`v1.2` as `1.2.0`, `01.02.03` as `1.2.3`."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) if len(part) > 1 else part for part in parts]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise ValueError(f"{text!r} is too short for a prerelease or build")
    return ".".join([*parts, "0", "0"][:3])


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("123456789") else "0" + stripped


def _order(value: Any) -> Any:
    return value.nano if isinstance(value, Quantity) else value.order


def _compare(left: Any, right: Any) -> int:
    a, b = _order(left), _order(right)
    return int(a > b) - int(a < b)


def _integer(value: Quantity) -> int:
    if not value.whole:
        raise EvaluationError("cannot convert value to integer")
    return value.nano // 10**9


def _float(value: Quantity) -> float:
    try:
        return value.nano / 10**9
    except OverflowError:
        return math.inf if value.nano > 0 else -math.inf


def _of_int(value: int) -> Quantity:
    return Quantity(value * 10**9)


def _minus(value: Quantity) -> Quantity:
    return Quantity(-value.nano, value.scale)


def _same(on: Callable[..., Any]) -> Overloads:
    return {(kind, kind): on for kind in TYPES}


PARSERS: dict[str, Overloads] = {
    "quantity": {(str,): _quantity},
    "isQuantity": {(str,): _is_quantity},
    "semver": {(str,): _version, (str, bool): _version},
    "isSemver": {(str,): _is_version, (str, bool): _is_version},
}
METHODS: dict[str, Overloads] = {
    "isGreaterThan": _same(lambda a, b: _compare(a, b) > 0),
    "isLessThan": _same(lambda a, b: _compare(a, b) < 0),
    "compareTo": _same(_compare),
    "sign": {(Quantity,): lambda q: (q.nano > 0) - (q.nano < 0)},
    "asApproximateFloat": {(Quantity,): _float},
    "asInteger": {(Quantity,): _integer},
    "isInteger": {(Quantity,): lambda q: q.whole},
    "add": {(Quantity, Quantity): Quantity.plus, (Quantity, int): lambda q, n: q.plus(_of_int(n))},
    "sub": {
        (Quantity, Quantity): lambda q, other: q.plus(_minus(other)),
        (Quantity, int): lambda q, n: q.plus(_of_int(-n)),
    },
    "major": {(Version,): lambda v: v.major},
    "minor": {(Version,): lambda v: v.minor},
    "patch": {(Version,): lambda v: v.patch},
}
