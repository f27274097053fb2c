"""Prices by the hour: which factor counts when, on the clocks of time zones, and what times cost by that."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.queues.tariff import HOUR, Tariff
from maitred.model.manifest import InputError
from maitred.model.manifest.settings import read_policy
from maitred.model.tariff import AHEAD, DAY, WEEK, WHOLE, PriceHours, factor_at, pieces, steps_around
from maitred.verify.tariffs import DAYS, DearHours, PriceTable
from tests.oracle.effort import examples

BERLIN = "Europe/Berlin"
NIGHT = PriceHours(0.5, "22:00", "06:00", time_zone=BERLIN)
SPRING, AUTUMN = "2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"
"""The days before clocks change in Berlin."""


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def told(hours: tuple[PriceHours, ...], begin: str, end: str) -> list[tuple[str, float]]:
    """When prices change between two times, and to which factor."""
    first, last = at(begin), at(end)
    steps = (step for step in steps_around(hours, first) if first <= step[0] < last)
    return [
        (f"{datetime.fromtimestamp(when / 1000, UTC):%dT%H:%M}", factor / WHOLE) for when, factor in steps
    ]


@pytest.mark.parametrize(
    ("hours", "begin", "end", "changes"),
    [
        ((NIGHT,), "2026-01-05T12:00Z", "2026-01-06T12:00Z", [("05T21:00", 0.5), ("06T05:00", 1)]),
        ((NIGHT,), SPRING, "2026-03-29T12:00Z", [("28T21:00", 0.5), ("29T04:00", 1)]),
        ((NIGHT,), AUTUMN, "2026-10-25T12:00Z", [("24T20:00", 0.5), ("25T05:00", 1)]),
        # 02:30 does not come in spring, and comes twice in autumn.
        (
            (PriceHours(2, "02:30", "04:00", time_zone=BERLIN),),
            SPRING,
            "2026-03-29T12:00Z",
            [("29T01:30", 2), ("29T02:00", 1)],
        ),
        (
            (PriceHours(2, "02:30", "04:00", time_zone=BERLIN),),
            AUTUMN,
            "2026-10-25T12:00Z",
            [("25T00:30", 2), ("25T03:00", 1)],
        ),
        # The first that a moment is in counts. 5 January 2026 is a Monday.
        (
            (PriceHours(3, "08:00", "10:00", ("Mon",)), PriceHours(2, days=("Mon",))),
            "2026-01-04T00:00Z",
            "2026-01-12T00:00Z",
            [("05T00:00", 2), ("05T08:00", 3), ("05T10:00", 2), ("06T00:00", 1)],
        ),
        # A night belongs to the day on which it begins.
        (
            (PriceHours(0, "22:00", "06:00", ("Sun",)),),
            "2026-01-04T00:00Z",
            "2026-01-06T00:00Z",
            [("04T22:00", 0), ("05T06:00", 1)],
        ),
    ],
)
def test_when_prices_change(
    hours: tuple[PriceHours, ...], begin: str, end: str, changes: list[tuple[str, float]]
) -> None:
    assert told(hours, begin, end) == changes


CLOCKS = st.sampled_from(["00:00", "04:15", "06:00", "13:30", "22:00", "23:45"])
ENTRIES = st.builds(
    PriceHours,
    st.sampled_from([0.0, 0.25, 0.333, 1.0, 1.5, 40.0]),
    CLOCKS,
    CLOCKS | st.just("24:00"),
    st.lists(st.sampled_from(WEEK), min_size=1, max_size=7, unique=True).map(tuple),
    st.sampled_from(["UTC", BERLIN, "Asia/Kathmandu", "America/New_York"]),
).filter(lambda one: one.begin != one.until)


def minutes_in(one: PriceHours, first: datetime, count: int) -> list[bool]:
    """What clocks show is looked at, quarter of an hour by quarter of an hour."""
    zone, found, begun_on = ZoneInfo(one.time_zone), list[bool](), None
    for number in range(-96, count):
        shown = (first + timedelta(minutes=15 * number)).astimezone(zone)
        clock = f"{shown:%H:%M}"
        if begun_on is not None and clock == one.until.replace("24:00", "00:00"):
            begun_on = None
        if clock == one.begin and WEEK[shown.weekday()] in one.days:
            begun_on = shown.date()
        found.append(begun_on is not None)
    return found[96:]


@given(st.lists(ENTRIES, max_size=3).map(tuple), st.sampled_from([SPRING, AUTUMN, "2026-06-30T12:00:00Z"]))
@examples(25)
def test_the_clocks_say_what_an_hour_costs(hours: tuple[PriceHours, ...], begin: str) -> None:
    """The engine and the checker say the same as somebody who looks at clocks all the time."""
    first, quarters = datetime.fromisoformat(begin), 4 * 60
    seen = [minutes_in(one, first, quarters) for one in hours]
    factors = [
        next((one.factor for one, row in zip(hours, seen, strict=True) if row[number]), 1.0)
        for number in range(quarters)
    ]
    now = at(begin)
    assert [factor_at(hours, now + number * HOUR // 4) / WHOLE for number in range(quarters)] == factors
    worth = sum(factors) / 4
    end, everywhere = now + quarters * HOUR // 4, np.ones(1, dtype=np.bool_)
    tariff = Tariff(hours, now)
    assert tariff.hours(np.array([now]), np.array([end]), everywhere)[0] == pytest.approx(worth)
    table = PriceTable(tuple(map(read_twice, hours)), now)
    assert table.worth(now, end) / HOUR == pytest.approx(worth)
    assert sum(length * factor for length, factor in pieces(hours, now, end)) / WHOLE / HOUR == pytest.approx(
        worth
    )


def read_twice(one: PriceHours) -> DearHours:
    begin, end = (int(text[:2]) * 60 + int(text[3:]) for text in (one.begin, one.until))
    return DearHours(one.factor, begin, end, one.days, ZoneInfo(one.time_zone))


@given(
    st.lists(ENTRIES, max_size=3).map(tuple),
    st.integers(-100 * DAY, 600 * DAY),
    st.integers(0, 600 * DAY),
    st.floats(0, 500),
)
@examples(40)
def test_far_away_prices_are_plain_and_a_time_can_be_cut(
    hours: tuple[PriceHours, ...], begin: int, length: int, bought: float
) -> None:
    now = at(AUTUMN)
    tariff, table = Tariff(hours, now), PriceTable(tuple(map(read_twice, hours)), now)
    ends = np.array([now + begin, now + begin + length // 3, now + begin + length])

    def worth(first: int, last: int) -> float:
        return float(tariff.hours(ends[[first]], ends[[last]], np.ones(1, dtype=np.bool_))[0])

    assert worth(0, 2) == pytest.approx(worth(0, 1) + worth(1, 2))
    assert worth(0, 2) == pytest.approx(table.worth(int(ends[0]), int(ends[2])) / HOUR)
    far = np.array([now + (AHEAD + 1) * DAY])
    assert tariff.hours(far, far + HOUR, np.ones(1, dtype=np.bool_))[0] == 1
    # What so many hours' money buys lasts until there is none left.
    until = tariff.end(now, bought, priced=True)
    paid = tariff.hours(np.array([now]), np.array([until]), np.ones(1, dtype=np.bool_))[0]
    assert paid <= bought + 1e-6
    assert (
        tariff.hours(np.array([now]), np.array([until + 2]), np.ones(1, dtype=np.bool_))[0] >= bought - 1e-4
    )


def test_by_the_clock_an_hour_is_an_hour() -> None:
    """For budgets in device-hours."""
    now = at(AUTUMN)
    begin = np.array([now, now])
    assert Tariff((NIGHT,), now).hours(begin, begin + DAY, np.array([False, True])).tolist() == [24, 19.5]
    assert DAYS == WEEK


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        ({"factor": -1}, "hours[0].factor: must be at least 0"),
        ({"factor": 0.12345}, "hours[0].factor: 0.12345 has more than three digits after the point"),
        ({"factor": 1, "from": "25:00"}, "hours[0].from: '25:00' is not a time of day such as 22:00"),
        ({"factor": 1, "from": "24:00"}, "hours[0].from: '24:00' is not a time of day such as 22:00"),
        ({"factor": 1, "until": "6"}, "hours[0].until: '6' is not a time of day such as 22:00"),
        (
            {"factor": 1, "until": "00:00"},
            "hours[0].until: 00:00 is when it begins; for a whole day leave out",
        ),
        ({"factor": 1, "days": []}, "hours[0].days: is empty; name days, or leave it out for every day"),
        ({"factor": 1, "days": ["Mon", "Mon"]}, "hours[0].days: names a day twice; remove one of the two"),
        ({"factor": 1, "days": ["Monday"]}, "hours[0].days[0]: 'Monday' is not one of"),
        ({"factor": 1, "timeZone": "Berlin"}, "hours[0].timeZone: 'Berlin' is not a time zone such as UTC"),
        ({}, "hours[0].factor: is required"),
    ],
)
def test_what_is_no_time_of_day_is_refused(entry: Any, refusal: str) -> None:
    with pytest.raises(InputError) as refused:
        checked({"devices": [{"perHour": 1}], "hours": [entry]})
    assert f"prices.{refusal}" in str(refused.value)


def test_hours_need_prices_and_have_a_limit() -> None:
    with pytest.raises(InputError, match=r"prices\.hours: nothing has a price; write prices\.devices"):
        checked({"hours": [{"factor": 1}]})
    with pytest.raises(InputError, match=r"prices\.hours: has 25 entries; 24 are the most"):
        checked({"devices": [{"perHour": 1}], "hours": [{"factor": 1}] * 25})


def checked(prices: Any) -> None:
    read_policy(json.dumps({"prices": prices}).encode(), "p.yaml")
