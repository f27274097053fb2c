"""Which units leave: the cheapest set that makes room for the whole quorum, in one search for both.

A set is compared by its Price. What is needed at most is found first: the least by broken budgets and by the
highest priority touched. Within that, the order of pricing gives a set for each of the most promising
domains, from which whoever need not leave is let off, the most valuable first. Where units are few, all sets
are compared, so that the result is the cheapest there is.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.preemption.exact import POOL, WIDEST, cheapest
from maitred.decide.preemption.feasibility import Feasibility, Option
from maitred.decide.preemption.pricing import Pass, by_domain, in_order
from maitred.decide.preemption.sparing import most_valuable_first, spare
from maitred.decide.preemption.units import Units

DOMAINS = 3
"""How many of the most promising domains are looked at closely."""
PRICED = 8
"""How many of all are priced round by round to tell which those are; of more, the cheapest at first sight."""
REFINED = 8
"""Sets of at most so many units are compared with all others of themselves and their next best."""
COMPARED = 12
"""So many units have 4,095 sets,"""
TRIED = 24
"""of which so many are tried that could make room by their sums."""
IMPROVEMENTS = 3
DOUBTFUL = 3
"""When so many beginnings of an order were not enough, it is looked at whether the whole of it would be."""
ALTERNATIVES = 2


@dataclass(frozen=True, slots=True)
class Choice:
    best: Option
    others: tuple[Option, ...]
    """The next best, none of which the best is part of."""


def choose(feasibility: Feasibility) -> Choice | None:
    """None if no candidates that were looked at would make enough room."""
    if not len(feasibility.units) or not feasibility.helpful.any():
        return None
    pool = _few(feasibility.units, feasibility.helpful, POOL)
    options = [] if pool is None else cheapest(feasibility, pool, None, 1 + ALTERNATIVES)
    options = options or _Search(feasibility).run()
    return Choice(options[0], tuple(options[1 : 1 + ALTERNATIVES])) if options else None


def _few(units: Units, chosen: Mask, most: int) -> Ints | None:
    """These units, and of those that are alike no more than make a difference; None if that is more than so
    many."""
    if int(np.count_nonzero(chosen & units.whole)) > most:
        return None
    pool = units.distinct(chosen)
    return pool if len(pool) <= most else None


class _Search:
    """For more units than sets of them could be compared one by one."""

    def __init__(self, feasibility: Feasibility) -> None:
        self.feasibility, self.units = feasibility, feasibility.units
        self._priced = list[tuple[Pass, Mask]]()
        """The last passes over the slots, each with the nodes that it went over,"""
        self._priced_for: Mask | None = None
        """and of which candidates."""
        self._in_vain = list[Mask]()
        """Units that make too little room even all together."""

    def run(self) -> list[Option]:
        """The best set, and others that do without some unit of it."""
        candidates, needed, options = self._first()
        if not options:
            return []
        priced = self._priced
        if options[0].price.violations and (candidates & ~needed).any():
            # One that is worth more may be what spares a budget.
            options = self._sorted([*options, *self._options(candidates)])
        options = self._sorted([*options, *self._others(options, needed, priced)])
        return self._apart(self._sorted([*options, *self._combined(options)]))

    def _first(self) -> tuple[Mask, Mask, list[Option]]:
        """All candidates, those of them that are needed at most, and the best sets of these.

        Mostly there is room enough in the places of those who matter least. If the slots there say so, and a
        set is found among them, that they are all that is needed at most is proven with it.
        """
        helpful, grade = self.feasibility.helpful, self._grade
        least = helpful & (grade == grade[helpful].min())
        passes = [each for each in self._passes(least) if each[0].price < np.inf]
        options = self._of_passes(passes, least)
        if options:
            return helpful, least, self._sorted(options)
        candidates = self._all_together()
        if candidates is None:
            return helpful, helpful, []
        needed = self._needed_at_most(candidates)
        return candidates, needed, self._options(needed)

    # -- at most ---------------------------------------------------------------------------------------

    def _all_together(self) -> Mask | None:
        """All candidates, if that is enough; but for those that members must be near, if it is not."""
        helpful = self.feasibility.helpful
        if self._seats(helpful) is not None:
            return helpful
        needed = self.feasibility.company
        if not needed.any() or self._seats(helpful & ~needed) is None:
            return None
        return helpful & ~needed

    def _needed_at_most(self, candidates: Mask) -> Mask:
        """The candidates without those whose budgets, or whose priority, need not be touched."""
        grade = self._grade
        low, high = -1, int(grade[candidates].max())
        while high - low > 1:
            middle = (low + high) // 2
            if self._seats(candidates & (grade <= middle)) is None:
                low = middle
            else:
                high = middle
        return candidates & (grade <= high)

    @cached_property
    def _grade(self) -> Ints:
        """How reluctantly each unit is touched, by its budgets and its priority, whatever it costs else."""
        if not self.units.guards:
            return self.units.grade
        return self.units.grade + self.units.violating * len(self.units)

    def _seats(self, chosen: Mask) -> Assignment | None:
        return self.feasibility.seats(self.units.closed(chosen))

    # -- enough ----------------------------------------------------------------------------------------

    def _options(self, candidates: Mask) -> list[Option]:
        """Sets for the most promising domains, cheapest first."""
        options = self._of_passes(self._passes(candidates), candidates)
        if not options:
            everyone = Pass(np.flatnonzero(candidates), int(candidates.sum()), np.inf)
            options = [option for option in (self._enough(everyone),) if option is not None]
        return self._sorted(options)

    def _passes(self, candidates: Mask) -> list[tuple[Pass, Mask]]:
        """One for each of the most promising domains, and its nodes."""
        feasibility = self.feasibility
        if self._priced_for is not None and (candidates == self._priced_for).all():
            return self._priced
        domains = np.array(list(feasibility.each_domain()), dtype=np.int64)
        if len(domains) > PRICED:
            price = by_domain(feasibility, candidates)[domains]
            domains = domains[np.argsort(price, kind="stable")[:PRICED]]
        within = (feasibility.useful & (feasibility.domains == domain) for domain in np.sort(domains))
        passes = [(in_order(feasibility, candidates, nodes), nodes) for nodes in within]
        passes.sort(key=lambda each: each[0].price)
        self._priced = passes[:DOMAINS]
        self._priced_for = candidates
        return self._priced

    def _of_passes(
        self, passes: list[tuple[Pass, Mask]], candidates: Mask, refined: bool = True
    ) -> list[Option]:
        options = list[Option]()
        for found, nodes in passes:
            pool = self._few_of(found, candidates, nodes)
            if pool is not None and len(pool):
                options += cheapest(self.feasibility, pool, None, 1 + ALTERNATIVES)
            many = pool is None or len(pool) > POOL
            if many and (option := self._enough(found)) is not None:
                options.append(self._refined(option, found.order) if refined else option)
        return options

    def _few_of(self, found: Pass, candidates: Mask, nodes: Mask) -> Ints | None:
        """The candidates on the nodes of a pass, if these are few. All in its order are among them."""
        if int(np.count_nonzero(self.units.whole[found.order])) > WIDEST:
            return None
        return _few(self.units, self.feasibility.touching(candidates, nodes), WIDEST)

    def _sorted(self, options: list[Option]) -> list[Option]:
        found = list[Option]()
        by_price = sorted(options, key=lambda option: option.price)
        for _, tied in groupby(by_price, key=lambda option: option.price):
            same = list(tied)
            sets = [np.flatnonzero(option.chosen) for option in same]
            found += [same[place] for place in self.units.in_order(sets)]
        return found

    def _enough(self, found: Pass) -> Option | None:
        """A beginning of the order that makes room, without those who need not leave for it."""
        count, tries = found.enough, 0
        if self._in_vain and count < len(found.order) and self._hopeless(found):
            return None
        while True:
            chosen = self.units.closed(self.units.chosen(found.order[:count]))
            seats = self.feasibility.seats(chosen)
            if seats is not None:
                return spare(self.feasibility, chosen, seats)
            if count >= len(found.order) or not self.feasibility.goes_on():
                return None
            tries += 1
            if tries == DOUBTFUL and self._hopeless(found):
                return None
            count = min(len(found.order), max(count + 1, count * 3 // 2))

    def _hopeless(self, found: Pass) -> bool:
        """Whether not even all of them make room."""
        everyone = self.units.at_most(self.units.chosen(found.order))
        if any(not (everyone & ~others).any() for others in self._in_vain):
            return True
        if not self.feasibility.too_few(everyone):
            return False
        self._in_vain.append(everyone)
        return True

    # -- better ----------------------------------------------------------------------------------------

    def _refined(self, best: Option, order: Ints) -> Option:
        """The cheapest of the sets of the same units and their next best, as long as that helps."""
        for _ in range(IMPROVEMENTS):
            mine = np.flatnonzero(best.chosen)
            if len(mine) > REFINED:
                break
            others = order[~np.isin(order, mine)][: COMPARED - len(mine)]
            found = cheapest(self.feasibility, np.sort(np.concatenate((mine, others))), best.price, 1, TRIED)
            if not found or (found[0].chosen == best.chosen).all():
                break
            best = found[0]
        return best

    def _others(
        self, options: list[Option], candidates: Mask, priced: list[tuple[Pass, Mask]]
    ) -> list[Option]:
        """Sets that do without some unit of the best, where there are none yet."""
        others = list[Option]()
        for unit in most_valuable_first(self.feasibility, options[0].chosen)[
            : max(0, 1 + ALTERNATIVES - len(options))
        ]:
            barred = candidates.copy()
            barred[unit] = False
            passes = [(found.without(unit), nodes) for found, nodes in priced]
            found = self._sorted(self._of_passes(passes, barred, refined=False))
            others += (found or self._options(barred))[:1]
        return others

    def _combined(self, options: list[Option]) -> list[Option]:
        """The cheapest sets of units of the best sets found so far."""
        if options[0].price.units > REFINED:
            return []
        units = list(dict.fromkeys(unit for option in options for unit in np.flatnonzero(option.chosen)))
        return cheapest(
            self.feasibility, np.sort(units[:COMPARED]), options[0].price, 1 + ALTERNATIVES, TRIED
        )

    def _apart(self, options: list[Option]) -> list[Option]:
        """Without those that a cheaper one is part of."""
        kept = list[Option]()
        for option in options:
            if all((other.chosen & ~option.chosen).any() for other in kept):
                kept.append(option)
        return kept
