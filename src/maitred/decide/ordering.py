"""Whether members whose nodes are chosen can be seated in some order that passes the filters one by one."""

from maitred.cluster.nodes import Ints
from maitred.cluster.supply.fit import Company
from maitred.decide.rules import Rules, Spread
from maitred.decide.seats import Seats, Steps

Count = tuple[int, ...]


def find_order(rules: Rules, seats: Seats, steps: Steps) -> Seats | None:
    """The same seats in an order in which company is there when it is sought and no skew is exceeded."""
    return _Ordering(rules, seats, steps).find()


class _Ordering:
    def __init__(self, rules: Rules, seats: Seats, steps: Steps) -> None:
        self.rules, self.runs, self.steps = rules, seats.runs, steps
        self.dead_ends: set[Count] = set()
        self.done = [0] * len(self.runs)
        self.order: list[tuple[int, int, int]] = []

    def find(self) -> Seats | None:
        return Seats(self.order) if self._continue() else None

    def _continue(self) -> bool:
        """Depth first over runs: members of one run are alike, so only how many are seated counts."""
        if len(self.order) == sum(copies for _, _, copies in self.runs):
            return True
        state = tuple(self.done)
        self.steps.meter.take(len(self.runs) * (1 + len(self.order)))
        if state in self.dead_ends or not self.steps.take(len(self.runs)):
            return False
        for index in sorted(range(len(self.runs)), key=self._crowd):
            position, row, copies = self.runs[index]
            if self.done[index] < copies and self._passes(position, row):
                self.done[index] += 1
                self.order.append((position, row, 1))
                if self._continue():
                    return True
                self.order.pop()
                self.done[index] -= 1
        self.dead_ends.add(state)
        return False

    def _crowd(self, index: int) -> int:
        """How full the domains of a run are: keeping level is what spreading asks for."""
        position, row, _ = self.runs[index]
        return sum(int(self._counts(spread)[spread.codes[row]]) for spread in self.rules.spreads[position])

    def _passes(self, position: int, row: int) -> bool:
        return all(self._has_company(company, row) for company in self.rules.companies[position]) and all(
            self._keeps_skew(spread, row) for spread in self.rules.spreads[position]
        )

    def _has_company(self, company: Company, row: int) -> bool:
        seated = [
            r for (p, r, _), done in zip(self.runs, self.done, strict=True) if done and company.provided_by[p]
        ]
        there = all(
            present[codes[row]] or any(codes[r] == codes[row] for r in seated)
            for codes, present in zip(company.codes, company.present, strict=True)
        )
        if there:
            return True
        alone = not company.anywhere and not any(codes[r] >= 0 for codes in company.codes for r in seated)
        return alone and company.own

    def _keeps_skew(self, spread: Spread, row: int) -> bool:
        return bool(spread.allowed(self._counts(spread))[row])

    def _counts(self, spread: Spread) -> Ints:
        counts = spread.counts.copy()
        for (position, seat, _), done in zip(self.runs, self.done, strict=True):
            if spread.matched_by[position] and spread.counted[seat]:
                counts[spread.codes[seat]] += done
        return counts
