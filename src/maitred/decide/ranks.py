"""Rank order: which member takes which of the seats of its group, so that neighbours sit together.

Members with an index talk most to those next to them. Which seats a group has is decided before; here members
of one shape change places among them, which no filter and no amount can notice. As few neighbouring pairs as
possible cross a domain of the narrowest level, then of the next wider one and so on, then a node.

For members of one shape the fewest are found: always if all sit down together and no index is missing between
them; if others run already, or indexes are missing, where the ways to do it are few enough to look at all of
them. Otherwise, with several shapes and in slices, what is found is good, and no worse than what was there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from maitred.cluster.members import JOB_SPAN, NO_INDEX
from maitred.cluster.nodes import Codes, NodeView
from maitred.cluster.snapshot import GroupView, MemberOrder, RunningMember
from maitred.decide.ask import Assignment
from maitred.decide.levels import codes_of
from maitred.decide.ranks_along import Neighbours, fewest_crossings, tried
from maitred.decide.seats import Meter
from maitred.decide.slices import slice_numbers
from maitred.model.policy import Level

Crossings = tuple[int, ...]
"""How many pairs cross, by scale."""


@dataclass(frozen=True, slots=True)
class Scales:
    """The domain that each node is in, by level, narrow to wide, and at last the node itself.

    A node that is in no domain of a level counts as one by itself there.
    """

    columns: tuple[Codes, ...]

    @classmethod
    def of(cls, nodes: NodeView, levels: Sequence[Level]) -> "Scales":
        return cls(tuple(codes_of(nodes, level.key) for level in reversed(levels)))

    def domains(self, rows: Sequence[int]) -> Iterator["np.ndarray[tuple[int], np.dtype[np.int64]]"]:
        """Of some nodes, one scale after the other."""
        there = np.array(rows, dtype=np.int64)
        for column in self.columns:
            codes = column[there].astype(np.int64)
            yield np.where(codes >= 0, codes, -1 - there)
        yield there

    def path(self, row: int) -> tuple[int, ...]:
        """The same of one node."""
        return (*(int(column[row]) if column[row] >= 0 else -1 - row for column in self.columns), row)


def next_to_each_other(one: MemberOrder, other: MemberOrder) -> bool:
    """Whether `other`, which comes next in the order, is the neighbour of `one`: no index is missing between.
    Where one Job of a JobSet ends the next begins."""
    return other[0] - one[0] <= 1 or (
        other[0] % JOB_SPAN == 0 and other[0] // JOB_SPAN - one[0] // JOB_SPAN == 1
    )


@dataclass(slots=True)
class Line:
    """Members that have an index and a seat, in their order."""

    orders: list[MemberOrder]
    rows: list[int]
    follows: list[bool]
    """Whether each is the neighbour of the one before it."""

    @classmethod
    def of(cls, members: Iterable[tuple[MemberOrder, int]]) -> "Line":
        ranked = sorted(member for member in members if member[0][0] != NO_INDEX)
        orders = [order for order, _ in ranked]
        follows = [False, *(next_to_each_other(one, other) for one, other in pairwise(orders))]
        return cls(orders, [row for _, row in ranked], follows[: len(orders)])

    @property
    def pairs(self) -> int:
        return sum(self.follows)

    @property
    def unbroken(self) -> bool:
        return all(self.follows[1:])

    def crossings(self, scales: Scales) -> Crossings:
        follows = np.array(self.follows[1:], dtype=np.bool_)
        return tuple(int(((at[1:] != at[:-1]) & follows).sum()) for at in scales.domains(self.rows))

    def least(self, scales: Scales) -> tuple[int | None, ...]:
        """How many would cross at least, had members of one shape these seats in the best of all orders: by
        scale, each by itself. None where that is not known."""
        if self.unbroken:
            return tuple(len(np.unique(at)) - 1 for at in scales.domains(self.rows))
        return tuple(fewest_crossings(self.follows, at.tolist()) for at in scales.domains(self.rows))


def in_rank_order(
    nodes: NodeView,
    levels: Sequence[Level],
    view: GroupView,
    seats: Assignment,
    seated: Sequence[RunningMember],
    meter: Meter,
) -> Assignment:
    """The same seats for the same members of a group, of each shape the same, with neighbours together.

    `seated` are members that stay where they are.
    """
    ranked = [(member, row) for member, row in seats if view.orders[member][0] != NO_INDEX]
    if len(ranked) < 2:
        return seats
    members = sorted([(view.orders[member], row) for member, row in ranked])
    line = Line.of([*members, *((one.order, one.node) for one in seated)])
    scales = Scales.of(nodes, levels)
    before = line.crossings(scales)
    if not any(before) or (line.unbroken and before == line.least(scales)):
        return seats
    meter.take(len(line.rows) * len(before))
    shapes = {view.orders[member]: int(view.shapes[member]) for member, _ in ranked}
    arranged = _Arrangement(line, scales, shapes, meter)
    if view.group.topology.slice_size:
        arranged.by_slices(nodes, levels, view)
    else:
        arranged.improve(range(len(line.rows)))
    after = dict(zip(line.orders, line.rows, strict=True))
    return [(member, after.get(view.orders[member], row)) for member, row in seats]


class _Arrangement:
    """Members of a line change places. Those that have no shape here stay where they are."""

    def __init__(self, line: Line, scales: Scales, shapes: Mapping[MemberOrder, int], meter: Meter) -> None:
        self.line, self.scales, self.meter = line, scales, meter
        self.shapes = [shapes.get(order) for order in line.orders]

    def improve(self, places: Iterable[int]) -> None:
        """The members at these places of the line change seats among themselves, if that is better."""
        by_shape: dict[int, list[int]] = {}
        for place in places:
            shape = self.shapes[place]
            if shape is not None:
                by_shape.setdefault(shape, []).append(place)
        self._try({place: row for some in by_shape.values() for place, row in self._contiguous(some)})
        for some in by_shape.values():
            if not self._one_run(some):
                self._try(self._beside_others(some))

    def _try(self, rows: Mapping[int, int]) -> None:
        before, kept = self.line.crossings(self.scales), self.line.rows
        self.line.rows = [rows.get(place, row) for place, row in enumerate(kept)]
        if self.line.crossings(self.scales) >= before:
            self.line.rows = kept

    def _one_run(self, places: list[int]) -> bool:
        """Whether these are all there are, without a gap: then the order of the tree is the best."""
        return len(places) == len(self.line.rows) and self.line.unbroken

    def _contiguous(self, places: list[int]) -> Iterator[tuple[int, int]]:
        """Domain by domain, and in each node by node: whoever comes first has the first seat."""
        key = tree_order(self.scales, self.line.rows)
        rows = sorted((self.line.rows[place] for place in places), key=key.__getitem__)
        return zip(places, rows, strict=True)

    def _beside_others(self, places: list[int]) -> dict[int, int]:
        """First the domain of the narrowest level for each, then the node in it."""
        rows = [self.line.rows[place] for place in places]
        paths = {row: self.scales.path(row) for row in self.line.rows}
        widths = len(self.scales.columns)
        if not widths:
            return self._nodes(places, rows, paths)
        chosen = tried(
            self._neighbours(places, paths),
            Counter(paths[row][0] for row in rows),
            {paths[row][0]: paths[row][:widths] for row in self.line.rows},
            self.meter,
        )
        found: dict[int, int] = {}
        for domain in dict.fromkeys(chosen):
            inside = [place for place, at in zip(places, chosen, strict=True) if at == domain]
            found |= self._nodes(inside, [row for row in rows if paths[row][0] == domain], paths)
        return found

    def _nodes(
        self, places: list[int], rows: list[int], paths: Mapping[int, tuple[int, ...]]
    ) -> dict[int, int]:
        themselves = {row: (row,) for row in paths}
        chosen = tried(self._neighbours(places, themselves), Counter(rows), themselves, self.meter)
        return dict(zip(places, chosen, strict=True))

    def _neighbours(self, places: list[int], paths: Mapping[int, tuple[int, ...]]) -> Neighbours:
        """Where those sit who stay, beside each of these; whether its neighbour before it is one of these."""
        line, moving = self.line, set(places)
        found: Neighbours = []
        for place in places:
            linked = line.follows[place] and place - 1 in moving
            beside = list[int]()
            if line.follows[place] and not linked:
                beside.append(paths[line.rows[place - 1]][0])
            if place + 1 < len(line.rows) and line.follows[place + 1] and place + 1 not in moving:
                beside.append(paths[line.rows[place + 1]][0])
            found.append((linked, tuple(beside)))
        return found

    # -- slices ----------------------------------------------------------------------------------------

    def by_slices(self, nodes: NodeView, levels: Sequence[Level], view: GroupView) -> None:
        """Slices that are alike change domains as a whole; then members change seats within a domain."""
        request = view.group.topology
        key = next((level.key for level in levels if level.name == request.slice_level), request.slice_level)
        codes, line = codes_of(nodes, key), self.line
        pieces: dict[int, list[int]] = {}
        for place, number in enumerate(slice_numbers(line.orders, request.slice_size)):
            pieces.setdefault(number, []).append(place)
        alike: dict[tuple[int | None, ...], list[list[int]]] = {}
        for piece in pieces.values():
            composition = tuple(sorted(self.shapes[p] or 0 for p in piece))
            if all(self.shapes[place] is not None for place in piece):
                alike.setdefault(composition, []).append(piece)
        order = tree_order(self.scales, line.rows)
        swapped: dict[int, int] = {}
        for some in alike.values():
            first = {id(piece): min(order[line.rows[place]] for place in piece) for piece in some}
            for piece, other in zip(some, sorted(some, key=lambda one: first[id(one)]), strict=True):
                seats = sorted(other, key=lambda place: (self.shapes[place] or 0, place))
                takers = sorted(piece, key=lambda place: (self.shapes[place] or 0, place))
                swapped |= {taker: line.rows[seat] for taker, seat in zip(takers, seats, strict=True)}
        self._try(swapped)
        inside: dict[int, list[int]] = {}
        for place, row in enumerate(line.rows):
            inside.setdefault(int(codes[row]), []).append(place)
        for places in inside.values():
            self.improve(places)


def tree_order(scales: Scales, rows: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Nodes ordered domain by domain, the widest first; of several, whoever was there first comes first.

    A domain that lies in two wider ones counts for the one in which it was met first, so that it is not torn.
    """
    parents: list[dict[int, int]] = [{} for _ in scales.columns]
    numbers: dict[tuple[int, ...], int] = {}
    found: dict[int, tuple[int, ...]] = {}
    for row in dict.fromkeys(rows):
        path = scales.path(row)
        chain = [row]
        at = path[0]
        for width in range(len(scales.columns)):
            chain.append(at)
            if width + 1 < len(scales.columns):
                at = parents[width].setdefault(at, path[width + 1])
        chain.reverse()
        prefixes = (tuple(chain[: depth + 1]) for depth in range(len(chain)))
        found[row] = tuple(numbers.setdefault(prefix, len(numbers)) for prefix in prefixes)
    return found
