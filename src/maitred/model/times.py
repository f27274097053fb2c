"""Times before and after others. Objects may bear any time, the first and the last that there are as well:
nothing comes before that, and nothing after this."""

from datetime import UTC, datetime, timedelta

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Since 1970."""
MOMENT_FORM = "a time such as 2026-03-01T12:00:00Z"
CLOCK_SKEW = timedelta(minutes=1)
"""Clocks may differ by so much. What is later than that is of a clock that is wrong."""


def after(time: datetime, length: timedelta) -> datetime:
    try:
        return time + length
    except OverflowError:
        return LAST


def before(time: datetime, length: timedelta) -> datetime:
    try:
        return time - length
    except OverflowError:
        return FIRST


def at_second(seconds: float) -> datetime:
    """So many seconds since 1970."""
    return datetime.fromtimestamp(min(max(seconds, FIRST_SECOND), LAST_SECOND), UTC)


def moment_in(text: str) -> int | None:
    """In milliseconds since 1970. RFC 3339 is stricter than what the library reads: a date, a time and a
    zone."""
    if "T" not in text.upper():
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else round(found.timestamp() * 1000)
