"""Small pieces of every message."""

from functools import lru_cache

from maitred.model.times import at_second


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def rounded(amount: float) -> str:
    """`1,234.5`: with no more than three digits behind the point."""
    return f"{amount:,.3f}".rstrip("0").rstrip(".")


def grouped(quantity: str) -> str:
    """A quantity as people read it: `1,024` of `1024`; one with a unit stays as it is."""
    return f"{int(quantity):,}" if quantity.isdecimal() else quantity


def printable(text: str) -> str:
    """The text on one line and without control characters, which labels and file names may bring along."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@lru_cache(maxsize=4096)
def moment(seconds: int) -> str:
    """A time since 1970 as RFC 3339 has it."""
    return at_second(seconds).isoformat(timespec="seconds").replace("+00:00", "Z")
