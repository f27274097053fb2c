"""The answer as a whole: a pure function of a situation and of what nodes and pods report."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from msgspec.structs import replace

from maitred.decide.healing.deciding import heal
from maitred.decide.healing.device_signals import DeviceSignals
from maitred.decide.healing.judging import hard_faults, suspicion
from maitred.decide.healing.members import HealthMembers, MemberReader, blamed
from maitred.explain.healing import IF_ROOM
from maitred.explain.health.answer import (
    FleetHealth,
    GroupHealth,
    Ignored,
    LemonNode,
    NodeHealth,
    UnknownCondition,
)
from maitred.explain.health.judged import group_health, node_health
from maitred.explain.health.look import FleetLook
from maitred.explain.health.members import MemberSurvey
from maitred.explain.situation import Situation
from maitred.explain.why.names import Names
from maitred.explain.why.seen import Seen
from maitred.model.health.nodes import NodeReport, node_signals
from maitred.model.health.signals import Signal
from maitred.model.memory import Incident, NodeScore
from maitred.model.policy import health_taints
from maitred.model.times import CLOCK_SKEW, after
from maitred.model.words import moment

MOST_IGNORED = 5
"""In one namespace, so that no tenant fills the answer."""
MOST_UNKNOWN = 20


def health(situation: Situation, look: FleetLook) -> FleetHealth:
    reports = {node.metadata.name: node_signals(node, health_taints(situation.policy)) for node in look.nodes}
    clocks = Clocks(situation.now)
    devices = DeviceSignals(situation.snapshot)
    on_nodes = defaultdict[str, list[Signal]](list)
    for name in sorted(reports.keys() | devices.on_nodes.keys()):
        own = () if name not in reports else reports[name].signals
        on_nodes[name] = [clocks.checked(one) for one in (*own, *devices.on_nodes.get(name, ()))]
    names = Names(situation.snapshot, Seen(look.pods, (), look.groups))
    known = node_names(situation) | reports.keys()
    reader = MemberReader(on_nodes, devices, known, situation.now)
    groups = list(MemberSurvey(situation.snapshot, names, reader).groups())
    for group in groups:
        group.signals = [clocks.checked(one) for one in group.signals]
    clocks.check(situation.snapshot.memory.incidents)
    add_reported(on_nodes, groups)
    add_suspicions(on_nodes, groups)
    faults = {node: [one for one in found if one.family != "OwnCode"] for node, found in on_nodes.items()}
    return FleetHealth(
        at=moment(int(situation.now.timestamp())),
        nodes=int(situation.snapshot.nodes.alive.sum()),
        pods=len(look.pods),
        unwell=unwell_nodes(faults, groups),
        hurt=hurt_groups(faults, groups, decided_about(situation)),
        lemons=tuple(lemons(situation.snapshot.memory.scores)),
        unknown=tuple(unknown_conditions(reports))[:MOST_UNKNOWN],
        ignored=(*of_programs(on_nodes), *clocks.ignored, *unread(groups)),
        notes=look.notes,
    )


def node_names(situation: Situation) -> set[str]:
    """A look may be newer than the snapshot, and know more of them."""
    nodes = situation.snapshot.nodes
    return {name for name, is_alive in zip(nodes.names, nodes.alive, strict=True) if is_alive}


class Clocks:
    """Times in the future are no times. What is said with one counts as if nobody had said since when."""

    def __init__(self, now: datetime) -> None:
        self._latest = after(now, CLOCK_SKEW)
        self._found = dict[str, Ignored]()

    def checked(self, signal: Signal) -> Signal:
        if signal.since is None or signal.since <= self._latest:
            return signal
        name = signal.pod or signal.node
        at = moment(int(signal.since.timestamp()))
        words = f"{signal.kind} is said to be so since {at}, which is in the future: check the clocks"
        self._found.setdefault(name, Ignored(name, words))
        return replace(signal, since=None)

    def check(self, incidents: Iterable[Incident]) -> None:
        """Decisions forget what was remembered by a clock that was ahead."""
        for one in incidents:
            if one.begun > self._latest:
                at = moment(int(one.begun.timestamp()))
                words = f"it is remembered that it was hurt at {at}, which is in the future: check the clocks"
                self._found.setdefault(one.group, Ignored(one.group, words))

    @property
    def ignored(self) -> Sequence[Ignored]:
        return limited(self._found.values())


def limited(found: Iterable[Ignored]) -> list[Ignored]:
    ordered = sorted(found, key=lambda one: (space_of(one), one.name))
    return [one for _, some in groupby(ordered, space_of) for one in list(some)[:MOST_IGNORED]]


def space_of(ignored: Ignored) -> str:
    """Empty for nodes."""
    return ignored.name.partition("/")[0] if "/" in ignored.name else ""


# -- nodes ---------------------------------------------------------------------------------------------


def add_reported(on_nodes: defaultdict[str, list[Signal]], groups: Iterable[HealthMembers]) -> None:
    """What kubelets report of the devices of pods is about their nodes too, once for each device."""
    seen = set[tuple[str, str]]()
    reported = (one for group in groups for one in group.signals if one.kind == "DeviceReported")
    for one in reported:
        if one.certainty == "certain" and one.node and (one.node, one.device) not in seen:
            seen.add((one.node, one.device))
            words = f"has a device {one.device} that its kubelet says is unhealthy"
            # The claim that it belongs to is its tenant's, and nobody else's business.
            told = {name: one.evidence[name] for name in ("id", "health")}
            on_nodes[one.node].append(replace(one, pod="", words=words, evidence=told))


def add_suspicions(on_nodes: defaultdict[str, list[Signal]], groups: Sequence[HealthMembers]) -> None:
    for node, failing in sorted(blamed(groups).items()):
        keys = {group.key for group in failing}
        running = sum(node in group.places and group.key not in keys for group in groups)
        found = suspicion(node, failing, running)
        if found is not None:
            on_nodes[node].append(found)


def unwell_nodes(
    faults: Mapping[str, Sequence[Signal]], groups: Iterable[HealthMembers]
) -> tuple[NodeHealth, ...]:
    there = defaultdict[str, set[str]](set)
    for group in groups:
        for node in group.places:
            there[node].add(group.key)
    found = [node_health(node, signals, there[node]) for node, signals in faults.items() if signals]
    order = ("Lost", "Unwell", "Suspected", "Leaving")
    return tuple(sorted(found, key=lambda one: (order.index(one.state), one.node)))


def unknown_conditions(reports: Mapping[str, NodeReport]) -> Iterator[UnknownCondition]:
    where = defaultdict[tuple[str, str], list[str]](list)
    for name in sorted(reports):
        for found in reports[name].unknown:
            where[found].append(name)
    for (condition, status), nodes in sorted(where.items()):
        yield UnknownCondition(condition, status, len(nodes), nodes[0])


def of_programs(on_nodes: Mapping[str, Sequence[Signal]]) -> list[Ignored]:
    """Faults that programs bring about are reported of nodes, and do not speak against them."""
    return limited(
        Ignored(node, f"{one.words}. Programs cause this, so it does not count against the node")
        for node, found in on_nodes.items()
        for one in found
        if one.family == "OwnCode"
    )


# -- groups --------------------------------------------------------------------------------------------


def decided_about(situation: Situation) -> dict[str, str]:
    """What the scheduler does about groups, in words: by the same decision as its own."""
    outcome = heal(situation.snapshot, situation.policy, situation.now, situation.scheduler)
    slow = {one.slow.key: IF_ROOM for one in outcome.slow}
    return slow | {one.group: one.does for one in outcome.decisions}


def lemons(scores: Iterable[NodeScore]) -> Iterator[LemonNode]:
    """The latest of their failures first."""
    for one in sorted(scores, key=lambda one: one.node):
        if one.lemon_since is not None:
            yield LemonNode(one.node, one.lemon_since, one.tainted, tuple(reversed(one.evidence)))


def hurt_groups(
    faults: Mapping[str, Sequence[Signal]], groups: Iterable[HealthMembers], decided: Mapping[str, str]
) -> tuple[GroupHealth, ...]:
    """Those below their quorum first."""
    hard = hard_faults(faults)
    found = [
        replace(group_health(group, hard), healing=decided.get(group.key, ""))
        for group in groups
        if group.is_hurt
    ]
    return tuple(sorted(found, key=lambda one: (not one.below, one.group)))


def unread(groups: Iterable[HealthMembers]) -> list[Ignored]:
    return limited(Ignored(pod, words) for group in groups for pod, words in group.unread)
