"""The members of all groups, as they were seen: pods, put into their groups."""

from collections import defaultdict
from collections.abc import Iterator

from maitred.cluster.members import order_of
from maitred.cluster.snapshot import Snapshot
from maitred.decide.healing.members import HealthMembers, MemberLook, MemberReader
from maitred.explain.why.names import Names
from maitred.model.meta import key_of
from maitred.model.owners import owner_of, owners_of
from maitred.model.pod import Pod, is_node_bound


class MemberSurvey:
    """What the groups of one cluster are made from."""

    def __init__(self, snapshot: Snapshot, names: Names, reader: MemberReader) -> None:
        self._snapshot, self._names, self._reader = snapshot, names, reader

    def groups(self) -> Iterator[HealthMembers]:
        """Pods that are in no group are looked at with the others of their workload: a fault that they share
        is that of the workload."""
        together = defaultdict[str, list[Pod]](list)
        for key, pods in self._names.seen_members.items():
            own = [pod for pod in pods if not is_node_bound(pod.metadata)]
            alone = len(own) == 1 and key == key_of(own[0].metadata) and key not in self._names.seated
            together[workload_of(own[0]) if alone else key] += own
        for key, pods in together.items():
            if pods:
                yield self._group(key, sorted(pods, key=lambda pod: key_of(pod.metadata)))

    def _group(self, key: str, pods: list[Pod]) -> HealthMembers:
        parts = [self._snapshot.seated[number] for number in self._names.seated.get(key, ())]
        quorums = {one.group.key: one.group.quorum for one in parts if one is not None and one.group.gang}
        is_tree = len(quorums) > 1
        looks = [self._look(pod, (self._names.settled(pod).key or key) if is_tree else key) for pod in pods]
        return self._reader.read(key, quorums, looks)

    @staticmethod
    def _look(pod: Pod, part: str) -> MemberLook:
        return MemberLook(
            key=key_of(pod.metadata),
            index=order_of(pod.metadata)[0],
            node=pod.spec.node_name,
            phase=pod.status.phase,
            staying=pod.metadata.deletion_timestamp is None,
            part=part,
            report=pod,
        )


def workload_of(pod: Pod) -> str:
    """What makes a pod that is in no group, as namespace/name; a pod that nobody made is its own."""
    namespace, _, name = key_of(pod.metadata).partition("/")
    owners = list(owners_of(pod.metadata.labels, owner_of(pod.metadata)))
    return f"{namespace}/{owners[-1][1] if owners else name}"
