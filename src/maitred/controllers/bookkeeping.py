"""What happens, as plain records for the ledger: noticed on the event loop, written down by its clerk.

Here only what changed is looked at. Everything that takes time is the clerk's, in a thread of its own.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.billing.document import Usage
from maitred.kube.answers import Reason
from maitred.ledger.clerk import Clerk
from maitred.ledger.connections import LedgerError
from maitred.ledger.records import Arrival, Evicted, Sight, VerdictChange
from maitred.ledger.store import Ledger
from maitred.model.categories import CATEGORIES, Category
from maitred.model.history import NO_HISTORY, History
from maitred.model.plan import Eviction, GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy, is_device
from maitred.model.priority import rank_of

log = logging.getLogger(__name__)

SECONDS_BETWEEN_SIGHTS = 1.0


@dataclass(slots=True)
class Keeping:
    """Where the ledger is, and for how long it has details. It need not be there: nothing waits for it."""

    ledger: Ledger
    days: int
    told: str = ""
    """Why it could not be read, when that was last tried."""

    def clerk(self, writer: str) -> Clerk:
        return Clerk(self.ledger, writer, self.days, lambda: datetime.now(UTC))

    def history(self, now: datetime, namespaces: Collection[str] | None) -> History:
        """Answers can do without it, and say so. The log says it once, however many ask."""
        try:
            found = self.ledger.history(now, namespaces)
        except LedgerError as error:
            if self.told != str(error):
                log.warning("the ledger cannot be read, so answers have no history: %s", error)
            self.told = str(error)
            return NO_HISTORY
        self.told = ""
        return found

    def usage(self, first_day: int, end_day: int) -> Usage:
        try:
            return self.ledger.usage(first_day, end_day)
        except LedgerError as error:
            raise RefusedError(Reason.NO_LEDGER, str(error)) from None


class Bookkeeper:
    """A listener of the scheduling loop, for one term."""

    def __init__(self, mirror: Mirror, policy: Callable[[], Policy], clerk: Clerk) -> None:
        self._mirror, self._policy, self._clerk = mirror, policy, clerk
        self._verdicts: dict[str, tuple[Verdict, Category | Literal[""]]] = {}
        self._seen_version = -1

    @property
    def dropped(self) -> int:
        """Records for which there was no room."""
        return self._clerk.dropped

    @property
    def is_failing(self) -> bool:
        """Whether the ledger cannot be written now."""
        return self._clerk.is_failing

    async def run(self) -> None:
        """Cycles are not enough: where nobody waits there are none, and yet pods start and end."""
        self._clerk.start()
        self._mirror.state.ends = []
        try:
            while True:
                self._look()
                await asyncio.sleep(SECONDS_BETWEEN_SIGHTS)
        finally:
            self._mirror.state.ends = None
            await asyncio.to_thread(self._clerk.close)

    def _look(self) -> None:
        state, at = self._mirror.state, milliseconds()
        if state.version == self._seen_version:
            self._clerk.hear(at)
            return
        ends, state.ends = state.ends or (), []
        self._clerk.show(Sight(at, state.snapshot(), self._policy(), tuple(ends), self._hopeless()))
        self._seen_version = state.version

    def _hopeless(self) -> frozenset[str]:
        """Who would wait however the free devices lay."""
        return frozenset(
            group
            for group, (verdict, category) in self._verdicts.items()
            if verdict in ("Impossible", "Invalid") or (category and not CATEGORIES[category].about_room)
        )

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        """Their members still wait, and can be asked for their labels."""
        self.decided(seats, snapshot, now)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        at, known, waiting = milliseconds(), self._verdicts, self._mirror.parties
        if any(verdict.group not in known for verdict in plan.groups):
            self._note_arrivals(plan, snapshot, at)
        for verdict in plan.groups:
            head = (verdict.verdict, verdict.blockers[0].category if verdict.blockers else "")
            if known.get(verdict.group) != head:
                known[verdict.group] = head
                self._clerk.tell(VerdictChange(at, verdict.group, verdict.verdict, head[1]))
        self._verdicts = {group: head for group, head in known.items() if group in waiting}

    def evicted(self, evictions: Iterable[Eviction]) -> None:
        """These were made to go."""
        at = milliseconds()
        for eviction in evictions:
            self._clerk.tell(Evicted(at, eviction))

    def _note_arrivals(self, plan: Plan, snapshot: Snapshot, at: int) -> None:
        views = {view.group.key: view for view in snapshot.groups}
        for verdict in plan.groups:
            if verdict.group not in self._verdicts and verdict.group in views:
                self._clerk.tell(self._arrival(views[verdict.group], verdict, snapshot, at))

    def _arrival(self, view: GroupView, verdict: GroupVerdict, snapshot: Snapshot, at: int) -> Arrival:
        namespace = verdict.group.partition("/")[0]
        pods = self._mirror.parties.get(verdict.group, ())
        labels = next((self._mirror.waiting[pod].metadata.labels for pod in pods), {})
        return Arrival(
            at=at,
            group=verdict.group,
            arrived=round(view.created * 1000) if math.isfinite(view.created) else at,
            members=verdict.members,
            quorum=verdict.quorum,
            priority=priority_of(view, snapshot),
            requests=largest_requests(view, snapshot, self._policy()),
            required=view.group.topology.required,
            labels={**snapshot.namespace_labels(namespace), **labels},
        )


def milliseconds() -> int:
    """Since 1970."""
    return time.time_ns() // 1_000_000


def priority_of(view: GroupView, snapshot: Snapshot) -> int:
    """Of the group, or else the highest that a member has."""
    group, classes = view.group, snapshot.priority_classes
    said = [(group.priority, group.priority_class_name)]
    if group.priority is None and not group.priority_class_name:
        said = [(rank.priority, rank.class_name) for rank in view.ranks]
    ranks = [rank_of(priority, class_name, "", classes) for priority, class_name in said]
    return max((rank.priority for rank in ranks if rank is not None), default=0)


def largest_requests(view: GroupView, snapshot: Snapshot, policy: Policy) -> tuple[tuple[str, int], ...]:
    """Of its members that wait, the one with most devices."""
    kinds = {snapshot.shapes[shape].needs for shape in set(view.shapes.tolist())}

    def size(requests: tuple[tuple[str, int], ...]) -> tuple[int, tuple[tuple[str, int], ...]]:
        return sum(count for resource, count in requests if is_device(policy, resource)), requests

    return max((snapshot.needs[number].requests for number in kinds), key=size, default=())
