"""Periods of budgets: days, weeks and months of the calendar, in UTC. Weeks begin on Monday."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal

from maitred.model.times import LAST, after, at_second

Period = Literal["day", "week", "month"]


@lru_cache(maxsize=256)
def period_bounds(period: Period, now: int, count: int) -> tuple[int, ...]:
    """When the period began that some moment is in, and when it and the next ones end; in milliseconds since
    1970."""
    begin = _begin(period, at_second(now // 1000))
    found = [begin]
    while len(found) <= count:
        found.append(_next(period, found[-1]))
    return tuple(round(one.timestamp() * 1000) for one in found)


def _begin(period: Period, now: datetime) -> datetime:
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC)
    if period == "month":
        return midnight.replace(day=1)
    if period == "week":
        days = min(midnight.weekday(), (midnight - datetime.min.replace(tzinfo=UTC)).days)
        return midnight - timedelta(days=days)
    return midnight


def _next(period: Period, begin: datetime) -> datetime:
    if period != "month":
        return after(begin, timedelta(days=1 if period == "day" else 7))
    try:
        later = (begin + timedelta(days=31)).replace(day=1)
    except OverflowError:
        return LAST
    return later
