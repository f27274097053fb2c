"""Seats: which member sits where, in an order that passes every filter one by one."""

from dataclasses import dataclass, field

from maitred.cluster.nodes import Ints
from maitred.cluster.trial import Rows


@dataclass(slots=True)
class Steps:
    """A bound on the work of searching: a step is one look at one node for one shape.

    Never a clock, so that the same input gives the same answer.
    """

    left: int
    exhausted: bool = False

    def take(self, looks: int = 1) -> bool:
        if self.left < looks:
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
