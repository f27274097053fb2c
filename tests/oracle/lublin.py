"""Jobs of a parallel machine as Lublin and Feitelson draw them.

The Workload on Parallel Supercomputers: Modeling the Characteristics of Rigid Jobs (2003), with the published
parameters for jobs of all kinds taken together:

- size: one processor, or two to the power of a number from one of two uniform distributions, most often a
  whole one;
- run time: e to the power of a number from one of two gamma distributions, for large jobs more often from the
  longer one;
- arrival: e to the power of a gamma-distributed number of seconds later, or sooner or later than that by
  the part of the jobs of a day that its half hour has.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

from tests.oracle.backfill import Job

SERIAL, POWER_OF_TWO = 0.244, 0.576
LOW, BELOW_THE_MACHINE, SMALLER = 0.8, 2.5, 0.86
"""Of the two uniform distributions: where they begin, how far below the whole machine they meet, and how many
jobs are from the lower one."""
SHORT, LONG = (4.2, 0.94), (312.0, 0.03)
SHORT_BY_SIZE, SHORT_OF_ALL = -0.0054, 0.78
"""How many are from the shorter of the two gamma distributions, by size, on 128 processors."""
LONGEST = 12.0
"""Two days: e to the power of this. Longer ones are drawn again."""
RUSH, RUSH_RATIO = (10.2303, 0.4871), 1.0225
LONGEST_GAP = 13.0
DAY_CYCLE = (8.1737, 3.9631)
HALF_HOURS, FIRST = 48, 11
"""The day of the daily cycle begins with this half hour."""
HALF_HOUR = 1800
PUBLISHED_FOR = 128


def lublin_jobs(
    seed: int, count: int, processors: int, rush: float = 1.0, slack: float | None = None
) -> list[Job]:
    """`rush`: how many times as fast jobs arrive. `slack`: limits are drawn between the run time and so many
    times it; None: they are the run times."""
    chance = Random(seed)
    arrivals, jobs = arrival_times(chance, rush), list[Job]()
    for number in range(count):
        size = size_of(chance, processors)
        run_time = run_time_of(chance, size * PUBLISHED_FOR / processors)
        limit = run_time if slack is None else math.ceil(run_time * chance.uniform(1, slack))
        jobs.append(Job(f"job-{number:04}", next(arrivals), size, run_time, limit))
    return jobs


def size_of(chance: Random, processors: int) -> int:
    kind = chance.random()
    if kind <= SERIAL:
        return 1
    high = math.log2(processors)
    middle = high - BELOW_THE_MACHINE
    low, up = (LOW, middle) if chance.random() <= SMALLER else (middle, high)
    exponent = chance.uniform(low, up)
    if kind <= SERIAL + POWER_OF_TWO:
        exponent = math.floor(exponent + 0.5)
    return min(processors, math.floor(2**exponent + 0.5))


def run_time_of(chance: Random, size: float) -> int:
    """In seconds, at least one. `size` is on a machine of 128 processors."""
    short = min(1.0, max(0.0, SHORT_BY_SIZE * size + SHORT_OF_ALL))
    while True:
        logarithm = chance.gammavariate(*(SHORT if chance.random() <= short else LONG))
        if logarithm <= LONGEST:
            return max(1, int(math.exp(logarithm)))


def arrival_times(chance: Random, rush: float) -> Iterator[int]:
    """In seconds since midnight. A second counts for as much as its half hour has of the day."""
    weights, now, left = day_weights(), 0.0, 0.0
    shape, scale = RUSH
    while True:
        logarithm = chance.gammavariate(shape * RUSH_RATIO, scale)
        if logarithm > LONGEST_GAP:
            continue
        left += math.exp(logarithm) / rush
        while True:
            weight = weights[int(now // HALF_HOUR) % HALF_HOURS]
            until = (now // HALF_HOUR + 1) * HALF_HOUR
            if left <= (until - now) * weight:
                break
            left -= (until - now) * weight
            now = until
        now += left / weight
        left = 0.0
        yield int(now)


@cache
def day_weights() -> Sequence[float]:
    """By half hour from midnight; 1 is what it would be if jobs came evenly."""
    parts = [0.0] * HALF_HOURS
    for number in range(FIRST, FIRST + HALF_HOURS):
        parts[(number - 1) % HALF_HOURS] = gamma_below(number + 0.5) - gamma_below(number - 0.5)
    return [part * HALF_HOURS / sum(parts) for part in parts]


def gamma_below(value: float) -> float:
    """The part of the daily cycle's gamma distribution that is below a value, by its series."""
    shape, scale = DAY_CYCLE
    x, term, total, above = value / scale, 1 / shape, 1 / shape, shape
    while term > total * 1e-12:
        above += 1
        term *= x / above
        total += term
    return total * math.exp(-x + shape * math.log(x) - math.lgamma(shape))
