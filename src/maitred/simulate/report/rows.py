"""Rows of words, one cell for each policy, and who does best in a row."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NONE = "-"

Cell = tuple[str, ...]
"""One amount, or two that belong side by side."""


@dataclass(frozen=True)
class ReportRow:
    """One figure of every policy."""

    label: str
    cells: tuple[Cell, ...]
    best: frozenset[int] = frozenset()
    """Which policies do best in it, as far as the words tell, where one can do better than another."""
    is_aside: bool = False
    """It says more about the row above."""


@dataclass(frozen=True)
class ReportSection:
    """Rows about one thing. Those that would say zero of every policy are left out."""

    title: str
    rows: tuple[ReportRow, ...]
    about: str = ""
    """What one has to know to read them."""


def cells(words: Iterable[str]) -> tuple[Cell, ...]:
    return tuple((word,) for word in words)


def contest(
    label: str, cells: tuple[Cell, ...], values: Sequence[float], among: Iterable[int] | None = None
) -> ReportRow:
    """The least value is best, and who reads the same is as good. Nobody is, where all read the same."""
    contenders = list(range(len(cells)) if among is None else among)
    least = min((values[index] for index in contenders), default=math.inf)
    words = {cells[index] for index in contenders if values[index] == least}
    winners = frozenset(index for index in contenders if cells[index] in words)
    return ReportRow(label, cells, winners if len(set(cells)) > 1 else frozenset())
