"""Clients that know no manners: they are refused, and everyone else is served as before."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO

import aiohttp
import pytest

from maitred.sandbox.apiserver import front
from tests.sandbox.apiserver.session import NOTES, PODS, TOKEN, Session, note, pod, session

MIB = 2**20


def with_session(test: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), session() as here:
            await test(here)
            assert (await here.ask("GET", NOTES))[0] == 200, "others are served as before"

    asyncio.run(run())


def test_nobody_comes_in_without_a_token() -> None:
    async def test(here: Session) -> None:
        for path in (PODS, "/api", "/version", "/openapi/v3", "/nowhere"):
            async with here.http.get(here.server.url + path) as answer:
                assert (answer.status, (await answer.json())["reason"]) == (401, "Unauthorized"), path
        for token in ("", "wrong", TOKEN + "x", TOKEN[:-1], "\u00fc"):
            assert (await here.ask("GET", PODS, token=token))[0] == 401

    with_session(test)


def test_it_listens_on_loopback_only() -> None:
    async def test(here: Session) -> None:
        assert here.server.url.startswith("https://127.0.0.1:")
        port = int(here.server.url.rpartition(":")[2])
        with socket.socket() as elsewhere:
            # Another address of this machine, also a loopback one, is not the one that it listens on.
            assert elsewhere.connect_ex(("127.0.0.2", port)) != 0

    with_session(test)


def test_a_body_of_100_mb_is_refused_before_it_is_read() -> None:
    async def test(here: Session) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        large = BytesIO(b" " * (100 * MIB))
        async with here.http.post(here.server.url + NOTES, data=large, headers=headers) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (413, "RequestEntityTooLarge")

    with_session(test)


def test_a_body_without_end_is_refused() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * MIB

    async def test(here: Session) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            async with here.http.post(here.server.url + NOTES, data=endless(), headers=headers) as answer:
                assert answer.status == 413
        except aiohttp.ClientConnectionError:
            pass  # It was hung up on while it went on talking.

    with_session(test)


def test_a_body_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "BODY_SECONDS", 0.1)

    async def test(here: Session) -> None:
        answer = await speak(here, b"Content-Length: 1000\r\n\r\n{")
        assert b" 408 " in answer.splitlines()[0]

    with_session(test)


def test_who_hangs_up_in_mid_request_leaves_nothing_behind() -> None:
    async def test(here: Session) -> None:
        for _ in range(50):
            _, writer = await connect(here)
            writer.write(head(here) + b"Content-Length: 1000\r\n\r\n{")
            await writer.drain()
            writer.transport.abort()
        async with asyncio.timeout(5):
            while here.server.front.bodies:
                await asyncio.sleep(0.01)

    with_session(test)


def test_a_flood_is_asked_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MOST_AT_ONCE", 4)

    async def test(here: Session) -> None:
        slow = [await connect(here) for _ in range(4)]
        for _, writer in slow:
            writer.write(head(here) + b"Content-Length: 1000\r\n\r\n{")
        async with asyncio.timeout(5):
            while here.server.front.bodies < 4:
                await asyncio.sleep(0.01)
        status, body = await here.ask("POST", NOTES, note("a"))
        assert (status, body["reason"], body["details"]["retryAfterSeconds"]) == (429, "TooManyRequests", 1)
        for _, writer in slow:
            writer.transport.abort()

    with_session(test)


def test_a_thousand_requests_at_once_are_all_answered() -> None:
    async def test(here: Session) -> None:
        answers = await asyncio.gather(*(here.ask("POST", PODS, pod(f"p{n}")) for n in range(1000)))
        assert {status for status, _ in answers} <= {201, 429}
        _, listed = await here.ask("GET", PODS)
        assert len(listed["items"]) == sum(status == 201 for status, _ in answers)

    with_session(test)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"metadata": []}',
        b'{"metadata": {"labels": {"a": 1}}}',
        b'{"metadata": {"name": "a"}, "data": ' + b"[" * 100_000,
        b'{"spec":' * 50_000,
    ],
)
def test_what_makes_no_sense_is_a_bad_request(data: bytes) -> None:
    async def test(here: Session) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        async with here.http.post(here.server.url + NOTES, data=data, headers=headers) as answer:
            body = await answer.json()
            assert (answer.status, body["kind"], body["status"]) == (400, "Status", "Failure"), body

    with_session(test)


def test_yaml_that_grows_when_it_is_read() -> None:
    bomb = "a: &a [x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )

    async def test(here: Session) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/yaml"}
        async with here.http.post(here.server.url + NOTES, data=bomb, headers=headers) as answer:
            assert answer.status == 400

    with_session(test)


async def connect(here: Session) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    trusted = ssl.create_default_context(cadata=here.server.authority.decode())
    port = int(here.server.url.rpartition(":")[2])
    return await asyncio.open_connection("127.0.0.1", port, ssl=trusted)


def head(here: Session) -> bytes:
    host = here.server.url.partition("://")[2]
    lines = [f"POST {NOTES} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {TOKEN}"]
    return "\r\n".join([*lines, "Content-Type: application/json", ""]).encode()


async def speak(here: Session, rest: bytes) -> bytes:
    reader, writer = await connect(here)
    writer.write(head(here) + rest)
    answer = await reader.read(MIB)
    writer.transport.abort()
    return answer
