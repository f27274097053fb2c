"""The meter: what was held, for as long as it was, to the millisecond."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.state import Change, ClusterState
from maitred.explain.billing.device_buckets import DeviceLevels, Key, levels
from maitred.ledger.meter import DAY, LONGEST_SILENCE, Reading, UsageMeter, by_day
from maitred.model.policy import Policy
from maitred.model.tariff import PriceHours
from tests.ledger.worlds import histories
from tests.oracle.effort import examples

BEGIN = 20_000 * DAY - 90_000
"""A minute and a half before midnight."""
DEVICE = ("example.com/gpu", "X1")


def held(count: int, capacity: int = 8) -> DeviceLevels:
    devices = {Key("a/b", *DEVICE, "productive"): count, Key("", *DEVICE, "idle"): capacity - count}
    return DeviceLevels({key: n for key, n in devices.items() if n}, {DEVICE: capacity}, {})


def by_bucket(reading: Reading) -> dict[tuple[int, str], int]:
    return {(day, key.bucket): amount for (day, key), amount in reading.usage.items()}


def test_levels_hold_until_they_are_seen_otherwise() -> None:
    meter = UsageMeter(0)
    meter.see(held(3), 1000)
    meter.see(held(8), 5000)
    meter.advance(6000)
    reading = meter.take()
    assert by_bucket(reading) == {(0, "productive"): 3 * 4000 + 8 * 1000, (0, "idle"): 5 * 4000}
    assert (reading.capacity, reading.observed) == ({(0, DEVICE): 8 * 5000}, {0: 5000})
    meter.advance(7000)
    assert by_bucket(meter.take()) == {(0, "productive"): 8 * 1000}


def test_days_are_told_apart() -> None:
    meter = UsageMeter(DAY - 20)
    meter.see(held(8), DAY - 20)
    meter.advance(DAY + 30)
    assert by_bucket(meter.take()) == {(0, "productive"): 8 * 20, (1, "productive"): 8 * 30}


def test_what_nobody_saw_is_not_counted() -> None:
    meter = UsageMeter(0)
    meter.see(held(8), 0)
    meter.advance(1000)
    meter.advance(1000 + LONGEST_SILENCE + 1)
    meter.advance(2000 + LONGEST_SILENCE + 1)
    assert dict(meter.take().observed) == {0: 2000}


def test_a_clock_that_goes_back_counts_nothing_twice() -> None:
    meter = UsageMeter(0)
    for at in (0, 5000, 2000, 6000):
        meter.see(held(8), at)
    assert dict(meter.take().observed) == {0: 6000}


@given(st.integers(0, 3 * DAY), st.integers(0, 3 * DAY))
def test_the_days_of_an_interval_add_up_to_it(start: int, length: int) -> None:
    found = list(by_day(start, start + length))
    assert sum(part for _, part in found) == length
    assert all(b == a + 1 for (a, _), (b, _) in pairwise(found))
    assert not found or found[0][0] == start // DAY


def test_what_the_hours_cost_more_is_metered_beside_them() -> None:
    """Five minutes before four in the morning, and five after: 1.25 times as much until then."""
    four = 20_000 * DAY + 4 * 3_600_000
    meter, hours = UsageMeter(four - 300_000), (PriceHours(1.25, "00:00", "04:00"),)
    for minute in range(-5, 5):
        meter.see(held(3), four + minute * 60_000, hours)
    meter.advance(four + 300_000)
    reading = meter.take()
    assert by_bucket(reading) == {(20_000, "productive"): 3 * 600_000, (20_000, "idle"): 5 * 600_000}
    more = {key.bucket: amount for (_, key), amount in reading.surcharge.items()}
    assert more == {"productive": 250 * 3 * 300_000, "idle": 250 * 5 * 300_000}


@examples(60)
@given(histories(), st.lists(st.integers(0, 20), max_size=6))
def test_whatever_happens_it_all_adds_up_to_capacity_times_time(
    history: list[tuple[int, Change]], flushes: list[int]
) -> None:
    """However the time is cut into readings, and whatever is done with the cluster meanwhile."""
    state, meter, at = ClusterState(), UsageMeter(BEGIN), BEGIN
    expected, found, capacity = Counter[object](), Counter[object](), Counter[object]()
    last = DeviceLevels({}, {}, {})
    for step, (pause, change) in enumerate(history):
        expected.update({device: count * pause for device, count in last.capacity.items()})
        at += pause
        state.apply(change)
        last = levels(state.snapshot(), Policy())
        meter.see(last, at)
        if step in flushes or step == len(history) - 1:
            reading = meter.take()
            for (_, key), amount in reading.usage.items():
                found[key.resource, key.model] += amount
            for (_, device), amount in reading.capacity.items():
                capacity[device] += amount
    assert +expected == +found == +capacity
