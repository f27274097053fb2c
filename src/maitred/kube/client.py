"""One API server: requests with credentials, and answers or errors that say what happened.

A request is one attempt. Whether to try again depends on what was asked: `reading` does for reads, and the
writers, which must never guess what became of a write, decide for themselves.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from maitred import __version__
from maitred.kube.connection import Connection
from maitred.kube.errors import ApiError, KubeError, Unreachable
from maitred.kube.jitter import jitter
from maitred.kube.nesting import UNREADABLE, decode
from maitred.kube.sockets import Sockets
from maitred.model.meta import Lean

T = TypeVar("T")
Params = Mapping[str, str]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 30.0
LONGEST_LINE = 32 * 2**20
"""A watch event is one line with one object; etcd refuses objects of more than a few megabytes."""
READ_ATTEMPTS = 5
LONGEST_PAUSE = 10.0
_NO_PARAMS: Params = {}
_NO_HEADERS: Mapping[str, str] = {}


class Status(Lean, frozen=True):
    """How the API server says no."""

    reason: str = ""
    message: str = ""


_STATUS = msgspec.json.Decoder(Status)
_DECODERS: "dict[type, msgspec.json.Decoder[Any]]" = {}


class Client:
    """Use as `async with Client(connection) as client`."""

    def __init__(self, connection: Connection, *, user_agent: str = f"maitred/{__version__}") -> None:
        self.connection = connection
        self._user_agent = user_agent
        self._base = connection.server.rstrip("/")
        self._sockets = Sockets()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Client":
        self._session = aiohttp.ClientSession(
            # Every watch keeps one connection, so a limit here would let watches starve writes.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, socket_factory=self._sockets.make),
            headers={"User-Agent": self._user_agent},
            read_bufsize=2**18,
            auto_decompress=True,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()
        await self._sockets.closed()

    async def request(
        self,
        verb: str,
        path: str,
        *,
        params: Params = _NO_PARAMS,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] = _NO_HEADERS,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """One attempt. Raises ApiError for an answer that is no, Unreachable where there is no answer.

        aiohttp repeats a GET, PUT or DELETE once by itself when the connection breaks before the answer, so a
        PUT or DELETE needs a precondition. It never repeats a POST or PATCH.
        """
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        more = {"Accept": accept, **headers}
        async with self._answer(verb, path, params, body, content_type, more, timeout) as answer:
            data = await answer.read()
            if answer.status >= 300:
                raise self._refusal(verb, path, answer, data)
            return data

    async def get(
        self,
        path: str,
        into: type[T],
        *,
        params: Params = _NO_PARAMS,
        accept: str = JSON,
        seconds: float = REQUEST_SECONDS,
    ) -> T:
        """Read one thing. A read changes nothing, so it is tried again where that may help."""
        data = await reading(lambda: self.request("GET", path, params=params, accept=accept, seconds=seconds))
        try:
            return decode(decoder(into), data)
        except UNREADABLE as error:
            raise KubeError(f"GET {path}: the answer is not a {into.__name__}: {error}") from None

    async def lines(self, path: str, *, params: Params) -> AsyncGenerator[list[bytes], None]:
        """The lines of a stream that does not end by itself, such as a watch, as many as came together.

        A connection can die without a word, and only the caller knows how long a silence may last: it is for
        the caller to give up.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        accept = {"Accept": JSON}
        async with self._answer("GET", path, params, None, JSON, accept, timeout) as answer, cut_off(answer):
            if answer.status >= 300:
                raise self._refusal("GET", path, answer, await answer.read())
            line, size = [b""], 0
            async for chunk in answer.content.iter_any():
                whole, newline, rest = chunk.rpartition(b"\n")
                if newline:
                    yield b"".join((*line, whole)).split(b"\n")
                    line, size = [rest], len(rest)
                else:
                    line.append(rest)
                    size += len(rest)
                if size > LONGEST_LINE:
                    raise Unreachable(f"GET {path}: a line of more than {LONGEST_LINE // 2**20} MiB")

    @asynccontextmanager
    async def _answer(
        self,
        verb: str,
        path: str,
        params: Params,
        body: bytes | None,
        content_type: str,
        more: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._session is not None, "a Client is used within `async with`"
        # Not a dict: impersonation has headers that occur more than once.
        headers = CIMultiDict(await self.connection.credentials.headers())
        headers.update(more)
        if body is not None:
            headers["Content-Type"] = content_type
        url = URL(f"{self._base}{path}?{urlencode(params)}" if params else self._base + path, encoded=True)
        try:
            async with self._session.request(
                verb,
                url,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=self.connection.proxy,
                ssl=self.connection.context or False,
                server_hostname=self.connection.tls_server_name,
                allow_redirects=False,
            ) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(self.connection.no_answer(verb, path, error)) from error

    def _refusal(self, verb: str, path: str, answer: aiohttp.ClientResponse, data: bytes) -> ApiError:
        try:
            status = _STATUS.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            status = Status(message=data[:200].decode(errors="replace"))
        if answer.status == 401:
            self.connection.credentials.invalidate()
        return ApiError(
            verb,
            path,
            answer.status,
            status.reason or answer.reason or "",
            status.message,
            retry_after=seconds_of(answer.headers.get("Retry-After")),
            hint=self.connection.refusal_hint(answer.status, status.message),
        )


@asynccontextmanager
async def cut_off(stream: aiohttp.ClientResponse) -> AsyncIterator[None]:
    """A goodbye by TLS waits for that of the server, which comes at the end of the stream, if ever."""
    try:
        yield
    finally:
        if stream.connection is not None and stream.connection.transport is not None:
            stream.connection.transport.abort()


def decoder(into: type[T]) -> "msgspec.json.Decoder[T]":
    found = _DECODERS.get(into)
    if found is None:
        found = _DECODERS[into] = msgspec.json.Decoder(into)
    return found


def seconds_of(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None


def pause(attempt: int, asked: float | None = None) -> float:
    """How long to wait before the next attempt: longer each time, and never the same for two of us."""
    usual = min(0.1 * 2.0 ** min(attempt, 10), LONGEST_PAUSE) * jitter.uniform(0.5, 1.0)
    return max(usual, min(asked or 0.0, LONGEST_PAUSE))


async def reading(attempt: Callable[[], Awaitable[T]], attempts: int = READ_ATTEMPTS) -> T:
    """Try a read again while the server is busy, or not to be reached; the last error is raised."""
    for number in range(attempts - 1):
        try:
            return await attempt()
        except Unreachable:
            await asyncio.sleep(pause(number))
        except ApiError as error:
            if not error.is_passing and error.status != 401:
                raise
            await asyncio.sleep(pause(number, error.retry_after))
    return await attempt()


encode = msgspec.json.Encoder().encode
