"""Listeners that no client can hold on to: few connections, none of them idle for long.

aiohttp closes a connection that rests between two requests, and waits for ever for the first one. Here a
connection that has no request under way is cut off after a while: whether nothing came on it, headers came
drop by drop, or an answer is not read. When there are too many, the one that has been idle for longest makes
room for a new one, so that a client that connects and says nothing keeps no other out. What a request may
take is up to whoever answers it.
"""

import asyncio
import errno
import os
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web

from maitred.model.manifest import InputError

HANDSHAKE_SECONDS = 5.0
GOODBYE_SECONDS = 1.0
BACKLOG = 128
NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""A machine without IPv6 has only one of the two addresses that an empty host stands for."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int
    of_one_peer: int
    idle_seconds: float


def bound(listen: str, option: str) -> list[socket.socket]:
    """Sockets that listen on `host:port`, on every address for an empty host. Raises InputError."""
    host, _, port = listen.rpartition(":")
    found = list[socket.socket]()
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            try:
                found.append(listening(family, address))
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise
        if not found:
            raise OSError(errno.EADDRNOTAVAIL, "")
    except OSError as error:
        for one in found:
            one.close()
        what = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)
        raise InputError(
            option, "", "", f"{listen}: {what.lower()}; choose another address, or '' to turn it off"
        ) from None
    return found


def listening(family: int, address: Any) -> socket.socket:
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind(address)
        found.listen(BACKLOG)
        found.setblocking(False)
    except OSError:
        found.close()
        raise
    return found


@asynccontextmanager
async def serving_on(
    sockets: Sequence[socket.socket],
    app: web.Application,
    limits: Limits,
    secure: ssl.SSLContext | None = None,
    **settings: Any,
) -> AsyncIterator[None]:
    """For as long as the block runs. The sockets stay the caller's."""
    guard = ConnectionGuard(limits)
    app.middlewares.insert(0, guard.watch)
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=limits.idle_seconds,
        lingering_time=GOODBYE_SECONDS,
        shutdown_timeout=GOODBYE_SECONDS,
        **settings,
    )
    await runner.setup()
    assert runner.server is not None
    loops = [guard.cut_off_idle_ones(), *(guard.accept(one, runner.server, secure) for one in sockets)]
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await runner.cleanup()
        guard.close()


class ConnectionGuard:
    """Counts connections from the moment they are accepted, before TLS."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open = Counter[str]()
        """By peer."""
        self._idle_since: dict[asyncio.Transport, float | None] = {}
        """None while a request is answered."""
        self._greeting = set[asyncio.Task[None]]()

    async def accept(
        self,
        listener: socket.socket,
        protocols: Callable[[], asyncio.Protocol],
        secure: ssl.SSLContext | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await readable(listener)
            try:
                # Between this and the task that takes care of it there is no wait in which it could be lost.
                connection, address = listener.accept()
            except BlockingIOError:  # whoever called has hung up
                continue
            except OSError:  # too many files are open, for one
                await asyncio.sleep(0.1)
                continue
            connection.setblocking(False)
            peer = str(address[0])
            if not self._has_room(peer):
                connection.close()
                continue
            self._open[peer] += 1
            task = loop.create_task(self._greet(connection, Watched(protocols(), self, peer), secure))
            self._greeting.add(task)
            task.add_done_callback(self._greeting.discard)

    def _has_room(self, peer: str) -> bool:
        if self._open[peer] >= self._limits.of_one_peer:
            return self._cut_off_one(peer)
        return self._open.total() < self._limits.connections or self._cut_off_one(None)

    def _cut_off_one(self, peer: str | None) -> bool:
        """The one that has been idle for longest, of one peer or of all."""
        idle = [
            (since, transport)
            for transport, since in self._idle_since.items()
            if since is not None and (peer is None or peer_of(transport) == peer)
        ]
        if not idle:
            return False
        _, oldest = min(idle, key=lambda one: one[0])
        cut_off(oldest)
        return True

    async def _greet(
        self, connection: socket.socket, protocol: "Watched", secure: ssl.SSLContext | None
    ) -> None:
        timeouts = {} if secure is None else {"ssl_handshake_timeout": HANDSHAKE_SECONDS}
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection, ssl=secure, **timeouts
            )
        except (OSError, TimeoutError, ssl.SSLError):
            connection.close()
            protocol.never_made()

    # -- told by connections -----------------------------------------------------------------------------

    def came(self, transport: asyncio.Transport) -> None:
        self._idle_since.setdefault(transport, time.monotonic())

    def left(self, transport: asyncio.Transport | None, peer: str) -> None:
        if transport is not None:
            self._idle_since.pop(transport, None)
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]

    @property
    def watch(self) -> Any:
        @web.middleware
        async def watch(request: web.Request, handler: Handler) -> web.StreamResponse:
            transport = request.transport
            self._set_idle_since(transport, None)
            try:
                return await handler(request)
            finally:
                self._set_idle_since(transport, time.monotonic())

        return watch

    def _set_idle_since(self, transport: asyncio.Transport | None, since: float | None) -> None:
        if transport is not None and transport in self._idle_since:
            self._idle_since[transport] = since

    async def cut_off_idle_ones(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._limits.idle_seconds / 4))
            long_ago = time.monotonic() - self._limits.idle_seconds
            for transport, since in list(self._idle_since.items()):
                if since is not None and since < long_ago:
                    cut_off(transport)

    def close(self) -> None:
        for task in self._greeting:
            task.cancel()
        for transport in list(self._idle_since):
            cut_off(transport)


async def readable(listener: socket.socket) -> None:
    """Until there is a connection to accept, at least for a moment."""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, woken.set)
    try:
        await woken.wait()
    finally:
        loop.remove_reader(listener)


def cut_off(transport: asyncio.Transport) -> None:
    """Without a goodbye, which would have to be waited for."""
    transport.abort()


def peer_of(transport: asyncio.Transport) -> str:
    address = transport.get_extra_info("peername")
    return str(address[0]) if address else ""


class Watched(asyncio.Protocol):
    """A protocol of aiohttp, and a word to the guard when its connection comes and goes."""

    def __init__(self, inner: asyncio.Protocol, guard: ConnectionGuard, peer: str) -> None:
        self._inner, self._guard, self._peer = inner, guard, peer
        self._transport: asyncio.Transport | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._guard.came(self._transport)
        self._inner.connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.never_made()
        self._inner.connection_lost(error)

    def never_made(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._guard.left(self._transport, self._peer)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
