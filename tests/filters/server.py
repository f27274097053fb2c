"""Cases on the real API server: what they are made of is put there, asked about, and taken away again."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maitred.kube.client import Client
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
from tests.control_plane.objects import Objects
from tests.filters.extender import Extender

Obj = dict[str, Any]

ANSWER_SECONDS = 60.0
RESOURCES = (
    *(PODS, NODES, NAMESPACES, VOLUMES, VOLUME_CLAIMS, STORAGE_CLASSES, CSI_NODES),
    Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False),
    Resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False),
    Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False),
    Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False),
)


class Server(Objects):
    def __init__(self, client: Client, extender: Extender) -> None:
        super().__init__(client, RESOURCES)
        self._extender = extender

    async def ask(self, probes: Sequence[Obj]) -> list[tuple[Obj, frozenset[str]]]:
        """These pods as the server made them, and the nodes that pass kube-scheduler's filters for each.
        None of them stays."""
        made = await asyncio.gather(
            *(self.send("POST", PODS.path(pod["metadata"]["namespace"]), pod) for pod in probes)
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
