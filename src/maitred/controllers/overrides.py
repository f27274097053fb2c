"""Overrides are written down by the leader, as those order who may; and forgotten when they are over.

An order is written down before decisions see it: nobody is lifted by what a crash could take back. When one
is over is decided by its time alone, so it counts for nothing from then on, written down or not.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.answers.orders import OrderOutcome, OverrideOrder
from maitred.controllers.keeping import LIFTED
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.controllers.usage import MemoryPart
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Unknown
from maitred.kube.permit import NotLeading
from maitred.kube.reflector import Reflector
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.overrides import OverrideMemory, granted
from maitred.model.plan import Plan

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""To write down one order, while others write too or no answer comes."""
SHADOW = "this scheduler is a shadow, which changes nothing; ask the one that binds pods"


class OverridesPart:
    """Hears of every Plan of the scheduling loop, and takes orders."""

    def __init__(self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str) -> None:
        """Without a namespace nothing is read and nothing is written."""
        self._mirror, self._worklist = mirror, worklist
        self._part = MemoryPart(
            mirror, writer, namespace, LIFTED, lambda plan, seen: (plan.overrides, seen.overrides)
        )
        self._keeper = self._part.keeper

    @property
    def listeners(self) -> list[Callable[[OverrideMemory, OverrideMemory], None]]:
        return self._keeper.listeners

    # -- told by the watch -----------------------------------------------------------------------------

    def reflectors(self, client: Client) -> Iterator[Reflector[ConfigMap]]:
        if self._keeper.record is not None:
            yield self._keeper.record.reflector(client, self)

    def put(self, item: ConfigMap) -> None:
        self._keeper.put(item)
        self._look_again()

    def gone(self, key: str) -> None:
        self._keeper.gone(key)
        self._look_again()

    def settled(self) -> None:
        self._keeper.settled()

    def _look_again(self) -> None:
        """Who is lifted goes before others, and is not held to limits."""
        self._worklist.look_at_everything()
        self._mirror.changed.set()

    # -- told by the loop ------------------------------------------------------------------------------

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._part.decided(plan, snapshot, now)

    async def run(self) -> None:
        """Those that are over are forgotten."""
        await self._part.run()

    # -- ordered ---------------------------------------------------------------------------------------

    async def take(self, order: OverrideOrder) -> OrderOutcome:
        if self._keeper.record is None:
            return OrderOutcome(order.id, SHADOW, standby=True)
        try:
            async with self._part.writing:
                refusal = await self._write(order)
        except NotLeading as lost:
            return OrderOutcome(order.id, f"{lost}; ask the one that leads", standby=True)
        if refusal:
            return OrderOutcome(order.id, refusal)
        if order.grant is not None:
            log.info("group %s is lifted past its queue %s", order.grant.group, order.grant.words)
        else:
            log.info("the override of group %s was ended by %s", order.end, order.by)
        return OrderOutcome(order.id)

    async def _write(self, order: OverrideOrder) -> str:
        """Why it was not carried out; empty if it was."""
        message = ""
        for _ in range(ATTEMPTS):
            wanted = self._wanted(order)
            if not isinstance(wanted, OverrideMemory):
                return wanted
            outcome = await self._keeper.change(wanted)
            if isinstance(outcome, Done):
                self._look_again()
                return ""
            message = outcome.message
            if not isinstance(outcome, Unknown) and outcome.why is not RefusalReason.STALE:
                break
        return f"the scheduler could not write it down: {message}; see `maitred override --list`"

    def _wanted(self, order: OverrideOrder) -> OverrideMemory | str:
        known, now = self._mirror.state.overrides, datetime.now(UTC)
        if order.grant is not None:
            return granted(known, order.grant, now)
        if known.at(now).of(order.end) is None:
            return (
                f"there is no override of {order.end}; `maitred override --list` lists those that there are"
            )
        return known.at(now).without(order.end)
