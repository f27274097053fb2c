"""Cases on the real API server: what they are made of is put there, asked about, and taken away again.

A case is a list of manifests in the form that they are to have: with their status, and with a deletion
timestamp if they are on their way out. The same list can be given to `maitred decide`.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maitred.kube.client import JSON, MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import (
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)
from tests.filters.extender import Extender

Obj = dict[str, Any]

KEPT = "maitred.dev/kept-for-a-test"
"""A finalizer: what has it stays while it is being deleted."""
ANSWER_SECONDS = 60.0
RESOURCES = {
    resource.kind: resource
    for resource in (
        *(PODS, NODES, NAMESPACES, VOLUMES, VOLUME_CLAIMS, STORAGE_CLASSES, CSI_NODES),
        Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False),
        Resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False),
        Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False),
        Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False),
    )
}
STATUS_LATER = ("Pod", "PersistentVolume", "PersistentVolumeClaim")
"""Kinds whose status is dropped when they are created."""


class Server:
    def __init__(self, client: Client, extender: Extender) -> None:
        self._client, self._extender = client, extender

    async def put(self, objects: Iterable[Obj]) -> None:
        await asyncio.gather(*map(self._put, objects))

    async def put_anew(self, objects: Iterable[Obj]) -> None:
        """What an earlier test left behind, or is still taking away, is no matter."""
        for item in objects:
            try:
                await self._put(item)
            except ApiError as error:
                if error.status != 409:
                    raise

    async def _put(self, item: Obj) -> None:
        kind, metadata = item["kind"], dict(item["metadata"])
        leaving = metadata.pop("deletionTimestamp", None) is not None
        if leaving:
            metadata["finalizers"] = [KEPT]
        resource, namespace = RESOURCES[kind], metadata.get("namespace", "")
        await self._send("POST", resource.path(namespace), {**item, "metadata": metadata})
        path = resource.path(namespace, metadata["name"])
        if kind == "Node":
            # Admission marks every new node as not ready.
            taints = item.get("spec", {}).get("taints") or None
            await self._send("PATCH", path, {"spec": {"taints": taints}}, MERGE_PATCH)
        if kind in STATUS_LATER and item.get("status"):
            await self._send("PATCH", f"{path}/status", {"status": item["status"]}, MERGE_PATCH)
        if leaving:
            await self._send("DELETE", path, {"gracePeriodSeconds": 600} if kind == "Pod" else None)

    async def remove(self, objects: Iterable[Obj]) -> None:
        await asyncio.gather(*map(self._remove, objects))

    async def _remove(self, item: Obj) -> None:
        metadata = item["metadata"]
        path = RESOURCES[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])
        try:
            if item["kind"] in STATUS_LATER and (item["kind"] != "Pod" or "deletionTimestamp" in metadata):
                await self._send("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
            if item["kind"] != "Namespace":  # nobody is there to empty it
                await self._send("DELETE", path, {"gracePeriodSeconds": 0})
        except ApiError as error:
            if not error.is_gone:
                raise

    async def listed(self) -> list[Obj]:
        """Everything that there is of what decisions read, as the server has it."""
        found = await asyncio.gather(*map(self._listed, RESOURCES.values()))
        return [item for items in found for item in items]

    async def _listed(self, resource: Resource) -> list[Obj]:
        answer = msgspec.json.decode(await self._client.request("GET", resource.path()))
        mark = {"kind": resource.kind, "apiVersion": resource.api_version}
        return [{**mark, **item} for item in answer["items"]]

    async def ask(self, probes: Sequence[Obj]) -> list[tuple[Obj, frozenset[str]]]:
        """These pods as the server made them, and the nodes that pass kube-scheduler's filters for each.
        None of them stays."""
        made = await asyncio.gather(
            *(self._send("POST", PODS.path(pod["metadata"]["namespace"]), pod) for pod in probes)
        )
        waiting, deadline = {pod["metadata"]["uid"]: pod for pod in made}, time.monotonic() + ANSWER_SECONDS
        gated = {uid for uid, pod in waiting.items() if pod["spec"].get("schedulingGates")}
        while not waiting.keys() - self._extender.passed.keys() <= gated:
            assert time.monotonic() < deadline, f"kube-scheduler is silent: {sorted(waiting)}"
            gated |= await self._turned_away({pod["metadata"]["namespace"] for pod in made})
            await asyncio.sleep(0.005)
        await self.remove(probes)
        return [(pod, self._extender.passed.pop(pod["metadata"]["uid"], frozenset())) for pod in made]

    async def _turned_away(self, namespaces: Iterable[str]) -> set[str]:
        """Pods that kube-scheduler has tried: where no node passed, the extender is never asked."""
        found = set[str]()
        for namespace in namespaces:
            listed = msgspec.json.decode(await self._client.request("GET", PODS.path(namespace)))
            found |= {
                pod["metadata"]["uid"]
                for pod in listed["items"]
                for condition in pod["status"].get("conditions") or ()
                if condition["type"] == "PodScheduled" and condition["status"] == "False"
            }
        return found

    async def _send(self, verb: str, path: str, body: Obj | None, content_type: str = JSON) -> Obj:
        data = None if body is None else encode(body)
        answer = await self._client.request(verb, path, body=data, content_type=content_type)
        return dict(msgspec.json.decode(answer))
