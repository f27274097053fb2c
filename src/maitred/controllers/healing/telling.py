"""People are told of failures: by an Event on the group, or on its owner, in the log and in numbers.

It is told when the API server has what was decided, so once for each incident, whoever leads. What nothing is
done about is told too, once for as long as the reason stays the same.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from maitred.controllers.scheduling.condition_writer import Teller, WritePace
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.decide.healing.remembering import DEGRADED
from maitred.explain.healing import beginning, ending
from maitred.kube.bodies import EventType, Regarding
from maitred.kube.events import Events
from maitred.model.kinds import row_of
from maitred.model.memory import HealthMemory, Incident
from maitred.model.plan import HealingDecision
from maitred.model.suspending import BY_TITLE

log = logging.getLogger(__name__)

PER_SECOND, LARGEST_BURST, LONGEST_QUEUE = 20.0, 50.0, 1_000
ACTION = "Healing"
FAILED, SLOW, WHOLE, GIVEN_UP = "HardwareFailed", "SlowMember", "Healed", "HealingOver"
Letter = tuple[Regarding, str, str, EventType]


class FailureNotices:
    def __init__(self, mirror: Mirror, teller: Teller, events: Events, metrics: Metrics) -> None:
        self._mirror, self._teller, self._events, self._metrics = mirror, teller, events, metrics
        self._decisions: Mapping[str, HealingDecision] = {}
        self._alone: dict[str, str] = {}
        """Groups that are left alone, and why, as they were told."""
        self._subjects: dict[str, Regarding] = {}
        """Of groups that are being healed: when they are whole, nobody may wait whose owner could be seen."""
        self._queue: asyncio.Queue[Letter] = asyncio.Queue(LONGEST_QUEUE)
        self._pace = WritePace(PER_SECOND, LARGEST_BURST, time.monotonic())

    async def run(self) -> None:
        while True:
            subject, reason, words, type = await self._queue.get()
            await self._pace.take(1)
            await self._events.record(subject, reason, words, ACTION, type)

    def decided(self, decisions: Iterable[HealingDecision]) -> None:
        self._decisions = {one.group: one for one in decisions}
        alone = {one.group: one for one in self._decisions.values() if one.rule == "none"}
        self._alone = {group: why for group, why in self._alone.items() if group in alone}
        for group, one in alone.items():
            if self._alone.get(group) != one.does:
                self._alone[group] = one.does
                self._tell(group, _reason(one), beginning(one, datetime.now(UTC)), "Warning")

    def written(self, before: HealthMemory, now: HealthMemory) -> None:
        """The API server has this now."""
        known = {(one.group, one.begun): one for one in before.incidents}
        for one in now.incidents:
            earlier = known.get((one.group, one.begun))
            if earlier is None:
                self._begun(one)
            if not one.is_open and (earlier is None or earlier.is_open):
                self._ended(one)

    def _begun(self, incident: Incident) -> None:
        self._metrics.incidents.labels(incident.family, incident.rule).inc()
        decision = self._decisions.get(incident.group)
        if decision is not None:
            self._tell(incident.group, _reason(decision), beginning(decision, incident.begun), "Warning")

    def _ended(self, incident: Incident) -> None:
        is_whole = incident.is_whole
        if is_whole and incident.ended is not None:
            self._metrics.healing_seconds.observe((incident.ended - incident.begun).total_seconds())
        reason: tuple[str, EventType] = (WHOLE, "Normal") if is_whole else (GIVEN_UP, "Warning")
        self._tell(incident.group, reason[0], ending(incident), reason[1])
        self._subjects.pop(incident.group, None)

    def _tell(self, group: str, reason: str, words: str, type: EventType) -> None:
        log.log(logging.INFO if type == "Normal" else logging.WARNING, "group %s: %s", group, words)
        subject = self._subject(group)
        if subject is not None and not self._queue.full():
            self._subjects[group] = subject
            self._queue.put_nowait((subject, reason, words, type))

    def _subject(self, group: str) -> Regarding | None:
        """Its PodGroup; else the topmost owner of a member, or its controller."""
        found = self._teller.subject(group) or self._subjects.get(group)
        decision = self._decisions.get(group)
        lost = [] if decision is None else [pod.pod for pod in decision.pods]
        for pod in (*lost, *self._mirror.mates.get(group, ())):
            found = found or self._owner(pod)
        return found

    def _owner(self, pod: str) -> Regarding | None:
        namespace, top = pod.partition("/")[0], self._mirror.state.top_owner(pod)
        if top is not None:
            kind = row_of(BY_TITLE[top.name.kind].type)
            return Regarding(kind.api_versions[0], kind.name, top.name.name, namespace, top.uid)
        owner = self._mirror.overlay.owner(pod)
        if owner is None:
            return None
        return Regarding(owner.api_version, owner.kind, owner.name, namespace, owner.uid)


def _reason(decision: HealingDecision) -> str:
    return SLOW if decision.family == DEGRADED else FAILED
