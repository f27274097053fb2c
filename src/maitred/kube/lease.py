"""Leader election by a Lease, by the rules of client-go, so that it is safe beside anything that keeps them.

No clock of another machine is ever read. A leader counts from before it asked to be renewed, a rival from
when it first saw the record as it is, and the leader gives up sooner than the rival may begin.
"""

import asyncio
import logging
import socket
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from maitred.kube.bodies import micro_time, wall_clock
from maitred.kube.client import Client, encode
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.jitter import jitter
from maitred.kube.permit import NotLeading
from maitred.kube.resources import LEASES
from maitred.kube.wire import LeaseSpec
from maitred.model.meta import Lean

log = logging.getLogger(__name__)

LEASE_SECONDS = 15
RENEW_SECONDS = 10.0
"""A term that was not renewed for this long is over."""
RETRY_SECONDS = 2.0
RETRY_JITTER = 1.2
REQUEST_SECONDS = RENEW_SECONDS / 2
RELEASE_SECONDS = 5.0
REFUSALS = 5

Clock = Callable[[], float]


def steady_clock() -> float:
    """Counts the time for which the machine was suspended too, where the system can."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Term:
    """The time for which this process leads: a Permit that runs out by itself.

    Once over it never begins again, so whoever was told to stop is not contradicted later.
    """

    def __init__(self, clock: Clock, began: float) -> None:
        self.lost = asyncio.Event()
        """Set when the renewal notices that the term is over; `check` does not wait for that."""
        self._clock = clock
        self._until = began + RENEW_SECONDS

    def check(self) -> None:
        if self.seconds_left() <= 0.0:
            raise NotLeading("this process no longer leads, so it writes nothing")

    def seconds_left(self) -> float:
        return 0.0 if self.lost.is_set() else self._until - self._clock()

    def renew(self, began: float) -> None:
        if self.seconds_left() > 0.0:
            self._until = began + RENEW_SECONDS

    def end(self) -> None:
        self.lost.set()


class Held(Lean, frozen=True):
    """A Lease as it was read. Its metadata is kept whole, so that an update takes nothing from it."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()


_HELD = msgspec.json.Decoder(Held)


class LeaseRecord(Lean, frozen=True):
    holder_identity: str
    lease_duration_seconds: int
    acquire_time: str
    renew_time: str
    lease_transitions: int


