"""Nodes that are being drained, and who has to leave them or is asked to make room, as the state knows it.

Such a node takes no new pods, as if it were cordoned. Clusters without requests pay nothing for this.
"""

from collections.abc import Iterable, Set
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.members import GroupRecord, Member, State
from maitred.cluster.nodes import Mask, NodeView
from maitred.cluster.pods import PodTable
from maitred.cluster.snapshot import NO_CONTROLLER, NO_GROUP, BoundPods, GroupView, Snapshot
from maitred.cluster.trees import Trees
from maitred.cluster.volumes import StorageView
from maitred.model.drain import ByNode, Drain, drain_at
from maitred.model.membership import ALONE, GroupId
from maitred.model.node import UNSCHEDULABLE, Taint


@dataclass(frozen=True, slots=True)
class LeavingGroups:
    groups: frozenset[GroupId]
    lone: tuple[str, ...]
    """Pods in no group."""


def drained_rows(nodes: NodeView, drains: tuple[Drain, ...]) -> ByNode:
    """The nodes that requests mean, and by which each is drained."""
    if not drains:
        return {}
    found = ((row, drain_at(drains, name, nodes.labels[row])) for name, row in nodes.rows.items())
    return {row: drain for row, drain in found if drain is not None}


def cordoned_rows(nodes: NodeView, drained: ByNode) -> frozenset[int]:
    """Those that nobody may put pods on, whichever scheduler it is."""
    return frozenset(
        row
        for row in drained
        if any(taint.key == UNSCHEDULABLE for taint in nodes.taint_sets[nodes.taint_ids[row]])
    )


def closed(nodes: NodeView, drained: ByNode) -> NodeView:
    """The nodes, those of requests with a taint as if they were cordoned."""
    if not drained:
        return nodes
    key = ("drained", tuple(sorted((row, drain.key) for row, drain in drained.items())))
    return nodes.derived(key, lambda: _closed(nodes, drained))


def opened(snapshot: Snapshot, rows: Iterable[int]) -> NodeView:
    """The nodes as they would be if these were not drained."""
    nodes = snapshot.nodes
    sets, ids = {taints: number for number, taints in enumerate(nodes.taint_sets)}, nodes.taint_ids.copy()
    for row in rows:
        taints = tuple(taint for taint in nodes.taint_sets[ids[row]] if taint.key != UNSCHEDULABLE)
        ids[row] = sets.setdefault(taints, len(sets))
    return replace(nodes, taint_ids=ids, taint_sets=tuple(sets), cache={})


def _closed(nodes: NodeView, drained: ByNode) -> NodeView:
    sets, ids = {taints: number for number, taints in enumerate(nodes.taint_sets)}, nodes.taint_ids.copy()
    for row, drain in drained.items():
        others = [taint for taint in nodes.taint_sets[ids[row]] if taint.key != UNSCHEDULABLE]
        taints = (*others, Taint(UNSCHEDULABLE, "NoSchedule", drain.key))
        ids[row] = sets.setdefault(taints, len(sets))
    return replace(nodes, taint_ids=ids, taint_sets=tuple(sets), cache={})


def asked_to_move(drains: Iterable[Drain]) -> frozenset[str]:
    """Groups and pods, by name, that are to make room for others."""
    rooms = (one for drain in drains if not drain.is_done for one in drain.request.room)
    return frozenset(name for one in rooms for name in one.units)


def leaving_groups(pods: PodTable, bound: BoundPods, rows: Iterable[int], names: Set[str]) -> LeavingGroups:
    """All who have pods on these nodes or are called so, and who leaves together with them because of an
    owner."""
    owners = pods.controllers.view()
    there = np.isin(bound.node, np.fromiter(rows, dtype=np.int64))
    if names:
        there |= _called(pods, bound, names)
    there &= ~bound.fixed
    tops = {
        owner.top
        for number in np.unique(bound.controller[there]).tolist()
        if number != NO_CONTROLLER and (owner := owners[number]) is not None
        if owner.top is not None and owner.top.whole
    }
    if tops:
        below = [number for number, owner in enumerate(owners) if owner is not None and owner.top in tops]
        there |= np.isin(bound.controller, below) & ~bound.fixed
    alone = there & (bound.group == NO_GROUP) & ~bound.terminating
    numbers = [number for number in np.unique(bound.group[there]).tolist() if number != NO_GROUP]
    lone = tuple(sorted(one.key for one in bound.occupants[alone]))
    return LeavingGroups(frozenset(pods.seats.groups.ids(numbers)), lone)


def _called(pods: PodTable, bound: BoundPods, names: Set[str]) -> Mask:
    """Pods of these names, and those of groups and of owners that are suspended of these names."""
    groups, owners = enumerate(pods.seats.groups.view()), enumerate(pods.controllers.view())
    in_groups = [number for number, one in groups if one is not None and one.group.key in names]
    owned = [number for number, one in owners if one and one.top and one.top.name.key in names]
    called = np.fromiter((one.key in names for one in bound.occupants), np.bool_, len(bound.node))
    found: Mask = called | np.isin(bound.group, in_groups) | np.isin(bound.controller, owned)
    return found


def views_of_lone(pods: PodTable, keys: Iterable[str], storage: StorageView) -> Iterable[GroupView]:
    """A pod on its own that runs is no group to the state; here it is one."""
    for key in keys:
        record = GroupRecord(GroupId(ALONE, key))
        record.add(pods.members[key])
        yield pods.view(record, storage)


def away_views(
    pods: PodTable, trees: Trees, drains: Iterable[Drain], storage: StorageView
) -> Iterable[GroupView]:
    """Groups that were told to leave and of which no pod runs or waits yet, as if those that leave ran."""
    groups = {
        GroupId(*group.source)
        for drain in drains
        for move in drain.progress.moves
        if move.is_open
        for group in move.groups
    }
    for id in sorted(groups):
        record = pods.groups.get(id)
        if record is None or trees.holds(id):
            continue
        states = {member.state for member in record.members.values()}
        if State.TERMINATING in states and states.isdisjoint((State.PENDING, State.RUNNING)):
            yield pods.view(_as_before(record), storage)


def _as_before(record: GroupRecord) -> GroupRecord:
    """A copy whose members have not been told to leave."""
    other = GroupRecord(record.id)
    for member in record.members.values():
        staying = member.state == State.TERMINATING
        other.add(_copied(member, State.RUNNING) if staying else member)
    return other


def _copied(member: Member, state: State) -> Member:
    found = copy(member)
    found.state = state
    return found
