"""The API as the people of a scenario use it: JSON in and out, and waiting until something holds."""

import asyncio
import inspect
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError, Unreachable
from maitred.kube.resources import Resource

Json = dict[str, Any]

DEADLINE_SECONDS = 60.0
"""Long after anything that works has happened, also on a busy machine."""
POLL_SECONDS = 0.02
APPLY_PATCH = "application/apply-patch+yaml"
NOW: Json = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class Api:
    """What belongs to one namespace, and what belongs to none."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def path(self, resource: Resource, name: str = "") -> str:
        return resource.path(self.namespace if resource.namespaced else "", name)

    async def create(self, resource: Resource, body: Json) -> Json:
        return await self._send("POST", self.path(resource), body)

    async def try_out(self, resource: Resource, body: Json) -> None:
        """Whether the server would take it: it raises ApiError if not, and keeps nothing."""
        params = {"dryRun": "All"}
        await self.client.request("POST", self.path(resource), params=params, body=encode(body))

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.client.get(self.path(resource, name), dict)

    async def list(self, resource: Resource) -> list[Json]:
        """With the kind of each, which the server leaves out of lists."""
        found = await self.client.get(self.path(resource), dict)
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [{**kind, **item} for item in found["items"]]

    async def patch(self, resource: Resource, name: str, body: Json) -> Json:
        answer = await self.client.request(
            "PATCH", self.path(resource, name), body=encode(body), content_type=MERGE_PATCH
        )
        return dict(json.loads(answer))

    async def patch_status(self, resource: Resource, name: str, status: Json) -> None:
        path, body = f"{self.path(resource, name)}/status", encode({"status": status})
        await self.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def apply_status(self, resource: Resource, name: str, status: Json) -> None:
        """These fields are ours from now on, whoever else says the same."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "status": status}
        path, params = f"{self.path(resource, name)}/status", {"fieldManager": "scenario", "force": "true"}
        await self.client.request("PATCH", path, params=params, body=encode(body), content_type=APPLY_PATCH)

    async def delete(self, resource: Resource, name: str, options: Json = NOW) -> None:
        try:
            await self._send("DELETE", self.path(resource, name), options)
        except ApiError as error:
            if not error.is_gone:
                raise

    async def delete_all(self, resource: Resource) -> None:
        await self._send("DELETE", self.path(resource), NOW)

    async def _send(self, verb: str, path: str, body: Json) -> Json:
        return dict(json.loads(await self.client.request(verb, path, body=encode(body))))

    async def answers(self) -> bool:
        try:
            await self.client.request("GET", "/readyz", seconds=2)
        except (ApiError, Unreachable):
            return False
        return True


async def eventually(missing: Callable[[], str | Awaitable[str]], seconds: float = DEADLINE_SECONDS) -> None:
    """Asks what is still missing until it is nothing."""
    deadline = time.monotonic() + seconds
    while True:
        answer = missing()
        what = await answer if inspect.isawaitable(answer) else answer
        if not what:
            return
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(POLL_SECONDS)
