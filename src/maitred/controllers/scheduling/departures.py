"""Pods that are on their way out before the API server says so of them.

A pod that was told to go holds its place until it is gone, but it counts for no quorum, and is not evicted a
second time. The pods below a suspended owner are such pods too, whoever has suspended it: its own controller
deletes them, and may take a moment. What an owner says outlives us, so a scheduler that has just started sees
who is leaving as well as the one that told them to.

None of this is believed for ever. Whoever has not left within its grace period and LEAVE_SECONDS stays: it
counts as running again, and may be evicted again. Otherwise a group that was promised its place would wait
without end.

Pods that have a `deletionTimestamp` are the business of `cluster.leaving`: those that are there too long
after that time are no longer counted on. A pod that was given more time than `preemption.graceLimit` of the
policy does not count as leaving either: it lingers in its place until it is evicted, which gives it less.
"""

import heapq
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from maitred.controllers.scheduling.lineage import Lineage, OwnerId, controller_id, id_of
from maitred.kube.wire import WatchedOwner, WatchedPod
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.owners import kind_of
from maitred.model.policy import Policy, grace_limit
from maitred.model.suspending import KUEUE_WORKLOAD, OwnerName, SuspendableKind

log = logging.getLogger(__name__)

LEAVE_SECONDS = 60.0
"""For the API server to say of a pod that it is being deleted, beyond the pod's own grace period."""
DEFAULT_GRACE = 30
LONGEST_GRACE = 600
"""A pod may ask for years, which is too long to wait for a deletion to begin."""


@dataclass(slots=True)
class Child:
    """A pod that has not finished."""

    uid: str
    grace: int
    """The grace period that it asks for."""
    seconds: float
    """How long it may take until its deletion is seen."""
    controller: OwnerId | None
    """If it has one, and is not being deleted."""
    until: float = -math.inf
    """When it has left, or stays."""
    warned: bool = False


