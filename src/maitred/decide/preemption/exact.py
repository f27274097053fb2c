"""The cheapest of the sets of a few units: every set, cheapest first, until one makes enough room.

Sums tell at once for most sets that they free too little; only the others are tried.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import combinations, islice
from math import comb

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.decide.ask import Assignment
from maitred.decide.bounds import most_in
from maitred.decide.preemption.leniency import let_off
from maitred.decide.preemption.site import Option, Site
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


def cheapest(site: Site, pool: Ints, at_most: Price | None, wanted: int, tries: int = TRIES) -> list[Option]:
    """Up to `wanted` sets of these units that make room, none within another, cheapest first.

    `at_most` is the price of a set that is known; what costs more is of no interest.
    """
    sets = _Sets(site, pool)
    found = list[Option]()
    for chosen in sets.in_order(at_most):
        if not all((option.chosen & ~chosen).any() for option in found):
            continue
        tries -= 1
        seats = site.seats(chosen)
        if seats is not None and not _spares_some(site, chosen, seats):
            found.append(Option(chosen, seats, site.units.price(chosen)))
        if len(found) == wanted or not tries or not site.goes_on():
            break
    return found


def _spares_some(site: Site, chosen: Mask, seats: Assignment) -> bool:
    """Whether a gang leaves whole that could stay: as many of its pods as it can spare are enough."""
    units = site.units
    if (chosen & units.divisible).any():
        lesser = let_off(site, chosen, seats)
        if lesser is None or (lesser.chosen != chosen).any():
            return True
    for unit in np.flatnonzero(chosen & units.divisible).tolist():
        rest = chosen.copy()
        rest[unit] = False
        parts = combinations(units.in_part(unit).tolist(), units.surplus_of(int(units.family[unit])))
        if any(site.seats(rest | units.chosen(part)) is not None for part in islice(parts, PARTS)):
            return True
    return False


class _Sets:
    """Of units that come in order."""

    def __init__(self, site: Site, pool: Ints) -> None:
        self.site, self.units, self.pool = site, site.units, pool
        bits = _sets_of(len(pool))
        self.bits: Floats = bits[_allowed(self.units, pool, bits)]
        site.house.meter.take(PASS + 3 * len(self.bits))

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
        units, pool, bits = self.units, self.pool, self.bits
        violations = np.zeros(len(bits), dtype=np.int64)
        for guard in units.guards:
            violations += np.maximum(self._sums(guard.counts[pool]) - guard.allowed, 0)
        highest = np.full(len(bits), np.iinfo(np.int64).min)
        for priority in np.unique(units.priority[pool]).tolist():
            highest[self._sums(units.priority[pool] == priority) > 0] = priority
        steps = self._sums(units.work[pool]) // STEP
        return np.array(
            [violations, highest, steps, self._sums(np.ones_like(pool)), self._sums(units.size[pool])]
        )

    def _sums(self, amounts: Ints | Mask) -> Ints:
        """What each set comes to. In floats, which are quicker, and as true to 9e15."""
        return (self.bits @ amounts.astype(np.float64)).astype(np.int64)

    def _by_ties(self, part: Ints, price: Ints) -> Iterator[Mask]:
        """Sets of one price by age and name."""
        start = 0
        while start < len(part):
            same = (price[:, start:] == price[:, start, None]).all(axis=0)
            end = start + (len(same) if same.all() else int(same.argmin()))
            tied = [self.units.chosen(self.pool[self.bits[row] > 0].tolist()) for row in part[start:end]]
            yield from (tied[place] for place in self.units.in_order(tied[:TIED]))
            yield from tied[TIED:]
            start = end

    @cached_property
    def _freed(self) -> tuple[Rows, Floats]:
        """The nodes that these units are on, and what each unit frees there of what members ask for."""
        site, pool = self.site, self.pool
        entries = site.units.entries_of(site.units.chosen(pool))
        nodes, inverse = np.unique(site.nodes[entries], return_inverse=True)
        mine = np.searchsorted(pool, site.units.unit[entries])
        freed = np.zeros((len(pool), len(nodes), len(site.columns)))
        np.add.at(freed, (mine, inverse), site.freed(entries).T)
        return nodes, freed

    def _may_do(self, bits: Floats) -> Mask:
        """Whether what sets free could be enough, added up over each domain."""
        site, (nodes, freed) = self.site, self._freed
        free = site.trial.columns.free[site.columns]
        domains = max(1, int(site.domains.max(initial=0)) + 1)
        room = np.tensordot(bits, freed, axes=1).astype(np.int64) + free.T[nodes]
        inside = site.useful & (site.domains >= 0)
        members = np.zeros((len(bits), domains), dtype=np.int64)
        for shape, number in enumerate(site.ask.distinct):
            held = _copies(site, shape, np.arange(len(site.useful), dtype=np.intp), free.T)
            held[nodes] = 0
            there = np.bincount(site.domains[inside], weights=held[inside], minlength=domains)
            copies = _copies(site, shape, nodes, room)
            copies[:, ~inside[nodes]] = 0
            by_domain = np.zeros((len(bits), domains), dtype=np.int64)
            np.add.at(by_domain.T, np.maximum(site.domains[nodes], 0), copies.T)
            members += np.minimum(by_domain + there.astype(np.int64), site.ask.shapes.count(number))
        if len(site.ask.distinct) > 1:
            np.minimum(members, self._most_together(nodes, room, domains), out=members)
        enough: Mask = members.max(axis=1) >= site.ask.need
        return enough

    def _most_together(self, nodes: Rows, room: Ints, domains: int) -> Ints:
        """How many members of all shapes the room of each domain is enough for, the most modest first."""
        site = self.site
        inside = site.useful & (site.domains >= 0)
        counts = [site.ask.shapes.count(shape) for shape in site.ask.distinct]
        most = np.full((len(room), domains), len(site.ask.shapes), dtype=np.int64)
        for place, column in enumerate(site.columns):
            free = np.where(inside, np.maximum(site.trial.columns.free[column], 0), 0)
            free[nodes] = 0
            elsewhere = np.bincount(np.maximum(site.domains, 0), weights=free, minlength=domains)
            total = np.tile(elsewhere.astype(np.float64), (len(room), 1))
            there = np.where(inside[nodes], np.maximum(room[:, :, place], 0), 0)
            np.add.at(total.T, np.maximum(site.domains[nodes], 0), there.T)
            np.minimum(most, most_in(total, site.uses[:, place].tolist(), counts), out=most)
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


def _copies(site: Site, shape: int, nodes: Rows, room: Ints) -> Ints:
    """How many members of a shape so much room would hold, at most as many as if all had left."""
    asked = site.uses[shape] > 0
    fit = (room[..., asked] // site.uses[shape][asked]).min(axis=-1)
    most = site.empty.copies[shape] if site.plain else np.full(len(site.useful), np.iinfo(np.int64).max)
    copies: Ints = np.clip(fit, 0, most[nodes])
    return copies


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
