"""One resource of an API server with its whole history, which lists and watches as the real one does.

It can be told to misbehave: each request takes the next trouble from a queue.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import RawTestServer

from maitred.kube.client import Client
from maitred.kube.connection import Connection
from maitred.kube.reflector import INITIAL_EVENTS_END

Object = dict[str, Any]
NAMESPACE = "team"


class NoCredentials:
    async def headers(self) -> dict[str, str]:
        return {}

    def invalidate(self) -> None:
        pass


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with one request."""

    status: int = 0
    """Refuse with this status."""
    message: str = ""
    lines: int = 0
    """So many lines of a watch come through before `then` comes to pass."""
    then: str = ""
    """`tear` the connection within a line, `end` the watch, fall `silent`, say `garbage`, or the code of an
    ERROR event. A list, which is one answer, knows only `tear`."""
    meanwhile: Callable[[], None] = lambda: None
    """What happens on the server before the answer."""


class Library:
    def __init__(self) -> None:
        self.version = 100
        self.compacted = 0
        self.history: list[tuple[int, str, Object]] = []
        self.troubles: deque[Trouble] = deque()
        self.streams = True
        self.queries: list[dict[str, str]] = []
        self._news = asyncio.Event()
        self._uids = 0

    # -- what is kept ----------------------------------------------------------------------------------

    @property
    def objects(self) -> dict[str, Object]:
        return self.objects_at(self.version)

    def objects_at(self, version: int) -> dict[str, Object]:
        found: dict[str, Object] = {}
        for at, kind, item in self.history:
            if at > version:
                break
            name = item["metadata"].get("name", "")
            if kind == "DELETED":
                del found[name]
            elif kind != "BOOKMARK":
                found[name] = item
        return dict(sorted(found.items()))

    def put(self, name: str, **parts: Any) -> None:
        """Create the object, or change it."""
        old = self.objects.get(name)
        self._uids += old is None
        uid = old["metadata"]["uid"] if old else f"uid-{self._uids}"
        metadata = {"name": name, "namespace": NAMESPACE, "uid": uid}
        self._write("MODIFIED" if old else "ADDED", {"metadata": metadata, **parts})

    def delete(self, name: str) -> None:
        if old := self.objects.get(name):
            self._write("DELETED", {**old, "metadata": dict(old["metadata"])})

    def replace(self, name: str) -> None:
        """Another object of the same name."""
        self.delete(name)
        self.put(name)

    def bookmark(self) -> None:
        """Tell the watches how far they are, after something that they do not see."""
        self._write("BOOKMARK", bookmark(0))

    def compact(self) -> None:
        """Forget how things came to be as they are."""
        self.compacted = self.version

    def _write(self, kind: str, item: Object) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, kind, item))
        self._news.set()
        self._news = asyncio.Event()

    # -- what is answered ------------------------------------------------------------------------------

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        query = dict(request.query)
        self.queries.append(query)
        trouble = self.troubles.popleft() if self.troubles else Trouble()
        trouble.meanwhile()
        if trouble.status:
            return refusal(trouble.status, trouble.message)
        if query.get("watch") == "true":
            return await self._watch(request, query, trouble)
        if trouble.then == "tear":
            return web.Response(text='{"metadata": {"resourceVersion": "1')
        return self._page(query)

    def _page(self, query: dict[str, str]) -> web.Response:
        at, start = self.version, 0
        if token := query.get("continue"):
            at, start = (int(part) for part in token.split("/"))
            if at < self.compacted:
                return refusal(410, "The provided continue parameter is too old")
        items = list(self.objects_at(at).values())
        end = start + int(query["limit"])
        metadata = {"resourceVersion": str(at), **({"continue": f"{at}/{end}"} if end < len(items) else {})}
        return web.json_response({"metadata": metadata, "items": items[start:end] or None})

    async def _watch(
        self, request: web.BaseRequest, query: dict[str, str], trouble: Trouble
    ) -> web.StreamResponse:
        initial = query.get("sendInitialEvents") == "true"
        if initial and not self.streams:
            return refusal(422, "sendInitialEvents is forbidden for watch unless the gate is enabled")
        answer = web.StreamResponse()
        await answer.prepare(request)
        count = 0
        async for batch in self._batches(initial, int(query.get("resourceVersion", 0))):
            allowed = batch[: trouble.lines - count] if trouble.then else batch
            count += len(allowed)
            await answer.write(b"".join(line(*event) for event in allowed))
            if trouble.then and count == trouble.lines:
                await misbehave(answer, request, trouble)
                break
        return answer

    async def _batches(self, initial: bool, since: int) -> AsyncIterator[list[tuple[str, Object]]]:
        """What a watch says: each batch together. The first may be empty."""
        if initial:
            since = self.version
            listed = [("ADDED", item) for item in self.objects.values()]
            yield [*listed, ("BOOKMARK", bookmark(since, **{INITIAL_EVENTS_END: "true"}))]
        while True:
            if since < self.compacted:
                yield [("ERROR", status(410, "too old resource version"))]
                return
            news = [(kind, item) for at, kind, item in self.history if at > since]
            since = self.version
            yield news
            while since == self.version:
                await self._news.wait()


def line(kind: str, item: Object) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def status(code: int, message: str) -> Object:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": "Because", "message": message}


def refusal(code: int, message: str) -> web.Response:
    return web.json_response(status(code, message), status=code)


def bookmark(version: int, **annotations: str) -> Object:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None, "annotations": annotations}
    return {"kind": "Pod", "metadata": metadata}


async def misbehave(answer: web.StreamResponse, request: web.BaseRequest, trouble: Trouble) -> None:
    if trouble.then == "silent":
        await asyncio.Event().wait()
    elif trouble.then == "garbage":
        await answer.write(b"<html>\n")
    elif trouble.then == "tear":
        await answer.write(b'{"type":"ADDED","object":{"meta')
        assert request.transport is not None
        request.transport.abort()
    elif trouble.then.isdigit():
        await answer.write(line("ERROR", status(int(trouble.then), "trouble")))


@asynccontextmanager
async def serving(handle: Callable[[web.BaseRequest], Any]) -> AsyncIterator[Client]:
    """A client of a server that answers with `handle`."""
    server = RawTestServer(handle)
    await server.start_server()
    try:
        connection = Connection(str(server.make_url("")), NoCredentials())
        async with Client(connection) as client:
            yield client
    finally:
        await server.close()
