"""The floor: some nodes of a trial while the members of one group are put on them one by one."""

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.trial import Rows
from maitred.decide.rules import Company, Rules

UNBOUNDED = np.iinfo(np.int64).max


class Floor:
    """Arrays are over `rows`; those over domains keep the numbering of the whole cluster."""

    def __init__(self, rules: Rules, rows: Rows) -> None:
        self.rules, self.rows = rules, rows
        self.copies = np.array([copies[rows] for copies in rules.copies])
        self._free = np.array([room.free[rows] for room in rules.rooms])
        self._use = np.array([room.use for room in rules.rooms])
        self._closed: list[Mask] = [np.zeros(len(rows), dtype=np.bool_) for _ in rules.shapes]
        self._conflict_codes = [conflict.codes[rows] for conflict in rules.conflicts]
        self._present = [
            [[domains.copy() for domains in company.present] for company in companies]
            for companies in rules.companies
        ]
        self._anywhere = [[company.anywhere for company in companies] for companies in rules.companies]
        self._counts = [[spread.counts.copy() for spread in spreads] for spreads in rules.spreads]
        self._quotas = [quota.limits.copy() for quota in rules.quotas]

    def open_to(self, position: int) -> Mask:
        """Nodes that the next member of a shape could take now."""
        rules = self.rules
        allowed: Mask = (self.copies[position] > 0) & ~self._closed[position]
        for company, domains in zip(rules.companies[position], self._present[position], strict=True):
            if company not in self.unfounded(position):
                for codes, present in zip(company.codes, domains, strict=True):
                    allowed &= present[codes[self.rows]]
        for spread, counts in zip(rules.spreads[position], self._counts[position], strict=True):
            allowed &= spread.allowed(counts)[self.rows]
        for quota, left in zip(rules.quotas, self._quotas, strict=True):
            if quota.use[position]:
                allowed &= np.append(left >= quota.use[position], False)[quota.codes[self.rows]]
        return allowed

    def unfounded(self, position: int) -> list[Company]:
        """Companies that the next member may found: the first of a series that seek each other."""
        companies = zip(self.rules.companies[position], self._anywhere[position], strict=True)
        return [company for company, anywhere in companies if company.own and not anywhere]

    def seat(self, position: int, place: int) -> None:
        rules, row = self.rules, int(self.rows[place])
        self._free[:, place] -= self._use[:, position]
        self.copies[:, place] = np.where(self.copies[:, place] > 0, self._copies_at(place), 0)
        for conflict, codes in zip(rules.conflicts, self._conflict_codes, strict=True):
            if codes[place] >= 0:
                for other in np.flatnonzero(conflict.pairs[position]):
                    self._closed[other] |= codes == codes[place]
        self._bring_company(position, row)
        for spreads, counts in zip(rules.spreads, self._counts, strict=True):
            for spread, domains in zip(spreads, counts, strict=True):
                if spread.matched_by[position] and spread.counted[row]:
                    domains[spread.codes[row]] += 1
        for quota, left in zip(rules.quotas, self._quotas, strict=True):
            if quota.use[position]:
                left[quota.codes[row]] -= quota.use[position]

    def _bring_company(self, position: int, row: int) -> None:
        for seeker, companies in enumerate(self.rules.companies):
            for index, company in enumerate(companies):
                if company.provided_by[position]:
                    for codes, present in zip(company.codes, self._present[seeker][index], strict=True):
                        if codes[row] >= 0:
                            present[codes[row]] = True
                            self._anywhere[seeker][index] = True

    def _copies_at(self, place: int) -> Ints:
        """How many members of each shape fit into what is left there."""
        fit = self._free[:, place, np.newaxis] // np.maximum(self._use, 1)
        most: Ints = np.where(self._use > 0, fit, UNBOUNDED).min(axis=0)
        return np.maximum(most, 0)
