"""What is remembered from one decision to the next, as decisions see it and as the API server has it.

A decision sees what was decided before from that moment on; the API server has it a moment later. Whoever
acts on it waits for that: whoever leads next, if this process dies, finds what it was about to do. Where
somebody else has written meanwhile, what they have written counts, and what was decided is decided again.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from maitred.cluster.questions import StateQuestions
from maitred.cluster.state import Delete, Put
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.shared_record import NO_RECORD, RecordVersion, SharedRecord, version_of
from maitred.kube.wire import ConfigMap
from maitred.model.holding import HOLDS, NO_HOLDS, HoldMemory, holds_of
from maitred.model.memory import CONTENT, HOME, MEMORY, NO_MEMORY, HealthMemory, MemoryObject, memory_of
from maitred.model.meta import ObjectMeta
from maitred.model.overrides import NO_OVERRIDES, OVERRIDES, OverrideMemory, overrides_of
from maitred.model.reserving import NO_RESERVATIONS, RESERVATIONS, ReservationMemory, reservations_of
from maitred.model.spending import BUDGETS, NO_SPENDING, SpendingMemory, spending_of
from maitred.model.usage import NO_USAGE, USAGE, UsageMemory, usage_of

log = logging.getLogger(__name__)

Outcome = Done | Refused | Unknown
M = TypeVar("M")


@dataclass(frozen=True)
class MemoryKind(Generic[M]):
    """One of the things that are remembered, each in an object of its own."""

    kind: str
    """Of the record."""
    name: str
    """Of the object that decisions read."""
    words: str
    nothing: M
    read: Callable[[MemoryObject | None], M]
    seen: Callable[[StateQuestions], M]
    """What decisions see of it."""


HEALTH: MemoryKind[HealthMemory] = MemoryKind(
    "health", MEMORY, "failures", NO_MEMORY, memory_of, lambda state: state.memory
)
USE: MemoryKind[UsageMemory] = MemoryKind(
    "usage", USAGE, "use", NO_USAGE, lambda kept: usage_of(kept)[0], lambda state: state.usage
)
LIFTED: MemoryKind[OverrideMemory] = MemoryKind(
    "overrides",
    OVERRIDES,
    "overrides",
    NO_OVERRIDES,
    lambda kept: overrides_of(kept)[0],
    lambda state: state.overrides,
)
SPENDING: MemoryKind[SpendingMemory] = MemoryKind(
    "budgets",
    BUDGETS,
    "budgets",
    NO_SPENDING,
    lambda kept: spending_of(kept)[0],
    lambda state: state.spending,
)
WAITING: MemoryKind[HoldMemory] = MemoryKind(
    "holds",
    HOLDS,
    "holds",
    NO_HOLDS,
    lambda kept: holds_of(kept)[0],
    lambda state: state.holds,
)
RESERVED: MemoryKind[ReservationMemory] = MemoryKind(
    "reservations",
    RESERVATIONS,
    "reservations",
    NO_RESERVATIONS,
    lambda kept: reservations_of(kept)[0],
    lambda state: state.reservations,
)


class MemoryKeeper(Generic[M]):
    """Without a `record` nothing is written: a shadow remembers what it would, for as long as it runs."""

    def __init__(self, mirror: Mirror, record: SharedRecord | None, about: MemoryKind[M]) -> None:
        self.listeners: list[Callable[[M, M], None]] = []
        """Told of what the API server had before, and has now, by us."""
        self.record = record
        self._mirror, self._about = mirror, about
        self._kept = self._told = NO_RECORD
        """As the API server has it; and as the listeners know it."""
        self._wanted: M | None = None
        self._sent = ""
        """What is being written."""

    # -- told by the watch -----------------------------------------------------------------------------

    def put(self, item: ConfigMap) -> None:
        if self.record is None or not self.record.is_this(item):
            return
        found = version_of(item)
        if found.version == self._kept.version or found.is_older_than(self._kept):
            return
        if self._is_ours(found.text):
            self._kept = found  # the answer to it is on its way, or was lost: then it is written once more
        else:
            self._take(found)

    def gone(self, key: str) -> None:
        if self.record is not None and key == f"{self.record.namespace}/{self.record.name}":
            self._take(NO_RECORD)

    def settled(self) -> None:
        self._mirror.changed.set()

    def _is_ours(self, text: str) -> bool:
        return bool(text) and text in (self._sent, "" if self._wanted is None else str(self._wanted))

    def _take(self, found: RecordVersion) -> None:
        """This is what counts from now on, whatever was to be written."""
        self._kept, self._told, self._wanted = found, found, None
        self._show(found.text)
        if found.text and self._said(found) is self._about.nothing:
            log.warning("the record of %s cannot be read, so what it says is forgotten", self._about.words)
        self._mirror.changed.set()

    def _show(self, text: str) -> None:
        """To decisions, and to all who hear what these are made from."""
        name = self._about.name
        now = Put(kept_as(text, name)) if text else Delete(MemoryObject, f"{HOME}/{name}")
        self._mirror.state.apply(now)

    def _said(self, record: RecordVersion) -> M:
        return self._about.read(kept_as(record.text, self._about.name))

    # -- decided ---------------------------------------------------------------------------------------

    def note(self, wanted: M | None, seen: M) -> bool:
        """What is to be remembered from now on. False if it was decided on something else than what is
        remembered by now: then it is decided again."""
        if seen != self._about.seen(self._mirror.state):
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

    async def change(self, wanted: M) -> Outcome:
        """What somebody has ordered: decisions see it once the API server has it, and not before. Stale: as
        in `write`."""
        assert self.record is not None, "a shadow is ordered nothing"
        before, text = self._said(self._kept), str(wanted)
        outcome = await self.record.write(text, self._kept)
        if isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE:
            found = await self.record.read()
            if isinstance(found, Unknown):
                return found
            self._take(found)
            if found.text != text:
                return outcome
        elif isinstance(outcome, RecordVersion):
            self._take(outcome)
        else:
            return outcome
        for listener in self.listeners:
            listener(before, wanted)
        return Done()

    def _is_kept(self, outcome: RecordVersion, wanted: M) -> None:
        before, self._kept, self._told = self._said(self._told), outcome, outcome
        if self._wanted is wanted:
            self._wanted = None
        elif self._wanted is None:
            self._show(outcome.text)
        for listener in self.listeners:
            listener(before, wanted)

    async def _read_again(self, wanted: M, refusal: Refused) -> Outcome:
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


def kept_as(text: str, name: str = MEMORY) -> MemoryObject:
    return MemoryObject(ObjectMeta(name=name, namespace=HOME), data={CONTENT: text})
