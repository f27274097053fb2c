"""What queues have used is written down now and then, as Plans say."""

import asyncio
import logging
import time
from collections.abc import Iterator

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keeping import USE, MemoryKeeper
from maitred.controllers.retry import Retry
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.client import Client
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.reflector import Reflector
from maitred.kube.shared_record import SharedRecord
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.plan import Plan

log = logging.getLogger(__name__)


class UsagePart:
    """Hears of every Plan of the scheduling loop."""

    def __init__(self, mirror: Mirror, writer: Writer, namespace: str) -> None:
        """Without a namespace nothing is read and nothing is written: a shadow remembers by itself."""
        record = SharedRecord(writer, namespace, USE.kind) if namespace else None
        self._keeper = MemoryKeeper(mirror, record, USE)
        self._woken = asyncio.Event()

    def reflectors(self, client: Client) -> Iterator[Reflector[ConfigMap]]:
        if self._keeper.record is not None:
            yield self._keeper.record.reflector(client, self._keeper)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._keeper.note(plan.usage, snapshot.usage)
        if not self._keeper.is_written:
            self._woken.set()

    async def run(self) -> None:
        retry = Retry()
        while True:
            await self._woken.wait()
            self._woken.clear()
            while not self._keeper.is_written:
                outcome = await self._keeper.write()
                if isinstance(outcome, Done):
                    retry = Retry()
                elif isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE:
                    log.info("what is remembered of use was changed by others, and that counts now")
                else:
                    seconds = retry.again()
                    log.warning(
                        "what queues use could not be written down; trying again in %g s: %s",
                        *(seconds, outcome.message),
                    )
                    await asyncio.sleep(max(0.0, retry.at - time.monotonic()))
