"""Where a group goes: the narrowest domain that holds it, and of those the one that it fills best."""

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.decide.bounds import most_per_domain
from maitred.decide.levels import Ladder
from maitred.decide.rules import Rules
from maitred.decide.scoring import device_nodes, needs_no_device, packing, preferences, seating_order
from maitred.decide.seats import PASS, Demand, Seats, Steps
from maitred.decide.solve import solve
from maitred.decide.wear import in_classes, wear_of
from maitred.model.policy import Policy


def place(
    rules: Rules, within: Mask, ladder: Ladder, demand: Demand, policy: Policy, steps: Steps
) -> Seats | None:
    """Seats for as many members as can be, but at least the `need`, in one domain of the widest rung."""
    most, _ = most_per_domain(rules, within, ladder.widest, demand.counts)
    if most.max(initial=0) < max(1, demand.need):
        return None
    if most.max() < demand.want:  # then no part of it has room for everyone either
        return _place_widely(rules, within, ladder, demand, policy, steps)
    everyone = Demand(demand.counts, demand.want, demand.want)
    if needs_no_device(rules, policy):
        others = within & ~device_nodes(rules.trial.nodes, policy)
        seats = _place_everyone(rules, others, ladder, everyone, policy, steps)
        if seats is not None:
            return seats
    seats = _place_everyone(rules, within, ladder, everyone, policy, steps)
    return seats if seats is not None else _place_widely(rules, within, ladder, demand, policy, steps)


def _place_everyone(
    rules: Rules, within: Mask, ladder: Ladder, everyone: Demand, policy: Policy, steps: Steps
) -> Seats | None:
    """All members in one domain, as narrow as can be; a lone pod by itself, where it breaks least."""
    if everyone.want == 1 and not len(ladder.anchors):
        return _place_one(rules, within, ladder, policy)
    for codes in (*ladder.rungs, ladder.widest):
        steps.meter.take(PASS + len(within) * len(rules.shapes))
        for domain, _ in candidates(rules, within, codes, ladder.anchors, everyone, policy):
            if not steps.goes_on():
                return None
            seats = solve(rules, _rows_in(rules, within, codes, domain), everyone, ladder, policy, steps)
            if seats is not None:
                return seats
    return None


def _place_one(rules: Rules, within: Mask, ladder: Ladder, policy: Policy) -> Seats | None:
    """The node that is packed already, and of those one in the domain with least room: racks stay whole."""
    if not rules.simple:
        return None
    rows = np.flatnonzero((rules.copies[0] > 0) & within & (ladder.widest >= 0))
    if not len(rows):
        return None
    order = seating_order(rules.trial, rules.shapes[0], rules.copies[0], rows, policy)
    for codes in ladder.rungs:
        rows, order = _tightest(rules, within, codes, rows, order, policy)
    return Seats([(0, int(rows[order.argmin()]), 1)])


def _tightest(
    rules: Rules, within: Mask, codes: Codes, rows: Rows, order: Ints, policy: Policy
) -> tuple[Rows, Ints]:
    """Of the nodes that are packed best, those in the domain with the least room for such pods."""
    packed, wear = packing(order), wear_of(rules.trial, policy)
    packed = packed if wear is None else in_classes(wear, packed, rows)
    chosen = (packed == packed.min()) & (codes[rows] >= 0)
    if not chosen.any():
        return rows, order
    _, room = most_per_domain(rules, within, codes, (1,))
    least = room[codes[rows[chosen]]]
    keep = np.flatnonzero(chosen)[least == least.min()]
    return rows[keep], order[keep]


def _place_widely(
    rules: Rules, within: Mask, ladder: Ladder, demand: Demand, policy: Policy, steps: Steps
) -> Seats | None:
    """The best that any domain of the widest rung can do."""
    codes, best = ladder.widest, None
    for domain, room in candidates(rules, within, codes, ladder.anchors, demand, policy):
        if not steps.goes_on() or (best is not None and best.count >= min(demand.want, room)):
            break
        at_least = max(demand.need, best.count + 1 if best is not None else 0)
        rows = _rows_in(rules, within, codes, domain)
        seats = solve(rules, rows, Demand(demand.counts, at_least, demand.want), ladder, policy, steps)
        best = seats if seats is not None else best
    return best


def candidates(
    rules: Rules, within: Mask, codes: Codes, anchors: Rows, demand: Demand, policy: Policy
) -> list[tuple[int, int]]:
    """Domains that may hold the group, best first, each with the most members that it could take.

    First where its members are already, then where most of them fit, then where the least room is left over,
    then where its pods would rather be, then where least has failed, then by name.
    """
    most, room = most_per_domain(rules, within, codes, demand.counts)
    able = np.flatnonzero(most >= max(1, demand.need))
    if len(able) > 1:
        keys: list[Ints | Mask] = [room[able]]
        liking = _liking(rules, within, codes, len(most))
        if liking is not None:
            keys.insert(0, -liking[able])
        worn = _worn(rules, within, codes, len(most), policy)
        if worn is not None:
            keys.insert(0, worn[able])
        if demand.need < demand.want:  # else they hold everyone
            keys.append(-np.minimum(most[able], demand.want))
        if len(anchors):
            keys.append(~np.isin(able, codes[anchors]))
        able = able[np.lexsort(keys)]
    return list(zip(able.tolist(), most[able].tolist(), strict=True))


def _liking(rules: Rules, within: Mask, codes: Codes, domains: int) -> Ints | None:
    """How much the first shape likes the nodes of each domain that have room for it, on the whole; None if it
    likes all nodes alike."""
    liked = preferences(rules.trial, rules.shapes[0])
    if not liked.any():
        return None
    useful = within & (codes >= 0) & (rules.copies[0] > 0)
    total = np.bincount(codes[useful], weights=liked[useful], minlength=domains)
    nodes = np.bincount(codes[useful], minlength=domains)
    return (total / np.maximum(nodes, 1)).round().astype(np.int64)


def _worn(rules: Rules, within: Mask, codes: Codes, domains: int, policy: Policy) -> Ints | None:
    """How much those nodes of each domain have failed that have room for members; None if none has."""
    wear = wear_of(rules.trial, policy)
    if wear is None:
        return None
    useful = within & (codes >= 0) & rules.hospitable
    total = np.bincount(codes[useful], weights=wear.weight[useful], minlength=domains)
    return total.astype(np.int64)


def _rows_in(rules: Rules, within: Mask, codes: Codes, domain: int) -> Rows:
    """Nodes of a domain that could take a member."""
    rows = rules.hospitable_in(within)
    inside: Rows = rows[codes[rows] == domain]
    return inside
