"""When jobs arrive.

Arrivals by chance come from one Poisson process of rate 1, stretched to the rates that were asked for. So a
later horizon adds jobs and changes none of those before it.
"""

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maitred.simulate.clock import DAY, HOUR, LONGEST, Time
from maitred.simulate.scenario.document import MOST_JOBS, Arrivals
from maitred.simulate.scenario.streams import Generator
from maitred.simulate.scenario.values import Ints

AT_ONCE = 4096

Stretch: TypeAlias = tuple[Time, Time, float]
"""From, until, and arrivals per microsecond between the two."""


def arrival_times(arrivals: Arrivals, horizon: Time | None, chance: Generator) -> Ints:
    most = arrivals.jobs or MOST_JOBS
    if arrivals.at is not None:
        return np.sort(np.array(arrivals.at, dtype=np.int64))
    end = end_of(arrivals, horizon)
    if arrivals.every is not None:
        count = min(most, math.ceil((end - arrivals.start) / arrivals.every))
        times = arrivals.start + np.arange(count, dtype=np.int64) * arrivals.every
    else:
        times = by_chance(list(stretches(arrivals, end)), most, chance)
    return times[times < end][:most]


def end_of(arrivals: Arrivals, horizon: Time | None) -> Time:
    return min(time for time in (arrivals.until, horizon, LONGEST) if time is not None)


def expected(arrivals: Arrivals, horizon: Time | None) -> float:
    """How many jobs arrive on average, unless their number is limited."""
    end = end_of(arrivals, horizon)
    if arrivals.at is not None:
        return len(arrivals.at)
    if arrivals.every is not None:
        return (end - arrivals.start) / arrivals.every
    return sum((until - since) * rate for since, until, rate in stretches(arrivals, end))


def stretches(arrivals: Arrivals, end: Time) -> Iterator[Stretch]:
    if arrivals.per_hour is not None:
        yield from clipped((arrivals.start, end, arrivals.per_hour / HOUR), arrivals.start, end)
    windows = sorted(arrivals.windows or (), key=lambda window: window.start)
    for day in range(math.ceil(end / DAY) if arrivals.daily else 1):
        for window in windows:
            stretch = (window.start + day * DAY, window.until + day * DAY, window.per_hour / HOUR)
            yield from clipped(stretch, arrivals.start, end)


def clipped(stretch: Stretch, start: Time, end: Time) -> Iterator[Stretch]:
    since, until, rate = max(stretch[0], start), min(stretch[1], end), stretch[2]
    if since < until:
        yield since, until, rate


def by_chance(when: list[Stretch], most: int, chance: Generator) -> Ints:
    if not when:
        return np.zeros(0, dtype=np.int64)
    since, until, rate = (np.array(column, dtype=np.float64) for column in zip(*when, strict=True))
    reached = np.cumsum((until - since) * rate)
    points = unit_rate(float(reached[-1]), most, chance)
    stretch = np.searchsorted(reached, points, side="right")
    before = np.concatenate(([0.0], reached[:-1]))[stretch]
    return np.floor(since[stretch] + (points - before) / rate[stretch]).astype(np.int64)


def unit_rate(until: float, most: int, chance: Generator) -> NDArray[np.float64]:
    """A Poisson process of rate 1, up to a time or a number of points."""
    points, last, count = [np.zeros(0)], 0.0, 0
    while last < until and count < most:
        points.append(last + np.cumsum(chance.exponential(size=AT_ONCE)))
        last, count = float(points[-1][-1]), count + AT_ONCE
    found = np.concatenate(points)
    return found[found < until][:most]
