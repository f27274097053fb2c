"""Where a group goes: the narrowest domain that holds it, and of those the one that it fills best."""

from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.trial import Rows
from maitred.decide.rules import Rules
from maitred.decide.scoring import has_soft_company
from maitred.decide.seats import Demand, Seats, Steps
from maitred.decide.solve import fill, solve
from maitred.model.policy import Policy


@dataclass(frozen=True, slots=True)
class Ladder:
    """Domains to try, narrow to wide, as one column of codes per rung.

    The last rung is the widest that is allowed. `anchors` are nodes that the group already has members on.
    """

    rungs: tuple[Codes, ...]
    widest: Codes
    anchors: Rows
    one_node_first: bool


def place(
    rules: Rules, within: Mask, ladder: Ladder, demand: Demand, policy: Policy, steps: Steps
) -> Seats | None:
    """Seats for as many members as can be, but at least the `need`, in one domain of the widest rung."""
    if demand.want == 1:
        return _place_widely(rules, within, ladder, demand, policy, steps)
    everyone = Demand(demand.counts, demand.want, demand.want)
    if ladder.one_node_first:
        seats = _on_one_node(rules, within, demand.want, policy)
        if seats is not None:
            return seats
    for codes in ladder.rungs:
        for domain in candidates(rules, within, codes, ladder.anchors, everyone):
            seats = solve(rules, within & (codes == domain), everyone, policy, steps)
            if seats is not None:
                return seats
    return _place_widely(rules, within, ladder, demand, policy, steps)


def _on_one_node(rules: Rules, within: Mask, count: int, policy: Policy) -> Seats | None:
    if len(rules.shapes) > 1 or not rules.simple:
        return None
    rows = np.flatnonzero((rules.copies[0] >= count) & within)
    return fill(rules, 0, rows, count, policy) if len(rows) else None


def _place_widely(
    rules: Rules, within: Mask, ladder: Ladder, demand: Demand, policy: Policy, steps: Steps
) -> Seats | None:
    """The best that any domain of the widest rung can do."""
    codes, best = ladder.widest, None
    room = _room(rules, within, codes, demand.counts)
    for domain in candidates(rules, within, codes, ladder.anchors, demand):
        if best is not None and best.count >= min(demand.want, int(room[domain])):
            break
        at_least = max(demand.need, best.count + 1 if best is not None else 0)
        seats = solve(
            rules, within & (codes == domain), Demand(demand.counts, at_least, demand.want), policy, steps
        )
        best = seats if seats is not None else best
    return best


def candidates(rules: Rules, within: Mask, codes: Codes, anchors: Rows, demand: Demand) -> list[int]:
    """Domains that may hold the group, best first.

    First where its members are already, then where most of them fit, then where the least room is left over,
    then what suits the preferences of its pods, then by name.
    """
    room = _room(rules, within, codes, demand.counts)
    able = np.flatnonzero(room >= max(1, demand.need))
    if len(able) < 2:
        return able.tolist()
    left_over = _room(rules, within, codes, None)[able] - demand.want
    elsewhere = ~np.isin(able, codes[anchors])
    seated = np.minimum(room[able], demand.want)
    best_first: list[int] = able[np.lexsort((able, left_over, -seated, elsewhere))].tolist()
    return best_first


def _room(rules: Rules, within: Mask, codes: Codes, counts: tuple[int, ...] | None) -> Ints:
    """How many members each domain could take at most; no more than `counts` of each shape, if given."""
    inside = within & (codes >= 0)
    total: Ints | None = None
    for position, copies in enumerate(rules.copies):
        room = np.bincount(codes[inside], weights=copies[inside]).astype(np.int64)
        if counts is not None:
            np.minimum(room, counts[position], out=room)
        total = room if total is None else total + room
    assert total is not None, "a group has at least one shape"
    return total


def wants_one_node(rules: Rules) -> bool:
    """Members that do not care about each other may share a node; those with soft company are asked first."""
    return not any(has_soft_company(rules.trial.needs(shape)) for shape in rules.shapes)
