"""A checked expression as a tree, read from the bytes in which the CEL library gives it away.

The library has no Python view of the tree, but it serialises `cel.expr.CheckedExpr`, a message whose field
numbers are a published format. Only the fields that evaluation needs are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any

from maitred.model.cel.values import Unsigned

DEEPEST = 250
"""Kubernetes' parser refuses what is nested deeper."""


class DoesNotCompile(ValueError):
    """The text is no expression, it has types that do not fit, or it has what is never evaluated here."""


@dataclass(slots=True)
class Constant:
    value: Any
    id: int = 0


@dataclass(slots=True)
class Identifier:
    """A name, or with `test` the question whether a field of the device is there, which it always is."""

    name: str
    id: int = 0
    test: bool = False


@dataclass(slots=True)
class Select:
    """`operand.field`, or with `test` the question whether it is there."""

    operand: "Node"
    field: str
    test: bool
    id: int = 0


@dataclass(slots=True)
class Call:
    """A function, an operator or a method; the target of a method is the first argument."""

    function: str
    arguments: list["Node"]
    member: bool
    id: int = 0


@dataclass(slots=True)
class ListLiteral:
    elements: list["Node"]
    optional: frozenset[int]
    id: int = 0


@dataclass(slots=True)
class Entry:
    key: "Node"
    value: "Node"
    optional: bool


@dataclass(slots=True)
class MapLiteral:
    entries: list[Entry]
    message: str
    id: int = 0


@dataclass(slots=True)
class Fold:
    """What every macro over a list or map becomes."""

    variable: str
    second: str
    range: "Node"
    accumulator: str
    initial: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"
    id: int = 0


Node = Constant | Identifier | Select | Call | ListLiteral | MapLiteral | Fold


@dataclass(frozen=True, slots=True)
class Checked:
    root: Node
    names: dict[int, str] = field(default_factory=dict)
    """By the id of a node: the whole dotted name that it was found to refer to."""
    types: dict[int, bytes] = field(default_factory=dict)
    """By the id of a node: its type, in the library's own form. Equal types have equal bytes."""
    positions: dict[int, int] = field(default_factory=dict)
    """By the id of a node: where it begins in the text. That of a call is where its operator is."""


def read(serialised: bytes) -> Checked:
    message = _last(serialised, 2)
    names: dict[int, str] = {}
    types: dict[int, bytes] = {}
    positions: dict[int, int] = {}
    for number, value in _fields(message):
        if number == 3:
            types[_number(value, 1)] = _last(value, 2)
        elif number == 2:
            reference = _last(value, 2)
            name = _last(reference, 1).decode()
            if name:
                names[_number(value, 1)] = name
        elif number == 5:
            entries = (entry for part, entry in _fields(value) if part == 4)
            positions = {_number(entry, 1): _number(entry, 2) for entry in entries}
    return Checked(_node(_last(message, 4), DEEPEST), names, types, positions)


def read_parsed(serialised: bytes) -> Node:
    """The tree before types were checked."""
    return _node(_last(_last(serialised, 2), 2), DEEPEST)


def with_presence(checked: Checked, parsed: Node) -> Checked:
    """With `has(device.x)` as it was written: of a name that it knows, the checker makes `device.x`."""
    tested = {node.id for node in everything_in(parsed) if isinstance(node, Select) and node.test}
    for node in everything_in(checked.root):
        if isinstance(node, Identifier) and node.id in tested:
            node.test = True
    return checked


def everything_in(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += parts(node)


def _node(data: bytes, depth: int) -> Node:
    if depth == 0:
        raise DoesNotCompile(f"it is nested more than {DEEPEST} deep")
    identifier, result = 0, None
    for number, value in _fields(data):
        if number == 2:
            identifier = value
        elif number in _KINDS:
            result = _KINDS[number](value, depth - 1)
    if result is None:
        raise ValueError("the CEL library gave a node of no known kind")
    result.id = identifier
    return result


def _constant(data: bytes, _: int) -> Node:
    for number, value in _fields(data):
        match number:
            case 1:
                return Constant(None)
            case 2:
                return Constant(bool(value))
            case 3:
                return Constant(value - 2**64 if value >= 2**63 else value)
            case 4:
                return Constant(Unsigned(value))
            case 5 | 7:
                return Constant(value)
            case 6:
                return Constant(value.decode())
    return Constant(None)


def _identifier(data: bytes, _: int) -> Node:
    return Identifier(_last(data, 1).decode())


def _select(data: bytes, depth: int) -> Node:
    return Select(_node(_last(data, 1), depth), _last(data, 2).decode(), bool(_number(data, 3)))


def _call(data: bytes, depth: int) -> Node:
    target = [value for number, value in _fields(data) if number == 1]
    rest = [value for number, value in _fields(data) if number == 3]
    return Call(_last(data, 2).decode(), [_node(part, depth) for part in target + rest], bool(target))


def _list(data: bytes, depth: int) -> Node:
    elements = [_node(value, depth) for number, value in _fields(data) if number == 1]
    optional: set[int] = set()
    for number, value in _fields(data):
        if number == 2:
            optional.update([value] if isinstance(value, int) else _varints(value))
    return ListLiteral(elements, frozenset(optional))


def _map(data: bytes, depth: int) -> Node:
    entries = []
    for number, value in _fields(data):
        if number == 2:
            key_data = _last(value, 3)
            key = _node(key_data, depth) if key_data else Constant(_last(value, 2).decode())
            entries.append(Entry(key, _node(_last(value, 4), depth), bool(_number(value, 5))))
    return MapLiteral(entries, _last(data, 1).decode())


def _fold(data: bytes, depth: int) -> Node:
    def part(number: int) -> Node:
        return _node(_last(data, number), depth)

    return Fold(
        variable=_last(data, 1).decode(),
        second=_last(data, 8).decode(),
        range=part(2),
        accumulator=_last(data, 3).decode(),
        initial=part(4),
        condition=part(5),
        step=part(6),
        result=part(7),
    )


_KINDS = {3: _constant, 4: _identifier, 5: _select, 6: _call, 7: _list, 8: _map, 9: _fold}


def _last(data: bytes, wanted: int) -> Any:
    """The bytes of the field, none if it is not there."""
    result = b""
    for number, value in _fields(data):
        if number == wanted:
            result = value
    return result


def _number(data: bytes, wanted: int) -> int:
    return next((value for number, value in _fields(data) if number == wanted), 0)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        value: Any
        if kind == 0:
            value, position = _varint(data, position)
        elif kind == 1:
            (value,), position = unpack_from("<d", data, position), position + 8
        else:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        yield tag >> 3, value


def _varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def parts(node: Node) -> list[Node]:
    """The nodes right under it."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return node.arguments
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Fold():
            return [node.range, node.initial, node.condition, node.step, node.result]
        case _:
            return []
