"""A small tree of groups, searched in full: all its leaves are seated at once, each on the nodes of its
domain.

Leaves take the same room, so what one of them takes decides where the others can be. The search of
`search.py` is exact for members of several shapes; here a shape of a leaf is a shape of its own, limited to
the leaf's nodes.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.parts import Branch, Parts
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.compile import looks_of_rules, make_rules
from maitred.decide.context import Context, Waiver
from maitred.decide.search import SeatSearch
from maitred.decide.seats import Seats, Steps
from maitred.decide.solve import EXACT_MEMBERS, EXACT_NODES

Layout = list[tuple[Branch, Mask, int]]
"""Leaves, the nodes that each may be on, and how many members of it are to sit there."""
Pick = tuple[tuple[int, int, int], ...]
"""(place in the layout, shape, how many)"""


def is_small(ask: Ask, within: Mask) -> bool:
    return len(ask.shapes) <= EXACT_MEMBERS and int(np.count_nonzero(within)) <= EXACT_NODES


class JointSearch:
    def __init__(
        self, trial: Trial, ask: Ask, parts: Parts, context: Context, steps: Steps, waiver: Waiver
    ) -> None:
        self.trial, self.ask, self.parts = trial, ask, parts
        self.context, self.steps, self.waiver = context, steps, waiver

    def seat(self, layout: Layout) -> Assignment | None:
        """Seats for so many members of each leaf; None if there are none, or the steps are used up."""
        for pick in self._picks(layout):
            found = self._seat(layout, pick)
            if found is not None or self.steps.exhausted:
                return found
        return None

    def _picks(self, layout: Layout) -> Iterator[Pick]:
        """Every way to choose the members of each leaf, as far as they differ in shape."""
        choices = [list(self._choices(place, leaf, need)) for place, (leaf, _, need) in enumerate(layout)]
        for chosen in product(*choices):
            yield tuple(each for pick in chosen for each in pick)

    def _choices(self, place: int, leaf: Branch, need: int) -> Iterator[Pick]:
        shapes = [self.ask.shapes[m] for m, one in enumerate(self.parts.waiting) if one == leaf.leaf]
        distinct = list(dict.fromkeys(shapes))
        for counts in _sums(need, [shapes.count(shape) for shape in distinct]):
            yield tuple((place, shape, n) for shape, n in zip(distinct, counts, strict=True) if n)

    def _seat(self, layout: Layout, pick: Pick) -> Assignment | None:
        shapes = tuple(shape for _, shape, _ in pick)
        self.context.meter.take(looks_of_rules(self.trial, shapes))
        waiver = self.waiver
        rules = make_rules(self.trial, shapes, self.context.policy, waiver.lift, waiver.others_may_help)
        for position, (place, _, _) in enumerate(pick):
            rules.copies[position] = np.where(layout[place][1], rules.copies[position], 0)
            rules.masks[position] = rules.masks[position] & layout[place][1]
        counts = tuple(count for _, _, count in pick)
        rows = np.flatnonzero(rules.hospitable)
        if not len(rows):
            return None
        found = SeatSearch(rules, rows, counts, sum(counts), self.steps).run()
        return None if found is None else self._handed_out(layout, pick, found)

    def _handed_out(self, layout: Layout, pick: Pick, seats: Seats) -> Assignment:
        """Of each leaf and shape the first members."""
        leaves = [(layout[place][0].leaf, shape) for place, shape, _ in pick]
        kinds = list(zip(self.parts.waiting, self.ask.shapes, strict=True))
        waiting = [iter([member for member, kind in enumerate(kinds) if kind == one]) for one in leaves]
        return [(next(waiting[position]), row) for position, row in seats.singles()]


def _sums(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    """Every way to make up a total of parts that are no larger than these."""
    if not most:
        if not total:
            yield ()
        return
    first, *others = most
    for count in range(min(first, total), -1, -1):
        yield from ((count, *rest) for rest in _sums(total - count, others))
