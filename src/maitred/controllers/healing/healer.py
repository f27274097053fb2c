"""Healing carried out: what was decided is remembered first, then lost members are told to leave.

What is wanted is what the last Plan says, and no order outlives it: a node that comes back keeps its pods. A
process may die after any write, and the next one goes on: it finds in the memory what was decided, and in the
cluster which members are still there. A member that has no controller is never deleted, and none by force.
"""

import asyncio
import logging
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.healing.restarting import Restarter, is_not_accepted
from maitred.controllers.healing.tainting import Tainter
from maitred.controllers.healing.telling import FailureNotices
from maitred.controllers.keeping import MemoryKeeper, Outcome
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.retry import Retry
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.decide.healing.remembering import DEGRADED
from maitred.explain.healing import on_pod
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.wire import Condition
from maitred.kube.writes import Writer
from maitred.model.memory import HealthMemory
from maitred.model.plan import HealingDecision, LostPod, Plan, Restart

log = logging.getLogger(__name__)

HARDWARE_FAILED, SLOW = "HardwareFailed", "SlowMember"
IN_FLIGHT = 16
LONGEST_MESSAGE = 1024


@dataclass(slots=True)
class Dismissal:
    """A lost member that is to leave, or an owner all pods of which are."""

    decision: HealingDecision
    who: LostPod | Restart
    retry: Retry

    @property
    def told(self) -> Condition:
        words = on_pod(self.decision)[:LONGEST_MESSAGE]
        reason = SLOW if self.decision.family == DEGRADED else HARDWARE_FAILED
        return Condition("DisruptionTarget", "True", reason, words, datetime.now(UTC))


class Healer:
    def __init__(
        self,
        mirror: Mirror,
        writer: Writer,
        keeper: MemoryKeeper[HealthMemory],
        suspensions: Suspensions,
        notices: FailureNotices,
        metrics: Metrics,
    ) -> None:
        self._mirror, self._writer, self._keeper = mirror, writer, keeper
        self._restarter, self._tainter = Restarter(mirror, writer, suspensions), Tainter(writer)
        self._notices, self._metrics = notices, metrics
        self._wanted: dict[str, Dismissal] = {}
        """By the UIDs of the pods, or of their owners."""
        self._refused: set[str] = set()
        """UIDs of owners that the API server does not let us suspend."""
        self._memory = Retry()
        self._woken = asyncio.Event()
        keeper.listeners.append(notices.written)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        if not self._keeper.note(plan.memory, snapshot.memory):
            self._wanted = {}
            self._tainter.forget()
            self._mirror.state.news.failed(True)  # it was decided on what does not count any more
            self._mirror.changed.set()
            return
        self._notices.decided(plan.healing)
        known, self._wanted = self._wanted, {}
        for decision in plan.healing:
            self._want(decision, known)
        tainting = self._tainter.decided(plan.taints)
        if self._wanted or tainting or not self._keeper.is_written:
            self._woken.set()

    def _want(self, decision: HealingDecision, known: Mapping[str, "Dismissal"]) -> None:
        restart = decision.restart
        if restart is not None and restart.uid not in self._refused:
            retry = known[restart.uid].retry if restart.uid in known else Retry()
            self._wanted[restart.uid] = Dismissal(decision, restart, retry)
            return
        for pod in decision.pods:
            if pod.delete or restart is not None:
                retry = known[pod.uid].retry if pod.uid in known else Retry()
                self._wanted[pod.uid] = Dismissal(decision, pod, retry)

    async def run(self) -> None:
        while True:
            self._woken.clear()
            if await self._is_remembered():
                await self._dismiss_those_due()
                await self._tainter.write_those_due()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._next_at()):
                    await self._woken.wait()

    def _next_at(self) -> float | None:
        """By the clock of the event loop; None if nothing is left to do."""
        at = [self._tainter.next_at, *(one.retry.at for one in self._wanted.values())]
        if not self._keeper.is_written:
            at = [self._memory.at]
        left = min(at, default=math.inf) - time.monotonic()
        return None if left == math.inf else asyncio.get_running_loop().time() + max(0.0, left)

    async def _is_remembered(self) -> bool:
        """What was decided is written, before anything is done about it."""
        while not self._keeper.is_written and self._memory.at <= time.monotonic():
            outcome = await self._keeper.write()
            if isinstance(outcome, Done):
                self._memory = Retry()
            elif isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE:
                log.info("what is remembered of failures was changed by others; deciding again")
                self._wanted = {}
            else:
                seconds = self._memory.again()
                log.warning(
                    "what was decided about failures could not be written down, and nothing is done before "
                    "that; trying again in %g s: %s",
                    *(seconds, outcome.message),
                )
        return self._keeper.is_written

    async def _dismiss_those_due(self) -> None:
        now = time.monotonic()
        queue = iter([uid for uid, one in self._wanted.items() if one.retry.at <= now])

        async def take() -> None:
            for uid in queue:
                await self._dismiss(uid)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(IN_FLIGHT, len(self._wanted))):
                tasks.create_task(take())

    async def _dismiss(self, uid: str) -> None:
        """Unless it was decided otherwise since: cycles go on while others are told to leave."""
        one = self._wanted.get(uid)
        if one is None or not self._keeper.is_written:
            return
        if isinstance(one.who, Restart):
            what, outcome = f"{one.who.kind} {one.who.owner}", await self._stop(one, one.who)
        else:
            what, outcome = f"pod {one.who.pod}", await self._delete(one, one.who)
        if isinstance(outcome, Done):
            self._wanted.pop(uid, None)
            return
        seconds = one.retry.again()
        why = "which has slow members" if one.decision.family == DEGRADED else "under which hardware failed"
        log.warning(
            "group %s, %s: %s could not be made to leave; trying again in %g s: %s",
            *(one.decision.group, why, what, seconds, outcome.message),
        )

    async def _delete(self, one: Dismissal, pod: LostPod) -> Outcome:
        """With its own grace period. The condition first: by it a failure policy of a Job knows that this is
        no failure of the pod."""
        placed = self._mirror.state.placed(pod.pod)
        if placed is None or placed.uid != pod.uid or not placed.owned:
            return Done()  # it leaves already, or nobody would make it anew
        namespace, _, name = pod.pod.partition("/")
        await self._writer.patch_pod_condition(namespace, name, pod.uid, one.told)
        outcome = await self._writer.delete_pod(namespace, name, pod.uid)
        if isinstance(outcome, Done):
            self._metrics.healed_pods.inc()
            self._mirror.overlay.dismiss(pod.pod, pod.uid)
            self._mirror.changed.set()
        return outcome

    async def _stop(self, one: Dismissal, restart: Restart) -> Outcome:
        outcome = await self._restarter.stop(one.decision, restart, one.told)
        if is_not_accepted(outcome):
            log.warning("%s cannot be suspended, so what was lost is replaced", restart.owner)
            self._refused.add(restart.uid)
            self._mirror.state.news.failed(True)
            self._mirror.changed.set()
        return outcome
