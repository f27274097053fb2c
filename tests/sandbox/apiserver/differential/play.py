"""Plays stories on a server, and keeps what it answers in a form that two servers can share."""

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from ssl import SSLContext
from typing import Any

import aiohttp
from yarl import URL

from maitred.kube.connection import Connection
from tests.sandbox.apiserver.differential.normal import Names, normal
from tests.sandbox.apiserver.differential.requests import Json, Request, Step, Story, Watch

AGENT = "corpus/1.0"
PATIENCE_S = 10
"""A stream that should have ended by then."""
POLL_S = 0.05
FUTURE = "deprecated in v1.4"
"""The real server is built here without its minor version, and warns of what is yet to come."""
END = "<end>"
MISSING = "missing-in-answer"


@dataclass(frozen=True, slots=True)
class Answer:
    story: str
    number: int
    """Of the step in its story, from 1."""
    asked: str
    said: Json
    """Status, content type, warnings, and the body or events."""

    @property
    def place(self) -> str:
        return f"{self.story} {self.number}"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two servers, and the headers of each user of it."""

    url: str
    ssl: SSLContext | None
    headers: dict[str, Mapping[str, str]]


async def side(admin: Connection, other: Connection) -> Side:
    headers = {
        "admin": await admin.credentials.headers(),
        "other": await other.credentials.headers(),
        "nobody": {},
        "stranger": {"Authorization": "Bearer of-no-token-at-all"},
    }
    return Side(admin.server, admin.context, headers)


async def play(admin: Connection, other: Connection, stories: list[Story]) -> list[Answer]:
    one = await side(admin, other)
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(headers={"User-Agent": AGENT}, timeout=timeout) as session:
        players = [Player(one, session, each) for each in stories]
        return [answer for player in players for answer in await player.play()]


class Player:
    def __init__(self, side: Side, session: aiohttp.ClientSession, story: Story) -> None:
        self._side = side
        self._session = session
        self._story = story
        self._saved: dict[str, Any] = {"ns": f"d-{story.name}"}
        self._names = Names()

    async def play(self) -> list[Answer]:
        await self._make_namespace()
        answers = list[Answer]()
        for number, step in enumerate(self._story.steps, 1):
            said = await self._step(step)
            answers.append(Answer(self._story.name, number, str(step), said))
        return answers

    async def _make_namespace(self) -> None:
        body = {"metadata": {"name": self._saved["ns"]}}
        await self._request(Request("POST", "/api/v1/namespaces", body))

    async def _step(self, step: Step) -> Json:
        try:
            return await (self._watch(step) if isinstance(step, Watch) else self._request(step))
        except (aiohttp.ClientError, TimeoutError) as error:
            return {"no answer": type(error).__name__}

    async def _request(self, request: Request) -> Json:
        answer = await self._ask(request)
        deadline = time.monotonic() + PATIENCE_S
        while request.awaited not in (0, answer["status"]) and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)
            answer = await self._ask(request)
        return answer

    async def _ask(self, request: Request) -> Json:
        async with self._send(request) as response:
            said = await response.read()
            answer = self._answer(response, request.only, decoded(said))
        if request.saved:
            self._saved[request.saved] = decoded(said)
        return answer

    async def _watch(self, watch: Watch) -> Json:
        events = list[Any]()
        request = Request("GET", watch.path, params=watch.params, accept=watch.accept)
        async with self._send(request) as response:
            for each in watch.during:
                await self._request(each)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await read(response.content, watch.until, events)
                    events.append(END)
            return self._answer(response, (), events)

    def _send(self, request: Request) -> "aiohttp.client._RequestContextManager":
        body = self._filled(request.body)
        self._expect_generated(body)
        headers = {"Accept": request.accept, **self._side.headers[request.user]}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        url = URL(self._side.url + self._filled(request.path)).update_query(self._filled(request.params))
        data = body if isinstance(body, str) else json.dumps(body)
        return self._session.request(
            request.verb,
            url,
            data=None if request.body is None else BytesIO(data.encode()),
            headers=headers,
            ssl=self._side.ssl or True,
            allow_redirects=False,
        )

    def _expect_generated(self, body: Any) -> None:
        metadata = body.get("metadata") if isinstance(body, dict) else None
        if isinstance(metadata, dict) and metadata.get("generateName"):
            self._names.expect(metadata["generateName"])

    def _answer(self, response: aiohttp.ClientResponse, only: tuple[str, ...], body: Any) -> Json:
        return {
            "status": response.status,
            "type": response.headers.get("Content-Type", ""),
            "warnings": [text for text in response.headers.getall("Warning", []) if FUTURE not in text],
            "body": normal(body, self._names, only),
        }

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._filled(key): self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str):
            return value
        name = value.removeprefix("$").partition(".")[0]
        if value.startswith("$") and name in self._saved:
            return self._part(value)
        return value.replace("{ns}", self._saved["ns"])

    def _part(self, reference: str) -> Any:
        value: Any = self._saved
        for name in reference[1:].split("."):
            value = value.get(name, MISSING) if isinstance(value, dict) else MISSING
        return value


async def read(stream: aiohttp.StreamReader, until: tuple[str, str] | None, events: list[Any]) -> None:
    async for line in stream:
        event = decoded(line)
        if not is_plain_bookmark(event):
            events.append(event)
        if until is not None and until == ends_with(event):
            return


def decoded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


def is_plain_bookmark(event: Any) -> bool:
    """Those that come when the server likes; the one that ends the initial events is none of them."""
    if not isinstance(event, dict) or event.get("type") != "BOOKMARK":
        return False
    return "annotations" not in event["object"].get("metadata", {})


def ends_with(event: Any) -> tuple[str, str] | None:
    if not isinstance(event, dict):
        return None
    body = event.get("object", {})
    if body.get("kind") == "Table":
        body = body["rows"][0]["object"] if body["rows"] else {}
    return event.get("type", ""), body.get("metadata", {}).get("name", "")
