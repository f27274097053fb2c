"""Requests, reads and streams against a server that misbehaves."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from aiohttp import web

from maitred.kube import client as module
from maitred.kube.client import Client, pause, seconds_of
from maitred.kube.connection import Connection
from maitred.kube.connection_errors import Settings
from maitred.kube.credentials import Fixed
from maitred.kube.errors import ApiError, KubeError, Unreachable
from maitred.model.meta import Lean
from tests.kube.local import Handler, echo, headers_named, one_line, serving

T = TypeVar("T")
SETTINGS = Settings(user="user dev in kube.yaml")


class Version(Lean, frozen=True):
    git_version: str


def with_client(handler: Handler, use: Callable[[Client], Awaitable[T]], prefix: str = "") -> T:
    """What `use` gives with a client of a server that answers by the handler."""

    async def scenario() -> T:
        async with serving(handler) as server:
            connection = Connection(server + prefix, Fixed({}), settings=SETTINGS)
            async with Client(connection) as client:
                return await use(client)

    return asyncio.run(scenario())


def api_error(handler: Handler, verb: str = "GET", path: str = "/api/v1/pods") -> ApiError:
    with pytest.raises(ApiError) as caught:
        with_client(handler, lambda client: client.request(verb, path))
    one_line(caught.value)
    return caught.value


class Script:
    """Answers in turn, and the requests that they were for."""

    def __init__(self, *answers: web.Response | Handler) -> None:
        self._answers = list(answers)
        self.requests: list[web.Request] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        answer = self._answers.pop(0)
        return answer if isinstance(answer, web.Response) else await answer(request)


def status(code: int, message: str = "", **headers: str) -> web.Response:
    body = {"kind": "Status", "reason": "TheReason", "message": message}
    return web.json_response(body, status=code, headers=headers)


def version() -> web.Response:
    return web.json_response({"gitVersion": "v1.37.1"})


async def hang_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def half(request: web.Request) -> web.StreamResponse:
    """Promises more than it gives."""
    answer = web.StreamResponse(headers={"Content-Length": "1000"})
    await answer.prepare(request)
    await answer.write(b'{"gitVersion": ')
    return await hang_up(request)


async def silence(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float | None]]:
    """The pauses between attempts that were asked for; none is made."""
    found: list[tuple[int, float | None]] = []

    def no_pause(attempt: int, asked: float | None = None) -> float:
        found.append((attempt, asked))
        return 0.0

    monkeypatch.setattr(module, "pause", no_pause)
    return found


# requests


def test_what_is_sent() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {
                "verb": request.method,
                "path": request.path_qs,
                "type": request.headers.get("Content-Type"),
                "accept": request.headers.get("Accept"),
                "body": await request.text(),
            }
        )

    async def use(client: Client) -> list[Any]:
        posted = await client.request("POST", "/api/v1/bindings", body=b"{}")
        listed = await client.request("GET", "/api/v1/pods", params={"labelSelector": "a in (b, c)"})
        return [json.loads(posted), json.loads(listed)]

    posted, listed = with_client(handler, use, prefix="/k8s/clusters/c-1/")
    assert posted == {
        "verb": "POST",
        "path": "/k8s/clusters/c-1/api/v1/bindings",
        "type": "application/json",
        "accept": "application/json",
        "body": "{}",
    }
    assert listed["path"] == "/k8s/clusters/c-1/api/v1/pods?labelSelector=a+in+%28b%2C+c%29"
    assert listed["type"] is None


def test_who_we_are() -> None:
    told = json.loads(with_client(echo, lambda client: client.request("GET", "/")))
    [agent] = headers_named(told, "User-Agent")
    assert agent.startswith("maitred/")


def test_a_request_is_one_attempt() -> None:
    script = Script(status(503), version())
    assert api_error(script, "POST").status == 503
    assert len(script.requests) == 1


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
@pytest.mark.parametrize("fault", [hang_up, half])
def test_a_write_whose_answer_is_lost_is_not_sent_again(fault: Handler, verb: str) -> None:
    """Not even on a connection that was used before, where HTTP clients like to try again."""
    script = Script(version(), fault, version())

    async def use(client: Client) -> None:
        await client.request(verb, "/first")
        await client.request(verb, "/second")

    with pytest.raises(
        Unreachable, match=r"/second: the connection broke before the answer was complete: \S"
    ):
        with_client(script, use)
    assert [request.path for request in script.requests] == ["/first", "/second"]


def test_an_answer_that_does_not_come() -> None:
    with pytest.raises(Unreachable, match=r"/slow: no answer in time"):
        with_client(silence, lambda client: client.request("GET", "/slow", seconds=0.2))


# answers that are no


def test_an_expired_token() -> None:
    error = api_error(Script(status(401, "Unauthorized")))
    assert str(error) == (
        "GET /api/v1/pods: 401 TheReason: Unauthorized; user dev in kube.yaml may have expired; log in "
        "again or renew the credentials"
    )


def test_a_forbidden_verb() -> None:
    message = 'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope'
    assert str(api_error(Script(status(403, message)))) == (
        f"GET /api/v1/pods: 403 TheReason: {message}; "
        "grant the user this permission (docs/install.md lists what maitred needs)"
    )


def test_nobody_is_forbidden_something() -> None:
    message = 'pods is forbidden: User "system:anonymous" cannot list resource "pods"'
    error = api_error(Script(status(403, message)))
    assert str(error).endswith("; the request had no credentials; check user dev in kube.yaml")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"no\r\nhealthy \x1b[31mupstream", "no healthy [31mupstream"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 10_000, "x" * 200),
        (b"", "Service Unavailable"),
        (b"[]", "[]"),
    ],
)
def test_an_answer_of_somebody_between_us_and_the_server(body: bytes, told: str) -> None:
    error = api_error(Script(web.Response(status=503, body=body)))
    assert str(error).endswith(f" {told}")
    assert error.is_passing


def test_a_redirect_is_not_followed() -> None:
    error = api_error(Script(web.Response(status=302, headers={"Location": "https://login"})), "POST")
    assert error.status == 302


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7.0), (None, None), ("soon", None), ("-1", None), ("\u00b2", None)]
)
def test_retry_after(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def test_pauses_grow_and_have_an_end() -> None:
    assert pause(0) <= 0.1
    assert pause(0, asked=3.0) == 3.0
    assert pause(1000, asked=float("inf")) == module.LONGEST_PAUSE


# reads


def test_a_read_is_tried_again(pauses: list[tuple[int, float | None]]) -> None:
    script = Script(status(429, **{"Retry-After": "3"}), status(503), half, version())
    found = with_client(script, lambda client: client.get("/version", Version))
    assert found == Version("v1.37.1")
    assert pauses == [(0, 3.0), (1, None), (2, None)]


def test_a_read_survives_connections_that_break(pauses: list[tuple[int, float | None]]) -> None:
    script = Script(hang_up, hang_up, hang_up, version())
    assert with_client(script, lambda client: client.get("/version", Version)) == Version("v1.37.1")
    assert pauses


def test_a_read_is_given_up(pauses: list[tuple[int, float | None]]) -> None:
    script = Script(*(status(503, f"attempt {number}") for number in range(10)))
    with pytest.raises(ApiError, match="attempt 4"):
        with_client(script, lambda client: client.get("/version", Version))
    assert len(script.requests) == module.READ_ATTEMPTS


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 501])
def test_a_read_that_is_refused_for_good_is_not_tried_again(code: int) -> None:
    script = Script(status(code), version())
    with pytest.raises(ApiError) as caught:
        with_client(script, lambda client: client.get("/version", Version))
    assert caught.value.status == code
    assert len(script.requests) == 1


@pytest.mark.parametrize("body", ["<html>", "{}", '{"gitVersion": 3}', "\udcff"])
def test_an_answer_that_cannot_be_read(body: str) -> None:
    script = Script(web.Response(body=body.encode(errors="surrogateescape")))
    with pytest.raises(KubeError, match="GET /version: the answer is not a Version: ") as caught:
        with_client(script, lambda client: client.get("/version", Version))
    one_line(caught.value)


# streams


def streaming(*chunks: bytes, end: Handler | None = None) -> Handler:
    """Sends the chunks one by one, then ends the stream as it should, or as `end` does."""

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for chunk in chunks:
            await answer.write(chunk)
        if end is not None:
            await end(request)
        return answer

    return handler


async def read_lines(client: Client, into: list[bytes]) -> None:
    async for batch in client.lines("/watch", params={"watch": "true"}):
        into += batch


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"one\ntwo\n"], [b"one", b"two"]),
        ([b"o", b"n", b"e\ntw", b"o\n"], [b"one", b"two"]),
        ([b"one", b"\n", b"two\n"], [b"one", b"two"]),
        ([b"one\ntw"], [b"one"]),
        ([], []),
    ],
)
def test_lines_come_whole_or_not_at_all(chunks: list[bytes], lines: list[bytes]) -> None:
    found: list[bytes] = []
    with_client(streaming(*chunks), lambda client: read_lines(client, found))
    assert found == lines


def test_a_stream_that_breaks_says_so() -> None:
    found: list[bytes] = []
    with pytest.raises(Unreachable, match=r"/watch: the connection broke before the answer was complete: \S"):
        with_client(streaming(b"one\ntw", end=hang_up), lambda client: read_lines(client, found))
    assert found == [b"one"]


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 2**20)
    with pytest.raises(Unreachable, match=r"GET /watch: a line of more than 1 MiB"):
        with_client(streaming(*[b"x" * 2**18] * 5), lambda client: read_lines(client, []))


def test_a_stream_that_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        with_client(Script(status(410, "too old")), lambda client: read_lines(client, []))
    assert caught.value.is_expired


def test_a_silent_stream_can_be_left() -> None:
    async def use(client: Client) -> None:
        async with asyncio.timeout(0.2):
            await read_lines(client, [])

    with pytest.raises(TimeoutError):
        with_client(streaming(b"one\n", end=silence), use)
