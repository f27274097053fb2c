"""Seats for the members of a group on some nodes: the quickest way that is good enough for the case."""

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints
from maitred.cluster.supply.devices import DeviceSupply
from maitred.decide.bounds import most_among
from maitred.decide.greedy import greedy, is_exact
from maitred.decide.levels import Ladder
from maitred.decide.rules import Rules
from maitred.decide.scoring import seating_order, without_name
from maitred.decide.search import SeatSearch
from maitred.decide.seats import Demand, Seats, Steps, runs_of
from maitred.decide.wear import in_classes, tie_rank, wear_of
from maitred.model.policy import Policy

EXACT_MEMBERS = 12
EXACT_NODES = 12
EXACT_STEPS = 40_000_000 * EXACT_MEMBERS
SEARCHED_NODES = 256
SEARCHED_MEMBERS = 200


def solve(
    rules: Rules, among: Rows, demand: Demand, ladder: Ladder, policy: Policy, steps: Steps
) -> Seats | None:
    """At least `need` and at most `want` members on the nodes of `among`; None if there is no such seating.

    When none was found although there may be one, the steps say that they were exhausted.
    """
    rows = among[rules.hospitable[among]]
    steps.exhausted |= demand.want > rules.sure_up_to
    if len(rules.shapes) == 1 and rules.simple:
        most = min(demand.want, int(rules.copies[0][rows].sum()))
        return fill(rules, 0, rows, most, ladder, policy) if most >= max(1, demand.need) else None
    most = min(demand.want, most_among(rules, rows, demand.counts))
    if most < max(1, demand.need):
        return None
    seats = greedy(rules, rows, demand, policy, steps)
    if not rules.serve(seats):
        seats = Seats()
    if seats.count < most and not (rules.sure and is_exact(rules)):
        seats = improve(rules, rows, demand, most, seats, policy, steps)
    return seats if seats.count >= max(1, demand.need) else None


def fill(rules: Rules, position: int, rows: Rows, count: int, ladder: Ladder, policy: Policy) -> Seats:
    """`count` members of one shape, which do not touch each other, in one pass."""
    copies = rules.copies[position]
    alone = rows[copies[rows] >= count]
    choice = rules.trial.supply(DeviceSupply).choice_ranks(rules.shapes[position])
    if choice is not None:
        alone = alone[choice[alone] == choice[rows].min()]
    rows = alone if len(alone) else rows  # one node that holds them all, if there is one
    order = seating_order(rules.trial, rules.shapes[position], copies, rows, policy)
    by_order = np.argsort(order)
    rows = rows[by_order]
    room = copies[rows]
    total = np.cumsum(room)
    last = int(np.searchsorted(total, count))
    if ladder.rungs and 0 < last < len(rows) - 1:
        scores, wear = without_name(order[by_order]), wear_of(rules.trial, policy)
        rows = among_equals(rows, scores if wear is None else in_classes(wear, scores, rows), last, ladder)
        room = copies[rows]
        total = np.cumsum(room)
        last = int(np.searchsorted(total, count))
    taken = room[: last + 1].copy()
    taken[last] -= total[last] - count
    return Seats(runs_of(position, rows[: last + 1], taken))


def among_equals(rows: Rows, scores: Ints, last: int, ladder: Ladder) -> Rows:
    """The same nodes, best first. Of those that are as good as the last that is needed, so many are needed:
    they are in few domains."""
    first, end = (int(np.searchsorted(scores, scores[last], side)) for side in ("left", "right"))
    if end - 1 == last:
        return rows
    chosen = in_fewest_domains(rows[first:end], last + 1 - first, rows[:first], ladder)
    return np.concatenate((rows[:first], chosen, rows[end:]))


def in_fewest_domains(rows: Rows, count: int, others: Rows, ladder: Ladder) -> Rows:
    """Nodes that are equally good and have room for equally many, so many of them first as are needed: those
    beside `others`, which are taken as well, or beside members that run; then from as few domains of the
    narrowest level as will do, the last of which is the tightest, so that large ones stay whole."""
    codes = ladder.rungs[0]
    domains, met, of, rooms = np.unique(
        codes[rows], return_index=True, return_inverse=True, return_counts=True
    )
    if len(domains) == 1:
        return rows
    known = np.isin(domains, codes[np.concatenate((others, ladder.anchors))]) & (domains >= 0)
    wider = ladder.rungs[min(1, len(ladder.rungs) - 1)][rows[met]]
    inside = np.unique(wider, return_inverse=True)[1]
    around = np.bincount(inside, weights=rooms)[inside]
    ranked = np.lexsort((domains, wider, -around, -rooms, ~known, domains < 0))
    total = np.cumsum(rooms[ranked])
    last = int(np.searchsorted(total, count))
    rest = count - int(total[last - 1] if last else 0)
    if not known[ranked[last]]:
        later = ranked[last:]
        enough = later[(rooms[later] >= rest) & (domains[later] >= 0)]
        tightest = enough[rooms[enough].argmin()] if len(enough) else ranked[last]
        ranked = np.concatenate((ranked[:last], [tightest], later[later != tightest]))
    place = np.empty(len(domains), dtype=np.intp)
    place[ranked] = np.arange(len(domains))
    return rows[np.argsort(place[of], kind="stable")]


def improve(
    rules: Rules, rows: Rows, demand: Demand, most: int, seats: Seats, policy: Policy, steps: Steps
) -> Seats:
    """Search for more members than were seated so far, if only to reach the quorum."""
    members = sum(demand.counts)
    small = members <= EXACT_MEMBERS and len(rows) <= EXACT_NODES
    if members > SEARCHED_MEMBERS:
        steps.exhausted |= seats.count < demand.need
        return seats
    goals = range(most, seats.count, -1) if small else [max(demand.need, 1)]
    chosen = best_rows(rules, rows, policy)
    for goal in goals:
        if goal <= seats.count:
            break
        own = Steps(EXACT_STEPS, meter=steps.meter) if small else steps
        found = SeatSearch(rules, chosen, demand.counts, goal, own).run()
        if found is not None:
            return found
        truncated = len(chosen) < len(rows)
        steps.exhausted |= (own.exhausted or truncated) and goal <= max(demand.need, 1)
    return seats


def best_rows(rules: Rules, rows: Rows, policy: Policy) -> Rows:
    """The nodes to search, best first: as many as a search can look at."""
    order = np.zeros(len(rows), dtype=np.int64)
    for shape, copies in zip(rules.shapes, rules.copies, strict=True):
        rank = np.empty(len(rows), dtype=np.int64)
        rank[np.argsort(seating_order(rules.trial, shape, copies, rows, policy))] = np.arange(len(rows))
        order += rank
    return rows[np.lexsort((tie_rank(rules.trial, policy)[rows], order))][:SEARCHED_NODES]
