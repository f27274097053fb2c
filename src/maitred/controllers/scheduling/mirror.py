"""The cluster as the watches tell it, with what we have ordered on top.

A bind takes a moment to come back by the watch. Until then the pod is assumed to be where it was sent, so
that the next cycle, which may start at once, does not give its place away. Likewise a pod has the node that
it was promised from the promise on, and one that was told to go is leaving from then on, so that nobody else
is told to go for the same room.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Generic, TypeVar

import msgspec

from maitred.cluster.state import ClusterState, Delete, Journal, Put
from maitred.controllers.scheduling.gangs import Gangs
from maitred.controllers.scheduling.leaving import Leaving, controller_of
from maitred.controllers.scheduling.promised_volumes import PromisedVolumes
from maitred.controllers.scheduling.seating import ANNOTATION, Seating, parse_seating
from maitred.kube.wire import WatchedGroup, WatchedOwner, WatchedPod
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.membership import group_key
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import Policy

log = logging.getLogger(__name__)

FINISHED = ("Succeeded", "Failed")

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Assumption:
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Mate:
    """A member of a group that we have bound: what it takes to take it back, should it come to that."""

    uid: str
    owned: bool
    """It has a controller, which makes another one in its place."""
    seating: Seating


class Mirror:
    """Fed by the watches, on the event loop alone; it is the one writer of the ClusterState."""

    def __init__(
        self,
        scheduler: str | None,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
        policy: Callable[[], Policy] = Policy,
    ) -> None:
        self.state = ClusterState(journal)
        self.changed = asyncio.Event()
        self.waiting: dict[str, WatchedPod] = {}
        """Pods that are ours to seat, as the API server has them, assumed ones among them."""
        self.parties: dict[str, set[str]] = {}
        """The same pods by group; a lone pod is a group of one."""
        self.groups: dict[str, WatchedGroup] = {}
        self.mates: dict[str, dict[str, Mate]] = {}
        """Group -> its members that we have bound and that have not finished."""
        self.stand_ins: dict[str, str] = {}
        """Waiting pods that do not exist -> the suspended Job that would make them."""
        self.standing: dict[str, set[str]] = {}
        """The same by the Job."""
        self.promised: dict[str, dict[str, str]] = {}
        """Group -> its members of `waiting` that have a node promised, and which."""
        self.jobs: dict[str, Job] = {}
        self._group_of: dict[str, str] = {}
        self._assumed: dict[str, Assumption] = {}
        self._promises: dict[str, Assumption] = {}
        """Nominations that we have ordered and not yet seen; no node where one is taken back."""
        self.promised_volumes = PromisedVolumes(self.state)
        self._leaving = Leaving(policy, clock)
        self._scheduler = scheduler
        self.gangs: Gangs | None = None
        """Set for a shadow, which tells gangs as an audit does."""

    def watch_gangs(self) -> None:
        self.gangs = Gangs(self.jobs, self.groups)

    # -- told by the watches ---------------------------------------------------------------------------

    def put_pod(self, pod: WatchedPod) -> None:
        key = key_of(pod.metadata)
        ours = self._scheduler is None or pod.spec.scheduler_name == self._scheduler
        if ours and not pod.spec.node_name and not is_over(pod):
            self._leave_party(key)
            self.waiting[key] = pod
            self.parties.setdefault(group_key(pod) or key, set()).add(key)
        else:
            self._leave_party(key)
        self._remember_mate(key, pod if ours else None)
        if self.gangs is not None:
            self.gangs.put(key, pod)
        self._show(key, pod)

    def pod_gone(self, key: str) -> None:
        self._leave_party(key)
        self._assumed.pop(key, None)
        self._promises.pop(key, None)
        self._leaving.gone(key)
        self._remember_mate(key, None)
        if self.gangs is not None:
            self.gangs.gone(key)
        self.state.apply(Delete(Pod, key))

    def stand_in(self, job: str, pods: Iterable[WatchedPod]) -> None:
        """These too wait for a Job that has no pods. Nothing may be written of them: they do not exist."""
        for pod in pods:
            key = key_of(pod.metadata)
            self.stand_ins[key] = job
            self.standing.setdefault(job, set()).add(key)
            self.put_pod(pod)
        self.changed.set()

    def stand_down(self, job: str, most: int) -> bool:
        """Nobody is to wait for the Job any more. So many go at once; whether others are left."""
        standing = self.standing.get(job, set())
        for key in list(islice(standing, most)):
            standing.discard(key)
            del self.stand_ins[key]
            self.pod_gone(key)
            self.changed.set()
        if not standing:
            self.standing.pop(job, None)
        return bool(standing)

    def put_group(self, group: WatchedGroup) -> None:
        self.groups[key_of(group.metadata)] = group
        self.state.apply(Put(group))

    def group_gone(self, key: str) -> None:
        self.groups.pop(key, None)
        self.state.apply(Delete(PodGroup, key))

    def put_job(self, job: Job) -> None:
        self.jobs[key_of(job.metadata)] = job
        self.state.apply(Put(job))
        for key, uid in self._leaving.put_job(job).items():
            self._set_leaving(key, uid, job.spec.suspend)

    def job_gone(self, key: str) -> None:
        job = self.jobs.pop(key, None)
        if job is not None:
            self._leaving.job_gone(job)
        self.state.apply(Delete(Job, key))

    def let_stay(self) -> None:
        """Who ought to have left by now, and has not, counts as running again."""
        for key, uid in self._leaving.overdue().items():
            self._set_leaving(key, uid, False)

    def next_overdue(self) -> float:
        return self._leaving.next_at()

    def _set_leaving(self, key: str, uid: str, leaving: bool) -> None:
        """Let the state know that a pod has begun to leave, or does not any more."""
        pod = self.waiting.get(key) or self._leaving.deleted.get(key)
        if pod is not None:
            self._show(key, pod)
        else:
            self.state.set_leaving(key, uid, leaving)

    def _leave_party(self, key: str) -> None:
        pod = self.waiting.pop(key, None)
        if pod is None:
            return
        group = group_key(pod) or key
        self.parties[group].discard(key)
        if not self.parties[group]:
            del self.parties[group]
        self._note_promise(group, key, "")

    def _note_promise(self, group: str, key: str, node: str) -> None:
        if node:
            self.promised.setdefault(group, {})[key] = node
        elif (promised := self.promised.get(group)) is not None:
            promised.pop(key, None)
            if not promised:
                del self.promised[group]

    # -- as we have ordered it -------------------------------------------------------------------------

    def _show(self, key: str, pod: WatchedPod) -> None:
        """Let the state have the pod as the API server has it, and as we have ordered it."""
        holds = bool(pod.spec.node_name) and pod.status.phase not in FINISHED
        if is_over(pod) and not holds:
            self._leaving.gone(key)
        pod = self._as_promised(key, self._as_assumed(key, pod))
        if key in self.waiting:
            node = "" if pod.spec.node_name else pod.status.nominated_node_name
            self._note_promise(group_key(pod) or key, key, node)
        counts = key not in self.stand_ins and (holds or not is_over(pod))
        if counts and self._leaving.put(key, pod):
            pod = on_its_way_out(pod)
        self.state.apply(Put(pod))

    def _as_assumed(self, key: str, pod: WatchedPod) -> WatchedPod:
        """The pod where we have sent it, unless the API server already says where it is."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return pod
        if pod.metadata.uid != assumed.uid or pod.spec.node_name or is_over(pod):
            del self._assumed[key]
            return pod
        return on_node(pod, assumed.node)

    def _as_promised(self, key: str, pod: WatchedPod) -> WatchedPod:
        promise = self._promises.get(key)
        if promise is None:
            return pod
        known = pod.status.nominated_node_name == promise.node
        if known or pod.metadata.uid != promise.uid or pod.spec.node_name or is_over(pod):
            del self._promises[key]
            return pod
        return nominated_to(pod, promise.node)

    def _remember_mate(self, key: str, pod: WatchedPod | None) -> None:
        group = None if pod is None else group_key(pod)
        record = None if pod is None else pod.metadata.annotations.get(ANNOTATION)
        seating = None if record is None else parse_seating(record)
        known = self._group_of.get(key)
        if known is not None and known != group:
            self._forget_mate(key, known)
        if pod is None or group is None or seating is None:
            return
        if is_over(pod):
            self._forget_mate(key, group)
            return
        self._group_of[key] = group
        owned = controller_of(pod) is not None
        self.mates.setdefault(group, {})[key] = Mate(pod.metadata.uid, owned, seating)

    def _forget_mate(self, key: str, group: str) -> None:
        self._group_of.pop(key, None)
        mates = self.mates.get(group, {})
        mates.pop(key, None)
        if not mates:
            self.mates.pop(group, None)

    # -- ordered by us ---------------------------------------------------------------------------------

    def assume(self, key: str, uid: str, node: str) -> bool:
        """Take the pod as seated from now on; False if it is no longer the pod that was decided."""
        return self._suppose(self._assumed, key, uid, node)

    def _suppose(self, supposed: dict[str, Assumption], key: str, uid: str, node: str) -> bool:
        pod = self.waiting.get(key)
        if pod is None or pod.metadata.uid != uid or key in self._assumed:
            return False
        supposed[key] = Assumption(uid, node)
        self._show(key, pod)
        return True

    def retract(self, keys: Iterable[str]) -> None:
        """These were not bound after all: they wait again, as the API server has them."""
        for key in keys:
            if self._assumed.pop(key, None) is not None and (pod := self.waiting.get(key)) is not None:
                self._show(key, pod)
        self.changed.set()

    def promise(self, key: str, uid: str, node: str) -> bool:
        """Take the pod as nominated to this node from now on; False as for `assume`. No node: to none."""
        return self._suppose(self._promises, key, uid, node)

    def retract_promise(self, key: str, node: str) -> None:
        """This one was not written after all, and none was made since."""
        promise = self._promises.get(key)
        if promise is not None and promise.node == node:
            del self._promises[key]
            if (pod := self.waiting.get(key)) is not None:
                self._show(key, pod)

    def dismiss(self, key: str, uid: str) -> bool:
        """Take a pod on a node as leaving from now on; False if it is not that pod, or leaves already."""
        if (pod := self._leaving.deleted.get(key)) is not None:
            if pod.metadata.uid != uid or not self._leaving.lingers(pod) or self._leaving.is_told(key):
                return False
            self._leaving.tell(key)
            self._show(key, pod)
            return True
        if not self.state.set_leaving(key, uid, True):
            return False
        self._leaving.tell(key)
        return True

    def retract_dismissal(self, key: str, uid: str) -> None:
        """It was not told to go after all."""
        if self._leaving.untell(key):
            self._set_leaving(key, uid, False)

    def shorter_grace(self, key: str) -> int | None:
        """The grace period to evict a pod with, in seconds, where the policy gives less than it asks for."""
        return self._leaving.shorter_grace(key)

    def lingering(self) -> dict[str, WatchedPod]:
        """Pods on nodes that are being deleted, and were given longer for it than the policy gives anyone."""
        return {key: pod for key, pod in self._leaving.deleted.items() if self._leaving.lingers(pod)}

    def pods_of(self, namespace: str, controller: str) -> Collection[str]:
        """Pods of the controller of this UID that have neither finished nor begun to terminate."""
        return self._leaving.children(namespace, controller)

    def owner(self, key: str) -> WatchedOwner | None:
        """The controller of a pod that has not finished."""
        return self._leaving.owners.get(key)

    @property
    def assumed(self) -> int:
        return len(self._assumed)

    def is_unseated(self, pod: WatchedPod) -> bool:
        """Whether this pod still waits, and has not been sent anywhere."""
        key = key_of(pod.metadata)
        now = self.waiting.get(key)
        return now is not None and now.metadata.uid == pod.metadata.uid and key not in self._assumed

    def unseated(self, group: str) -> list[WatchedPod]:
        """Members of the group that exist, wait, and have not been sent anywhere."""
        waiting = [key for key in sorted(self.parties.get(group, ())) if key not in self.stand_ins]
        return [self.waiting[key] for key in waiting if key not in self._assumed]

    def is_away(self, group: str) -> bool:
        """Whether members of the group do not exist, and others stand in for them."""
        return bool(self.stand_ins) and any(key in self.stand_ins for key in self.parties.get(group, ()))


