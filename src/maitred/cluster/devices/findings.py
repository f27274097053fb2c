"""What was worked out about claims and is worth keeping: each kind of it only up to a bound.

Whoever may write claims may write ever new ones, and drivers publish what they like. So everything that is
kept forgets all it has when there is too much of it. Numbers are never used twice: what still has an old one
has it for the same thing.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_SPECS = 4_096
MOST_LOOKS = 20_000
MOST_SOLVED = 20_000
MOST_SELECTED = 100_000

_NUMBERS = count(1)


def new_number() -> int:
    return next(_NUMBERS)


class Bounded(dict[K, V]):
    """Forgets everything when there is too much of it. Put into it only by `known[key] = value`."""

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)


@dataclass(frozen=True, eq=False)
class Findings:
    """Holds for all inventories with the same classes, and the same devices that several nodes can use."""

    programs: Bounded[bytes, Any] = field(default_factory=lambda: Bounded(MOST_SPECS))
    menus: Bounded[bytes, Any] = field(default_factory=lambda: Bounded(MOST_SPECS))
    wide: Bounded[bytes, bool] = field(default_factory=lambda: Bounded(MOST_SPECS))
    """Whether a claim may get devices that several nodes can use."""
    looks: Bounded[Hashable, int] = field(default_factory=lambda: Bounded(MOST_LOOKS))
    answers: Bounded[Hashable, Any] = field(default_factory=lambda: Bounded(MOST_SOLVED))
    most: Bounded[Hashable, Any] = field(default_factory=lambda: Bounded(MOST_SOLVED))
    selected: Bounded[Hashable, tuple[bool | str, int]] = field(
        default_factory=lambda: Bounded(MOST_SELECTED)
    )
