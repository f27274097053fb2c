"""What a shadow knows of gangs beyond what is declared: it tells them as an audit does.

A Job whose indexes all run at once is a gang, though its pods name no group, or one that Kubernetes made and
that any single pod satisfies. A shadow that went by declared groups alone would call such a gang seated while
its members hold devices and wait for the last of them.
"""

from maitred.cluster.snapshot import AS_USUAL
from maitred.cluster.state import ClusterState
from maitred.explain.audit.gangs import FoundGroup, found_group_of
from maitred.explain.audit.pod_times import FAILED, SUCCEEDED, PodTimes
from maitred.kube.wire import WatchedPod
from maitred.model.membership import SILENT, GroupId, PodWords, said_by, settle
from maitred.model.policy import Policy, is_device
from maitred.model.requests import pod_requests


class ShadowGangs:
    """Told of every pod; a gang is looked up by one of its pods."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._stays: dict[str, PodTimes] = {}
        self._alike: dict[str, dict[PodWords, dict[str, PodTimes]]] = {}
        """By namespace, and by what they say."""

    def put(self, key: str, pod: WatchedPod) -> None:
        self.gone(key)
        said = said_by(pod)
        if said is SILENT:
            return
        about, over = pod.metadata, pod.status.phase in (SUCCEEDED, FAILED)
        stay = self._stays[key] = PodTimes(
            pod,
            said,
            pod_requests(pod.spec),
            created=0.0 if about.creation_timestamp is None else about.creation_timestamp.timestamp(),
            bound=0.0 if pod.spec.node_name else None,
            leaving=None if about.deletion_timestamp is None else about.deletion_timestamp.timestamp(),
            ended=0.0 if over else None,
        )
        self._alike.setdefault(said.namespace, {}).setdefault(said, {})[key] = stay

    def gone(self, key: str) -> None:
        stay = self._stays.pop(key, None)
        if stay is not None:
            alike = self._alike[stay.said.namespace]
            del alike[stay.said][key]
            if not alike[stay.said]:
                del alike[stay.said]

    def group_of(self, pod: str) -> GroupId | None:
        """What the pod names, or what its owner makes of it, whatever the policy says of that."""
        stay = self._stays.get(pod)
        return None if stay is None else settle(stay.said, self._state, AS_USUAL).id

    def of(self, pod: str) -> FoundGroup | None:
        """The gang that a pod is part of; None where it is of use by itself, or that is not said."""
        id = self.group_of(pod)
        if id is None:
            return None
        alike = self._alike[self._stays[pod].said.namespace]
        found = ((settle(said, self._state, AS_USUAL), stays) for said, stays in alike.items())
        members = [(stay, settled) for settled, stays in found if settled.id == id for stay in stays.values()]
        group = found_group_of(id, members)
        return group if group.is_gang else None


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
