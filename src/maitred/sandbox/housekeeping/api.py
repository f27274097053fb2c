"""The API as controllers use it: one attempt each, since the queue behind them tries again."""

import asyncio
from typing import TypeVar

from maitred.kube.client import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, decoder, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS, Resource
from maitred.sandbox.housekeeping.objects import Json, Meta, Pod, WithMeta

T = TypeVar("T", bound=WithMeta)

AT_ONCE = 64


class ControllerApi:
    """All controllers share it, so that none of them crowds the server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def get(self, resource: Resource, metadata: Meta, into: type[T]) -> T | None:
        """As the server has it now; None if there is no such object, or another one of its name."""
        try:
            found = await self.client.get(resource.path(metadata.namespace, metadata.name), into)
        except ApiError as error:
            if error.is_gone:
                return None
            raise
        return found if found.metadata.uid == metadata.uid else None

    async def exists(self, resource: Resource, namespace: str, name: str) -> bool:
        try:
            await self._send("GET", resource.path(namespace, name), None)
        except ApiError as error:
            if error.is_gone:
                return False
            raise
        return True

    async def create(self, resource: Resource, namespace: str, body: Json, into: type[T]) -> T:
        answer = await self._send("POST", resource.path(namespace), body)
        return decoder(into).decode(answer)

    async def merge(
        self, resource: Resource, metadata: Meta, body: Json, into: type[T], subresource: str = ""
    ) -> T:
        """Change an object unless anyone has changed it since it looked like this."""
        version = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        body = {**body, "metadata": {**body.get("metadata", {}), **version}}
        path = resource.path(metadata.namespace, metadata.name, subresource)
        return decoder(into).decode(await self._send("PATCH", path, body, MERGE_PATCH))

    async def patch(self, resource: Resource, metadata: Meta, body: Json, subresource: str = "") -> bool:
        """Merge lists too, whatever else has changed; False if there is no such object any more."""
        body = {**body, "metadata": {**body.get("metadata", {}), "uid": metadata.uid}}
        path = resource.path(metadata.namespace, metadata.name, subresource)
        return await self._unless_gone("PATCH", path, body, STRATEGIC_MERGE_PATCH)

    async def patch_pod_status(self, pod: Pod, status: Json) -> bool:
        return await self.patch(PODS, pod.metadata, {"status": status}, "status")

    async def delete(
        self,
        resource: Resource,
        metadata: Meta,
        *,
        grace_seconds: int | None = None,
        policy: str | None = None,
        unchanged: bool = False,
    ) -> bool:
        """False if it was gone already. `unchanged`: only if it still is as it is known here."""
        conditions = {"uid": metadata.uid}
        if unchanged:
            conditions["resourceVersion"] = metadata.resource_version
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if policy is not None:
            body["propagationPolicy"] = policy
        return await self._unless_gone("DELETE", resource.path(metadata.namespace, metadata.name), body)

    async def remove_finalizer(self, resource: Resource, metadata: Meta, finalizer: str) -> None:
        left = [other for other in metadata.finalizers if other != finalizer]
        body = {
            "metadata": {
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
                "finalizers": left,
            }
        }
        path = resource.path(metadata.namespace, metadata.name)
        await self._unless_gone("PATCH", path, body, MERGE_PATCH)

    async def send(self, verb: str, path: str, body: Json | None = None) -> bytes:
        return await self._send(verb, path, body)

    async def _unless_gone(self, verb: str, path: str, body: Json, content_type: str = JSON) -> bool:
        try:
            await self._send(verb, path, body, content_type)
        except ApiError as error:
            if is_another(error):
                return False
            raise
        return True

    async def _send(self, verb: str, path: str, body: Json | None, content_type: str = JSON) -> bytes:
        data = None if body is None else encode(body)
        async with self._gate:
            return await self.client.request(verb, path, body=data, content_type=content_type)


def is_another(error: ApiError) -> bool:
    """There is no object of this name, or one with another UID."""
    if error.is_gone:
        return True
    return (error.is_conflict and "UID in precondition" in error.message) or (
        error.status in (409, 422) and "metadata.uid" in error.message
    )
