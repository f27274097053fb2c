"""The agenda: whose turn it is.

Priority first, high to low, unless the policy's order is first come, first served. Within one priority, by
the measure of the policy's order if it has one, then by age: quorums, and late members of groups whose quorum
runs already; then the surplus of groups that were seated in this cycle. Places that were promised are held
against equals too, so within one priority they are held first, and those whom they were promised come next.

A cycle with a budget may not get to all of them. Whom it did not get to comes first among its equals later.
"""

import heapq
from dataclasses import dataclass

from maitred.model.policy import Order

HELD, PROMISED, QUORUM, SURPLUS = -2, -1, 0, 1


def rank(priority: int, order: Order) -> int:
    """What turns are compared by first."""
    return 0 if order == "fifo" else -priority


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """Turns compare in the order in which they come."""

    rank: int
    claims: bool
    """Whether it asks for seats; places that were promised are held first."""
    place: int
    """In the rotation: who was cut off in an earlier cycle comes before others of the same priority."""
    part: int
    measure: float
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
