"""What an expression compares with a constant: conditions that every device meets which it selects.

Only conditions that are joined by `&&` alone are found, so each can be changed without a change of what the
others mean: an attribute that equals a constant, or is at least so large, and a capacity that equals a
quantity or is at least so large. Each has the place of its constant in the text.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from maitred.model.cel import tree
from maitred.model.cel.checking import checker

LONGEST = 2_000
"""Longer expressions are not taken apart."""
_KEPT = 1024
_LITERAL = re.compile(r""""[^"\\\n]*"|'[^'\\\n]*'|-?[0-9]+(?![\w.])""")
_FIELDS = {"device.attributes": False, "device.capacity": True}


class ComparedConstant(NamedTuple):
    name: str
    """Of the attribute or the capacity, in full."""
    is_capacity: bool
    at_least: bool
    """More will do too; else it has to be the same."""
    value: str | int
    start: int
    end: int
    """Where the constant is in the text."""


class _Operand(NamedTuple):
    name: str
    is_capacity: bool


@lru_cache(maxsize=_KEPT)
def comparisons(expression: str) -> tuple[ComparedConstant, ...]:
    """None if the expression does not compile."""
    checked = _checked(expression)
    if checked is None:
        return ()
    found = (_comparison(node, checked, expression) for node in _joined(checked.root))
    return tuple(one for one in found if one is not None)


def with_values(expression: str, values: Mapping[ComparedConstant, str | int]) -> str:
    """The same expression with other constants."""
    for one in sorted(values, key=lambda one: -one.start):
        literal = msgspec.json.encode(values[one]).decode()
        expression = expression[: one.start] + literal + expression[one.end :]
    return expression


@lru_cache(maxsize=_KEPT)
def drivers_named(expression: str) -> frozenset[str]:
    """The driver whose devices alone the expression selects, if it says so by `device.driver ==`."""
    checked = _checked(expression)
    return frozenset() if checked is None else frozenset(_drivers(checked))


def _checked(expression: str) -> tree.Checked | None:
    if len(expression) > LONGEST:
        return None
    try:
        return checker().check(expression)[0]
    except tree.DoesNotCompile:
        return None


def _joined(node: tree.Node) -> Iterator[tree.Node]:
    """The conditions that all have to hold."""
    if isinstance(node, tree.Call) and node.function == "_&&_":
        for argument in node.arguments:
            yield from _joined(argument)
    else:
        yield node


def _drivers(checked: tree.Checked) -> Iterator[str]:
    for node in _joined(checked.root):
        match node:
            case tree.Call("_==_", [operand, tree.Constant(str(value))]):
                if _global(operand, checked) == "device.driver":
                    yield value


def _comparison(node: tree.Node, checked: tree.Checked, text: str) -> ComparedConstant | None:
    match node:
        case tree.Call("_==_", [one, other]):
            sides = [(one, other), (other, one)]
            at_least = False
        case tree.Call("_>=_", [tree.Call("compareTo", [one, other]), tree.Constant(0)]):
            sides, at_least = [(one, other)], True
        case tree.Call("_>=_", [one, tree.Constant(int()) as other]):
            sides, at_least = [(one, other)], True
        case _:
            return None
    found = (_between(operand, wanted, checked, text, at_least) for operand, wanted in sides)
    return next((one for one in found if one is not None), None)


def _between(
    operand: tree.Node, wanted: tree.Node, checked: tree.Checked, text: str, at_least: bool
) -> ComparedConstant | None:
    named, constant = _operand(operand, checked), _constant(wanted)
    if named is None or constant is None or named.is_capacity == (constant is wanted):
        return None
    start = checked.positions.get(constant.id, len(text))
    literal = _LITERAL.match(text, start)
    if literal is None or literal[0].strip("'\"") != str(constant.value):
        return None
    return ComparedConstant(*named, at_least, constant.value, start, literal.end())


def _constant(node: tree.Node) -> tree.Constant | None:
    """A constant that can be written anew, or the one in `quantity("40Gi")`."""
    match node:
        case tree.Call("quantity", [tree.Constant(str()) as constant]):
            return constant
        case tree.Constant(value) if type(value) in (str, int):
            return node
    return None


def _operand(node: tree.Node, checked: tree.Checked) -> _Operand | None:
    """`device.attributes["domain"].name`, also with the name in brackets."""
    match node:
        case tree.Select(tree.Call("_[_]", [container, tree.Constant(str(domain))]), name, False):
            pass
        case tree.Call(
            "_[_]",
            [tree.Call("_[_]", [container, tree.Constant(str(domain))]), tree.Constant(str(name))],
        ):
            pass
        case _:
            return None
    field = _global(container, checked)
    return _Operand(f"{domain}/{name}", _FIELDS[field]) if field in _FIELDS else None


def _global(node: tree.Node, checked: tree.Checked) -> str:
    """The name in full of what is given with the device."""
    if isinstance(node, tree.Identifier):
        return checked.names.get(node.id, node.name)
    return checked.names.get(node.id, "") if isinstance(node, tree.Select) else ""
