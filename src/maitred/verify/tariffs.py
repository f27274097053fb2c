"""What times cost where prices differ by the hour: docs/policy.md#prices-by-the-hour, a second time.

The days around now are cut where anything begins or ends, and of each piece it is asked what it is in.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from zoneinfo import ZoneInfo

from .fields import Doc
from .times import thousandths

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BEFORE, AFTER = timedelta(days=62), timedelta(days=430)
PLAIN = 1.0


@dataclass(frozen=True)
class DearHours:
    """On the clocks of a zone, in minutes after midnight."""

    factor: float
    begin: int
    end: int
    days: tuple[str, ...]
    zone: ZoneInfo

    def on(self, day: date) -> tuple[int, int] | None:
        """From when until when, if they begin on this day."""
        if DAYS[day.weekday()] not in self.days:
            return None
        length = self.end - self.begin if self.end > self.begin else self.end + 24 * 60 - self.begin
        midnight = datetime(day.year, day.month, day.day)
        begin = midnight + timedelta(minutes=self.begin)
        times = (begin, begin + timedelta(minutes=length))
        first, last = (thousandths(one.replace(tzinfo=self.zone).timestamp()) for one in times)
        return first, last


@dataclass(frozen=True)
class PriceTable:
    hours: tuple[DearHours, ...]
    now: int

    def worth(self, begin: int, end: int) -> float:
        """What a time costs, as so many thousandths of a second at plain prices."""
        return self._until(end) - self._until(begin) if end > begin else 0.0

    def _until(self, moment: int) -> float:
        """From the first piece on; below zero before it."""
        edges, factors, sums = self._pieces
        place = max(0, bisect_right(edges, moment) - 1)
        factor = PLAIN if moment < edges[0] else factors[place]
        return sums[place] + factor * (moment - edges[place])

    @cached_property
    def _pieces(self) -> tuple[list[int], list[float], list[float]]:
        today = datetime.fromtimestamp(self.now / 1000, UTC).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        first, last = (thousandths(one.timestamp()) for one in (today - BEFORE, today + AFTER))
        cuts = {first, last}
        for day in _days(first, last):
            for one in self.hours:
                cuts.update(at for at in one.on(day) or () if first < at < last)
        edges = sorted(cuts)
        factors = [self._factor((begin + end) // 2) for begin, end in pairwise(edges)] + [PLAIN]
        sums = [0.0]
        for (begin, end), factor in zip(pairwise(edges), factors, strict=False):
            sums.append(sums[-1] + factor * (end - begin))
        return edges, factors, sums

    def _factor(self, moment: int) -> float:
        near = [*_days(moment, moment)]
        for one in self.hours:
            for day in near:
                span = one.on(day)
                if span is not None and span[0] <= moment < span[1]:
                    return one.factor
        return PLAIN


def _days(first: int, last: int) -> Iterator[date]:
    """On which something may begin that is in this time."""
    day = datetime.fromtimestamp(first / 1000, UTC).date() - timedelta(days=2)
    while day <= datetime.fromtimestamp(last / 1000, UTC).date() + timedelta(days=1):
        yield day
        day += timedelta(days=1)


def read_hours(prices: Doc) -> tuple[DearHours, ...]:
    return tuple(map(_hours, prices.docs("hours")))


def _hours(one: Doc) -> DearHours:
    factor = one.raw.get("factor")
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise one.error("factor", "must be a number")
    begin, end = (_minutes(one, field, default) for field, default in (("from", "00:00"), ("until", "24:00")))
    days = tuple(one.texts("days")) if one.given("days") else DAYS
    return DearHours(float(factor), begin, end, days, ZoneInfo(one.text("timeZone", "UTC")))


def _minutes(one: Doc, field: str, default: str) -> int:
    hour, _, minute = one.text(field, default).partition(":")
    if not hour.isdecimal() or not minute.isdecimal():
        raise one.error(field, "must be a time of day such as 22:00")
    return int(hour) * 60 + int(minute)
