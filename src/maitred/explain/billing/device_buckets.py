"""Where the devices of a cluster are at one moment: each in exactly one bucket, held by someone or by nobody.

The buckets are those of the simulator, one more for devices that are unwell on nodes that are not, and one
for those that stand idle on the places of holds, as these were remembered last. All is worked out over
columns of nodes and pods, so that it may be done whenever something has changed.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.device_models import models_of
from maitred.cluster.devices.counted import claimable_devices, held_devices
from maitred.cluster.kept import kept_places, nodes_with
from maitred.cluster.leaving import lost_nodes
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.selection import required_nodes, tolerated_nodes
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.decide.compile import managed_nodes
from maitred.decide.scoring import device_columns
from maitred.model.plan import KeptRoom
from maitred.model.policy import Policy, health_taints, is_device_driver
from maitred.model.reservations import BEGUN, ReservedNodes
from maitred.simulate.results import Bucket

UseBucket = Literal[Bucket, "held", "unwell"]
USE_BUCKETS: tuple[UseBucket, ...] = get_args(UseBucket)

NOBODY = ""
PRODUCTIVE, STARTING, INCOMPLETE, LEAVING, BROKEN = map(
    USE_BUCKETS.index, ("productive", "starting", "incomplete", "leaving", "broken")
)

Rows = NDArray[np.intp]
Device = tuple[str, str]
"""Resource and model; of devices that claims are for, driver and model."""


class Key(NamedTuple):
    holder: str
    """A group, or a pod that is in none; NOBODY for what is free or broken."""
    resource: str
    model: str
    bucket: UseBucket


@dataclass(frozen=True)
class DeviceLevels:
    devices: dict[Key, int]
    """Those of one resource and model add up to its capacity."""
    capacity: dict[Device, int]
    pods: dict[str, int]
    """Holders who sit, and the row of one of their pods."""
    lent: Mapping[str, int] = field(default_factory=dict)
    """Devices that queues have lent to others."""


def levels(
    snapshot: Snapshot,
    policy: Policy,
    hopeless: Container[str] = (),
    rooms: Iterable[KeptRoom] = (),
    reserved: Iterable[ReservedNodes] = (),
) -> DeviceLevels:
    """`hopeless` are groups that would wait however the free devices lay; `rooms`, what is kept for members
    that are not there; `reserved`, which nodes are for whom."""
    return _Count(snapshot, policy).levels(hopeless, rooms, reserved)


def holder_of(one: ReservedNodes) -> str:
    """Who has what is free on these nodes: in the namespace that it is for, or in none there could be."""
    kind, _, name = one.beneficiary.partition(" ")
    namespace = {"group": name.partition("/")[0], "namespace": name}.get(kind, f"({one.beneficiary})")
    return f"{namespace}/({one.name})"


class _Count:
    """Matrices are over resources that are devices, and nodes."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self._snapshot, self._policy = snapshot, policy
        nodes = self._nodes = snapshot.nodes
        columns = list(device_columns(nodes, policy))
        plugins = [nodes.resources[column] for column in columns]
        self._place = {resource: place for place, resource in enumerate(plugins)}
        self._claimable = {
            kind: one
            for kind, one in claimable_devices(snapshot).items()
            if is_device_driver(policy, kind.driver) and not one.beyond.total
        }
        self._resources = [*plugins, *(kind.driver for kind in self._claimable)]
        self._own_models = [*(None for _ in plugins), *(kind.model for kind in self._claimable)]
        """Of devices that claims are for; those of others are said by their nodes."""
        self._models, self._model_of = models_of(nodes, policy.devices.model_labels)
        self._asked = self._asked_by_needs()
        have, claimable = nodes.whole().allocatable[columns], self._claimable.values()
        self._capacity: Ints = np.vstack((have, *(one.total for one in claimable)))
        self._unwell: Ints = np.vstack(
            (have - nodes.allocatable[columns], *(one.unwell for one in claimable))
        )
        self._devices: defaultdict[Key, int] = defaultdict(int)
        self._pods: dict[str, int] = {}

    def _asked_by_needs(self) -> Ints:
        """Devices that pods of each needs ask for; what they have by claims is another matter."""
        asked = np.zeros((len(self._resources), len(self._snapshot.needs)), dtype=np.int64)
        for number, needs in enumerate(self._snapshot.needs):
            for resource, count in needs.requests:
                if resource in self._place:
                    asked[self._place[resource], number] = count
        return asked

    def levels(
        self, hopeless: Container[str], rooms: Iterable[KeptRoom], reserved: Iterable[ReservedNodes]
    ) -> DeviceLevels:
        free = self._capacity - self._hold()
        out_of_order = nodes_with(self._nodes, health_taints(self._policy))
        broken = np.where(out_of_order, free, 0)
        unwell = np.where(out_of_order, 0, np.minimum(free, self._unwell))
        self._add("broken", broken)
        self._add("unwell", unwell)
        free -= broken + unwell
        self._reserve(free)
        self._keep(free, rooms)
        self._keep_whole(free, reserved)
        self._hold_for_later(free)
        in_vain = self._in_vain(free, hopeless)
        self._add("fragmented", np.where(in_vain, free, 0))
        self._add("idle", np.where(in_vain, 0, free))
        capacity = {(resource, model): count for resource, model, count in self._summed(self._capacity)}
        return DeviceLevels(dict(self._devices), capacity, self._pods)

    def _summed(self, amounts: Ints) -> Iterator[tuple[str, str, int]]:
        """By resource and model."""
        for resource, own, by_node in zip(self._resources, self._own_models, amounts, strict=True):
            if own is not None:
                if by_node.any():
                    yield resource, own, int(by_node.sum())
                continue
            sums = summed(self._model_of, by_node, len(self._models))
            for model, count in zip(self._models, sums.tolist(), strict=True):
                if count:
                    yield resource, model, count

    def _add(self, bucket: UseBucket, amounts: Ints) -> None:
        for resource, model, count in self._summed(amounts):
            self._devices[Key(NOBODY, resource, model, bucket)] += count

    # -- held ------------------------------------------------------------------------------------------

    def _hold(self) -> Ints:
        """Count what pods hold; how much that is on each node."""
        bound = self._snapshot.bound
        claimed = held_devices(self._snapshot) if self._claimable else {}
        using: Mask = np.any(self._asked, axis=0)[bound.needs]
        using[list(claimed)] = True
        pods = np.flatnonzero(using)
        node = bound.node[pods]
        taken = self._asked[:, bound.needs[pods]]
        for row, kind in enumerate(self._claimable, start=len(self._place)):
            taken[row] = [claimed[pod][kind] if pod in claimed else 0 for pod in pods.tolist()]
        taken = self._as_there_are(taken, node)
        bucket, model = self._buckets()[pods], self._model_of[node]
        alone = len(self._snapshot.seated) + np.arange(len(pods))
        holder = np.where(bound.group[pods] == NO_GROUP, alone, bound.group[pods])
        codes = (holder * len(self._models) + model) * len(USE_BUCKETS) + bucket
        for resource, own, amounts in zip(self._resources, self._own_models, taken, strict=True):
            some = np.flatnonzero(amounts)
            _, first, which = np.unique(codes[some], return_index=True, return_inverse=True)
            chosen, sums = some[first], summed(which, amounts[some], len(first))
            of = [own if own is not None else self._models[code] for code in model[chosen].tolist()]
            self._note(resource, of, pods[chosen], bucket[chosen], sums)
        return self._on_nodes(node, taken)

    def _note(self, resource: str, models: Sequence[str], pods: Rows, bucket: Ints, sums: Ints) -> None:
        """What holders have, each by one of its pods: on nodes of one model, in one bucket."""
        bound, seated = self._snapshot.bound, self._snapshot.seated
        columns = (column.tolist() for column in (pods, bound.group[pods], bucket, sums))
        for model, pod, group, into, count in zip(models, *columns, strict=True):
            holder = NOBODY  # of what is broken, whoever is bound there
            if into != BROKEN:
                seated_group = seated[group] if group != NO_GROUP else None
                holder = bound.occupants[pod].key
                if seated_group is not None:
                    holder = self._snapshot.tree_of(seated_group.group)
                self._pods[holder] = pod
            self._devices[Key(holder, resource, model, USE_BUCKETS[into])] += count

    def _on_nodes(self, node: Codes, amounts: Ints) -> Ints:
        """The amounts of pods on these nodes, summed by node."""
        return np.array([summed(node, each, len(self._nodes.names)) for each in amounts]).reshape(
            self._capacity.shape
        )

    def _as_there_are(self, taken: Ints, node: Codes) -> Ints:
        """Pods may hold more than their node has, once a device or the node is gone: those who came last have
        less then, so that no device is counted twice."""
        held = self._on_nodes(node, taken)
        for place, row in np.argwhere(held > self._capacity).tolist():
            pods = np.flatnonzero(node == row)
            before = np.cumsum(taken[place, pods]) - taken[place, pods]
            left = np.maximum(self._capacity[place, row] - before, 0)
            taken[place, pods] = np.minimum(taken[place, pods], left)
        return taken

    def _buckets(self) -> Ints:
        """The bucket of every bound pod. A group works when its quorum does."""
        bound, seated = self._snapshot.bound, self._snapshot.seated
        dead = lost_nodes(self._snapshot)[bound.node]
        stays = ~bound.terminating
        counted = np.array([0 if g is None else g.counted for g in seated] + [0])
        quorum = np.array([0 if g is None else g.group.quorum for g in seated] + [1])
        # Lone pods go to the last place, where NO_GROUP points, and are looked at by themselves.
        members = [
            np.bincount(bound.group[chosen], minlength=len(seated) + 1)[: len(seated) + 1]
            for chosen in (
                (bound.group != NO_GROUP) & mask
                for mask in (stays, stays & ~dead, stays & ~dead & bound.working)
            )
        ]
        succeeded = counted - members[0]
        complete = (members[1] + succeeded >= quorum)[bound.group]
        works = (members[2] + succeeded >= quorum)[bound.group]
        lone = bound.group == NO_GROUP
        bucket = np.where(complete | lone, STARTING, INCOMPLETE)
        bucket[(works | lone) & bound.working] = PRODUCTIVE
        bucket[bound.terminating] = LEAVING
        bucket[dead] = BROKEN
        return bucket

    # -- free ------------------------------------------------------------------------------------------

    def _reserve(self, free: Ints) -> None:
        """Take from what is free what members were promised. What others still hold serves promises first."""
        bound = self._snapshot.bound
        going = bound.terminating
        leaving = self._on_nodes(bound.node[going], self._asked[:, bound.needs[going]])
        for kept in kept_places(self._snapshot, self._asked, leaving, free):
            model = self._models[self._model_of[kept.row]]
            for resource, count in zip(self._resources, kept.amounts.tolist(), strict=True):
                if count:
                    self._devices[Key(kept.view.group.key, resource, model, "reserved")] += count

    def _keep(self, free: Ints, rooms: Iterable[KeptRoom]) -> None:
        """And what stands idle for members that are not there."""
        for room in rooms:
            row = self._nodes.rows.get(room.node)
            for resource, devices in room.devices.items() if row is not None else ():
                place = self._place.get(resource)
                count = 0 if place is None else min(devices, int(free[place, row]))
                if place is not None and count:
                    free[place, row] -= count
                    model = self._models[self._model_of[row]]
                    self._devices[Key(room.group, resource, model, "reserved")] += count

    def _keep_whole(self, free: Ints, reserved: Iterable[ReservedNodes]) -> None:
        """And all that is left on nodes that are reserved now."""
        for one in reserved:
            rows = [self._nodes.rows[name] for name in one.nodes if name in self._nodes.rows]
            here = np.zeros_like(free)
            if one.state == BEGUN:
                here[:, rows] = free[:, rows]
                free[:, rows] = 0
            for resource, model, count in self._summed(here):
                self._devices[Key(holder_of(one), resource, model, "reserved")] += count

    def _hold_for_later(self, free: Ints) -> None:
        """And what stands idle on the places of holds, for those members that are planned there."""
        if not self._policy.holds.depth:
            return
        waiting = {view.group.key: view for view in self._snapshot.groups if view.missing}
        for hold in self._snapshot.holds.holds:
            view = waiting.get(hold.group)
            if view is None or view.source != hold.source:
                continue
            members = iter(self._needs(view).tolist())
            for node, count in hold.nodes:
                self._hold_on(free, hold.group, node, list(islice(members, count)))

    def _hold_on(self, free: Ints, group: str, node: str, members: Sequence[int]) -> None:
        row = self._nodes.rows.get(node)
        if row is None:
            return
        held = np.minimum(self._asked[:, members].sum(axis=1), free[:, row])
        free[:, row] -= held
        model = self._models[self._model_of[row]]
        for resource, count in zip(self._resources, held.tolist(), strict=True):
            if count:
                self._devices[Key(group, resource, model, "held")] += count

    def _needs(self, view: GroupView) -> Codes:
        """Of its members that wait."""
        shapes = self._snapshot.shapes
        return np.array([shapes[shape].needs for shape in view.shapes.tolist()], dtype=np.int32)

    def _in_vain(self, free: Ints, hopeless: Container[str]) -> Mask:
        """Where devices are free although someone waits for so many or fewer, and may sit there."""
        wanted: dict[tuple[int, frozenset[int]], int] = {}
        for view in self._snapshot.groups:
            if not could_start(view) or view.group.key in hopeless:
                continue
            needs = self._needs(view)
            for place, asked in enumerate(self._asked[:, needs]):
                least = int(np.sort(asked)[: view.missing].sum())
                if least:
                    key = (place, frozenset(needs.tolist()))
                    wanted[key] = min(wanted.get(key, least), least)
        in_vain = np.zeros(free.shape, dtype=np.bool_)
        for (place, kinds), least in wanted.items():
            acceptable = self._acceptable(kinds)
            if free[place, acceptable].sum() >= least:
                in_vain[place] |= acceptable
        return in_vain

    def _acceptable(self, kinds: frozenset[int]) -> Mask:
        """Nodes on which pods of some of these needs may sit."""
        nodes, mask = self._nodes, np.zeros(len(self._nodes.names), dtype=np.bool_)
        for needs in (self._snapshot.needs[number] for number in kinds):
            mask |= required_nodes(nodes, needs.node) & tolerated_nodes(nodes, needs.tolerations)
        return mask & managed_nodes(nodes, self._policy)


def could_start(view: GroupView) -> bool:
    """Whether seats are all that its quorum lacks, as far as the group itself says."""
    enough = len(view.pods) >= view.missing > 0
    return enough and view.group.exists and not view.group.problems and not any(view.gates)


def summed(codes: Codes, amounts: Ints, size: int) -> Ints:
    """Amounts by code. Devices are few enough to be added up exactly as floats."""
    return np.bincount(codes, weights=amounts, minlength=size).astype(np.int64)
