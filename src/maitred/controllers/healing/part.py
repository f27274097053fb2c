"""What a term has for failures: what is remembered, who carries out what is decided, and who tells of it."""

import logging
from collections.abc import Iterator

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.healing.healer import Healer
from maitred.controllers.healing.telling import FailureNotices
from maitred.controllers.keeping import HEALTH, MemoryKeeper
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.client import Client
from maitred.kube.events import Events
from maitred.kube.reflector import Reflector
from maitred.kube.shared_record import SharedRecord
from maitred.kube.wire import ConfigMap
from maitred.kube.writes import Writer
from maitred.model.memory import HealthMemory, Incident
from maitred.model.plan import Plan

log = logging.getLogger(__name__)


class HealingPart:
    """Hears of every Plan of the scheduling loop."""

    def __init__(self, mirror: Mirror, worklist: Worklist, writer: Writer, namespace: str) -> None:
        """Without a namespace nothing is read and nothing is written: a shadow remembers by itself."""
        record = SharedRecord(writer, namespace, HEALTH.kind) if namespace else None
        self.memory = MemoryKeeper(mirror, record, HEALTH)
        self.notices: FailureNotices | None = None
        self.healer: Healer | None = None
        self._mirror, self._worklist, self._writer = mirror, worklist, writer

    def act(self, suspensions: Suspensions, teller: Teller, events: Events, metrics: Metrics) -> None:
        """From now on what is decided is carried out, and told."""
        self.notices = FailureNotices(self._mirror, teller, events, metrics)
        self.healer = Healer(self._mirror, self._writer, self.memory, suspensions, self.notices, metrics)

    @property
    def parts(self) -> tuple[Healer | FailureNotices, ...]:
        """What runs for as long as the term does."""
        return () if self.healer is None or self.notices is None else (self.healer, self.notices)

    def reflectors(self, client: Client) -> Iterator[Reflector[ConfigMap]]:
        if self.memory.record is not None:
            yield self.memory.record.reflector(client, self.memory)

    def hurt(self) -> int:
        """How many groups are being healed."""
        return len({one.group for one in self._mirror.state.memory.incidents if one.is_open})

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        if plan.memory is not None and has_ended(snapshot.memory, plan.memory):
            self._worklist.look_at_everything()  # room that was kept is others' now
            self._mirror.changed.set()
        if self.healer is not None:
            self.healer.decided(plan, snapshot, now)
        elif self.memory.note(plan.memory, snapshot.memory) and plan.memory is not None:
            for one in begun(snapshot.memory, plan.memory):
                log.info("group %s: %s: it would be healed by %s", one.group, one.words, one.rule)


def begun(before: HealthMemory, now: HealthMemory) -> Iterator[Incident]:
    known = {(one.group, one.begun) for one in before.incidents}
    return (one for one in now.incidents if (one.group, one.begun) not in known)


def has_ended(before: HealthMemory, now: HealthMemory) -> bool:
    still = {(one.group, one.begun) for one in now.incidents if one.is_open}
    return any(one.is_open and (one.group, one.begun) not in still for one in before.incidents)
