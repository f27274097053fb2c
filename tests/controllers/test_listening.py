"""Connections that are idle, too many, or never say what they want."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import aiohttp
import pytest
from aiohttp import web

from maitred.controllers import listening
from maitred.controllers.answers.serving import identity
from maitred.controllers.listening import ConnectionGuard, Limits, bound, serving_on
from maitred.model.manifest import InputError

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-"
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENT = 1000.0
LONG = 30.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Place:
    def __init__(self, port: int) -> None:
        self.port = port
        self.busy, self.free = asyncio.Event(), asyncio.Event()
        self.is_stopped = False
        self._open: list[Connection] = []

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/slow":
            self.busy.set()
            try:
                await self.free.wait()
            except asyncio.CancelledError:
                self.is_stopped = True
                raise
        return web.Response(text="ok")

    async def connect(self, words: bytes, secure: ssl.SSLContext | None = None) -> Connection:
        made = await asyncio.open_connection("127.0.0.1", self.port, ssl=secure)
        self._open.append(made)
        made[1].write(words)
        return made

    async def asked(self) -> str:
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{self.port}/") as answer:
            return await answer.text()

    def close(self) -> None:
        for _, writer in self._open:
            writer.transport.abort()


@asynccontextmanager
async def place(limits: Limits, secure: ssl.SSLContext | None = None) -> AsyncIterator[Place]:
    [listener] = bound("127.0.0.1:0", "--listen")
    with closing(listener):
        found, app = Place(listener.getsockname()[1]), web.Application()
        app.router.add_get("/{path:.*}", found.answer)
        async with serving_on([listener], app, limits, secure):
            yield found
            found.close()


def play(
    limits: Limits, story: Callable[[Place], Awaitable[None]], secure: ssl.SSLContext | None = None
) -> None:
    async def run() -> None:
        async with asyncio.timeout(LONG), place(limits, secure) as found:
            await story(found)

    asyncio.run(run())


async def is_cut_off(connection: Connection) -> None:
    """Or this waits for ever."""
    try:
        while await connection[0].read(1000):
            pass
    except ConnectionError:
        pass


@pytest.mark.parametrize("words", [b"", HALF, WHOLE], ids=["nothing", "half a request", "a request before"])
def test_a_connection_without_a_request_is_cut_off(words: bytes) -> None:
    async def story(found: Place) -> None:
        await is_cut_off(await found.connect(words))

    play(Limits(10, 10, 0.05), story)


def test_one_that_is_being_answered_is_not_idle() -> None:
    async def story(found: Place) -> None:
        reader, _ = await found.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await found.busy.wait()
        await is_cut_off(await found.connect(HALF))
        found.free.set()
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    play(Limits(10, 10, 0.05), story)


def test_who_hangs_up_is_answered_no_more() -> None:
    async def story(found: Place) -> None:
        _, writer = await found.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await found.busy.wait()
        writer.transport.abort()
        while not found.is_stopped:
            await asyncio.sleep(0)

    play(Limits(10, 10, PATIENT), story)


@pytest.mark.parametrize(
    "limits", [Limits(3, 100, PATIENT), Limits(100, 3, PATIENT)], ids=["all", "of a peer"]
)
def test_the_one_that_was_idle_for_longest_makes_room(limits: Limits) -> None:
    async def story(found: Place) -> None:
        first = await found.connect(HALF)
        later = [await found.connect(HALF) for _ in range(5)]
        await is_cut_off(first)
        assert await found.asked() == "ok"
        assert later

    play(limits, story)


def test_where_all_are_busy_the_new_one_goes() -> None:
    async def story(found: Place) -> None:
        await found.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await found.busy.wait()
        await is_cut_off(await found.connect(WHOLE))
        found.free.set()

    play(Limits(1, 1, PATIENT), story)


def test_one_that_leaves_takes_no_other_out_of_the_count() -> None:
    """Two are busy and one that was idle has made room: there is no place for a third."""

    async def story(found: Place) -> None:
        idle = await found.connect(HALF)
        for _ in range(2):
            await found.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await found.busy.wait()
            found.busy.clear()
        await is_cut_off(idle)
        await is_cut_off(await found.connect(HALF))
        found.free.set()

    play(Limits(9, 2, PATIENT), story)


def test_a_handshake_has_an_end_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HANDSHAKE_SECONDS", 0.1)
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE

    async def story(found: Place) -> None:
        await is_cut_off(await found.connect(b"\x16"))
        reader, _ = await found.connect(WHOLE, blind)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    play(Limits(1, 1, PATIENT), story, identity())


def test_a_host_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"--answers: no-such-host\.invalid:1: "):
        bound("no-such-host.invalid:1", "--answers")


def test_a_connection_that_comes_as_the_listener_stops_is_not_lost() -> None:
    """It is answered, or it stays with the socket, which is the caller's and may go on listening."""

    async def run() -> None:
        [listener] = bound("127.0.0.1:0", "--listen")
        with closing(listener), closing(socket.create_connection(listener.getsockname()[:2])):
            accepting = asyncio.create_task(
                ConnectionGuard(Limits(9, 9, PATIENT)).accept(listener, never, None)
            )
            await asyncio.sleep(0)
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            listener.accept()[0].close()

    def never() -> asyncio.Protocol:
        raise AssertionError("nothing is taken")

    asyncio.run(run())
