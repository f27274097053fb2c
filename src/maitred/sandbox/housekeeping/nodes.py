"""Whether nodes are alive, and the taints that tell of it.

A kubelet that lives renews the lease of its node. One that does not is given up: its node is not ready, as
far as anyone knows, new pods stay away, and those that are there are evicted after a time of their choice.
"""

import asyncio
import logging
import time
from dataclasses import dataclass

from maitred.kube.bodies import timestamp
from maitred.kube.resources import LEASES, NODES, PODS
from maitred.model.node import NOT_READY, UNREACHABLE, UNSCHEDULABLE, Taint
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache
from maitred.sandbox.housekeeping.objects import READY, Json, Lease, Node, Pod
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.work import WorkQueue

log = logging.getLogger(__name__)

NODE_CONTROLLER = "node-controller"
LEASE_NAMESPACE = "kube-node-lease"
LOOK_SECONDS = 5.0
GRACE_SECONDS = 50.0
"""Without a sign of life; a node that has never said that it is ready has a little more."""
FIRST_GRACE_SECONDS = 60.0

PREFIX = "node.kubernetes.io/"
TAINTS = {
    (READY, "False"): NOT_READY,
    (READY, "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): f"{PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{PREFIX}pid-pressure",
}
"""What a condition says -> the taint that tells schedulers."""
OURS = frozenset(TAINTS.values()) | {UNSCHEDULABLE}
KUBELET_CONDITIONS = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(slots=True)
class Sign:
    """The last sign of life that came from a node, and when it came, by our clock alone."""

    of: object
    at: float


class NodeController:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._nodes = stock.shelf(NODES, Node)
        self._leases = stock.shelf(LEASES, Lease)
        self._pods_on = Index(stock.shelf(PODS, Pod), bound_to)
        self._signs: dict[str, Sign] = {}
        self._ready = set[str]()
        self._taints = WorkQueue("node", self._taint)
        self._nodes.listen(self._told)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._taints.run())
            tasks.create_task(self._watch_over())

    def _told(self, old: Node | None, new: Node | None) -> None:
        node = new or old
        assert node is not None
        name, any_ready = node.metadata.name, bool(self._ready)
        if new is None:
            self._signs.pop(name, None)
        if new is not None and new.ready == "True":
            self._ready.add(name)
        else:
            self._ready.discard(name)
        if bool(self._ready) != any_ready:
            for other in self._nodes.items:
                self._taints.add(other)
        elif new is not None and self._wanted(new) != new.spec.taints:
            self._taints.add(name)

    def _wanted(self, node: Node) -> tuple[Taint, ...]:
        """Where no node is ready at all, the fault is likely to be elsewhere, and no pod is driven out."""
        return wanted_taints(node, evicts=bool(self._ready))

    async def _taint(self, name: str) -> None:
        node = self._nodes.items.get(name)
        if node is None or (wanted := self._wanted(node)) == node.spec.taints:
            return
        body = {"spec": {"taints": [written(taint) for taint in wanted]}}
        self._nodes.learn(await self._api.merge(NODES, node.metadata, body, Node))

    # -- life ------------------------------------------------------------------------------------------

    async def _watch_over(self) -> None:
        giving_up = WorkQueue("node", self._give_up)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(giving_up.run())
            while True:
                for name in self.silent(time.monotonic()):
                    giving_up.add(name)
                await asyncio.sleep(LOOK_SECONDS)

    def silent(self, now: float) -> list[str]:
        """Nodes of which nothing was heard for too long."""
        found = list[str]()
        for name, node in self._nodes.items.items():
            lease = self._leases.items.get(f"{LEASE_NAMESPACE}/{name}")
            beats = tuple(c.last_heartbeat_time for c in node.status.conditions if c.type == READY)
            last = (beats, None if lease is None else lease.spec.renew_time)
            sign = self._signs.get(name)
            if sign is None or sign.of != last:
                self._signs[name] = Sign(last, now)
            elif node.ready != "Unknown" and now - sign.at > grace(node):
                found.append(name)
        return found

    async def _give_up(self, name: str) -> None:
        node = self._nodes.items.get(name)
        if node is None or node.ready == "Unknown":
            return
        log.info("node %s: nothing heard for %.0f s", name, grace(node))
        status = {"conditions": [unknown(node, type) for type in KUBELET_CONDITIONS]}
        if not await self._api.patch(NODES, node.metadata, {"status": status}, "status"):
            return
        words = f"Node {name} status is now: NodeNotReady"
        self._recorder.record(NODE_CONTROLLER, NODES, node.metadata, "NodeNotReady", words)
        for pod in [pod for pod in self._pods_on[name] if pod.is_ready]:
            unready = {"type": READY, "status": "False", "lastTransitionTime": timestamp()}
            await self._api.patch_pod_status(pod, {"conditions": [unready]})
            words = "Node is not ready"
            self._recorder.record(NODE_CONTROLLER, PODS, pod.metadata, "NodeNotReady", words, "Warning")


def grace(node: Node) -> float:
    return GRACE_SECONDS if node.ready else FIRST_GRACE_SECONDS


def unknown(node: Node, type: str) -> Json:
    now = timestamp()
    told: Json = {"type": type, "status": "Unknown", "lastTransitionTime": now}
    if any(condition.type == type for condition in node.status.conditions):
        return told | {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    never = {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
    return told | never | {"lastHeartbeatTime": now}


def wanted_taints(node: Node, evicts: bool) -> tuple[Taint, ...]:
    """Those that are there and none of our business, and those that the conditions of the node ask for.

    A node that has said nothing yet keeps the taint that it was created with.
    """
    keys = [TAINTS[said] for c in node.status.conditions if (said := (c.type, c.status)) in TAINTS]
    if node.spec.unschedulable:
        keys.append(UNSCHEDULABLE)
    wanted = [Taint(key, "NoSchedule") for key in keys]
    wanted += [Taint(key, "NoExecute") for key in keys if evicts and key in (NOT_READY, UNREACHABLE)]
    if not node.ready:
        wanted += [taint for taint in node.spec.taints if taint.key == NOT_READY]
    kept = [t for t in node.spec.taints if not is_ours(t) or any(same(t, other) for other in wanted)]
    return (*kept, *(t for t in wanted if not any(same(t, other) for other in kept)))


def is_ours(taint: Taint) -> bool:
    if taint.effect == "NoSchedule":
        return taint.key in OURS
    return taint.effect == "NoExecute" and taint.key in (NOT_READY, UNREACHABLE)


def same(one: Taint, other: Taint) -> bool:
    return (one.key, one.effect) == (other.key, other.effect)


def written(taint: Taint) -> Json:
    return {"key": taint.key, "effect": taint.effect, "value": taint.value}


def bound_to(pod: Pod) -> str | None:
    return pod.spec.node_name or None
