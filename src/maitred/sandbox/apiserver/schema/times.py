"""Points in time as the API server reads and writes them: RFC 3339 in UTC, to the second or microsecond."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,64}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_MICROS: Final = 6
_LONGEST_SHOWN: Final = 64
_NO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)


class TimeError(ValueError):
    """The text is no point in time."""


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str | None:
    """None for the time that Go takes for none."""
    return _written(_parse(text), "seconds")


@lru_cache(maxsize=4096)
def canonical_micro_time(text: str) -> str | None:
    return _written(_parse(text, digits=_MICROS), "microseconds")


def now() -> str:
    """As objects have it."""
    return in_seconds(datetime.now(UTC))


def in_seconds(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _written(time: datetime, precision: str) -> str | None:
    return None if time == _NO_TIME else time.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _parse(text: str, digits: int | None = None) -> datetime:
    """`digits`: how many the fraction of its second must have."""
    match = _TIME.fullmatch(text)
    if match is None or (digits is not None and len(match[2] or "") != digits):
        raise TimeError(f"{text[:_LONGEST_SHOWN]!r} is no time such as 2026-01-02T03:04:05Z")
    offset = timedelta(hours=int(match[4] or 0), minutes=int(match[5] or 0))
    try:
        time = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
        return time.replace(microsecond=int((match[2] or "")[:_MICROS].ljust(_MICROS, "0"))) - (
            -offset if match[3] == "-" else offset
        )
    except (ValueError, OverflowError):
        raise TimeError(f"{text[:_LONGEST_SHOWN]!r} is no time that there is") from None
