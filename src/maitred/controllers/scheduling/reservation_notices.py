"""Groups on nodes that are reserved for others are told, by an Event, that they will have to leave."""

import asyncio
import logging
import time

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.condition_writer import ACTION, Teller, WritePace
from maitred.kube.bodies import Regarding
from maitred.kube.events import Events
from maitred.model.plan import Plan
from maitred.model.reservations import ReservedNodes, WarnedUnit

log = logging.getLogger(__name__)

PER_SECOND, LARGEST_BURST, LONGEST_QUEUE = 20.0, 50.0, 1_000
WARNED = "ReservedForOthers"
Notice = tuple[str, str]
"""The unit, and the beginning that it is told of."""


class ReservationNotices:
    """Each is told once by whoever leads; who leads next tells it again, as nobody knows what was sent."""

    def __init__(self, teller: Teller | None, events: Events) -> None:
        """Without a teller nobody is told, as by a shadow."""
        self._teller, self._events = teller, events
        self._told: set[Notice] = set()
        self._queue: asyncio.Queue[tuple[Regarding, str, str]] = asyncio.Queue(LONGEST_QUEUE)
        self._pace = WritePace(PER_SECOND, LARGEST_BURST, time.monotonic())

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        """Who has its places now is told of when the rest of the Plan is known."""

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        found = {
            (one.unit, kept.begin): (kept, one)
            for kept in plan.reservations
            for one in kept.warned
            if not one.stays
        }
        new = found.keys() - self._told
        self._told &= found.keys()
        for notice in sorted(new):
            if self._tell(*found[notice]):
                self._told.add(notice)

    def _tell(self, kept: ReservedNodes, one: WarnedUnit) -> bool:
        log.warning("group %s is warned: its nodes are reserved (reservation %s)", one.unit, kept.name)
        if self._teller is None:
            return True
        if self._queue.full():
            return False
        namespace, _, name = one.pod.partition("/")
        pod = Regarding("v1", "Pod", name, namespace, one.uid)
        subject = self._teller.declared(one.unit) or pod
        once = f"{WARNED} {subject.uid} {kept.begin}"
        self._queue.put_nowait((subject, words_of(kept, one), once))
        return True

    async def run(self) -> None:
        while True:
            subject, words, once = await self._queue.get()
            await self._pace.take(1)
            await self._events.record(subject, WARNED, words, ACTION, "Warning", once)


def words_of(kept: ReservedNodes, one: WarnedUnit) -> str:
    """It names nobody: for whom the nodes are is told only to those whom it concerns."""
    return (
        f"nodes that it is on are reserved for others from {kept.begin} to {kept.until}; it started after "
        f"that was made, so it is evicted at {one.leaves} if it is there still: save its work, or let it end "
        f"before"
    )
