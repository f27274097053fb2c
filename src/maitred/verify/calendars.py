"""When reservations are: docs/reservations.md, a second time. Days are gone through one by one."""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from .fields import Doc
from .times import thousandths

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
AHEAD = 366
"""So many days ahead it is looked when a reservation comes next."""
FOREVER = 40 * AHEAD
RULES = {"day": "FREQ=DAILY", "week": "FREQ=WEEKLY"}

Span = tuple[int, int]


@dataclass(frozen=True)
class Calendar:
    """When something begins, on the clocks of a time zone, how long it is, and how it comes again."""

    begin: datetime
    until: datetime
    rule: dict[str, str]
    zone: ZoneInfo

    def spans(self, now: int) -> list[Span]:
        """Those that are not over, in thousandths of a second since 1970."""
        return [span for span in map(self._span, self._days(now)) if span[0] < span[1] and span[1] > now]

    def is_over(self, now: int) -> bool:
        """Whether none comes any more, however late: a rule without an end always has a next time."""
        if not self.rule:
            return self._span(self.begin.date())[1] <= now
        if "COUNT" not in self.rule and "UNTIL" not in self.rule:
            return False
        return not any(self._span(day)[1] > now for day in self._days(now, FOREVER))

    def _span(self, day: date) -> Span:
        begin = datetime.combine(day, self.begin.time())
        return self._moment(begin), self._moment(begin + (self.until - self.begin))

    def _moment(self, clock: datetime) -> int:
        return thousandths(clock.replace(tzinfo=self.zone).timestamp())

    def _days(self, now: int, ahead: int = AHEAD) -> Iterator[date]:
        if not self.rule:
            yield self.begin.date()
            return
        last = datetime.fromtimestamp(now / 1000, UTC).date() + timedelta(days=ahead)
        most, until = int(self.rule.get("COUNT", "0")), self.rule.get("UNTIL", "")
        day, found = self.begin.date(), 0
        while day <= last:
            if self._is_day(day):
                found += 1
                begin = datetime.combine(day, self.begin.time())
                if (most and found > most) or (until and begin > _read_until(until)):
                    return
                yield day
            day += timedelta(days=1)

    def _is_day(self, day: date) -> bool:
        first, every = self.begin.date(), int(self.rule.get("INTERVAL", "1"))
        kind = self.rule["FREQ"]
        if kind == "DAILY":
            return (day - first).days % every == 0
        if kind == "WEEKLY":
            lead = DAYS.index(self.rule.get("WKST", "MO"))
            weeks = (_week(day, lead) - _week(first, lead)).days // 7
            return weeks % every == 0 and DAYS[day.weekday()] in self._weekdays(first)
        months = (day.year - first.year) * 12 + day.month - first.month
        return months % every == 0 and day in self._of_month(day)

    def _weekdays(self, first: date) -> list[str]:
        return self.rule.get("BYDAY", DAYS[first.weekday()]).split(",")

    def _of_month(self, day: date) -> list[date]:
        """The days of this month that the rule means."""
        length = calendar.monthrange(day.year, day.month)[1]
        days = [day.replace(day=number) for number in range(1, length + 1)]
        if "BYMONTHDAY" in self.rule:
            numbers = {int(one) for one in self.rule["BYMONTHDAY"].split(",")}
            days = [one for one in days if one.day in numbers or one.day - length - 1 in numbers]
        elif "BYDAY" not in self.rule:
            days = [one for one in days if one.day == self.begin.day]
        if "BYDAY" in self.rule:
            days = [one for one in days if DAYS[one.weekday()] in self._weekdays(one)]
        if "BYSETPOS" in self.rule:
            places = (int(one) for one in self.rule["BYSETPOS"].split(","))
            days = [days[n - 1 if n > 0 else n] for n in places if 0 < abs(n) <= len(days)]
        return days


def _week(day: date, lead: int) -> date:
    """The first day of its week."""
    return day - timedelta(days=(day.weekday() - lead) % 7)


def _read_until(text: str) -> datetime:
    return datetime.fromisoformat(text)


def read_calendar(doc: Doc) -> Calendar:
    try:
        begin, until = (datetime.fromisoformat(doc.text(name)) for name in ("from", "until"))
        every = doc.text("every")
        parts = (part.partition("=") for part in RULES.get(every, every).split(";") if part)
        rule = {name: value for name, _, value in parts}
        zone = ZoneInfo(doc.text("timeZone", "UTC"))
    except (ValueError, OSError, KeyError) as problem:
        raise doc.error("from", f"or another time of it, cannot be read: {problem}") from None
    return Calendar(begin.replace(microsecond=0), until.replace(microsecond=0), rule, zone)
