"""Who would have to leave for a higher priority in a future.

What that costs is not weighed as finely as in a cycle: the lowest rank goes first, and of those the youngest,
each with all of its group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.context import Context
from maitred.decide.seats import Steps
from maitred.explain.remedies.rehearsal import PROBE_STEPS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lesser(Generic[T]):
    """Somebody who would have to leave, what it holds of every resource, and where."""

    who: T
    priority: int
    since: float
    rows: Rows | Codes
    amounts: Ints
    """One line for each of the rows, which may be the same several times."""


class Holdings:
    """For each priority, what those below it hold: a bound on the room that could be made for it."""

    def __init__(self, trial: Trial, priorities: Iterable[int]) -> None:
        self._below = {priority: np.zeros_like(trial.columns.free) for priority in priorities}

    def change(self, priority: int, rows: Rows | Codes, amounts: Ints, sign: int) -> None:
        for above, held in self._below.items():
            if priority < above:
                np.add.at(held.T, rows, sign * amounts)

    def below(self, priority: int) -> Ints | None:
        held = self._below.get(priority)
        return held if held is not None and held.any() else None


@dataclass(frozen=True, slots=True)
class Way(Generic[T]):
    """Seats, and who leaves for them."""

    seats: Assignment
    victims: list[Lesser[T]]
    tries: int


def make_way(trial: Trial, context: Context, ask: Ask, lesser: Sequence[Lesser[T]]) -> Way[T] | None:
    """The fewest of the least who have to leave for the quorum, as good as that can be seen quickly."""
    ordered = sorted(lesser, key=lambda one: (one.priority, -one.since))
    number = np.repeat(np.arange(len(ordered)), [len(one.rows) for one in ordered])
    rows = np.concatenate([one.rows for one in ordered])
    amounts = np.concatenate([one.amounts for one in ordered])

    def without(count: int) -> Assignment:
        free, gone = trial.columns.free.copy(), number < count
        np.add.at(free.T, rows[gone], amounts[gone])
        now = Trial.of(trial.snapshot)
        cleared = now.with_supply(now.columns.with_free(free))
        found = attempt(cleared, ask, context, Steps(PROBE_STEPS))
        return quorum_of(ask, found) if found else []

    seats, few, many, tries = without(len(ordered)), 0, len(ordered), 1
    while seats and many - few > 1:
        half = (few + many) // 2
        found, tries = without(half), tries + 1
        seats, few, many = (found, few, half) if found else (seats, half, many)
    return Way(seats, _needed(trial, ask, seats, ordered[:many]), tries) if seats else None


def _needed(trial: Trial, ask: Ask, seats: Assignment, lesser: Sequence[Lesser[T]]) -> list[Lesser[T]]:
    """Those who hold something that is short where the seats are."""
    short = -trial.columns.free
    for member, row in seats:
        short[:, row] += trial.columns.request_column(trial.needs(ask.shapes[member]))
    taken = np.zeros(short.shape[1], dtype=np.bool_)
    taken[[row for _, row in seats]] = True
    short[:, ~taken] = 0
    chosen = []
    for one in lesser:
        if ((short[:, one.rows] > 0) & (one.amounts.T > 0)).any():
            np.subtract.at(short.T, one.rows, one.amounts)
            chosen.append(one)
    return chosen
