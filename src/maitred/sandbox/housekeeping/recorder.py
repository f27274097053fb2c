"""Events: what controllers did, where `kubectl describe` shows it. Best effort, and never too many."""

import asyncio
import logging
import secrets
import time
from dataclasses import dataclass

from maitred.kube.bodies import timestamp
from maitred.kube.errors import KubeError
from maitred.kube.resources import Resource
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.objects import Json, Meta

log = logging.getLogger(__name__)

CORE_EVENTS = Resource("", "v1", "events", "Event")
BURST = 25
"""About one object and by one controller; then one in five minutes, as client-go allows."""
SECONDS_PER_EVENT = 300.0
MOST_OBJECTS = 4096
"""So many are remembered, the latest."""
MOST_WAITING = 1000
LONGEST_MESSAGE = 1024
LONGEST_NAME = 253
SENDERS = 4


@dataclass(slots=True)
class Allowance:
    left: float
    at: float


class EventRecorder:
    def __init__(self, api: ControllerApi) -> None:
        self._api = api
        self._waiting: asyncio.Queue[Json] = asyncio.Queue(MOST_WAITING)
        self._allowances: dict[tuple[str, str], Allowance] = {}

    def record(
        self,
        component: str,
        resource: Resource,
        metadata: Meta,
        reason: str,
        message: str,
        type: str = "Normal",
    ) -> None:
        if self._waiting.full() or not self._allowed(component, metadata.uid):
            return
        involved = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        }
        now = timestamp()
        self._waiting.put_nowait(
            {
                "metadata": {"name": event_name(metadata.name), "namespace": metadata.namespace or "default"},
                "involvedObject": involved,
                "reason": reason,
                "message": message[:LONGEST_MESSAGE],
                "type": type,
                "count": 1,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "source": {"component": component},
                "reportingComponent": component,
            }
        )

    def _allowed(self, component: str, uid: str) -> bool:
        now = time.monotonic()
        allowance = self._allowances.setdefault((component, uid), Allowance(BURST, now))
        if len(self._allowances) > MOST_OBJECTS:
            del self._allowances[next(iter(self._allowances))]
        allowance.left = min(BURST, allowance.left + (now - allowance.at) / SECONDS_PER_EVENT)
        allowance.at = now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(SENDERS):
                tasks.create_task(self._send())

    async def _send(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                await self._api.send("POST", CORE_EVENTS.path(event["metadata"]["namespace"]), event)
            except KubeError as error:
                log.debug("event %s not written: %s", event["reason"], error)


def event_name(name: str) -> str:
    unique = secrets.token_hex(8)
    return f"{name[: LONGEST_NAME - len(unique) - 1].rstrip('-.')}.{unique}"
