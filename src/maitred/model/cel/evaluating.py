"""A checked tree as Python closures that count what they cost.

Costs are those of Kubernetes' cost tracker to within a few units. Larger differences are all to the safe
side: joining two lists costs half of what they hold, going through nested lists costs all that is in them,
and `replace`, `join`, `distinct`, `lists.range` and maps made by macros cost what they build or compare,
because Python does at once what Go does on demand or does not count at all.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from maitred.model.cel import tree
from maitred.model.cel.functions import FUNCTIONS, Function
from maitred.model.cel.values import (
    ABSENT,
    EMPTY,
    CelType,
    Domains,
    EvaluationError,
    Maybe,
    from_key,
    map_key,
    no_overload,
    type_name,
)

_CONVERSIONS = ("int", "uint", "double", "string", "bool", "bytes", "dyn", "type")
_TYPES = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "optional_type",
    "dyn",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "kubernetes.Quantity",
    "kubernetes.Semver",
]


class TooExpensive(Exception):
    """The expression costs more for this device than Kubernetes allows. Nothing absorbs this."""


class CelScope:
    """One evaluation: the variables, and how much it may still cost."""

    __slots__ = ("left", "names")

    def __init__(self, names: dict[str, Any], budget: int) -> None:
        self.names, self.left = names, budget

    def pay(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise TooExpensive


Run = Callable[[CelScope], Any]


class Compiler:
    """Builds the closure of every node, from the leaves up."""

    def __init__(self, checked: tree.Checked) -> None:
        self._names = checked.names

    def compile(self, node: tree.Node) -> Run:
        match node:
            case tree.Constant():
                return _constant(node.value)
            case tree.Identifier():
                return _constant(True) if node.test else _name(self._names.get(node.id, node.name))
            case tree.Select():
                return self._select(node)
            case tree.Call():
                return self._call(node)
            case tree.ListLiteral():
                return self._list(node)
            case tree.MapLiteral():
                return self._map(node)
            case tree.Fold():
                return self._fold(node)

    def _select(self, node: tree.Select) -> Run:
        if node.id in self._names:
            return _name(self._names[node.id])
        operand, field = self.compile(node.operand), node.field
        return _has(operand, field) if node.test else _get(operand, _constant(field))

    def _call(self, node: tree.Call) -> Run:
        arguments = [self.compile(argument) for argument in node.arguments]
        special = _SPECIAL.get(node.function)
        if special:
            return special(*arguments)
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise tree.DoesNotCompile(f"it calls {node.function}, which maitred does not evaluate")
        run = _apply(function, arguments)
        if node.function in _CONVERSIONS and _are_constant(arguments):
            return _folded(run)
        return run

    def _list(self, node: tree.ListLiteral) -> Run:
        if not node.elements:
            return lambda frame: []
        elements, optional = [self.compile(element) for element in node.elements], node.optional

        def run(frame: CelScope) -> Any:
            result = []
            for position, element in enumerate(elements):
                value = element(frame)
                if position in optional:
                    result += _optional_element(value)
                else:
                    result.append(value)
            frame.pay(10)
            return result

        return _folded(run) if _are_constant(elements) and not optional else run

    def _map(self, node: tree.MapLiteral) -> Run:
        if node.message:
            raise tree.DoesNotCompile(f"it makes a {node.message}, which maitred does not evaluate")
        entries = [(self.compile(e.key), self.compile(e.value), e.optional) for e in node.entries]

        def run(frame: CelScope) -> Any:
            result = {}
            for key_of, value_of, optional in entries:
                key, value = map_key(key_of(frame)), value_of(frame)
                for present in _optional_element(value) if optional else [value]:
                    result[key] = present
            frame.pay(30)
            return result

        parts = [part for key, value, _ in entries for part in (key, value)]
        return _folded(run) if _are_constant(parts) else run

    def _fold(self, node: tree.Fold) -> Run:
        step = node.step
        if isinstance(node.initial, tree.ListLiteral) and not node.initial.elements:
            step = _appending(step, node.accumulator)
        return _fold(
            node,
            self.compile(node.range),
            self.compile(node.initial),
            self.compile(node.condition),
            self.compile(step),
            self.compile(node.result),
        )


def _constant(value: Any) -> Run:
    def run(frame: CelScope) -> Any:
        return value

    run.constant = True  # type: ignore[attr-defined]
    return run


def _optional_element(value: Any) -> list[Any]:
    """Of `[?x]` or `{?key: x}`: what is there of x, one value or none."""
    if type(value) is not Maybe:
        raise no_overload("?", value)
    return [value.value] if value.present else []


def _are_constant(parts: list[Run]) -> bool:
    return all(hasattr(part, "constant") for part in parts)


def _folded(run: Run) -> Run:
    """What is made of constants is made once, and one that fails is refused, whoever might absorb it."""
    try:
        return _constant(run(CelScope({}, sys.maxsize)))
    except EvaluationError as error:
        raise tree.DoesNotCompile(str(error)) from None


def _name(name: str) -> Run:
    if name in _TYPES:
        return _constant(CelType(name))
    cost = name.count(".") + 1

    def run(frame: CelScope) -> Any:
        frame.left -= cost
        value = frame.names[name]
        if isinstance(value, EvaluationError):
            raise value
        return value

    return run


def _has(operand: Run, field: str) -> Run:
    def run(frame: CelScope) -> Any:
        return _find(operand(frame), field).present

    return run


def _get(operand: Run, key: Run) -> Run:
    def run(frame: CelScope) -> Any:
        value, index = operand(frame), key(frame)
        frame.left -= 1
        if type(value) is dict and type(index) is str:
            try:
                return value[index]
            except KeyError:
                raise EvaluationError(f"no such key: {index}") from None
        if type(value) is Maybe:
            return _find(value, index)
        if not isinstance(value, dict | list):
            raise no_overload("_[_]", value, index)
        found = _find(value, index)
        if not found.present:
            what = "index out of bounds" if type(value) is list else "no such key"
            raise EvaluationError(f"{what}: {index}")
        return found.value

    return run


def _get_optional(operand: Run, key: Run) -> Run:
    def run(frame: CelScope) -> Any:
        value, index = operand(frame), key(frame)
        frame.left -= 1
        return _find(value, index)

    return run


def _find(value: Any, index: Any) -> Maybe:
    """The entry of a map or list, if there is one. Inside an optional value, if that is there too."""
    if type(value) is Maybe:
        return _find(value.value, index) if value.present else ABSENT
    if type(value) is Domains:
        return Maybe(value.get(index, EMPTY))
    if type(value) is dict:
        key = map_key(index)
        return Maybe(value[key]) if key in value else ABSENT
    if type(value) is list:
        if isinstance(index, float) and index.is_integer():
            index = int(index)
        if not isinstance(index, int) or type(index) is bool:
            raise no_overload("_[_]", value, index)
        return Maybe(value[index]) if 0 <= index < len(value) else ABSENT
    return ABSENT


def _apply(function: Function, arguments: list[Run]) -> Run:
    if len(arguments) == 2:
        first, second = arguments

        def run_two(frame: CelScope) -> Any:
            left, right = first(frame), second(frame)
            frame.pay(function.cost(left, right))
            return function(left, right)

        return run_two

    def run(frame: CelScope) -> Any:
        values = [argument(frame) for argument in arguments]
        frame.pay(function.cost(*values))
        return function(*values)

    return run


def _either(name: str, decisive: bool) -> Callable[[Run, Run], Run]:
    """`||` and `&&`: a side that decides does so even where the other one fails."""

    def build(first: Run, second: Run) -> Run:
        def run(frame: CelScope) -> Any:
            failure: EvaluationError | None = None
            for side in (first, second):
                try:
                    value = side(frame)
                    if value is decisive:
                        return decisive
                    if type(value) is not bool:
                        raise no_overload(name, value)
                except EvaluationError as error:
                    failure = failure or error
            if failure:
                raise failure
            return not decisive

        return run

    return build


def _ternary(condition: Run, then: Run, otherwise: Run) -> Run:
    def run(frame: CelScope) -> Any:
        value = condition(frame)
        if type(value) is not bool:
            raise no_overload("_?_:_", value)
        return then(frame) if value else otherwise(frame)

    return run


def _not_strictly_false(argument: Run) -> Run:
    def run(frame: CelScope) -> Any:
        frame.pay(1)
        try:
            return argument(frame) is not False
        except EvaluationError:
            return True

    return run


def _or(target: Run, alternative: Run) -> Run:
    def run(frame: CelScope) -> Any:
        value = target(frame)
        frame.pay(1)
        if type(value) is not Maybe:
            raise no_overload("or", value)
        return value if value.present else alternative(frame)

    return run


def _or_value(target: Run, alternative: Run) -> Run:
    def run(frame: CelScope) -> Any:
        value = target(frame)
        frame.pay(1)
        if type(value) is not Maybe:
            raise no_overload("orValue", value)
        return value.value if value.present else alternative(frame)

    return run


_SPECIAL: dict[str, Callable[..., Run]] = {
    "_||_": _either("_||_", True),
    "_&&_": _either("_&&_", False),
    "_?_:_": _ternary,
    "_[_]": _get,
    "_[?_]": _get_optional,
    "_?._": _get_optional,
    "@not_strictly_false": _not_strictly_false,
    "__not_strictly_false__": _not_strictly_false,
    "or": _or,
    "orValue": _or_value,
}


def _appending(step: tree.Node, accumulator: str) -> tree.Node:
    """The step of `map` and `filter`, so that it adds to its own list instead of copying it every time."""
    match step:
        case tree.Call("_+_", [tree.Identifier(name), tree.ListLiteral()], _, identifier) if (
            name == accumulator
        ):
            return tree.Call("@append", step.arguments, False, identifier)
        case tree.Call("_?_:_", [condition, then, otherwise], _, identifier):
            return tree.Call(
                "_?_:_", [condition, _appending(then, accumulator), otherwise], False, identifier
            )
        case _:
            return step


def _guarded(run: Run, frame: CelScope) -> Any:
    """The value, or the error as a value: a later step may absorb it."""
    try:
        return run(frame)
    except EvaluationError as error:
        return error


def _items(value: Any, pairs: bool) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        keys = [(from_key(key), entry) for key, entry in value.items()]
        return keys if pairs else [(key, None) for key, _ in keys]
    if isinstance(value, list):
        return enumerate(value) if pairs else [(entry, None) for entry in value]
    raise EvaluationError(f"got {type_name(value)}, expected a list or a map to go through")


def _fold(node: tree.Fold, range_: Run, initial: Run, condition: Run, step: Run, result: Run) -> Run:
    variable, second, accumulator = node.variable, node.second, node.accumulator

    def run(frame: CelScope) -> Any:
        names = frame.names
        items = _items(range_(frame), bool(second))
        saved = {name: names[name] for name in (variable, second, accumulator) if name in names}
        names[accumulator] = _guarded(initial, frame)
        for names[variable], other in items:
            if second:
                names[second] = other
            if _guarded(condition, frame) is False:
                break
            names[accumulator] = _guarded(step, frame)
            if frame.left < 0:
                raise TooExpensive
        try:
            return result(frame)
        finally:
            names.update(saved)

    return run
