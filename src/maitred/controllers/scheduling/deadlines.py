"""Deadlines that can hardly be kept: people are told once, by an Event on the group or on its owner, and in
numbers.

What a forecast would say takes too long for every cycle. So it is told when it is certain: once the latest
start of a group has passed, or would pass before the group may start. The Plan wakes the scheduler then.
"""

import asyncio
import logging
import time

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.condition_writer import ACTION, Teller, WritePace
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.bodies import Regarding
from maitred.kube.events import Events
from maitred.model.plan import DueGroup, Plan

log = logging.getLogger(__name__)

PER_SECOND, LARGEST_BURST, LONGEST_QUEUE = 20.0, 50.0, 1_000
AT_RISK = "DeadlineAtRisk"


class DeadlineNotices:
    """Without a teller it only counts, as a shadow does."""

    def __init__(self, mirror: Mirror, teller: Teller | None, events: Events) -> None:
        self._mirror, self._teller, self._events = mirror, teller, events
        self._at_risk: dict[str, DueGroup] = {}
        self._queue: asyncio.Queue[tuple[Regarding, DueGroup]] = asyncio.Queue(LONGEST_QUEUE)
        self._pace = WritePace(PER_SECOND, LARGEST_BURST, time.monotonic())

    def at_risk(self) -> int:
        """Of those who wait."""
        return len(self._at_risk.keys() & self._mirror.waiting_by_group.keys())

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        """Who has its places now is told of when the rest of the Plan is known."""

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        found = {one.group: one for one in plan.due if one.at_risk}
        known, waiting = self._at_risk, self._mirror.waiting_by_group
        looked_at = {verdict.group for verdict in plan.decisions}
        kept = {group: one for group, one in known.items() if group in waiting and group not in looked_at}
        self._at_risk = kept | found
        for group, one in found.items():
            before = known.get(group)
            if before is None or before.deadline != one.deadline:
                self._tell(one)

    def _tell(self, due: DueGroup) -> None:
        log.warning("group %s: %s", due.group, words_of(due))
        subject = None if self._teller is None else self._teller.subject(due.group)
        if subject is not None and not self._queue.full():
            self._queue.put_nowait((subject, due))

    async def run(self) -> None:
        while True:
            subject, due = await self._queue.get()
            await self._pace.take(1)
            once = f"{AT_RISK} {subject.uid} {due.deadline}"
            await self._events.record(subject, AT_RISK, words_of(due), ACTION, "Warning", once)


def words_of(due: DueGroup) -> str:
    if due.latest_start is None:
        return f"it must be done by {due.deadline}, and has not started"
    takes = f"takes {due.runs_for} by {due.said}"
    return (
        f"it must be done by {due.deadline} and {takes}, so it must start by {due.latest_start}; that is not "
        "possible any more. maitred why says when it is expected to start, and what would help"
    )
