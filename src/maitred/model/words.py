"""Small pieces of every message."""

from datetime import UTC, datetime
from functools import lru_cache

LAST_SECOND = 253_402_300_799
"""Of the year 9999, after which there are no dates."""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """The text on one line and without control characters, which labels and file names may bring along."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@lru_cache(maxsize=4096)
def moment(seconds: int) -> str:
    """A time since 1970 as RFC 3339 has it."""
    found = datetime.fromtimestamp(min(seconds, LAST_SECOND), UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")
