"""Devices that two claims have: who runs keeps them, and a member of ours that cannot start is made anew.

An API server does not compare claims. If two schedulers give one device away at the same time, the claims of
both have it. Before we bind, we look for that and step back (`allocating`). But the other may write its claim
after we have looked. Then both pods are bound, and a driver prepares the device for the one that comes first.
The other pod waits on its node for as long as that one runs: its kubelet tries again and again, and fails no
pod for it. If the pod that waits is ours, and has a controller, it is deleted, so that its successor gets a
device that is free. Without a controller it stays. Pods of other schedulers are theirs to look after.
"""

import asyncio
import logging
from collections.abc import Iterator

from maitred.controllers.scheduling.device_claims import POD_GROUPS, PODS, Device, user_of
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.repair import take_back
from maitred.kube.outcomes import Done
from maitred.kube.writes import Writer

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0
WORDS = "another pod runs with the device that this member was given, so it gives its node back"


class DeviceContests:
    def __init__(self, mirror: Mirror, writer: Writer, metrics: Metrics, scheduler: str | None) -> None:
        self._mirror = mirror
        self._writer = writer
        self._metrics = metrics
        self._scheduler = scheduler
        self._told: set[Device | str] = set()
        """Devices that two claims have, and pods that cannot start and stay."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            await self.look()

    async def look(self) -> None:
        table = self._mirror.device_claims
        contested = sorted(table.contested)
        losers = sorted({pod for device in contested for pod in self._losers(device)})
        self._told &= {*contested, *losers}
        for device in contested:
            driver, pool, name = device
            claims = ", ".join(table.holders(device))
            self._tell(
                device, f"driver {driver}, pool {pool}, device {name}: several claims have it: {claims}"
            )
        for pod in losers:
            await self._resolve(pod)

    def _tell(self, what: Device | str, words: str) -> None:
        """Once."""
        if what not in self._told:
            self._told.add(what)
            log.warning("%s", words)

    def _losers(self, device: Device) -> Iterator[str]:
        """Our pods that cannot start, because a pod runs that uses another claim with this device."""
        users = {claim: list(self._users(claim)) for claim in self._mirror.device_claims.holders(device)}
        running = {claim for claim, pods in users.items() if any(map(self._runs, pods))}
        for claim, pods in users.items():
            if running - {claim}:
                yield from (pod for pod in pods if self._waits_to_start(pod))

    def _users(self, claim: str) -> Iterator[str]:
        """Keys of the pods that use it."""
        namespace = claim.partition("/")[0]
        for consumer in self._mirror.device_claims.claims[claim].status.reserved_for:
            *kind, key = user_of(namespace, consumer)
            if tuple(kind) == PODS:
                yield key
            elif tuple(kind) == POD_GROUPS:
                yield from (one.pod for one in self._mirror.state.unfinished_in(key))

    def _runs(self, pod: str) -> bool:
        placed = self._mirror.state.placed(pod)
        return placed is not None and placed.working

    def _waits_to_start(self, pod: str) -> bool:
        """Whether it is ours and bound, and that is all."""
        placed = self._mirror.state.placed(pod)
        if placed is None or placed.working or placed.scheduler != self._scheduler:
            return False
        return pod not in self._mirror.waiting

    async def _resolve(self, pod: str) -> None:
        placed = self._mirror.state.placed(pod)
        if placed is None:
            return
        if not placed.owned:
            why = "another pod runs with the device that it was given"
            self._tell(
                pod, f"pod {pod} cannot start: {why}. It has no controller: delete it and make it again"
            )
            return
        outcome = await take_back(self._writer, self._metrics, pod, placed.uid, WORDS)
        how = "was deleted" if isinstance(outcome, Done) else f"could not be deleted: {outcome.message}"
        log.warning("pod %s cannot start, because another pod runs with its device; it %s", pod, how)
