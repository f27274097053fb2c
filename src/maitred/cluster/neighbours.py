"""Who is where, for pods that mind: counts of the pods that selectors speak of, and which they keep away."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

import numpy as np

from maitred.cluster.journal import Moved, Seated, Selection
from maitred.cluster.load import Account, Holders, Load
from maitred.cluster.nodes import Ints, Mask
from maitred.model.needs import PodTerm

MOST_COUNTED = 64
"""Selections whose counts follow every change: most are those of one group, and not asked for again."""


@dataclass(slots=True)
class Counted:
    per_node: Ints
    classes: Mask
    promised_too: bool


@dataclass(slots=True)
class Foes:
    """By class of labels, the terms that are against it."""

    by_class: dict[int, list[PodTerm]] = field(default_factory=dict)
    terms: int = 0
    """How many of all that are held have been looked at."""


class Neighbours(Account):
    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self._counted: dict[Selection, Counted] = {}
        self._watched: Ints = np.zeros(len(load.snapshot.classes), dtype=np.int64)
        """How many of these selections speak of each class of labels."""
        self._class_match: dict[tuple[tuple[PodTerm, ...], int], bool] = {}
        self._held = Holders[PodTerm](load, lambda needs: needs.anti_affinity)
        self._foes = Foes()

    def on(self, load: Load) -> Self:
        other = type(self)(load)
        if load.snapshot is self.load.snapshot:
            other._class_match = self._class_match
        return other

    def take(self, entry: Seated) -> None:
        self._count_seated(entry, 1)

    def give_back(self, entry: Seated) -> None:
        self._count_seated(entry, -1)

    def _count_seated(self, entry: Seated, sign: int) -> None:
        labels = self.load.shape(entry.shape).labels
        for counted in self._counted.values():
            if counted.classes[labels] and (counted.promised_too or not entry.held):
                counted.per_node[entry.rows] += sign * entry.copies
        self._held.seat(entry, sign)

    def move(self, entry: Moved, gone: bool) -> None:
        bound, pods, sign = self.load.bound, entry.pods, -1 if gone else 1
        labels = bound.labels[pods]
        if self._watched[labels].any():
            for counted in self._counted.values():
                chosen = counted.classes[labels]
                if chosen.any():
                    np.add.at(counted.per_node, bound.node[pods[chosen]], sign)
        self._held.move(entry, sign)

    # -- what a selection speaks of --------------------------------------------------------------------

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
        return self._class_matches(selection.terms, self.load.shape(shape).labels)

    def _class_matches(self, terms: tuple[PodTerm, ...], number: int) -> bool:
        key = (terms, number)
        if key not in self._class_match:
            snapshot = self.load.snapshot
            labels = snapshot.classes[number]
            namespace = snapshot.namespace_labels(labels.namespace)
            self._class_match[key] = all(
                term.matches(labels.namespace, namespace, labels.labels) for term in terms
            )
        return self._class_match[key]

    def pods_matching(self, selection: Selection) -> Mask:
        """Which of the pods on nodes the selection speaks of."""
        chosen: Mask = self._classes_of(selection)[self.load.bound.labels] & self.load.here
        return chosen if selection.leaving_too else chosen & ~self.load.bound.terminating

    def _classes_of(self, selection: Selection) -> Mask:
        classes = np.zeros(len(self.load.snapshot.classes), dtype=np.bool_)
        for number in self._possible_classes(selection.terms):
            classes[number] = self._class_matches(selection.terms, number)
        return classes

    def _count(self, selection: Selection) -> Counted:
        load, classes, chosen = self.load, self._classes_of(selection), self.pods_matching(selection)
        per_node = np.bincount(load.bound.node[chosen], minlength=len(load.nodes.names))
        for entry in load.seated():
            if classes[load.shape(entry.shape).labels] and (selection.promised_too or not entry.held):
                per_node[entry.rows] += entry.copies
        return Counted(per_node, classes, selection.promised_too)

    def _possible_classes(self, terms: tuple[PodTerm, ...]) -> Sequence[int]:
        """Classes that have a label which one of the terms insists on, or else all."""
        known, index = len(self.load.snapshot.classes), self.load.snapshot.classes_with
        fewest: Sequence[int] = range(known)
        for requirement in (r for term in terms for r in term.selector or ()):
            if requirement.operator == "In":
                labelled = [
                    n for value in requirement.values for n in index.get((requirement.key, value), ())
                ]
                fewest = min(fewest, [n for n in labelled if n < known], key=len)
        return fewest

    # -- what pods keep away ----------------------------------------------------------------------------

    def kept_away(self) -> dict[PodTerm, Ints]:
        """Required anti-affinity terms, and how many pods on each node have them."""
        return self._held.counts()

    def foes_of(self, shape: int) -> list[tuple[PodTerm, Ints]]:
        """Required anti-affinity of pods on nodes against pods of this shape, and how many there have it."""
        held = self.kept_away()
        for term in islice(held, self._foes.terms, None):
            for number in self._possible_classes((term,)):
                if self._class_matches((term,), number):
                    self._foes.by_class.setdefault(number, []).append(term)
        self._foes.terms = len(held)
        return [(term, held[term]) for term in self._foes.by_class.get(self.load.shape(shape).labels, ())]
