"""Reservations that nobody could keep: for nobody, of nothing, at no time, or in two times at once."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest.checks import (
    check_distinct,
    check_key,
    check_pattern,
    check_selector,
    name_problem,
)
from maitred.model.manifest.errors import FieldError
from maitred.model.queues import DEFAULT_QUEUE, Queue
from maitred.model.reservations import (
    DAY,
    EVERY_DAY,
    EVERY_WEEK,
    HORIZON,
    RULES,
    Beneficiary,
    CalendarError,
    Reservation,
    clock_time,
    spans_between,
)
from maitred.model.setting import NO_LIMIT

MOST_RESERVATIONS = 200
LOOKED_AT = HORIZON + 30 * DAY
"""For so long after its beginning it is looked when a reservation comes again."""
PARTS = {
    "FREQ": re.compile("DAILY|WEEKLY|MONTHLY"),
    "INTERVAL": re.compile("[1-9][0-9]{0,2}"),
    "COUNT": re.compile("[1-9][0-9]{0,4}"),
    "UNTIL": re.compile("[0-9]{8}(T[0-9]{6})?"),
    "BYDAY": re.compile("(MO|TU|WE|TH|FR|SA|SU)(,(MO|TU|WE|TH|FR|SA|SU))*"),
    "BYMONTHDAY": re.compile("-?[1-9][0-9]?(,-?[1-9][0-9]?)*"),
    "BYSETPOS": re.compile("-?[1-5](,-?[1-5])*"),
    "WKST": re.compile("MO|SU"),
}
"""What a rule of RFC 5545 may have. With the others nothing is said that reservations need, and there are
rules among them that never come true."""
OF_FREQUENCY = {
    "DAILY": {"INTERVAL", "COUNT", "UNTIL"},
    "WEEKLY": {"INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST"},
    "MONTHLY": {"INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYSETPOS"},
}
EXAMPLE = f"{EVERY_DAY}, {EVERY_WEEK} or a rule such as FREQ=WEEKLY;BYDAY=MO,FR"


def check_reservations(
    reservations: Sequence[Reservation], queues: Sequence[Queue], levels: Collection[str]
) -> None:
    if len(reservations) > MOST_RESERVATIONS:
        raise FieldError("reservations", f"has {len(reservations)} entries; {MOST_RESERVATIONS} are allowed")
    for position, one in enumerate(reservations):
        check_reservation(f"reservations[{position}]", one, queues, levels)
    check_distinct("reservations", "name", [one.name for one in reservations])


def check_reservation(field: str, one: Reservation, queues: Sequence[Queue], levels: Collection[str]) -> None:
    """`field` is where it is; empty: on its own."""
    at = f"{field}." if field else ""
    check_form(one, field)
    check_queue(f"{at}for.queue", one.beneficiary.queue, queues)
    if one.within and one.within not in levels:
        check_key(f"{at}within", one.within)
    try:
        check_apart(one, clock_time("from", one.begin))
    except CalendarError as problem:
        raise FieldError(f"{at}{problem.field}", problem.what) from None


def check_form(one: Reservation, field: str = "") -> None:
    """What is wrong with it whatever else the policy says, and whenever it is."""
    at = f"{field}." if field else ""
    if problem := name_problem(one.name):
        raise FieldError(f"{at}name", problem)
    check_beneficiary(f"{at}for", one.beneficiary)
    check_places(field, at, one)
    check_times(at, one)


def check_beneficiary(field: str, who: Beneficiary) -> None:
    said = [name for name in ("queue", "namespace", "group") if getattr(who, name)]
    if len(said) != 1:
        raise FieldError(field, "names one of queue, namespace and group")
    namespace, slash, name = who.group.partition("/")
    if who.group and not (namespace and slash and name):
        raise FieldError(
            f"{field}.group", f"{who.group[:80]!r} is not a namespace and a name, such as ml/train"
        )


def check_queue(field: str, queue: str, queues: Sequence[Queue]) -> None:
    if queue and (not queues or queue not in {DEFAULT_QUEUE, *(one.name for one in queues)}):
        raise FieldError(field, f"there is no queue {queue[:80]!r} in this policy")


def check_places(field: str, at: str, one: Reservation) -> None:
    if (one.devices is None) == (one.nodes is None):
        raise FieldError(field, "has devices or nodes, one of the two")
    if one.devices is not None:
        check_pattern(f"{at}devices.model", one.devices.model, "models")
        if not one.devices.resource:
            raise FieldError(f"{at}devices.resource", "is empty")
    check_selector(f"{at}nodes", one.nodes)
    if one.within and one.nodes is not None:
        raise FieldError(f"{at}within", "is for devices; the selector says which nodes these are")


def check_time_zone(at: str, name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        what = f"{name[:80]!r} is not a time zone such as UTC or Europe/Berlin"
        raise FieldError(f"{at}timeZone", what) from None


def check_times(at: str, one: Reservation) -> None:
    check_time_zone(at, one.time_zone)
    if milliseconds(one.lead_time) is None:
        raise FieldError(f"{at}leadTime", f"{one.lead_time!r} is not {FORM}")
    if one.release_after != NO_LIMIT and milliseconds(one.release_after) is None:
        raise FieldError(f"{at}releaseAfter", f"{one.release_after!r} is neither {NO_LIMIT} nor {FORM}")
    try:
        begin, end = clock_time("from", one.begin), clock_time("until", one.until)
        if end <= begin:
            raise CalendarError("until", f"{one.until} is not after {one.begin}")
        check_rule(one.every)
    except CalendarError as problem:
        raise FieldError(f"{at}{problem.field}", problem.what) from None


def check_rule(every: str) -> None:
    if not every or every in RULES:
        return
    said = dict[str, str]()
    for part in every.split(";"):
        name, _, value = part.partition("=")
        if name in said:
            raise CalendarError("every", f"says {name} twice")
        if name not in PARTS or PARTS[name].fullmatch(value) is None:
            raise CalendarError("every", f"{part[:40]!r} is not known here; write {EXAMPLE}")
        said[name] = value
    frequency = said.pop("FREQ", "")
    if not frequency:
        raise CalendarError("every", f"{every[:40]!r} has no FREQ; write {EXAMPLE}")
    if other := sorted(said.keys() - OF_FREQUENCY[frequency]):
        raise CalendarError("every", f"{other[0]} has no meaning here with FREQ={frequency}")
    if "COUNT" in said and "UNTIL" in said:
        raise CalendarError("every", "says COUNT and UNTIL; remove one of the two")
    if any(abs(int(day)) > 31 for day in said.get("BYMONTHDAY", "1").split(",")):
        raise CalendarError("every", f"BYMONTHDAY={said['BYMONTHDAY'][:20]} is no day of a month")


def check_apart(one: Reservation, begin: datetime) -> None:
    """Within the first year and a bit: in it all seasons come once."""
    first = begin.replace(tzinfo=UTC) - DAY
    try:
        spans = spans_between(one, first, first + LOOKED_AT)
    except (ValueError, OverflowError) as problem:
        raise CalendarError("every", f"cannot be read: {problem}") from None
    if not spans:
        raise CalendarError("every", f"never comes true in the {LOOKED_AT.days} days after {one.begin}")
    for (_, end), (start, _) in pairwise(spans):
        if end > start:
            raise CalendarError(
                "until", f"{one.until} is after it begins again; end it before, or begin later"
            )