class PodDepartures:
    def __init__(
        self, policy: Callable[[], Policy] = Policy, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.owners: dict[str, WatchedOwner] = {}
        """Controllers of the pods that have one and have not finished."""
        self.deleted: dict[str, WatchedPod] = {}
        """Pods on nodes that are being deleted, as the API server has them."""
        self._policy = policy
        self._clock = clock
        self._pods: dict[str, Child] = {}
        self._children: dict[OwnerId, dict[str, str]] = {}
        """By the controller: its pods, and the UID of each."""
        self._told: set[str] = set()
        """Pods that we have told to go."""
        self._lineage = Lineage()
        self._stopped: dict[OwnerId, set[OwnerName]] = {}
        """Owners whose pods are to be deleted by their own controllers, and the objects that say so: the
        owner itself, or Kueue's Workload for it."""
        self._stops: dict[OwnerName, frozenset[OwnerId]] = {}
        self._due: list[tuple[float, str, str]] = []
        """When to look, at which pod, and its UID."""

    # -- pods ------------------------------------------------------------------------------------------

    def put(self, key: str, pod: WatchedPod) -> bool:
        """A pod that has not finished: whether it is leaving, which its own object does not say."""
        owner, is_deleted = controller_of(pod), pod.metadata.deletion_timestamp is not None
        controller = None if is_deleted else controller_id(pod.metadata)
        known = self._pods.get(key)
        if known is None or known.uid != pod.metadata.uid or known.controller != controller:
            same = known is not None and known.uid == pod.metadata.uid
            was_told = same and key in self._told
            self.gone(key)
            grace = grace_of(pod)
            seconds = min(grace, LONGEST_GRACE) + LEAVE_SECONDS
            known = self._pods[key] = Child(pod.metadata.uid, grace, seconds, controller)
            if owner is not None:
                self.owners[key] = owner
            if controller is not None:
                self._children.setdefault(controller, {})[key] = known.uid
            if was_told:
                self.tell(key)
            elif self._is_stopped(known):
                self._begin(key, known)
        if is_deleted:
            self.deleted[key] = pod
            if not self.lingers(pod):
                self._told.discard(key)
        return self._is_leaving(key, known)

    def gone(self, key: str) -> None:
        self._told.discard(key)
        self.deleted.pop(key, None)
        self.owners.pop(key, None)
        child = self._pods.pop(key, None)
        if child is None or child.controller is None:
            return
        children = self._children[child.controller]
        children.pop(key, None)
        if not children:
            del self._children[child.controller]

    def lingers(self, pod: WatchedPod) -> bool:
        """Whether a pod that is being deleted was given longer for it than the policy gives anyone."""
        limit = grace_limit(self._policy())
        return limit is not None and pod.metadata.deletion_grace_period_seconds > limit

    def shorter_grace(self, key: str) -> int | None:
        """The grace period to evict a pod with; None for its own."""
        limit, child = grace_limit(self._policy()), self._pods.get(key)
        if limit is None or child is None or (child.grace <= limit and key not in self.deleted):
            return None
        return limit

    def is_told(self, key: str) -> bool:
        return key in self._told

    def tell(self, key: str) -> None:
        self._told.add(key)
        if (child := self._pods.get(key)) is not None:
            self._begin(key, child)

    def untell(self, key: str) -> bool:
        """It was not told after all. Whether it stays."""
        if key not in self._told:
            return False
        self._told.discard(key)
        child = self._pods.get(key)
        return child is None or not self._is_leaving(key, child)

    # -- owners ----------------------------------------------------------------------------------------

    def put_owner(self, one: Object, row: SuspendableKind) -> dict[str, tuple[str, bool]]:
        """The pods that leave by this or stay, which they did not before: the UID of each, and whether it
        leaves."""
        id = id_of(one)
        stops = frozenset([id]) if row.is_suspended(one) and row.is_own(one) else frozenset[OwnerId]()
        before, changed = set[str](), self._stops.get(id.owner, frozenset()) != stops
        parent = controller_id(one.metadata)
        if changed or parent != self._lineage.parent(id):
            before = {key for key in self.below(id) if self._is_stopped(self._pods[key])}
            changed |= self._lineage.put(id, parent)
        self._stop(id.owner, stops)
        return self._news(self.below(id), before) if changed else {}

    def put_workload(self, workload: KueueWorkload) -> dict[str, tuple[str, bool]]:
        """As `put_owner`: Kueue stops what a Workload stands for while that is not active."""
        about = workload.metadata
        name = OwnerName(KUEUE_WORKLOAD.title, key_of(about))
        off = not workload.spec.active and not workload.is_finished
        owners = (OwnerId(about.namespace, kind_of(one), one.name, one.uid) for one in about.owner_references)
        stops = frozenset(owners) if off else frozenset[OwnerId]()
        concerned = self._stops.get(name, frozenset()) ^ stops
        pods = [key for id in concerned for key in self.below(id)]
        before = {key for key in pods if self._is_stopped(self._pods[key])}
        self._stop(name, stops)
        return self._news(pods, before)

    def owner_gone(self, one: Object) -> None:
        """Its pods that were leaving go on to leave."""
        if isinstance(one, KueueWorkload):
            self._stop(OwnerName(KUEUE_WORKLOAD.title, key_of(one.metadata)), frozenset())
        else:
            self._stop(id_of(one).owner, frozenset())
            self._lineage.gone(id_of(one))

    def _stop(self, by: OwnerName, stops: frozenset[OwnerId]) -> None:
        for id in self._stops.pop(by, frozenset()):
            self._stopped[id].discard(by)
            if not self._stopped[id]:
                del self._stopped[id]
        for id in stops:
            self._stopped.setdefault(id, set()).add(by)
        if stops:
            self._stops[by] = stops

    def _news(self, pods: Iterable[str], before: set[str]) -> dict[str, tuple[str, bool]]:
        found = dict[str, tuple[str, bool]]()
        for key in pods:
            child = self._pods[key]
            if (leaves := self._is_stopped(child)) == (key in before):
                continue
            if not leaves:  # its owner was resumed: pods that are still there stay
                self._told.discard(key)
            elif key in self._told:
                continue
            else:
                self._begin(key, child)
            found[key] = (child.uid, leaves)
        return found

    def below(self, owner: OwnerId) -> list[str]:
        """Pods below an owner that have neither finished nor begun to terminate."""
        controllers = self._lineage.down_from(owner)
        return [key for controller in controllers for key in self._children.get(controller, ())]

    def above(self, pod: WatchedPod) -> Iterator[OwnerId]:
        """Its controller, and who is above that."""
        controller = controller_id(pod.metadata)
        return iter(()) if controller is None else self._lineage.up_from(controller)

    # -- time ------------------------------------------------------------------------------------------

    def next_at(self) -> float:
        """When the next pod ought to have left."""
        return self._due[0][0] if self._due else math.inf

    def overdue(self) -> dict[str, str]:
        """Pods that have not left in time, with the UID of each: they stay from now on."""
        now, found = self._clock(), dict[str, str]()
        while self._due and self._due[0][0] <= now:
            _, key, uid = heapq.heappop(self._due)
            child = self._pods.get(key)
            if child is None or child.uid != uid or child.until > now or child.until == -math.inf:
                continue
            child.until = -math.inf
            if key in self._told or self._is_stopped(child):
                self._told.discard(key)
                found[key] = uid
                self._warn(key, child)
        return found

    def _warn(self, key: str, child: Child) -> None:
        if not child.warned:
            child.warned = True
            log.warning(
                "pod %s was evicted and is still there after %g s: it counts as running again",
                *(key, child.seconds),
            )

    def _begin(self, key: str, child: Child) -> None:
        child.until = self._clock() + child.seconds
        heapq.heappush(self._due, (child.until, key, child.uid))

    def _is_leaving(self, key: str, child: Child) -> bool:
        ordered = key in self._told or self._is_stopped(child)
        return ordered and child.until > self._clock()

    def _is_stopped(self, child: Child) -> bool:
        """Whether anyone above it is."""
        if child.controller is None or not self._stopped:
            return False
        return any(id in self._stopped for id in self._lineage.up_from(child.controller))

    def outstayed(self, key: str) -> bool:
        """Whether the pod was evicted before, and was still there when it ought to have left."""
        child = self._pods.get(key)
        return child is not None and child.warned


def controller_of(pod: WatchedPod) -> WatchedOwner | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def grace_of(pod: WatchedPod) -> int:
    asked = pod.spec.termination_grace_period_seconds
    return max(DEFAULT_GRACE if asked is None else asked, 0)
