"""Run-time limits carried out: Jobs, and pods that nobody controls, get the deadlines that Plans say.

Nothing is remembered. Who leads reads the deadlines from these, and the next Plan says again what has not
been done.
"""

import logging

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keyed_writes import KeyedWrites, Outcome
from maitred.kube.outcomes import Done, RefusalReason, Refused
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
        self._writes = KeyedWrites[Key, DeadlineToSet](
            IN_FLIGHT, self._set, lambda wanted: f"the deadline of {title(wanted)} could not be set"
        )

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._writes.want({one.key: one for one in plan.deadlines})

    async def run(self) -> None:
        await self._writes.run()

    async def _set(self, wanted: DeadlineToSet) -> Outcome:
        outcome = await self._write(wanted)
        if isinstance(outcome, Done):
            self._note(wanted)
        is_over = isinstance(outcome, Refused) and outcome.why in OVER
        return Done() if is_over else outcome

    async def _write(self, wanted: DeadlineToSet) -> Outcome:
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
