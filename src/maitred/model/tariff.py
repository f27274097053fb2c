"""Prices by the hour: from when until when, on the clocks of a time zone, devices cost more or less.

What is said is a factor for all prices. Factors are whole thousandths, so that what a time costs is the same
however it is cut. `steps_around` says when they change; beyond this file there are only instants, in
milliseconds since 1970.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo

import msgspec

from maitred.model.setting import Setting

Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
WEEK: tuple[Weekday, ...] = get_args(Weekday)
WHOLE = 1000
"""The plain price, in thousandths."""
DAY = 86_400_000
BEHIND, AHEAD = 62, 430
"""In days: so far around now prices are known by the hour. Beyond, all is reckoned at the plain price."""
LAST_DAY = (date.max - date(1970, 1, 1)).days - 1
MIDNIGHT = "24:00"

Step = tuple[int, int]
"""From when on, and the factor, in thousandths, until the next step."""


class PriceHours(Setting, frozen=True):
    """When prices are others. The first entry that a moment is in counts; any other time has plain prices."""

    factor: Annotated[float, msgspec.Meta(ge=0, le=100)]
    """All prices are multiplied by it."""
    begin: str = msgspec.field(name="from", default="00:00")
    until: str = MIDNIGHT
    """On the same day; on the next, if it is not after the begin."""
    days: tuple[Weekday, ...] = WEEK
    """Those on which it begins."""
    time_zone: str = "UTC"


def clock(text: str) -> time | None:
    """A time of day on the clock; None if it is none."""
    match = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", text, re.ASCII)
    return None if match is None else time(int(match[1]), int(match[2]))


def thousandths(factor: float) -> int:
    return round(factor * WHOLE)


def steps_around(hours: tuple[PriceHours, ...], now: int) -> tuple[Step, ...]:
    """In order. Before the first, and from the last on, prices are plain; without hours there are none."""
    return _steps(hours, now // DAY) if hours else ()


def factor_at(hours: tuple[PriceHours, ...], now: int) -> int:
    steps = steps_around(hours, now)
    place = bisect_right(steps, (now, _MOST))
    return steps[place - 1][1] if place else WHOLE


def pieces(hours: tuple[PriceHours, ...], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A time cut at the changes of prices: how long each part is, and its factor."""
    if not hours:
        yield end - begin, WHOLE
        return
    inside = [step[0] for step in steps_around(hours, begin) if begin < step[0] < end]
    for first, last in pairwise((begin, *inside, end)):
        yield last - first, factor_at(hours, first)


_MOST = thousandths(100) + 1


@lru_cache(maxsize=32)
def _steps(hours: tuple[PriceHours, ...], day: int) -> tuple[Step, ...]:
    first, last = max(0, day - BEHIND) * DAY, (day + AHEAD) * DAY
    windows = [[*_windows(one, first, last)] for one in hours]
    edges = sorted({first, last, *(edge for some in windows for window in some for edge in window)})
    factors, places = [WHOLE] * len(edges), {edge: place for place, edge in enumerate(edges)}
    for one, some in reversed([*zip(hours, windows, strict=True)]):
        for begin, end in some:
            length = places[end] - places[begin]
            factors[places[begin] : places[end]] = [thousandths(one.factor)] * length
    steps = zip(edges, factors, strict=True)
    return tuple(_changes(steps))


def _changes(steps: Iterable[Step]) -> Iterator[Step]:
    before = WHOLE
    for at, factor in steps:
        if factor != before:
            yield at, factor
        before = factor


def _windows(one: PriceHours, first: int, last: int) -> Iterator[tuple[int, int]]:
    """What clocks show twice is the first of both; what they leave out is as long after the last time before
    it as if they did not."""
    zone, begin, until = ZoneInfo(one.time_zone), clock(one.begin) or time(), clock(one.until)
    is_next = until is None or until <= begin
    # Clocks differ from UTC by less than a day.
    for number in range(first // DAY - 2, min(last // DAY + 2, LAST_DAY)):
        day = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)).date()
        if WEEK[day.weekday()] in one.days:
            end_day = day + timedelta(days=1) if is_next else day
            start, end = _instant(day, begin, zone), _instant(end_day, until or time(), zone)
            start, end = max(start, first), min(end, last)
            if start < end:
                yield start, end


def _instant(day: date, clock: time, zone: ZoneInfo) -> int:
    return round(datetime.combine(day, clock, zone).timestamp() * 1000)
