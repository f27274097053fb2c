"""How long groups of a kind ran before: for those who do not say how long they will."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.nodes import Ints
from maitred.model.history import PastGroup

Floats = NDArray[np.float64]
NEVER = np.inf

DRAWS = 64
CHANCES: Floats = (np.arange(DRAWS) + 0.5) / DRAWS
"""What is not known for certain is known as so many values, each as likely as the next: enough for the first
of many to end."""
FEWEST_OF_A_NAME, FEWEST_OF_A_SIZE = 3, 5

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_COUNTED = re.compile(rf"(?:-(?:\d+|{_RANDOM}{{5}}|{_RANDOM}{{8,10}}|[0-9a-f]{{8,40}}))+\Z", re.ASCII)
"""What is put behind a name to tell one run from the next: numbers, and letters as Kubernetes draws them."""


@lru_cache(maxsize=65_536)
def stem(key: str) -> str:
    """A name without what tells one run from the next."""
    return _COUNTED.sub("", key)


def drawn(times: Floats, key: str, draw: int) -> float:
    """One of the values. Which one depends on who it is and on the draw, and not on what others draw."""
    return float(times[crc32(f"{draw} {key}".encode()) % DRAWS])


def all_drawn(times: Floats, seeds: Ints, draw: int) -> Floats:
    """The same for many, with a line of values and a seed each."""
    mixed = (seeds.astype(np.uint64) + np.uint64(draw * 0x9E3779B1)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    found: Floats = times[np.arange(len(times)), (mixed >> np.uint64(33)).astype(np.intp) % DRAWS]
    return found


Size = tuple[int, tuple[tuple[str, int], ...]]
"""Quorum, and what a member requests."""
RunKind = str | Size
"""Groups of one stem, or of one size."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long those of a kind ran who ended by themselves, and what part of all ends after each.

    Those who still run, or were stopped, count as long as they ran (Kaplan and Meier): without them the long
    ones, of which fewer have ended, would seem rarer than they are.
    """

    times: Floats
    weights: Floats

    @classmethod
    def of(cls, ran: Sequence[float], ended: Sequence[bool]) -> "Lengths":
        times, ends = np.array(ran), np.array(ended)
        order = np.lexsort((~ends, times))
        times, ends = times[order], ends[order]
        at_risk = np.arange(len(times), 0, -1)
        left = np.cumprod(np.where(ends, 1 - 1 / at_risk, 1.0))
        weights = -np.diff(left, prepend=1.0)
        return cls(times[ends], weights[ends])

    def beyond(self, ran: float, fewest: int) -> Floats:
        """What one that has run for so long may run in all; for up to as long again where that is longer than
        nearly all did."""
        first = int(np.searchsorted(self.times, ran, side="right"))
        if len(self.times) - first < fewest:
            return ran * (1 + CHANCES)
        passed = np.cumsum(self.weights[first:])
        found: Floats = self.times[first + np.searchsorted(passed, CHANCES * passed[-1])]
        return found


class Runs:
    """Run times of groups, in seconds, by their names and by their sizes."""

    def __init__(self, groups: Iterable[PastGroup], now: float) -> None:
        found: dict[RunKind, tuple[list[float], list[bool]]] = {}
        for group in groups:
            if group.started is not None:
                for kind in (stem(group.group), (group.quorum, group.requests)):
                    ran, ended = found.setdefault(kind, ([], []))
                    ran.append(max(0.0, (now if group.ended is None else group.ended) - group.started))
                    ended.append(group.finished)
        self._lengths = {
            kind: Lengths.of(ran, ended)
            for kind, (ran, ended) in found.items()
            if sum(ended) >= fewest_of(kind)
        }

    def __bool__(self) -> bool:
        return bool(self._lengths)

    def like(self, key: str, size: Size, ran: float = 0.0) -> Floats | None:
        """What a group may run in all, given that it has run for so long; None where too few like it did."""
        kinds: tuple[RunKind, RunKind] = (stem(key), size)
        for kind in kinds:
            if kind in self._lengths:
                return self._lengths[kind].beyond(ran, fewest_of(kind))
        return None


def fewest_of(kind: RunKind) -> int:
    """Runs that say something about the next one."""
    return FEWEST_OF_A_NAME if isinstance(kind, str) else FEWEST_OF_A_SIZE
