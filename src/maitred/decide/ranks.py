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
from operator import ne, sub

import numpy as np

from maitred.cluster.meter import Meter
from maitred.cluster.nodes import Codes, NodeView
from maitred.cluster.parts import Parts
from maitred.cluster.snapshot import JOB_SPAN, NO_INDEX, GroupView, MemberOrder, RunningMember
from maitred.decide.ask import Assignment
from maitred.decide.context import Context
from maitred.decide.levels import codes_of
from maitred.decide.ranks_along import MOST_LOOKS, Neighbours, fewest_crossings, tried
from maitred.decide.seats import Steps
from maitred.decide.slices import slice_numbers
from maitred.model.group import TopologyRequest
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
class RankedSeats:
    """Members that have an index and a seat, in their order."""

    orders: list[MemberOrder]
    rows: list[int]
    follows: list[bool]
    """Whether each is the neighbour of the one before it."""

    @classmethod
    def of(cls, members: Iterable[tuple[MemberOrder, int]]) -> "RankedSeats":
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


class RankOrder:
    """Gives members other seats of their group. One for a cycle."""

    def __init__(self, nodes: NodeView, context: Context) -> None:
        self.nodes, self.context = nodes, context
        self.scales = Scales.of(nodes, context.levels)

    def of(self, view: GroupView, seats: Assignment, seated: Sequence[RunningMember]) -> Assignment:
        """The same seats for the same members of a group, of each shape the same, with neighbours together.

        `seated` are members that stay where they are.
        """
        if view.parts is not None:
            return self._by_parts(view, view.parts, seats, seated)
        if len(seats) < 2 or (not seated and self._is_plainly_best(view, seats)):
            return seats
        return self._arranged(view, view.group.topology, seats, seated)

    def _by_parts(
        self, view: GroupView, parts: Parts, seats: Assignment, seated: Sequence[RunningMember]
    ) -> Assignment:
        """The members of each leaf of a tree among themselves: they have indexes of their own."""
        leaf_of = {member.order: leaf for member, leaf in zip(view.running, parts.seated, strict=True)}
        found = dict(seats)
        for leaf in (branch for branch, _ in parts.root.walk() if branch.is_leaf):
            own = [(member, row) for member, row in seats if parts.waiting[member] == leaf.leaf]
            staying = [one for one in seated if leaf_of.get(one.order) == leaf.leaf]
            found.update(self._arranged(view, leaf.topology, own, staying))
        return [(member, found[member]) for member, _ in seats]

    def _arranged(
        self, view: GroupView, topology: TopologyRequest, seats: Assignment, seated: Sequence[RunningMember]
    ) -> Assignment:
        ranked = [(member, row) for member, row in seats if view.orders[member][0] != NO_INDEX]
        if len(ranked) < 2:
            return seats
        members = [(view.orders[member], row) for member, row in ranked]
        line = RankedSeats.of([*members, *((one.order, one.node) for one in seated)])
        if not any(line.crossings(self.scales)):
            return seats
        self.context.meter.take(len(line.rows) * (1 + len(self.scales.columns)))
        shapes = {view.orders[member]: int(view.shapes[member]) for member, _ in ranked}
        arrangement = _Arrangement(line, self.scales, shapes, self.context.meter)
        if topology.slice_size:
            key = self.context.key(topology.slice_level)
            arrangement.by_slices(codes_of(self.nodes, key), topology.slice_size)
        else:
            arrangement.improve(range(len(line.rows)))
        after = dict(zip(line.orders, line.rows, strict=True))
        return [(member, after.get(view.orders[member], row)) for member, row in seats]

    def _is_plainly_best(self, view: GroupView, seats: Assignment) -> bool:
        """Whether each domain is left but once, and no index is missing: mostly it is so, and this is seen
        sooner than anything is counted."""
        members, rows = zip(*seats, strict=True)
        orders = view.orders
        indexes = [orders[member][0] for member in members]
        if not STEPS.issuperset(map(sub, indexes[1:], indexes)) or not _left_once(rows):
            return False
        nodes = np.array(list(dict.fromkeys(rows)))
        return all(_left_once(column[nodes].tolist()) for column in self.scales.columns)


STEPS = frozenset((0, 1))
"""From an index to the next, if none is missing."""


def _left_once(domains: Sequence[int]) -> bool:
    """Whether nobody comes back to a domain that others have left."""
    left: int = sum(map(ne, domains[1:], domains))
    return left == len(set(domains)) - 1


