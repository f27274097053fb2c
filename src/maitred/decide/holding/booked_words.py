"""What groups are told of booked starts: those that have one, and those that asked for one in vain."""

from collections.abc import Mapping

from maitred.decide.blockers import NAMES_SHOWN, names_shown
from maitred.decide.deadlines import said
from maitred.decide.holding.booking import NotBooked
from maitred.model.booking import Booking, BreakCause, EndedBooking
from maitred.model.plan import Blocker, Detail
from maitred.model.words import moment

WHY_BROKEN: Mapping[BreakCause, str] = {
    "capacity": "its nodes were lost",
    "healing": "hardware failed under others",
    "override": "somebody lifted another group past it",
    "foreign": "another scheduler took its places",
    "unkept": "pods stayed for longer than they may",
    "policy": "the policy was changed",
    "queue": "its queue has too little left",
    "late": "it did not get its places in time",
    "others": "its places will not do any more",
}


def with_booking(
    blockers: tuple[Blocker, ...], booking: Booking, broken: EndedBooking | None
) -> tuple[Blocker, ...]:
    first, *others = blockers
    nodes = [node for node, _ in booking.nodes]
    at = moment(int(booking.at.timestamp()))
    detail: Detail = {"startsBy": at, "on": nodes[:NAMES_SHOWN], **_detail_of(broken)}
    words = f"; its start is booked: it starts at {at} at the latest, on {names_shown(nodes)}"
    message = first.message + words + _words_of(broken)
    return (Blocker(first.category, message, {**first.detail, "booked": detail}), *others)


def without_booking(
    blockers: tuple[Blocker, ...], wanted: int, why: NotBooked | None, broken: EndedBooking | None
) -> tuple[Blocker, ...]:
    """`wanted`: the time by which it asks to start."""
    first, *others = blockers
    detail: Detail = {"wanted": said(wanted), **_detail_of(broken)}
    words = f"; its start by {said(wanted)} is not booked"
    if why is not None:
        words += f": {why.words}"
        detail |= {} if why.earliest is None else {"earliest": said(why.earliest)}
    message = first.message + words + _words_of(broken)
    return (Blocker(first.category, message, {**first.detail, "notBooked": detail}), *others)


def _words_of(broken: EndedBooking | None) -> str:
    if broken is None:
        return ""
    at = moment(int(broken.at.timestamp()))
    return f". It was booked for {at} before, and that is broken: {WHY_BROKEN[broken.cause]} ({broken.who})"


def _detail_of(broken: EndedBooking | None) -> Detail:
    if broken is None:
        return {}
    return {"broken": {"at": moment(int(broken.at.timestamp())), "cause": broken.cause, "who": broken.who}}
