"""Booked starts: promises that a group starts by a time at the latest, which yield to no priority.

They are kept in one object of maitred's own namespace, where no tenant can write: a ConfigMap with the label
`maitred.dev/record: bookings`. A decision reads it like any other object, and its Plan has what is to be
remembered from now on: which promises there are, what became of the last that are over, and how many were
kept.
"""

from typing import Annotated, Literal

import msgspec

from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp

BOOKINGS = "maitred-bookings"
MOST_BOOKINGS, MOST_NODES, MOST_PLACES = 200, 10_000, 12_000
"""In all; the nodes of one booking; the nodes of all of them."""
MOST_ENDED, MOST_QUEUES = 100, 2_000
LONGEST_WORDS = 300
UNREAD = "booked starts (maitred-bookings) cannot be read, so none of them counts: {}"

BreakCause = Literal[
    "", "capacity", "healing", "override", "foreign", "unkept", "policy", "queue", "late", "others"
]
"""Why a promise was not kept: its nodes are gone, closed, or have less room; a group that hardware has failed
under took the places; somebody lifted another group past it; another scheduler put pods there; pods are still
there whose end has passed; the policy is another one; its queue has too little left by now; there were
places, but the group did not get them in time; or anything else."""
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Total = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000_000)]
Words = Annotated[str, msgspec.Meta(max_length=LONGEST_WORDS)]


class Booking(Lean, frozen=True, omit_defaults=False):
    group: Name
    """As it is decided,"""
    source: tuple[Name, Name, Name]
    """and as the state knows it: what it comes from, its key, the UID of its owner."""
    queue: Name
    """Whose cap it counts for; empty for groups that are in none."""
    made: Timestamp
    newest: Timestamp
    """When the last of its members was created: what is younger is not what was booked for."""
    start_by: Timestamp
    """What the group asked for."""
    at: Timestamp
    """When it starts at the latest: what is promised."""
    ends: Timestamp | None
    """When it ends by its limit if it starts then."""
    nodes: Annotated[tuple[tuple[Name, Count], ...], msgspec.Meta(max_length=MOST_NODES)]
    """How many of its members have places on each."""


class EndedBooking(Lean, frozen=True, omit_defaults=False):
    group: Name
    queue: Name
    made: Timestamp
    at: Timestamp
    over: Timestamp
    """When it was kept, or was found to be broken."""
    kept: bool
    cause: BreakCause = ""
    who: Words = ""
    """Who or what broke it, for people."""


class BookingTally(Lean, frozen=True, omit_defaults=False):
    queue: Name
    kept: Total = 0
    broken: Total = 0


class BookingMemory(Lean, frozen=True, omit_defaults=False):
    policy: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """A digest of the policy, while there are bookings: where it is another one, that may break them."""
    bookings: Annotated[tuple[Booking, ...], msgspec.Meta(max_length=MOST_BOOKINGS)] = ()
    """In the order in which they were made."""
    ended: Annotated[tuple[EndedBooking, ...], msgspec.Meta(max_length=MOST_ENDED)] = ()
    """The last that were kept or broken."""
    tallies: Annotated[tuple[BookingTally, ...], msgspec.Meta(max_length=MOST_QUEUES)] = ()
    """By queue, how many were."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NO_BOOKINGS = BookingMemory()


def bookings_of(kept: MemoryObject | None) -> tuple[BookingMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, BookingMemory, NO_BOOKINGS, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: BookingMemory) -> str:
    if len({one.group for one in found.bookings}) < len(found.bookings):
        return "it has a group twice"
    if len({one.queue for one in found.tallies}) < len(found.tallies):
        return "it has a queue twice"
    return ""


def tallied(memory: BookingMemory, ended: tuple[EndedBooking, ...]) -> tuple[BookingTally, ...]:
    """With those that are over by now. Beyond a great many queues nobody is counted any more."""
    known = {one.queue: one for one in memory.tallies}
    for one in ended:
        had = known.get(one.queue, BookingTally(one.queue))
        known[one.queue] = BookingTally(one.queue, had.kept + one.kept, had.broken + (not one.kept))
    return tuple(known[queue] for queue in sorted(known))[:MOST_QUEUES]
