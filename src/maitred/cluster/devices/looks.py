"""What nodes look like to claims: those that look alike have the same devices for a claim, by their places.

A look is all of the devices of a node that claims can tell which read and compare the same attributes. It is
found once for each node and each set of attributes, however many claims there are: of thousands of claims for
other amounts of memory, each is held against as many looks as there are, not against every device.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.findings import new_number
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.matching import kind_of
from maitred.cluster.devices.pools import DevicePool, PooledDevice, Value
from maitred.cluster.devices.requests import Program
from maitred.cluster.nodes import Codes, NodeView
from maitred.model.cel import Reads, SelectorError, selector


class ReadAttributes(NamedTuple):
    """What a claim can tell of devices."""

    reads: Reads
    compared: tuple[str, ...]
    """Attributes that its constraints compare."""
    hidden: tuple[str, ...]
    """Expressions that are not known: only what they select."""


def reading_of(program: Program, inventory: Inventory) -> ReadAttributes:
    asks = () if program.problem else program.asks
    expressions = sorted({one for ask in asks for one in ask.expressions})
    hidden = tuple(one for one in expressions if one in inventory.hidden)
    merged = reads_of([one for one in expressions if one not in inventory.hidden])
    return ReadAttributes(merged, tuple(sorted({one.attribute for one in program.constraints})), hidden)


def reads_of(expressions: Iterable[str]) -> Reads:
    """What any of these can tell of devices."""
    reads = list[Reads]()
    for expression in expressions:
        try:
            reads.append(selector(expression).reads)
        except SelectorError:
            continue  # it selects nothing
    return Reads(
        attributes=frozenset[str]().union(*(one.attributes for one in reads)),
        capacity=frozenset[str]().union(*(one.capacity for one in reads)),
        domains=frozenset[str]().union(*(one.domains for one in reads)),
        everything=any(one.everything for one in reads),
    )


class Looks(NamedTuple):
    """Of all nodes."""

    codes: Codes
    """By row: 0 for a node without devices of its own, else the place of its look, from 1 on."""
    distinct: list[tuple[int, tuple[DevicePool, ...]]]
    """Every look, and the pools of a node that looks like that."""


def look_column(reading: ReadAttributes, nodes: NodeView, inventory: Inventory) -> Looks:
    return nodes.derived_with(inventory, ("looks", reading), lambda: _looks(reading, nodes, inventory))


def _looks(reading: ReadAttributes, nodes: NodeView, inventory: Inventory) -> Looks:
    codes: Codes = np.zeros(len(nodes.names), dtype=np.int32)
    distinct, places = list[tuple[int, tuple[DevicePool, ...]]](), dict[int, int]()
    on_node = inventory.on_node
    for row, name in enumerate(nodes.names):
        pools = on_node.get(name)
        if pools is not None:
            look = look_of(reading, pools, inventory)
            place = codes[row] = places.setdefault(look, len(places) + 1)
            if place > len(distinct):
                distinct.append((look, pools))
    return Looks(codes, distinct)


def look_of(reading: ReadAttributes, pools: tuple[DevicePool, ...], inventory: Inventory) -> int:
    """Kept with the first pool, as long as it and those beside it stay the same."""
    if not pools:
        return 0
    known = pools[0].derived.get(reading)
    if known is not None and known[0] == pools:
        found: int = known[1]
        return found
    looks, appearance = inventory.findings.looks, _appearance(reading, pools, inventory)
    number = looks.get(appearance)
    if number is None:
        number = looks[appearance] = new_number()
    if not reading.hidden:
        pools[0].derived[reading] = (pools, number)
    return number


def _appearance(reading: ReadAttributes, pools: tuple[DevicePool, ...], inventory: Inventory) -> Hashable:
    numbered = [dict[tuple[str, int | str], int]() for _ in reading.compared]
    return tuple(
        (
            bool(pool.problem),
            tuple(sorted(pool.counters.items())),
            tuple(inventory.hidden[one].get(pool.id, 0) for one in reading.hidden),
            tuple([_features(device, reading, numbered) for device in pool.devices]),
        )
        for pool in pools
    )


def _features(
    device: PooledDevice, reading: ReadAttributes, numbered: list[dict[tuple[str, int | str], int]]
) -> Hashable:
    values = [
        renamed(device.value(attribute), items)
        for attribute, items in zip(reading.compared, numbered, strict=True)
    ]
    return kind_of(device, reading.reads), device.taints, device.counters, traits(device), tuple(values)


def renamed(value: Value, items: dict[tuple[str, int | str], int]) -> Hashable:
    """Which values are the same matters, and not what they are. Lists may overlap in some items."""
    return tuple([items.setdefault(item, len(items)) for item in sorted(value, key=repr)])


def traits(device: PooledDevice) -> Hashable:
    """What else of a device can matter."""
    source = device.source
    if not (source.capacity or source.binding_conditions or source.allow_multiple_allocations):
        return ()
    policies = any(one.request_policy for one in source.capacity.values())
    return (
        tuple(sorted((name, one.value) for name, one in device.capacity.items())),
        repr(source.capacity) if policies else "",
        bool(source.binding_conditions),
        source.allow_multiple_allocations,
    )
