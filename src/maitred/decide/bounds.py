"""How many members could be seated at most: quick to work out, and never too few."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.decide.rules import DomainBound, Rules, Spread

Floats = NDArray[np.float64]
A_HAIR_MORE = 1 + 2**-44
"""Many times what adding up a cluster in floats can lose."""


def most_per_domain(rules: Rules, within: Mask, codes: Codes, counts: Sequence[int]) -> tuple[Ints, Ints]:
    """For every domain: a bound on the members it can take, and its room if there were more of them."""
    if rules.bound is None or not rules.bound.answers(within, codes, counts):
        rows = rules.hospitable_in(within)
        chosen = codes[rows]
        if len(rows) and chosen.min() < 0:
            rows, chosen = rows[chosen >= 0], chosen[chosen >= 0]
        most, room = _most_by_code(rules, rows, chosen, counts)
        rules.bound = DomainBound(within, codes, tuple(counts), most, room)
    return rules.bound.most, rules.bound.room


def _most_by_code(rules: Rules, rows: Rows, chosen: Codes, counts: Sequence[int]) -> tuple[Ints, Ints]:
    """The same for some nodes and the domain of each."""
    rooms = [np.bincount(chosen, weights=copies[rows]).astype(np.int64) for copies in rules.copies]
    capped = [np.minimum(room, count) for room, count in zip(rooms, counts, strict=True)]
    most: Ints = sum(capped[1:], capped[0])
    if len(counts) > 1:
        for room in rules.rooms:
            free = np.bincount(chosen, weights=np.maximum(room.free[rows], 0), minlength=len(most))
            np.minimum(most, most_in(free.astype(np.float64, copy=False), room.use, counts), out=most)
    return most, sum(rooms[1:], rooms[0])


def most_among(rules: Rules, rows: Rows, counts: Sequence[int]) -> int:
    """A bound for the nodes of these rows taken together."""
    open_ = rows[rules.hospitable[rows]]
    most = int(_most_by_code(rules, open_, np.zeros(len(open_), dtype=np.int32), counts)[0].sum())
    for conflict in rules.conflicts:
        if not conflict.capped and len(counts) == 1 and conflict.pairs[0, 0]:
            most = min(most, _one_per_domain(conflict.codes[rows], rules.copies[0][rows]))
    if len(counts) == 1:
        for quota in rules.quotas:
            if quota.use[0]:
                limits = np.append(quota.limits // quota.use[0], 0)
                most = min(most, _capped(rules.copies[0][open_], quota.codes[open_], limits))
        for spread in rules.spreads[0]:
            most = min(most, _most_by_spread(spread, open_, rules.copies[0][open_]))
    return most


def _most_by_spread(spread: Spread, rows: Rows, copies: Ints) -> int:
    """How many members on these nodes keep the skew. Domains that none of the nodes is in stay as empty as
    they are, and what the emptiest of them has limits all others."""
    elsewhere, codes = spread.domains.copy(), spread.codes[rows]
    elsewhere[codes] = False
    too_few_domains = int(np.count_nonzero(spread.domains)) < spread.min_domains
    if not spread.own or not (too_few_domains or elsewhere.any()):
        return int(copies.sum())
    emptiest = 0 if too_few_domains else int(spread.counts[elsewhere].min())
    counted = spread.counted[rows]
    limits = np.append(np.maximum(spread.max_skew + emptiest - spread.counts, 0), 0)
    return _capped(copies[counted], codes[counted], limits) + int(copies[~counted].sum())


def _capped(copies: Ints, codes: Codes, limits: Ints) -> int:
    """What nodes of these domains take, were it no more in a domain than its limit; the last is that of nodes
    in none."""
    room = np.bincount(codes + 1, weights=copies, minlength=len(limits))
    return int(np.minimum(room, np.roll(limits, 1)).sum())


def most_in(free: Floats, use: Sequence[int], counts: Sequence[int]) -> Ints:
    """How many members so much of something is enough for, taking the most modest first.

    What whole domains have may be more than an int64 holds, so it is counted in floats, a hair too much: one
    member too many is a bound that is not tight, one too few would be a wrong proof.
    """
    wanted = dict[int, int]()
    for used, count in zip(use, counts, strict=True):
        wanted[used] = wanted.get(used, 0) + count
    most = np.full(free.shape, wanted.pop(0, 0), dtype=np.int64)
    left = free * A_HAIR_MORE
    for used, count in sorted(wanted.items()):
        seated = np.minimum(left // used, count)
        left -= seated * used
        most += seated.astype(np.int64)
    return most


def _one_per_domain(codes: Codes, copies: Ints) -> int:
    apart = codes[(copies > 0) & (codes >= 0)]
    return len(np.unique(apart)) + int(copies[codes < 0].sum())
