"""What a shadow knows of gangs beyond what is declared: it tells them as an audit does.

A Job whose indexes all run at once is a gang, though its pods name no group, or one that Kubernetes made and
that any single pod satisfies. A shadow that went by declared groups alone would call such a gang seated while
its members hold devices and wait for the last of them.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from maitred.explain.audit.gangs import FoundGroup, found_group_of
from maitred.explain.audit.stays import FAILED, SUCCEEDED, Stay
from maitred.kube.wire import WatchedGroup, WatchedPod
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.membership import GroupId, Objects, observed, settled
from maitred.model.objects import Object
from maitred.model.policy import Policy, is_device
from maitred.model.requests import pod_requests

T = TypeVar("T", bound=Object)


class ShadowGangs:
    """Told of every pod; a gang is looked up by one of its pods."""

    def __init__(self, jobs: dict[str, Job], groups: dict[str, WatchedGroup]) -> None:
        self._jobs, self._groups = jobs, groups
        self._stays: dict[str, Stay] = {}
        self._members: dict[GroupId, dict[str, Stay]] = {}

    def put(self, key: str, pod: WatchedPod) -> None:
        self.gone(key)
        membership = observed(pod)
        if membership is None:
            return
        about, over = pod.metadata, pod.status.phase in (SUCCEEDED, FAILED)
        stay = Stay(
            pod,
            membership,
            pod_requests(pod.spec),
            created=0.0 if about.creation_timestamp is None else about.creation_timestamp.timestamp(),
            bound=0.0 if pod.spec.node_name else None,
            leaving=None if about.deletion_timestamp is None else about.deletion_timestamp.timestamp(),
            ended=0.0 if over else None,
        )
        self._stays[key] = stay
        self._members.setdefault(membership.id, {})[key] = stay

    def gone(self, key: str) -> None:
        id = self.group_of(key)
        self._stays.pop(key, None)
        if id is not None:
            del self._members[id][key]
            if not self._members[id]:
                del self._members[id]

    def group_of(self, pod: str) -> GroupId | None:
        """What the pod names, or what its owner makes of it."""
        stay = self._stays.get(pod)
        return None if stay is None or stay.membership is None else stay.membership.id

    def of(self, pod: str) -> FoundGroup | None:
        """The gang that a pod is part of; None where it is of use by itself, or that is not said."""
        named = self.group_of(pod)
        if named is None:
            return None
        stay = self._stays[pod]
        membership = settled(stay.pod, stay.membership, self)
        if membership is None:
            return None
        group = found_group_of(membership.id, tuple(self._members[named].values()), Objects(self))
        return group if group.is_gang else None

    # -- what quorums are looked up in ---------------------------------------------------------------------

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        known = self._of_kind(kind).get(key)
        if not isinstance(known, kind) or (uid and known.metadata.uid not in ("", uid)):
            return None
        return known

    def every(self, kind: type[T]) -> Iterator[T]:
        return (item for item in self._of_kind(kind).values() if isinstance(item, kind))

    def _of_kind(self, kind: type) -> Mapping[str, object]:
        known: dict[type, Mapping[str, object]] = {Job: self._jobs, PodGroup: self._groups}
        return known.get(kind, {})


def seated_in(group: FoundGroup) -> int:
    """Members that have a place and keep it, or have succeeded."""
    return sum(
        stay.leaving is None and (stay.succeeded or (stay.bound is not None and not stay.over))
        for stay in group.stays
    )


def held_in(group: FoundGroup, policy: Policy) -> str:
    """`40 nvidia.com/gpu`: devices that its members hold."""
    held: dict[str, int] = {}
    for stay in group.stays:
        if stay.bound is not None and not stay.over:
            for resource, amount in stay.devices.items():
                if is_device(policy, resource):
                    held[resource] = held.get(resource, 0) + amount
    return ", ".join(f"{amount} {resource}" for resource, amount in sorted(held.items()))