def on_node(pod: WatchedPod, node: str) -> WatchedPod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def nominated_to(pod: WatchedPod, node: str) -> WatchedPod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node))


def on_its_way_out(pod: WatchedPod) -> WatchedPod:
    leaving = msgspec.structs.replace(
        pod.metadata, deletion_timestamp=datetime.now(UTC), deletion_grace_period_seconds=0
    )
    return msgspec.structs.replace(pod, metadata=leaving)


def is_over(pod: Pod) -> bool:
    """Finished, or about to be: it will not be bound any more."""
    return pod.status.phase in FINISHED or pod.metadata.deletion_timestamp is not None


class Feed(Generic[T]):
    """The end of one watch: hands every object to the mirror, and wakes whoever waits for a change."""

    def __init__(self, changed: asyncio.Event, put: Callable[[T], None], gone: Callable[[str], None]) -> None:
        self._changed = changed
        self._put = put
        self.gone = gone

    def put(self, item: T) -> None:
        try:
            self._put(item)
        except ValueError as problem:
            # Amounts that no cluster has, for instance. One object must not stop the others.
            log.error("%s %s is ignored: %s", type(item).__name__, key_of(item.metadata), problem)

    def settled(self) -> None:
        self._changed.set()


def feed_pods(mirror: Mirror) -> Feed[WatchedPod]:
    return Feed(mirror.changed, mirror.put_pod, mirror.pod_gone)


def feed_groups(mirror: Mirror) -> Feed[WatchedGroup]:
    return Feed(mirror.changed, mirror.put_group, mirror.group_gone)


def feed_jobs(mirror: Mirror) -> Feed[Job]:
    return Feed(mirror.changed, mirror.put_job, mirror.job_gone)


def feed_plain(mirror: Mirror, kind: type[Object]) -> Feed[Object]:
    """Objects that go to the state as they are, or as we have promised them."""
    promised = mirror.promised_volumes
    return Feed(mirror.changed, promised.put, lambda key: promised.gone(kind, key))
