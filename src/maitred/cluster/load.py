"""The load of a trial: all pods on its nodes, and the accounts that are kept of them.

The load says who is there: the pods that were bound, less those that are gone, and those that were seated
since. Whatever is counted over them is an Account: it is told of every change, and of every change that is
taken back. Most accounts are made when first asked for, from the load as it is then, and follow from there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np

from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.meter import Meter
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.snapshot import BoundPods, Shape, Snapshot
from maitred.model.needs import Needs

Key = TypeVar("Key", bound=Hashable)


@dataclass(eq=False)
class Load:
    snapshot: Snapshot
    nodes: NodeView
    bound: BoundPods
    occupied: bool
    """Whether this is the cluster as it is; else there is nothing on it but what belongs to the nodes."""
    here: Mask
    """Which of the pods that were bound are not gone."""
    journal: list[Seated | Moved]
    meter: Meter = field(default_factory=Meter)
    """Counts the work of whoever looks for something here."""
    _known: dict[str, Mask] = field(default_factory=dict, init=False)
    """What is the same for all loads of the same pods."""

    def twin(self, nodes: NodeView, snapshot: Snapshot) -> "Load":
        """The same pods on another view of the nodes. Entries are its own: they can be taken back alone."""
        journal = [replace(entry) if isinstance(entry, Seated) else entry for entry in self.journal]
        twin = Load(snapshot, nodes, self.bound, self.occupied, self.here.copy(), journal, self.meter)
        twin._known = self._known
        return twin

    def seated(self) -> Iterator[Seated]:
        return (entry for entry in self.journal if isinstance(entry, Seated))

    def shape(self, number: int) -> Shape:
        return self.snapshot.shapes[number]

    def needs(self, shape: int) -> Needs:
        return self.snapshot.needs[self.snapshot.shapes[shape].needs]

    @cached_property
    def everywhere(self) -> Rows:
        return np.arange(len(self.nodes.names), dtype=np.intp)

    def rows_of(self, nodes: Codes) -> Rows:
        """Each of these once; or all there are, which for many pods is known sooner, and kept only once."""
        if len(nodes) >= len(self.everywhere):
            return self.everywhere
        there = np.zeros(len(self.everywhere), dtype=np.bool_)
        there[nodes] = True
        return np.flatnonzero(there)

    @property
    def mounting(self) -> Mask:
        """Which of the pods that were bound have claims."""
        if "mounting" not in self._known:
            occupants = self.bound.occupants
            mounts = (occupant is not None and bool(occupant.claims) for occupant in occupants)
            self._known["mounting"] = np.fromiter(mounts, dtype=np.bool_, count=len(occupants))
        return self._known["mounting"]


class Account(ABC):
    """Something that is counted over the pods of a load, and follows as they come and go."""

    def __init__(self, load: Load) -> None:
        self.load = load

    def on(self, load: Load) -> Self:
        """The account of another load, of the same pods on the same nodes or a different view of them."""
        return type(self)(load)

    def ahead(self, load: Load, leaving: Mask) -> Self:
        """The account of the same load once these pods have left, and those have come who were promised their
        places."""
        return self.on(load)

    @abstractmethod
    def take(self, entry: Seated) -> None:
        """Pods were seated, or places are held for them. The journal may know of it already, or not yet."""

    @abstractmethod
    def give_back(self, entry: Seated) -> None:
        """Take back what was taken last."""

    def let_go(self, entry: Seated) -> None:
        """Take back something that others have come after; the journal does not know of it any more."""
        self.give_back(entry)

    @abstractmethod
    def move(self, entry: Moved, gone: bool) -> None:
        """These pods are gone, with all that they took; or they are back. `load.here` says so already."""

    def look_ahead(self, leaving: Mask) -> None:  # noqa: B027  # most do not
        """From now on places may be held that are free once these pods have left.

        Whoever keeps no account of later counts what is held as taken at once: too much for a while, never
        too little.
        """

    def expect(self, pods: Rows) -> None:  # noqa: B027
        """These will leave too. What they have is not free yet, but can be promised."""


class Holders(Generic[Key]):
    """How many pods on each node hold each key of some kind: a port, a term that keeps others away."""

    def __init__(self, load: Load, keys_of: Callable[[Needs], tuple[Key, ...]]) -> None:
        self._load, self._keys_of = load, keys_of
        self._counts: dict[Key, Ints] | None = None

    def counts(self) -> dict[Key, Ints]:
        """Per key; later ones come last."""
        if self._counts is None:
            self._counts, load = {}, self._load
            needs = load.bound.needs
            present = np.bincount(needs, minlength=len(self._holding)) > 0
            for number in np.flatnonzero(present & self._holding).tolist():
                theirs = load.bound.node[(needs == number) & load.here]
                per_node = np.bincount(theirs, minlength=len(load.nodes.names))
                for key in self._keys_of(load.snapshot.needs[number]):
                    self._column(self._counts, key)[:] += per_node
            for entry in load.seated():
                self._add(self._counts, entry, 1)
        return self._counts

    def seat(self, entry: Seated, sign: int) -> None:
        if self._counts is not None:
            self._add(self._counts, entry, sign)

    def move(self, entry: Moved, sign: int) -> None:
        if self._counts is None:
            return
        needs = self._load.bound.needs[entry.pods]
        holders = np.flatnonzero(self._holding[needs])
        needs, nodes = needs[holders], self._load.bound.node[entry.pods[holders]]
        for number in np.flatnonzero(np.bincount(needs)).tolist():
            theirs = nodes[needs == number]
            for key in self._keys_of(self._load.snapshot.needs[number]):
                np.add.at(self._column(self._counts, key), theirs, sign)

    @cached_property
    def _holding(self) -> Mask:
        """By their number, the needs that hold any."""
        return np.array([bool(self._keys_of(needs)) for needs in self._load.snapshot.needs], dtype=np.bool_)

    def _add(self, counts: dict[Key, Ints], entry: Seated, sign: int) -> None:
        for key in self._keys_of(self._load.needs(entry.shape)):
            self._column(counts, key)[entry.rows] += sign * entry.copies

    def _column(self, counts: dict[Key, Ints], key: Key) -> Ints:
        if key not in counts:
            counts[key] = np.zeros(len(self._load.nodes.names), dtype=np.int64)
        return counts[key]
