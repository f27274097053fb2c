"""One kubelet: it admits pods in the order in which they arrive, runs them, and lets them go."""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from itertools import count
from typing import Any

from maitred.kube.bodies import wall_clock
from maitred.kube.client import JSON, STRATEGIC_MERGE_PATCH
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS, Resource
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.admission import NODE_AFFINITY, NodeRoom, Rejection, rejection
from maitred.sandbox.kubelets.api import KubeletApi
from maitred.sandbox.kubelets.bodies import Json
from maitred.sandbox.kubelets.devices import PreparedDevices
from maitred.sandbox.kubelets.marks import exit_code, run_seconds, start_seconds, stop_seconds
from maitred.sandbox.kubelets.objects import Node, Pod

log = logging.getLogger(__name__)

CORE_EVENTS = Resource("", "v1", "events", "Event")
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Between attempts to prepare the devices of a pod, in seconds."""

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


@dataclass(frozen=True, slots=True)
class KubeletPace:
    start_seconds: float
    """From being admitted to Running, for pods that do not say."""
    stop_seconds: float
    """From being deleted to gone, for pods that do not say; a pod with less grace has less."""


class PodStage(Enum):
    NEW = auto()
    ADMITTED = auto()
    REFUSED = auto()
    STOPPING = auto()


@dataclass(slots=True)
class KubeletPod:
    pod: Pod
    """As last seen."""
    stage: PodStage = PodStage.NEW
    task: asyncio.Task[None] | None = None
    """What is being done for it."""
    stops_within: float = math.inf
    """Seconds that it was given to stop, if it is stopping."""
    clock: asyncio.Task[None] | None = None
    """Ends it when its deadline comes,"""
    deadline: int | None = None
    """which is so many seconds after its start."""


class Kubelet:
    def __init__(
        self,
        node: Node,
        address: str,
        pace: KubeletPace,
        api: KubeletApi,
        spawn: Spawn,
        pod_addresses: Iterator[str],
        devices: PreparedDevices,
    ) -> None:
        self.node = node
        """As last seen; anyone may change its labels, taints and resources."""
        self.alive = True
        self._address = address
        self._pace = pace
        self._api = api
        self._spawn = spawn
        self._pod_addresses = pod_addresses
        self._devices = devices
        self._room = NodeRoom()
        self._pods: dict[str, KubeletPod] = {}

    def take(self, pod: Pod) -> None:
        """A pod of this node is new, or has changed."""
        local = self._pods.setdefault(pod.metadata.uid, KubeletPod(pod))
        local.pod = pod
        if self.alive:
            self._attend(local)

    def lose(self, uid: str) -> None:
        """The pod is no more."""
        local = self._pods.pop(uid, None)
        if local is not None:
            self._interrupt(local)
            self._stop_clock(local)
            self._free(uid)

    def die(self) -> None:
        """Nothing more happens here, and what happened meanwhile is found on coming back."""
        self.alive = False
        for local in self._pods.values():
            self._interrupt(local)
            self._stop_clock(local)

    def revive(self) -> None:
        self.alive = True
        for local in self._pods.values():
            local.stage = PodStage.NEW
            self._attend(local)

    def _attend(self, local: KubeletPod) -> None:
        pod = local.pod
        if pod.is_finished:
            self._free(pod.metadata.uid)
        if pod.metadata.deletion_timestamp is not None:
            usual, meta = self._pace.stop_seconds, pod.metadata
            seconds = min(stop_seconds(meta, usual), meta.deletion_grace_period_seconds)
            if local.stage is not PodStage.STOPPING or seconds < local.stops_within:
                local.stops_within = seconds
                self._begin(local, PodStage.STOPPING, self._stop(local, seconds))
        elif local.stage is PodStage.NEW and not pod.is_finished:
            self._admit(local)
        deadline, started = pod.spec.active_deadline_seconds, pod.status.start_time
        if deadline is not None and started is not None and deadline != local.deadline:
            self._stop_clock(local)
            local.deadline, left = deadline, started + timedelta(seconds=deadline) - wall_clock()
            local.clock = self._spawn(self._end_in_time(local, left.total_seconds()))

    def _admit(self, local: KubeletPod) -> None:
        """One that was admitted before is not asked again: a kubelet that restarts keeps what it runs."""
        pod = local.pod
        known = pod.metadata.uid in self._room
        why = None if known or pod.status.phase == "Running" else rejection(pod, self.node, self._room)
        if why is not None:
            self._begin(local, PodStage.REFUSED, self._refuse(local, why))
            return
        if not known:
            self._room.take(pod)
        self._begin(local, PodStage.ADMITTED, self._run(local))

    def _free(self, uid: str) -> None:
        self._room.free(uid)
        self._devices.release(uid)

    def _begin(self, local: KubeletPod, stage: PodStage, work: Coroutine[Any, Any, None]) -> None:
        self._interrupt(local)
        local.stage = stage
        local.task = self._spawn(work)

    def _interrupt(self, local: KubeletPod) -> None:
        if local.task is not None:
            local.task.cancel()

    def _stop_clock(self, local: KubeletPod) -> None:
        local.deadline = None
        if local.clock is not None:
            local.clock.cancel()

    # -- what takes time -----------------------------------------------------------------------------------

    async def _refuse(self, local: KubeletPod, why: Rejection) -> None:
        if why.reason == NODE_AFFINITY:
            # Someone may have changed the labels just before the pod was bound. Kubelets look again, too.
            self.node = await self._api.node(self.node.metadata.name) or self.node
            again = rejection(local.pod, self.node, self._room)
            if again is None:
                local.stage = PodStage.ADMITTED
                self._room.take(local.pod)
                await self._run(local)
                return
            why = again
        await self._report(local.pod, bodies.rejected(why))

    async def _run(self, local: KubeletPod) -> None:
        if local.pod.status.phase != "Running":
            await self._prepare(local)
            await asyncio.sleep(start_seconds(local.pod.metadata, self._pace.start_seconds))
            started = bodies.running(local.pod, next(self._pod_addresses), self._address)
            if not await self._report(local.pod, started):
                return
        elif uses_devices(local.pod):
            await self._devices.prepare(local.pod)
        seconds = run_seconds(local.pod.metadata)
        if seconds is not None:
            await asyncio.sleep(seconds)
            self._free(local.pod.metadata.uid)
            await self._report(local.pod, bodies.ended(local.pod, exit_code(local.pod.metadata)))

    async def _end_in_time(self, local: KubeletPod, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))
        if local.stage is not PodStage.STOPPING and not local.pod.is_finished:
            self._interrupt(local)
            self._free(local.pod.metadata.uid)
            await self._report(local.pod, bodies.past_its_deadline(local.pod))

    async def _prepare(self, local: KubeletPod) -> None:
        """Its devices, as often as it takes: what is in the way may go. A new reason is told."""
        told = ""
        for attempt in count():
            problem = await self._devices.prepare(local.pod) if uses_devices(local.pod) else ""
            if not problem:
                return
            if problem != told:
                told = problem
                await self._report(local.pod, bodies.waiting(local.pod, problem))
                event = bodies.failed_to_prepare(local.pod, problem)
                with suppress(ApiError):
                    await self._api.send("POST", CORE_EVENTS.path(local.pod.metadata.namespace), event)
            await asyncio.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])

    async def _stop(self, local: KubeletPod, seconds: float) -> None:
        pod = local.pod
        await asyncio.sleep(seconds)
        self._free(pod.metadata.uid)
        if not local.pod.is_finished:
            await self._report(pod, bodies.ended(pod, bodies.KILLED))
        certain = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
        await self._send(pod, "DELETE", "", certain)

    async def _report(self, pod: Pod, status: Json) -> bool:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        return await self._send(pod, "PATCH", "status", body, STRATEGIC_MERGE_PATCH)

    async def _send(
        self, pod: Pod, verb: str, subresource: str, body: Json, content_type: str = JSON
    ) -> bool:
        """False if the server refuses. Such a pod is left as it is, and all others are cared for."""
        meta = pod.metadata
        path = PODS.path(meta.namespace, meta.name, subresource)
        try:
            await self._api.send(verb, path, body, content_type)
        except ApiError as error:
            log.warning("pod %s/%s is ignored: %.400s", meta.namespace, meta.name, error)
            return False
        return True


def uses_devices(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims) or pod.status.extended_resource_claim_status is not None
