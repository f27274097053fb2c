"""The agenda: whose turn it is.

Priority first, high to low. Within one priority, by age: quorums, and late members of groups whose quorum
runs already; then the surplus of groups that were seated in this cycle.
"""

import heapq
from dataclasses import dataclass

QUORUM, SURPLUS = 0, 1


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """Turns compare in the order in which they come."""

    rank: int
    """The priority, negated."""
    part: int
    created: float
    key: str
    number: int
    """Which of the cycle's groups."""


class Agenda:
    """Hands out turns one by one; turns may be added while it runs."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def add(self, turn: Turn) -> None:
        heapq.heappush(self._turns, turn)

    def next(self) -> Turn | None:
        return heapq.heappop(self._turns) if self._turns else None
