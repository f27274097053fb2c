"""Any object of the API, by what its manifest says it is."""

from collections.abc import Mapping
from typing import Any

import msgspec

from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import Resource
from maitred.model.meta import Lean

Json = dict[str, Any]

_NOTHING: Mapping[str, str] = {}


class WorldResource(Lean, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class ServedList(Lean, frozen=True):
    resources: tuple[WorldResource, ...] = ()


class WorldObjects:
    """Raises KubeError for what the server refuses; what it does not serve is asked for once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: dict[str, tuple[Resource, ...]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        if api_version not in self._served:
            self._served[api_version] = await self._discover(api_version)
        for resource in self._served[api_version]:
            if resource.kind == kind:
                return resource
        raise KubeError(
            f"the server has no {kind} of {api_version}; `kubectl api-resources` lists what it has"
        )

    async def _discover(self, api_version: str) -> tuple[Resource, ...]:
        group, _, version = api_version.rpartition("/")
        try:
            listed = await self._client.get(f"/api{'s' if group else ''}/{api_version}", ServedList)
        except ApiError as error:
            if error.is_gone:
                return ()
            raise
        return tuple(
            Resource(group, version, served.name, served.kind, served.namespaced)
            for served in listed.resources
            if "/" not in served.name
        )

    async def path(self, body: Json, subresource: str = "") -> str:
        """Of an object as it is written in a manifest."""
        resource = await self.resource(body["apiVersion"], body["kind"])
        metadata = body["metadata"]
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        return resource.path(namespace, metadata["name"], subresource)

    async def create(self, body: Json) -> Json:
        path = (await self.path(body)).rpartition("/")[0]
        return await self.send("POST", path, body)

    async def apply(self, body: Json) -> tuple[Json, bool]:
        """The object is there as it is written; what others wrote besides stays. And whether it is new."""
        try:
            return await self.create(body), True
        except ApiError as error:
            if not error.is_conflict:
                raise
        return await self.send("PATCH", await self.path(body), body, MERGE_PATCH), False

    async def delete(self, path: str, *, at_once: bool = False) -> bool:
        """Whether it was there. What it owns goes with it. `at_once` asks no kubelet to end a pod first."""
        options = {"propagationPolicy": "Background", **({"gracePeriodSeconds": 0} if at_once else {})}
        try:
            await self.send("DELETE", path, options)
        except ApiError as error:
            if error.is_gone:
                return False
            raise
        return True

    async def find(self, path: str) -> Json | None:
        try:
            found = await self._client.get(path, dict)
        except ApiError as error:
            if error.is_gone:
                return None
            raise
        return found

    async def list(
        self, resource: Resource, selector: Mapping[str, str] = _NOTHING, namespace: str = ""
    ) -> list[Json]:
        found = await self._client.get(resource.path(namespace), dict, params=selector)
        return list(found.get("items") or ())

    async def patch(self, path: str, body: Json) -> Json:
        return await self.send("PATCH", path, body, MERGE_PATCH)

    async def send(self, verb: str, path: str, body: Json, content_type: str = "application/json") -> Json:
        answer = await self._client.request(verb, path, body=encode(body), content_type=content_type)
        return dict(msgspec.json.decode(answer))
