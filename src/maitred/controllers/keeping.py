"""What is remembered of failures, as decisions see it and as the API server has it.

A decision sees what was decided before from that moment on; the API server has it a moment later. Nothing is
done about a failure before it does: whoever leads next, if this process dies, finds what it was about to do.
Where somebody else has written meanwhile, what they have written counts, and what was decided is decided
again.
"""

import logging
from collections.abc import Callable

from maitred.cluster.state import Delete, Put
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.shared_record import NO_RECORD, RecordVersion, SharedRecord, version_of
from maitred.kube.wire import ConfigMap
from maitred.model.memory import CONTENT, HOME, MEMORY, NO_MEMORY, HealthMemory, MemoryObject, memory_of
from maitred.model.meta import ObjectMeta

log = logging.getLogger(__name__)

KIND = "health"
Outcome = Done | Refused | Unknown


Listener = Callable[[HealthMemory, HealthMemory], None]


class MemoryKeeper:
    """Without a `record` nothing is written: a shadow remembers what it would, for as long as it runs."""

    def __init__(self, mirror: Mirror, record: SharedRecord | None) -> None:
        self.listeners: list[Listener] = []
        """Told of what the API server had before, and has now, by us."""
        self.record = record
        self._mirror = mirror
        self._kept = NO_RECORD
        self._wanted: HealthMemory | None = None
        self._sent = ""
        """What is being written."""

    # -- told by the watch -----------------------------------------------------------------------------

    def put(self, item: ConfigMap) -> None:
        if self.record is None or not self.record.is_this(item):
            return
        found = version_of(item)
        if found.version == self._kept.version or found.is_older_than(self._kept):
            return
        if self._sent and found.text == self._sent:
            self._kept = found  # ours, and the answer to it is on its way
        else:
            self._take(found)

    def gone(self, key: str) -> None:
        if self.record is not None and key == f"{self.record.namespace}/{self.record.name}":
            self._take(NO_RECORD)

    def settled(self) -> None:
        self._mirror.changed.set()

    def _take(self, found: RecordVersion) -> None:
        """This is what counts from now on, whatever was to be written."""
        self._kept, self._wanted = found, None
        self._show(found.text)
        if found.text and memory_of(kept_as(found.text)) is NO_MEMORY:
            log.warning("the record of failures cannot be read, so what it says is forgotten")
        self._mirror.changed.set()

    def _show(self, text: str) -> None:
        """To decisions, and to all who hear what these are made from."""
        self._mirror.state.apply(Put(kept_as(text)) if text else Delete(MemoryObject, f"{HOME}/{MEMORY}"))

    # -- decided ---------------------------------------------------------------------------------------

    def note(self, wanted: HealthMemory | None, seen: HealthMemory) -> bool:
        """What is to be remembered from now on. False if it was decided on something else than what is
        remembered by now: then it is decided again."""
        if seen != self._mirror.state.memory:
            return False
        if wanted is not None:
            self._show(str(wanted))
            self._wanted = wanted if self.record is not None else None
        return True

    @property
    def is_written(self) -> bool:
        """Whether the API server has all that was decided."""
        return self._wanted is None

    async def write(self) -> Outcome:
        """What was decided last. Stale: something else was written meanwhile, and counts now."""
        wanted = self._wanted
        if wanted is None or self.record is None:
            return Done()
        self._sent = str(wanted)
        try:
            outcome = await self.record.write(self._sent, self._kept)
        finally:
            self._sent = ""
        if isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE:
            return await self._read_again(wanted, outcome)
        if not isinstance(outcome, RecordVersion):
            return outcome
        self._is_kept(outcome, wanted)
        return Done()

    def _is_kept(self, outcome: RecordVersion, wanted: HealthMemory) -> None:
        before, self._kept = memory_of(kept_as(self._kept.text)), outcome
        if self._wanted is wanted:
            self._wanted = None
        elif self._wanted is None:
            self._show(outcome.text)
        for listener in self.listeners:
            listener(before, wanted)

    async def _read_again(self, wanted: HealthMemory, refusal: Refused) -> Outcome:
        """It may be what an earlier attempt of ours has written, whose answer was lost."""
        assert self.record is not None
        found = await self.record.read()
        if isinstance(found, Unknown):
            return found
        if found.text == str(wanted):
            self._is_kept(found, wanted)
            return Done()
        self._take(found)
        return refusal


def kept_as(text: str) -> MemoryObject:
    return MemoryObject(ObjectMeta(name=MEMORY, namespace=HOME), data={CONTENT: text})
