"""A namespace on a server, with what a test says and asks there."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import NAMESPACES, Resource

Json = dict[str, Any]

DEADLINE_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Place:
    client: Client
    namespace: str

    def path(self, resource: Resource, name: str = "", subresource: str = "") -> str:
        return resource.path(self.namespace if resource.namespaced else "", name, subresource)

    async def create(self, resource: Resource, body: Json) -> Json:
        return dict(msgspec.json.decode(await self._send("POST", self.path(resource), body)))

    async def get(self, resource: Resource, name: str) -> Json | None:
        try:
            return await self.client.get(self.path(resource, name), dict)
        except ApiError as error:
            if error.is_gone:
                return None
            raise

    async def merge(self, resource: Resource, name: str, body: Json, subresource: str = "") -> None:
        await self._send("PATCH", self.path(resource, name, subresource), body, MERGE_PATCH)

    async def patch(self, resource: Resource, name: str, body: Json, subresource: str = "") -> None:
        await self._send("PATCH", self.path(resource, name, subresource), body, STRATEGIC_MERGE_PATCH)

    async def delete(self, resource: Resource, name: str, policy: str = "Background") -> None:
        await self._send("DELETE", self.path(resource, name), {"propagationPolicy": policy})

    async def until(self, resource: Resource, name: str, holds: Callable[[Json], bool]) -> Json:
        """The object, once it is as it should be."""
        found: Json | None = None

        async def does() -> bool:
            nonlocal found
            found = await self.get(resource, name)
            return found is not None and holds(found)

        await eventually(does, lambda: f"{resource} {name}: {found}")
        assert found is not None
        return found

    async def until_gone(self, resource: Resource, name: str) -> None:
        async def is_gone() -> bool:
            return await self.get(resource, name) is None

        await eventually(is_gone, lambda: f"{resource} {name} is still there")

    async def _send(self, verb: str, path: str, body: Json, content_type: str = "application/json") -> bytes:
        return await self.client.request(verb, path, body=encode(body), content_type=content_type)


async def eventually(holds: Callable[[], Any], complaint: Callable[[], str]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not await holds():
        assert time.monotonic() < deadline, complaint()
        await asyncio.sleep(0.1)


@asynccontextmanager
async def place(client: Client) -> AsyncIterator[Place]:
    name = f"house-{secrets.token_hex(3)}"
    await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": name}}))
    try:
        yield Place(client, name)
    finally:
        await client.request("DELETE", NAMESPACES.path(name=name), body=encode({}))
