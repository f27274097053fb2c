"""What speaks against nodes now: faults of the machine and of its devices, and of nothing that a tenant could
bring about alone.

- What the node, its kubelet and its drivers say of it counts as it is.
- What happens to pods counts once groups of three namespaces fail there and nowhere else: tenants write the
  image, the command, and even the node, so fewer of them could blame any node they like.
- Nothing counts of a node that is being worked at, or was made a moment ago.
- What many nodes have at once is no fault of any of them: it is the network, the power, an upgrade.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import timedelta
from typing import NamedTuple

from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import NO_GROUP, Snapshot
from maitred.decide.healing.judging import HARD, suspicion
from maitred.decide.healing.losses import Losses
from maitred.decide.healing.members import HealthMembers, blamed
from maitred.model.health.pods import pod_signals
from maitred.model.health.signals import Certainty, Kind, Signal
from maitred.model.meta import CUT_TO, Timestamp
from maitred.model.node import Node

FULL, HALF, LITTLE = 1.0, 0.5, 0.25
OF_CERTAINTY: Mapping[Certainty, float] = {"certain": FULL, "likely": HALF}
SILENT: tuple[Kind, ...] = ("NotReady", "Unreachable")
OF_DEVICES: tuple[Kind, ...] = ("DevicesUnhealthy", "PluginSilent", "DeviceTainted", "DeviceGone")
BY_LOAD = frozenset({"MemoryPressure", "DiskPressure", "PIDPressure"})
"""Conditions that pods bring about by what they use."""
STARTING = timedelta(minutes=10)
"""A node that was made so short a time ago is not Ready yet, and its devices are not there."""
FEW, SHARE = 3, 10
"""A fault that more than so many nodes have at once, and more than one in so many, is not theirs."""
SMALL_DOMAIN = 4
"""Of fewer nodes, nothing is known about their domain."""


class NodeFault(NamedTuple):
    what: str
    """By which it is known again."""
    device: str
    weight: float
    words: str
    since: Timestamp | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.what, self.device


def node_faults(losses: Losses, groups: Sequence[HealthMembers]) -> dict[str, list[NodeFault]]:
    """By node. `groups` are all of which something is reported."""
    found = defaultdict[str, list[NodeFault]](list)
    excused = _excused(losses)
    for node, fault in _every(losses, groups):
        if node and node not in excused and not any(fault.key == one.key for one in found[node]):
            found[node].append(fault)
    shared = _shared(losses, found)
    own = {
        node: sorted(one for one in faults if (node, one.what) not in shared)
        for node, faults in found.items()
    }
    return {node: faults for node, faults in own.items() if faults}


def _every(losses: Losses, groups: Sequence[HealthMembers]) -> Iterator[tuple[str, NodeFault]]:
    """The heaviest of those that are known by one name come first."""
    for node, signals in losses.signals.items():
        yield from ((node, one) for one in _of_node(node, signals, losses))
    for node in sorted(losses.lost_nodes - losses.signals.keys()):
        yield node, NodeFault("Gone", "", FULL, "was removed while pods were on it")
    for node, signals in losses.devices.on_nodes.items():
        for one in signals:
            weight = OF_CERTAINTY.get(one.certainty)
            if one.kind in OF_DEVICES and weight is not None:
                yield node, NodeFault(one.kind, one.device, weight, one.words, one.since)
    yield from _reported(losses)
    yield from _suspected(losses.snapshot, groups)


def _of_node(node: str, signals: Iterable[Signal], losses: Losses) -> Iterator[NodeFault]:
    """A node that falls silent counts a little, and whole once it is lost."""
    for one in signals:
        if one.since is not None and one.since > losses.now:
            continue  # A clock is wrong.
        if one.kind in SILENT and one.since is not None:
            weight = FULL if node in losses.lost_nodes else LITTLE
            yield NodeFault("NotReady", "", weight, one.words, one.since)
        elif one.kind == "Condition" and one.family in HARD:
            condition = str(one.evidence["condition"])
            found = OF_CERTAINTY.get(one.certainty)
            if condition not in BY_LOAD and found is not None:
                yield NodeFault(condition, "", found, one.words, one.since)


def _reported(losses: Losses) -> Iterator[tuple[str, NodeFault]]:
    """Devices that kubelets say are unhealthy, whoever has them."""
    for reports in losses.snapshot.reports.pods.values():
        for report in reports:
            for one in pod_signals(report.pod, losses.now):
                if one.kind == "DeviceReported" and one.certainty == "certain":
                    words = f"has a device {one.device} that its kubelet says is unhealthy"
                    yield one.node, NodeFault(one.kind, one.device, FULL, words)


def _suspected(snapshot: Snapshot, groups: Sequence[HealthMembers]) -> Iterator[tuple[str, NodeFault]]:
    for node, failing in sorted(blamed(groups).items()):
        found = suspicion(node, failing, _running(snapshot, node, {group.key for group in failing}))
        if found is not None and found.certainty == "likely":
            yield node, NodeFault(found.kind, "", FULL, found.words)


def _running(snapshot: Snapshot, node: str, failing: Set[str]) -> int:
    """Groups that do not fail there; of pods that are in none, those of one namespace count as one."""
    bound, row = snapshot.bound, snapshot.nodes.rows.get(node)
    if row is None:
        return 0
    there = (bound.node == row) & ~bound.fixed & ~bound.terminating
    found = set[str]()
    for number, occupant in zip(bound.group[there].tolist(), bound.occupants[there], strict=True):
        seated = None if number == NO_GROUP else snapshot.seated[number]
        space = occupant.key.partition("/")[0]
        found.add(f"{space}/" if seated is None else snapshot.tree_of(seated.group))
    return len(found - failing)


# -- what counts against no node -----------------------------------------------------------------------


def _excused(losses: Losses) -> set[str]:
    """Nodes that somebody works at, that will go soon, or that have only just been made."""
    found = set[str]()
    for name, signals in losses.signals.items():
        noticed = any(one.family == "Notice" for one in signals)
        if noticed or _is_starting(losses.snapshot.reports.nodes[name], losses):
            found.add(name)
    return found


def _is_starting(node: Node, losses: Losses) -> bool:
    made = node.metadata.creation_timestamp
    return made is not None and timedelta() <= losses.now - made < STARTING


def _shared(losses: Losses, found: Mapping[str, Sequence[NodeFault]]) -> set[tuple[str, str]]:
    """Nodes and faults that too many have at once, in all or in one domain."""
    having = defaultdict[str, set[str]](set)
    for node, faults in found.items():
        for one in faults:
            having[one.what].add(node)
    nodes = losses.snapshot.nodes
    most = max(FEW, len(nodes.rows) // SHARE)
    shared = set[tuple[str, str]]()
    for what, those in having.items():
        if len(those) > most:
            shared.update((node, what) for node in those)
        elif len(those) > SMALL_DOMAIN // 2:
            for level in losses.policy.topology.levels:
                shared.update((node, what) for node in _in_failing_domains(nodes, level.key, those))
    return shared


def _in_failing_domains(nodes: NodeView, key: str, those: Set[str]) -> Iterator[str]:
    """Of these nodes, the ones that most of their domain is with."""
    column = nodes.column(key)
    codes = {node: int(column.codes[row]) for node in those if (row := nodes.rows.get(node)) is not None}
    counts = Counter(codes.values())
    for node, code in codes.items():
        if code >= 0:
            size = int((column.codes == code).sum())
            if size >= SMALL_DOMAIN and counts[code] > size // 2:
                yield node


def evidence(fault: NodeFault, at: str) -> str:
    """In words, for the memory."""
    return f"{at} {fault.words}"[: 2 * CUT_TO]
