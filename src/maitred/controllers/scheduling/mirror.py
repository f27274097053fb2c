"""The cluster as the watches tell it, with the placements that we have ordered on top.

A bind takes a moment to come back by the watch. Until then the pod is assumed to be where it was sent, so
that the next cycle, which may start at once, does not give its place away.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.controllers.scheduling.seating import ANNOTATION, Seating, parse_seating
from maitred.kube.wire import WatchedGroup, WatchedOwner, WatchedPod
from maitred.model.group import PodGroup, group_key
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.pod import Pod

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

    def __init__(self, scheduler: str | None) -> None:
        self.state = ClusterState()
        self.changed = asyncio.Event()
        self.waiting: dict[str, WatchedPod] = {}
        """Pods that are ours to seat, as the API server has them, assumed ones among them."""
        self.parties: dict[str, set[str]] = {}
        """The same pods by group; a lone pod is a group of one."""
        self.groups: dict[str, WatchedGroup] = {}
        self.mates: dict[str, dict[str, Mate]] = {}
        """Group -> its members that we have bound and that have not finished."""
        self._group_of: dict[str, str] = {}
        self._assumed: dict[str, Assumption] = {}
        self._scheduler = scheduler

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
        self.state.apply(Put(self._as_assumed(key, pod)))

    def pod_gone(self, key: str) -> None:
        self._leave_party(key)
        self._assumed.pop(key, None)
        self._remember_mate(key, None)
        self.state.apply(Delete(Pod, key))

    def put_group(self, group: WatchedGroup) -> None:
        self.groups[key_of(group.metadata)] = group
        self.state.apply(Put(group))

    def group_gone(self, key: str) -> None:
        self.groups.pop(key, None)
        self.state.apply(Delete(PodGroup, key))

    def _leave_party(self, key: str) -> None:
        pod = self.waiting.pop(key, None)
        if pod is None:
            return
        group = group_key(pod) or key
        self.parties[group].discard(key)
        if not self.parties[group]:
            del self.parties[group]

    def _as_assumed(self, key: str, pod: WatchedPod) -> WatchedPod:
        """The pod where we have sent it, unless the API server already says where it is."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return pod
        if pod.metadata.uid != assumed.uid or pod.spec.node_name or is_over(pod):
            del self._assumed[key]
            return pod
        return on_node(pod, assumed.node)

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
        pod = self.waiting.get(key)
        if pod is None or pod.metadata.uid != uid or key in self._assumed:
            return False
        self._assumed[key] = Assumption(uid, node)
        self.state.apply(Put(on_node(pod, node)))
        return True

    def retract(self, keys: Iterable[str]) -> None:
        """These were not bound after all: they wait again, as the API server has them."""
        for key in keys:
            if self._assumed.pop(key, None) is not None and (pod := self.waiting.get(key)) is not None:
                self.state.apply(Put(pod))
        self.changed.set()

    @property
    def assumed(self) -> int:
        return len(self._assumed)

    def is_unseated(self, pod: WatchedPod) -> bool:
        """Whether this pod still waits, and has not been sent anywhere."""
        key = key_of(pod.metadata)
        now = self.waiting.get(key)
        return now is not None and now.metadata.uid == pod.metadata.uid and key not in self._assumed

    def unseated(self, group: str) -> list[WatchedPod]:
        """Members of the group that wait and have not been sent anywhere."""
        return [self.waiting[key] for key in sorted(self.parties.get(group, ())) if key not in self._assumed]


def on_node(pod: WatchedPod, node: str) -> WatchedPod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def is_over(pod: Pod) -> bool:
    """Finished, or about to be: it will not be bound any more."""
    return pod.status.phase in FINISHED or pod.metadata.deletion_timestamp is not None


def controller_of(pod: WatchedPod) -> WatchedOwner | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


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
            log.error("%s %s cannot be counted: %s", type(item).__name__, key_of(item.metadata), problem)

    def settled(self) -> None:
        self._changed.set()


def feed_pods(mirror: Mirror) -> Feed[WatchedPod]:
    return Feed(mirror.changed, mirror.put_pod, mirror.pod_gone)


def feed_groups(mirror: Mirror) -> Feed[WatchedGroup]:
    return Feed(mirror.changed, mirror.put_group, mirror.group_gone)


def feed_plain(mirror: Mirror, kind: type[Object]) -> Feed[Object]:
    """Objects that go to the state as they are."""
    apply = mirror.state.apply
    return Feed(mirror.changed, lambda item: apply(Put(item)), lambda key: apply(Delete(kind, key)))
