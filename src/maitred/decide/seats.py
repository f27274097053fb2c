"""Seats: which member sits where, in an order that passes every filter one by one."""

from dataclasses import dataclass, field

from maitred.cluster.journal import Rows
from maitred.cluster.meter import Meter
from maitred.cluster.nodes import Ints

PASS = 1_000
"""What a pass over nodes costs at least, in looks: on few nodes it takes hardly less time."""


@dataclass(slots=True)
class Steps:
    """A bound on the work of one search: a step is one look at one node for one shape."""

    left: int
    exhausted: bool = False
    meter: Meter = field(default_factory=Meter)
    """Of the cycle. It also counts what no search is: what is quick for one group, and not for thousands."""

    def goes_on(self) -> bool:
        """Whether there is more to be tried; if not, what was not found is not proven to be impossible."""
        self.exhausted |= self.meter.over
        return not self.meter.over

    def take(self, looks: int = 1) -> bool:
        self.meter.take(looks)
        if self.left < looks or self.meter.over:
            self.exhausted = True
            return False
        self.left -= looks
        return True


@dataclass(frozen=True, slots=True)
class Demand:
    """How many members of each shape there are, and how many in all must and should be seated."""

    counts: tuple[int, ...]
    need: int
    want: int


@dataclass(slots=True)
class Seats:
    """Runs of members of one shape (by its position in the rules) on one node, in the order of seating."""

    runs: list[tuple[int, int, int]] = field(default_factory=list)
    """(position of the shape, row of the node, how many)"""

    @property
    def count(self) -> int:
        return sum(copies for _, _, copies in self.runs)

    def singles(self) -> list[tuple[int, int]]:
        return [(position, row) for position, row, copies in self.runs for _ in range(copies)]


def runs_of(position: int, rows: Rows, copies: Ints) -> list[tuple[int, int, int]]:
    return [
        (position, row, count) for row, count in zip(rows.tolist(), copies.tolist(), strict=True) if count
    ]
