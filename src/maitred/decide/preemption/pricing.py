"""In which order units are best made to leave: those first whose places are cheapest per member seated.

On every node its units are put in order of what they cost for what they free; each member more that the node
can then take is a slot, at the price of those who leave for it. Slots of all nodes together, cheapest first,
give the order. It is a guide for the search and not a result, so it works with one price and one shape.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.decide.preemption.feasibility import Feasibility
from maitred.decide.preemption.units import Floats, Units
from maitred.decide.seats import PASS

ROUNDS = 8
"""Units that sit on several nodes make those cheaper together than one by one: priced again so often."""
NO_SLOT = np.iinfo(np.int64).max
SHORT = 2**16


@dataclass(frozen=True, slots=True)
class Pass:
    """One look at the slots of some nodes."""

    order: Ints
    """Units, best first; those that make no slot are left out."""
    enough: int
    """How many of them make as many slots as were wanted, or all if there are fewer slots."""
    price: float
    """Of these; infinite if there are fewer slots than wanted."""

    def without(self, unit: int) -> "Pass":
        """The same if one of them may not leave: the next comes in its place."""
        return Pass(self.order[self.order != unit], self.enough, self.price)


def in_order(feasibility: Feasibility, candidates: Mask, within: Mask) -> Pass:
    """The units of some nodes, best first, priced round by round where they sit on several nodes."""
    units = feasibility.units
    spread = not units.single and bool((candidates & (units.size > 1)).any())
    free, left = feasibility.trial.columns.free[feasibility.columns], candidates.copy()
    chosen, price = list[Ints](), 0.0
    rounds = ROUNDS if spread else 1
    for turn in range(rounds, 0, -1):
        found = _look(feasibility, left, within, free, turn)
        taken = found.order[: found.enough]
        chosen.append(taken)
        price += found.price
        left[taken] = False
        if turn == 1 or not len(taken):
            enough = sum(map(len, chosen))
            return Pass(np.concatenate((*chosen, found.order[found.enough :])), enough, price)
        gone = units.entries_of(units.chosen(taken))
        for column, freed in zip(free, feasibility.freed(gone), strict=True):
            np.add.at(column, feasibility.nodes[gone], freed)
    raise AssertionError("the last round returns")


def by_domain(feasibility: Feasibility, candidates: Mask) -> Floats:
    """What it costs at first sight to make room in each domain; infinite where there is too little."""
    slots = _slots(
        feasibility, candidates, feasibility.useful, feasibility.trial.columns.free[feasibility.columns]
    )
    domains = max(1, int(feasibility.domains.max(initial=0)) + 1)
    inside = feasibility.useful & (feasibility.domains >= 0)
    have = np.bincount(feasibility.domains[inside], weights=slots.room[inside], minlength=domains).astype(
        np.int64
    )
    missing = np.maximum(feasibility.ask.need - have, 0)
    ends = np.flatnonzero(slots.gained > 0)
    price, gained, domain = slots.prices(ends), slots.gained[ends], feasibility.domains[slots.nodes[ends]]
    order = _order(domain, price / gained)
    price, gained, domain = price[order], gained[order], domain[order]
    before = np.cumsum(gained) - gained
    first = np.searchsorted(domain, np.arange(domains))
    reached = before - np.append(before, 0)[first[domain]]
    needed = reached < missing[domain]
    total: Floats = np.bincount(domain[needed], weights=price[needed], minlength=domains).astype(np.float64)
    total[have + np.bincount(domain, weights=gained, minlength=domains) < feasibility.ask.need] = np.inf
    return total


@dataclass(frozen=True, slots=True)
class Slots:
    """Pods that may leave, node by node, the cheapest for what they free first."""

    room: Ints
    """Members that every node has room for as it is."""
    entries: Ints
    nodes: Rows
    starts: Rows
    """Where the entries of each node begin."""
    cost: Floats
    gained: Ints
    """Members that the node can take more, once this pod and those before it have left."""

    def prices(self, ends: Ints) -> Floats:
        """Of the slots that end with these: what it costs that all have left since the last of their node."""
        spent = np.cumsum(self.cost)
        start = np.concatenate(([0.0], spent[ends][:-1]))
        new_node = _starts(self.nodes[ends])
        first = self.starts[np.searchsorted(self.starts, ends[new_node], "right") - 1]
        start[new_node] = spent[first] - self.cost[first]
        return spent[ends] - start


def _slots(feasibility: Feasibility, candidates: Mask, within: Mask, free: Ints) -> Slots:
    """`free`: what there is of the resources that members ask for."""
    shape = int(np.argmax([feasibility.ask.shapes.count(shape) for shape in feasibility.ask.distinct]))
    uses, cap = feasibility.uses[shape][:, None], feasibility.empty.copies[shape]
    room = _fitting(free, uses, np.where(within, cap, 0))
    # Where there is enough of something for all that a node could ever take, it does not matter any more.
    short: Mask = (free < uses * np.maximum(cap, 1)) & (uses > 0) & within & (cap > 0)
    scarce: Mask = np.any(short, axis=1)
    free, uses, short = free[scarce], uses[scarce], short[scarce]
    entries, nodes = feasibility.units.on_nodes(np.flatnonzero(within & (cap > 0)))
    kept = np.flatnonzero(candidates[feasibility.units.unit[entries]])
    entries, nodes = entries[kept], nodes[kept]
    feasibility.context.meter.take(PASS + len(feasibility.nodes) + 2 * len(entries))
    gain = _gain(feasibility, entries, nodes, scarce, uses, short)
    kept = np.flatnonzero(gain)
    entries, nodes, gain = entries[kept], nodes[kept], gain[kept]
    cost = _cost(feasibility.units, entries)
    order = _order(nodes, cost / gain)
    entries, nodes, cost = entries[order], nodes[order], cost[order]
    starts = np.flatnonzero(_starts(nodes))
    totals = [
        _on_top(freed, have[nodes[starts]], starts)
        for have, freed in zip(free, feasibility.freed(entries, scarce), strict=True)
    ]
    copies = _fitting(totals, uses, cap[nodes])
    gained = np.diff(copies, prepend=0)
    gained[starts] = copies[starts] - room[nodes[starts]]
    return Slots(room, entries, nodes, starts, cost, np.maximum(gained, 0))


def _on_top(freed: Ints, have: Ints, starts: Rows) -> Ints:
    """What each node has once an entry and those before it have left, on top of what it has now."""
    total = np.cumsum(freed)
    have = have + freed[starts] - total[starts]
    total += np.repeat(have, np.diff(starts, append=len(freed)))
    return total


def _gain(
    feasibility: Feasibility, entries: Ints, nodes: Rows, scarce: Mask, uses: Ints, short: Mask
) -> Floats:
    """For how many members each entry frees enough of that for which it frees most, if its node is short of
    it."""
    gain, needs = np.zeros(len(entries)), feasibility.units.needs[entries]
    for share, lacking in zip(feasibility.freed_by_needs[scarce] / uses, short, strict=True):
        np.maximum(gain, share[needs] * lacking[nodes], out=gain)
    return gain


def _fitting(room: Iterable[Ints], uses: Ints, most: Ints) -> Ints:
    """How many members so much room is enough for, but at most so many."""
    copies = most
    for each, use in zip(room, uses[:, 0].tolist(), strict=True):
        if use:
            copies = np.minimum(copies, each // use)
    return np.maximum(copies, 0)


def _order(nodes: Rows | Codes, ratio: Floats) -> Rows:
    """By node, or by domain, then by ratio, else as they come. Numbers of two parts are compared part by
    part, and what is nearly in order, as entries by node are, is sorted in a fraction of the time."""
    key = np.empty(len(nodes), dtype=np.complex128)
    key.real, key.imag = nodes, ratio
    return np.argsort(key, kind="stable")


def _argsort(numbers: Ints, below: int) -> Rows:
    """Of numbers that are all less than this; the short ones are sorted in a fraction of the time."""
    return np.argsort(numbers.astype(np.uint16) if below <= SHORT else numbers, kind="stable")


def _look(feasibility: Feasibility, candidates: Mask, within: Mask, free: Ints, rounds: int) -> Pass:
    """Slots for one part in `rounds` of those who still have no room."""
    slots = _slots(feasibility, candidates, within, free)
    missing = -(-max(0, feasibility.ask.need - int(slots.room.sum())) // rounds)
    return _rank(feasibility, slots, missing)


def _starts(nodes: Rows) -> Mask:
    """Where another node begins; entries are sorted by node."""
    first = np.ones(len(nodes), dtype=np.bool_)
    first[1:] = nodes[1:] != nodes[:-1]
    return first


def _cost(units: Units, entries: Ints) -> Floats:
    """Of each entry its part of what its unit costs."""
    unit = units.unit[entries]
    if units.single:
        return units.cost[unit]
    cost: Floats = units.cost[unit] / np.bincount(unit, minlength=len(units))[unit]
    return cost


def _rank(feasibility: Feasibility, slots: Slots, missing: int) -> Pass:
    """Slots by their price per member, those of one node in their order; then units by their first slot."""
    entries, nodes, gained = slots.entries, slots.nodes, slots.gained
    ends = np.flatnonzero(gained > 0)
    if not len(ends):
        return Pass(np.zeros(0, dtype=np.int64), 0, 0.0 if not missing else np.inf)
    price = slots.prices(ends)
    place = np.empty(len(ends), dtype=np.int64)
    place[np.argsort(price / gained[ends], kind="stable")] = np.arange(len(ends))
    # No slot comes before an earlier one of its node.
    lane = np.cumsum(_starts(nodes[ends])) * len(ends)
    place = np.maximum.accumulate(place + lane) - lane
    turn = _argsort(place, len(ends))
    reached = np.cumsum(gained[ends][turn])
    enough = int(np.searchsorted(reached, missing)) + 1 if missing else 0
    position = np.empty(len(ends), dtype=np.int64)
    position[turn] = np.arange(len(ends))
    slot: Ints = np.cumsum(gained > 0) - (gained > 0)
    inside = slot < len(ends)
    inside[inside] &= nodes[ends[slot[inside]]] == nodes[inside]
    order, first_slot = _by_first_slot(
        feasibility.units, feasibility.units.unit[entries[inside]], position[slot[inside]]
    )
    count = int(np.searchsorted(first_slot, enough))
    short = missing > int(reached[-1])
    return Pass(order, count, float("inf") if short else float(price[turn[:enough]].sum()))


def _by_first_slot(units: Units, unit: Ints, slots: Ints) -> tuple[Ints, Ints]:
    """Units in the order of the first slots that they have a part in, and with each that slot."""
    if units.single:  # then each of them comes once
        order = _argsort(unit, len(units))
        order = order[_argsort(slots[order], len(slots))]
        return unit[order], slots[order]
    first = np.full(len(units), NO_SLOT)
    np.minimum.at(first, unit, slots)
    involved = np.flatnonzero(first < NO_SLOT)
    involved = involved[np.argsort(first[involved], kind="stable")]
    return involved, first[involved]
