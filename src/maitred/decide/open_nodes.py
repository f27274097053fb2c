"""Which nodes are open to the next member, while the members of one group are put on them one by one."""

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.supply.fit import Company, Quota
from maitred.decide.rules import Rules

UNBOUNDED = np.iinfo(np.int64).max
EVERYWHERE = slice(None)


def _once(rules: Rules) -> list[list[tuple[int, int]]]:
    by_shape = list[list[tuple[int, int]]]([] for _ in rules.shapes)
    for number, room in enumerate(rules.rooms):
        for position, amount in enumerate(room.once):
            if amount:
                by_shape[position].append((number, amount))
    return by_shape if any(by_shape) else []


class OpenNodes:
    """Arrays are over `rows`; those over domains keep the numbering of the whole cluster."""

    def __init__(self, rules: Rules, rows: Rows) -> None:
        self.rules, self.rows = rules, rows
        self.copies = np.array([copies[rows] for copies in rules.copies])
        self._free = np.array([room.free[rows] for room in rules.rooms])
        self._use = np.array([room.use for room in rules.rooms])
        self._uses = [[(room, use) for room, use in enumerate(uses) if use] for uses in self._use.T.tolist()]
        """By shape, the rooms that it takes from, and how much."""
        self._once = _once(rules)
        """By shape, what its members on one node take together beside that; empty if none do."""
        self._met = np.zeros(self.copies.shape if self._once else (0, 0), dtype=np.bool_)
        """Where members of each shape are by now."""
        self.one_by_one = bool(rules.conflicts or rules.quotas or rules.ordered)
        """Whether who sits down changes more for others than the room that there is."""
        self._conflict_codes = [conflict.codes[rows] for conflict in rules.conflicts]
        self._present = [
            [[domains.copy() for domains in company.present] for company in companies]
            for companies in rules.companies
        ]
        self._anywhere = [[company.anywhere for company in companies] for companies in rules.companies]
        self._counts = [[spread.counts.copy() for spread in spreads] for spreads in rules.spreads]
        self._spread_codes = [[spread.codes[rows] for spread in spreads] for spreads in rules.spreads]
        self._quotas = [quota.limits.copy() for quota in rules.quotas]
        self._quota_codes = [quota.codes[rows] for quota in rules.quotas]
        self._open = self.copies > 0
        """Nodes that have room for a shape, and where neither conflicts nor quotas forbid it; never more than
        before, whoever sits down."""
        for quota, left, codes in zip(rules.quotas, self._quotas, self._quota_codes, strict=True):
            for position, use in enumerate(quota.use):
                if use:
                    self._open[position] &= np.append(left >= use, False)[codes]

    def open_to(self, position: int, places: Rows | slice = EVERYWHERE) -> Mask:
        """Nodes that the next member of a shape could take now."""
        rules = self.rules
        allowed: Mask = self._open[position, places]
        for company, domains in zip(rules.companies[position], self._present[position], strict=True):
            if company not in self.unfounded(position):
                for codes, present in zip(company.codes, domains, strict=True):
                    allowed = allowed & present[codes[self.rows[places]]]
        spreads = zip(
            rules.spreads[position], self._counts[position], self._spread_codes[position], strict=True
        )
        for spread, counts, codes in spreads:
            allowed = allowed & spread.open_domains(counts)[codes[places]]
        return allowed

    def closed_ahead(self, position: int, places: Rows) -> int:
        """How many of these, from the first on, a shape can never take again."""
        open_ = self._open[position, places]
        first = int(open_.argmax()) if len(open_) else 0
        return first if len(open_) and open_[first] else len(open_)

    def unfounded(self, position: int) -> list[Company]:
        """Companies that the next member may found: the first of a series that seek each other."""
        companies = zip(self.rules.companies[position], self._anywhere[position], strict=True)
        return [company for company, anywhere in companies if company.own and not anywhere]

    def in_a_row(self, position: int, place: int) -> int:
        """How many members of a shape would choose this node one after the other, once it is the best: until
        it is full, where no member that sits down changes anything for others but the room that there is."""
        return 1 if self.one_by_one else int(self.copies[position, place])

    def seat(self, position: int, place: int, copies: int) -> None:
        rules, row = self.rules, int(self.rows[place])
        self._free[:, place] -= copies * self._use[:, position]
        if self._once and not self._met[position, place]:
            self._met[position, place] = True
            for room, amount in self._once[position]:
                self._free[room, place] -= amount
        self._count_at(place)
        for conflict, codes in zip(rules.conflicts, self._conflict_codes, strict=True):
            if codes[place] >= 0:
                elsewhere = codes != codes[place]
                for other in np.flatnonzero(conflict.pairs[position]).tolist():
                    self._open[other] &= elsewhere
        self._bring_company(position, row)
        for spreads, counts in zip(rules.spreads, self._counts, strict=True):
            for spread, domains in zip(spreads, counts, strict=True):
                if spread.matched_by[position] and spread.counted[row]:
                    domains[spread.codes[row]] += 1
        for quota, left, codes in zip(rules.quotas, self._quotas, self._quota_codes, strict=True):
            if quota.use[position]:
                self._use_up(quota, left, codes, position, place)

    def _use_up(self, quota: Quota, left: Ints, codes: Codes, position: int, place: int) -> None:
        domain = codes[place]
        left[domain] -= quota.use[position]
        for other, use in enumerate(quota.use):
            if use and left[domain] < use:
                self._open[other] &= codes != domain

    def _bring_company(self, position: int, row: int) -> None:
        for seeker, companies in enumerate(self.rules.companies):
            for index, company in enumerate(companies):
                if company.provided_by[position]:
                    for codes, present in zip(company.codes, self._present[seeker][index], strict=True):
                        if codes[row] >= 0:
                            present[codes[row]] = True
                            self._anywhere[seeker][index] = True

    def _count_at(self, place: int) -> None:
        """How many members of each shape fit into what is left there, of those that fitted before."""
        left = self._free[:, place].tolist()
        for position, uses in enumerate(self._uses):
            if self.copies[position, place] > 0:
                most = max(0, min((left[room] // use for room, use in uses), default=UNBOUNDED))
                if self._once and not self._met[position, place]:
                    most *= all(left[room] >= amount for room, amount in self._once[position])
                self.copies[position, place] = most
                if not most:
                    self._open[position, place] = False
