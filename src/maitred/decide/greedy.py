"""Seating members one after the other, each on the best node open to it. Fast; may miss a placement."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.supply.fit import Company
from maitred.decide.open_nodes import OpenNodes
from maitred.decide.rules import Rules
from maitred.decide.scoring import seating_order
from maitred.decide.seats import PASS, Demand, Seats, Steps
from maitred.model.policy import Policy

NEVER = np.iinfo(np.int64).max
LOOKED_AT = 64
"""So many of the best nodes are looked at first: mostly one of them is open."""


def greedy(rules: Rules, rows: Rows, demand: Demand, policy: Policy, steps: Steps) -> Seats:
    """The best of a few orders of the shapes."""
    orders = [
        seating_order(rules.trial, shape, copies, rows, policy)
        for shape, copies in zip(rules.shapes, rules.copies, strict=True)
    ]
    best = Seats()
    for sequence in _sequences(rules, rows, demand):
        seats = _seat_in_turn(rules, rows, demand, orders, sequence, steps)
        if seats.count > best.count:
            best = seats
        if best.count >= demand.want:
            break
    return best


def is_exact(rules: Rules) -> bool:
    """Whether seating one by one finds the most there is: one shape, and at most one kind of interaction."""
    if len(rules.shapes) > 1:
        return False
    companies, conflicts = rules.companies[0], [c for c in rules.conflicts if not c.capped]
    interactions = len(conflicts) + len(rules.quotas) + len(rules.spreads[0]) + len(companies)
    return interactions <= 1 and all(len(company.codes) == 1 for company in companies)


def _sequences(rules: Rules, rows: Rows, demand: Demand) -> list[list[int]]:
    """Scarcest first, largest first, and the other way round."""
    positions = list(range(len(rules.shapes)))
    if len(positions) == 1:
        return [positions]
    slack = [int(rules.copies[p][rows].sum()) / max(1, demand.counts[p]) for p in positions]
    size = [_size(rules, rows, p) for p in positions]
    sequences = [
        sorted(positions, key=lambda p: (slack[p], -size[p], p)),
        sorted(positions, key=lambda p: (-size[p], slack[p], p)),
        sorted(positions, key=lambda p: (size[p], slack[p], p)),
    ]
    return [order for index, order in enumerate(sequences) if order not in sequences[:index]]


def _size(rules: Rules, rows: Rows, position: int) -> float:
    """The share that a member takes of the most any of the nodes has of something."""
    return max(room.use[position] / max(1, int(room.free[rows].max(initial=0))) for room in rules.rooms)


def _seat_in_turn(
    rules: Rules, rows: Rows, demand: Demand, orders: list[Ints], sequence: Sequence[int], steps: Steps
) -> Seats:
    open_nodes, seats, left = OpenNodes(rules, rows), Seats(), list(demand.counts)
    queues = [_Queue(open_nodes, position, order) for position, order in enumerate(orders)]
    seated, progress = 0, True
    while progress and seated < demand.want:
        progress = False
        for position in sequence:
            while left[position] and seated < demand.want and steps.goes_on():
                steps.meter.take(PASS + len(rows) * (1 + len(rules.spreads[position])))
                place = queues[position].next(left[position])
                if place is None:
                    break
                copies = min(open_nodes.in_a_row(position, place), left[position], demand.want - seated)
                open_nodes.seat(position, place, copies)
                seats.runs.append((position, int(rows[place]), copies))
                left[position] -= copies
                seated, progress = seated + copies, True
        if not rules.ordered:
            break
    return seats


class _Queue:
    """The nodes that are open, in the order in which one shape takes them."""

    def __init__(self, open_nodes: OpenNodes, position: int, order: Ints) -> None:
        self._floor, self._position, self._order = open_nodes, position, order
        self._places: Rows | None = np.argsort(order) if open_nodes.one_by_one else None
        """Best first, where so many are to be chosen that it is worth while to sort them."""

    def next(self, left: int) -> int | None:
        """The best node that is open to the next of so many members."""
        open_nodes, position = self._floor, self._position
        unfounded = open_nodes.unfounded(position)
        if self._places is not None and not unfounded:
            return self._first_open(self._places)
        allowed = open_nodes.open_to(position)
        if not allowed.any():
            return None
        for company in unfounded:
            allowed = _roomy_domain(open_nodes, position, company, allowed, left)
        return int(np.where(allowed, self._order, NEVER).argmin())

    def _first_open(self, places: Rows) -> int | None:
        """A few of the best are looked at, then all; whoever is closed for good is left behind."""
        open_nodes, position = self._floor, self._position
        places = self._places = places[open_nodes.closed_ahead(position, places[:LOOKED_AT]) :]
        for some in (places[:LOOKED_AT], places[LOOKED_AT:]):
            if len(some):
                allowed = open_nodes.open_to(position, some)
                first = int(allowed.argmax())
                if allowed[first]:
                    return int(some[first])
        return None


def _roomy_domain(open_nodes: OpenNodes, position: int, company: Company, allowed: Mask, left: int) -> Mask:
    """Where the first of a series goes the others must follow: the tightest domain that holds them all."""
    codes = company.codes[0][open_nodes.rows]
    allowed = allowed & (codes >= 0)
    room = np.bincount(codes[allowed], weights=open_nodes.copies[position][allowed], minlength=1).astype(
        np.int64
    )
    enough = room >= left
    best = int(np.where(enough, room, NEVER).argmin()) if enough.any() else int(room.argmax())
    inside: Mask = allowed & (codes == best)
    return inside
