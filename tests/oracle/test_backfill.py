"""The oracle of backfill on examples that were worked out by hand, and what its authors promise of it."""

import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from tests.oracle.backfill import (
    Conservative,
    Job,
    Machine,
    Running,
    easy,
    first_come_first_served,
    schedule,
    shadow_of,
)
from tests.oracle.lublin import DAY_CYCLE, FIRST, HALF_HOURS, POWER_OF_TWO, SERIAL, day_weights, lublin_jobs

FCFS = first_come_first_served


def job(name: str, arrival: int, size: int, run_time: int, limit: int | None = None) -> Job:
    return Job(name, arrival, size, run_time, run_time if limit is None else limit)


LONG, WIDE = job("long", 0, 6, 10), job("wide", 1, 8, 10)
"""On ten processors: `wide` can start at 10, and leaves two processors."""


@pytest.mark.parametrize(
    ("third", "without", "with_backfill"),
    [
        (job("ends in time", 2, 4, 8), 20, 2),
        (job("a second too long", 2, 4, 9), 20, 20),
        (job("beside it", 2, 2, 99), 10, 2),
        (job("one processor too large", 2, 3, 9), 20, 20),
        (job("short, with a long limit", 2, 4, 1, 9), 20, 20),
        (job("there is no room", 2, 5, 1), 20, 20),
    ],
)
def test_who_may_pass(third: Job, without: int, with_backfill: int) -> None:
    jobs = [LONG, WIDE, third]
    for scheduler, expected in ((FCFS, without), (easy, with_backfill), (Conservative(), with_backfill)):
        assert schedule(jobs, 10, scheduler) == {"long": 0, "wide": 10, third.name: expected}


def test_easy_protects_only_the_first() -> None:
    """`narrow` takes the two processors that `wide` leaves, and the second in the queue pays for it."""
    jobs = [LONG, WIDE, job("second", 2, 9, 10), job("narrow", 3, 2, 25)]
    assert schedule(jobs, 10, easy) == {"long": 0, "wide": 10, "narrow": 3, "second": 28}
    assert schedule(jobs, 10, Conservative()) == {"long": 0, "wide": 10, "second": 20, "narrow": 30}


def test_what_is_left_beside_the_first_is_given_away_once() -> None:
    jobs = [LONG, WIDE, job("one", 2, 1, 50), job("two", 2, 2, 50), job("other", 2, 1, 50)]
    expected = {"long": 0, "one": 2, "other": 2, "wide": 10, "two": 20}
    assert schedule(jobs, 10, easy) == expected
    assert schedule(jobs, 10, Conservative()) == expected


def test_all_that_end_when_the_first_can_start_leave_room() -> None:
    jobs = [job("a", 0, 5, 10), job("b", 0, 5, 10), job("first", 1, 4, 10), job("late", 2, 6, 10)]
    assert shadow_of(jobs[2], 10, [Running(one, 0) for one in jobs[:2]]) == (10, 6)
    assert schedule(jobs, 10, easy) == {"a": 0, "b": 0, "first": 10, "late": 10}


def test_who_ends_early_leaves_early() -> None:
    """`long` says 10 and needs 4."""
    jobs = [LONG._replace(run_time=4), WIDE, job("small", 2, 4, 9)]
    for scheduler in (FCFS, easy, Conservative()):
        assert schedule(jobs, 10, scheduler) == {"long": 0, "wide": 4, "small": 14}


def test_a_schedule_is_compressed_in_the_order_of_arrival() -> None:
    """When `a` ends at 2, half of the machine is free until 10. `first` does not fit there and keeps its
    promise; `second` was to run after it, and fits; `third` then does not."""
    jobs = [
        job("a", 0, 5, 2, 10),
        job("b", 0, 5, 10),
        job("first", 1, 8, 10),
        job("second", 1, 4, 8),
        job("third", 1, 4, 8),
    ]
    assert schedule(jobs, 10, Conservative()) == {"a": 0, "b": 0, "first": 10, "second": 2, "third": 20}


def test_compression_delays_nobody() -> None:
    """When `a` ends at 2, `first` could start at 10 only if `second`, promised 10 as well, gave way. It keeps
    what it was promised."""
    jobs = [job("a", 0, 4, 2, 20), job("b", 0, 6, 10), job("first", 1, 8, 10), job("second", 1, 6, 10)]
    assert schedule(jobs, 10, Conservative()) == {"a": 0, "b": 0, "first": 20, "second": 10}


