"""Owners of pods are suspended and resumed here, and a record tells which of them are ours to resume.

The record is written before the owner is suspended and deleted after it was resumed. So a scheduler that dies
between any two writes leaves one of three things behind, and the next one knows what each of them means:

- no record: the owner is its user's, suspended or not;
- a record and a suspended owner: it is resumed when it fits;
- a record and an owner that is not suspended, or is gone: the record is deleted, once the API server itself
  has said so. What the watch tells may be older than the write that suspends the owner.

An owner that is Kueue's is never written to: its Workload is deactivated, and activated again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.records import Records, TextSink
from maitred.kube.resources import Resource
from maitred.kube.writes import OwnerToWrite, Writer
from maitred.model.objects import Object
from maitred.model.suspending import BY_TITLE, OwnerName
from maitred.model.suspension import Suspension, parse_suspension

log = logging.getLogger(__name__)

KIND = "suspension"
OVER = (RefusalReason.GONE, RefusalReason.REPLACED)

Outcome = Done | Refused | Unknown
NOT_SERVED: Outcome = Refused(RefusalReason.GONE, "this API server does not have objects of its kind")


class Suspensions:
    def __init__(
        self,
        writer: Writer,
        namespace: str,
        scheduler: str,
        served: Mapping[type[Object], Resource],
    ) -> None:
        """`served`: where objects of each kind are found on this server."""
        self.records = Records(writer, namespace, KIND)
        self.by_uid: dict[str, Suspension] = {}
        """Of the owners that this scheduler has suspended, by their UIDs."""
        self.changed: Callable[[OwnerName], None] = lambda owner: None
        """Told of the owner whose record came or went."""
        self.scheduler = scheduler
        self._writer = writer
        self._served = served
        self._uids: dict[str, str] = {}
        """What the records are called -> the UIDs of the owners that they are about."""
        self._under_way = Counter[str]()
        self._tried: set[str] = set()
        """UIDs of owners that an earlier attempt may have suspended."""

    # -- told by the watch -----------------------------------------------------------------------------

    def sink(self, settled: Callable[[], None]) -> TextSink:
        return TextSink(self.put, self.gone, settled)

    def put(self, name: str, text: str) -> None:
        record = parse_suspension(text)
        if record is None:
            log.warning(
                "record %s cannot be read, so what it is about may stay suspended: look for objects with the "
                "annotation maitred.dev/suspended, resume them with spec.suspend: false, delete the record",
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
        self.changed(record.owner)

    def _forget(self, uid: str) -> None:
        record = self.by_uid.pop(uid, None)
        if record is not None:
            self.changed(record.owner)

    # -- ordered by us ---------------------------------------------------------------------------------

    def is_under_way(self, uid: str) -> bool:
        """Whether something is being written about this owner, so that its record may not match it."""
        return self._under_way[uid] > 0

    async def suspend(self, record: Suspension) -> Outcome:
        """Done when no pod of that owner will stay: also if it is gone, or its user has suspended it."""
        with self._busy(record.uid):
            if (owner := self._to_write(record)) is None:
                return NOT_SERVED
            kept = await self.records.keep(record.uid, str(record))
            if isinstance(kept, Refused):
                return Refused(RefusalReason.UNRECORDED, f"{kept.why}: {kept.message}")
            if not isinstance(kept, Done):
                return kept
            self._remember(record)
            outcome = await self._writer.suspend(owner, record.line)
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
            owner = self._to_write(record)
            outcome = NOT_SERVED if owner is None else await self._writer.resume(owner)
            if isinstance(outcome, Done) or is_over(outcome):
                await self._drop(record.uid)
            return outcome

    async def hasten(self, pod: str, uid: str, grace_seconds: int) -> Outcome:
        """A pod of a suspended owner is being deleted with the grace period that it asks for, and gets less.
        This is for later: a pod that is deleted before the Job controller knows that its Job is suspended
        counts as a failure of the Job."""
        return await self._writer.delete_pod(*_parts(pod), uid, grace_seconds)

    async def settle(self, record: Suspension) -> Outcome:
        """Delete the record of an owner that is not suspended or not there, if the server says so too."""
        with self._busy(record.uid):
            owner = self._to_write(record)
            outcome = NOT_SERVED if owner is None else await self._writer.tidy(owner)
            if isinstance(outcome, Done) or is_over(outcome):
                return await self._drop(record.uid)
            return outcome

    async def forget(self, record: Suspension) -> Outcome:
        """The owner is not ours to resume any more, suspended or not."""
        with self._busy(record.uid):
            return await self._drop(record.uid)

    def _to_write(self, record: Suspension) -> OwnerToWrite | None:
        """None where this server has no such kind, and so no such object."""
        name, uid = record.written
        kind = BY_TITLE.get(name.kind)
        resource = None if kind is None else self._served.get(kind.type)
        if kind is None or resource is None:
            return None
        return OwnerToWrite(kind, resource, name.namespace, name.name, uid)

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
