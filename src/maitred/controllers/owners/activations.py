"""Workloads of Kueue that were deactivated to make room: they are active again once their pods are gone.

From there on their owners wait in Kueue's queue, and come back when Kueue admits them. No places are held for
them: what they may have is Kueue's to say, and whoever resumed them would go around their quota. A Workload
that others have deactivated has no record of ours, and stays as it is.
"""

import asyncio
import logging
from collections.abc import Iterator

from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.suspension import Suspension

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0


class Activations:
    def __init__(self, mirror: Mirror, suspensions: Suspensions) -> None:
        self._mirror = mirror
        self._suspensions = suspensions
        self._under_way: set[str] = set()
        """UIDs of owners whose Workloads are being activated."""

    def due(self) -> Iterator[Suspension]:
        """Records of owners that have no pods left, and no quota any more."""
        for uid, record in list(self._suspensions.by_uid.items()):
            if not record.workload or uid in self._under_way or self._suspensions.is_under_way(uid):
                continue
            workload = self._found(record)
            if workload is None or workload.holds_quota:
                continue
            if not self._mirror.overlay.pods_below(record.owner, uid):
                self._under_way.add(uid)
                yield record

    def is_off(self, record: Suspension) -> bool:
        """Whether the Workload that we have deactivated still is."""
        return self._found(record) is not None

    def _found(self, record: Suspension) -> KueueWorkload | None:
        name, uid = record.written
        workload = self._mirror.workloads.get(name.key)
        if workload is None or workload.metadata.uid != uid or workload.spec.active:
            return None
        return workload

    async def activate(self, record: Suspension) -> None:
        outcome = await self._suspensions.resume(record)
        if isinstance(outcome, Done):
            log.info("Workload %s of %s is active again: its pods are gone", record.workload, record.owner)
        else:
            log.warning(
                "Workload %s of %s could not be activated; trying again: %s",
                *(record.workload, record.owner, outcome.message),
            )
            await asyncio.sleep(RETRY_SECONDS)
        self._under_way.discard(record.uid)
        self._mirror.changed.set()
