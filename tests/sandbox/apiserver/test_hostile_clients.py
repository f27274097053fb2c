"""Clients that know no manners: they are refused, and everyone else is served as before."""

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO

import aiohttp
import pytest

from maitred.sandbox.apiserver import request_handler
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
    monkeypatch.setattr(request_handler, "BODY_SECONDS", 0.1)

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
    monkeypatch.setattr(request_handler, "MOST_AT_ONCE", 4)

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


@pytest.mark.slow
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


@pytest.mark.parametrize("sort", ["merge-patch", "strategic-merge-patch"])
def test_a_patch_that_is_too_deep(sort: str) -> None:
    patch = b'{"a":' * 900 + b"1" + b"}" * 900

    async def test(here: Session) -> None:
        await here.make(NOTES, note("a"))
        assert await send(here, "PATCH", f"{NOTES}/a", patch, f"application/{sort}+json") == 400

    with_session(test)


REQUEST = b"GET /api/v1/nodes HTTP/1.1\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"FOO /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        REQUEST + b"\r\n",
        REQUEST + b"Host: x\r\n" + b"X: 1\r\n" * 2000 + b"\r\n",
        REQUEST + b"Host: x\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_answered_and_not_logged(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def test(here: Session) -> None:
        assert b" 400 " in (await say(here, data)).splitlines()[0]
        assert not caplog.records, "nobody here is to blame"

    with_session(test)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("//api/v1/nodes", 404, b"404 page not found"),
        ("/apis//v1/nodes", 404, b"404 page not found"),
        ("/api/v1/nodes/..", 400, b"Name parameter invalid"),
        ("/api/v1/nodes/%2e%2e", 400, b"Name parameter invalid"),
        ("/api/v1/nodes/a%252fb", 400, b"Name parameter invalid"),
        ("/api/v1/nodes/a%2fb", 404, b"could not find the requested resource"),
    ],
)
def test_paths_that_lead_elsewhere(path: str, status: int, words: bytes) -> None:
    async def test(here: Session) -> None:
        asked = (
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        )
        answer = await say(here, asked.encode())
        assert b" %d " % status in answer.splitlines()[0]
        assert words in answer

    with_session(test)


def test_headers_that_are_no_text() -> None:
    known, body = f"Authorization: Bearer {TOKEN}".encode(), json.dumps(note("a", x="y")).encode()

    async def test(here: Session) -> None:
        assert await ask(here, "GET", b"Authorization: Bearer \xe9") == 401
        assert await ask(here, "GET", known, b"Impersonate-User: \xff") == 403
        length = b"Content-Length: %d" % len(body)
        assert await ask(here, "POST", known, b"User-Agent: \xe9/1", length, b"", body) == 201
        _, made = await here.ask("GET", f"{NOTES}/a")
        assert made["metadata"]["managedFields"][0]["manager"] == "\ufffd"

    async def ask(here: Session, verb: str, *lines: bytes) -> int:
        first = f"{verb} {NOTES} HTTP/1.1\r\nHost: x\r\nConnection: close".encode()
        answer = await say(here, b"\r\n".join([first, *lines, b"", b""]))
        return int(answer.split()[1])

    with_session(test)


def test_bodies_are_taken_as_they_are_whatever_their_encoding_is_said_to_be() -> None:
    async def test(here: Session) -> None:
        headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
        }
        for data, status in ((json.dumps(note("a")).encode(), 201), (gzip.compress(b"{}"), 400)):
            async with here.http.post(here.server.url + NOTES, data=BytesIO(data), headers=headers) as answer:
                assert answer.status == status

    with_session(test)


async def send(here: Session, verb: str, path: str, data: bytes, media: str) -> int:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": media}
    async with here.http.request(verb, here.server.url + path, data=BytesIO(data), headers=headers) as answer:
        return answer.status


async def say(here: Session, data: bytes) -> bytes:
    reader, writer = await connect(here)
    writer.write(data)
    answer = await reader.read(MIB)
    writer.transport.abort()
    return answer


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
