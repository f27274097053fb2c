"""Whoever need not leave after all is let off: with any unit that is left back, the group would not fit."""

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.preemption.site import Option, Site

UNLIMITED = np.iinfo(np.int64).max // 4


def let_off(site: Site, chosen: Mask, seats: Assignment) -> Option | None:
    """The same units without those that can stay, the most valuable first.

    None if that could not be found out within the steps of the cycle: nobody leaves in vain.
    """
    return _Leniency(site).apply(chosen, seats)


def most_valuable_first(site: Site, chosen: Mask) -> list[int]:
    units, places = site.units, np.flatnonzero(chosen)
    keys = (
        -units.oldest[places],
        units.size[places],
        units.work[places],
        units.priority[places],
        units.violating[places],
    )
    order: list[int] = places[np.lexsort(keys)[::-1]].tolist()
    return order


class _Leniency:
    def __init__(self, site: Site) -> None:
        self.site, self.units = site, site.units

    def apply(self, chosen: Mask, seats: Assignment) -> Option | None:
        site, units = self.site, self.units
        if site.plain:
            chosen = site.touching(chosen, self._nodes_of(seats))
            slack = self._slack(chosen, seats)
            chosen = chosen & ~units.chosen(self._can_stay(chosen, slack))
        else:
            chosen, seats = self._tried(chosen, seats)
            if not site.goes_on():
                return None
            slack = self._slack(chosen, seats)
        chosen = self._let_gangs_stay(chosen, slack)
        return Option(chosen, seats, units.price(chosen))

    def _nodes_of(self, seats: Assignment) -> Mask:
        there = np.zeros(len(self.site.trial.nodes.names), dtype=np.bool_)
        there[[row for _, row in seats]] = True
        return there

    def _can_stay(self, chosen: Mask, slack: Ints) -> list[int]:
        """Units that leave room enough for these seats together, the most valuable first; it is taken."""
        site, units = self.site, self.units
        order = most_valuable_first(site, chosen & ~self._indispensable(chosen, slack))
        entries = units.entries_in_turn(np.array(order, dtype=np.int64))
        nodes, freed, spared, start = site.nodes[entries], site.freed_by(entries), list[int](), 0
        for unit, end in zip(order, np.cumsum(units.size[order]).tolist(), strict=True):
            if _take(slack, nodes[start:end], freed[start:end]):
                spared.append(unit)
            start = end
        return spared

    def _tried(self, chosen: Mask, seats: Assignment) -> tuple[Mask, Assignment]:
        """Where members mind whom they are with, nobody is let off before it was tried. First all together of
        whom nothing is needed, then half of them, and so on; seats may be others afterwards, so once more."""
        needed = np.zeros_like(chosen)
        while True:
            spared = self._can_stay(chosen & ~needed, self._slack(chosen, seats))
            if not spared:
                return chosen, seats
            before = chosen
            chosen, seats = self._without(chosen, seats, spared)
            needed |= chosen & self.units.chosen(spared)
            if (chosen == before).all() or not self.site.goes_on():
                return chosen, seats

    def _without(self, chosen: Mask, seats: Assignment, spared: list[int]) -> tuple[Mask, Assignment]:
        """As many of these let off as can be."""
        fewer = chosen & ~self.units.chosen(spared)
        found = self.site.seats(fewer)
        if found is not None:
            return fewer, found
        if len(spared) == 1 or not self.site.goes_on():
            return chosen, seats
        half = len(spared) // 2
        for part in (spared[:half], spared[half:]):
            chosen, seats = self._without(chosen, seats, part)
        return chosen, seats

    def _let_gangs_stay(self, chosen: Mask, slack: Ints) -> Mask:
        """With the pods that must leave in place of a whole gang that can spare as many."""
        site, units = self.site, self.units
        for unit in np.flatnonzero(chosen & units.divisible).tolist():
            needed, left = list[int](), slack.copy()
            for single in self._smallest_first(units.in_part(unit)):
                entries = units.entries(single)
                if not _take(left, site.nodes[entries], site.freed_by(entries)):
                    needed.append(single)
            if len(needed) > units.surplus_of(int(units.family[unit])):
                continue
            fewer = chosen.copy()
            fewer[unit] = False
            fewer[needed] = True
            if site.plain or site.seats(fewer) is not None:
                chosen, slack = fewer, left
        return chosen

    def _smallest_first(self, singles: Ints) -> list[int]:
        """Single pods by what they take: the more of them can stay, the fewer must leave."""
        first = np.searchsorted(self.units.unit, singles)
        share = self.site.freed_by(first)[:, self.site.columns] / np.maximum(self.site.uses.max(axis=0), 1)
        order: list[int] = singles[np.argsort(share.max(axis=1), kind="stable")].tolist()
        return order

    def _indispensable(self, chosen: Mask, slack: Ints) -> Mask:
        """Units with a pod that there is no room for: seen at once, where looking at each takes long."""
        site, indispensable = self.site, np.zeros(len(self.units), dtype=np.bool_)
        entries = self.units.entries_of(chosen)
        short = (slack.T[site.nodes[entries]] < site.freed_by(entries)).any(axis=1)
        indispensable[self.units.unit[entries[short]]] = True
        return indispensable

    def _slack(self, chosen: Mask, seats: Assignment) -> Ints:
        """What is left of every resource that members need on the nodes that they would sit on."""
        site = self.site
        slack = np.full_like(site.trial.free, UNLIMITED)
        gone = self.units.entries_of(chosen)
        rows = np.array([row for _, row in seats], dtype=np.intp)
        uses = site.uses[[site.ask.distinct.index(site.ask.shapes[member]) for member, _ in seats]]
        needed = np.zeros((len(site.columns), slack.shape[1]), dtype=np.int64)
        np.add.at(needed.T, rows, uses)
        left = site.trial.free[site.columns] - needed
        np.add.at(left.T, site.nodes[gone], site.freed_by(gone)[:, site.columns])
        slack[site.columns] = np.where(needed > 0, left, UNLIMITED)
        return slack


def _take(slack: Ints, nodes: Codes, freed: Ints) -> bool:
    """Whether so much is left on these nodes; it is taken then."""
    if len(nodes) == 1:
        left = slack[:, nodes[0]]
        if (freed[0] > left).any():
            return False
        left -= freed[0]
        return True
    rows, inverse = np.unique(nodes, return_inverse=True)
    total = np.zeros((len(rows), freed.shape[1]), dtype=np.int64)
    np.add.at(total, inverse, freed)
    if (total > slack[:, rows].T).any():
        return False
    slack[:, rows] -= total.T
    return True
