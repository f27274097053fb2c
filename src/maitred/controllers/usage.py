"""What queues have used and spent is written down now and then, as Plans say."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keeping import SPENDING, USE, MemoryKeeper, MemoryKind
from maitred.controllers.retry import Retry
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.reflector import Reflector
from maitred.kube.shared_record import SharedRecord
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.plan import Plan
from maitred.model.spending import SpendingMemory
from maitred.model.usage import UsageMemory

log = logging.getLogger(__name__)
M = TypeVar("M")
Said = Callable[[Plan, Snapshot], tuple[M | None, M]]
"""What a Plan says is to be remembered, and what was remembered when it was made."""


class MemoryPart(Generic[M]):
    """Hears of every Plan of the scheduling loop."""

    def __init__(
        self, mirror: Mirror, writer: Writer, namespace: str, about: MemoryKind[M], said: Said[M]
    ) -> None:
        """Without a namespace nothing is read and nothing is written: a shadow remembers by itself."""
        record = SharedRecord(writer, namespace, about.kind) if namespace else None
        self.keeper = MemoryKeeper(mirror, record, about)
        self.writing = asyncio.Lock()
        """Held by whoever writes: only one write is made from what was there before."""
        self._words, self._said = about.words, said
        self._woken = asyncio.Event()

    def reflectors(self, client: Client) -> Iterator[Reflector[ConfigMap]]:
        if self.keeper.record is not None:
            yield self.keeper.record.reflector(client, self.keeper)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self.keeper.note(*self._said(plan, snapshot))
        if not self.keeper.is_written:
            self._woken.set()

    async def run(self) -> None:
        retry = Retry()
        while True:
            await self._woken.wait()
            self._woken.clear()
            while not self.keeper.is_written:
                async with self.writing:
                    outcome = await self.keeper.write()
                if isinstance(outcome, Done):
                    retry = Retry()
                elif isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE:
                    log.info(
                        "what is remembered of %s was changed by others, and that counts now", self._words
                    )
                else:
                    seconds = retry.again()
                    log.warning(
                        "what is remembered of %s could not be written down; trying again in %g s: %s",
                        *(self._words, seconds, outcome.message),
                    )
                    await asyncio.sleep(max(0.0, retry.at - time.monotonic()))


def usage_part(mirror: Mirror, writer: Writer, namespace: str) -> MemoryPart[UsageMemory]:
    return MemoryPart(mirror, writer, namespace, USE, lambda plan, seen: (plan.usage, seen.usage))


def budgets_part(mirror: Mirror, writer: Writer, namespace: str) -> MemoryPart[SpendingMemory]:
    return MemoryPart(mirror, writer, namespace, SPENDING, lambda plan, seen: (plan.budgets, seen.spending))
