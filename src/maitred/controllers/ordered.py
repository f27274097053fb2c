"""What people order is written down by the leader, as those order who may; and forgotten when it is over.

An order is written down before decisions see it: nothing counts that a crash could take back. When something
is over is decided by its time alone, so it counts for nothing from then on, written down or not.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.answers.orders import AnyOrder, OrderOutcome
from maitred.controllers.keeping import MemoryKind
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.controllers.usage import MemoryPart, Said
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Unknown
from maitred.kube.permit import NotLeading
from maitred.kube.reflector import Reflector
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.plan import Plan

log = logging.getLogger(__name__)
M = TypeVar("M")
Ordered = TypeVar("Ordered", bound=AnyOrder)

ATTEMPTS = 5
"""To write down one order, while others write too or no answer comes."""
SHADOW = "this scheduler is a shadow, which changes nothing; ask the one that binds pods"


class OrderedPart(ABC, Generic[M, Ordered]):
    """Hears of every Plan of the scheduling loop, and takes orders."""

    def __init__(
        self,
        mirror: Mirror,
        worklist: Worklist,
        writer: Writer,
        namespace: str,
        about: MemoryKind[M],
        said: Said[M],
    ) -> None:
        """Without a namespace nothing is read and nothing is written."""
        self._mirror, self._worklist, self._about = mirror, worklist, about
        self._part = MemoryPart(mirror, writer, namespace, about, said)
        self._keeper = self._part.keeper

    @abstractmethod
    def _wanted(self, order: Ordered) -> M | str:
        """What is to be remembered once it is carried out; or why it cannot be."""

    @abstractmethod
    def _done(self, order: Ordered) -> str:
        """What has been done, for the log."""

    @property
    def listeners(self) -> list[Callable[[M, M], None]]:
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
        """Others may start now, or may not any more."""
        self._worklist.look_at_everything()
        self._mirror.changed.set()

    # -- told by the loop ------------------------------------------------------------------------------

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._part.decided(plan, snapshot, now)

    async def run(self) -> None:
        """Those that are over are forgotten."""
        await self._part.run()

    # -- ordered ---------------------------------------------------------------------------------------

    async def take(self, order: Ordered) -> OrderOutcome:
        if self._keeper.record is None:
            return OrderOutcome(order.id, SHADOW, standby=True)
        try:
            async with self._part.writing:
                refusal = await self._write(order)
        except NotLeading as lost:
            return OrderOutcome(order.id, f"{lost}; ask the one that leads", standby=True)
        if refusal:
            return OrderOutcome(order.id, refusal)
        log.info("%s", self._done(order))
        return OrderOutcome(order.id)

    async def _write(self, order: Ordered) -> str:
        """Why it was not carried out; empty if it was."""
        message = ""
        for _ in range(ATTEMPTS):
            wanted = self._wanted(order)
            if isinstance(wanted, str):
                return wanted
            outcome = await self._keeper.change(wanted)
            if isinstance(outcome, Done):
                self._look_again()
                return ""
            message = outcome.message
            if not isinstance(outcome, Unknown) and outcome.why is not RefusalReason.STALE:
                break
        return f"the scheduler could not write it down: {message}; see `{order.listing}`"
