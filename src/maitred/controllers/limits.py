"""Run-time limits carried out: Jobs get the deadlines that Plans say.

Nothing is remembered. Who leads reads the deadlines from the Jobs, and the next Plan says again what has not
been done.
"""

import asyncio
import logging

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.retry import Retry
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.writes import Writer
from maitred.model.plan import JobDeadline, Plan

log = logging.getLogger(__name__)

IN_FLIGHT = 16
OVER = (RefusalReason.GONE, RefusalReason.REPLACED, RefusalReason.STALE)


class LimitPart:
    """Hears of every Plan of the scheduling loop."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._wanted: dict[str, JobDeadline] = {}
        """By the names of the Jobs, what the last Plan says."""
        self._retries: dict[str, Retry] = {}
        self._orders: asyncio.Queue[str] = asyncio.Queue()
        self._under_way: set[str] = set()

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._wanted = {one.job: one for one in plan.deadlines}
        self._retries = {job: retry for job, retry in self._retries.items() if job in self._wanted}
        for job in self._wanted:
            if job not in self._under_way:
                self._under_way.add(job)
                self._orders.put_nowait(job)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            job = await self._orders.get()
            try:
                await self._carry_out(job)
            finally:
                self._under_way.discard(job)

    async def _carry_out(self, job: str) -> None:
        """What is wanted by now; until it is done, or nobody wants it any more."""
        while (wanted := self._wanted.get(job)) is not None:
            namespace, _, name = job.partition("/")
            outcome = await self._writer.set_deadline(namespace, name, wanted.uid, wanted.seconds)
            if isinstance(outcome, Done):
                self._note(wanted)
            elif not (isinstance(outcome, Refused) and outcome.why in OVER):
                seconds = self._retries.setdefault(job, Retry()).again()
                log.warning(
                    "the deadline of Job %s could not be set; trying again in %g s: %s",
                    *(job, seconds, outcome.message),
                )
                await asyncio.sleep(seconds)
                continue
            if self._wanted.get(job) is wanted:
                del self._wanted[job]

    def _note(self, done: JobDeadline) -> None:
        if done.seconds is None:
            log.info("Job %s waits for places again: its deadline is taken back", done.job)
        else:
            log.info(
                "Job %s ends at %s, by the run-time limit of group %s (%s)",
                *(done.job, done.ends, done.group, done.said),
            )
