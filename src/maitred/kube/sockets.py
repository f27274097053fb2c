"""The sockets of a client: kept alive while they are used, and awaited when it ends.

A connection that TLS protects is closed with a farewell, which takes its time after the request is over. A
program that ends before leaves sockets open, and Python rightly complains.
"""

import asyncio
import socket
import time
import weakref
from typing import Any

FAREWELL_SECONDS = 2.0
KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A peer that is gone without a word is found out within a minute, where the system can."""


class Sockets:
    def __init__(self) -> None:
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def make(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE:
            if hasattr(socket, name):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._open.add(made)
        return made

    async def closed(self) -> None:
        """Until all are closed, or a peer that does not answer has had time enough."""
        deadline = time.monotonic() + FAREWELL_SECONDS
        while any(item.fileno() != -1 for item in self._open) and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
