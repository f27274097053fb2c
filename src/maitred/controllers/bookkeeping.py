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

from maitred.cluster.news import Ends
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.scheduling.last_verdicts import LastVerdicts, first_category
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.billing.document import Usage
from maitred.kube.answers import Reason
from maitred.ledger.connections import LedgerError
from maitred.ledger.records import Arrival, Evicted, FailureNoted, Observation, OverrideNoted, VerdictChange
from maitred.ledger.store import Ledger
from maitred.ledger.writer_thread import LedgerWriter
from maitred.model.categories import CATEGORIES
from maitred.model.group import stated_priority
from maitred.model.history import NO_HISTORY, History
from maitred.model.memory import NO_MEMORY, HealthMemory
from maitred.model.overrides import NO_OVERRIDES, OverrideMemory
from maitred.model.plan import Eviction, GroupVerdict, KeptRoom, Plan
from maitred.model.policy import Policy, is_device
from maitred.model.priority import rank_of
from maitred.model.reservations import BEGUN, ReservedNodes

log = logging.getLogger(__name__)

SECONDS_BETWEEN_SIGHTS = 1.0


@dataclass(slots=True)
class Keeping:
    """Where the ledger is, and for how long it has details. It need not be there: nothing waits for it."""

    ledger: Ledger
    days: int
    told: str = ""
    """Why it could not be read, when that was last tried."""

    def clerk(self, writer: str) -> LedgerWriter:
        return LedgerWriter(self.ledger, writer, self.days, lambda: datetime.now(UTC))

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

    def __init__(
        self,
        mirror: Mirror,
        verdicts: LastVerdicts,
        ends: Ends,
        policy: Callable[[], Policy],
        clerk: LedgerWriter,
    ) -> None:
        """`ends`: of the pods of that mirror."""
        self._mirror, self._ends, self._policy, self._clerk = mirror, ends, policy, clerk
        self._verdicts = verdicts
        self._seen_version = -1
        self._rooms: tuple[KeptRoom, ...] = ()
        """What the last Plan keeps for members that are not there."""
        self._reserved: tuple[ReservedNodes, ...] = ()
        """And what it says is reserved now."""
        self._seen_kept: tuple[tuple[KeptRoom, ...], tuple[ReservedNodes, ...]] = ((), ())

    @property
    def dropped(self) -> int:
        """Records for which there was no room."""
        return self._clerk.dropped

    @property
    def is_failing(self) -> bool:
        """Whether the ledger cannot be written now."""
        return self._clerk.is_failing

    async def run(self) -> None:
        """Cycles are not enough: where no pod waits there are none, and yet pods start and end."""
        self._clerk.start()
        self._ends.take()  # what ended before the first sight is in no book
        self.failures(NO_MEMORY, self._mirror.state.memory)
        self.overrides(NO_OVERRIDES, self._mirror.state.overrides)
        try:
            while True:
                self._look()
                await asyncio.sleep(SECONDS_BETWEEN_SIGHTS)
        finally:
            await asyncio.to_thread(self._clerk.close)

    def _look(self) -> None:
        state, at = self._mirror.state, milliseconds()
        kept = self._rooms, self._reserved
        if state.version == self._seen_version and kept == self._seen_kept:
            self._clerk.hear(at)
            return
        ends, hopeless = self._ends.take(), self._hopeless()
        whose = self._mirror.scheduler
        self._clerk.show(Observation(at, state.snapshot(), self._policy(), ends, hopeless, whose, *kept))
        self._seen_version, self._seen_kept = state.version, kept

    def _hopeless(self) -> frozenset[str]:
        """Who would wait however the free devices lay."""
        return frozenset(one.group for one in self._verdicts if is_hopeless(one))

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        """Their members still wait, and can be asked for their labels."""
        self._note(seats, snapshot)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._rooms = tuple(room for room in plan.holds if room.devices)
        self._reserved = tuple(one for one in plan.reservations if one.state == BEGUN)
        self._note(plan, snapshot)

    def _note(self, plan: Plan, snapshot: Snapshot) -> None:
        at = milliseconds()
        arrived = [verdict for verdict in plan.decisions if self._verdicts.before(verdict.group) is None]
        if arrived:
            self._note_arrivals(arrived, snapshot, at)
        for verdict in plan.decisions:
            before, category = self._verdicts.before(verdict.group), first_category(verdict)
            if before is None or (before.verdict, first_category(before)) != (verdict.verdict, category):
                self._clerk.tell(VerdictChange(at, verdict.group, verdict.verdict, category))

    def evicted(self, evictions: Iterable[Eviction]) -> None:
        """These were made to go."""
        at = milliseconds()
        for eviction in evictions:
            self._clerk.tell(Evicted(at, eviction))

    def failures(self, before: HealthMemory, now: HealthMemory) -> None:
        """This is remembered of failures now. What an earlier leader did not come to tell is told again."""
        at, known = milliseconds(), set(before.incidents)
        for incident in now.incidents:
            if incident not in known:
                self._clerk.tell(FailureNoted(at, incident))

    def overrides(self, before: OverrideMemory, now: OverrideMemory) -> None:
        """These groups are lifted now. Of those that were before, the others were ended, or are over."""
        at = milliseconds()
        for override in now.overrides:
            if override not in before.overrides:
                self._clerk.tell(OverrideNoted(at, override))
        for override in before.overrides:
            if override not in now.overrides:
                self._clerk.tell(OverrideNoted(at, override, ended=True))

    def _note_arrivals(self, arrived: Iterable[GroupVerdict], snapshot: Snapshot, at: int) -> None:
        views = {view.group.key: view for view in snapshot.groups}
        for verdict in arrived:
            if verdict.group in views:
                self._clerk.tell(self._arrival(views[verdict.group], verdict, snapshot, at))

    def _arrival(self, view: GroupView, verdict: GroupVerdict, snapshot: Snapshot, at: int) -> Arrival:
        namespace = verdict.group.partition("/")[0]
        pods = self._mirror.waiting_by_group.get(verdict.group, ())
        labels = next((self._mirror.waiting[pod].metadata.labels for pod in pods), {})
        return Arrival(
            at=at,
            group=verdict.group,
            arrived=round(view.arrived * 1000) if math.isfinite(view.arrived) else at,
            members=verdict.members,
            quorum=verdict.quorum,
            priority=priority_of(view, snapshot),
            requests=largest_requests(view, snapshot, self._policy()),
            required=view.group.topology.required,
            labels={**snapshot.namespace_labels(namespace), **labels},
            payer=view.payer,
        )


def is_hopeless(verdict: GroupVerdict) -> bool:
    if verdict.verdict in ("Impossible", "Invalid"):
        return True
    return any(not CATEGORIES[blocker.category].about_room for blocker in verdict.blockers[:1])


def milliseconds() -> int:
    """Since 1970."""
    return time.time_ns() // 1_000_000


def priority_of(view: GroupView, snapshot: Snapshot) -> int:
    """Of the group, or else the highest that a member has."""
    group, classes = view.group, snapshot.priority_classes
    stated = stated_priority(group, classes)
    said = [(rank.priority, rank.class_name) for rank in view.ranks] if stated is None else [stated]
    ranks = [rank_of(priority, class_name, "", classes) for priority, class_name in said]
    return max((rank.priority for rank in ranks if rank is not None), default=0)


def largest_requests(view: GroupView, snapshot: Snapshot, policy: Policy) -> tuple[tuple[str, int], ...]:
    """Of its members that wait, the one with most devices."""
    kinds = {snapshot.shapes[shape].needs for shape in set(view.shapes.tolist())}

    def size(requests: tuple[tuple[str, int], ...]) -> tuple[int, tuple[tuple[str, int], ...]]:
        return sum(count for resource, count in requests if is_device(policy, resource)), requests

    return max((snapshot.needs[number].requests for number in kinds), key=size, default=())
