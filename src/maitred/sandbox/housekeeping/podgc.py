"""Pods that no kubelet will ever report on: failed in its place, and removed."""

import time

from maitred.kube.resources import NODES, PODS
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.evictions import disrupted
from maitred.sandbox.housekeeping.nodes import bound_to
from maitred.sandbox.housekeeping.objects import Json, Meta, Node, Pod
from maitred.sandbox.housekeeping.work import WorkQueue

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
QUARANTINE_SECONDS = 40.0
"""A node that is missed may come back; its pods are given that long."""


class PodCollector:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._nodes = stock.shelf(NODES, Node)
        self._pods = stock.shelf(PODS, Pod)
        self._pods_on = Index(self._pods, bound_to)
        self._missed: dict[str, float] = {}
        """Node -> since when."""
        self._queue = WorkQueue("pod", self._collect)
        self._nodes.listen(self._node_told)
        self._pods.listen(self._pod_told)

    async def run(self) -> None:
        await self._queue.run()

    def _node_told(self, old: Node | None, new: Node | None) -> None:
        name = (new or old or Node(Meta())).metadata.name
        if new is not None:
            self._missed.pop(name, None)
        if new is None or is_out_of_service(new):
            for pod in self._pods_on[name]:
                self._queue.add(key_of(pod.metadata))

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            if not self._pods_on[old.spec.node_name]:
                self._missed.pop(old.spec.node_name, None)
            return
        deleted = new.metadata.deletion_timestamp is not None
        bound = bool(new.spec.node_name)
        if (deleted and not bound) or (bound and (deleted or old is None or not old.spec.node_name)):
            node = self._nodes.items.get(new.spec.node_name)
            if node is None or is_out_of_service(node):
                self._queue.add(key_of(new.metadata))

    async def _collect(self, key: str) -> None:
        pod = self._pods.items.get(key)
        if pod is None:
            return
        node = self._nodes.items.get(pod.spec.node_name)
        deleted = pod.metadata.deletion_timestamp is not None
        if not pod.spec.node_name:
            if deleted:
                await self._remove(pod, {})
        elif node is not None:
            if deleted and is_out_of_service(node):
                await self._remove(pod, {})
        elif (left := self._quarantine(pod.spec.node_name)) > 0:
            self._queue.add_after(key, left)
        elif await self._is_gone(pod.spec.node_name):
            told = disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists")
            await self._remove(pod, {"conditions": [told]})

    def _quarantine(self, node: str) -> float:
        return self._missed.setdefault(node, time.monotonic()) + QUARANTINE_SECONDS - time.monotonic()

    async def _is_gone(self, node: str) -> bool:
        """By the word of the server: the watch of nodes may be behind."""
        return not await self._api.exists(NODES, "", node)

    async def _remove(self, pod: Pod, status: Json) -> None:
        if not pod.is_finished:
            await self._api.patch_pod_status(pod, {"phase": "Failed", **status})
        await self._api.delete(PODS, pod.metadata, grace_seconds=0)


def is_out_of_service(node: Node) -> bool:
    return node.ready != "True" and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
