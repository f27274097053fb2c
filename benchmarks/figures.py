"""Figures: what was measured, what was hoped for, and what the bare arithmetic of the same run took."""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    run: Callable[[], object]
    before: Callable[[], object] | None = None
    """What has to be done before each run, and is not part of it."""


@dataclass(frozen=True, slots=True)
class Goal:
    limit: float
    at_least: bool = False
    """The limit is the least that will do, not the most."""

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value < self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. Samples and floor samples are in the same unit, taken turn by turn."""

    case: str
    what: str
    unit: str
    samples: tuple[float, ...]
    floor: tuple[float, ...] = ()
    goal: Goal | None = None
    rate: bool = False
    """More is better."""
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        return max(self.samples) if self.rate else min(self.samples)

    @property
    def floor_median(self) -> float | None:
        return statistics.median(self.floor) if self.floor else None

    @property
    def ratio(self) -> float | None:
        """How many times the floor it takes: median against median."""
        floor = self.floor_median
        if floor is None:
            return None
        return floor / self.median if self.rate else self.median / floor

    @property
    def met(self) -> bool | None:
        """Judged by the median, which a noisy machine can spoil but not embellish."""
        return None if self.goal is None else self.goal.met(self.median)


def taken(work: Work) -> float:
    """Seconds for one run. Garbage of earlier work is collected before, not meanwhile."""
    if work.before is not None:
        work.before()
    gc.collect()
    start = time.perf_counter()
    work.run()
    return time.perf_counter() - start


def in_turns(works: list[Work], repeats: int) -> list[tuple[float, ...]]:
    """Seconds of each work, run in turns, so that a busy moment of the machine hits them all."""
    rounds = [[taken(work) for work in works] for _ in range(repeats)]
    return [tuple(samples) for samples in zip(*rounds, strict=True)]


def scaled(seconds: tuple[float, ...], factor: float) -> tuple[float, ...]:
    return tuple(sample * factor for sample in seconds)


def per_second(count: int, seconds: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(count / sample for sample in seconds)


def say(text: str) -> None:
    """Progress goes beside the table, not into it."""
    print(text, file=sys.stderr, flush=True)
