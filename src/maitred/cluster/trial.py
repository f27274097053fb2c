"""A trial: a tentative change of a snapshot that can be taken back.

Whatever a node can run out of is kept here as columns, changed in place by `seat`, and undone in reverse by
`rollback`. Counts that are derived from the pods on the nodes are made when first asked for and then follow.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.attachments import Attachments
from maitred.cluster.journal import Counted, Foes, Moved, Seated, Selection
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.snapshot import BoundPods, Shape, Snapshot
from maitred.model.needs import HostPort, Needs, PodTerm

Rows = NDArray[np.intp]
Requests = tuple[tuple[str, int], ...]
MOST_COUNTED = 64
"""Selections whose counts follow every change: most are those of one group, and not asked for again."""


class Trial:
    """`free` is what nobody holds now. While places are held, `later` is what will be left once all who are
    leaving have left and all who were promised a place sit on it; who sits down now must fit in both.
    """

    def __init__(
        self, snapshot: Snapshot, nodes: NodeView, free: Ints, bound: BoundPods, occupied: bool
    ) -> None:
        self.snapshot = snapshot
        self.nodes = nodes
        self.free = free
        self.later: Ints | None = None
        self._bound = bound
        self._here = np.ones(len(bound.node), dtype=np.bool_)
        self._occupied = occupied
        self._journal: list[Seated | Moved] = []
        self._touched: list[Rows] = []
        self._copies: dict[Requests, tuple[int, Ints]] = {}
        self._counted: dict[Selection, Counted] = {}
        self._watched: Ints = np.zeros(len(snapshot.classes), dtype=np.int64)
        """How many of these selections speak of each class of labels."""
        self._class_match: dict[tuple[tuple[PodTerm, ...], int], bool] = {}
        self._held: dict[Hashable, Ints] | None = None
        self._foes = Foes()
        self._attachments: Attachments | None = None
        self._amounts: Ints | None = None
        self._everywhere: Rows = np.arange(len(nodes.names), dtype=np.intp)
        self._followers: list[Follower] = []

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
        return cls(snapshot, nodes, free, snapshot.bound.where(snapshot.bound.fixed), False)

    def on(self, nodes: NodeView, snapshot: Snapshot | None = None) -> "Trial":
        """The same load, tentative placements included, on another view of the same nodes, which may have
        more or less to give there.

        The snapshot may be another too, as long as the same pods run in it and it has the same shapes, or
        more.
        """
        more = 0 if nodes is self.nodes else nodes.allocatable - self.nodes.allocatable
        other = Trial(snapshot or self.snapshot, nodes, self.free + more, self._bound, self._occupied)
        other.later = None if self.later is None else self.later + more
        other._here = self._here.copy()
        if nodes is self.nodes and snapshot is None:
            other._amounts, other._class_match = self._amounts, self._class_match
        other._journal = [
            Seated(entry.shape, entry.rows, entry.copies, entry.held) if isinstance(entry, Seated) else entry
            for entry in self._journal
        ]
        return other

    def twin(self) -> "Follower":
        """A copy on which some placements can be taken back, one after the other, as if they had not been
        made; all that is counted there in the meantime stays."""
        other = self.on(self.nodes)
        return Follower(other, other._counterparts(self))

    def with_free(self, free: Ints) -> "Trial":
        """The same with other amounts free, to be looked at only."""
        other = copy(self)
        other.free, other._copies = free, {}
        return other

    def ahead(self, leaving: Mask) -> "Trial":
        """The cluster once these pods have left, with those who were promised a place on it."""
        ahead = self.on(self.nodes)
        ahead.free = self._once_gone(leaving) if ahead.later is None else ahead.later
        ahead.later = None
        ahead._here &= ~leaving
        for entry in ahead._journal:
            if isinstance(entry, Seated):
                entry.held = False
        return ahead

    def follow(self, leader: "Trial") -> None:
        """From now on whoever gets a place on the leader, or is promised one, has it here too, for as long.

        This is a copy of the leader as it is now, on which others may be gone. To follow is much cheaper than
        to copy anew, because all that was counted here stays.
        """
        leader._followers.append(Follower(self, self._counterparts(leader)))

    def _counterparts(self, original: "Trial") -> dict[int, Seated]:
        """The own entry for each entry of the journal that this is a copy of."""
        return {id(entry): mine for entry, mine in zip(original._seated(), self._seated(), strict=True)}

    def no_followers(self) -> None:
        self._followers = []

    # -- change and undo -------------------------------------------------------------------------------

    def seat(self, shape: int, rows: Rows, copies: Ints) -> Seated:
        """Put `copies[i]` pods of a shape on the node of row `rows[i]`; each row at most once."""
        entry = Seated(shape, rows, copies)
        self._enter(entry)
        return entry

    def hold(self, shape: int, rows: Rows, copies: Ints, leaving: Mask) -> Seated:
        """Keep places for pods that are to come once those who leave are gone, until they are let go."""
        if self.later is None:
            self.later = self._once_gone(leaving)
        entry = Seated(shape, rows, copies, held=True)
        self._enter(entry)
        return entry

    def let_go(self, entry: Seated) -> None:
        """Hold these places no longer, or take those away who sat down there."""
        self._journal = [other for other in self._journal if other is not entry]
        if entry.mounts:
            self._attachments = None
        self._account(entry, -1)
        for follower in self._followers:
            follower.let_go(entry)

    def expect(self, pods: Rows) -> None:
        """These will leave. Their places are not free yet, but can be promised."""
        if self.later is not None:
            rows = self._rows_of(self._bound.node[pods])
            self.later[:, rows] += self._amounts_on(rows, pods)
            self._touched.append(rows)

    def evict(self, pods: Rows) -> None:
        """These pods are gone, whoever they were."""
        self._move(pods, gone=True)

    def bring_back(self, pods: Rows) -> None:
        """These pods, which were gone, are there again."""
        self._move(pods, gone=False)

    def _move(self, pods: Rows, gone: bool) -> None:
        rows = self._rows_of(self._bound.node[pods])
        freed = self._amounts_on(rows, pods)
        entry = Moved(pods, gone, rows, freed if gone else -freed)
        self._journal.append(entry)
        self._account_moved(entry, undone=False)

    def checkpoint(self) -> int:
        return len(self._journal)

    def rollback(self, checkpoint: int) -> None:
        while len(self._journal) > checkpoint:
            entry = self._journal.pop()
            if isinstance(entry, Moved):
                self._account_moved(entry, undone=True)
                continue
            if self._attachments is not None:
                for mount in reversed(entry.mounts):
                    self._attachments.unmount(mount)
            self._account(entry, -1)
            for follower in self._followers:
                follower.let_go(entry)

    @property
    def here(self) -> Mask:
        """Which of the pods that were bound are not gone."""
        return self._here

    @property
    def changed(self) -> bool:
        return bool(self._journal)

    @property
    def changes(self) -> int:
        """How often anything was changed, or changed back: equal numbers mean that nothing was."""
        return len(self._touched)

    def _enter(self, entry: Seated) -> None:
        if self.snapshot.shapes[entry.shape].volumes:
            self._mount(entry, self.attachments)
        self._journal.append(entry)
        self._account(entry, +1)
        for follower in self._followers:
            follower.seat(entry)

    def _mount(self, entry: Seated, attachments: Attachments) -> None:
        volumes = self.snapshot.shapes[entry.shape].volumes
        entry.mounts = [
            attachments.mount(volumes, int(row), int(count))
            for row, count in zip(entry.rows, entry.copies, strict=True)
        ]

    def _account(self, entry: Seated, sign: int) -> None:
        shape, rows, change = self.shape(entry.shape), entry.rows, sign * entry.copies
        needs = self.snapshot.needs[shape.needs]
        taken = sign * self._taken(entry)
        if not entry.held:
            self.free[:, rows] -= taken
        if self.later is not None:
            self.later[:, rows] -= taken
        self._touched.append(rows)
        for counted in self._counted.values():
            if counted.classes[shape.labels] and (counted.promised_too or not entry.held):
                counted.per_node[rows] += change
        if self._held is not None:
            for key in held_by(needs):
                self._held_column(self._held, key)[rows] += change

    def _account_moved(self, entry: Moved, undone: bool) -> None:
        pods, bound, here = entry.pods, self._bound, entry.gone is undone
        sign = 1 if here else -1
        self._here[pods] = here
        everywhere = entry.rows is self._everywhere
        self.free[:, slice(None) if everywhere else entry.rows] += -entry.freed if undone else entry.freed
        self._touched.append(entry.rows)
        labels = bound.labels[pods]
        if self._watched[labels].any():
            for counted in self._counted.values():
                chosen = counted.classes[labels]
                if chosen.any():
                    np.add.at(counted.per_node, bound.node[pods[chosen]], sign)
        if self._held is not None:
            needs = bound.needs[pods]
            present = np.bincount(needs, minlength=len(self._holding)).astype(np.bool_)
            for number in np.flatnonzero(present & self._holding).tolist():
                nodes = bound.node[pods[needs == number]]
                for key in held_by(self.snapshot.needs[number]):
                    np.add.at(self._held_column(self._held, key), nodes, sign)
        if self.snapshot.claims_in_use:
            self._attachments = None

    @cached_property
    def _holding(self) -> Mask:
        """By their number, the needs of which some count is held."""
        return np.array([bool(held_by(needs)) for needs in self.snapshot.needs], dtype=np.bool_)

    def _rows_of(self, nodes: Codes) -> Rows:
        """Each of these once; or all there are, which for many pods is known sooner, and kept only once."""
        if len(nodes) >= len(self._everywhere):
            return self._everywhere
        there = np.zeros(len(self._everywhere), dtype=np.bool_)
        there[nodes] = True
        return np.flatnonzero(there)

    def _once_gone(self, leaving: Mask) -> Ints:
        return self.free + self._amounts_on(self._everywhere, np.flatnonzero(leaving & self._here))

    def _amounts_on(self, rows: Rows, pods: Rows) -> Ints:
        """What some pods take of every resource of these rows, which are all that they are on."""
        nodes, needs = self._bound.node[pods].astype(np.intp), self._bound.needs[pods]
        amounts = np.zeros((len(self.nodes.resources), len(rows)), dtype=np.int64)
        taken = np.unique(needs) if len(needs) < len(self.amounts_by_needs) else slice(None)
        for column in np.flatnonzero(self.amounts_by_needs[taken].any(axis=0)).tolist():
            sums = np.zeros(len(self._everywhere), dtype=np.int64)
            np.add.at(sums, nodes, self.amounts_by_needs[:, column][needs])
            amounts[column] = sums[rows]
        return amounts

    def amounts_of(self, pods: Rows) -> Ints:
        """What each of these pods takes of every resource."""
        amounts: Ints = self.amounts_by_needs[self._bound.needs[pods]]
        return amounts

    @property
    def amounts_by_needs(self) -> Ints:
        """What pods on nodes take of every resource, by the number of their needs."""
        if self._amounts is None:
            # One resource of all needs is asked for more often than all resources of one.
            self._amounts = np.zeros((len(self.nodes.resources), len(self.snapshot.needs)), dtype=np.int64).T
            for number in np.flatnonzero(np.bincount(self._bound.needs)).tolist():
                self._amounts[number] = self.request_column(self.snapshot.needs[number])
        return self._amounts

    def _taken(self, entry: Seated) -> Ints:
        """What a journal entry takes of every resource on its rows."""
        return np.outer(self.request_column(self.needs(entry.shape)), entry.copies)

    def request_column(self, needs: Needs) -> Ints:
        """What a pod of these needs takes of every resource."""
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
            rows = self._touched_since(seen)
            copies[rows] = self._count_copies(requests, rows)
        self._copies[requests] = (len(self._touched), copies)
        return copies

    def _touched_since(self, seen: int) -> Rows:
        touched = self._touched[seen:]
        return np.concatenate(touched) if sum(map(len, touched)) < len(self._everywhere) else self._everywhere

    def _count_copies(self, requests: Requests, rows: Rows | None) -> Ints:
        free, later = self.free, self.later
        if rows is not None:
            free, later = free[:, rows], None if later is None else later[:, rows]
        return copies_that_fit(free if later is None else np.minimum(free, later), self.nodes, requests)

    @property
    def room(self) -> Ints:
        """What whoever sits down now may take of every resource."""
        return self.free if self.later is None else np.minimum(self.free, self.later)

    def room_of(self, column: int) -> Ints:
        """The same of one resource."""
        free: Ints = self.free[column]
        return free if self.later is None else np.minimum(free, self.later[column])

    @property
    def attachments(self) -> Attachments:
        if self._attachments is None:
            in_use = self._claims_in_use() if self._occupied else None
            self._attachments = Attachments(self.snapshot, self.nodes, in_use)
            for entry in self._journal:
                if isinstance(entry, Seated) and self.shape(entry.shape).volumes:
                    self._mount(entry, self._attachments)
        return self._attachments

    def _claims_in_use(self) -> Mapping[str, tuple[int, ...]]:
        """Without those of pods that are gone."""
        gone = np.flatnonzero(~self._here)
        if not self.snapshot.claims_in_use or not len(gone):
            return self.snapshot.claims_in_use
        rows = {claim: list(places) for claim, places in self.snapshot.claims_in_use.items()}
        for occupant, row in zip(self._bound.occupants[gone], self._bound.node[gone].tolist(), strict=True):
            for claim in occupant.claims:
                rows[claim].remove(row)
        return {claim: tuple(places) for claim, places in rows.items() if places}

    # -- neighbours ------------------------------------------------------------------------------------

    def matching(self, selection: Selection) -> Ints:
        """How many pods on each node the selection speaks of."""
        counted = self._counted.pop(selection, None)
        if counted is None:
            if len(self._counted) >= MOST_COUNTED:
                self._watched -= self._counted.pop(next(iter(self._counted))).classes
            counted = self._count(selection)
            self._watched += counted.classes
        self._counted[selection] = counted  # the last to be forgotten
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

    def pods_matching(self, selection: Selection) -> Mask:
        """Which of the pods on nodes the selection speaks of."""
        chosen: Mask = self._classes_of(selection)[self._bound.labels] & self._here
        return chosen if selection.leaving_too else chosen & ~self._bound.terminating

    def _classes_of(self, selection: Selection) -> Mask:
        classes = np.zeros(len(self.snapshot.classes), dtype=np.bool_)
        for number in self._possible_classes(selection.terms):
            classes[number] = self._class_matches(selection.terms, number)
        return classes

    def _count(self, selection: Selection) -> Counted:
        classes, chosen = self._classes_of(selection), self.pods_matching(selection)
        per_node = np.bincount(self._bound.node[chosen], minlength=len(self.nodes.names))
        for entry in self._seated():
            if classes[self.shape(entry.shape).labels] and (selection.promised_too or not entry.held):
                per_node[entry.rows] += entry.copies
        return Counted(per_node, classes, selection.promised_too)

    def _seated(self) -> Iterator[Seated]:
        return (entry for entry in self._journal if isinstance(entry, Seated))

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
            needs = self._bound.needs
            present = np.bincount(needs, minlength=len(self._holding)) > 0
            for number in np.flatnonzero(present & self._holding).tolist():
                theirs = self._bound.node[(needs == number) & self._here]
                per_node = np.bincount(theirs, minlength=len(self.nodes.names))
                for key in held_by(self.snapshot.needs[number]):
                    self._held_column(self._held, key)[:] += per_node
            for entry in self._seated():
                for key in held_by(self.needs(entry.shape)):
                    self._held_column(self._held, key)[entry.rows] += entry.copies
        return self._held

    def foes_of(self, shape: int) -> list[tuple[PodTerm, Ints]]:
        """Required anti-affinity of pods on nodes against pods of this shape, and how many there have it."""
        held = self.all_held()
        for term in islice(held, self._foes.terms, None):
            if isinstance(term, PodTerm):
                for number in self._possible_classes((term,)):
                    if self._class_matches((term,), number):
                        self._foes.by_class.setdefault(number, []).append(term)
        self._foes.terms = len(held)
        return [(term, held[term]) for term in self._foes.by_class.get(self.shape(shape).labels, ())]

    def _held_column(self, held: dict[Hashable, Ints], key: Hashable) -> Ints:
        if key not in held:
            held[key] = np.zeros(len(self.nodes.names), dtype=np.int64)
        return held[key]


@dataclass(frozen=True, slots=True)
class Follower:
    """A trial on which everybody has a place who has one on another."""

    trial: Trial
    _own: dict[int, Seated]
    """Its own entry for each entry of the other's journal."""

    def seat(self, entry: Seated) -> None:
        self._own[id(entry)] = self.trial.seat(entry.shape, entry.rows, entry.copies)

    def let_go(self, entry: Seated) -> None:
        self.trial.let_go(self._own.pop(id(entry)))


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
