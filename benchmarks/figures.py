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
    core: Callable[[], float] = time.process_time
    """Time on a core so far, of all processes that take part."""


@dataclass(frozen=True, slots=True)
class Goal:
    limit: float
    at_least: bool = False
    """The limit is the least that will do, not the most."""

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value < self.limit


@dataclass(frozen=True, slots=True)
class Samples:
    """What repeated runs took, by the clock and, where it is known, in time on a CPU."""

    clock: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    def times(self, factor: float) -> "Samples":
        return Samples(tuple(s * factor for s in self.clock), tuple(s * factor for s in self.cpu))

    def rate(self, count: int) -> "Samples":
        return Samples(tuple(count / s for s in self.clock), tuple(count / s for s in self.cpu))


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. The floor is in the same unit, taken turn by turn with the samples."""

    case: str
    what: str
    unit: str
    samples: Samples
    floor: Samples | None = None
    goal: Goal | None = None
    rate: bool = False
    """More is better."""

    @property
    def median(self) -> float:
        return statistics.median(self.samples.clock)

    @property
    def best(self) -> float:
        return max(self.samples.clock) if self.rate else min(self.samples.clock)

    @property
    def cpu(self) -> float | None:
        """The median if nobody else had used the machine: waiting for a core is left out."""
        return statistics.median(self.samples.cpu) if self.samples.cpu else None

    @property
    def floor_median(self) -> float | None:
        """On a CPU where that is known: a floor is short and seldom waits, as longer work does."""
        return statistics.median(self.floor.cpu or self.floor.clock) if self.floor else None

    @property
    def ratio(self) -> float | None:
        """How many times the floor it takes: median against median, of the same kind of time."""
        floor, own = self.floor_median, self.median if self.cpu is None else self.cpu
        if floor is None:
            return None
        return floor / own if self.rate else own / floor

    @property
    def met(self) -> bool | None:
        """Judged by the median of the clock, which a busy machine can spoil but not embellish."""
        return None if self.goal is None else self.goal.met(self.median)


def taken(work: Work) -> tuple[float, float]:
    """Seconds for one run, by the clock and on a CPU. Earlier garbage is collected before, not meanwhile."""
    if work.before is not None:
        work.before()
    gc.collect()
    clock, cpu = time.perf_counter(), work.core()
    work.run()
    return time.perf_counter() - clock, work.core() - cpu


def in_turns(works: list[Work], repeats: int) -> list[Samples]:
    """Seconds of each work, run in turns, so that a busy moment of the machine hits them all."""
    rounds = [[taken(work) for work in works] for _ in range(repeats)]
    found = []
    for column in zip(*rounds, strict=True):
        clock, cpu = zip(*column, strict=True)
        found.append(Samples(clock, cpu))
    return found


def say(text: str) -> None:
    """Progress goes beside the table, not into it."""
    print(text, file=sys.stderr, flush=True)
