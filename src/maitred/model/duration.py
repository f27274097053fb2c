"""Durations as people write them: 90s, 10m, 1h30m, 2d."""

import re
from datetime import timedelta
from functools import lru_cache

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(ms|[smhdw])", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)

LONGEST = 100 * 365 * _UNITS["d"]
FORM = "a duration such as 90s, 10m or 1h30m (at most a hundred years)"


@lru_cache(maxsize=1024)
def milliseconds(text: str) -> int | None:
    """None for what is no duration; there is none below zero."""
    if text == "0":
        return 0
    if _DURATION.fullmatch(text) is None:
        return None
    total = sum(round(float(number) * _UNITS[unit]) for number, unit in _PART.findall(text))
    return total if total <= LONGEST else None


def span(text: str) -> timedelta:
    """Nothing, for what is no duration."""
    return timedelta(milliseconds=milliseconds(text) or 0)


def written(milliseconds: int) -> str:
    """As people write it, and as it can be read again."""
    parts, rest = [], milliseconds
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
