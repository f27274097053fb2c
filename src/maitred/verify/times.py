"""Durations and moments as people write them in marks and policies, in thousandths of a second."""

import re
from datetime import datetime

MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
LONGEST = 36_500 * MILLISECONDS["d"]
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|w)")


def duration(text: str) -> int | None:
    """90s, 10m, 1h30m, and 0, up to a hundred years; None for anything else. None is below zero."""
    parts = _PART.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        return None
    total = sum(float(number) * MILLISECONDS[unit] for number, unit in parts)
    return round(total) if total <= LONGEST else None


def instant(text: str) -> int | None:
    """RFC 3339: a date, a time and a zone; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return thousandths(found.timestamp()) if found.tzinfo is not None and "T" in text.upper() else None


def thousandths(seconds: float) -> int:
    return round(seconds * 1000)
