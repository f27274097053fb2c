"""Nothing leaks: devices that are allocated for pods which do not use them are freed.

A scheduler can be killed between any two writes, and what it has written then is all that is left of what it
was about to do: a claim with a finalizer, a claim that is allocated and reserved, pods without a node. A gang
can lose its places and keep its PodGroup, for which its claims stay reserved. So whenever a claim changes, or
someone stops using it, it is looked at again; at the start of a term all of them are, before anything is
decided.
"""

import asyncio
import logging

from maitred.controllers.scheduling.allocating import DevicePreparer
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, Unknown

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 1.0


class ClaimRepair:
    def __init__(self, mirror: Mirror, devices: DevicePreparer) -> None:
        self._mirror = mirror
        self._devices = devices

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            await self.look()

    async def look(self) -> None:
        """At every claim to which something happened. Those of groups that are being bound are touched again
        when that has come to its end."""
        table = self._mirror.device_claims
        touched, table.touched = table.touched, set()
        async with asyncio.TaskGroup() as tasks:
            for key in sorted(touched):
                if self._devices.is_unused(key):
                    tasks.create_task(self._reclaim(key))

    async def _reclaim(self, key: str) -> None:
        outcome = await self._devices.reclaim(key)
        if isinstance(outcome, Done):
            log.info("claim %s: no pod uses its devices, so they were freed", key)
        else:
            log.warning("claim %s could not be given back: %s", key, outcome.message)
            if isinstance(outcome, Unknown):
                self._mirror.device_claims.touch((key,))
