"""Which units leave: the cheapest set that makes room for the whole quorum, in one search for where and whom.

A set is compared by its Price. What is needed at most is found first: the least by broken budgets and by the
highest priority touched. Within that, the order of pricing gives a set for each of the most promising
domains, from which whoever need not leave is let off, the most valuable first. Where units are few, all sets
are compared, so that the result is the cheapest there is.
"""

from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.preemption.exact import POOL, Option, cheapest
from maitred.decide.preemption.pricing import Pass, in_order
from maitred.decide.preemption.site import Site

DOMAINS = 3
"""How many of the most promising domains are looked at closely."""
REFINED = 8
"""Sets of at most so many units are compared with all others of themselves and their next best."""
IMPROVEMENTS = 3
ALTERNATIVES = 2
UNLIMITED = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True)
class Choice:
    best: Option
    others: tuple[Option, ...]
    """The next best, none of which the best is part of."""


def choose(site: Site) -> Choice | None:
    """None if not even all candidates together would make enough room."""
    pool = np.flatnonzero(site.helpful)
    if not len(pool):
        return None
    if len(pool) <= POOL:
        found = cheapest(site, pool, None, 1 + ALTERNATIVES)
        return Choice(found[0], tuple(found[1:])) if found else None
    return _Search(site).run()


