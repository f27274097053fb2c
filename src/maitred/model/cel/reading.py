"""What of a device an expression can depend on, found from its tree.

An attribute named by two constants, as in `device.attributes["gpu.example.com"].model`, is read alone.
Whatever else is done with a domain (iterated, compared, handed on) reads all of it, and whatever else is done
with `device.attributes` reads everything. That is more than is needed at times, and never less.
"""

from dataclasses import dataclass

from maitred.model.cel import tree


@dataclass(frozen=True)
class Reads:
    """What can change the result beside the driver's name and `allowMultipleAllocations`."""

    attributes: frozenset[str] = frozenset()
    """Qualified names: `domain/id`."""
    capacity: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    """Domains of which every attribute and every capacity counts."""
    everything: bool = False


@dataclass(frozen=True)
class _Device:
    pass


@dataclass(frozen=True)
class _Field:
    """`device.attributes` or `device.capacity`."""

    name: str


@dataclass(frozen=True)
class _Domain:
    field: str
    name: str


_Meaning = _Device | _Field | _Domain | None
"""What a node stands for, where it is part of the device itself. None is a value like any other."""
_MAPS = ("attributes", "capacity")
_LOOKUPS = ("_[_]", "_[?_]", "_?._")


def reads_of(checked: tree.Checked) -> Reads:
    reader = _Reader(checked.names)
    reader.use(reader.follow(checked.root, {}))
    return Reads(
        attributes=frozenset(reader.named["attributes"]),
        capacity=frozenset(reader.named["capacity"]),
        domains=frozenset(reader.domains),
        everything=reader.everything,
    )


class _Reader:
    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self.named: dict[str, set[str]] = {field: set() for field in _MAPS}
        self.domains: set[str] = set()
        self.everything = False

    def use(self, meaning: _Meaning) -> None:
        """It is used as a whole."""
        if isinstance(meaning, _Domain):
            self.domains.add(meaning.name)
        elif meaning is not None:
            self.everything = True

    def follow(self, node: tree.Node, bound: dict[str, _Meaning]) -> _Meaning:
        """What the node stands for, with everything noted that it reads itself."""
        match node:
            case tree.Identifier() if not node.test:
                name = self._names.get(node.id, node.name)
                return bound[name] if name in bound else _global(name)
            case tree.Select() if node.id in self._names:
                return _global(self._names[node.id])
            case tree.Select():
                return self._member(self.follow(node.operand, bound), tree.Constant(node.field))
            case tree.Call(function, [container, key]) if function in _LOOKUPS:
                self.use(self.follow(key, bound))
                return self._member(self.follow(container, bound), key)
            case tree.Call("@in", [key, container]):
                self.use(self.follow(key, bound))
                # Whether a domain is there at all depends on everything in it.
                self.use(self._member(self.follow(container, bound), key))
            case tree.Call():
                self._use_all(node.arguments, bound)
            case tree.ListLiteral():
                self._use_all(node.elements, bound)
            case tree.MapLiteral():
                for entry in node.entries:
                    self._use_all([entry.key, entry.value], bound)
            case tree.Fold():
                return self._fold(node, bound)
            case _:
                pass
        return None

    def _use_all(self, nodes: list[tree.Node], bound: dict[str, _Meaning]) -> None:
        for node in nodes:
            self.use(self.follow(node, bound))

    def _member(self, container: _Meaning, key: tree.Node) -> _Meaning:
        constant = key.value if isinstance(key, tree.Constant) and isinstance(key.value, str) else None
        match container:
            case _Device() if constant in _MAPS:
                return _Field(constant)
            case _Device() if constant is not None:
                return None
            case _Field(name) if constant is not None:
                return _Domain(name, constant)
            case _Domain(field, name) if constant is not None:
                self.named[field].add(f"{name}/{constant}")
            case _:
                self.use(container)
        return None

    def _fold(self, node: tree.Fold, bound: dict[str, _Meaning]) -> _Meaning:
        self.use(self.follow(node.range, bound))
        initial = self.follow(node.initial, bound)
        if isinstance(node.range, tree.ListLiteral) and not node.range.elements:
            # `cel.bind`: never a step, so the result has the bound value itself.
            return self.follow(node.result, bound | {node.accumulator: initial})
        self.use(initial)
        inner = bound | dict.fromkeys((node.variable, node.second, node.accumulator))
        self._use_all([node.condition, node.step], inner)
        self.use(self.follow(node.result, inner))
        return None


def _global(name: str) -> _Meaning:
    if name == "device":
        return _Device()
    root, _, field = name.partition(".")
    return _Field(field) if root == "device" and field in _MAPS else None
