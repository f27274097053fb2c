"""Resources: amounts that nodes have and pods request, one column over the nodes for each."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Self

import numpy as np

from maitred.cluster.devices.served import nodes_without
from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Load
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.supply.fit import Fit, Room
from maitred.cluster.supply.interface import Lift, Supply
from maitred.model.needs import Needs
from maitred.model.quantity import LARGEST_AMOUNT

Requests = tuple[tuple[str, int], ...]


class Columns(Supply):
    """`free` is what no pod holds now. While places are held, `later` is what will be left once all who are
    leaving have left and all who were promised a place sit on it; who sits down now must fit in both.
    """

    def __init__(self, load: Load) -> None:
        super().__init__(load)
        nodes, snapshot = load.nodes, load.snapshot
        if load.occupied:
            self.free: Ints = nodes.allocatable - snapshot.used
        else:  # there may be more nodes, and more resources, than in the snapshot
            self.free = nodes.allocatable.copy()
            height, width = snapshot.fixed.shape
            self.free[:height, :width] -= snapshot.fixed
        self.later: Ints | None = None
        self._touched: list[Rows] = []
        self._room: tuple[int, Ints] | None = None
        """The lesser of both, and how many changes it takes into account."""
        self._copies: dict[Requests, tuple[int, Ints]] = {}
        self._freed: dict[Moved, Ints] = {}
        self._amounts: Ints | None = None

    def on(self, load: Load) -> Self:
        """Where the other view of the nodes has more, or less, there is so much more free."""
        same = load.nodes is self.load.nodes
        more = 0 if same else load.nodes.allocatable - self.load.nodes.allocatable
        other = copy(self)
        other.load, other._touched, other._copies, other._freed = load, [], {}, dict(self._freed)
        other._room = None
        other.free = self.free + more
        other.later = None if self.later is None else self.later + more
        if not same or load.snapshot is not self.load.snapshot:
            other._amounts = None
        return other

    def ahead(self, load: Load, leaving: Mask) -> Self:
        other = self.on(load)
        other.free = self._once_gone(leaving) if other.later is None else other.later
        other.later = None
        return other

    def with_free(self, free: Ints) -> Self:
        """The same with other amounts free."""
        other = copy(self)
        other.free, other._room, other._copies = free, None, {}
        return other

    # -- change and undo -------------------------------------------------------------------------------

    def take(self, entry: Seated) -> None:
        self._account(entry, 1)

    def give_back(self, entry: Seated) -> None:
        self._account(entry, -1)

    def _account(self, entry: Seated, sign: int) -> None:
        rows, taken = entry.rows, sign * self._taken(entry)
        if not entry.held:
            self.free[:, rows] -= taken
        if self.later is not None:
            self.later[:, rows] -= taken
        self._touched.append(rows)

    def move(self, entry: Moved, gone: bool) -> None:
        freed = self._freed.pop(entry, None)
        if freed is None:
            freed = self._freed[entry] = self._amounts_on(entry.rows, entry.pods)
        rows = slice(None) if entry.rows is self.load.everywhere else entry.rows
        self.free[:, rows] += freed if gone else -freed
        self._touched.append(entry.rows)

    def set_aside(self, rows: Rows, amounts: Ints) -> None:
        """Less of every resource is free there; given back by setting aside as much less."""
        self.free[:, rows] -= amounts
        self._touched.append(rows)

    def look_ahead(self, leaving: Mask) -> None:
        if self.later is None:
            self.later = self._once_gone(leaving)

    def expect(self, pods: Rows) -> None:
        if self.later is not None:
            rows = self.load.rows_of(self.load.bound.node[pods])
            self.later[:, rows] += self._amounts_on(rows, pods)
            self._touched.append(rows)

    def _once_gone(self, leaving: Mask) -> Ints:
        load = self.load
        return self.free + self._amounts_on(load.everywhere, np.flatnonzero(leaving & load.here))

    # -- what pods take --------------------------------------------------------------------------------

    def _amounts_on(self, rows: Rows, pods: Rows) -> Ints:
        """What some pods take of every resource of these rows, which are all that they are on."""
        nodes, needs = self.load.bound.node[pods].astype(np.intp), self.load.bound.needs[pods]
        amounts = np.zeros((len(self.load.nodes.resources), len(rows)), dtype=np.int64)
        taken = np.unique(needs) if len(needs) < len(self.amounts_by_needs) else slice(None)
        for column in np.flatnonzero(self.amounts_by_needs[taken].any(axis=0)).tolist():
            sums = np.zeros(len(self.load.everywhere), dtype=np.int64)
            np.add.at(sums, nodes, self.amounts_by_needs[:, column][needs])
            amounts[column] = sums[rows]
        return amounts

    def amounts_of(self, pods: Rows) -> Ints:
        """What each of these pods takes of every resource."""
        amounts: Ints = self.amounts_by_needs[self.load.bound.needs[pods]]
        return amounts

    @property
    def amounts_by_needs(self) -> Ints:
        """What pods on nodes take of every resource, by the number of their needs."""
        if self._amounts is None:
            resources, needs = self.load.nodes.resources, self.load.snapshot.needs
            # One resource of all needs is asked for more often than all resources of one.
            self._amounts = np.zeros((len(resources), len(needs)), dtype=np.int64).T
            for number in np.flatnonzero(np.bincount(self.load.bound.needs)).tolist():
                self._amounts[number] = self.request_column(needs[number])
        return self._amounts

    def _taken(self, entry: Seated) -> Ints:
        """What a journal entry takes of every resource on its rows."""
        return np.outer(self.request_column(self.load.needs(entry.shape)), entry.copies)

    def request_column(self, needs: Needs) -> Ints:
        """What a pod of these needs takes of every resource."""
        nodes = self.load.nodes
        column = np.zeros(len(nodes.resources), dtype=np.int64)
        for resource, requested in needs.requests:
            index = nodes.resource_column(resource)
            if index is not None:
                column[index] = requested
        return column

    # -- how much there is -----------------------------------------------------------------------------

    @property
    def room(self) -> Ints:
        """What whoever sits down now may take of every resource. It is to be read before anything changes."""
        if self.later is None:
            return self.free
        seen, room = self._room or (0, np.minimum(self.free, self.later))
        if self._room is not None and seen < len(self._touched):
            rows = self._touched_since(seen)
            for lesser, free, later in zip(room, self.free, self.later, strict=True):
                lesser[rows] = np.minimum(free[rows], later[rows])
        self._room = (len(self._touched), room)
        return room

    def room_of(self, column: int) -> Ints:
        """The same of one resource."""
        room: Ints = self.room[column]
        return room

    def copies(self, shape: int) -> Ints:
        """How many pods of a shape each node has room for."""
        requests = self.load.needs(shape).requests
        seen, copies = self._copies.get(requests, (-1, None))
        if copies is None:
            copies = self._count_copies(requests, None)
        elif seen < len(self._touched):
            rows = self._touched_since(seen)
            copies[rows] = self._count_copies(requests, rows)
        self._copies[requests] = (len(self._touched), copies)
        return copies

    def _touched_since(self, seen: int) -> Rows:
        touched, everywhere = self._touched[seen:], self.load.everywhere
        return np.concatenate(touched) if sum(map(len, touched)) < len(everywhere) else everywhere

    def _count_copies(self, requests: Requests, rows: Rows | None) -> Ints:
        room = self.room_of if rows is None else lambda column: self.room_of(column)[rows]
        nodes, classes = self.load.nodes, self.load.snapshot.device_classes
        if not any(resource in classes for resource, _ in requests):
            return copies_that_fit(room, nodes, requests)
        counted = tuple((resource, asked) for resource, asked in requests if resource not in classes)
        copies = copies_that_fit(room, nodes, counted)
        for resource, asked in requests:
            if resource in classes:
                free = self._beside_classes(resource)
                fit = np.maximum((free if rows is None else free[rows]) // asked, 0)
                copies = np.minimum(copies, fit)
        return copies

    def _beside_classes(self, resource: str) -> Ints:
        """What is free of a resource that devices of a class serve on nodes that have none of their own: how
        many those have is known to another supply."""
        nodes, column = self.load.nodes, self.load.nodes.resource_column(resource)
        free = self.room_of(column) if column is not None else np.zeros_like(self.free[0])
        return np.where(nodes_without(nodes, resource), LARGEST_AMOUNT, free)

    def asked_by(self, shape: int) -> bool:
        return True

    def passes(self, shape: int) -> int:
        return 1

    def fit(self, shapes: Sequence[int], lift: Lift, others_may_help: bool) -> Fit:
        fit = Fit.without_limits(len(shapes))
        fit.rooms = self._rooms(shapes)
        for position, shape in enumerate(shapes):
            fit.copies[position] = self.copies(shape)
        return fit

    def _rooms(self, shapes: Sequence[int]) -> list[Room]:
        nodes, requests = self.load.nodes, [dict(self.load.needs(shape).requests) for shape in shapes]
        rooms = []
        for resource in sorted(set().union(*requests)):
            column = nodes.resource_column(resource)
            if resource in self.load.snapshot.device_classes:
                free = self._beside_classes(resource)
            else:
                free = self.room_of(column) if column is not None else np.zeros_like(self.free[0])
            rooms.append(Room(free, tuple(r.get(resource, 0) for r in requests)))
        return rooms


def copies_that_fit(room: Callable[[int], Ints], nodes: NodeView, requests: Requests) -> Ints:
    """How many pods of these requests fit into the room that nodes have of the resource of each column."""
    copies: Ints | None = None
    for resource, requested in requests:
        column = nodes.resource_column(resource)
        if column is None:
            return np.zeros_like(room(0))
        fit = room(column) // requested
        copies = fit if copies is None else np.minimum(copies, fit, out=copies)
    assert copies is not None, "every pod takes one of `pods`"
    return np.maximum(copies, 0, out=copies)