class _Search:
    """For more units than sets of them could be compared one by one."""

    def __init__(self, site: Site) -> None:
        self.site, self.units = site, site.units

    def run(self) -> Choice | None:
        candidates = self._needed_at_most()
        if candidates is None:
            return None
        options = self._options(candidates)
        if not options:
            return None
        best, order = options[0]
        for _ in range(IMPROVEMENTS):
            better = self._refine(best, order)
            if better is None:
                break
            best = better
        known = [option for option, _ in options]
        return Choice(best, tuple(self._others(best, known, candidates)))

    # -- at most ---------------------------------------------------------------------------------------

    def _needed_at_most(self) -> Mask | None:
        """The candidates without those whose budgets, or whose priority, need not be touched."""
        units, candidates = self.units, self._all_together()
        if candidates is None:
            return None
        keys = np.stack((units.violating.astype(np.int64), units.priority))
        grade = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
        low, high = -1, int(grade[candidates].max())
        while high - low > 1:
            middle = (low + high) // 2
            if self._seats(candidates & (grade <= middle)) is None:
                low = middle
            else:
                high = middle
        return candidates & (grade <= high)

    def _all_together(self) -> Mask | None:
        """All candidates, if that is enough; but for those whom members must be near, if it is not."""
        helpful = self.site.helpful
        if self._seats(helpful) is not None:
            return helpful
        needed = self.site.company
        if not needed.any() or self._seats(helpful & ~needed) is None:
            return None
        return helpful & ~needed

    def _seats(self, chosen: Mask) -> Assignment | None:
        return self.site.seats(self.units.closed(chosen))

    # -- enough ----------------------------------------------------------------------------------------

    def _options(self, candidates: Mask) -> list[tuple[Option, Ints]]:
        """A set for each of the most promising domains, cheapest first, each with the order it came from."""
        site = self.site
        within = (site.useful & (site.domains == domain) for domain in site.each_domain())
        passes = sorted((in_order(site, candidates, nodes) for nodes in within), key=lambda each: each.price)
        everyone = Pass(np.flatnonzero(candidates), int(candidates.sum()), np.inf)
        options = list[tuple[Option, Ints]]()
        for found in (*passes[:DOMAINS], everyone):
            option = self._enough(found) if found is not everyone or not options else None
            if option is not None:
                options.append((option, found.order))
        return sorted(options, key=lambda pair: (pair[0].price, self.units.tie(pair[0].chosen)))

    def _enough(self, found: Pass) -> Option | None:
        """A beginning of the order that makes room, without those who need not leave for it."""
        count = found.enough
        while True:
            chosen = self.units.closed(self.units.chosen(found.order[:count].tolist()))
            seats = self.site.seats(chosen)
            if seats is not None:
                return self._let_off(chosen, seats)
            if count >= len(found.order):
                return None
            count = min(len(found.order), max(count + 1, count * 3 // 2))

    # -- no more than enough ---------------------------------------------------------------------------

    def _let_off(self, chosen: Mask, seats: Assignment) -> Option:
        """Without the units that can stay, the most valuable first."""
        site, units = self.site, self.units
        slack = self._slack(chosen, seats)
        for unit in self._most_valuable_first(chosen & ~self._indispensable(slack)):
            entries = slice(*np.searchsorted(units.unit, (unit, unit + 1)))
            if not _take(slack, site.nodes[entries], site.freed[entries]):
                continue
            fewer = chosen.copy()
            fewer[unit] = False
            if site.plain:
                chosen = fewer
                continue
            found = site.seats(fewer)
            if found is not None:
                chosen, seats = fewer, found
            slack = self._slack(chosen, seats)
        chosen = self._let_gangs_stay(chosen, slack)
        return Option(chosen, seats, units.price(chosen))

    def _let_gangs_stay(self, chosen: Mask, slack: Ints) -> Mask:
        """With the pods that must leave in place of a whole gang that can spare as many."""
        site, units = self.site, self.units
        for unit in np.flatnonzero(chosen & units.whole).tolist():
            singles = units.in_part(unit)
            needed, left = list[int](), slack.copy()
            for single in singles.tolist():
                entries = slice(*np.searchsorted(units.unit, (single, single + 1)))
                if not _take(left, site.nodes[entries], site.freed[entries]):
                    needed.append(single)
            if 0 < len(needed) <= units.surplus_of(int(units.family[unit])) and len(singles):
                fewer = chosen.copy()
                fewer[unit] = False
                fewer[needed] = True
                if site.plain or site.seats(fewer) is not None:
                    chosen, slack = fewer, left
        return chosen

    def _indispensable(self, slack: Ints) -> Mask:
        """Units with a pod that there is no room for: seen at once, where looking at each takes long."""
        site, indispensable = self.site, np.zeros(len(self.units), dtype=np.bool_)
        indispensable[self.units.unit[(slack.T[site.nodes] < site.freed).any(axis=1)]] = True
        return indispensable

    def _slack(self, chosen: Mask, seats: Assignment) -> Ints:
        """What is left of every resource that members need on the nodes that they would sit on."""
        site = self.site
        slack = np.full_like(site.trial.free, UNLIMITED)
        gone = chosen[self.units.unit]
        rows = np.array([row for _, row in seats], dtype=np.intp)
        uses = site.uses[[site.ask.distinct.index(site.ask.shapes[member]) for member, _ in seats]]
        needed = np.zeros((len(site.columns), slack.shape[1]), dtype=np.int64)
        np.add.at(needed.T, rows, uses)
        left = site.trial.free[site.columns] - needed
        np.add.at(left.T, site.nodes[gone], site.freed[gone][:, site.columns])
        slack[site.columns] = np.where(needed > 0, left, UNLIMITED)
        return slack

    def _most_valuable_first(self, chosen: Mask) -> list[int]:
        units, places = self.units, np.flatnonzero(chosen)
        keys = (
            -units.oldest[places],
            units.size[places],
            units.work[places],
            units.priority[places],
            units.violating[places],
        )
        order: list[int] = places[np.lexsort(keys)[::-1]].tolist()
        return order

    # -- better ----------------------------------------------------------------------------------------

    def _refine(self, best: Option, order: Ints) -> Option | None:
        """A cheaper set of the same units and their next best."""
        mine = np.flatnonzero(best.chosen)
        if len(mine) > REFINED:
            return None
        others = order[~np.isin(order, mine)][: POOL - len(mine)]
        found = cheapest(self.site, np.sort(np.concatenate((mine, others))), best.price, 1)
        if not found or (found[0].chosen == best.chosen).all():
            return None
        return found[0]

    def _others(self, best: Option, known: list[Option], candidates: Mask) -> list[Option]:
        """The next best sets that do without some unit of the best."""
        others = [option for option in known if (best.chosen & ~option.chosen).any()]
        for unit in self._most_valuable_first(best.chosen)[: ALTERNATIVES - len(others)]:
            barred = candidates.copy()
            barred[unit] = False
            found = self._options(barred)
            if found and not any((found[0][0].chosen == option.chosen).all() for option in others):
                others.append(found[0][0])
        return sorted(others, key=lambda option: option.price)[:ALTERNATIVES]


def _take(slack: Ints, nodes: Codes, freed: Ints) -> bool:
    """Whether so much is left on these nodes; it is taken then."""
    rows, inverse = np.unique(nodes, return_inverse=True)
    total = np.zeros((len(rows), freed.shape[1]), dtype=np.int64)
    np.add.at(total, inverse, freed)
    if (total > slack[:, rows].T).any():
        return False
    slack[:, rows] -= total.T
    return True
