"""Which victims may stay, where that has to be tried."""

from typing import Any

import numpy as np
import pytest

from maitred.decide.ask import Assignment
from maitred.decide.preemption.pricing import _argsort, _fitting
from maitred.decide.preemption.sparing import _Sparing


class Tries:
    """A group that fits for as long as the units in `needed` leave. It counts who was let off in each try."""

    def __init__(self, units: int, needed: set[int]) -> None:
        self.units, self.needed, self.tried = self, needed, list[set[int]]()
        self.everyone = set(range(units))

    def chosen(self, units: list[int]) -> Any:
        return np.isin(np.arange(len(self.everyone)), units)

    def seats(self, chosen: Any) -> Assignment | None:
        leave = set(np.flatnonzero(chosen).tolist())
        self.tried.append(self.everyone - leave)
        return [] if self.needed <= leave else None

    def goes_on(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("needed", "tried"),
    [
        (set[int](), [{0, 1, 2, 3}]),
        ({3}, [{0, 1, 2, 3}, {0, 1}, {0, 1, 2, 3}, {0, 1, 2}, {0, 1, 2, 3}]),
        ({0}, [{0, 1, 2, 3}, {0, 1}, {0}, {1}, {1, 2, 3}]),
    ],
)
def test_all_are_let_off_together_else_half_of_them_and_so_on(
    needed: set[int], tried: list[set[int]]
) -> None:
    feasibility: Any = Tries(4, needed)
    leave, _ = _Sparing(feasibility)._without(np.ones(4, dtype=np.bool_), [], [0, 1, 2, 3])
    assert set(np.flatnonzero(leave).tolist()) == needed
    assert feasibility.tried == tried


def test_a_node_without_room_has_room_for_none() -> None:
    room, uses = np.array([[-3, 1, 7, 99]]), np.array([[2]])
    assert _fitting(room, uses, np.array([5, 5, 5, 5])).tolist() == [0, 0, 3, 5]
    assert _fitting(room, uses, np.zeros(4, dtype=np.int64)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("largest", [65_535, 65_536, 200_000])
def test_more_units_than_a_short_number_can_count_are_in_order(largest: int) -> None:
    numbers = np.array([largest, 7, largest - 1, 0])
    assert _argsort(numbers, largest + 1).tolist() == [3, 1, 2, 0]
