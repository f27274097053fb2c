"""The cycle: when something changed, decide on a frozen snapshot in a worker thread, and carry it out.

It is carried out in two parts. Once every group has had its turn the seats are final, and the binds are
handed to the binder. Then it is found out what is in the way of those who wait. With that the Plan is
complete, and the rest of it is carried out and told: nominations, evictions, verdicts.

At most one cycle runs at a time. Binds go out meanwhile, which is why the thread must not keep the
interpreter to itself.
"""

import asyncio
import logging
import math
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from maitred.cluster.news import News
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.owners.returns import Returns
from maitred.controllers.recording.recorder import DecisionRecorder
from maitred.controllers.scheduling.amending import as_told, of_those_present, users, with_receipts, without
from maitred.controllers.scheduling.binding import Order
from maitred.controllers.scheduling.claim_shares import by_user, share_of
from maitred.controllers.scheduling.claims import choices_for
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.seating import SeatingRecord
from maitred.controllers.scheduling.worklist import CycleSelection, Worklist
from maitred.decide.cycle import run
from maitred.decide.limits import enforces
from maitred.decide.scope import Scope
from maitred.decide.verdicts import Verdicts
from maitred.model.plan import Bind, ClaimAllocation, GroupVerdict, Plan
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from maitred.model.setting import NO_LIMIT

if TYPE_CHECKING:
    from maitred.controllers.scheduling.tracing import Tracing

log = logging.getLogger(__name__)

SHORTEST_PAUSE = 0.02
"""Between cycles: enough for the pods of a group that is being created to arrive together."""
SWITCH_SECONDS = 1e-4
"""How long the deciding thread may keep the interpreter while binds wait for it."""


class PlanListener(Protocol):
    """Who is told of every Plan, whether or not it is carried out."""

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None: ...


class PlanFollower(PlanListener, Protocol):
    """Who is also told of those who sit down, before they are bound and before the rest is known."""

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None: ...


class Sender(Protocol):
    def send(self, order: Order) -> None:
        """Bind these pods."""

    def explained(self, order: Order, verdict: GroupVerdict) -> None:
        """This is all that the cycle says of the group."""


