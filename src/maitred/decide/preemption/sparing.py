"""Victims are spared that need not leave after all: without any of the others the group would not fit."""

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.preemption.feasibility import Feasibility, Option
from maitred.decide.seating import by_shape

UNLIMITED = np.iinfo(np.int64).max // 4


def spare(feasibility: Feasibility, chosen: Mask, seats: Assignment) -> Option | None:
    """The same units without those that can stay, the most valuable first.

    None if that could not be found out within the steps of the cycle: no pod leaves in vain.
    """
    return _Sparing(feasibility).apply(chosen, seats)


def most_valuable_first(feasibility: Feasibility, chosen: Mask) -> list[int]:
    units, places = feasibility.units, np.flatnonzero(chosen)
    keys = (
        -units.oldest[places],
        units.size[places],
        units.work[places],
        units.rank[places],
        units.violating[places],
    )
    order: list[int] = places[np.lexsort(keys)[::-1]].tolist()
    return order


class _Sparing:
    def __init__(self, feasibility: Feasibility) -> None:
        self.feasibility, self.units = feasibility, feasibility.units

    def apply(self, chosen: Mask, seats: Assignment) -> Option | None:
        feasibility, units = self.feasibility, self.units
        if feasibility.plain:
            chosen = feasibility.touching(chosen, self._nodes_of(seats))
            slack = self._slack(chosen, seats)
            chosen = chosen & ~units.chosen(self._can_stay(chosen, slack))
        else:
            chosen, seats = self._tried(chosen, seats)
            if not feasibility.goes_on():
                return None
            slack = self._slack(chosen, seats)
        chosen = self._let_gangs_stay(chosen, slack)
        return Option(chosen, seats, units.price(chosen))

    def _nodes_of(self, seats: Assignment) -> Mask:
        there = np.zeros(len(self.feasibility.trial.nodes.names), dtype=np.bool_)
        there[[row for _, row in seats]] = True
        return there

    def _can_stay(self, chosen: Mask, slack: Ints) -> list[int]:
        """Units that leave room enough for these seats together, the most valuable first; it is taken."""
        feasibility, units = self.feasibility, self.units
        order = most_valuable_first(feasibility, chosen & ~self._indispensable(chosen, slack))
        if not order:
            return []
        entries = units.entries_in_turn(np.array(order, dtype=np.int64))
        nodes, freed = feasibility.nodes[entries], feasibility.freed(entries)
        if len(entries) == len(order):
            return [order[place] for place in take_in_turn(slack, nodes, freed).tolist()]
        spared, start = list[int](), 0
        for unit, end in zip(order, np.cumsum(units.size[order]).tolist(), strict=True):
            if take(slack, nodes[start:end], freed[:, start:end]):
                spared.append(unit)
            start = end
        return spared

    def _tried(self, chosen: Mask, seats: Assignment) -> tuple[Mask, Assignment]:
        """Where members mind which pods they are with, none is let off before it was tried. First all
        together of which nothing is needed, then half of them, and so on; seats may be others afterwards, so
        once more."""
        needed = np.zeros_like(chosen)
        while True:
            spared = self._can_stay(chosen & ~needed, self._slack(chosen, seats))
            if not spared:
                return chosen, seats
            before = chosen
            chosen, seats = self._without(chosen, seats, spared)
            needed |= chosen & self.units.chosen(spared)
            if (chosen == before).all() or not self.feasibility.goes_on():
                return chosen, seats

    def _without(self, chosen: Mask, seats: Assignment, spared: list[int]) -> tuple[Mask, Assignment]:
        """As many of these let off as can be."""
        fewer = chosen & ~self.units.chosen(spared)
        found = self.feasibility.seats(fewer)
        if found is not None:
            return fewer, found
        if len(spared) == 1 or not self.feasibility.goes_on():
            return chosen, seats
        half = len(spared) // 2
        for part in (spared[:half], spared[half:]):
            chosen, seats = self._without(chosen, seats, part)
        return chosen, seats

    def _let_gangs_stay(self, chosen: Mask, slack: Ints) -> Mask:
        """With the pods that must leave in place of a whole gang that can spare as many."""
        feasibility, units = self.feasibility, self.units
        for unit in np.flatnonzero(chosen & units.divisible).tolist():
            needed, left = list[int](), slack.copy()
            leading = units.leading_in(unit)
            if not take(left, feasibility.nodes[leading], feasibility.freed(leading)):
                continue
            for single in self._smallest_first(units.in_part(unit)):
                entries = units.entries(single)
                if not take(left, feasibility.nodes[entries], feasibility.freed(entries)):
                    needed.append(single)
            if len(needed) > units.surplus_of(int(units.family[unit])):
                continue
            fewer = chosen.copy()
            fewer[unit] = False
            fewer[needed] = True
            if feasibility.plain or feasibility.seats(fewer) is not None:
                chosen, slack = fewer, left
        return chosen

    def _smallest_first(self, singles: Ints) -> list[int]:
        """Single pods by what they take: the more of them can stay, the fewer must leave."""
        first = np.searchsorted(self.units.unit, singles)
        share = self.feasibility.freed(first) / np.maximum(self.feasibility.uses.max(axis=0), 1)[:, None]
        order: list[int] = singles[np.argsort(share.max(axis=0), kind="stable")].tolist()
        return order

    def _indispensable(self, chosen: Mask, slack: Ints) -> Mask:
        """Units with a pod that there is no room for: seen at once, where looking at each takes long."""
        feasibility, indispensable = self.feasibility, np.zeros(len(self.units), dtype=np.bool_)
        entries = self.units.entries_of(chosen)
        left = np.take(slack, feasibility.nodes[entries], axis=1)
        short = (left < feasibility.freed(entries)).any(axis=0)
        indispensable[self.units.unit[entries[short]]] = True
        return indispensable

    def _slack(self, chosen: Mask, seats: Assignment) -> Ints:
        """What is left of every resource that members ask for, on the nodes that they would sit on."""
        feasibility, there = self.feasibility, self._nodes_of(seats)
        rows, place = np.flatnonzero(there), np.empty(len(there), dtype=np.intp)
        place[rows] = np.arange(len(rows))
        needed = np.zeros((len(feasibility.columns), len(rows)), dtype=np.int64)
        seated = by_shape(feasibility.ask, seats)
        for shape, use in zip(feasibility.ask.distinct, feasibility.uses, strict=True):
            needed += np.outer(use, np.bincount(place[seated.get(shape, [])], minlength=len(rows)))
        gone = self.units.entries_of(chosen)
        gone = gone[there[feasibility.nodes[gone]]]
        left, nodes = feasibility.free_on(rows), place[feasibility.nodes[gone]]
        for column, freed in zip(left, feasibility.freed(gone), strict=True):
            np.add.at(column, nodes, freed)
        slack = np.full((len(feasibility.columns), len(there)), UNLIMITED)
        slack[:, rows] = np.where(needed > 0, left - needed, UNLIMITED)
        return slack