class _Arrangement:
    """Members of a line change places. Those that have no shape here stay where they are."""

    def __init__(
        self, line: RankedSeats, scales: Scales, shapes: Mapping[MemberOrder, int], meter: Meter
    ) -> None:
        self.line, self.scales, self.steps = line, scales, Steps(MOST_LOOKS, meter=meter)
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
        if not self.scales.columns:
            return self._nodes(places, rows)
        around = {path[0]: path[:-1] for path in paths.values()}
        at = [paths[row][0] for row in self.line.rows]
        beside = neighbours_of(self.line.follows, places, at)
        chosen = tried(beside, Counter(paths[row][0] for row in rows), around, self.steps)
        found: dict[int, int] = {}
        for domain in dict.fromkeys(chosen):
            inside = [place for place, one in zip(places, chosen, strict=True) if one == domain]
            found |= self._nodes(inside, [row for row in rows if paths[row][0] == domain])
        return found

    def _nodes(self, places: list[int], rows: list[int]) -> dict[int, int]:
        beside = neighbours_of(self.line.follows, places, self.line.rows)
        chosen = tried(beside, Counter(rows), {row: (row,) for row in self.line.rows}, self.steps)
        return dict(zip(places, chosen, strict=True))

    # -- slices ----------------------------------------------------------------------------------------

    def by_slices(self, codes: Codes, size: int) -> None:
        """Slices that are alike change domains as a whole; then members change seats within a domain."""
        pieces: dict[int, list[int]] = {}
        for place, number in enumerate(slice_numbers(self.line.orders, size)):
            pieces.setdefault(number, []).append(place)
        slices = list(pieces.values())
        alike: dict[tuple[int | None, ...], list[int]] = {}
        for number, piece in enumerate(slices):
            shapes = [self.shapes[place] for place in piece]
            if None not in shapes:
                alike.setdefault(tuple(sorted(shapes, key=str)), []).append(number)
        for some in alike.values():
            self._swap_slices(slices, some, codes)
        inside: dict[int, list[int]] = {}
        for place, row in enumerate(self.line.rows):
            inside.setdefault(int(codes[row]), []).append(place)
        for places in inside.values():
            self.improve(places)

    def _swap_slices(self, slices: list[list[int]], alike: list[int], codes: Codes) -> None:
        """In the order of the tree of domains; or beside those that stay, if that is better."""
        kept = self.line.rows
        rows = [kept[piece[0]] for piece in slices]
        at = [int(codes[row]) for row in rows]
        tree = tree_order(self.scales, kept)
        first = {domain: tree[row] for row, domain in reversed(list(zip(rows, at, strict=True)))}
        seats = Counter(at[number] for number in alike)
        follows = [self.line.follows[piece[0]] for piece in slices]
        around = {domain: (domain,) for domain in at}
        contiguous = sorted(seats.elements(), key=first.__getitem__)
        beside = tried(neighbours_of(follows, alike, at), seats, around, self.steps)
        for chosen in (contiguous, beside):
            given = {domain: [number for number in alike if at[number] == domain] for domain in seats}
            moved = [
                (slices[n], slices[given[domain].pop(0)]) for n, domain in zip(alike, chosen, strict=True)
            ]
            self._try({p: row for one, other in moved for p, row in self._seats_of(one, other, kept)})

    def _seats_of(self, piece: list[int], other: list[int], kept: list[int]) -> Iterator[tuple[int, int]]:
        """The members of a slice, with the seats that those of another had, shape by shape."""
        own, theirs = (sorted(one, key=lambda place: (self.shapes[place], place)) for one in (piece, other))
        return zip(own, [kept[place] for place in theirs], strict=True)


def neighbours_of(follows: Sequence[bool], moving: Sequence[int], at: Sequence[int]) -> Neighbours:
    """Of those that move, along the line: whether the neighbour before is one of them, and in which domains
    the neighbours are that stay."""
    among, found = set(moving), Neighbours()
    for place in moving:
        linked = follows[place] and place - 1 in among
        beside = list[int]()
        if follows[place] and not linked:
            beside.append(at[place - 1])
        if place + 1 < len(at) and follows[place + 1] and place + 1 not in among:
            beside.append(at[place + 1])
        found.append((linked, tuple(beside)))
    return found


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
