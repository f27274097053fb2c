"""What the members of one group may do on the nodes of a trial.

`Rules` are made once per group and trial. What depends only on the pods already there has become one mask per
shape; what members do to each other stays as data: conflicts, companies, spreads and quotas over domains.
Every way of seating a group (fill, greedy, search) reads these, so no constraint is written twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.supply.fit import UNLIMITED, Company, Conflict, Quota, Room
from maitred.cluster.trial import Trial
from maitred.decide.seats import Seats

NO_MINIMUM = 2**31


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint of one shape, as counts per domain."""

    codes: Codes
    counted: Mask
    """Nodes whose pods count."""
    counts: Ints
    domains: Mask
    max_skew: int
    min_domains: int
    matched_by: tuple[bool, ...]
    """Which shapes of the group add to the counts."""
    own: bool

    def minimum(self, counts: Ints) -> int:
        present = int(np.count_nonzero(self.domains))
        if present == 0:
            return NO_MINIMUM
        return 0 if present < self.min_domains else int(counts[self.domains].min())

    def allowed(self, counts: Ints) -> Mask:
        """Nodes on which one more pod of the shape keeps the skew."""
        allowed: Mask = self.open_domains(counts)[self.codes]
        return allowed

    def open_domains(self, counts: Ints) -> Mask:
        """The same by domain; one entry more, never true, for nodes in none."""
        open_ = np.zeros(len(counts) + 1, dtype=np.bool_)
        np.less_equal(counts, self.max_skew - self.own + self.minimum(counts), out=open_[:-1])
        return open_


@dataclass(frozen=True, slots=True, eq=False)
class DomainBound:
    """How many members each domain can take at most, and its room if there were more of them."""

    within: Mask
    codes: Codes
    counts: tuple[int, ...]
    most: Ints
    room: Ints

    def answers(self, within: Mask, codes: Codes, counts: Sequence[int]) -> bool:
        """Whether it is about these nodes, these domains, and as many members of each shape."""
        return self.within is within and self.codes is codes and self.counts == tuple(counts)


@dataclass(slots=True)
class Rules:
    trial: Trial
    shapes: tuple[int, ...]
    masks: list[Mask]
    copies: list[Ints]
    """How many members of each shape every node could take, if it took nothing else."""
    rooms: list[Room]
    """All that members take from their node; `copies` follows from it."""
    conflicts: list[Conflict]
    companies: list[tuple[Company, ...]]
    spreads: list[tuple[Spread, ...]]
    quotas: list[Quota]
    exact: bool = True
    """Whether every supply says that copies and rooms are all there is to it."""
    sure: bool = True
    """Whether members who hold to all this are served for certain."""
    sure_up_to: int = UNLIMITED
    """For more members than that a supply gave up to look for room: that they do not fit is not proven."""
    kinds: list[Codes] = field(default_factory=list)
    """Nodes with the same number are alike in what one of the supplies minds and does not say otherwise."""
    bound: DomainBound | None = field(default=None, init=False)
    """What was asked for last: mostly it is asked for twice."""
    _hospitable: Mask | None = field(default=None, init=False)
    _inside: tuple[Mask, Rows] | None = field(default=None, init=False)
    """The nodes that were asked for last, and those of them that are hospitable."""

    @property
    def hospitable(self) -> Mask:
        """Nodes that could take at least one member: on a busy cluster these are few."""
        if self._hospitable is None:
            self._hospitable = np.logical_or.reduce([copies > 0 for copies in self.copies])
        return self._hospitable

    def hospitable_in(self, within: Mask) -> Rows:
        """Those of some nodes. The same are asked for level by level, and mostly they are few."""
        if self._inside is None or self._inside[0] is not within:
            self._inside = (within, np.flatnonzero(self.hospitable & within))
        return self._inside[1]

    def serve(self, seats: Seats) -> bool:
        """Whether every supply has enough for all of these together, where that is not certain."""
        if self.sure:
            return True
        runs = [(self.shapes[position], row, copies) for position, row, copies in seats.runs]
        return all(supply.serves(runs) for supply in self.trial.supplies)

    @property
    def simple(self) -> bool:
        """Members do not touch each other but for the room they take."""
        return self.exact and not self.ordered and all(conflict.capped for conflict in self.conflicts)

    @property
    def ordered(self) -> bool:
        """Whether the order in which members are seated can matter."""
        return any(self.companies) or any(self.spreads)
