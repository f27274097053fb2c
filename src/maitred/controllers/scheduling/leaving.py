"""Pods that are on their way out before the API server says so of them.

A pod that was told to go holds its place until it is gone, but it counts for no quorum, and nobody evicts it
a second time. The pods of a suspended Job are such pods too, whoever has suspended it: the Job controller
deletes them, and may take a moment. What a Job says outlives us, so a scheduler that has just started sees
who is leaving as well as the one that told them to.
"""

from collections.abc import Collection

from maitred.kube.wire import WatchedOwner, WatchedPod
from maitred.model.job import Job
from maitred.model.suspension import SUSPENDED


class Leaving:
    def __init__(self) -> None:
        self.owners: dict[str, WatchedOwner] = {}
        """Controllers of the pods that have one and have not finished."""
        self._children: dict[str, dict[str, str]] = {}
        """The same by the UID of the controller: pods, and the UID of each."""
        self._told: dict[str, str] = {}
        """Pods that we have told to go, and the UID of each."""
        self._suspended: set[str] = set()
        """UIDs of suspended Jobs."""

    def put(self, key: str, pod: WatchedPod) -> bool:
        """A pod that has not finished: whether it is leaving, which its own object does not say."""
        uid, owner = pod.metadata.uid, controller_of(pod)
        if self._told.get(key, uid) != uid:
            del self._told[key]
        if self.owners.get(key) != owner:
            self._forget_owner(key)
        if owner is None:
            return key in self._told
        self.owners[key] = owner
        self._children.setdefault(owner.uid, {})[key] = uid
        return key in self._told or owner.uid in self._suspended

    def gone(self, key: str) -> None:
        self._told.pop(key, None)
        self._forget_owner(key)

    def tell(self, key: str, uid: str) -> None:
        self._told[key] = uid

    def untell(self, key: str) -> bool:
        """It was not told after all. Whether it stays."""
        owner = self.owners.get(key)
        return self._told.pop(key, None) is not None and (owner is None or owner.uid not in self._suspended)

    def put_job(self, job: Job) -> dict[str, str]:
        """The pods, with the UID of each, that stay or leave by this, which they did not before."""
        uid = job.metadata.uid
        children = dict(self._children.get(uid, {}))
        if job.spec.suspend:
            if uid in self._suspended:
                return {}
            self._suspended.add(uid)
            return {key: pod for key, pod in children.items() if key not in self._told}
        if uid not in self._suspended and SUSPENDED not in job.metadata.annotations:
            return {}
        # Somebody has resumed it: pods that are still there stay.
        self._suspended.discard(uid)
        for key in children:
            self._told.pop(key, None)
        return children

    def job_gone(self, uid: str) -> None:
        self._suspended.discard(uid)

    def children(self, uid: str) -> Collection[str]:
        return self._children.get(uid, {}).keys()

    def _forget_owner(self, key: str) -> None:
        owner = self.owners.pop(key, None)
        if owner is not None:
            children = self._children[owner.uid]
            children.pop(key, None)
            if not children:
                del self._children[owner.uid]


def controller_of(pod: WatchedPod) -> WatchedOwner | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)
