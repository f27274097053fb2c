"""What is remembered of booked starts, and what a Plan says of them: docs/bookings.md, read a second time."""

import json
from dataclasses import dataclass

from .case import LATE, Case
from .fields import Doc
from .times import instant

OBJECT, LONGEST = "maitred-system/maitred-bookings", 900_000
WHO = "bookings"


@dataclass(frozen=True)
class BookedStart:
    """Times in thousandths of a second."""

    group: str
    queue: str
    made: int
    newest: int
    at: int
    ends: int | None
    nodes: dict[str, int]

    @property
    def begins(self) -> int:
        """From when on its places are kept."""
        return self.at - LATE


@dataclass(frozen=True)
class EndedStart:
    group: str
    made: int
    kept: bool
    cause: str
    who: str


class BookedStarts:
    def __init__(self, case: Case) -> None:
        kept = case.cluster.raw.get(("ConfigMap", OBJECT))
        text = "" if kept is None else kept.doc("data").text("record")
        try:
            record = Doc(json.loads(text), WHO) if 0 < len(text) <= LONGEST else Doc({}, WHO)
            self.before, ended = _standing(record), _ended(record)
        except (ValueError, TypeError):
            self.before, ended = [], []
        said = case.plan.doc("bookings")
        self.says = bool(said.raw)
        self.after = _standing(said) if said.raw else self.before
        self.ended = [one for one in _ended(said) if one not in ended]
        """Those that are over now."""


def _standing(doc: Doc) -> list[BookedStart]:
    return [
        BookedStart(
            one.text("group"),
            one.text("queue"),
            _time(one, "made"),
            _time(one, "newest"),
            _time(one, "at"),
            _time(one, "ends") if one.given("ends") else None,
            {str(node): int(count) for node, count in one.items("nodes")},
        )
        for one in doc.docs("bookings")
    ]


def _ended(doc: Doc) -> list[EndedStart]:
    return [
        EndedStart(
            one.text("group"), _time(one, "made"), one.flag("kept"), one.text("cause"), one.text("who")
        )
        for one in doc.docs("ended")
    ]


def _time(doc: Doc, field: str) -> int:
    found = instant(doc.text(field))
    if found is None:
        raise doc.error(field, "must be a time")
    return found