class WrittenLease(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: LeaseRecord


class LeaderLease:
    """`async with lease.term() as term` waits until this process leads; the end gives the lease back."""

    def __init__(
        self, client: Client, namespace: str, name: str, *, identity: str = "", clock: Clock = steady_clock
    ) -> None:
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self.holder = ""
        """Who was last seen to lead."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._clock = clock
        self._seen: LeaseSpec | None = None
        self._seen_at = 0.0

    @asynccontextmanager
    async def term(self) -> AsyncIterator[Term]:
        term = await self._acquire()
        keeper = asyncio.create_task(self._keep(term), name=f"lease {self._name}")
        try:
            yield term
        finally:
            term.end()
            keeper.cancel()
            await asyncio.wait({keeper})
            await self._release()
            if not keeper.cancelled():
                keeper.result()

    async def _acquire(self) -> Term:
        log.info("waiting for lease %s/%s as %s", self._namespace, self._name, self.identity)
        refusals = 0
        while True:
            try:
                began = await self._claim()
                if began is not None:
                    log.info("leading: this process holds lease %s/%s", self._namespace, self._name)
                    return Term(self._clock, began)
                refusals = 0
            except KubeError as error:
                # A server that has just started does not know who may do what, and forbids everything.
                refusals = refusals + 1 if isinstance(error, ApiError) and error.is_final else 0
                if refusals == REFUSALS:
                    raise KubeError(f"{error}; {self._advice(error)}") from None
                log.warning("lease %s/%s not acquired yet: %s", self._namespace, self._name, error)
            await asyncio.sleep(RETRY_SECONDS * (1.0 + RETRY_JITTER * jitter.random()))

    def _advice(self, error: KubeError) -> str:
        if isinstance(error, ApiError) and error.is_gone:
            return f"create namespace {self._namespace}, or choose another one with --lease-namespace"
        return (
            f"allow this user to get, create and update the Lease {self._name} in namespace {self._namespace}"
        )

    async def _keep(self, term: Term) -> None:
        try:
            while term.seconds_left() > 0.0:
                await asyncio.sleep(RETRY_SECONDS)
                if not await self._renew(term):
                    log.warning("lease %s/%s is held by %s now", self._namespace, self._name, self.holder)
                    return
            log.warning("lease %s/%s was not renewed in time", self._namespace, self._name)
        finally:
            term.end()

    async def _renew(self, term: Term) -> bool:
        """False only if another leads. A failure is no reason to stop as long as there is time left."""
        try:
            async with asyncio.timeout(term.seconds_left()):
                began = await self._claim()
        except (KubeError, TimeoutError) as error:
            log.warning("lease %s/%s not renewed: %s", self._namespace, self._name, str(error) or "no answer")
            return True
        if began is not None:
            term.renew(began)
        return began is not None

    async def _claim(self) -> float | None:
        """Take or renew the lease. The time from which that counts, or None where another holds it.

        It counts from before the read: a record of ours that the read did not find was written later than
        that. So a second read can tell what became of a write whose answer was lost.
        """
        began = self._clock()
        held = await self._read()
        if held is not None and self._is_held_by_another(held):
            return None
        try:
            await self._write(held, self._renewal(held))
        except KubeError:
            now = await self._read()
            if now is None or (held is not None and now.spec == held.spec):
                raise
            self.holder = now.spec.holder_identity
        else:
            self.holder = self.identity
        return began if self.holder == self.identity else None

    def _is_held_by_another(self, held: Held) -> bool:
        if held.spec != self._seen:
            self._seen, self._seen_at = held.spec, self._clock()
        self.holder = held.spec.holder_identity
        if self.holder in ("", self.identity):
            return False
        return self._clock() - self._seen_at < held.spec.lease_duration_seconds

    def _renewal(self, held: Held | None) -> LeaseRecord:
        now = wall_clock()
        before = held.spec if held is not None else LeaseSpec(lease_transitions=-1)
        ours = before.holder_identity == self.identity
        return LeaseRecord(
            self.identity,
            LEASE_SECONDS,
            micro_time(before.acquire_time or now if ours else now),
            micro_time(now),
            before.lease_transitions + (0 if ours else 1),
        )

    async def _release(self) -> None:
        """So that the next leader need not wait. Best effort: the lease expires by itself."""
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                while (held := await self._read()) and held.spec.holder_identity == self.identity:
                    if await self._give_back(held):
                        log.info("lease %s/%s released", self._namespace, self._name)
                        return
        except (KubeError, TimeoutError) as error:
            log.warning(
                "lease %s/%s not released: %s", self._namespace, self._name, str(error) or "no answer"
            )

    async def _give_back(self, held: Held) -> bool:
        """False where a renewal that was still under way has changed it meanwhile."""
        now = micro_time(wall_clock())
        try:
            await self._write(held, LeaseRecord("", 1, now, now, held.spec.lease_transitions))
        except ApiError as error:
            if error.is_conflict:
                return False
            raise
        return True

    async def _read(self) -> Held | None:
        path = LEASES.path(self._namespace, self._name)
        try:
            return _HELD.decode(await self._client.request("GET", path, seconds=REQUEST_SECONDS))
        except ApiError as error:
            if error.is_gone:
                return None
            raise
        except msgspec.DecodeError as error:
            raise KubeError(f"GET {path}: the answer is not a Lease: {error}") from None

    async def _write(self, held: Held | None, record: LeaseRecord) -> None:
        """An update carries the version that was read, so it fails where anyone wrote since."""
        if held is None:
            verb, path = "POST", LEASES.path(self._namespace)
            metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        else:
            verb, path, metadata = "PUT", LEASES.path(self._namespace, self._name), held.metadata
        body = encode(WrittenLease(LEASES.api_version, LEASES.kind, metadata, record))
        await self._client.request(verb, path, body=body, seconds=REQUEST_SECONDS)