# -- what is promised ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_with_easy_the_first_starts_when_it_was_promised_or_before(seed: int) -> None:
    promised, jobs = dict[str, int](), lublin_jobs(seed, 150, 16, rush=2, slack=10)

    def watched(machine: Machine) -> tuple[list[Job], int | None]:
        begin, wake = easy(machine)
        left = [one for one in machine.queue if one not in begin]
        if left:
            running = [*machine.running, *(Running(one, machine.now) for one in begin)]
            shadow, _ = shadow_of(left[0], machine.processors, running)
            promised.setdefault(left[0].name, shadow)
        return begin, wake

    starts = schedule(jobs, 16, watched)
    assert len(promised) > 5
    assert all(starts[name] <= latest for name, latest in promised.items())


@pytest.mark.parametrize("seed", range(3))
def test_conservative_keeps_what_it_promises_on_arrival(seed: int) -> None:
    promised, scheduler = dict[str, int](), Conservative()

    def watched(machine: Machine) -> tuple[list[Job], int | None]:
        answer = scheduler(machine)
        for one, start in scheduler.promised.items():
            promised.setdefault(one.name, start)
        return answer

    starts = schedule(lublin_jobs(seed, 150, 16, rush=2, slack=10), 16, watched)
    assert len(promised) > 50
    assert all(starts[name] <= latest for name, latest in promised.items())
    assert any(starts[name] < latest for name, latest in promised.items()), "limits are longer than run times"


def test_backfill_saves_time() -> None:
    """By how much is not known; that it is most of the wait is what made it popular."""
    jobs = lublin_jobs(1, 200, 32, slack=10)
    waits = [
        sum(start[one.name] - one.arrival for one in jobs)
        for start in (schedule(jobs, 32, each) for each in (FCFS, easy, Conservative()))
    ]
    assert waits[1] < waits[0] / 2
    assert waits[2] < waits[0] / 2


# -- the model of the workload -------------------------------------------------------------------------------


def test_sizes_are_drawn_as_published() -> None:
    sizes = Counter(one.size for one in lublin_jobs(1, 4000, 128))
    assert max(sizes) <= 128
    assert sizes[1] / 4000 == pytest.approx(SERIAL, abs=0.02)
    powers = sum(sizes[2**exponent] for exponent in range(1, 8))
    assert powers / 4000 >= POWER_OF_TWO, "and some of the others are, too"


def test_large_jobs_run_longer() -> None:
    jobs = lublin_jobs(1, 4000, 128)
    small, large = (
        sorted(one.run_time for one in jobs if (one.size > 32) == larger) for larger in (False, True)
    )
    assert small[len(small) // 2] < large[len(large) // 2]
    assert min(small[0], large[0]) >= 1
    assert max(small[-1], large[-1]) <= math.exp(12)


def test_limits_are_upper_bounds() -> None:
    assert all(one.limit == one.run_time for one in lublin_jobs(1, 500, 128))
    factors = sorted(one.limit / one.run_time for one in lublin_jobs(1, 500, 128, slack=10))
    assert factors[0] >= 1
    assert factors[250] == pytest.approx(5.5, abs=0.7)


def test_jobs_arrive_as_the_day_goes_by() -> None:
    """The parts of a day are those of its gamma distribution, and arrivals follow them."""
    chance = Random(1)
    times = [round(chance.gammavariate(*DAY_CYCLE)) for _ in range(20_000)]
    drawn = Counter((time - 1) % HALF_HOURS for time in times if FIRST <= time < FIRST + HALF_HOURS)
    for half_hour, weight in enumerate(day_weights()):
        assert drawn[half_hour] / drawn.total() * HALF_HOURS == pytest.approx(weight, abs=0.15)
    arrivals = [one.arrival for one in lublin_jobs(1, 4000, 128)]
    assert all(earlier <= later for earlier, later in pairwise(arrivals))
    hours = Counter(arrival // 3600 % 24 for arrival in arrivals)
    assert sum(hours[hour] for hour in range(10, 18)) > 2 * sum(hours[hour] for hour in range(8))


def test_the_same_seed_draws_the_same_jobs() -> None:
    assert lublin_jobs(7, 50, 64, slack=10) == lublin_jobs(7, 50, 64, slack=10)
    assert lublin_jobs(7, 50, 64) != lublin_jobs(8, 50, 64)
