"""Points in time as the API server reads and writes them: RFC 3339 in UTC, to the second or microsecond."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from maitred.sandbox.apiserver.schema.gotext import quoted

_LONGEST_TEXT: Final = 64
_ZONE: Final = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_FRACTION: Final = ("", r"(?:[.,]\d+)?")
_SIX_DIGITS: Final = (".000000", r"[.,]\d{6}")
_UNTIL_SECONDS: Final = (
    *(("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T")),
    *(("15", r"\d\d"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d")),
)
_TIME: Final = (*_UNTIL_SECONDS, _FRACTION, _ZONE)
_MICRO_TIME: Final = (*_UNTIL_SECONDS, _SIX_DIGITS, _ZONE)
_NO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)


class TimeError(ValueError):
    """In the words of the API server."""


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str | None:
    """None for the time that Go takes for none."""
    return _written(_parse(text, _TIME), "seconds")


@lru_cache(maxsize=4096)
def canonical_micro_time(text: str) -> str | None:
    return _written(_parse(text, _MICRO_TIME), "microseconds")


def now() -> str:
    """As objects have it."""
    return in_seconds(datetime.now(UTC))


def in_seconds(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _written(time: datetime, precision: str) -> str | None:
    return None if time == _NO_TIME else time.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _parse(text: str, layout: tuple[tuple[str, str], ...]) -> datetime:
    parts, rest = [], text[:_LONGEST_TEXT]
    for element, pattern in layout:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            names = "".join(name for name, _ in layout)
            raise TimeError(
                f"parsing time {quoted(text)} as {quoted(names)}: "
                f"cannot parse {quoted(rest)} as {quoted(element)}"
            )
        parts.append(match[0])
        rest = rest[match.end() :]
    if rest:
        raise TimeError(f"parsing time {quoted(text)}: extra text: {quoted(rest)}")
    numbers = [int(part) for part in parts[:11:2]]
    micros = int(parts[11][1:7].ljust(6, "0")) if parts[11] else 0
    try:
        return (datetime(*numbers, micros, tzinfo=UTC) - _offset(parts[12])).astimezone(UTC)  # type: ignore[arg-type,misc]
    except (ValueError, OverflowError):
        raise TimeError(f"parsing time {quoted(text)}: {_out_of_range(numbers)} out of range") from None


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return -offset if zone[0] == "-" else offset


def _out_of_range(numbers: list[int]) -> str:
    _, month, _, hour, minute, second = numbers
    wrong = {
        "month": not 1 <= month <= 12,
        "hour": hour > 23,
        "minute": minute > 59,
        "second": second > 59,
    }
    return next((name for name, is_wrong in wrong.items() if is_wrong), "day")
