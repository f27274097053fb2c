"""In which order units are best made to leave: those first whose places are cheapest per member seated.

On every node its units are put in order of what they cost for what they free; each member more that the node
can then take is a slot, at the price of those who leave for it. Slots of all nodes together, cheapest first,
give the order. It is a guide for the search and not a result, so it works with one price and one shape.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.nodes import Ints, Mask
from maitred.decide.preemption.site import Site
from maitred.decide.preemption.units import STEP, Units
from maitred.decide.seats import PASS

Floats = NDArray[np.float64]

VIOLATION, UNIT, POD = 1e9, 1e-2, 1e-4
"""What a broken budget, a unit and a pod weigh, in steps of work lost."""
ROUNDS = 8
"""Units that sit on several nodes make those cheaper together than one by one: priced again so often."""


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


def in_order(site: Site, candidates: Mask, within: Mask) -> Pass:
    """The units of some nodes, best first, priced round by round where they sit on several nodes."""
    units = site.units
    spread = bool((units.size[candidates] > 1).any())
    free, left = site.trial.free.copy(), candidates.copy()
    chosen, price = list[int](), 0.0
    rounds = ROUNDS if spread else 1
    for turn in range(rounds, 0, -1):
        found = _look(site, left, within, free, turn)
        taken = found.order[: found.enough]
        chosen += taken.tolist()
        price += found.price
        left[taken] = False
        if turn == 1 or not len(taken):
            rest = found.order[found.enough :]
            return Pass(np.array([*chosen, *rest.tolist()], dtype=np.int64), len(chosen), price)
        gone = units.entries_of(units.chosen(taken))
        np.add.at(free.T, site.nodes[gone], site.freed_by(gone))
    raise AssertionError("the last round returns")


def by_domain(site: Site, candidates: Mask) -> Floats:
    """What it costs at first sight to make room in each domain; infinite where there is too little."""
    slots = _slots(site, candidates, site.useful, site.trial.free)
    domains = max(1, int(site.domains.max(initial=0)) + 1)
    inside = site.useful & (site.domains >= 0)
    have = np.bincount(site.domains[inside], weights=slots.room[inside], minlength=domains).astype(np.int64)
    missing = np.maximum(site.ask.need - have, 0)
    ends = np.flatnonzero(slots.gained > 0)
    price, gained, domain = slots.prices(ends), slots.gained[ends], site.domains[slots.nodes[ends]]
    order = np.lexsort((price / gained, domain))
    price, gained, domain = price[order], gained[order], domain[order]
    before = np.cumsum(gained) - gained
    first = np.searchsorted(domain, np.arange(domains))
    reached = before - np.append(before, 0)[first[domain]]
    needed = reached < missing[domain]
    total: Floats = np.bincount(domain[needed], weights=price[needed], minlength=domains).astype(np.float64)
    total[have + np.bincount(domain, weights=gained, minlength=domains) < site.ask.need] = np.inf
    return total


@dataclass(frozen=True, slots=True)
class Slots:
    """Pods that may leave, node by node, the cheapest for what they free first."""

    room: Ints
    """Members that every node has room for as it is."""
    entries: Ints
    nodes: Ints
    cost: Floats
    gained: Ints
    """Members that the node can take more, once this pod and those before it have left."""

    def prices(self, ends: Ints) -> Floats:
        """Of the slots that end with these: what it costs that all have left since the last of their node."""
        spent = np.cumsum(self.cost)
        start = np.concatenate(([0.0], spent[ends][:-1]))
        new_node = _starts(self.nodes[ends])
        firsts = _before(self.nodes)[ends]
        start[new_node] = spent[firsts[new_node]] - self.cost[firsts[new_node]]
        return spent[ends] - start


def _slots(site: Site, candidates: Mask, within: Mask, free: Ints) -> Slots:
    shape = int(np.argmax([site.ask.shapes.count(shape) for shape in site.ask.distinct]))
    uses, columns = site.uses[shape], site.columns
    asked = uses > 0
    uses, columns = uses[asked], columns[asked]
    cap, free = site.empty.copies[shape], free[columns]
    room = np.where(within, np.clip((free // uses[:, None]).min(axis=0), 0, cap), 0)
    entries = np.flatnonzero(candidates[site.units.unit] & (within & (cap > 0))[site.nodes])
    site.house.meter.take(PASS + len(site.nodes) + 2 * len(entries))
    freed, nodes = site.freed_by(entries)[:, columns], site.nodes[entries]
    short = free.T[nodes] < uses * np.maximum(cap[nodes], 1)[:, None]
    gain = np.where(short, freed / uses, 0.0).max(axis=1, initial=0.0)
    kept = gain > 0
    entries, freed, nodes, gain = entries[kept], freed[kept], nodes[kept], gain[kept]
    cost = _cost(site.units, entries)
    order = np.lexsort((site.units.unit[entries], cost / gain, nodes))
    entries, freed, nodes, cost = entries[order], freed[order], nodes[order], cost[order]
    before = _before(nodes)
    total = np.cumsum(freed, axis=0)
    total -= (total - freed)[before]
    copies = np.clip(((free.T[nodes] + total) // uses).min(axis=1), 0, cap[nodes])
    gained = np.diff(copies, prepend=0)
    first = before == np.arange(len(nodes))
    gained[first] = copies[first] - room[nodes[first]]
    return Slots(room, entries, nodes, cost, np.maximum(gained, 0))


def _look(site: Site, candidates: Mask, within: Mask, free: Ints, rounds: int) -> Pass:
    """Slots for one part in `rounds` of those who still have no room."""
    slots = _slots(site, candidates, within, free)
    missing = -(-max(0, site.ask.need - int(slots.room.sum())) // rounds)
    return _rank(site, slots, missing)


def _starts(nodes: Ints) -> Mask:
    """Where another node begins; entries are sorted by node."""
    first = np.ones(len(nodes), dtype=np.bool_)
    first[1:] = nodes[1:] != nodes[:-1]
    return first


def _before(nodes: Ints) -> Ints:
    """For each entry the first of the same node; entries are sorted by node."""
    return np.maximum.accumulate(np.where(_starts(nodes), np.arange(len(nodes)), 0))


def _cost(units: Units, entries: Ints) -> Floats:
    """Of each entry its part of what its unit costs."""
    whole = units.work / STEP + UNIT + POD * units.size + VIOLATION * units.violating
    parts = np.bincount(units.unit[entries], minlength=len(units))
    cost: Floats = (whole / np.maximum(parts, 1))[units.unit[entries]]
    return cost


def _rank(site: Site, slots: Slots, missing: int) -> Pass:
    """Slots by their price per member, those of one node in their order; then units by their first slot."""
    entries, nodes, gained = slots.entries, slots.nodes, slots.gained
    ends = np.flatnonzero(gained > 0)
    if not len(ends):
        return Pass(np.zeros(0, dtype=np.int64), 0, 0.0 if not missing else np.inf)
    price = slots.prices(ends)
    place = np.empty(len(ends), dtype=np.int64)
    place[np.lexsort((np.arange(len(ends)), price / gained[ends]))] = np.arange(len(ends))
    # No slot comes before an earlier one of its node.
    lane = np.cumsum(_starts(nodes[ends])) * len(ends)
    place = np.maximum.accumulate(place + lane) - lane
    turn = np.lexsort((np.arange(len(ends)), place))
    reached = np.cumsum(gained[ends][turn])
    enough = int(np.searchsorted(reached, missing)) + 1 if missing else 0
    position = np.empty(len(ends), dtype=np.int64)
    position[turn] = np.arange(len(ends))
    slot = np.searchsorted(ends, np.arange(len(entries)))
    inside = slot < len(ends)
    inside[inside] &= nodes[ends[slot[inside]]] == nodes[inside]
    first_slot = np.full(len(site.units), len(ends), dtype=np.int64)
    np.minimum.at(first_slot, site.units.unit[entries[inside]], position[slot[inside]])
    involved = np.flatnonzero(first_slot < len(ends))
    order = involved[np.argsort(first_slot[involved], kind="stable")]
    count = int(np.searchsorted(first_slot[order], enough))
    short = missing > int(reached[-1])
    return Pass(order, count, float("inf") if short else float(price[turn[:enough]].sum()))
