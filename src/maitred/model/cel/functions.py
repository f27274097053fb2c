"""The functions and operators of expressions, by name, chosen by the types of the values at hand.

A function says what it costs before it runs, so that none builds a value that the limit does not allow.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

from maitred.model.cel import addresses, kubernetes, lists, strings
from maitred.model.cel.values import (
    ABSENT,
    LARGEST_INT,
    LARGEST_UINT,
    SMALLEST_INT,
    CelType,
    EvaluationError,
    Maybe,
    Unsigned,
    compare,
    equal,
    map_key,
    no_overload,
    surely_equal,
    type_name,
    weight,
)

Implementation = Callable[..., Any]
Cost = Callable[..., int]


def size(value: Any) -> int:
    """What the cost of a function is a multiple of: the length of what has one."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    return size(value.value) if type(value) is Maybe and value.present else 1


def traversal(length: int) -> int:
    """What going through a string costs."""
    return -(-length // 10)


class Function:
    """One name: implementations by the types of the arguments, and one for all other types."""

    __slots__ = ("_by_types", "_otherwise", "cost", "name")

    def __init__(
        self,
        name: str,
        by_types: dict[tuple[type, ...], Implementation],
        otherwise: Implementation | None,
        cost: Cost,
    ) -> None:
        self.name, self._by_types, self._otherwise, self.cost = name, by_types, otherwise, cost

    def __call__(self, *values: Any) -> Any:
        implementation = self._by_types.get(tuple(map(type, values)), self._otherwise)
        if implementation is None:
            raise no_overload(self.name, *values)
        return implementation(*values)


def _one(*_: Any) -> int:
    return 1


def _within_int(value: int) -> int:
    if not SMALLEST_INT <= value <= LARGEST_INT:
        raise EvaluationError("integer overflow")
    return value


def _within_uint(value: int) -> Unsigned:
    if not 0 <= value <= LARGEST_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Unsigned(value)


def _arithmetic(on: Callable[[Any, Any], Any]) -> dict[tuple[type, ...], Implementation]:
    return {
        (int, int): lambda a, b: _within_int(on(a, b)),
        (Unsigned, Unsigned): lambda a, b: _within_uint(on(int(a), int(b))),
        (float, float): on,
    }


def _divide(a: int, b: int) -> int:
    """Towards zero, as in Go."""
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("modulus by zero")
    return a - b * _divide(a, b)


def _divide_floats(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def _ordering(name: str, holds: Callable[[int, int], bool]) -> Implementation:
    return lambda a, b: holds(compare(name, a, b), 0)


def _in(element: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(surely_equal(other, element) for other in container)
    if isinstance(container, dict):
        try:
            return map_key(element) in container
        except EvaluationError:
            return False
    raise no_overload("@in", element, container)


def _size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise no_overload("size", value)
    return len(value)


def _unwrap(value: Any) -> Any:
    if type(value) is not Maybe:
        raise no_overload("value", value)
    if not value.present:
        raise EvaluationError("optional.none() dereference")
    return value.value


def _zero(value: Any) -> bool:
    return value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)


def _insert(container: dict[Any, Any], *entry: Any) -> dict[Any, Any]:
    additions = entry[0].items() if len(entry) == 1 else [(map_key(entry[0]), entry[1])]
    result = dict(container)
    for key, value in additions:
        if key in result:
            raise EvaluationError(f"insert failed: key {key} already exists")
        result[key] = value
    return result


def _append(accumulated: list[Any], more: list[Any]) -> list[Any]:
    accumulated.extend(more)
    return accumulated


def _smaller(a: Any, b: Any) -> int:
    if isinstance(a, list | dict):
        return max(traversal(min(size(a), size(b))), min(weight(a), weight(b)) // 10)
    return traversal(min(size(a), size(b)))


def _both(a: Any, b: Any) -> int:
    if isinstance(a, list):
        return 1 + (size(a) + size(b)) // 2
    return traversal(size(a) + size(b)) if isinstance(a, str | bytes) else 1


def _equality(a: Any, b: Any) -> int:
    return 1 if type_name(a) in _OPAQUE else _smaller(a, b)


def _comparison(a: Any, b: Any) -> int:
    return _smaller(a, b) if isinstance(a, str | bytes) else 1


def _search(element: Any, container: Any) -> int:
    return weight(container) if isinstance(container, list) else 1


def _matching(text: Any, pattern: Any) -> int:
    return traversal(1 + size(text)) * -(-size(pattern) // 4)


def _product(text: Any, part: Any) -> int:
    return traversal(size(text)) * traversal(size(part))


def _first(*values: Any) -> int:
    return traversal(size(values[0]))


_OPAQUE = ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR")
_CALLS = [
    Function("_==_", {}, equal, _equality),
    Function("_!=_", {}, lambda a, b: not surely_equal(a, b), _smaller),
    Function("_<_", {}, _ordering("_<_", operator.lt), _comparison),
    Function("_<=_", {}, _ordering("_<=_", operator.le), _comparison),
    Function("_>_", {}, _ordering("_>_", operator.gt), _comparison),
    Function("_>=_", {}, _ordering("_>=_", operator.ge), _comparison),
    Function(
        "_+_",
        _arithmetic(operator.add) | {(kind, kind): operator.add for kind in (str, bytes, list)},
        None,
        _both,
    ),
    Function("_-_", _arithmetic(operator.sub), None, _one),
    Function("_*_", _arithmetic(operator.mul), None, _one),
    Function("_/_", _arithmetic(_divide) | {(float, float): _divide_floats}, None, _one),
    Function("_%_", {k: v for k, v in _arithmetic(_remainder).items() if float not in k}, None, _one),
    Function("-_", {(int,): lambda a: _within_int(-a), (float,): operator.neg}, None, _one),
    Function("!_", {(bool,): operator.not_}, None, _one),
    Function("@in", {}, _in, _search),
    Function("@append", {(list, list): _append}, None, _one),
    Function("size", {}, _size, _one),
    Function("type", {}, lambda value: CelType(type_name(value)), _one),
    Function("dyn", {}, lambda value: value, _one),
    Function("optional.of", {}, Maybe, _one),
    Function("optional.none", {}, lambda: ABSENT, _one),
    Function("optional.ofNonZeroValue", {}, lambda v: ABSENT if _zero(v) else Maybe(v), _one),
    Function("hasValue", {(Maybe,): lambda value: value.present}, None, _one),
    Function("value", {}, _unwrap, _one),
    Function("cel.@mapInsert", {}, _insert, lambda container, *_: 1 + len(container)),
    Function("matches", {(str, str): strings.matches}, None, _matching),
    Function("find", {(str, str): strings.find}, None, _matching),
    Function(
        "findAll",
        {(str, str): strings.find_all, (str, str, int): strings.find_all},
        None,
        lambda text, pattern, *_: _matching(text, pattern),
    ),
    Function("contains", {(str, str): operator.contains}, None, _product),
    Function("startsWith", {(str, str): str.startswith}, None, _first),
    Function("endsWith", {(str, str): str.endswith}, None, _first),
]
_CALLS += [
    Function(name, by_types, None, _first)
    for name, by_types in strings.CONVERSIONS.items()
    if name != "string"
]
_CALLS += [Function("string", strings.CONVERSIONS["string"] | addresses.TEXTS, None, _first)]
_CALLS += [
    Function(name, by_types, None, _first)
    for name, by_types in (kubernetes.PARSERS | addresses.PARSERS).items()
]
_CALLS += [
    Function(name, by_types, None, _one)
    for name, by_types in (kubernetes.METHODS | addresses.METHODS).items()
]
_CALLS += [
    Function(name, by_types, None, lambda text, *_: traversal(2 * size(text)))
    for name, by_types in strings.METHODS.items()
]
_CALLS += [
    Function(
        "replace",
        {(str, str, str): strings.replace, (str, str, str, int): strings.replace},
        None,
        strings.replacing_costs,
    ),
    Function("join", {(list,): strings.join, (list, str): strings.join}, None, strings.joining_costs),
]
_CALLS += [Function(name, {}, on, lists.cost) for name, on in lists.METHODS.items()]
_CALLS += [Function("distinct", {}, lists.distinct, lists.squared)]
_CALLS += [
    Function("lists.range", {(int,): lists.count_up}, None, lambda n: 10 + max(0, n) if type(n) is int else 1)
]

FUNCTIONS = {function.name: function for function in _CALLS}
