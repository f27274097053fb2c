"""Groups with what was seen of their members: who works, who has failed where, and what was said of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from maitred.cluster.members import order_of
from maitred.cluster.snapshot import NO_INDEX, Snapshot
from maitred.explain.health.devices import DeviceSignals
from maitred.explain.why.names import Names
from maitred.model.health.pods import pod_signals
from maitred.model.health.signals import Kind, Signal
from maitred.model.health.steps import slow_members, step_times
from maitred.model.health.tables import LOSING
from maitred.model.meta import key_of
from maitred.model.owners import owner_of, owners_of
from maitred.model.pod import Pod, is_node_bound

FRESH = timedelta(hours=1)
"""Failures of pods that are over count for so long, unless the group still misses the member."""
FAILING: tuple[Kind, ...] = ("Exit", "Killed", "Refused", "NotStarted")
"""Failures that a broken node could have brought about."""
HURTING: tuple[Kind, ...] = (*LOSING, "Spot", "Maintenance", "Removal")
"""Signals of a node that reach every group with members on it."""


@dataclass(frozen=True, slots=True)
class MemberFailure:
    index: int
    """Of the member in its group; NO_INDEX if it has none."""
    node: str
    signal: Signal


@dataclass(slots=True)
class HealthMembers:
    """One group."""

    key: str
    quorum: int
    members: int = 0
    working: int = 0
    below: bool = False
    places: Counter[str] = field(default_factory=Counter)
    """Nodes with members that are not over, and how many."""
    signals: list[Signal] = field(default_factory=list)
    failures: list[MemberFailure] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    """Pods, and what they say that counts for nothing."""

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def is_hurt(self) -> bool:
        return self.below or bool(self.signals)

    @property
    def failed_on(self) -> set[str]:
        return {failure.node for failure in self.failures if failure.signal.kind in FAILING}


class MemberSurvey:
    """What the groups of one cluster are made from."""

    def __init__(
        self,
        snapshot: Snapshot,
        names: Names,
        node_signals: Mapping[str, Sequence[Signal]],
        devices: DeviceSignals,
        known: Set[str],
        now: datetime,
    ) -> None:
        """`known` are the nodes that there are."""
        self._snapshot, self._names, self._now = snapshot, names, now
        self._devices, self._nodes = devices, node_signals
        self._lost = {
            node for node, signals in node_signals.items() if any(one.kind in LOSING for one in signals)
        }
        self._known = known

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

    def _group(self, key: str, pods: Sequence[Pod]) -> HealthMembers:
        parts = [self._snapshot.seated[number] for number in self._names.seated.get(key, ())]
        quorums = {one.group.key: one.group.quorum for one in parts if one is not None and one.group.gang}
        found = HealthMembers(key, sum(quorums.values()) or 1)
        works = Counter[str]()
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        found.members = len({identity(pod) for pod in staying})
        for pod in pods:
            if self._works(pod):
                found.working += 1
                part = key if len(quorums) < 2 else self._names.settled(pod).key or key
                works[part] += 1
        if len(quorums) > 1:
            found.below = any(works[part] < quorum for part, quorum in quorums.items())
        else:
            found.below = bool(quorums) and found.working < found.quorum
        self._read(found, pods)
        return found

    def _works(self, pod: Pod) -> bool:
        if pod.status.phase == "Succeeded":
            return True
        node = pod.spec.node_name
        staying = pod.metadata.deletion_timestamp is None and pod.status.phase != "Failed"
        return staying and bool(node) and not self._is_lost(node)

    def _is_lost(self, node: str) -> bool:
        """Where no node was read, nothing is known of any."""
        return node in self._lost or (bool(self._known) and node not in self._known)

    def _read(self, found: HealthMembers, pods: Sequence[Pod]) -> None:
        ended = all(pod.status.phase in ("Succeeded", "Failed") for pod in pods)
        replaced = self._replaced(pods)
        for pod in pods:
            self._read_one(found, pod, key_of(pod.metadata) in replaced, ended)
        for node in sorted(found.places):
            found.signals += [one for one in self._nodes.get(node, ()) if one.kind in HURTING]
            if self._known and node not in self._known:
                found.signals.append(_gone(node))
        found.signals += self._devices.of_groups.get(found.key, ())
        if any(pod.metadata.annotations for pod in pods):
            times = step_times(pods)
            nodes = {key_of(pod.metadata): pod.spec.node_name for pod in pods}
            found.signals += slow_members(times.seconds, nodes)
            found.unread += times.unread

    def _read_one(self, found: HealthMembers, pod: Pod, is_replaced: bool, ended: bool) -> None:
        key, over = key_of(pod.metadata), pod.status.phase == "Failed"
        if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed"):
            found.places[pod.spec.node_name] += 1
            found.signals += self._devices.of_pods.get(key, ())
        for signal in pod_signals(pod, self._now):
            fresh = signal.since is not None and timedelta() <= self._now - signal.since <= FRESH
            if over and not fresh and (ended or not found.below):
                continue
            if pod.spec.node_name and (fresh or not over):
                found.failures.append(MemberFailure(order_of(pod.metadata)[0], pod.spec.node_name, signal))
            if not is_replaced:
                found.signals.append(signal)

    @staticmethod
    def _replaced(pods: Sequence[Pod]) -> set[str]:
        """Pods that have failed, and in whose place others are by now."""
        failed = [pod for pod in pods if pod.status.phase == "Failed"]
        if not failed:
            return set()
        present = {
            order_of(pod.metadata)[0] for pod in pods if pod.status.phase != "Failed" and pod.spec.node_name
        } - {NO_INDEX}
        return {key_of(pod.metadata) for pod in failed if order_of(pod.metadata)[0] in present}


def workload_of(pod: Pod) -> str:
    """What makes a pod that is in no group, as namespace/name; a pod that nobody made is its own."""
    namespace, _, name = key_of(pod.metadata).partition("/")
    owners = list(owners_of(pod.metadata.labels, owner_of(pod.metadata)))
    return f"{namespace}/{owners[-1][1] if owners else name}"


def identity(pod: Pod) -> int | str:
    """By which a member and the one in its place are the same."""
    index = order_of(pod.metadata)[0]
    return pod.metadata.name if index == NO_INDEX else index


def _gone(node: str) -> Signal:
    return Signal(
        kind="NodeLost",
        family="Infrastructure",
        certainty="certain",
        about="node",
        words="does not exist any more",
        node=node,
        evidence={"exists": False},
    )


def blamed(groups: Iterable[HealthMembers]) -> dict[str, list[HealthMembers]]:
    """Nodes, and the groups that fail there and nowhere else. A group that fails on several nodes takes its
    fault along: that speaks against no node."""
    found = dict[str, list[HealthMembers]]()
    for group in groups:
        nodes = group.failed_on
        if len(nodes) == 1:
            found.setdefault(nodes.pop(), []).append(group)
    return found
