"""How much room there is: a quick look before the engine is asked to seat anybody."""

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.selection import required_nodes, tolerated_nodes
from maitred.cluster.supply.columns import copies_that_fit
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask
from maitred.decide.compile import managed_nodes
from maitred.decide.context import Context
from maitred.decide.levels import codes_of


class RoomEstimate:
    def __init__(self, trial: Trial, context: Context) -> None:
        self.trial, self.context = trial, context
        self.looks = 0
        """How often the nodes were looked at."""
        self._open: dict[int, Ints] = {}
        self._most: dict[tuple[int, str], tuple[int, int]] = {}
        """With what the trial had seen of changes then."""

    def may_hold(self, ask: Ask, more: Ints | None = None) -> bool:
        """Whether so many have room by what they request and where they may go, if more were free; False is
        certain."""
        distinct, required = ask.distinct, ask.topology.required
        level = self.context.key(required) if required and len(distinct) == 1 else ""

        def most_of(shape: int) -> int:
            return self._most_of(shape, level) if more is None else self._count(shape, level, more)

        most = sum(min(ask.shapes.count(shape), most_of(shape)) for shape in distinct)
        return most >= max(1, ask.need)

    def _most_of(self, shape: int, level: str) -> int:
        """How many of a shape have room, in all or in the best domain of a level."""
        changes = self.trial.changes
        seen, most = self._most.get((shape, level), (-1, 0))
        if seen != changes:
            most = self._count(shape, level)
            self._most[shape, level] = (changes, most)
        return most

    def _count(self, shape: int, level: str, more: Ints | None = None) -> int:
        self.looks += 1
        trial = self.trial
        if more is None:
            copies = trial.columns.copies(shape)
        else:
            free, requests = trial.columns.free + more, trial.needs(shape).requests
            copies = copies_that_fit(free.__getitem__, trial.nodes, requests)
        open_to = self._open_to(shape)
        if not level:
            return int(copies @ open_to)
        return int(np.bincount(self._domains(level), weights=copies * open_to)[1:].max(initial=0))

    def _open_to(self, shape: int) -> Ints:
        """1 for nodes that the shape may go to, 0 for the others."""
        if shape not in self._open:
            needs, nodes = self.trial.needs(shape), self.trial.nodes
            mask = managed_nodes(nodes, self.context.policy) & required_nodes(nodes, needs.node)
            self._open[shape] = (mask & tolerated_nodes(nodes, needs.tolerations)).astype(np.int64)
        return self._open[shape]

    def _domains(self, level: str) -> Ints:
        """From 1; 0 for nodes that are in none."""
        nodes = self.trial.nodes
        return nodes.derived(("domains", level), lambda: codes_of(nodes, level).astype(np.int64) + 1)
