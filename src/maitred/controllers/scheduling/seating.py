"""The record of a seating, written on each pod with its bind.

It is all that a scheduler which was just started needs to tell a gang that was interrupted while it was
seated from one that ran whole and lost a member since.
"""

from dataclasses import dataclass
from datetime import datetime

ANNOTATION = "maitred.dev/seating"


@dataclass(frozen=True, slots=True)
class SeatingRecord:
    at: datetime
    bound: int
    """How many members this seating was to bind,"""
    waiting: int
    """of how many that waited."""

    def __str__(self) -> str:
        return f"{self.at.isoformat(timespec='microseconds')} {self.bound}/{self.waiting}"


def parse_seating(text: str) -> SeatingRecord | None:
    """None for what we have not written: a record that cannot be read is no evidence."""
    time, _, counts = text.partition(" ")
    bound, _, waiting = counts.partition("/")
    try:
        at = datetime.fromisoformat(time)
        return SeatingRecord(at, int(bound), int(waiting)) if at.tzinfo is not None else None
    except ValueError:
        return None
