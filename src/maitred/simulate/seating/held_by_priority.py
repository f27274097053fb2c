"""What groups who sit take, by priority: what could be had in their place, before a closer look."""

import math

import numpy as np

from maitred.cluster.nodes import Ints, NodeView
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.quick_fit import Footprint, QuickFit

GOING = -math.inf
"""The priority of those who leave: whoever waits may count on what they take."""


class HeldByPriority:
    """Worked out when it is asked for, for those who have changed since."""

    def __init__(self, amounts: QuickFit) -> None:
        self._amounts = amounts
        self._footprints: dict[tuple[SimulatedGroup, float], Footprint] = {}
        self._by_priority: dict[float, Ints] = {}
        self._changed: dict[SimulatedGroup, None] = {}
        self._lowest = math.inf

    def changed(self, group: SimulatedGroup) -> None:
        self._changed[group] = None
        self._lowest = min(self._lowest, GOING if group.leaving else group.job.priority)

    def below(self, priority: int, nodes: NodeView) -> Ints | None:
        """What all of lower priority take of every resource on every node; None if there never were any."""
        if self._lowest >= priority:
            return None
        for group in self._changed:
            self._note(group, group.job.priority, group.sitters(), nodes)
            self._note(group, GOING, list(group.leaving), nodes)
        self._changed = {}
        lesser = [taken for other, taken in self._by_priority.items() if other < priority]
        return sum(lesser[1:], start=lesser[0]) if lesser else None

    def _note(self, group: SimulatedGroup, priority: float, members: list[int], nodes: NodeView) -> None:
        before = self._footprints.pop((group, priority), None)
        if before is not None:
            before.take_from(self._by_priority[priority])
        if members:
            shape = len(nodes.resources), len(nodes.names)
            taken = self._by_priority.setdefault(priority, np.zeros(shape, dtype=np.int64))
            seats = [(member, group.seats[member]) for member in members]
            after = self._footprints[group, priority] = self._amounts.footprint(group, seats, nodes)
            after.add_to(taken)
