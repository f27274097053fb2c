"""Which units leave: the cheapest set that makes room for the whole quorum, in one search for where and whom.

A set is compared by its Price. What is needed at most is found first: the least by broken budgets and by the
highest priority touched. Within that, the order of pricing gives a set for each of the most promising
domains, from which whoever need not leave is let off, the most valuable first. Where units are few, all sets
are compared, so that the result is the cheapest there is.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.preemption.exact import POOL, WIDEST, cheapest
from maitred.decide.preemption.leniency import let_off, most_valuable_first
from maitred.decide.preemption.pricing import Pass, in_order
from maitred.decide.preemption.site import Option, Site

DOMAINS = 3
"""How many of the most promising domains are looked at closely."""
REFINED = 8
"""Sets of at most so many units are compared with all others of themselves and their next best."""
IMPROVEMENTS = 3
ALTERNATIVES = 2


@dataclass(frozen=True, slots=True)
class Choice:
    best: Option
    others: tuple[Option, ...]
    """The next best, none of which the best is part of."""


def choose(site: Site) -> Choice | None:
    """None if no candidates that were looked at would make enough room."""
    if not len(site.units) or not site.helpful.any():
        return None
    pool = site.units.distinct(site.helpful)
    options = cheapest(site, pool, None, 1 + ALTERNATIVES) if len(pool) <= POOL else []
    options = options or _Search(site).run()
    return Choice(options[0], tuple(options[1 : 1 + ALTERNATIVES])) if options else None


class _Search:
    """For more units than sets of them could be compared one by one."""

    def __init__(self, site: Site) -> None:
        self.site, self.units = site, site.units

    def run(self) -> list[Option]:
        """The best set, and others that do without some unit of it."""
        candidates = self._all_together()
        if candidates is None:
            return []
        needed = self._needed_at_most(candidates)
        options = self._options(needed)
        if not options:
            return []
        if options[0].price.violations and (candidates & ~needed).any():
            # One that is worth more may be what spares a budget.
            options = self._sorted([*options, *self._options(candidates)])
        options = self._sorted([*options, *self._others(options, needed)])
        return self._apart(self._sorted([*options, *self._combined(options)]))

    # -- at most ---------------------------------------------------------------------------------------

    def _all_together(self) -> Mask | None:
        """All candidates, if that is enough; but for those whom members must be near, if it is not."""
        helpful = self.site.helpful
        if self._seats(helpful) is not None:
            return helpful
        needed = self.site.company
        if not needed.any() or self._seats(helpful & ~needed) is None:
            return None
        return helpful & ~needed

    def _needed_at_most(self, candidates: Mask) -> Mask:
        """The candidates without those whose budgets, or whose priority, need not be touched."""
        units = self.units
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

    def _seats(self, chosen: Mask) -> Assignment | None:
        return self.site.seats(self.units.closed(chosen))

    # -- enough ----------------------------------------------------------------------------------------

    def _options(self, candidates: Mask) -> list[Option]:
        """Sets for the most promising domains, cheapest first."""
        site = self.site
        within = (site.useful & (site.domains == domain) for domain in site.each_domain())
        passes = [(in_order(site, candidates, nodes), nodes) for nodes in within]
        passes.sort(key=lambda each: each[0].price)
        options = list[Option]()
        for found, nodes in passes[:DOMAINS]:
            pool = self.units.distinct(candidates & site.touching(nodes))
            if 0 < len(pool) <= WIDEST:
                options += cheapest(site, pool, None, 1 + ALTERNATIVES)
            if len(pool) > POOL and (option := self._enough(found)) is not None:
                options.append(self._refined(option, found.order))
        if not options:
            everyone = Pass(np.flatnonzero(candidates), int(candidates.sum()), np.inf)
            options = [option for option in (self._enough(everyone),) if option is not None]
        return self._sorted(options)

    def _sorted(self, options: list[Option]) -> list[Option]:
        prices = Counter(option.price for option in options)
        ties = {id(o): self.units.tie(o.chosen) for o in options if prices[o.price] > 1}
        return sorted(options, key=lambda option: (option.price, ties.get(id(option), ([], []))))

    def _enough(self, found: Pass) -> Option | None:
        """A beginning of the order that makes room, without those who need not leave for it."""
        count = found.enough
        while True:
            chosen = self.units.closed(self.units.chosen(found.order[:count].tolist()))
            seats = self.site.seats(chosen)
            if seats is not None:
                return let_off(self.site, chosen, seats)
            if count >= len(found.order):
                return None
            count = min(len(found.order), max(count + 1, count * 3 // 2))

    # -- better ----------------------------------------------------------------------------------------

    def _refined(self, best: Option, order: Ints) -> Option:
        """The cheapest of the sets of the same units and their next best, as long as that helps."""
        for _ in range(IMPROVEMENTS):
            mine = np.flatnonzero(best.chosen)
            if len(mine) > REFINED:
                break
            others = order[~np.isin(order, mine)][: POOL - len(mine)]
            found = cheapest(self.site, np.sort(np.concatenate((mine, others))), best.price, 1)
            if not found or (found[0].chosen == best.chosen).all():
                break
            best = found[0]
        return best

    def _others(self, options: list[Option], candidates: Mask) -> list[Option]:
        """Sets that do without some unit of the best, where there are none yet."""
        others = list[Option]()
        for unit in most_valuable_first(self.site, options[0].chosen)[
            : max(0, 1 + ALTERNATIVES - len(options))
        ]:
            barred = candidates.copy()
            barred[unit] = False
            others += self._options(barred)[:1]
        return others

    def _combined(self, options: list[Option]) -> list[Option]:
        """The cheapest sets of units of the best sets found so far."""
        if options[0].price.units > REFINED:
            return []
        units = list(dict.fromkeys(unit for option in options for unit in np.flatnonzero(option.chosen)))
        return cheapest(self.site, np.sort(units[:POOL]), options[0].price, 1 + ALTERNATIVES)

    def _apart(self, options: list[Option]) -> list[Option]:
        """Without those that a cheaper one is part of."""
        kept = list[Option]()
        for option in options:
            if not any((other.chosen & ~option.chosen).sum() == 0 for other in kept):
                kept.append(option)
        return kept
