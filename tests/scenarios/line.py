"""The line between a scheduler and its server, where faults happen.

Faults are put under the client, so that all of the scheduler is tested with them as it runs in production.
Every request is also written down here: what was asked, and what the server refused.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from maitred.kube.client import Client, Params
from maitred.kube.connection import Connection
from maitred.kube.errors import ApiError

Send = Callable[[], Awaitable[bytes]]
Batches = AsyncGenerator[list[bytes], None]
READS = ("GET",)


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """What RBAC asks of a request."""

    verb: str
    group: str
    resource: str


@dataclass(slots=True)
class Journal:
    """All that went over one line."""

    rights: set[Right] = field(default_factory=set)
    forbidden: list[str] = field(default_factory=list)
    expired: int = 0
    """How often the server said that a version is too old to go on from."""
    writes: list[str] = field(default_factory=list)
    """`POST /api/v1/…`, in the order in which they were sent."""


class Trouble:
    """None at all. What makes some overrides what it disturbs."""

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        return await send()

    async def opening(self, path: str, params: Params) -> None:
        """A watch is about to begin."""

    async def arriving(self, path: str, batch: list[bytes]) -> list[bytes]:
        """Lines of a watch have come; they go on as returned. What is lost when this raises stays lost."""
        return batch


class Line(Client):
    def __init__(self, connection: Connection, journal: Journal) -> None:
        super().__init__(connection)
        self.journal = journal
        self.trouble = Trouble()

    async def request(self, verb: str, path: str, **options: Any) -> bytes:
        params = options.get("params") or {}
        self.journal.rights.add(right_of(verb, path, params))

        async def send() -> bytes:
            if verb not in READS:
                self.journal.writes.append(f"{verb} {path}")
            return await super(Line, self).request(verb, path, **options)

        try:
            return await self.trouble.request(verb, path, send)
        except ApiError as error:
            self._note(error)
            raise

    async def lines(self, path: str, *, params: Params) -> Batches:
        self.journal.rights.add(right_of("GET", path, params))
        try:
            await self.trouble.opening(path, params)
            async with aclosing(super().lines(path, params=params)) as stream:
                async for batch in stream:
                    self.journal.expired += sum(map(says_expired, batch))
                    yield await self.trouble.arriving(path, batch)
        except ApiError as error:
            self._note(error)
            raise

    def _note(self, error: ApiError) -> None:
        if error.status == 403:
            self.journal.forbidden.append(str(error))
        self.journal.expired += error.is_expired


def says_expired(line: bytes) -> bool:
    return b'"ERROR"' in line and b'"code":410' in line


def right_of(verb: str, path: str, params: Params) -> Right:
    """As the API server tells verbs apart."""
    parts = path.strip("/").split("/")
    if parts[0] not in ("api", "apis") or len(parts) < 3:
        return Right("get", "", path)
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    named, resource = len(rest) > 1, "/".join((rest[0], *rest[2:]))
    if verb == "GET":
        word = "watch" if params.get("watch") == "true" else "get" if named else "list"
    else:
        word = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[verb]
    return Right(word, group, resource)


async def never() -> bytes:
    """An answer that does not come, as a process that has died does not get one."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError
