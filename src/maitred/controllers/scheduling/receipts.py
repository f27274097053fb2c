"""Receipts handed out: an Event on each pod that has to go, on its group or owner, and on who comes instead.

They are written when the pods have been told to go, one by one and not too fast: nothing waits for them.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from maitred.controllers.scheduling.condition_writer import Teller, WritePace
from maitred.controllers.scheduling.evicting import RoomOrder, is_suspended
from maitred.explain.receipts import group_words, preemptor_words, victim_words
from maitred.explain.tenant_words import Audience, reader_of
from maitred.kube.bodies import Regarding
from maitred.kube.events import Events
from maitred.model.drain import MAINTENANCE
from maitred.model.kinds import row_of
from maitred.model.plan import Eviction, EvictionCause
from maitred.model.suspending import BY_TITLE

PER_SECOND = 50.0
LARGEST_BURST = 100.0
MOST_PODS = 100
"""Victims of one order that get an Event of their own. The others are counted in the one of their group."""
MOST_GROUPS = 100
LONGEST_QUEUE = 5_000
ACTION, MOVING = "Preempting", "Draining"


LEFT: Mapping[EvictionCause, str] = {MAINTENANCE: "Drained", "Reservation": "ReservationBegan"}
"""The reasons of Events of pods that leave, where that is not preemption."""


class Letter(NamedTuple):
    to: Regarding
    reason: str
    words: str


class Receipts:
    def __init__(self, events: Events, teller: Teller) -> None:
        self._events = events
        self._teller = teller
        self._queue: asyncio.Queue[Letter] = asyncio.Queue(LONGEST_QUEUE)
        self._pace = WritePace(PER_SECOND, LARGEST_BURST, time.monotonic())

    def hand_out(self, order: RoomOrder) -> None:
        letters = self._letters(order) if order.departed else iter(())
        for letter in islice(letters, LONGEST_QUEUE - self._queue.qsize()):
            self._queue.put_nowait(letter)

    def _letters(self, order: RoomOrder) -> Iterator[Letter]:
        subject = None if order.is_for_nobody else self._teller.subject(order.group)
        left = LEFT.get(order.cause, "Preempted")
        if subject is not None:
            yield Letter(subject, "Preempting", preemptor_words(order.departed, reader_of(order.group)))
        together = defaultdict[Regarding, list[Eviction]](list)
        for eviction in order.departed:
            for concerned in self._concerned(order, eviction):
                together[concerned].append(eviction)
        for concerned, evictions in islice(together.items(), MOST_GROUPS):
            yield Letter(concerned, left, group_words(evictions, Audience(concerned.namespace)))
        for eviction in order.departed[:MOST_PODS]:
            namespace, _, name = eviction.pod.partition("/")
            pod = Regarding("v1", "Pod", name, namespace, eviction.uid)
            yield Letter(pod, left, victim_words(eviction, Audience(namespace)))

    def _concerned(self, order: RoomOrder, eviction: Eviction) -> Iterator[Regarding]:
        """The PodGroup of a victim, else its controller; the topmost owner too where that was suspended."""
        declared = self._teller.declared(eviction.group) if eviction.group is not None else None
        if declared is not None:
            yield declared
        owner, top = order.owners.get(eviction.pod), order.tops.get(eviction.pod)
        if is_suspended(eviction) and top is not None:
            kind = row_of(BY_TITLE[top.name.kind].type)
            yield Regarding(kind.api_versions[0], kind.name, top.name.name, top.name.namespace, top.uid)
        elif owner is not None and declared is None:
            namespace = eviction.pod.partition("/")[0]
            yield Regarding(owner.api_version, owner.kind, owner.name, namespace, owner.uid)

    async def run(self) -> None:
        while True:
            letter = await self._queue.get()
            await self._pace.take(1)
            action = MOVING if letter.reason in LEFT.values() else ACTION
            await self._events.record(letter.to, letter.reason, letter.words, action)
