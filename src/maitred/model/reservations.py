"""Reservations: nodes that are kept for somebody for a time, once or by a calendar.

What a reservation says is what clocks show in some time zone. `spans_of` says when that is. Beyond these
files there are only instants, in milliseconds since 1970.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import msgspec

from maitred.model.meta import Lean
from maitred.model.selector import LabelSelector
from maitred.model.setting import NO_LIMIT, Setting
from maitred.model.times import at_second

HORIZON = timedelta(days=366)
"""So far ahead reservations are looked at."""
FAR = 40 * HORIZON
DAY = timedelta(days=1)
EVICT, RESERVATION = "evict", "reservation"
EVERY_DAY, EVERY_WEEK = "day", "week"
RULES = {EVERY_DAY: "FREQ=DAILY", EVERY_WEEK: "FREQ=WEEKLY"}
"""What calendars are called that need no rule of RFC 5545."""

Span = tuple[int, int]
"""From when until when."""


class Beneficiary(Setting, frozen=True):
    """For whom a reservation is: one of these."""

    queue: str = ""
    """With all queues below it."""
    namespace: str = ""
    group: str = ""
    """By namespace and name."""

    def __str__(self) -> str:
        kind = next(name for name in ("queue", "namespace", "group") if getattr(self, name))
        return f"{kind} {getattr(self, kind)}"


class ReservedDevices(Setting, frozen=True):
    resource: str
    count: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
    model: str = "*"
    """A pattern for models of devices, as in `prices.devices`."""


class Reservation(Setting, frozen=True):
    name: str
    beneficiary: Beneficiary = msgspec.field(name="for")
    begin: str = msgspec.field(name="from")
    """On the clocks of the time zone, the first time."""
    until: str
    devices: ReservedDevices | None = None
    """So many nodes as have these together,"""
    nodes: LabelSelector | None = None
    """or all of these."""
    within: str = ""
    """The devices are in one domain of this level; empty: anywhere."""
    every: str = ""
    """When it comes again: `day`, `week` or a rule of RFC 5545; empty: it does not."""
    time_zone: str = "UTC"
    lead_time: str = "1d"
    """From so long before it begins, nobody else is started there of whom it is not known when they end."""
    release_after: str = NO_LIMIT
    """When it has begun so long ago and nobody for whom it is runs or waits, others may have its nodes."""
    on_start: Literal["wait", "evict"] = "wait"
    """Whether those who are inside at its beginning may stay, or leave if they were warned."""


COMING, BEGUN, GIVEN_BACK = "coming", "begun", "given back"


class WarnedUnit(Lean, frozen=True, omit_defaults=False):
    """Pods of others that break together, and have been told that they will have to leave."""

    unit: str
    warned: str
    leaves: str
    """When it is evicted at the earliest, if it is there still."""
    pods: int
    pod: str
    """The first of them,"""
    uid: str
    """and its UID."""
    stays: str = ""
    """Why it is not evicted after all."""


class ReservedNodes(Lean, frozen=True, omit_defaults=False):
    """What one Plan keeps for a reservation: the time that it is for next, or now, and the nodes."""

    name: str
    beneficiary: str = msgspec.field(name="for")
    begin: str = msgspec.field(name="from")
    until: str
    nodes: tuple[str, ...]
    state: str
    """`coming`, `begun` or `given back`."""
    others: int = 0
    """Pods of others that are on them still, or will be when it begins."""
    by: str = ""
    """Who has made it; empty: it is in the policy."""
    warned: tuple[WarnedUnit, ...] = ()


FIRST_YEAR, LAST_YEAR = 2020, 2199


class CalendarError(ValueError):
    """What cannot be read, by the field that it is in."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field}: {what}")
        self.field, self.what = field, what


def clock_time(field: str, text: str) -> datetime:
    """Without a time zone: what clocks show."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CalendarError(field, f"{text[:40]!r} is not a time such as 2026-12-01T14:00") from None
    if found.tzinfo is not None:
        raise CalendarError(field, f"{text[:40]!r} names a time zone; write what clocks show, and timeZone")
    if "T" not in text.upper() and " " not in text:
        raise CalendarError(field, f"{text[:40]!r} has no time of day; write it like {text[:10]}T14:00")
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise CalendarError(field, f"{text[:40]!r} is not between {FIRST_YEAR} and {LAST_YEAR}")
    return found.replace(microsecond=0)


def is_left_out(clock: datetime, time_zone: str) -> bool:
    """Whether clocks never show this time, as they are put forward over it."""
    shown = clock.replace(tzinfo=ZoneInfo(time_zone)).astimezone(UTC).astimezone(ZoneInfo(time_zone))
    return shown.replace(tzinfo=None) != clock


def spans_between(one: Reservation, first: datetime, last: datetime) -> tuple[Span, ...]:
    """Those that are not over by `first` and begin before `last`, in order."""
    return _spans(one.begin, one.until, one.every, one.time_zone, first, last)


@lru_cache(maxsize=1024)
def _spans(
    begins: str, until: str, every: str, time_zone: str, first: datetime, last: datetime
) -> tuple[Span, ...]:
    begin, zone = clock_time("from", begins), ZoneInfo(time_zone)
    length, starts = clock_time("until", until) - begin, [begin]
    if every:
        # Clocks differ from UTC, and from themselves in another season, by less than a day.
        starts = _starts(every, begin, _naive(first) - length - DAY, _naive(last) + DAY)
    spans = ((_instant(start, zone), _instant(start + length, zone)) for start in starts)
    lowest, highest = _milliseconds(first), _milliseconds(last)
    return tuple(span for span in spans if span[0] < span[1] and span[1] > lowest and span[0] < highest)


def spans_of(reservation: Reservation, now: int) -> tuple[Span, ...]:
    """The span that `now` is in, if it is in one, and those to come within the horizon, in order."""
    today = at_second(now // 1000).replace(hour=0, minute=0, second=0, microsecond=0)
    return tuple(span for span in spans_between(reservation, today, today + HORIZON) if span[1] > now)


def goes_on(one: Reservation, now: int) -> bool:
    """Whether it comes again after the horizon, too, within as long again."""
    day = at_second(now // 1000).replace(hour=0, minute=0, second=0, microsecond=0) + HORIZON
    return bool(one.every) and bool(spans_between(one, day, day + HORIZON))


def is_over(one: Reservation, now: int) -> bool:
    """Whether it does not come again, as far as anybody plans."""
    today = at_second(now // 1000)
    return not any(span[1] > now for span in spans_between(one, today, today + FAR))


def _starts(every: str, begin: datetime, first: datetime, last: datetime) -> list[datetime]:
    # A policy without reservations need not wait for the library.
    from dateutil.rrule import rrulestr

    rule = rrulestr(RULES.get(every, every), dtstart=begin)
    return list(rule.between(max(first, begin), last, inc=True)) if last >= begin else []


def _instant(clock: datetime, zone: ZoneInfo) -> int:
    """What clocks show twice is the first of both. What they leave out is as long after the last time before
    it as if they did not."""
    return _milliseconds(clock.replace(tzinfo=zone))


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def _naive(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(tzinfo=None)


def overlap(some: Sequence[Span], others: Sequence[Span]) -> bool:
    """Whether one of these and one of those have a moment in common; both are in order."""
    mine, theirs = 0, 0
    while mine < len(some) and theirs < len(others):
        if some[mine][1] <= others[theirs][0]:
            mine += 1
        elif others[theirs][1] <= some[mine][0]:
            theirs += 1
        else:
            return True
    return False
