"""What is drawn: the same for one seed, independent of everything else, and as often as was asked for."""

import numpy as np
import pytest

from maitred.simulate.clock import DAY, HOUR, LONGEST, SECOND
from maitred.simulate.scenario.streams import Streams
from maitred.simulate.scenario.values import amounts, duration, times
from tests.simulate.scenario.writing import entry, setup

MANY = 200_000
MIXED = (
    "arrivals: {perHour: 10}, workers: {values: [1, 2, 4]}, gpus: {values: [1, 8]}, "
    "runTime: {logNormal: {median: 2h, sigma: 1}}, cancelled: 0.2"
)


@pytest.mark.parametrize(
    ("written", "microseconds"),
    [
        (0, 0),
        (90, 90 * SECOND),
        (1.5, 1_500_000),
        ("90s", 90 * SECOND),
        ("10m", 600 * SECOND),
        ("2h30m", 5 * HOUR // 2),
        ("1.5d", 36 * HOUR),
        ("2w", 14 * DAY),
        ("250ms", 250_000),
        (0.0004, 0),
    ],
)
def test_durations(written: object, microseconds: int) -> None:
    assert duration(written) == microseconds


@pytest.mark.parametrize(
    ("written", "mean"),
    [
        ("2h", 2.0),
        ({"values": ["1h", "3h"]}, 2.0),
        ({"values": ["1h", "3h"], "weights": [3, 1]}, 1.5),
        ({"exponential": {"mean": "3h"}}, 3.0),
        ({"uniform": {"from": "1h", "until": "4h"}}, 2.5),
        ({"logNormal": {"median": "2h", "sigma": 0.5}}, 2 * np.exp(0.125)),
    ],
)
def test_times_have_the_right_mean(written: object, mean: float) -> None:
    drawn = times(written).draw(Streams(1).of("test"), MANY)
    assert drawn.dtype == np.int64
    assert drawn.mean() / HOUR == pytest.approx(mean, rel=0.02)


def test_a_log_normal_has_its_median_and_no_spread_is_endless() -> None:
    drawn = times({"logNormal": {"median": "2h", "sigma": 1.2}}).draw(Streams(1).of("test"), MANY)
    assert np.median(drawn) / HOUR == pytest.approx(2, rel=0.02)
    wild = times({"logNormal": {"median": "2h", "sigma": 10}}).draw(Streams(1).of("test"), MANY)
    assert wild.min() >= 1
    assert wild.max() == LONGEST


def test_amounts_come_as_often_as_their_weights_say() -> None:
    drawn = amounts({"values": [1, 2, 8], "weights": [5, 3, 2]}).draw(Streams(1).of("test"), MANY)
    shares = [np.mean(drawn == value) for value in (1, 2, 8)]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.01)


def test_fewer_draws_are_the_beginning_of_more() -> None:
    for spread in (
        times({"exponential": {"mean": "3h"}}),
        times({"logNormal": {"median": "2h", "sigma": 0.5}}),
        times({"uniform": {"from": "1h", "until": "4h"}}),
        amounts({"values": [1, 2, 8]}),
    ):
        more = spread.draw(Streams(1).of("test"), 100)
        assert (spread.draw(Streams(1).of("test"), 10) == more[:10]).all()


def test_the_same_seed_gives_the_same_jobs_and_another_gives_others() -> None:
    text = entry(MIXED)
    assert setup(text, seed=3).workload == setup(text, seed=3).workload
    assert setup(text, seed=3).workload != setup(text, seed=4).workload


def test_a_later_horizon_adds_jobs_and_changes_none() -> None:
    short, long = (setup(entry(MIXED, f"horizon: {days}d")).workload for days in (5, 10))
    assert 0 < len(short) < len(long)
    assert long[: len(short)] == short


def test_what_changes_one_thing_leaves_the_others_alone() -> None:
    before = setup(entry(MIXED)).workload
    after = setup(entry(MIXED.replace("[1, 2, 4]", "[1, 3]"))).workload
    assert [(job.arrival, job.run_time, job.cancelled) for job in before] == [
        (job.arrival, job.run_time, job.cancelled) for job in after
    ]
    assert [job.crews[0].devices for job in before] == [job.crews[0].devices for job in after]
    other = "- {name: z, arrivals: {perHour: 5}, runTime: 1h}"
    both = setup(f"workload:\n{other}\n- {{name: a, {MIXED}}}\nhorizon: 10d\n").workload
    assert tuple(job for job in both if job.name.startswith("a-")) == before


def test_arrivals_by_chance_have_the_rate_that_was_asked_for() -> None:
    jobs = setup(entry("arrivals: {perHour: 100}, runTime: 1h", "horizon: 20d")).workload
    arrivals = np.array([job.arrival for job in jobs])
    assert len(jobs) == pytest.approx(48_000, rel=0.02)
    gaps = np.diff(arrivals)
    assert gaps.min() >= 0
    assert gaps.std() / gaps.mean() == pytest.approx(1, rel=0.02)
    assert arrivals[-1] < 20 * DAY


def test_windows_have_their_own_rates_each_day() -> None:
    windows = "[{from: 8h, until: 18h, perHour: 60}, {from: 20h, until: 24h, perHour: 6}]"
    text = entry(f"arrivals: {{daily: true, windows: {windows}}}, runTime: 1h", "horizon: 50d")
    hours = np.array([job.arrival for job in setup(text).workload]) % DAY / HOUR
    assert ((hours >= 8) & (hours < 18) | (hours >= 20)).all()
    assert (hours < 18).sum() == pytest.approx(50 * 600, rel=0.03)
    assert (hours >= 20).sum() == pytest.approx(50 * 24, rel=0.1)


def test_windows_that_are_not_daily_come_once() -> None:
    text = entry("arrivals: {windows: [{from: 1h, until: 2h, perHour: 60}]}, runTime: 1h", "horizon: 9d")
    arrivals = [job.arrival for job in setup(text).workload]
    assert min(arrivals) >= HOUR
    assert max(arrivals) < 2 * HOUR


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        ("{every: 6h}", [0, 6, 12, 18]),
        ("{every: 6h, from: 3h, until: 16h}", [3, 9, 15]),
        ("{every: 6h, jobs: 2}", [0, 6]),
        ("{at: [30h, 2h]}", [2, 30]),
    ],
)
def test_regular_arrivals(arrivals: str, expected: list[int]) -> None:
    jobs = setup(entry(f"arrivals: {arrivals}, runTime: 1h", "horizon: 1d")).workload
    assert [job.arrival for job in jobs] == [hour * HOUR for hour in expected]


def test_a_number_of_jobs_needs_no_horizon() -> None:
    jobs = setup(entry("arrivals: {perHour: 10, jobs: 10000}, runTime: 1h", "")).workload
    assert len(jobs) == 10_000
    assert jobs[-1].arrival / HOUR == pytest.approx(1000, rel=0.05)


def test_some_are_given_up_at_a_moment_of_their_run() -> None:
    jobs = setup(entry("arrivals: {perHour: 100}, runTime: 2h, cancelled: 0.25", "horizon: 20d")).workload
    after = np.array([job.cancelled - job.arrival for job in jobs if job.cancelled is not None]) / HOUR
    assert len(after) / len(jobs) == pytest.approx(0.25, abs=0.01)
    assert after.mean() == pytest.approx(1, rel=0.02)
    assert after.max() <= 2
