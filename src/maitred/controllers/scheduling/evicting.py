"""Preemption carried out: places are promised first, then those who hold them are told to go.

A scheduler may die after any step, and the next one need not know. A promise that was not followed up is
decided again, a condition without a deletion is taken back by the disruption controller, and who was told to
go is seen to be leaving. So the order is: nominate every member; then, for those who leave together, say on
each pod why it must go, and make it go: by suspending its topmost owner where all pods of that leave, by
deactivating Kueue's Workload where it is Kueue's, otherwise by deleting it.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.receipts import victim_words
from maitred.explain.tenant_words import reader_of
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.wire import Condition, WatchedOwner
from maitred.kube.writes import Writer
from maitred.model.drain import MAINTENANCE
from maitred.model.membership import POD_GROUP
from maitred.model.plan import Bind, Eviction, EvictionCause, Plan
from maitred.model.pod import DEFAULT_SCHEDULER
from maitred.model.suspending import TopOwner
from maitred.model.suspension import Suspension

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 2.0
DISRUPTION_TARGET = "DisruptionTarget"
BY_PREEMPTION = "PreemptionByScheduler"
FOR_NOBODY: Mapping[EvictionCause, str] = {MAINTENANCE: "Maintenance", "Reservation": "Reservation"}
"""Causes of evictions for which no group is promised places, and the reason of the condition of pods."""
LONGEST_MESSAGE = 1024
NOT_ACCEPTED = (RefusalReason.INVALID, RefusalReason.FORBIDDEN)
"""An object may not be valid any more by a newer schema, and a role may be older than this program."""

T = TypeVar("T")
Outcome = Done | Refused | Unknown


@dataclass(slots=True)
class RoomOrder:
    """What one cycle has ordered to make room for one group, or to give up room that it no longer needs."""

    group: str
    places: dict[str, str]
    """Every member that is to have a place, and where; some were promised it before."""
    promises: Sequence[Bind]
    """Those to be written; one without a node takes an earlier one back."""
    evictions: Sequence[Eviction]
    cause: EvictionCause = "Preemption"
    """Of those for which no group is promised places: they leave because of a request to drain nodes, or a
    reservation, which is what `group` names then."""
    owners: dict[str, WatchedOwner] = field(default_factory=dict)
    """The controllers of the victims, while those are there to be asked."""
    tops: dict[str, TopOwner] = field(default_factory=dict)
    """The owners that are suspended to make victims leave."""
    pod_groups: dict[str, str] = field(default_factory=dict)
    """The names of the PodGroups of the victims that are in one."""
    kept: set[str] = field(default_factory=set)
    """Pods whose promise was written."""
    leaving: dict[str, str] = field(default_factory=dict)
    """Victims that are taken as leaving by this order and have not been made to, with the UID of each."""
    departed: list[Eviction] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[bool, str]:
        """Orders of one key are carried out one after the other."""
        return self.is_for_nobody, self.group

    @property
    def is_for_nobody(self) -> bool:
        """Whether no group waits for these very places."""
        return self.cause in FOR_NOBODY


class Evicter:
    def __init__(
        self,
        writer: Writer,
        suspensions: Suspensions,
        mirror: Mirror,
        in_flight: int,
        begun: Callable[[RoomOrder, bool], None],
        finished: Callable[[RoomOrder], None],
    ) -> None:
        """`begun` is told whether the order could be begun, which it cannot where things have changed."""
        self._writer = writer
        self._suspensions = suspensions
        self._mirror = mirror
        self._overlay = mirror.overlay
        self._in_flight = in_flight
        self._slots = asyncio.Semaphore(in_flight)
        self._begun = begun
        self._finished = finished
        self._queue: asyncio.Queue[RoomOrder] = asyncio.Queue()
        self._last: dict[tuple[bool, str], asyncio.Task[None]] = {}
        self._unfinished = 0

    @property
    def unfinished(self) -> int:
        """Orders that are not settled."""
        return self._unfinished

    # -- ordering --------------------------------------------------------------------------------------

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        """Order what the Plan wants of the members and the victims of each group that was decided."""
        nominations, evictions = defaultdict[str, list[Bind]](list), defaultdict[str, list[Eviction]](list)
        for bind in plan.nominations:
            nominations[bind.group].append(bind)
        for_nobody = defaultdict[str, list[Eviction]](list)
        for eviction in plan.evictions:
            cause = for_nobody if eviction.cause in FOR_NOBODY else evictions
            cause[eviction.preemptor].append(eviction)
        for request, theirs in for_nobody.items():
            self._send(RoomOrder(request, {}, (), theirs, theirs[0].cause))
        being_bound = {bind.pod for bind in plan.binds}
        for verdict in plan.decisions:
            group = verdict.group
            if group in nominations or self._overlay.promised(group):
                self._order(group, nominations[group], evictions[group], being_bound)

    def _order(
        self, group: str, nominations: list[Bind], evictions: list[Eviction], being_bound: set[str]
    ) -> None:
        promised, waiting = self._overlay.promised(group), self._mirror.waiting
        places = {bind.pod: bind.node for bind in nominations}
        void = sorted(promised.keys() - places.keys() - being_bound)
        promises = [bind for bind in nominations if promised.get(bind.pod) != bind.node]
        promises += [Bind(pod, waiting[pod].metadata.uid, "", group) for pod in void]
        if not promises and not evictions:
            return
        self._send(RoomOrder(group, places, promises, evictions))

    def _send(self, order: RoomOrder) -> None:
        if begun := self._assume(order):
            self._unfinished += 1
            self._queue.put_nowait(order)
        else:
            self._retract(order)
        self._begun(order, begun)

    def _assume(self, order: RoomOrder) -> bool:
        """Take all of it as done, on the cluster as it is by now; False if it is not as it was decided on."""
        if not all(self._overlay.promise(bind.pod, bind.uid, bind.node) for bind in order.promises):
            return False
        if order.evictions and not self._is_wanted(order):
            return False
        return all(self._dismiss(order, eviction) for eviction in order.evictions)

    def _dismiss(self, order: RoomOrder, eviction: Eviction) -> bool:
        owner = self._overlay.owner(eviction.pod)
        if owner is not None:
            order.owners[eviction.pod] = owner
        if is_suspended(eviction):
            top = self._mirror.state.top_owner(eviction.pod)
            if top is None or bool(top.workload) != (eviction.receipt.departure.by == "deactivate"):
                return False
            order.tops[eviction.pod] = top
        group = self._mirror.state.group_of(eviction.pod)
        if group is not None and group.source == POD_GROUP:
            order.pod_groups[eviction.pod] = parts(group.key)[1]
        if not self._overlay.dismiss(eviction.pod, eviction.uid):
            return False
        order.leaving[eviction.pod] = eviction.uid
        return True

    def _retract(self, order: RoomOrder) -> None:
        """What was not written is again as the API server has it."""
        for bind in order.promises:
            if bind.pod not in order.kept:
                self._overlay.retract_promise(bind.pod, bind.node)
        for pod, uid in order.leaving.items():
            self._overlay.retract_dismissal(pod, uid)
        self._mirror.changed.set()

    # -- carrying out ----------------------------------------------------------------------------------

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                order = await self._queue.get()
                task = tasks.create_task(self._carry_out(order, self._last.get(order.key)))
                self._last[order.key] = task

    async def _carry_out(self, order: RoomOrder, before: asyncio.Task[None] | None) -> None:
        """The orders of a group one after the other, so that what was decided last is written last."""
        if before is not None:
            await asyncio.wait([before])
        await self._each(order.promises, partial(self._nominate, order))
        await self._each(batches(order), partial(self._remove, order))
        if order.failures or order.leaving:
            self._retract(order)
        if self._last.get(order.key) is asyncio.current_task():
            del self._last[order.key]
        self._unfinished -= 1
        self._finished(order)

    async def _each(self, items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> None:
        """Some at a time, each to its end, so that the first go before the last are told why."""
        queue = iter(items)

        async def take() -> None:
            for item in queue:
                await work(item)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(self._in_flight, len(items))):
                tasks.create_task(take())

    def _is_wanted(self, order: RoomOrder) -> bool:
        """Whether the group still waits for these very places: cycles go on while others are told to go."""
        if order.is_for_nobody:
            return not order.failures
        return not order.failures and self._overlay.promised(order.group) == order.places

    async def _nominate(self, order: RoomOrder, bind: Bind) -> None:
        async with self._slots:
            if self._overlay.promised(order.group).get(bind.pod, "") != bind.node:
                return  # by now it is bound, or it is gone
            outcome = await self._writer.nominate(*parts(bind.pod), bind.uid, bind.node)
        if isinstance(outcome, Done) or (not bind.node and is_gone(outcome)):
            order.kept.add(bind.pod)
        else:
            order.failures.append(f"nomination of {bind.pod} to {bind.node or 'no node'}: {said(outcome)}")

    async def _remove(self, order: RoomOrder, batch: Sequence[Eviction]) -> None:
        await self._each(batch, partial(self._mark, order))
        if is_suspended(batch[0]):
            what = f"suspension of {order.tops[batch[0].pod].name}"
            write = partial(self._suspend, order, batch)
            if not await self._depart(order, batch, what, write, refusable=True):
                await self._each(batch, partial(self._delete, order))
            return
        await self._each(batch, partial(self._delete, order))

    async def _mark(self, order: RoomOrder, eviction: Eviction) -> None:
        """By this condition a failure policy of a Job knows that it is no failure of the pod."""
        words = victim_words(eviction, reader_of(eviction.pod))[:LONGEST_MESSAGE]
        reason = FOR_NOBODY.get(order.cause, BY_PREEMPTION)
        told = Condition(DISRUPTION_TARGET, "True", reason, words, datetime.now(UTC))
        async with self._slots:
            if not self._is_wanted(order):
                return
            outcome = await self._writer.patch_pod_condition(*parts(eviction.pod), eviction.uid, told)
        if not isinstance(outcome, Done) and not is_gone(outcome):
            order.failures.append(f"condition of {eviction.pod}: {said(outcome)}")

    async def _delete(self, order: RoomOrder, eviction: Eviction) -> None:
        """With less time to leave than it asks for, where it asks for more than the policy gives."""
        grace = self._overlay.shorter_grace(eviction.pod)
        write = partial(self._writer.delete_pod, *parts(eviction.pod), eviction.uid, grace)
        await self._depart(order, [eviction], f"deletion of {eviction.pod}", write)

    async def _suspend(self, order: RoomOrder, batch: Sequence[Eviction]) -> Outcome:
        """Who has outstayed an eviction before is deleted as well: a user may have an owner that its
        controller does not stop, or may resume it time and again."""
        outcome = await self._suspensions.suspend(self._record(order, batch))
        for eviction in batch if isinstance(outcome, Done) else ():
            if self._overlay.has_outstayed(eviction.pod):
                grace = self._overlay.shorter_grace(eviction.pod)
                outcome = await self._writer.delete_pod(*parts(eviction.pod), eviction.uid, grace)
                if not isinstance(outcome, Done):
                    return outcome
        return outcome

    def _record(self, order: RoomOrder, batch: Sequence[Eviction]) -> Suspension:
        top, group, receipt = order.tops[batch[0].pod], batch[0].group, batch[0].receipt
        pods = {eviction.pod for eviction in batch}.union(self._overlay.pods_below(top.name, top.uid))
        named = {order.pod_groups.get(eviction.pod, "") for eviction in batch}
        return Suspension(
            key=top.name.key,
            kind=top.name.kind,
            uid=top.uid,
            workload=top.workload,
            workload_uid=top.workload_uid,
            by=self._suspensions.scheduler,
            group=group or top.name.key,
            preemptor=order.group,
            at=datetime.now(UTC),
            priority=receipt.priority,
            preemptor_priority=receipt.preemptor_priority,
            members=len(pods),
            pod_group=named.pop() if len(named) == 1 else "",
            scheduler_name=self._mirror.state.scheduler_of(batch[0].pod) or DEFAULT_SCHEDULER,
            cause=batch[0].cause,
        )

    async def _depart(
        self,
        order: RoomOrder,
        who: Sequence[Eviction],
        what: str,
        write: Callable[[], Awaitable[Outcome]],
        refusable: bool = False,
    ) -> bool:
        """Until we know: the same write once more does no harm, even if the first one still lands. False
        where the API server does not accept it, and there is another way."""
        while True:
            async with self._slots:
                if not self._is_wanted(order):
                    return True
                outcome = await write()
            if isinstance(outcome, Done):
                for eviction in who:
                    order.departed.append(eviction)
                    order.leaving.pop(eviction.pod, None)
                return True
            if isinstance(outcome, Refused) and refusable and outcome.why in NOT_ACCEPTED:
                log.warning("%s was refused, so its pods are deleted instead: %s", what, said(outcome))
                return False
            if isinstance(outcome, Refused):
                order.failures.append(f"{what}: {said(outcome)}")
                return True
            log.warning("eviction, %s: outcome unknown: %s", what, outcome.message)
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)


def batches(order: RoomOrder) -> list[list[Eviction]]:
    """Who leaves at one stroke: the pods of an owner that is suspended, else those that break together."""
    found = defaultdict[tuple[bool, str], list[Eviction]](list)
    for eviction in order.evictions:
        by_owner = is_suspended(eviction)
        key = str(order.tops[eviction.pod].name) if by_owner else eviction.receipt.unit
        found[by_owner, key].append(eviction)
    return list(found.values())


def is_suspended(eviction: Eviction) -> bool:
    """Whether its owner is, by its own field or by Kueue."""
    return eviction.receipt.departure.by != "delete"


def is_gone(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and outcome.why in (RefusalReason.GONE, RefusalReason.REPLACED)


def said(outcome: Refused | Unknown) -> str:
    return f"{outcome.why}: {outcome.message}" if isinstance(outcome, Refused) else outcome.message


def parts(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
