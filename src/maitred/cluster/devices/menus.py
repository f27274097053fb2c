"""The devices of nodes as claims see them. Nodes that are alike in that share one answer.

What of a device matters to a claim: which of its requests it suits, the attributes that constraints compare
(which of the devices have the same, not what it is), its capacity, and the counters that it uses. A menu is
all of this for the devices of a node, in order. Two nodes with equal menus, of which the same devices are
taken, give the same claims the same devices by their places.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.allocator import Claimed, DeviceOffer
from maitred.cluster.devices.findings import MOST_LOOKS, Bounded, new_number
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.looks import ReadAttributes, look_column, look_of, reading_of, renamed, traits
from maitred.cluster.devices.matching import MOST_COST_IN_ALL, total_cost
from maitred.cluster.devices.pools import CounterName, DevicePool, PooledDevice, Reach
from maitred.cluster.devices.requests import Program, program_of, suiting, tolerated
from maitred.cluster.nodes import Codes, Mask, NodeView
from maitred.cluster.selection import declaring_nodes, in_any_term

NO_MENU = 0
"""Of nodes that have nothing that would suit."""


def offer_of(pools: Iterable[DevicePool]) -> DeviceOffer:
    devices, numbers = list[PooledDevice](), list[int]()
    counters = dict[tuple[int, CounterName], int]()
    for number, pool in enumerate(pools):
        devices += pool.devices
        numbers += [number] * len(pool.devices)
        counters.update({(number, name): amount for name, amount in pool.counters.items()})
    return DeviceOffer(devices, numbers, counters)


def claimed(program: Program, pools: Sequence[DevicePool], inventory: Inventory) -> Claimed:
    """What of these pools suits a claim; nothing if it costs too much to find out."""
    nothing = (0,) * len(program.asks)
    if program.problem:
        return Claimed(program, nothing, nothing)
    chosen, open_ = list(nothing), list(nothing)
    start = cost = evaluations = 0
    for pool in pools:
        counted = set[tuple[str, ...]]()
        for number, ask in enumerate(program.asks):
            found = suiting(ask, pool, inventory)
            bits = found.bits
            if ask.expressions not in counted:
                counted.add(ask.expressions)
                cost, evaluations = cost + found.cost, evaluations + found.evaluations
                total = total_cost(cost, evaluations, start + len(pool.devices))
                if total > MOST_COST_IN_ALL:
                    return Claimed(program, nothing, nothing, cost=total, evaluations=evaluations)
            chosen[number] |= bits << start
            if bits and has_taints(pool):
                untainted = sum(
                    1 << place for place, device in enumerate(pool.devices) if tolerated(ask, device)
                )
                bits &= untainted
            open_[number] |= bits << start
        start += len(pool.devices)
    return Claimed(
        program,
        tuple(open_),
        tuple(chosen),
        complete=not any(pool.problem for pool in pools),
        cost=total_cost(cost, evaluations, start),
        evaluations=evaluations,
    )


def has_taints(pool: DevicePool) -> bool:
    if "tainted" not in pool.derived:
        pool.derived["tainted"] = any(device.taints for device in pool.devices)
    return bool(pool.derived["tainted"])


@dataclass(frozen=True, slots=True, eq=False)
class Menus:
    """Of one claim: the menus of nodes, by what the nodes look like to it."""

    program: Program
    reading: ReadAttributes
    by_look: Bounded[int, tuple[int, Claimed]]
    by_content: Bounded[Hashable, int]


class MenuColumn(NamedTuple):
    """The menus of one claim, by the rows of nodes."""

    codes: Codes
    """Nodes that have nothing for the claim have NO_MENU."""
    cost: int
    """What it takes to evaluate its selectors for all devices. If it is too much, there is nothing for it."""
    evaluations: int
    """How often that is done, at most."""

    @property
    def is_too_dear(self) -> bool:
        return self.cost > MOST_COST_IN_ALL


def menu_column(spec: bytes, nodes: NodeView, inventory: Inventory) -> MenuColumn:
    return nodes.derived_with(inventory, ("menus", spec), lambda: _menu_column(spec, nodes, inventory))


def _menu_column(spec: bytes, nodes: NodeView, inventory: Inventory) -> MenuColumn:
    menus = menus_of(spec, inventory)
    looks = look_column(menus.reading, nodes, inventory)
    wide = claimed(menus.program, inventory.wide, inventory)
    cost, evaluations, numbers = wide.cost, wide.evaluations, [NO_MENU]
    for look, pools in looks.distinct:
        number, sight = menu(menus, look, pools, inventory)
        numbers.append(number)
        cost, evaluations = cost + sight.cost, evaluations + sight.evaluations
        if cost > MOST_COST_IN_ALL:
            return MenuColumn(np.zeros_like(looks.codes), cost, evaluations)
    return MenuColumn(np.array(numbers, dtype=np.int32)[looks.codes], cost, evaluations)


def sight_of(spec: bytes, pools: tuple[DevicePool, ...], inventory: Inventory) -> Claimed:
    """What of the pools of one node suits a claim."""
    menus = menus_of(spec, inventory)
    return menu(menus, look_of(menus.reading, pools, inventory), pools, inventory)[1]


def menus_of(spec: bytes, inventory: Inventory) -> Menus:
    known = inventory.findings.menus
    found: Menus | None = known.get(spec)
    if found is None:
        program = program_of(spec, inventory)
        found = known[spec] = Menus(
            program, reading_of(program, inventory), Bounded(MOST_LOOKS), Bounded(MOST_LOOKS)
        )
    return found


def menu(menus: Menus, look: int, pools: tuple[DevicePool, ...], inventory: Inventory) -> tuple[int, Claimed]:
    """Its number, and what is on it."""
    found = menus.by_look.get(look)
    if found is None:
        sight = claimed(menus.program, pools, inventory)
        number = NO_MENU
        if any(sight.selected) or not sight.complete:
            content = _content(menus.program, sight, pools)
            number = menus.by_content.get(content, NO_MENU) or new_number()
            menus.by_content[content] = number
        found = menus.by_look[look] = (number, sight)
    return found


def _content(program: Program, sight: Claimed, pools: tuple[DevicePool, ...]) -> Hashable:
    attributes = sorted({constraint.attribute for constraint in program.constraints})
    numbered = [dict[tuple[str, int | str], int]() for _ in attributes]
    rows, place = list[Hashable](), 0
    for number, pool in enumerate(pools):
        for device in pool.devices:
            bits = tuple(chosen >> place & 1 for chosen in (*sight.suiting, *sight.selected))
            place += 1
            counters = (number, device.counters) if device.counters else ()
            if not any(bits):
                rows.append(counters)
                continue
            values = tuple(
                renamed(device.value(attribute), items)
                for attribute, items in zip(attributes, numbered, strict=True)
            )
            rows.append((bits, values, traits(device), counters))
    totals = tuple((number, tuple(sorted(pool.counters.items()))) for number, pool in enumerate(pools))
    return tuple(rows), totals, sight.complete


# -- devices that several nodes can use ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WideDevices:
    """Devices of pools that belong to no single node."""

    pools: tuple[DevicePool, ...]
    offer: DeviceOffer
    codes: Codes
    """For each row the number of what it can reach."""
    reached: list[int]
    """By that number: the devices, as bits."""
    complete: list[bool]
    """By that number: whether all devices within reach are known, see `Claimed`."""

    def reach(self, row: int) -> tuple[int, bool]:
        """Both, of one row."""
        code = int(self.codes[row])
        return self.reached[code], self.complete[code]


def wide_devices(nodes: NodeView, inventory: Inventory) -> WideDevices:
    return nodes.derived_with(inventory, "wide", lambda: _wide_devices(nodes, inventory))


def _wide_devices(nodes: NodeView, inventory: Inventory) -> WideDevices:
    pools = inventory.wide
    offer = offer_of(pools)
    reaches = sorted({device.reach for device in offer.devices}, key=repr)
    bits = [
        sum(1 << place for place, device in enumerate(offer.devices) if device.reach == reach)
        for reach in reaches
    ]
    masks = [_reaching(reach, nodes) for reach in reaches]
    unknown: Mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for reach in {reach for pool in pools if pool.problem for reach in pool.reaches}:
        unknown |= _reaching(reach, nodes)
    distinct, codes = np.unique(np.stack([*masks, unknown], axis=1), axis=0, return_inverse=True)
    reached = [sum(part for part, there in zip(bits, row[:-1], strict=True) if there) for row in distinct]
    complete = [not row[-1] for row in distinct.tolist()]
    return WideDevices(pools, offer, codes.reshape(-1).astype(np.int32), reached, complete)


def _reaching(reach: Reach, nodes: NodeView) -> Mask:
    """The nodes that can use what has this reach."""
    mask: Mask = np.zeros(len(nodes.names), dtype=np.bool_)
    if reach.node:
        row = nodes.rows.get(reach.node)
        if row is not None:
            mask[row] = True
    elif reach.everywhere:
        mask = nodes.alive
    elif reach.selector is not None:
        mask = in_any_term(nodes, reach.selector.node_selector_terms)
    return mask & declaring_nodes(nodes, (reach.feature,)) if reach.feature else mask
