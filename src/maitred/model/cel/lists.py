"""Functions on lists and sets: CEL's extensions and those that Kubernetes adds."""

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from maitred.model.cel.strings import INDEXES
from maitred.model.cel.values import (
    ABSENT,
    LARGEST_INT,
    SMALLEST_INT,
    EvaluationError,
    Maybe,
    Unsigned,
    compare,
    no_overload,
    surely_equal,
    weight,
)


def cost(target: Any, *others: Any) -> int:
    """What going through a list costs: its elements, and the text in them. Two lists cost their product."""
    if not isinstance(target, list):
        return -(-len(target) // 10) if isinstance(target, str) else 1
    text = sum(len(entry) // 10 for entry in target if isinstance(entry, str | bytes))
    other = max((weight(value) for value in others if isinstance(value, list)), default=1)
    return max(1, weight(target) + text) * max(1, other)


def squared(target: Any, *_: Any) -> int:
    """What comparing every element with every other one costs."""
    return cost(target, target)


def _list(function: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload(function, value)
    return value


def _is_sorted(values: Any) -> bool:
    return all(compare("isSorted", a, b) <= 0 for a, b in pairwise(_list("isSorted", values)))


def _best(function: str, sign: int) -> Any:
    def on(values: Any) -> Any:
        if not _list(function, values):
            raise EvaluationError(f"{function} called on empty list")
        best = values[0]
        for value in values[1:]:
            if compare(function, value, best) * sign > 0:
                best = value
        return best

    return on


def _sum(values: Any) -> Any:
    if not _list("sum", values):
        return 0
    kind = type(values[0])
    if kind not in (int, Unsigned, float) or any(type(value) is not kind for value in values):
        raise no_overload("sum", values)
    total = sum(values)
    if kind is not float and not SMALLEST_INT <= total <= LARGEST_INT:
        raise EvaluationError("integer overflow")
    return kind(total)


def _index_of(target: Any, part: Any, *start: Any) -> int:
    if isinstance(target, str) and isinstance(part, str):
        return INDEXES["indexOf"](target, part, *start)
    return next((i for i, value in enumerate(_list("indexOf", target)) if surely_equal(value, part)), -1)


def _last_index_of(target: Any, part: Any, *start: Any) -> int:
    if isinstance(target, str) and isinstance(part, str):
        return INDEXES["lastIndexOf"](target, part, *start)
    found = [i for i, value in enumerate(_list("lastIndexOf", target)) if surely_equal(value, part)]
    return found[-1] if found else -1


def _includes(target: Any, wanted: Any) -> bool:
    values = target if isinstance(target, list) else [target]
    return any(surely_equal(value, wanted) for value in values)


def _slice(values: Any, start: Any, end: Any) -> list[Any]:
    if type(start) is not int or type(end) is not int:
        raise no_overload("slice", values, start, end)
    if not 0 <= start <= end <= len(_list("slice", values)):
        raise EvaluationError(f"cannot slice({start}, {end}) a list of {len(values)}")
    return list(values[start:end])


def _flatten(values: Any, depth: Any = 1) -> list[Any]:
    if type(depth) is not int or depth < 0:
        raise EvaluationError("level must be non-negative")
    result: list[Any] = []
    for value in _list("flatten", values):
        result += _flatten(value, depth - 1) if isinstance(value, list) and depth > 0 else [value]
    return result


def _sort(values: Any) -> list[Any]:
    return _sort_by(values, values)


def _sort_by(values: Any, keys: Any) -> list[Any]:
    if len(_list("sort", values)) != len(_list("sort", keys)):
        raise no_overload("sort", values, keys)
    order = cmp_to_key(lambda a, b: compare("sort", a, b))
    return [values[i] for i in sorted(range(len(values)), key=lambda i: order(keys[i]))]


def distinct(values: Any) -> list[Any]:
    result: list[Any] = []
    for value in _list("distinct", values):
        if not any(surely_equal(value, other) for other in result):
            result.append(value)
    return result


def _first(values: Any) -> Maybe:
    return Maybe(values[0]) if _list("first", values) else ABSENT


def _last(values: Any) -> Maybe:
    return Maybe(values[-1]) if _list("last", values) else ABSENT


def _contains(values: Any, wanted: Any) -> bool:
    _list("sets.contains", values)
    return all(
        any(surely_equal(value, other) for value in values) for other in _list("sets.contains", wanted)
    )


def _intersects(values: Any, others: Any) -> bool:
    _list("sets.intersects", values)
    return any(
        any(surely_equal(value, other) for value in values) for other in _list("sets.intersects", others)
    )


def _unwrapped(values: Any) -> list[Any]:
    for value in _list("unwrapOpt", values):
        if type(value) is not Maybe:
            raise no_overload("unwrapOpt", value)
    return [value.value for value in values if value.present]


def count_up(end: int) -> list[int]:
    if end < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {end}")
    return list(range(end))


METHODS = {
    "isSorted": _is_sorted,
    "min": _best("min", -1),
    "max": _best("max", 1),
    "sum": _sum,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "includes": _includes,
    "slice": _slice,
    "flatten": _flatten,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort_by,
    "reverse": lambda values: _list("reverse", values)[::-1],
    "first": _first,
    "last": _last,
    "sets.contains": _contains,
    "sets.intersects": _intersects,
    "sets.equivalent": lambda a, b: _contains(a, b) and _contains(b, a),
    "optional.unwrap": _unwrapped,
    "unwrapOpt": _unwrapped,
}
