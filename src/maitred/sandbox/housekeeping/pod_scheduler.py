"""A scheduler that knows no groups: each pod by itself, by priority and then in the order of arrival.

It serves the pods that ask for no other. It shows, too, what a gang comes to whose members are seated as
room allows: some of them run, and wait for the rest.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.decide import Scope, decide
from maitred.explain.tenant_words import as_told_at_home
from maitred.explain.verdicts import UNSCHEDULABLE, begins_with, blocker_words
from maitred.kube.client import Client
from maitred.kube.outcomes import Bound, Done
from maitred.kube.permit import Always
from maitred.kube.reflector import Reflector
from maitred.kube.resources import (
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)
from maitred.kube.wire import Condition
from maitred.kube.writes import Writer
from maitred.model.group import MARKS
from maitred.model.node import Node as PlainNode
from maitred.model.objects import Namespace, Object
from maitred.model.plan import Bind, GroupVerdict, Plan
from maitred.model.pod import DEFAULT_SCHEDULER
from maitred.model.pod import Pod as PlainPod
from maitred.model.policy import Policy, Workloads
from maitred.model.priority import PriorityClass
from maitred.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from maitred.sandbox.housekeeping.cache import ObjectCache, key_of
from maitred.sandbox.housekeeping.consumers import Consumers
from maitred.sandbox.housekeeping.objects import Node, Pod
from maitred.sandbox.housekeeping.recorder import EventRecorder

log = logging.getLogger(__name__)

POD_SCHEDULED = "PodScheduled"
SHORTEST_PAUSE = 0.02
"""Between decisions: pods that are created together are decided together."""
IN_FLIGHT = 16
LONGEST_MESSAGE = 1024
OTHERS: tuple[tuple[Resource, type[Object]], ...] = (
    (NAMESPACES, Namespace),
    (PRIORITY_CLASSES, PriorityClass),
    (VOLUME_CLAIMS, PersistentVolumeClaim),
    (VOLUMES, PersistentVolume),
    (STORAGE_CLASSES, StorageClass),
    (CSI_NODES, CSINode),
)
"""What a decision reads besides pods and nodes, and reads in its own way."""


class PodScheduler:
    def __init__(self, client: Client, stock: ObjectCache, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._writer = Writer(client, Always())
        self._state = ClusterState(workloads=Workloads("as-written"))
        self._pods = stock.shelf(PODS, Pod)
        self._consumers = Consumers(self._state, self._writer)
        self._sent: dict[str, str] = {}
        """Pod -> the node that we have sent it to, and where its place is taken before the watch says so."""
        self._waiting = set[str]()
        self._told: dict[str, str] = {}
        """What each waiting pod waits for, as far as we have said so."""
        self._changed = asyncio.Event()
        self._gate = asyncio.Semaphore(IN_FLIGHT)
        self._pods.listen(self._pod_told)
        stock.shelf(NODES, Node).listen(self._node_told)
        self._reflectors: list[Reflector[Any]] = [
            Reflector(
                client, resource, kind, WatchFeed(self._put, partial(self._delete, kind), self._changed)
            )
            for resource, kind in OTHERS
            if stock.has(resource)
        ]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            for reflector in self._reflectors:
                await reflector.synced.wait()
            while True:
                await self._changed.wait()
                self._changed.clear()
                plan = await self._decide()
                for bind in plan.binds:
                    if self._take(bind):
                        tasks.create_task(self._seat(bind))
                for verdict in plan.groups:
                    if self._is_news(verdict):
                        tasks.create_task(self._tell(verdict))
                await asyncio.sleep(SHORTEST_PAUSE)

    # -- what happened ---------------------------------------------------------------------------------

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        key = key_of(pod.metadata)
        self._waiting.discard(key)
        if not (new is not None and is_ours(new) and same_pod(old, new)):
            self._told.pop(key, None)
        if new is None:
            self._sent.pop(key, None)
            self._delete(PlainPod, key)
        else:
            if new.spec.node_name or not new.is_active or not same_pod(old, new):
                self._sent.pop(key, None)
            if is_ours(new):
                self._waiting.add(key)
            self._put(alone(new, self._sent.get(key)))
        self._changed.set()

    def _put(self, item: Object) -> None:
        try:
            self._state.apply(Put(item))
        except ValueError as problem:
            # Amounts that no cluster has, for instance. One object must not stop the others.
            log.error("%s %s is ignored: %s", type(item).__name__, item.metadata.name, problem)

    def _delete(self, kind: type[Object], key: str) -> None:
        self._state.apply(Delete(kind, key))

    def _node_told(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self._put(new)
        elif old is not None:
            self._delete(PlainNode, old.metadata.name)
        self._changed.set()

    # -- what to do ------------------------------------------------------------------------------------

    async def _decide(self) -> Plan:
        """For the pods to whom something has happened; where there is new room, for all that wait."""
        news = self._state.take_news()
        pods = self._waiting - self._sent.keys()
        if not news.effects:
            pods &= news.groups
        if not pods:
            return Plan()
        snapshot, now = self._state.snapshot(), datetime.now(UTC)
        return await asyncio.to_thread(decide, snapshot, Policy(), now, Scope(DEFAULT_SCHEDULER, pods))

    def _take(self, bind: Bind) -> bool:
        """The pod has its place from now on, unless it is not the one that was decided any more."""
        pod = self._pods.items.get(bind.pod)
        if pod is None or pod.metadata.uid != bind.uid or bind.pod not in self._waiting:
            return False
        self._sent[bind.pod] = bind.node
        self._put(alone(pod, bind.node))
        return True

    async def _seat(self, bind: Bind) -> None:
        namespace, _, name = bind.pod.partition("/")
        pod = self._pods.items.get(bind.pod)
        if pod is not None and await self._consumers.prepare(pod, bind.node):
            async with self._gate:
                outcome = await self._writer.bind(namespace, name, bind.uid, bind.node)
            if isinstance(outcome, Bound):
                words = f"Successfully assigned {bind.pod} to {bind.node}"
                self._recorder.record(DEFAULT_SCHEDULER, PODS, pod.metadata, "Scheduled", words)
                return
            log.info("pod %s was not bound to %s: %s", bind.pod, bind.node, outcome.message)
        self._sent.pop(bind.pod, None)
        if (now := self._pods.items.get(bind.pod)) is not None:
            self._put(alone(now, None))
        self._changed.set()

    # -- words -----------------------------------------------------------------------------------------

    def _is_news(self, verdict: GroupVerdict) -> bool:
        """A change of numbers is none."""
        pod = self._pods.items.get(verdict.group)
        if not verdict.blockers or pod is None or verdict.group not in self._waiting:
            return False
        category, told = verdict.blockers[0].category, pod.condition(POD_SCHEDULED)
        was_told = told is not None and told.status == "False" and begins_with(told.message, category)
        before = self._told.get(verdict.group, category if was_told else "")
        if verdict.group in self._sent or before == category:
            return False
        self._told[verdict.group] = category
        return True

    async def _tell(self, verdict: GroupVerdict) -> None:
        pod = self._pods.items.get(verdict.group)
        if pod is None:
            return
        meta, words = pod.metadata, blocker_words(as_told_at_home(verdict).blockers[0])[:LONGEST_MESSAGE]
        known = pod.condition(POD_SCHEDULED)
        since = known.last_transition_time if known is not None and known.status == "False" else None
        told = Condition(POD_SCHEDULED, "False", UNSCHEDULABLE, words, since or datetime.now(UTC))
        async with self._gate:
            outcome = await self._writer.patch_pod_condition(
                meta.namespace, meta.name, meta.uid, told, meta.resource_version
            )
        if isinstance(outcome, Done):
            self._recorder.record(DEFAULT_SCHEDULER, PODS, meta, "FailedScheduling", words, "Warning")
        else:
            self._told.pop(verdict.group, None)


class WatchFeed:
    """The end of one watch."""

    def __init__(
        self, put: Callable[[Object], None], gone: Callable[[str], None], changed: asyncio.Event
    ) -> None:
        self.put = put
        self.gone = gone
        self._changed = changed

    def settled(self) -> None:
        self._changed.set()


def is_ours(pod: Pod) -> bool:
    waits = pod.is_active and not pod.spec.node_name and not pod.spec.scheduling_gates
    return waits and pod.spec.scheduler_name == DEFAULT_SCHEDULER


def same_pod(old: Pod | None, new: Pod) -> bool:
    return old is not None and old.metadata.uid == new.metadata.uid


def alone(pod: Pod, node: str | None) -> Pod:
    """The pod without any word of its group, and where it was sent to."""
    meta, spec = pod.metadata, pod.spec
    if any(mark in meta.labels or mark in meta.annotations for mark in MARKS):
        labels = {key: value for key, value in meta.labels.items() if key not in MARKS}
        annotations = {key: value for key, value in meta.annotations.items() if key not in MARKS}
        meta = msgspec.structs.replace(meta, labels=labels, annotations=annotations)
    if spec.scheduling_group is not None:
        spec = msgspec.structs.replace(spec, scheduling_group=None)
    if node is not None and not spec.node_name:
        spec = msgspec.structs.replace(spec, node_name=node)
    if meta is pod.metadata and spec is pod.spec:
        return pod
    return msgspec.structs.replace(pod, metadata=meta, spec=spec)
