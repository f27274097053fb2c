"""One term of a scheduler: from a fresh look at the cluster to the moment it may not write any more.

Everything it knows is read within the term. A scheduler that led before, or another that did, has left what
it was doing in the API, and that is where a term begins.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from maitred.cluster.news import Ends
from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.orders import AnyOrder, OrderOutcome, OverrideOrder
from maitred.controllers.bookkeeping import Bookkeeper, Keeping
from maitred.controllers.healing.part import HealingPart
from maitred.controllers.health import ProcessHealth
from maitred.controllers.holds import bookings_part, holds_part
from maitred.controllers.limits import LimitPart
from maitred.controllers.maintenance.part import MaintenancePart
from maitred.controllers.overrides import OverridesPart
from maitred.controllers.owners.returns import Returns
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.policy import PolicyKeeper
from maitred.controllers.provisioning import ProvisioningPart
from maitred.controllers.recording.change_lines import ChangeLines
from maitred.controllers.recording.recorder import DecisionRecorder
from maitred.controllers.recording.ring import Ring
from maitred.controllers.reservations import ReservationsPart
from maitred.controllers.scheduling.allocating import DevicePreparer
from maitred.controllers.scheduling.binding import Binder, Order
from maitred.controllers.scheduling.capacity_gauges import CapacityGauges
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.contests import DeviceContests
from maitred.controllers.scheduling.deadlines import DeadlineNotices
from maitred.controllers.scheduling.evicting import Evicter, RoomOrder
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.loop import PlanFollower, PlanListener, SchedulingLoop
from maitred.controllers.scheduling.metrics import Metrics, Now
from maitred.controllers.scheduling.mirror import (
    Mirror,
    MirrorFeed,
    feed_claims,
    feed_composites,
    feed_groups,
    feed_owners,
    feed_plain,
    feed_pods,
    feed_workloads,
)
from maitred.controllers.scheduling.notices import RENEW_SECONDS, Notices
from maitred.controllers.scheduling.receipts import Receipts
from maitred.controllers.scheduling.reclaiming import ClaimRepair
from maitred.controllers.scheduling.repair import GangRepair
from maitred.controllers.scheduling.report import Report
from maitred.controllers.scheduling.reservation_notices import ReservationNotices
from maitred.controllers.scheduling.worklist import Worklist
from maitred.controllers.usage import MemoryPart, budgets_part, usage_part
from maitred.explain.situation import Situation
from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.client import Client
from maitred.kube.discovery import Served
from maitred.kube.events import Events
from maitred.kube.permit import Permit
from maitred.kube.reflector import Reflector
from maitred.kube.wire import WATCHED_OWNERS, WatchedClaim, WatchedComposite, WatchedGroup, WatchedPod
from maitred.kube.writes import Writer
from maitred.model.devices.claims import ResourceClaim
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.objects import Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.plan import Blocker, GroupVerdict
from maitred.model.pod import Pod
from maitred.model.provisioning import ProvisioningRequest
from maitred.model.suspending import OWNERS

if TYPE_CHECKING:
    from maitred.controllers.scheduling.tracing import Tracing

log = logging.getLogger(__name__)

DRAIN_SECONDS = 5.0
"""Of the ten in which a process that is told to end has ended."""


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """How a scheduler goes about it; what it decides is the Policy's business."""

    scheduler: str | None = "maitred"
    """The pods that are ours name this; None for all pods, which only a shadow may have."""
    shadow: bool = False
    namespace: str = "maitred-system"
    """Where the Lease is, and what maitred remembers."""
    complete_within_seconds: float = 60.0
    resync_seconds: float = 300.0
    binds_in_flight: int = 64
    renew_seconds: float = RENEW_SECONDS
    """How often a message whose numbers have changed is written again."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who else is told of what happens. All of them may be missing, and none of them has a say."""

    ring: Ring | None = None
    backlog: Backlog | None = None
    tracing: "Tracing | None" = None
    survey: CapacityGauges | None = None
    ledger: Keeping | None = None


NOBODY_ELSE = Witnesses()


