"""Objects on a real API server in the form that they are to have: put there, listed, and taken away again.

With their status, and with a deletion timestamp if they are on their way out. The same list can be given to
`maitred decide`.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from maitred.kube.client import JSON, MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import Resource

Obj = dict[str, Any]

KEPT = "maitred.dev/kept-for-a-test"
"""A finalizer: what has it stays while it is being deleted."""
STATUS_LATER = ("Pod", "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim")
"""Kinds whose status is dropped when they are created."""
OWN_FINALIZERS = ("PersistentVolume", "PersistentVolumeClaim", "ResourceClaim")
"""Kinds that get a finalizer from the server or a scheduler, which nobody is there to take away."""


class Objects:
    def __init__(self, client: Client, resources: Iterable[Resource]) -> None:
        self._client = client
        self._resources = {resource.kind: resource for resource in resources}

    async def put(self, objects: Iterable[Obj]) -> None:
        await asyncio.gather(*map(self.put_one, objects))

    async def put_anew(self, objects: Iterable[Obj]) -> None:
        """What an earlier test left behind, or is still taking away, is no matter."""
        for item in objects:
            try:
                await self.put_one(item)
            except ApiError as error:
                if error.status != 409:
                    raise

    async def put_one(self, item: Obj) -> Obj:
        """What it has become when it was created."""
        kind, metadata = item["kind"], dict(item["metadata"])
        leaving = metadata.pop("deletionTimestamp", None) is not None
        if leaving:
            metadata["finalizers"] = [KEPT]
        namespace = metadata.get("namespace", "")
        created = await self.send(
            "POST",
            self._resources[kind].path(namespace),
            {**item, "apiVersion": self._resources[kind].api_version, "metadata": metadata},
        )
        path = self.path(item)
        if kind == "Node":
            # Admission marks every new node as not ready.
            taints = item.get("spec", {}).get("taints") or None
            await self.send("PATCH", path, {"spec": {"taints": taints}}, MERGE_PATCH)
        if kind in STATUS_LATER and item.get("status"):
            await self.send("PATCH", f"{path}/status", {"status": item["status"]}, MERGE_PATCH)
        if leaving:
            await self.send("DELETE", path, {"gracePeriodSeconds": 600} if kind == "Pod" else None)
        return created

    async def remove(self, objects: Iterable[Obj]) -> None:
        await asyncio.gather(*map(self._remove, objects))

    async def _remove(self, item: Obj) -> None:
        kind, path = item["kind"], self.path(item)
        try:
            if kind in OWN_FINALIZERS or "deletionTimestamp" in item["metadata"]:
                await self.send("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
            if kind != "Namespace":  # nobody is there to empty it
                await self.send("DELETE", path, {"gracePeriodSeconds": 0})
        except ApiError as error:
            if not error.is_gone:
                raise

    async def listed(self) -> list[Obj]:
        """Everything that there is of what decisions read, as the server has it."""
        found = await asyncio.gather(*map(self._listed, self._resources.values()))
        return [item for items in found for item in items]

    async def _listed(self, resource: Resource) -> list[Obj]:
        answer = msgspec.json.decode(await self._client.request("GET", resource.path()))
        mark = {"kind": resource.kind, "apiVersion": resource.api_version}
        return [{**mark, **item} for item in answer["items"]]

    def path(self, item: Obj) -> str:
        metadata = item["metadata"]
        return self._resources[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])

    async def send(self, verb: str, path: str, body: Obj | None = None, content_type: str = JSON) -> Obj:
        data = None if body is None else encode(body)
        answer = await self._client.request(verb, path, body=data, content_type=content_type)
        return dict(msgspec.json.decode(answer))
