"""A trial: a tentative change of a snapshot that can be taken back.

Whatever a node can run out of is kept here as columns, changed in place by `seat`, and undone in reverse by
`rollback`. Counts that are derived from the pods on the nodes are made when first asked for and then follow.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.attachments import Attachments, Mount
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.snapshot import BoundPods, Shape, Snapshot
from maitred.model.needs import HostPort, Needs, PodTerm

Rows = NDArray[np.intp]
Requests = tuple[tuple[str, int], ...]


class Selection(NamedTuple):
    """Which pods a count is about: those that all of the terms match."""

    terms: tuple[PodTerm, ...]
    leaving_too: bool
    """Whether terminating pods count: for affinity they do, for spreading they do not."""


@dataclass(slots=True)
class Seated:
    """One entry of the journal."""

    shape: int
    rows: Rows
    copies: Ints
    mounts: list[Mount]


@dataclass(slots=True)
class Counted:
    per_node: Ints
    classes: Mask


class Trial:
    def __init__(
        self, snapshot: Snapshot, nodes: NodeView, free: Ints, bound: BoundPods, occupied: bool
    ) -> None:
        self.snapshot = snapshot
        self.nodes = nodes
        self.free = free
        self._bound = bound
        self._occupied = occupied
        self._journal: list[Seated] = []
        self._touched: list[Rows] = []
        self._copies: dict[Requests, tuple[int, Ints]] = {}
        self._counted: dict[Selection, Counted] = {}
        self._class_match: dict[tuple[tuple[PodTerm, ...], int], bool] = {}
        self._held: dict[Hashable, Ints] | None = None
        self._attachments: Attachments | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Trial":
        """The cluster as it is."""
        return cls(snapshot, snapshot.nodes, snapshot.nodes.allocatable - snapshot.used, snapshot.bound, True)

    @classmethod
    def empty(cls, snapshot: Snapshot, nodes: NodeView) -> "Trial":
        """The cluster with nothing on it but what belongs to the nodes. `nodes` may have more nodes."""
        free = nodes.allocatable.copy()
        height, width = snapshot.fixed.shape
        free[:height, :width] -= snapshot.fixed
        bound, stays = snapshot.bound, snapshot.bound.fixed
        left = BoundPods(
            bound.node[stays],
            bound.needs[stays],
            bound.labels[stays],
            bound.terminating[stays],
            bound.fixed[stays],
        )
        return cls(snapshot, nodes, free, left, False)

    def on(self, nodes: NodeView) -> "Trial":
        """The same load, tentative placements included, on another view of the same nodes."""
        copy = Trial(self.snapshot, nodes, self.free.copy(), self._bound, self._occupied)
        for entry in self._journal:
            copy.free[:, entry.rows] += self._taken(entry)
            copy.seat(entry.shape, entry.rows, entry.copies)
        return copy

    # -- change and undo -------------------------------------------------------------------------------

    def seat(self, shape: int, rows: Rows, copies: Ints) -> None:
        """Put `copies[i]` pods of a shape on the node of row `rows[i]`; each row at most once."""
        entry = Seated(shape, rows, copies, [])
        volumes = self.snapshot.shapes[shape].volumes
        if volumes:
            entry.mounts = [
                self.attachments.mount(volumes, int(row), int(count))
                for row, count in zip(rows, copies, strict=True)
            ]
        self._journal.append(entry)
        self._account(entry, +1)

    def checkpoint(self) -> int:
        return len(self._journal)

    def rollback(self, checkpoint: int) -> None:
        while len(self._journal) > checkpoint:
            entry = self._journal.pop()
            for mount in reversed(entry.mounts):
                self.attachments.unmount(mount)
            self._account(entry, -1)

    @property
    def changed(self) -> bool:
        return bool(self._journal)

    def _account(self, entry: Seated, sign: int) -> None:
        shape, rows, change = self.shape(entry.shape), entry.rows, sign * entry.copies
        needs = self.snapshot.needs[shape.needs]
        self.free[:, rows] -= sign * self._taken(entry)
        self._touched.append(rows)
        for counted in self._counted.values():
            if counted.classes[shape.labels]:
                counted.per_node[rows] += change
        if self._held is not None:
            for key in held_by(needs):
                self._held_column(self._held, key)[rows] += change

    def _taken(self, entry: Seated) -> Ints:
        """What a journal entry takes of every resource on its rows."""
        return np.outer(self._request_column(self.needs(entry.shape)), entry.copies)

    def _request_column(self, needs: Needs) -> Ints:
        column = np.zeros(len(self.nodes.resources), dtype=np.int64)
        for resource, requested in needs.requests:
            index = self.nodes.resource_column(resource)
            if index is not None:
                column[index] = requested
        return column

    # -- amounts ---------------------------------------------------------------------------------------

    def shape(self, number: int) -> Shape:
        return self.snapshot.shapes[number]

    def needs(self, number: int) -> Needs:
        return self.snapshot.needs[self.snapshot.shapes[number].needs]

    def copies(self, number: int) -> Ints:
        """How many pods of a shape each node has room for, by its resources alone."""
        requests = self.needs(number).requests
        seen, copies = self._copies.get(requests, (-1, None))
        if copies is None:
            copies = self._count_copies(requests, None)
        elif seen < len(self._touched):
            rows = np.concatenate(self._touched[seen:])
            copies[rows] = self._count_copies(requests, rows)
        self._copies[requests] = (len(self._touched), copies)
        return copies

    def _count_copies(self, requests: Requests, rows: Rows | None) -> Ints:
        return copies_that_fit(self.free if rows is None else self.free[:, rows], self.nodes, requests)

    @property
    def attachments(self) -> Attachments:
        if self._attachments is None:
            self._attachments = Attachments(self.snapshot, self.nodes, self._occupied)
        return self._attachments

    # -- neighbours ------------------------------------------------------------------------------------

    def matching(self, selection: Selection) -> Ints:
        """How many pods on each node the selection speaks of."""
        counted = self._counted.get(selection)
        if counted is None:
            counted = self._counted[selection] = self._count(selection)
        return counted.per_node

    def matches(self, selection: Selection, shape: int) -> bool:
        """Whether a pod of this shape is one that the selection speaks of."""
        return self._class_matches(selection.terms, self.shape(shape).labels)

    def _class_matches(self, terms: tuple[PodTerm, ...], number: int) -> bool:
        key = (terms, number)
        if key not in self._class_match:
            labels = self.snapshot.classes[number]
            namespace = self.snapshot.namespace_labels(labels.namespace)
            self._class_match[key] = all(
                term.matches(labels.namespace, namespace, labels.labels) for term in terms
            )
        return self._class_match[key]

    def _count(self, selection: Selection) -> Counted:
        classes = np.zeros(len(self.snapshot.classes), dtype=np.bool_)
        for number in self._possible_classes(selection.terms):
            classes[number] = self._class_matches(selection.terms, number)
        chosen = classes[self._bound.labels]
        if not selection.leaving_too:
            chosen &= ~self._bound.terminating
        per_node = np.bincount(self._bound.node[chosen], minlength=len(self.nodes.names))
        counted = Counted(per_node, classes)
        for entry in self._journal:
            if classes[self.shape(entry.shape).labels]:
                per_node[entry.rows] += entry.copies
        return counted

    def _possible_classes(self, terms: tuple[PodTerm, ...]) -> Sequence[int]:
        """Classes that have a label which one of the terms insists on, or else all."""
        known, index = len(self.snapshot.classes), self.snapshot.classes_with
        fewest: Sequence[int] = range(known)
        for requirement in (r for term in terms for r in term.selector or ()):
            if requirement.operator == "In":
                labelled = [
                    n for value in requirement.values for n in index.get((requirement.key, value), ())
                ]
                fewest = min(fewest, [n for n in labelled if n < known], key=len)
        return fewest

    def all_held(self) -> dict[Hashable, Ints]:
        """Host ports and required anti-affinity terms, and how many pods on each node have them."""
        if self._held is None:
            self._held = {}
            used = np.unique(self._bound.needs)
            for number in used:
                keys = held_by(self.snapshot.needs[number])
                if keys:
                    per_node = np.bincount(
                        self._bound.node[self._bound.needs == number], minlength=len(self.nodes.names)
                    )
                    for key in keys:
                        self._held_column(self._held, key)[:] += per_node
            for entry in self._journal:
                for key in held_by(self.needs(entry.shape)):
                    self._held_column(self._held, key)[entry.rows] += entry.copies
        return self._held

    def _held_column(self, held: dict[Hashable, Ints], key: Hashable) -> Ints:
        if key not in held:
            held[key] = np.zeros(len(self.nodes.names), dtype=np.int64)
        return held[key]


def copies_that_fit(free: Ints, nodes: NodeView, requests: Requests) -> Ints:
    """How many pods of these requests fit into what is free, one column per node."""
    copies: Ints | None = None
    for resource, requested in requests:
        column = nodes.resource_column(resource)
        if column is None:
            return np.zeros(free.shape[1], dtype=np.int64)
        fit = free[column] // requested
        copies = fit if copies is None else np.minimum(copies, fit, out=copies)
    assert copies is not None, "every pod takes one of `pods`"
    return np.maximum(copies, 0, out=copies)


def held_by(needs: Needs) -> tuple[HostPort | PodTerm, ...]:
    return (*needs.host_ports, *needs.anti_affinity)
