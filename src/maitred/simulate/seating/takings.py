"""What parties who sit take, by priority: what could be had in their place, before a closer look."""

import math

import numpy as np

from maitred.cluster.nodes import Ints, NodeView
from maitred.simulate.party import Party
from maitred.simulate.seating.amounts import Amounts, Footprint

GOING = -math.inf
"""The priority of those who leave: whoever waits may count on what they take."""


class Takings:
    """Worked out when it is asked for, for those who have changed since."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._footprints: dict[tuple[Party, float], Footprint] = {}
        self._by_priority: dict[float, Ints] = {}
        self._changed: dict[Party, None] = {}
        self._lowest = math.inf

    def changed(self, party: Party) -> None:
        self._changed[party] = None
        self._lowest = min(self._lowest, GOING if party.leaving else party.job.priority)

    def below(self, priority: int, nodes: NodeView) -> Ints | None:
        """What all of lower priority take of every resource on every node; None if there never were any."""
        if self._lowest >= priority:
            return None
        for party in self._changed:
            self._note(party, party.job.priority, party.sitters(), nodes)
            self._note(party, GOING, list(party.leaving), nodes)
        self._changed = {}
        lesser = [taken for other, taken in self._by_priority.items() if other < priority]
        return sum(lesser[1:], start=lesser[0]) if lesser else None

    def _note(self, party: Party, priority: float, members: list[int], nodes: NodeView) -> None:
        before = self._footprints.pop((party, priority), None)
        if before is not None:
            before.take_from(self._by_priority[priority])
        if members:
            shape = len(nodes.resources), len(nodes.names)
            taken = self._by_priority.setdefault(priority, np.zeros(shape, dtype=np.int64))
            seats = [(member, party.seats[member]) for member in members]
            after = self._footprints[party, priority] = self._amounts.footprint(party, seats, nodes)
            after.add_to(taken)
