"""A server in the event loop of the test, and somebody who asks it things."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from maitred.sandbox.apiserver.server import ApiServer
from maitred.sandbox.apiserver.users import ADMIN, User

TOKEN = "let-me-in"
PODS = "/api/v1/namespaces/default/pods"
NOTES = "/api/v1/namespaces/default/configmaps"
NO_PARAMS: Mapping[str, str] = {}


class Session:
    def __init__(self, server: ApiServer, http: aiohttp.ClientSession) -> None:
        self.server = server
        self.http = http

    async def ask(
        self,
        verb: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] = NO_PARAMS,
        content_type: str = "application/json",
        token: str = TOKEN,
    ) -> tuple[int, Any]:
        """The status and the answer."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        url = self.server.url + path
        async with self.http.request(verb, url, json=body, params=params, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def make(self, path: str, body: Any) -> Any:
        status, made = await self.ask("POST", path, body)
        assert status == 201, made
        return made

    @asynccontextmanager
    async def watch(self, path: str, **params: str) -> AsyncIterator["Watch"]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        query = {"watch": "true", **params}
        async with self.http.get(self.server.url + path, params=query, headers=headers) as answer:
            yield Watch(answer)


class Watch:
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def next(self) -> tuple[str, Any]:
        """The type of the next event, and its object. An empty type: there is no more."""
        line = await self.answer.content.readline()
        if not line:
            return "", None
        event = json.loads(line)
        return event["type"], event["object"]


@asynccontextmanager
async def session(users: Mapping[str, User] | None = None) -> AsyncIterator[Session]:
    async with ApiServer(users or {TOKEN: ADMIN}) as server:
        trusted = ssl.create_default_context(cadata=server.authority.decode())
        connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
        async with aiohttp.ClientSession(connector=connector) as http:
            yield Session(server, http)


def pod(name: str, **spec: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}], **spec}}


def note(name: str, labels: Mapping[str, str] | None = None, **data: str) -> Any:
    return {"metadata": {"name": name, "labels": dict(labels or {})}, "data": data}