class SchedulingTerm:
    def __init__(
        self,
        client: Client,
        served: Served,
        permit: Permit,
        instance: str,
        settings: SchedulerSettings,
        keeper: PolicyKeeper,
        metrics: Metrics,
        health: ProcessHealth,
        witnesses: Witnesses = NOBODY_ELSE,
    ) -> None:
        self._settings, self._keeper, self._metrics, self._health = settings, keeper, metrics, health
        self._witnesses, ring = witnesses, witnesses.ring
        self._chronicle = None if ring is None and witnesses.backlog is None else ChangeLines()
        self._recorder = None
        if ring is not None and self._chronicle is not None:
            self._recorder = DecisionRecorder(ring, self._chronicle, settings.scheduler)
        ends = Ends()
        self._mirror = mirror = Mirror(
            settings.scheduler,
            self._chronicle,
            policy=lambda: keeper.policy,
            ends=None if witnesses.ledger is None else ends,
        )
        if settings.shadow:
            mirror.watch_gangs()
        mirror.state.group_makers.served = served.groups is not None
        self._worklist = Worklist()
        writer = Writer(client, permit)
        suspensions = Suspensions(writer, settings.namespace, settings.scheduler or "", served.resources)
        self._returns = None
        if settings.scheduler is not None and not settings.shadow:
            self._returns = Returns(mirror, self._worklist, suspensions, settings.scheduler)
        acts = not settings.shadow
        self._healing = HealingPart(mirror, self._worklist, writer, settings.namespace if acts else "")
        self._maintenance = MaintenancePart(mirror, self._worklist, writer, settings.namespace, acts)
        home = settings.namespace if acts else ""
        self._memories: tuple[MemoryPart[Any], ...] = (
            usage_part(mirror, writer, home),
            budgets_part(mirror, writer, home),
            holds_part(mirror, self._worklist, writer, home),
            bookings_part(mirror, self._worklist, writer, home),
        )
        self._limits = LimitPart(writer)
        requests = served.resources.get(ProvisioningRequest)
        self._provisioning = ProvisioningPart(writer, requests, lambda: keeper.policy)
        self._overrides = OverridesPart(mirror, self._worklist, writer, home)
        self._reservations = ReservationsPart(mirror, self._worklist, writer, home)
        self._reflectors = list(reflectors(client, served, mirror, self._returns))
        for part in (self._healing, *self._memories, self._overrides, self._reservations):
            self._reflectors += part.reflectors(client)
        self._reflectors += [self._maintenance.reflector(client)] if acts else []
        for reflector in self._reflectors:
            count = partial(getattr, reflector.counts, "lists")
            metrics.lists.labels(reflector.name).set_function(count)
        events = Events(client, permit, instance)
        condition = served.group_condition
        composites, policy = served.composites, lambda: keeper.policy
        teller = Teller(mirror, writer, events, served.groups, condition, metrics, composites, policy)
        self.verdicts = LastVerdicts(mirror.waiting_by_group)
        self._notices = Notices(mirror, self.verdicts, teller, settings.renew_seconds)
        self._repair = GangRepair(mirror, writer, condition, settings.complete_within_seconds, metrics)
        devices = device_preparer(mirror, writer, served, settings)
        self._reclaimer = None if devices is None else ClaimRepair(mirror, devices)
        self._contests = DeviceContests(mirror, writer, metrics, settings.scheduler)
        self._binder = Binder(
            writer,
            mirror,
            settings.binds_in_flight,
            self._order_finished,
            devices,
            lambda: keeper.policy,
        )
        self._evicter = Evicter(
            writer,
            suspensions,
            mirror,
            settings.binds_in_flight,
            self._room_order_begun,
            self._room_order_finished,
        )
        self._receipts = Receipts(events, teller)
        self._deadlines = DeadlineNotices(mirror, None if settings.shadow else teller, events)
        self._reserved = ReservationNotices(None if settings.shadow else teller, events)
        if not settings.shadow:
            self._healing.act(suspensions, teller, events, metrics)
        self._report = Report(mirror, self.verdicts, settings.shadow, lambda: keeper.policy)
        self._bookkeeper = None
        if witnesses.ledger is not None:
            clerk = witnesses.ledger.clerk(instance)
            self._bookkeeper = Bookkeeper(mirror, self.verdicts, ends, lambda: keeper.policy, clerk)
            self._healing.memory.listeners.append(self._bookkeeper.failures)
            self._overrides.listeners.append(self._bookkeeper.overrides)
        self._cycles: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Ends only by cancellation, or by what it raises."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._start(tasks)
        finally:
            if self._witnesses.backlog is not None:
                self._witnesses.backlog.end()
                self._witnesses.backlog.orders.end()
            gc.unfreeze()
            self._metrics.follow(Now())

    async def _start(self, tasks: asyncio.TaskGroup) -> None:
        mirror = self._mirror
        self._metrics.follow(
            Now(
                waiting_pods=lambda: len(mirror.waiting),
                assumed_pods=lambda: mirror.overlay.assumed,
                short_groups=self._repair.short,
                contested_devices=lambda: len(mirror.device_claims.contested),
                hurt_groups=self._healing.hurt,
                groups_at_risk=self._deadlines.at_risk,
                waiting_groups=self._report.waiting,
                not_in_ledger=self._records_dropped,
                ledger_failing=self._ledger_failing,
            )
        )
        for reflector in self._reflectors:
            tasks.create_task(reflector.run())
        await self._synced()
        if not self._settings.shadow:
            self._notices.catch_up()
            parts = (self._binder, self._evicter, self._receipts, self._notices, self._repair)
            ordered = (self._overrides, self._reservations)
            limits = (self._maintenance, self._limits, self._provisioning)
            own = (*limits, *ordered, self._deadlines, self._reserved)
            for part in (*parts, *self._healing.parts, *own):
                tasks.create_task(part.run())
            for memory in self._memories:
                tasks.create_task(memory.run())
            if self._reclaimer is not None:
                await self._reclaimer.look()
                tasks.create_task(self._reclaimer.run())
                tasks.create_task(self._contests.run())
            if self._returns is not None:
                tasks.create_task(self._returns.run())
        self._cycles = tasks.create_task(self._loop().run())
        if self._witnesses.backlog is not None and self._chronicle is not None:
            self._witnesses.backlog.begin(
                self._chronicle,
                lambda: self._keeper.policy,
                self._settings.scheduler,
                self._mirror.state.group_makers.served,
            )
            self._witnesses.backlog.orders.begin(self._take)
        if self._bookkeeper is not None:
            tasks.create_task(self._bookkeeper.run())
        if self._witnesses.survey is not None:
            tasks.create_task(self._witnesses.survey.run(self.situation))

    async def _take(self, order: AnyOrder) -> OrderOutcome:
        if isinstance(order, OverrideOrder):
            return await self._overrides.take(order)
        return await self._reservations.take(order)

    def _records_dropped(self) -> int:
        return 0 if self._bookkeeper is None else self._bookkeeper.dropped

    def _ledger_failing(self) -> int:
        return int(self._bookkeeper is not None and self._bookkeeper.is_failing)

    def situation(self) -> Situation:
        """What people ask about, as it is now."""
        snapshot, now = self._mirror.state.snapshot(), datetime.now(UTC)
        return Situation(snapshot, self._keeper.policy, now, self._settings.scheduler)

    async def finish(self) -> None:
        """Decide nothing more, and let what was ordered come to its end."""
        if self._cycles is not None:
            self._cycles.cancel()
        deadline = time.monotonic() + DRAIN_SECONDS
        while (self._binder.unfinished or self._evicter.unfinished) and time.monotonic() < deadline:
            await asyncio.sleep(DRAIN_SECONDS / 200)

    async def _synced(self) -> None:
        started = time.monotonic()
        self._health.set(False, "reading the cluster")
        for reflector in self._reflectors:
            await reflector.synced.wait()
        # What was read stays for as long as the term does; the collector need not look at it again.
        gc.collect()
        gc.freeze()
        log.info("the cluster was read in %.1f s", time.monotonic() - started)
        self._health.set(True, "shadow" if self._settings.shadow else "leading")

    def _loop(self) -> SchedulingLoop:
        shadow = self._settings.shadow
        acting: tuple[PlanListener, ...] = ()
        if not shadow:
            acting = (self._maintenance, self._evicter, self._limits, self._provisioning, self._repair)
        ordered = (self._overrides, self._reservations)
        actors: tuple[PlanListener, ...] = (*acting, self._healing, *self._memories, *ordered)
        told: tuple[PlanFollower, ...] = (self._report, self._deadlines, self._reserved)
        tellers = told if shadow else (self._notices, *told)
        if self._bookkeeper is not None:
            tellers = (*tellers, self._bookkeeper)
        self._keeper.changed = self._policy_changed
        return SchedulingLoop(
            self._mirror,
            self.verdicts,
            self._worklist,
            lambda: self._keeper.policy,
            self._settings.scheduler,
            actors,
            tellers,
            self._returns,
            None if shadow else self._binder,
            self._metrics,
            self._settings.resync_seconds,
            self._recorder,
            self._witnesses.tracing,
        )

    def _policy_changed(self) -> None:
        self._worklist.look_at_everything()
        self._mirror.changed.set()

    def _order_finished(self, order: Order) -> None:
        self._metrics.seated(order)
        if self._witnesses.tracing is not None:
            self._witnesses.tracing.seated(order)
        if not order.refused:
            self._worklist.rested(order.group)
            self._repair.completed(order.group)
            self._notices.seated(order.verdict)
            return
        bind, refusal = order.refused[0]
        seconds = self._worklist.rest(order.group, time.monotonic())
        log.warning(
            "group %s: %d of %d binds were refused, trying again in %g s; the first was %s to %s: %s: %s",
            *(order.group, len(order.refused), len(order.binds), seconds),
            *(bind.pod, bind.node, refusal.why, refusal.message),
        )
        if order.bound:
            self._repair.interrupted(order.group)
        if order.unprepared is not None:
            self._notices.unprepared(waiting_again(order, order.unprepared))
        self._mirror.changed.set()

    def _room_order_begun(self, order: RoomOrder, begun: bool) -> None:
        if not begun:
            log.info(
                "group %s: the group or one of its victims changed during the decision; deciding again",
                order.group,
            )
            self._metrics.stale_groups.inc()
        elif order.evictions and not order.is_for_nobody:
            self._metrics.preemptions.inc()

    def _room_order_finished(self, order: RoomOrder) -> None:
        self._metrics.evicted(order.departed)
        self._receipts.hand_out(order)
        if self._bookkeeper is not None:
            self._bookkeeper.evicted(order.departed)
        if not order.failures:
            return
        seconds = self._worklist.rest(order.group, time.monotonic())
        log.warning(
            "group %s: only %d of %d pods could be evicted for it, trying again in %g s; %s",
            *(order.group, len(order.departed), len(order.evictions), seconds, order.failures[0]),
        )