class SchedulingLoop:
    def __init__(
        self,
        mirror: Mirror,
        verdicts: LastVerdicts,
        worklist: Worklist,
        policy: Callable[[], Policy],
        scheduler: str | None,
        actors: tuple[PlanListener, ...],
        tellers: tuple[PlanFollower, ...],
        returns: Returns | None,
        binder: Sender | None,
        metrics: Metrics,
        resync_seconds: float,
        recorder: DecisionRecorder | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """Without `binder`, `returns` and actors nothing is carried out: a shadow decides, and others are
        told. Tellers hear of a group when it is known what is in its way.
        """
        self._mirror = mirror
        self._verdicts = verdicts
        self._worklist = worklist
        self._policy = policy
        self._scheduler = scheduler
        self._actors = actors
        self._tellers = tellers
        self._returns = returns
        self._binder = binder
        self._metrics = metrics
        self._resync_seconds = resync_seconds
        self._recorder = recorder
        self._tracing = tracing
        self._resync_at = time.monotonic() + resync_seconds
        self._wake_at = math.inf
        self._is_due = True
        """Whether it is time to look at what queues use and spend, and at the limits of those that run, also
        where no group waits."""

    async def run(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        thread = ThreadPoolExecutor(1, "decide")
        try:
            await self._cycles(thread)
        finally:
            # A search that is under way is not waited for: what it finds will not be carried out.
            thread.shutdown(wait=False, cancel_futures=True)

    async def _cycles(self, thread: ThreadPoolExecutor) -> None:
        while True:
            self._note_the_hour(time.monotonic())
            took = await self._cycle(thread)
            await asyncio.sleep(max(SHORTEST_PAUSE, took))
            await self._until_woken()

    def _note_the_hour(self, now: float) -> None:
        """Everything is looked at now and then, and when time alone may have changed something."""
        if now >= min(self._resync_at, self._wake_at):
            self._worklist.look_at_everything()
            self._mirror.state.news.failed(bool(self._mirror.state.memory.scores))  # time may release lemons
            self._is_due, self._wake_at = True, math.inf
        if now >= self._resync_at:
            self._resync_at = now + self._resync_seconds

    async def _until_woken(self) -> None:
        rested_at = self._worklist.next_at()
        due = self._mirror.overlay.next_overdue()
        at = min(self._resync_at, self._wake_at, due, math.inf if rested_at is None else rested_at)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, at - time.monotonic())):
                await self._mirror.changed.wait()

    async def _cycle(self, thread: ThreadPoolExecutor) -> float:
        """Decide for those to which something happened. Returns how long that took."""
        mirror, started = self._mirror, time.monotonic()
        mirror.changed.clear()
        mirror.overlay.let_stay()
        if self._returns is not None:
            await self._returns.prepare()
        policy = self._policy()
        mirror.follow(policy.workloads)
        news = mirror.state.take_news()
        selection = self._worklist.select(news, mirror.waiting_by_group, started)
        is_due = self._is_due and (remembers_use(policy) or enforces(policy))
        if selection.empty and not (is_due or self._concerns_health(news) or self._concerns_holds(news)):
            return 0.0
        self._is_due = False
        snapshot, now = mirror.state.snapshot(), datetime.now(UTC)
        rotation = Rotation(policy.search.cycle_steps, selection.first)
        if self._recorder is not None:
            self._recorder.look(snapshot, policy, now, selection, rotation)
        scope = Scope(self._scheduler, selection, explained=selection.explained, rotation=rotation)
        in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
        verdicts, seats = await in_thread(partial(decided_seats, snapshot, policy, now, scope))
        decided = time.monotonic()
        orders = await self._hand_over(seats, snapshot, now)
        started += time.monotonic() - decided  # that was no time of the deciding thread
        plan = await in_thread(verdicts.plan)
        took = time.monotonic() - started
        if self._recorder is not None:
            self._recorder.decided(plan)
        self._worklist.decided(plan.decisions, selection, mirror.waiting_by_group)
        self._note_wake_time(plan, now)
        await self._complete(plan, selection, snapshot, took)
        if self._binder is not None:
            by_group = {verdict.group: verdict for verdict in plan.decisions}
            for order in orders:
                self._binder.explained(order, by_group[order.group])
        return took

    def _concerns_health(self, news: News) -> bool:
        """Whether something may have failed, or a group may be whole again, though no group is to be decided.
        Where nothing has failed this costs nothing."""
        open_ones = (one.group for one in self._mirror.state.memory.incidents if one.is_open)
        return news.health or any(group in news.groups for group in open_ones)

    def _concerns_holds(self, news: News) -> bool:
        """Whether a group that had a hold may be gone."""
        return any(one.group in news.groups for one in self._mirror.state.holds.holds)

    async def _complete(self, plan: Plan, selection: CycleSelection, snapshot: Snapshot, took: float) -> None:
        """Carry out what is left of the Plan when its binds have been handed over, and tell all of it."""
        plan = with_receipts(plan, selection)
        told = as_told(plan, selection)
        self._metrics.cycle(told, took)
        if self._tracing is not None:
            self._tracing.cycle(told, snapshot, took)
        if self._returns is not None:
            plan = without(plan, await self._returns.take(plan), self._mirror.waiting)
            told = as_told(plan, selection)
        for actor in self._actors:
            actor.decided(plan, snapshot, time.monotonic())
        self._verdicts.note(told.decisions)
        for teller in self._tellers:
            teller.decided(told, snapshot, time.monotonic())

    def _note_wake_time(self, plan: Plan, now: datetime) -> None:
        """A Plan may be about some groups only: what others wait for still stands."""
        if plan.wake_at is not None:
            wait = datetime.fromisoformat(plan.wake_at) - now
            self._wake_at = min(self._wake_at, time.monotonic() + max(0.0, wait.total_seconds()))

    async def _hand_over(self, seats: Plan, snapshot: Snapshot, now: datetime) -> list[Order]:
        """Those who sit down are bound from now on, whatever is yet to be said of others."""
        orders, binder = list[Order](), self._binder
        if binder is None:
            return orders
        away = self._mirror.away(verdict.group for verdict in seats.decisions)
        seats = of_those_present(seats, away, self._mirror.waiting)
        if not seats.binds:
            return orders
        self._verdicts.note(seats.decisions)
        for teller in self._tellers:
            teller.seating(seats, snapshot, time.monotonic())
        verdicts = {verdict.group: verdict for verdict in seats.decisions}
        chosen = {choice.claim: choice for choice in seats.volumes}
        reserved = by_user(seats.claims)
        for group, found in groupby(seats.binds, key=lambda bind: bind.group):
            binds = list(found)
            seating = SeatingRecord(now, len(binds), len(self._mirror.unseated(group)))
            waiting = self._mirror.waiting
            claims = share_of(users(binds, waiting), reserved) if reserved else ()
            if self._assume(binds, claims):
                volumes = choices_for((waiting[bind.pod] for bind in binds), chosen)
                orders.append(Order(verdicts[group], binds, seating, time.monotonic(), volumes, claims))
                binder.send(orders[-1])
            else:
                log.info("group %s: its places or members changed during the decision; deciding again", group)
                self._metrics.stale_groups.inc()
            await asyncio.sleep(0)  # the first groups are on their way while the last are prepared
        return orders

    def _assume(self, binds: list[Bind], claims: tuple[ClaimAllocation, ...]) -> bool:
        """Take the places of the whole group on the state as it is by now, or none of them."""
        mirror, taken = self._mirror, list[str]()
        changed_nodes = frozenset(mirror.state.news.nodes)
        for bind in binds:
            if not mirror.overlay.assume(bind.pod, bind.uid, bind.node):
                break
            taken.append(bind.pod)
        else:
            in_doubt = (bind.pod for bind in binds if bind.node in changed_nodes)
            fits = all(mirror.state.fits_where_it_is(pod) for pod in in_doubt)
            if fits and mirror.device_claims.lost(claims) is None:
                return True
        mirror.overlay.retract(taken)
        return False


def remembers_use(policy: Policy) -> bool:
    """Whether what queues use, or spend, is written down."""
    return policy.fair_share.half_life != NO_LIMIT or any(one.budget is not None for one in policy.queues)


def decided_seats(snapshot: Snapshot, policy: Policy, now: datetime, scope: Scope) -> tuple[Verdicts, Plan]:
    """Who takes seats, once all groups have had their turns. What is in the way of the others comes next."""
    verdicts = Verdicts(run(snapshot, policy, now, scope))
    return verdicts, verdicts.seats()
