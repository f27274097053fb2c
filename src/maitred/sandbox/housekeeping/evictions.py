"""Pods leave nodes that they do not tolerate, at once or after the time that they have asked for."""

import time
from collections.abc import Iterable

from maitred.kube.bodies import timestamp
from maitred.kube.resources import NODES, PODS
from maitred.model.node import Taint, tolerates
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.nodes import bound_to
from maitred.sandbox.housekeeping.objects import DISRUPTION_TARGET, Json, Node, Pod, Toleration
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.work import WorkQueue

TAINT_EVICTION = "taint-eviction-controller"


class TaintEvictions:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._nodes = stock.shelf(NODES, Node)
        self._pods = stock.shelf(PODS, Pod)
        self._pods_on = Index(self._pods, bound_to)
        self._since: dict[str, float] = {}
        """UID of a pod -> when the node first had taints that it bears for a time only."""
        self._queue = WorkQueue("eviction", self._attend)
        self._nodes.listen(self._node_told)
        self._pods.listen(self._pod_told)

    async def run(self) -> None:
        await self._queue.run()

    def _node_told(self, old: Node | None, new: Node | None) -> None:
        if new is not None and driving_out(new) != (() if old is None else driving_out(old)):
            for pod in self._pods_on[new.metadata.name]:
                self._queue.add(key_of(pod.metadata))

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            self._since.pop(old.metadata.uid, None)
            return
        seen = old is not None and old.spec.node_name == new.spec.node_name
        if new.spec.node_name and not (seen and old and old.spec.tolerations == new.spec.tolerations):
            node = self._nodes.items.get(new.spec.node_name)
            if node is not None and driving_out(node):
                self._queue.add(key_of(new.metadata))

    async def _attend(self, key: str) -> None:
        pod = self._pods.items.get(key)
        node = None if pod is None else self._nodes.items.get(pod.spec.node_name)
        if pod is None or node is None or pod.metadata.deletion_timestamp is not None:
            return
        borne = seconds_borne(driving_out(node), pod.spec.tolerations)
        if borne is None:
            self._since.pop(pod.metadata.uid, None)
            return
        left = self._since.setdefault(pod.metadata.uid, time.monotonic()) + borne - time.monotonic()
        if borne and left > 0:
            self._queue.add_after(key, left)
        else:
            await self._evict(pod)

    async def _evict(self, pod: Pod) -> None:
        words = f"Marking for deletion Pod {key_of(pod.metadata)}"
        self._recorder.record(TAINT_EVICTION, PODS, pod.metadata, "TaintManagerEviction", words)
        told = disrupted(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        await self._api.patch_pod_status(pod, {"conditions": [told]})
        await self._api.delete(PODS, pod.metadata)


def driving_out(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute")


def seconds_borne(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> float | None:
    """How long a pod stays beside these taints; None: for ever."""
    limits = list[int]()
    for taint in taints:
        matching = [toleration for toleration in tolerations if tolerates(toleration, taint)]
        if not matching:
            return 0.0
        limits += [t.toleration_seconds for t in matching if t.toleration_seconds is not None]
    return max(0.0, float(min(limits))) if limits else None


def disrupted(pod: Pod, reason: str, message: str) -> Json:
    return {
        "observedGeneration": pod.metadata.generation,
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp(),
    }
