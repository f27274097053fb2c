"""Groups with what was seen of their members: who works, who has failed where, and what was said of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from maitred.cluster.snapshot import NO_INDEX
from maitred.decide.healing.device_signals import DeviceSignals
from maitred.model.health.pods import pod_signals
from maitred.model.health.signals import Kind, Signal
from maitred.model.health.steps import slow_members, step_times
from maitred.model.health.tables import HURTING, LOSING
from maitred.model.pod import Pod

FRESH = timedelta(hours=1)
"""Failures of pods that are over count for so long, unless the group still misses the member."""
FAILING: tuple[Kind, ...] = ("Exit", "Killed", "Refused", "NotStarted")
"""Failures that a broken node could have brought about."""


@dataclass(frozen=True, slots=True)
class MemberLook:
    """One member, as it was seen."""

    key: str
    index: int
    """In its group; NO_INDEX if it has none."""
    node: str
    phase: str
    staying: bool
    """Nobody has deleted it."""
    part: str
    """The group that its quorum is counted in: its own, which may be a part of a tree."""
    report: Pod | None = None
    """What is reported of it, if anything is."""

    @property
    def identity(self) -> int | str:
        """By which a member and the one in its place are the same."""
        return self.key if self.index == NO_INDEX else self.index

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


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


class MemberReader:
    """Reads the members of groups, given what is known of nodes and devices."""

    def __init__(
        self,
        node_signals: Mapping[str, Sequence[Signal]],
        devices: DeviceSignals,
        known: Set[str],
        now: datetime,
    ) -> None:
        """`known` are the nodes that there are."""
        self._nodes, self._devices, self._known, self._now = node_signals, devices, known, now
        self._lost = {
            node for node, found in node_signals.items() if any(one.kind in LOSING for one in found)
        }

    def is_lost(self, node: str) -> bool:
        """Where no node was read, nothing is known of any."""
        return node in self._lost or (bool(self._known) and node not in self._known)

    def works(self, member: MemberLook) -> bool:
        if member.phase == "Succeeded":
            return True
        staying = member.staying and member.phase != "Failed"
        return staying and bool(member.node) and not self.is_lost(member.node)

    def read(
        self, key: str, quorums: Mapping[str, int], members: Sequence[MemberLook], succeeded: int = 0
    ) -> HealthMembers:
        """`quorums`: that of the group, or of each part of a tree. `succeeded`: members beside these."""
        found = HealthMembers(key, sum(quorums.values()) or 1)
        found.members = len({one.identity for one in members if one.staying}) + succeeded
        works = Counter(one.part for one in members if self.works(one))
        found.working = works.total() + succeeded
        if len(quorums) > 1:
            found.below = any(works[part] < quorum for part, quorum in quorums.items())
        else:
            found.below = bool(quorums) and found.working < found.quorum
        self._read_signals(found, members)
        return found

    def _read_signals(self, found: HealthMembers, members: Sequence[MemberLook]) -> None:
        ended = all(one.is_over for one in members)
        replaced = _replaced(members)
        for member in members:
            self._read_one(found, member, member.key in replaced, ended)
        for node in sorted(found.places):
            found.signals += [one for one in self._nodes.get(node, ()) if one.kind in HURTING]
            if self._known and node not in self._known:
                found.signals.append(_gone(node))
        found.signals += self._devices.of_groups.get(found.key, ())
        told = [one.report for one in members if one.report is not None and one.report.metadata.annotations]
        if told:
            times = step_times(told)
            found.signals += slow_members(times.seconds, {one.key: one.node for one in members})
            found.unread += times.unread

    def _read_one(self, found: HealthMembers, member: MemberLook, is_replaced: bool, ended: bool) -> None:
        over = member.phase == "Failed"
        if member.node and not member.is_over:
            found.places[member.node] += 1
            claimed = self._devices.of_pods.get(member.key, ())
            found.signals += [replace(one, pod=member.key, node=one.node or member.node) for one in claimed]
        for signal in () if member.report is None else pod_signals(member.report, self._now):
            fresh = signal.since is not None and timedelta() <= self._now - signal.since <= FRESH
            if over and not fresh and (ended or not found.below):
                continue
            if member.node and (fresh or not over):
                found.failures.append(MemberFailure(member.index, member.node, signal))
            if not is_replaced:
                found.signals.append(signal)


def _replaced(members: Sequence[MemberLook]) -> set[str]:
    """Pods that have failed, and in whose place others are by now."""
    failed = [one for one in members if one.phase == "Failed"]
    if not failed:
        return set()
    present = {one.index for one in members if one.phase != "Failed" and one.node} - {NO_INDEX}
    return {one.key for one in failed if one.index in present}


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
