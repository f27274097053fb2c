"""One kubelet: it admits pods in the order in which they arrive, runs them, and lets them go."""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from maitred.kube.client import JSON, STRATEGIC_MERGE_PATCH
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.admission import NODE_AFFINITY, Rejection, Room, rejection
from maitred.sandbox.kubelets.api import Api
from maitred.sandbox.kubelets.bodies import Json
from maitred.sandbox.kubelets.marks import exit_code, run_seconds, start_seconds, stop_seconds
from maitred.sandbox.kubelets.objects import Node, Pod

log = logging.getLogger(__name__)

KILLED = 137

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


@dataclass(frozen=True, slots=True)
class Pace:
    start_seconds: float
    """From being admitted to Running, for pods that do not say."""
    stop_seconds: float
    """From being deleted to gone, for pods that do not say; a pod with less grace has less."""


class Stage(Enum):
    NEW = auto()
    ADMITTED = auto()
    REFUSED = auto()
    STOPPING = auto()


@dataclass(slots=True)
class Guest:
    pod: Pod
    """As last seen."""
    stage: Stage = Stage.NEW
    task: asyncio.Task[None] | None = None
    """What is being done for it."""
    stops_within: float = math.inf
    """Seconds that it was given to stop, if it is stopping."""


class Kubelet:
    def __init__(
        self, node: Node, address: str, pace: Pace, api: Api, spawn: Spawn, pod_addresses: Iterator[str]
    ) -> None:
        self.node = node
        """As last seen; anyone may change its labels, taints and resources."""
        self.alive = True
        self._address = address
        self._pace = pace
        self._api = api
        self._spawn = spawn
        self._pod_addresses = pod_addresses
        self._room = Room()
        self._guests: dict[str, Guest] = {}

    def take(self, pod: Pod) -> None:
        """A pod of this node is new, or has changed."""
        guest = self._guests.setdefault(pod.metadata.uid, Guest(pod))
        guest.pod = pod
        if self.alive:
            self._attend(guest)

    def lose(self, uid: str) -> None:
        """The pod is no more."""
        guest = self._guests.pop(uid, None)
        if guest is not None:
            self._interrupt(guest)
            self._room.free(uid)

    def die(self) -> None:
        """Nothing more happens here, and what happened meanwhile is found on coming back."""
        self.alive = False
        for guest in self._guests.values():
            self._interrupt(guest)

    def revive(self) -> None:
        self.alive = True
        for guest in self._guests.values():
            guest.stage = Stage.NEW
            self._attend(guest)

    def _attend(self, guest: Guest) -> None:
        pod = guest.pod
        if pod.is_finished:
            self._room.free(pod.metadata.uid)
        if pod.metadata.deletion_timestamp is not None:
            usual, meta = self._pace.stop_seconds, pod.metadata
            seconds = min(stop_seconds(meta, usual), meta.deletion_grace_period_seconds)
            if guest.stage is not Stage.STOPPING or seconds < guest.stops_within:
                guest.stops_within = seconds
                self._begin(guest, Stage.STOPPING, self._stop(guest, seconds))
        elif guest.stage is Stage.NEW and not pod.is_finished:
            self._admit(guest)

    def _admit(self, guest: Guest) -> None:
        """One that was admitted before is not asked again: a kubelet that restarts keeps what it runs."""
        pod = guest.pod
        known = pod.metadata.uid in self._room
        why = None if known or pod.status.phase == "Running" else rejection(pod, self.node, self._room)
        if why is not None:
            self._begin(guest, Stage.REFUSED, self._refuse(guest, why))
            return
        if not known:
            self._room.take(pod)
        self._begin(guest, Stage.ADMITTED, self._run(guest))

    def _begin(self, guest: Guest, stage: Stage, work: Coroutine[Any, Any, None]) -> None:
        self._interrupt(guest)
        guest.stage = stage
        guest.task = self._spawn(work)

    def _interrupt(self, guest: Guest) -> None:
        if guest.task is not None:
            guest.task.cancel()

    # -- what takes time -----------------------------------------------------------------------------------

    async def _refuse(self, guest: Guest, why: Rejection) -> None:
        if why.reason == NODE_AFFINITY:
            # Someone may have changed the labels just before the pod was bound. Kubelets look again, too.
            self.node = await self._api.node(self.node.metadata.name) or self.node
            again = rejection(guest.pod, self.node, self._room)
            if again is None:
                guest.stage = Stage.ADMITTED
                self._room.take(guest.pod)
                await self._run(guest)
                return
            why = again
        await self._report(guest.pod, bodies.rejected(why))

    async def _run(self, guest: Guest) -> None:
        if guest.pod.status.phase != "Running":
            await asyncio.sleep(start_seconds(guest.pod.metadata, self._pace.start_seconds))
            started = bodies.running(guest.pod, next(self._pod_addresses), self._address)
            if not await self._report(guest.pod, started):
                return
        seconds = run_seconds(guest.pod.metadata)
        if seconds is not None:
            await asyncio.sleep(seconds)
            self._room.free(guest.pod.metadata.uid)
            await self._report(guest.pod, bodies.ended(guest.pod, exit_code(guest.pod.metadata)))

    async def _stop(self, guest: Guest, seconds: float) -> None:
        pod = guest.pod
        await asyncio.sleep(seconds)
        self._room.free(pod.metadata.uid)
        if not guest.pod.is_finished:
            await self._report(pod, bodies.ended(pod, KILLED))
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
