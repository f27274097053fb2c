"""What the checker reads of the reservations of a Policy."""

from dataclasses import dataclass

from .calendars import Calendar, read_calendar
from .fields import Doc
from .selectors import Selector, label_selector
from .times import duration


@dataclass(frozen=True)
class ReservationRule:
    name: str
    queue: str
    namespace: str
    group: str
    calendar: Calendar
    lead: int
    release: int | None
    resource: str
    model: str
    count: int
    nodes: Selector | None
    within: str
    evicts: bool = False
    """At its beginning those who were warned."""


def read_reservations(policy: Doc) -> tuple[ReservationRule, ...]:
    return tuple(map(read_rule, policy.docs("reservations")))


def read_rule(doc: Doc) -> ReservationRule:
    who, devices, release = doc.doc("for"), doc.doc("devices"), doc.text("releaseAfter", "none")
    return ReservationRule(
        doc.text("name"),
        who.text("queue"),
        who.text("namespace"),
        who.text("group"),
        read_calendar(doc),
        duration(doc.text("leadTime", "1d")) or 0,
        None if release == "none" else duration(release),
        devices.text("resource"),
        devices.text("model", "*"),
        devices.integer("count"),
        label_selector(doc, "nodes"),
        doc.text("within"),
        doc.text("onStart", "wait") == "evict",
    )
