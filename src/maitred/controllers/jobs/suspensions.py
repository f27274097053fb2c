"""Jobs are suspended and resumed here, and a record tells which of them are ours to resume.

The record is written before the Job is suspended and deleted after the Job was resumed. So a scheduler that
dies between any two writes leaves one of three things behind, and the next one knows what each of them means:

- no record: the Job is its user's, suspended or not;
- a record and a suspended Job: it is resumed when it fits;
- a record and a Job that is not suspended, or is gone: the record is deleted, once the API server itself has
  said so. What the watch tells may be older than the write that suspends the Job.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.records import Records, TextSink
from maitred.kube.writes import Writer
from maitred.model.suspension import Suspension, parse_suspension

log = logging.getLogger(__name__)

KIND = "suspension"
OVER = (RefusalReason.GONE, RefusalReason.REPLACED)

Outcome = Done | Refused | Unknown


class Suspensions:
    def __init__(self, writer: Writer, namespace: str, scheduler: str) -> None:
        self.records = Records(writer, namespace, KIND)
        self.by_uid: dict[str, Suspension] = {}
        """Of the Jobs that this scheduler has suspended, by their UIDs."""
        self.changed: Callable[[str], None] = lambda job: None
        """Told `namespace/name` of the Job whose record came or went."""
        self.scheduler = scheduler
        self._writer = writer
        self._uids: dict[str, str] = {}
        """What the records are called -> the UIDs of the Jobs that they are about."""
        self._under_way = Counter[str]()
        self._tried: set[str] = set()
        """UIDs of Jobs that an earlier attempt may have suspended."""

    # -- told by the watch -----------------------------------------------------------------------------

    def sink(self, settled: Callable[[], None]) -> TextSink:
        return TextSink(self.put, self.gone, settled)

    def put(self, name: str, text: str) -> None:
        record = parse_suspension(text)
        if record is None:
            log.warning(
                "record %s cannot be read, so a Job may stay suspended: resume the Job with "
                "spec.suspend: false and delete the record",
                name,
            )
            self.gone(name)
        elif record.by == self.scheduler:
            self._uids[name] = record.uid
            self._remember(record)

    def gone(self, name: str) -> None:
        uid = self._uids.pop(name, None)
        if uid is not None:
            self._forget(uid)

    def _remember(self, record: Suspension) -> None:
        self.by_uid[record.uid] = record
        self.changed(record.job)

    def _forget(self, uid: str) -> None:
        record = self.by_uid.pop(uid, None)
        if record is not None:
            self.changed(record.job)

    # -- ordered by us ---------------------------------------------------------------------------------

    def is_under_way(self, uid: str) -> bool:
        """Whether something is being written about this Job, so that its record may not match it."""
        return self._under_way[uid] > 0

    async def suspend(self, record: Suspension) -> Outcome:
        """Done when no pod of that Job will stay: also if it is gone, or its user has suspended it."""
        with self._busy(record.uid):
            kept = await self.records.keep(record.uid, str(record))
            if not isinstance(kept, Done):
                return kept
            self._remember(record)
            outcome = await self._writer.suspend_job(*_parts(record.job), record.uid, record.line)
            if isinstance(outcome, Unknown):
                self._tried.add(record.uid)
                return outcome
            # Suspended before we came to it: by its user, unless we have tried before.
            theirs = isinstance(outcome, Refused) and (
                outcome.why in OVER or (outcome.why is RefusalReason.TAKEN and record.uid not in self._tried)
            )
            ours = isinstance(outcome, Done) or (outcome.why is RefusalReason.TAKEN and not theirs)
            self._tried.discard(record.uid)
            if not ours:
                await self._drop(record.uid)
            return Done() if ours or theirs else outcome

    async def resume(self, record: Suspension) -> Outcome:
        with self._busy(record.uid):
            outcome = await self._writer.resume_job(*_parts(record.job), record.uid)
            if isinstance(outcome, Done) or is_over(outcome):
                await self._drop(record.uid)
            return outcome

    async def hasten(self, pod: str, uid: str, grace_seconds: int) -> Outcome:
        """A pod of a suspended Job, which the Job controller deletes with the grace period that it asks for,
        gets less time. This is for later: a pod that is deleted before the Job controller knows that its Job
        is suspended is a failure of the Job."""
        return await self._writer.delete_pod(*_parts(pod), uid, grace_seconds)

    async def settle(self, record: Suspension) -> Outcome:
        """Delete the record of a Job that is not suspended or not there, if the server says so too."""
        with self._busy(record.uid):
            outcome = await self._writer.tidy_job(*_parts(record.job), record.uid)
            if isinstance(outcome, Done) or is_over(outcome):
                return await self._drop(record.uid)
            return outcome

    async def _drop(self, uid: str) -> Outcome:
        outcome = await self.records.drop(uid)
        if isinstance(outcome, Done):
            self._forget(uid)
        else:
            log.warning(
                "record %s/%s could not be deleted; trying again: %s",
                *(self.records.namespace, self.records.name(uid), outcome.message),
            )
        return outcome

    @contextmanager
    def _busy(self, uid: str) -> Iterator[None]:
        self._under_way[uid] += 1
        try:
            yield
        finally:
            self._under_way[uid] -= 1
            if not self._under_way[uid]:
                del self._under_way[uid]


def is_over(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and outcome.why in OVER


def _parts(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
