"""Small pieces of every message."""

from functools import lru_cache

from maitred.model.times import at_second


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
    return at_second(seconds).isoformat(timespec="seconds").replace("+00:00", "Z")
