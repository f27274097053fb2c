"""Booked starts, by queue: how many there are, how many were kept, and what broke the others."""

from collections import Counter
from collections.abc import Collection, Iterator

from maitred.explain.queues.answer import BrokenStart, QueueBookings
from maitred.explain.situation import Situation
from maitred.model.words import moment


def queue_bookings(situation: Situation, told: Collection[str]) -> Iterator[QueueBookings]:
    """`told`: the queues to tell of, in order. Groups that are in none come first."""
    memory, policy = situation.snapshot.bookings, situation.policy
    standing = Counter(one.queue for one in memory.bookings)
    over = {one.queue: one for one in memory.tallies}
    most = {"": policy.bookings, **{queue.name: queue.bookings for queue in policy.queues}}
    for queue in ("", *told):
        tally, may = over.get(queue), most.get(queue, 0)
        if may or standing[queue] or tally is not None:
            kept, broken = (0, 0) if tally is None else (tally.kept, tally.broken)
            yield QueueBookings(queue, may, standing[queue], kept, broken)


def broken_starts(situation: Situation, namespaces: Collection[str] | None) -> Iterator[BrokenStart]:
    """`namespaces`: only of groups in these; None for all."""
    for one in situation.snapshot.bookings.ended:
        if not one.kept and (namespaces is None or one.group.partition("/")[0] in namespaces):
            yield BrokenStart(one.group, one.queue, moment(int(one.at.timestamp())), one.cause, one.who)