def waiting_again(order: Order, blocker: Blocker) -> GroupVerdict:
    """What is said of a group whose places could not be made ready, until it is decided anew."""
    placed = order.verdict.placed - len(order.refused)
    if order.verdict.counts == "parts":
        placed = order.verdict.placed
    return msgspec.structs.replace(order.verdict, verdict="Waiting", placed=placed, blockers=(blocker,))


def device_preparer(
    mirror: Mirror, writer: Writer, served: Served, settings: SchedulerSettings
) -> DevicePreparer | None:
    """None where there are no resource claims, and where nothing is written."""
    claims, name = served.resources.get(ResourceClaim), settings.scheduler
    if claims is None or name is None:
        return None
    return DevicePreparer(mirror, writer, ClaimWriter(writer, claims, name), name, settings.binds_in_flight)


def reflectors(
    client: Client, served: Served, mirror: Mirror, returns: Returns | None
) -> Iterable[Reflector[Any]]:
    """One for each kind that this server has. Most objects go to the state as they are; of some, controllers
    read more than decisions do."""
    read_as: dict[type[Object], tuple[type[Any], MirrorFeed[Any]]] = {
        Pod: (WatchedPod, feed_pods(mirror)),
        PodGroup: (WatchedGroup, feed_groups(mirror)),
        CompositePodGroup: (WatchedComposite, feed_composites(mirror)),
        KueueWorkload: (KueueWorkload, feed_workloads(mirror)),
        ResourceClaim: (WatchedClaim, feed_claims(mirror)),
        **{row.type: (row.type, feed_owners(mirror, row)) for row in OWNERS},
    }
    if returns is not None:
        read_as |= {row.type: (WATCHED_OWNERS[row.type], returns.feed(row)) for row in OWNERS}
        suspensions = returns.suspensions
        yield suspensions.records.reflector(client, suspensions.sink(mirror.changed.set))
    for kind, resource in served.resources.items():
        into, feed = read_as.get(kind) or (kind, feed_plain(mirror, kind))
        yield Reflector(client, resource, into, feed)
