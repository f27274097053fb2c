"""Which members of which groups are lost: what a decision about a group starts from.

A member is lost once its node has been for longer than the grace of the policy, or once its kubelet says
that a device of it is unhealthy. Until then nothing has happened: most nodes that fall silent come back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np

from maitred.cluster.snapshot import NO_GROUP, GroupView, Occupant, ReportedPod, Snapshot
from maitred.decide.healing.device_signals import DeviceSignals
from maitred.decide.healing.judging import HARD, FaultVerdict, hard_faults, verdict_of
from maitred.decide.healing.members import HealthMembers, MemberLook, MemberReader
from maitred.model.duration import span
from maitred.model.health.nodes import node_signals
from maitred.model.health.pods import pod_signals
from maitred.model.health.signals import Signal
from maitred.model.health.tables import LOSING
from maitred.model.meta import key_of
from maitred.model.pod import Pod
from maitred.model.policy import Policy, health_taints
from maitred.model.times import after


@dataclass(frozen=True, slots=True)
class LostMember:
    """A member that does not work any more, though its pod holds its place."""

    pod: str
    uid: str
    node: str
    owned: bool
    """It has a controller, which makes another one in its place."""
    node_exists: bool = True


@dataclass(frozen=True, slots=True)
class HurtGroup:
    view: GroupView
    lost: tuple[LostMember, ...]
    failed: tuple[str, ...]
    """The UIDs of pods that hardware has ended: they hold no place, and their members are missing."""
    failed_on: tuple[str, ...]
    """The nodes where it did."""
    ended: int
    """Of these pods, those that are over: the others are on their way out."""
    unfenced: tuple[str, ...]
    """Lost nodes with pods of it that were told to leave."""
    working: int
    """Members that run on nodes that are there, or have succeeded."""
    below: bool
    verdict: FaultVerdict

    @property
    def key(self) -> str:
        return self.view.group.key

    @property
    def by_hardware(self) -> bool:
        """Whether the fault is one of infrastructure or devices, and more than a guess."""
        return self.verdict.family in HARD and self.verdict.certainty != "possible"


@dataclass
class Losses:
    """What has failed in one snapshot, at one time. Where nothing is reported, nothing is looked at."""

    snapshot: Snapshot
    policy: Policy
    now: datetime
    slow: Mapping[str, tuple[LostMember, ...]] = field(default_factory=dict)
    """By group: members that are slow, and that are being replaced for that."""
    soon: list[datetime] = field(default_factory=list)
    """When time alone makes a lost node of one that is silent."""
    seen: list[HealthMembers] = field(default_factory=list)
    """All groups that were looked at, also those that are no gangs, once `hurt` is through."""

    @cached_property
    def signals(self) -> dict[str, list[Signal]]:
        closing, found = health_taints(self.policy), dict[str, list[Signal]]()
        for name, node in self.snapshot.reports.nodes.items():
            found[name] = list(node_signals(node, closing).signals)
        return found

    @cached_property
    def _grace(self) -> timedelta:
        return span(self.policy.healing.grace)

    @cached_property
    def _silent_since(self) -> dict[str, list[datetime | None]]:
        """Nodes that may come back."""
        found = dict[str, list[datetime | None]]()
        for name, signals in self.signals.items():
            since = [one.since for one in signals if one.kind in LOSING]
            if since:
                found[name] = since
        return found

    @cached_property
    def lost_nodes(self) -> frozenset[str]:
        """Those that are gone, or have been lost for longer than the grace."""
        nodes = self.snapshot.nodes
        silent = {name for name, since in self._silent_since.items() if self._is_over(since)}
        bound = self.snapshot.bound.node
        gone = np.unique(bound[~nodes.alive[bound]]) if nodes.alive.any() else np.array([], dtype=np.int32)
        return frozenset(silent.union(nodes.names[row] for row in gone.tolist()))

    def _is_over(self, since: Sequence[datetime | None]) -> bool:
        """A time in the future is that of a clock that is wrong: nothing follows from it."""
        said = [one for one in since if one is not None]
        if not said:
            return False
        due = after(min(said), self._grace)
        if due > self.now:
            self.soon.append(due)
        return due <= self.now

    @cached_property
    def _lost_rows(self) -> list[int]:
        lost, names = self.lost_nodes, self.snapshot.nodes.names
        return [row for row, name in enumerate(names) if name in lost] if lost else []

    @cached_property
    def _silent_nodes(self) -> frozenset[str]:
        """Lost ones, and those that follow them within the grace: the nodes of a rack fall silent one after
        the other."""
        said = {
            name
            for name, since in self._silent_since.items()
            if any(one is not None and one <= self.now for one in since)
        }
        return self.lost_nodes | said

    @cached_property
    def _on_lost_nodes(self) -> Mapping[str, tuple[Occupant, str]]:
        return self._on(self.lost_nodes)

    @cached_property
    def _on_silent_nodes(self) -> Mapping[str, tuple[Occupant, str]]:
        return self._on(self._silent_nodes)

    def _on(self, chosen: frozenset[str]) -> Mapping[str, tuple[Occupant, str]]:
        """Pods there that nobody has told to leave."""
        bound, names = self.snapshot.bound, self.snapshot.nodes.names
        rows = [row for row, name in enumerate(names) if name in chosen] if chosen else []
        there = np.flatnonzero(np.isin(bound.node, rows) & ~bound.terminating & ~bound.fixed)
        return {bound.occupants[one].key: (bound.occupants[one], names[bound.node[one]]) for one in there}

    @cached_property
    def _unfenced(self) -> Mapping[str, tuple[str, ...]]:
        """Groups with pods that were told to leave nodes which are lost and still there, and these nodes: no
        kubelet says that the pods have ended, so their names are not free."""
        snapshot, found = self.snapshot, defaultdict[str, set[str]](set)
        bound, nodes = snapshot.bound, snapshot.nodes
        there = np.isin(bound.node, self._lost_rows) & bound.terminating & nodes.alive[bound.node]
        for one in np.flatnonzero(there).tolist():
            number = bound.group[one]
            group = None if number == NO_GROUP else snapshot.seated[number]
            if group is not None:
                found[snapshot.tree_of(group.group)].add(nodes.names[bound.node[one]])
        return {group: tuple(sorted(names)) for group, names in found.items()}

    # -- groups ----------------------------------------------------------------------------------------

    def hurt(self) -> Iterator[HurtGroup]:
        """Groups that have lost members, or below their quorum of which something is reported."""
        snapshot = self.snapshot
        reported = {id.key for id in snapshot.reports.pods}
        remembered = {one.group for one in snapshot.memory.incidents if one.is_open}
        reader = MemberReader(self.signals, self.devices, self._known, self.now)
        known = reported | remembered
        waiting = [one for one in snapshot.groups if one.group.key in known or self._has_lost(one)]
        for view in (*waiting, *snapshot.hurt):
            reports = {key_of(one.pod.metadata): one for one in self._reports_of(view)}
            looks = list(self._looks(view, reports))
            quorums = {view.group.key: view.group.quorum}
            found = reader.read(view.group.key, quorums, looks, view.succeeded)
            self.seen.append(found)
            if view.group.gang:
                yield self._hurt(view, found, reports)

    def _has_lost(self, view: GroupView) -> bool:
        return bool(self._on_lost_nodes) and any(
            pod_of(view, member.order[2]) in self._on_lost_nodes for member in view.running
        )

    @cached_property
    def _known(self) -> frozenset[str]:
        nodes = self.snapshot.nodes
        return frozenset(nodes.rows)

    @cached_property
    def devices(self) -> DeviceSignals:
        return DeviceSignals(self.snapshot)

    def _hurt(self, view: GroupView, found: HealthMembers, reports: Mapping[str, ReportedPod]) -> HurtGroup:
        lost = tuple(self._lost(view, reports, self._on_lost_nodes))
        if lost and view.parts is None and is_below(without(view, lost)):
            # It does not work any more, so there is nothing to wait for: it is decided about once.
            lost = tuple(self._lost(view, reports, self._on_silent_nodes))
        known = {one.uid for one in lost}
        lost += tuple(one for one in self.slow.get(view.group.key, ()) if one.uid not in known)
        left = without(view, lost)
        own, devices = self.signals, self.devices.on_nodes
        nodes = {node: [*own.get(node, ()), *devices.get(node, ())] for node in found.places}
        verdict = verdict_of(found, hard_faults(nodes))
        failed = list(self._failed(reports.values()))
        uids = tuple(one.metadata.uid for one in failed)
        failed_on = tuple(sorted({one.spec.node_name for one in failed if one.spec.node_name}))
        unfenced, working = self._unfenced.get(view.group.key, ()), len(left.running) + left.succeeded
        ended = sum(one.status.phase == "Failed" for one in failed)
        return HurtGroup(view, lost, uids, failed_on, ended, unfenced, working, is_below(left), verdict)

    def _failed(self, reports: Iterable[ReportedPod]) -> Iterator[Pod]:
        for report in reports:
            meta, status = report.pod.metadata, report.pod.status
            over = status.phase == "Failed" or meta.deletion_timestamp is not None
            if over and any(one.family in HARD for one in pod_signals(report.pod, self.now)):
                yield report.pod

    def _reports_of(self, view: GroupView) -> Iterator[ReportedPod]:
        for id, pods in self.snapshot.reports.pods.items():
            if id.key == view.group.key:
                yield from pods

    def _looks(self, view: GroupView, reports: Mapping[str, ReportedPod]) -> Iterator[MemberLook]:
        key, names = view.group.key, self.snapshot.nodes.names
        running = {pod_of(view, one.order[2]): one for one in view.running}
        for pod, member in running.items():
            seen = reports[pod].pod if pod in reports else None
            yield MemberLook(pod, member.order[0], names[member.node], "Running", True, key, seen)
        for pod, order in zip(view.pods, view.orders, strict=True):
            yield MemberLook(pod, order[0], "", "Pending", True, key)
        for pod, report in reports.items():
            if pod not in running and pod not in view.pods:
                said = report.pod
                staying = said.metadata.deletion_timestamp is None
                yield MemberLook(
                    pod, report.index, said.spec.node_name, said.status.phase or "Running", staying, key, said
                )

    def _lost(
        self,
        view: GroupView,
        reports: Mapping[str, ReportedPod],
        there: Mapping[str, tuple[Occupant, str]],
    ) -> Iterator[LostMember]:
        names, alive = self.snapshot.nodes.names, self.snapshot.nodes.rows
        for member in view.running:
            pod = pod_of(view, member.order[2])
            if pod in there:
                occupant, node = there[pod]
                yield LostMember(pod, occupant.uid, node, bool(occupant.owner[0]), node in alive)
            elif (report := reports.get(pod)) is not None and self._has_broken_device(report):
                yield LostMember(pod, report.pod.metadata.uid, names[member.node], report.owned)

    def _has_broken_device(self, report: ReportedPod) -> bool:
        found = pod_signals(report.pod, self.now)
        return any(one.kind == "DeviceReported" and one.certainty == "certain" for one in found)


def pod_of(view: GroupView, name: str) -> str:
    return f"{view.group.key.partition('/')[0]}/{name}"


def is_below(view: GroupView) -> bool:
    """Whether what runs is less than the quorum; of a tree, of any part of it that runs."""
    if view.parts is not None:
        return bool(view.parts.broken())
    return len(view.running) + view.succeeded < view.group.quorum


def without(view: GroupView, lost: Sequence[LostMember]) -> GroupView:
    """The group as it is once these members count no more."""
    gone = {one.pod for one in lost}
    stays = [n for n, member in enumerate(view.running) if pod_of(view, member.order[2]) not in gone]
    if len(stays) == len(view.running):
        return view
    parts = view.parts
    if parts is not None:
        parts = replace(parts, seated=tuple(parts.seated[n] for n in stays))
    running = tuple(view.running[n] for n in stays)
    return replace(view, running=running, running_shapes=view.running_shapes[stays], parts=parts)
