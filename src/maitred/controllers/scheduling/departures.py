"""Pods that are on their way out before the API server says so of them.

A pod that was told to go holds its place until it is gone, but it counts for no quorum, and is not evicted a
second time. The pods of a suspended Job are such pods too, whoever has suspended it: the Job controller of
Kubernetes deletes them, and may take a moment. What a Job says outlives us, so a scheduler that has just
started sees who is leaving as well as the one that told them to.

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
from collections.abc import Callable, Collection
from dataclasses import dataclass

from maitred.kube.resources import JOBS
from maitred.kube.wire import WatchedOwner, WatchedPod
from maitred.model.job import Job
from maitred.model.policy import Policy, grace_limit

log = logging.getLogger(__name__)

LEAVE_SECONDS = 60.0
"""For the API server to say of a pod that it is being deleted, beyond the pod's own grace period."""
DEFAULT_GRACE = 30
LONGEST_GRACE = 600
"""A pod may ask for years, which is too long to wait for a deletion to begin."""

Family = tuple[str, str]
"""The namespace and the UID of a controller. A pod may name any UID, also one of another namespace."""


@dataclass(slots=True)
class Child:
    """A pod that has not finished."""

    uid: str
    grace: int
    """The grace period that it asks for."""
    seconds: float
    """How long it may take until its deletion is seen."""
    family: Family | None
    """Of its controller, if it has one and is not being deleted."""
    by_job: bool
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
        self._children: dict[Family, dict[str, str]] = {}
        """By the controller: its pods, and the UID of each."""
        self._told: set[str] = set()
        """Pods that we have told to go."""
        self._suspended: set[Family] = set()
        """Suspended Jobs whose pods Kubernetes deletes."""
        self._due: list[tuple[float, str, str]] = []
        """When to look, at which pod, and its UID."""

    # -- pods ------------------------------------------------------------------------------------------

    def put(self, key: str, pod: WatchedPod) -> bool:
        """A pod that has not finished: whether it is leaving, which its own object does not say."""
        owner, is_deleted = controller_of(pod), pod.metadata.deletion_timestamp is not None
        family = None if owner is None or is_deleted else (pod.metadata.namespace, owner.uid)
        known = self._pods.get(key)
        if known is None or known.uid != pod.metadata.uid or known.family != family:
            same = known is not None and known.uid == pod.metadata.uid
            was_told = same and key in self._told
            self.gone(key)
            grace = grace_of(pod)
            seconds = min(grace, LONGEST_GRACE) + LEAVE_SECONDS
            known = self._pods[key] = Child(pod.metadata.uid, grace, seconds, family, is_of_job(owner))
            if owner is not None:
                self.owners[key] = owner
            if family is not None:
                self._children.setdefault(family, {})[key] = known.uid
            if was_told:
                self.tell(key)
            elif self._is_of_suspended(known):
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
        if child is None or child.family is None:
            return
        children = self._children[child.family]
        children.pop(key, None)
        if not children:
            del self._children[child.family]

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

    # -- Jobs ------------------------------------------------------------------------------------------

    def put_job(self, job: Job) -> dict[str, str]:
        """The pods, with the UID of each, that stay or leave by this, which they did not before."""
        family = (job.metadata.namespace, job.metadata.uid)
        children = {key: uid for key, uid in self._children.get(family, {}).items() if self._pods[key].by_job}
        if job.spec.suspend and job.by_kubernetes:
            if family in self._suspended:
                return {}
            self._suspended.add(family)
            leaving = {key: uid for key, uid in children.items() if key not in self._told}
            for key in leaving:
                self._begin(key, self._pods[key])
            return leaving
        if family not in self._suspended:
            return {}
        # It was resumed: pods that are still there stay.
        self._suspended.discard(family)
        self._told.difference_update(children)
        return children

    def job_gone(self, job: Job) -> None:
        self._suspended.discard((job.metadata.namespace, job.metadata.uid))

    def children(self, namespace: str, uid: str) -> Collection[str]:
        return self._children.get((namespace, uid), {}).keys()

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
            if key in self._told or self._is_of_suspended(child):
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
        ordered = key in self._told or self._is_of_suspended(child)
        return ordered and child.until > self._clock()

    def _is_of_suspended(self, child: Child) -> bool:
        return child.by_job and child.family in self._suspended


def controller_of(pod: WatchedPod) -> WatchedOwner | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def is_of_job(owner: WatchedOwner | None) -> bool:
    """The UID alone may be that of anything."""
    return owner is not None and owner.kind == JOBS.kind and owner.api_version.partition("/")[0] == JOBS.group


def grace_of(pod: WatchedPod) -> int:
    asked = pod.spec.termination_grace_period_seconds
    return max(DEFAULT_GRACE if asked is None else asked, 0)
