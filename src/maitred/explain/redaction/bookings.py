"""Booked starts: where places are kept, and until when, everybody may know. For whom, and what became of it,
is told to its own namespace; who broke one may be in another."""

from collections.abc import Callable

import msgspec

from maitred.explain.redaction.aliases import Aliases
from maitred.explain.redaction.reports import ReportFields
from maitred.model.booking import Booking, BookingMemory, BreakCause, EndedBooking

OF_THE_CLUSTER: tuple[BreakCause, ...] = ("", "capacity", "policy", "queue", "late")
"""What breaks a booking without anybody else having a part in it."""
SOMEBODY = "not told: it may be in another namespace"


def bookings_told(
    memory: BookingMemory, names: Aliases, reports: ReportFields, told: Callable[[str], str]
) -> BookingMemory:
    """`told`: the names of queues, or what is told instead."""

    def standing(one: Booking) -> Booking:
        if names.is_own(one.group):
            return one
        return msgspec.structs.replace(
            one,
            group=names.key(one.group),
            source=reports.source(one.source),
            queue=one.queue and told(one.queue),
        )

    def ended(one: EndedBooking) -> EndedBooking:
        return one if one.cause in OF_THE_CLUSTER else msgspec.structs.replace(one, who=SOMEBODY)

    return BookingMemory(
        policy=memory.policy,
        bookings=tuple(map(standing, memory.bookings)),
        ended=tuple(ended(one) for one in memory.ended if names.is_own(one.group)),
        tallies=tuple(
            msgspec.structs.replace(one, queue=one.queue and told(one.queue)) for one in memory.tallies
        ),
    )
