"""Connections of the server, each known from the moment it is accepted until it is gone.

aiohttp hears of a connection once its TLS handshake is over. One that it closes says goodbye and stays until
the client has done so too, or half a minute. Whoever stops the server must leave neither of them behind: they
would outlive the event loop.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

BACKLOG = 1024
SHORTEST = 0.001
"""For connections to end by themselves when the server stops; 0 would mean for ever."""
ACCEPTING_AGAIN_SECONDS = 0.1


class Connections(web.Server):
    def __init__(self, handler: Any, **settings: Any) -> None:
        super().__init__(handler, **settings)
        self._transports: dict[web.RequestHandler, asyncio.Transport] = {}
        self._greeting = set[asyncio.Task[None]]()
        self._later: asyncio.TimerHandle | None = None

    def listen(self, listener: socket.socket, secure: ssl.SSLContext) -> None:
        """Accept whoever comes, until `stop_listening`. No task waits to accept: one that is cancelled can
        lose what it has just accepted."""
        asyncio.get_running_loop().add_reader(listener, self._accept, listener, secure)

    def stop_listening(self, listener: socket.socket) -> None:
        if self._later is not None:
            self._later.cancel()
        asyncio.get_running_loop().remove_reader(listener)
        listener.close()

    def _accept(self, listener: socket.socket, secure: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # too many files are open, for one
            loop.remove_reader(listener)
            self._later = loop.call_later(ACCEPTING_AGAIN_SECONDS, self.listen, listener, secure)
            return
        connection.setblocking(False)
        task = loop.create_task(self._greet(connection, secure))
        self._greeting.add(task)
        task.add_done_callback(self._greeting.discard)

    async def _greet(self, connection: socket.socket, secure: ssl.SSLContext) -> None:
        with suppress(OSError):  # what comes is no TLS, or nothing comes at all; the loop has closed it then
            await asyncio.get_running_loop().connect_accepted_socket(self, connection, ssl=secure)

    async def stop_greeting(self) -> None:
        """Cut off who has not finished the handshake."""
        await asyncio.sleep(0)  # A greeting that has not begun could not end its connection.
        for task in self._greeting:
            task.cancel()
        await asyncio.gather(*self._greeting, return_exceptions=True)

    async def cut(self) -> None:
        """Say goodbye, and wait for no answer. Before aiohttp does so: a transport that is closed twice can
        no longer be aborted."""
        transports = list(self._transports.values())
        for transport in transports:
            if not transport.is_closing():
                transport.close()
        for transport in transports:
            transport.abort()
        await asyncio.sleep(0)  # The loop closes their sockets.

    # -- told by aiohttp -----------------------------------------------------------------------------------

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        self._transports[handler] = transport
        super().connection_made(handler, transport)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        self._transports.pop(handler, None)
        super().connection_lost(handler, exc)


@asynccontextmanager
async def serving(
    connections: Connections, listener: socket.socket, secure: ssl.SSLContext
) -> AsyncIterator[None]:
    """For as long as the block runs; then the listener is closed, and every connection is cut."""
    runner = web.ServerRunner(connections, shutdown_timeout=SHORTEST, handle_signals=False)
    await runner.setup()
    listener.listen(BACKLOG)
    connections.listen(listener, secure)
    try:
        yield
    finally:
        connections.stop_listening(listener)
        await connections.stop_greeting()
        await connections.cut()
        await runner.cleanup()
