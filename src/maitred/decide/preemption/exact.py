"""The cheapest of the sets of a few units: every set, cheapest first, until one makes enough room.

Sums tell at once for most sets that they free too little; only the others are tried.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, islice
from math import comb

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.bounds import most_in
from maitred.decide.preemption.feasibility import Feasibility, Option, least_of
from maitred.decide.preemption.sparing import spare
from maitred.decide.preemption.units import STEP, Floats, Price, Units
from maitred.decide.seats import PASS

POOL = 16
"""So many units have 65,536 sets, which is a moment's work for columns. Of more, the smallest sets are
compared, as many as that,"""
WIDEST = 48
"""and of yet more none: one or two out of so many are seldom enough."""
TRIES = 400
PARTS = 100
"""Ways to take some of a gang that are looked at before it leaves whole."""
TIED = 256
"""Sets of one price that are put in order among themselves."""
CHUNK = 1024


def cheapest(
    feasibility: Feasibility, pool: Ints, at_most: Price | None, wanted: int, tries: int = TRIES
) -> list[Option]:
    """Up to `wanted` sets of these units that make room, none within another, cheapest first.

    `at_most` is the price of a set that is known; what costs more is of no interest.
    """
    sets = _Sets(feasibility, pool)
    found = list[Option]()
    for chosen in sets.in_order(at_most):
        if not all((option.chosen & ~chosen).any() for option in found):
            continue
        tries -= 1
        seats = feasibility.seats(chosen)
        if seats is not None and not _spares_some(feasibility, chosen, seats):
            found.append(Option(chosen, seats, feasibility.units.price(chosen)))
        if len(found) == wanted or not tries or not feasibility.goes_on():
            break
    return found


def _spares_some(feasibility: Feasibility, chosen: Mask, seats: Assignment) -> bool:
    """Whether a gang leaves whole that could stay: as many of its pods as it can spare are enough."""
    units = feasibility.units
    if (chosen & units.divisible).any():
        lesser = spare(feasibility, chosen, seats)
        if lesser is None or (lesser.chosen != chosen).any():
            return True
    for unit in np.flatnonzero(chosen & units.divisible).tolist():
        rest = chosen.copy()
        rest[unit] = False
        parts = combinations(units.in_part(unit).tolist(), units.surplus_of(int(units.family[unit])))
        if any(feasibility.seats(rest | units.chosen(part)) is not None for part in islice(parts, PARTS)):
            return True
    return False


class _Sets:
    """Of units that come in order."""

    def __init__(self, feasibility: Feasibility, pool: Ints) -> None:
        self.feasibility, self.units, self.pool = feasibility, feasibility.units, pool
        bits = _sets_of(len(pool))
        self.bits: Floats = bits[_allowed(self.units, pool, bits)]
        feasibility.context.meter.take(PASS + 3 * len(self.bits))

    def in_order(self, at_most: Price | None) -> Iterator[Mask]:
        price = self._prices()
        if at_most is not None:
            kept = _not_above(price, at_most)
            self.bits, price = self.bits[kept], price[:, kept]
        differing = price[(price != price[:, :1]).any(axis=1)]
        order = np.lexsort(differing[::-1]) if len(differing) else np.arange(price.shape[1])
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            part = part[self._may_do(self.bits[part])]
            yield from self._by_ties(part, price[:, part])

    def _prices(self) -> Ints:
        """The five parts of the price of every set."""
        units, pool, guards = self.units, self.pool, self.units.guards
        ranks = np.unique(units.rank[pool]).tolist()
        amounts = [units.work[pool], np.ones_like(pool), units.size[pool]]
        amounts += [guard.counts[pool] for guard in guards]
        amounts += [units.rank[pool] == rank for rank in ranks[1:]]
        work, count, size, *sums = self._sums(amounts)
        violations = np.zeros_like(count)
        for guard, broken in zip(guards, sums, strict=False):
            violations += np.maximum(broken - guard.allowed, 0)
        highest = np.full_like(count, ranks[0])
        for rank, having in zip(ranks[1:], sums[len(guards) :], strict=True):
            highest[having > 0] = rank
        return np.array([violations, highest, work // STEP, count, size])

    def _sums(self, amounts: Sequence[Ints | Mask]) -> Ints:
        """What each set comes to, of each amount. In floats, which are quicker, and as true to 9e15."""
        return (np.array(amounts, dtype=np.float64) @ self.bits.T).astype(np.int64)

    def _by_ties(self, part: Ints, price: Ints) -> Iterator[Mask]:
        """Sets of one price by age and name."""
        start = 0
        while start < len(part):
            same = (price[:, start:] == price[:, start, None]).all(axis=0)
            end = start + (len(same) if same.all() else int(same.argmin()))
            tied = [self.pool[self.bits[row] > 0] for row in part[start:end]]
            yield from (self.units.chosen(tied[place]) for place in self.units.in_order(tied[:TIED]))
            yield from map(self.units.chosen, tied[TIED:])
            start = end

    @cached_property
    def _freed(self) -> tuple[Rows, Floats]:
        """The nodes that these units are on, and what each unit frees there of what members ask for."""
        feasibility, pool = self.feasibility, self.pool
        entries = feasibility.units.entries_of(feasibility.units.chosen(pool))
        nodes, inverse = np.unique(feasibility.nodes[entries], return_inverse=True)
        mine = np.searchsorted(pool, feasibility.units.unit[entries])
        freed = np.zeros((len(feasibility.columns), len(pool), len(nodes)))
        for column, amounts in zip(freed, feasibility.freed(entries), strict=True):
            np.add.at(column, (mine, inverse), amounts)
        return nodes, freed

    @cached_property
    def _held_elsewhere(self) -> list[Ints]:
        """Members of each shape that the other nodes have room for as they are, by domain."""
        feasibility, rows = self.feasibility, np.flatnonzero(self._elsewhere)
        free, domains = feasibility.free_on(rows), feasibility.domains[rows]
        counts = (_copies(feasibility, shape, rows, free) for shape in range(len(feasibility.ask.distinct)))
        found = (np.bincount(domains, weights=held, minlength=self._domains) for held in counts)
        return [held.astype(np.int64) for held in found]

    @cached_property
    def _inside(self) -> Mask:
        """Nodes that could take a member and are in a domain."""
        return self.feasibility.useful & (self.feasibility.domains >= 0)

    @cached_property
    def _elsewhere(self) -> Mask:
        """Those of them that none of these units is on."""
        others = self._inside.copy()
        others[self._freed[0]] = False
        return others

    @cached_property
    def _domains(self) -> int:
        return max(1, int(self.feasibility.domains.max(initial=0)) + 1)

    def _add_up(self, by_domain: Ints | Floats, amounts: Ints) -> None:
        """Add what there is of something on these nodes to what their domains have."""
        nodes, _ = self._freed
        for place in np.flatnonzero(self._inside[nodes]).tolist():
            by_domain[:, self.feasibility.domains[nodes[place]]] += amounts[:, place]

    def _may_do(self, bits: Floats) -> Mask:
        """Whether what sets free could be enough, added up over each domain."""
        feasibility, (nodes, freed) = self.feasibility, self._freed
        room = [
            (bits @ each).astype(np.int64) + free
            for each, free in zip(freed, feasibility.free_on(nodes), strict=True)
        ]
        members, counts = (
            np.zeros((len(bits), self._domains), dtype=np.int64),
            feasibility.ask.demand().counts,
        )
        for shape, count in enumerate(counts):
            by_domain = np.tile(self._held_elsewhere[shape], (len(bits), 1))
            self._add_up(by_domain, _copies(feasibility, shape, nodes, room))
            members += np.minimum(by_domain, count)
        if len(counts) > 1:
            np.minimum(members, self._most_together(room, counts), out=members)
        enough: Mask = members.max(axis=1) >= feasibility.ask.need
        return enough

    def _most_together(self, room: Sequence[Ints], counts: Sequence[int]) -> Ints:
        """How many members of all shapes the room of each domain is enough for, the most modest first."""
        feasibility, rows = self.feasibility, np.flatnonzero(self._elsewhere)
        most = np.full((len(room[0]), self._domains), sum(counts), dtype=np.int64)
        amounts = zip(feasibility.free_on(rows), room, feasibility.uses.T.tolist(), strict=True)
        for free, there, use in amounts:
            elsewhere = np.bincount(
                feasibility.domains[rows], weights=np.maximum(free, 0), minlength=self._domains
            )
            total: Floats = np.tile(elsewhere.astype(np.float64), (len(there), 1))
            self._add_up(total, np.maximum(there, 0))
            np.minimum(most, most_in(total, use, counts), out=most)
        return most


@lru_cache(maxsize=16)
def _sets_of(count: int) -> Floats:
    """One row per set of so many units: all of them, or as many of the smallest as it is quick to look at."""
    if count <= POOL:
        every: Ints = (np.arange(1, 2**count)[:, None] >> np.arange(count)) & 1
        return every.astype(np.float64)
    parts, total = list[Floats](), 0
    for size in range(1, count + 1):
        total += comb(count, size)
        if total > 2**POOL:
            break
        chosen = np.array(list(combinations(range(count), size)))
        bits = np.zeros((len(chosen), count))
        np.put_along_axis(bits, chosen, 1, axis=1)
        parts.append(bits)
    return np.concatenate(parts)


def _copies(feasibility: Feasibility, shape: int, nodes: Rows, room: Iterable[Ints]) -> Ints:
    """How many members of a shape so much room would hold, at most as many as if all had left."""
    fit = [each // used for each, used in zip(room, feasibility.uses[shape].tolist(), strict=True) if used]
    most = [feasibility.empty.copies[shape][nodes]] if feasibility.plain else []
    return np.maximum(least_of([*fit, *most]), 0)


def _allowed(units: Units, pool: Ints, bits: Floats) -> Mask:
    """No more single pods of a gang than it can spare, and none beside the whole of it."""
    fine = np.ones(len(bits), dtype=np.bool_)
    for family in np.unique(units.family[pool][~units.whole[pool]]).tolist():
        kin = units.family[pool] == family
        singles = bits[:, kin & ~units.whole[pool]].sum(axis=1)
        whole = bits[:, kin & units.whole[pool]].sum(axis=1)
        fine &= (singles <= units.surplus_of(family)) & ((singles == 0) | (whole == 0))
    return fine


def _not_above(price: Ints, limit: Price) -> Mask:
    """Prices that are no higher, compared part by part."""
    fine = np.zeros(price.shape[1], dtype=np.bool_)
    equal = np.ones(price.shape[1], dtype=np.bool_)
    for part, bound in zip(price, limit, strict=True):
        fine |= equal & (part < bound)
        equal &= part == bound
    return fine | equal
