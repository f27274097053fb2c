"""Run-time limits carried out: Jobs, and pods that nobody controls, get the deadlines that Plans say.

Nothing is remembered. Who leads reads the deadlines from these, and the next Plan says again what has not
been done.
"""

import asyncio
import logging

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.retry import Retry
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.writes import Writer
from maitred.model.plan import DeadlineToSet, Plan

log = logging.getLogger(__name__)

IN_FLIGHT = 16
OVER = (RefusalReason.GONE, RefusalReason.REPLACED, RefusalReason.STALE)


Key = tuple[str, str]
"""The name of a Job, and of a pod: one of them is empty."""


class LimitPart:
    """Hears of every Plan of the scheduling loop."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._wanted: dict[Key, DeadlineToSet] = {}
        """What the last Plan says."""
        self._retries: dict[Key, Retry] = {}
        self._orders: asyncio.Queue[Key] = asyncio.Queue()
        self._under_way: set[Key] = set()

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._wanted = {one.key: one for one in plan.deadlines}
        self._retries = {key: retry for key, retry in self._retries.items() if key in self._wanted}
        for key in self._wanted:
            if key not in self._under_way:
                self._under_way.add(key)
                self._orders.put_nowait(key)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._orders.get()
            try:
                await self._carry_out(key)
            finally:
                self._under_way.discard(key)

    async def _carry_out(self, key: Key) -> None:
        """What is wanted by now; until it is done, or nobody wants it any more."""
        while (wanted := self._wanted.get(key)) is not None:
            outcome = await self._write(wanted)
            if isinstance(outcome, Done):
                self._note(wanted)
            elif not (isinstance(outcome, Refused) and outcome.why in OVER):
                seconds = self._retries.setdefault(key, Retry()).again()
                log.warning(
                    "the deadline of %s could not be set; trying again in %g s: %s",
                    *(title(wanted), seconds, outcome.message),
                )
                await asyncio.sleep(seconds)
                continue
            if self._wanted.get(key) is wanted:
                del self._wanted[key]

    async def _write(self, wanted: DeadlineToSet) -> Done | Refused | Unknown:
        namespace, _, name = (wanted.job or wanted.pod).partition("/")
        if wanted.pod and wanted.seconds is not None:
            return await self._writer.set_pod_deadline(namespace, name, wanted.uid, wanted.seconds)
        return await self._writer.set_deadline(namespace, name, wanted.uid, wanted.seconds)

    def _note(self, done: DeadlineToSet) -> None:
        if done.seconds is None:
            log.info("%s waits for places again: its deadline is taken back", title(done))
        else:
            log.info(
                "%s ends at %s, by the run-time limit of group %s (%s)",
                *(title(done), done.ends, done.group, done.said),
            )


def title(one: DeadlineToSet) -> str:
    return f"Job {one.job}" if one.job else f"pod {one.pod}"
