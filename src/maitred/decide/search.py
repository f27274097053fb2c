"""Looking for seats by trying and taking back: exact for small groups, bounded by steps for large ones.

Members of one shape are alike, so they are put on nodes in rising order; nodes that are alike in all that
matters are tried once. A branch is left when what remains cannot reach the goal even without constraints
between members, or when the same situation has failed before. Rules that depend on the order of seating
(company, spread) prune loosely on the way and are settled at the end, by looking for an order.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.supply.fit import Company
from maitred.decide.ordering import find_order
from maitred.decide.rules import Rules, Spread
from maitred.decide.seats import Seats, Steps

Codes = list[int]


@dataclass(slots=True)
class _Spread:
    """A spread constraint over the searched nodes, in plain lists."""

    codes: Codes
    counted: list[bool]
    counts: list[int]
    domains: list[int]
    max_skew: int
    min_domains: int
    matched_by: tuple[bool, ...]

    @classmethod
    def of(cls, spread: Spread, rows: Rows) -> "_Spread":
        return cls(
            codes=spread.codes[rows].tolist(),
            counted=spread.counted[rows].tolist(),
            counts=spread.counts.tolist(),
            domains=np.flatnonzero(spread.domains).tolist(),
            max_skew=spread.max_skew,
            min_domains=spread.min_domains,
            matched_by=spread.matched_by,
        )


@dataclass(slots=True)
class _Company:
    """Required company over the searched nodes, in plain lists."""

    codes: list[Codes]
    present: list[list[bool]]
    provided_by: tuple[bool, ...]
    pioneers: int

    @classmethod
    def of(cls, company: Company, rows: Rows) -> "_Company":
        return cls(
            codes=[codes[rows].tolist() for codes in company.codes],
            present=[domains.tolist() for domains in company.present],
            provided_by=company.provided_by,
            pioneers=int(company.own and not company.anywhere),
        )


class SeatSearch:
    """One attempt to seat `goal` members on the nodes of `rows`, best nodes first."""

    def __init__(self, rules: Rules, rows: Rows, counts: tuple[int, ...], goal: int, steps: Steps) -> None:
        self.rules, self.rows, self.goal, self.steps = rules, rows.tolist(), goal, steps
        self.shapes, self.places = range(len(counts)), range(len(rows))
        self.table = len(counts) * len(rows)
        """The looks that it takes to go through all shapes on all nodes once."""
        rooms = [room for room in rules.rooms if any(room.use)]
        self.use = [tuple(room.use[s] for room in rooms) for s in self.shapes]
        self.free = [
            list(column) for column in zip(*(room.free[rows].tolist() for room in rooms), strict=True)
        ]
        self.fits = [[bool(c) for c in copies[rows].tolist()] for copies in rules.copies]
        self.left = list(counts)
        self.start = [0] * len(counts)
        self.placed = [[0] * len(counts) for _ in self.places]
        self.seated = 0
        self.conflicts = [(c.codes[rows].tolist(), c.pairs.tolist()) for c in rules.conflicts]
        self.quotas = [(q.codes[rows].tolist(), q.limits.tolist(), q.use) for q in rules.quotas]
        self.spreads = [[_Spread.of(spread, rows) for spread in spreads] for spreads in rules.spreads]
        self.companies = [[_Company.of(c, rows) for c in companies] for companies in rules.companies]
        self.room = [[self._copies(s, k) for k in self.places] for s in self.shapes]
        self.failed: set[Hashable] = set()
        steps.meter.take(len(rows) * len(counts) * (1 + len(self.conflicts) + len(self.quotas)))
        self.kinds = self._node_kinds()

    def run(self) -> Seats | None:
        return self._extend() if self._promising() else None

    # -- branching -------------------------------------------------------------------------------------

    def _extend(self) -> Seats | None:
        if self.seated >= self.goal:
            return self._settle()
        if not self.steps.take(len(self.places) * len(self.shapes)):
            return None
        situation = self._situation()
        if situation in self.failed:
            return None
        shape = self._next_shape()
        if shape is not None:
            before = self.start[shape]
            for place in self._choices(shape):
                self.start[shape] = place
                self._put(shape, place, +1)
                found = self._extend() if self._promising() else None
                self._put(shape, place, -1)
                if found is not None or self.steps.exhausted:
                    return found
            self.start[shape] = before
            found = self._leave_out(shape)
            if found is not None or self.steps.exhausted:
                return found
        self.failed.add(situation)
        return None

    def _leave_out(self, shape: int) -> Seats | None:
        """No more members of this shape, if the goal can be reached without them."""
        left, self.left[shape] = self.left[shape], 0
        found = self._extend() if self._promising() else None
        self.left[shape] = left
        return found

    def _next_shape(self) -> int | None:
        """The shape with the least room to spare."""
        waiting = [s for s in self.shapes if self.left[s]]
        return min(waiting, key=lambda s: (sum(self.room[s]) - self.left[s], s)) if waiting else None

    def _choices(self, shape: int) -> Iterator[int]:
        seen: set[Hashable] = set()
        for place in range(self.start[shape], len(self.places)):
            if not self.room[shape][place] or not self._may_sit(shape, place):
                continue
            kind = (
                self.kinds[place],
                tuple(self.free[place]),
                () if self.rules.simple else tuple(self.placed[place]),
                tuple(place >= start for start in self.start),
            )
            if kind not in seen:
                seen.add(kind)
                yield place

    def _may_sit(self, shape: int, place: int) -> bool:
        self.steps.meter.take(self.table * len(self.conflicts))
        for codes, pairs in self.conflicts:
            domain = codes[place]
            if domain >= 0 and any(
                self.placed[k][other]
                for k in self.places
                if codes[k] == domain
                for other in self.shapes
                if pairs[shape][other]
            ):
                return False
        return all(
            not use[shape] or (codes[place] >= 0 and limits[codes[place]] >= use[shape])
            for codes, limits, use in self.quotas
        )

    def _put(self, shape: int, place: int, sign: int) -> None:
        free = self.free[place]
        for index, used in enumerate(self.use[shape]):
            free[index] -= sign * used
        self.left[shape] -= sign
        self.placed[place][shape] += sign
        self.seated += sign
        for other in self.shapes:
            self.room[other][place] = self._copies(other, place)
        for codes, limits, use in self.quotas:
            if use[shape]:
                limits[codes[place]] -= sign * use[shape]
        for spreads in self.spreads:
            for spread in spreads:
                if spread.matched_by[shape] and spread.counted[place]:
                    spread.counts[spread.codes[place]] += sign

    def _copies(self, shape: int, place: int) -> int:
        if not self.fits[shape][place]:
            return 0
        free = self.free[place]
        fit: int = min(free[i] // used for i, used in enumerate(self.use[shape]) if used)
        return max(0, fit)

    # -- pruning ---------------------------------------------------------------------------------------

    def _promising(self) -> bool:
        missing = self.goal - self.seated
        self.steps.meter.take(self.table * (2 + len(self.use[0])))
        reachable = sum(min(self.left[s], sum(self.room[s][self.start[s] :])) for s in self.shapes)
        if reachable < missing:
            return False
        return (
            self._enough_in_total(missing)
            and all(self._can_balance(s, spread, missing) for s in self.shapes for spread in self.spreads[s])
            and all(self._can_have(company) for s in self.shapes for company in self.companies[s])
        )

    def _enough_in_total(self, missing: int) -> bool:
        """The smallest members that could make up the rest need no more than the useful nodes have."""
        waiting = [s for s in self.shapes if self.left[s]]
        useful = [k for k in self.places if any(self.room[s][k] for s in waiting)]
        for index in range(len(self.free[0]) if self.free else 0):
            have = sum(self.free[k][index] for k in useful)
            wanted, rest = 0, missing
            for used, count in sorted((self.use[s][index], self.left[s]) for s in waiting):
                wanted += used * min(rest, count)
                rest -= min(rest, count)
            if wanted > have:
                return False
        return True

    def _can_balance(self, shape: int, spread: _Spread, missing: int) -> bool:
        """Whether the fullest domain can still be within reach of the emptiest at the end.

        Of the members under the same constraint, the last to enter a domain finds all the others there.
        """
        if not spread.domains or not spread.matched_by[shape]:
            return True
        self.steps.meter.take(2 * self.table)
        family = [s for s in self.shapes if spread.matched_by[s] and spread in self.spreads[s]]
        most: dict[int, int] = {}
        own: dict[int, int] = {}
        for place in self.places:
            domain = spread.codes[place]
            own[domain] = own.get(domain, 0) + sum(self.placed[place][s] for s in family)
            if spread.counted[place]:
                room = sum(
                    min(self.left[s], self.room[s][place]) for s in self.shapes if spread.matched_by[s]
                )
                most[domain] = most.get(domain, 0) + room
        coming = min(missing, sum(self.left[s] for s in self.shapes if spread.matched_by[s]))
        minimum = min(spread.counts[d] + min(coming, most.get(d, 0)) for d in spread.domains)
        if len(spread.domains) < spread.min_domains:
            minimum = 0
        return all(
            not count or self._before(spread, domain) + count - minimum <= spread.max_skew
            for domain, count in own.items()
        )

    def _before(self, spread: _Spread, domain: int) -> int:
        """Pods that were in the domain before any member came."""
        self.steps.meter.take(self.table)
        brought = sum(
            self.placed[k][s]
            for k in self.places
            if spread.codes[k] == domain and spread.counted[k]
            for s in self.shapes
            if spread.matched_by[s]
        )
        return spread.counts[domain] - brought

    def _can_have(self, company: _Company) -> bool:
        """Those who seek the same company may found one domain at most, and only while there is none."""
        self.steps.meter.take(self.table * len(company.codes))
        family = [s for s in self.shapes if company in self.companies[s]]
        independent = [s for s in self.shapes if company.provided_by[s] and s not in family]
        for codes, present in zip(company.codes, company.present, strict=True):
            founded = {codes[k] for k in self.places if any(self.placed[k][s] for s in family)}
            founded -= {d for d in founded if present[d]}
            founded -= {
                codes[k]
                for k in self.places
                if any(self.placed[k][s] or (self.left[s] and self.room[s][k]) for s in independent)
            }
            if len(founded) > company.pioneers:
                return False
        return True

    # -- sameness --------------------------------------------------------------------------------------

    def _situation(self) -> Hashable:
        """All that the rest of the search depends on."""
        nodes = tuple(map(tuple, self.free if self.rules.simple else self.placed))
        starts = tuple(start if left > 0 else 0 for start, left in zip(self.start, self.left, strict=True))
        return (tuple(self.left), starts, nodes)

    def _node_kinds(self) -> list[int]:
        """Nodes of one kind differ in name only, as long as nothing has been put on them."""
        numbers: dict[Hashable, int] = {}
        traits: list[list[Hashable]] = [[tuple(fits[k] for fits in self.fits)] for k in self.places]
        columns = [codes for codes, _ in self.conflicts] + [codes for codes, _, _ in self.quotas]
        for company in [company for companies in self.companies for company in companies]:
            columns += company.codes
        for codes in columns:
            alone = len(set(codes)) == len(codes)
            for place in self.places:
                traits[place].append(codes[place] < 0 if alone and not self.rules.ordered else codes[place])
        for spread in [spread for spreads in self.spreads for spread in spreads]:
            for place in self.places:
                traits[place].append((spread.codes[place], spread.counted[place]))
        for kinds in self.rules.kinds:
            for place, row in enumerate(self.rows):
                traits[place].append(int(kinds[row]))
        return [numbers.setdefault(tuple(trait), len(numbers)) for trait in traits]

    # -- the end ---------------------------------------------------------------------------------------

    def _settle(self) -> Seats | None:
        pairs = [
            (shape, self.rows[place], self.placed[place][shape])
            for shape in self.shapes
            for place in self.places
            if self.placed[place][shape]
        ]
        seats = Seats(pairs)
        self.steps.meter.take(0 if self.rules.sure else self.table)
        if not self.rules.serve(seats):
            return None
        return find_order(self.rules, seats, self.steps) if self.rules.ordered else seats
