"""Events: what happened, in words, where `kubectl describe` shows it. Best effort: nothing waits for one."""

import asyncio
import logging
import secrets
from hashlib import sha256

from maitred.explain.tenant_words import told_in
from maitred.kube import bodies
from maitred.kube.bodies import EventType, Regarding
from maitred.kube.client import Client, encode, pause
from maitred.kube.errors import ApiError, KubeError, Unreachable
from maitred.kube.permit import NotLeading, Permit
from maitred.kube.resources import EVENTS

log = logging.getLogger(__name__)

CONTROLLER = "maitred.dev/scheduler"
EVENT_SECONDS = 10.0
LONGEST_NAME = 253
LONGEST_NOTE = 1024
LONGEST_INSTANCE = 128
ELLIPSIS = "…"


class Events:
    """Counts what it sent and what it could not, and raises nothing for either."""

    def __init__(self, client: Client, permit: Permit, instance: str) -> None:
        self.sent = 0
        self.failed = 0
        self._client = client
        self._permit = permit
        self._instance = instance[:LONGEST_INSTANCE]

    async def record(
        self,
        regarding: Regarding,
        reason: str,
        note: str,
        action: str,
        type: EventType = "Normal",
        once: str = "",
    ) -> bool:
        """`reason` and `action` are one word each: `Unschedulable`, `Scheduling`. The note is read by all who
        may read the namespace of the object, and names nothing of any other. `once`: what is told as the same
        is told only once, whoever leads, as long as the server keeps Events.

        False if it was not sent and may be sent again later.
        """
        namespace = regarding.namespace or "default"
        written = bodies.Event(
            api_version=EVENTS.api_version,
            kind=EVENTS.kind,
            metadata=bodies.WrittenMeta(name=event_name(regarding.name, once), namespace=namespace),
            event_time=bodies.micro_time(bodies.wall_clock()),
            regarding=regarding,
            type=type,
            reason=reason,
            action=action,
            note=shortened(told_in(namespace, note)),
            reporting_controller=CONTROLLER,
            reporting_instance=self._instance,
        )
        try:
            await self._send(EVENTS.path(written.metadata.namespace), encode(written))
            self.sent += 1
        except NotLeading:
            return True
        except KubeError as error:
            if once and isinstance(error, ApiError) and error.is_conflict:
                return True
            log.debug("event %s about %s %s not written: %s", reason, regarding.kind, regarding.name, error)
            if not is_of_no_use(error):
                self.failed += 1
                return False
        return True

    async def _send(self, path: str, body: bytes) -> None:
        """Two attempts with one name: an event whose answer was lost is there already, not written twice."""
        try:
            await self._post(path, body)
        except Unreachable:
            await asyncio.sleep(pause(0))
        except ApiError as error:
            if not error.is_passing and error.status != 401:
                raise
            await asyncio.sleep(pause(0, error.retry_after))
        else:
            return
        try:
            await self._post(path, body)
        except ApiError as error:
            if not error.is_conflict:
                raise

    async def _post(self, path: str, body: bytes) -> None:
        self._permit.check()
        await self._client.request("POST", path, body=body, seconds=EVENT_SECONDS)


def is_of_no_use(error: KubeError) -> bool:
    """The namespace is gone or going, and nobody will miss the event."""
    if not isinstance(error, ApiError):
        return False
    return error.is_gone or (error.status == 403 and "being terminated" in error.message)


def event_name(name: str, once: str = "") -> str:
    """`<object>.<hex>`, as others name theirs; a long name gives way to the part that makes it unique."""
    unique = sha256(once.encode()).hexdigest()[:16] if once else secrets.token_hex(8)
    kept = name[: LONGEST_NAME - len(unique) - 1].rstrip("-.")
    return f"{kept}.{unique}"


def shortened(note: str) -> str:
    """Cut by bytes, as the server counts them, and never within a character."""
    data = note.encode()
    if len(data) <= LONGEST_NOTE:
        return note
    return data[: LONGEST_NOTE - len(ELLIPSIS.encode())].decode(errors="ignore") + ELLIPSIS