def take_in_turn(slack: Ints, nodes: Rows, freed: Ints) -> Ints:
    """Of pods that may stay one after the other, those for which enough is left in their turn; it is taken.

    Nodes have nothing to do with each other, so the next of every node has its turn at once.
    """
    taken, left = np.zeros(len(nodes), dtype=np.bool_), np.arange(len(nodes))
    following = np.zeros(slack.shape[1], dtype=np.int64)
    while len(left):
        enough = np.take(freed, left, axis=1) <= np.take(slack, nodes[left], axis=1)
        left = left[enough.all(axis=0)]
        following[nodes[left[::-1]]] = left[::-1]  # of several on a node, the first is written last
        is_next = following[nodes[left]] == left
        now, left = left[is_next], left[~is_next]
        for column, each in zip(slack, freed, strict=True):
            column[nodes[now]] -= each[now]
        taken[now] = True
    return np.flatnonzero(taken)


def take(slack: Ints, nodes: Rows, freed: Ints) -> bool:
    """Whether so much is left on these nodes; it is taken then."""
    if len(nodes) == 1:
        left = slack[:, nodes[0]]
        if (freed[:, 0] > left).any():
            return False
        left -= freed[:, 0]
        return True
    rows, inverse = np.unique(nodes, return_inverse=True)
    total = np.zeros((len(freed), len(rows)), dtype=np.int64)
    for column, each in zip(total, freed, strict=True):
        np.add.at(column, inverse, each)
    if (total > slack[:, rows]).any():
        return False
    slack[:, rows] -= total
    return True
