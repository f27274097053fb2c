"""Volumes in use: which are attached where, how many more each node takes, and who is given which."""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from maitred.cluster.journal import Seated
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.selection import placed_nodes, provisionable_nodes, reachable_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.volumes import (
    Handle,
    StorageView,
    VolumeNeed,
    class_name,
    handle_of,
    place_labels,
)
from maitred.model.migration import driver_of

UNLIMITED = 2**31


@dataclass(slots=True, eq=False)
class Slot:
    """A claim that is not bound, of a pod on a node, and the existing volume that it gets."""

    need: VolumeNeed
    row: int
    beside: Sequence[int] = ()
    """Rows of others who share the claim."""
    volume: str | None = None


@dataclass(slots=True)
class Mount:
    """What pods of one shape on one node took, so that it can be given back."""

    row: int
    handles: tuple[Handle, ...] = ()
    claims: tuple[str, ...] = ()
    own: tuple[tuple[str, int], ...] = ()
    """Drivers, and how many volumes of each that no other pod shares."""
    shared: tuple[str, ...] = ()
    """Claims that were given an existing volume here first,"""
    followed: tuple[str, ...] = ()
    """and those whose pods have to stay together."""
    slots: tuple[Sequence[Slot], ...] = ()
    """For each volume of the shape, what the pods got of those that exist."""
    changes: list[tuple[Slot, str | None]] = field(default_factory=list)
    """Slots that were given another volume than before, and that."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Volumes that can be used from the same nodes."""

    reachable: Mask
    names: tuple[str, ...]
    overlaps: bool
    """Whether some of these nodes can use volumes of another pool as well."""


@dataclass(frozen=True, slots=True)
class Pools:
    """Volumes by the nodes they can be used from, those of fewest nodes first."""

    each: tuple[Pool, ...]
    sizes: Ints
    numbers: Mapping[str, int]
    """The pool of each volume."""
    lone: Codes
    """For every node the pool that it can use, if that overlaps no other; else -1. There may be as many as
    nodes."""

    overlapping: tuple[int, ...]
    """The other pools: few, for their reach is not a node or two."""

    def at(self, row: int) -> Iterator[Pool]:
        """Those that a node can use."""
        lone = int(self.lone[row])
        if lone >= 0:
            yield self.each[lone]
            return
        for number in self.overlapping:
            if self.each[number].reachable[row]:
                yield self.each[number]


class Attachments:
    def __init__(
        self, snapshot: Snapshot, nodes: NodeView, in_use: Mapping[str, Sequence[int]] | None
    ) -> None:
        """`in_use` are the claims that pods mount, and the rows of their nodes; None for an empty cluster."""
        self._storage = snapshot.storage
        self._nodes = nodes
        self.claims_taken: Counter[str] = Counter()
        """Claims that pods use: how many do, where only one at a time may."""
        self.volumes_taken: dict[str, Slot] = {}
        """Volumes that exist, and the claim that each is given to."""
        self.shared: dict[str, Slot] = {}
        """Claims that several pods share, with the existing volume that the first of them was given."""
        self.followed: dict[str, list[int]] = {}
        """Claims that several pods share and that are not bound: where those sit who were seated so."""
        self.attached: dict[Handle, Counter[int]] = {}
        """Volumes, and how many pods on each node use them."""
        self.mounts: dict[Seated, list[Mount]] = {}
        """What was mounted for each entry of the journal."""
        self.derived: dict[Hashable, Any] = {}
        """What was derived from all this: forgotten as soon as a volume is mounted or given back."""
        self.left_behind: dict[Handle, set[int]] = {}
        """Volumes that are attached to a node on which no pod uses them. They take room there all the same,
        and a pod that comes to use one is counted beside it, as kube-scheduler does, until it is there."""
        limits = attach_limits(snapshot, nodes)
        self.free: dict[str, Ints] = {driver: free.copy() for driver, free in limits.items()}
        if self.free and in_use is not None:
            for handle, row in _left_behind(snapshot, nodes):
                self.left_behind.setdefault(handle, set()).add(row)
                if handle[0] in self.free:
                    self.free[handle[0]][row] -= 1
        for claim, rows in (in_use or {}).items():
            for row in rows:
                self.arrive(claim, row)

    def pools(self, names: tuple[str, ...], placed: bool = False) -> Pools:
        """These volumes by the nodes they can be used from.

        `placed`: in the zones of their labels only. Kubernetes looks at these once a claim is bound, so
        whoever shares the claim must be there.
        """
        return self._nodes.derived_with(
            self._storage, ("pools", names, placed), lambda: self._make_pools(names, placed)
        )

    def _make_pools(self, names: tuple[str, ...], placed: bool) -> Pools:
        by_nodes: dict[bytes, tuple[Mask, list[str]]] = {}
        for name in names:
            reachable = self._reach(name, placed)
            by_nodes.setdefault(np.packbits(reachable).tobytes(), (reachable, []))[1].append(name)
        ordered = sorted(by_nodes.items(), key=lambda item: (int(item[1][0].sum()), item[1][1]))
        cover = sum((mask.astype(np.int32) for mask, _ in by_nodes.values()), np.zeros(1, dtype=np.int32))
        each = tuple(
            Pool(mask, tuple(members), bool((cover[mask] > 1).any())) for _, (mask, members) in ordered
        )
        lone: Codes = np.full(len(self._nodes.names), -1, dtype=np.int32)
        for number, pool in enumerate(each):
            if not pool.overlaps:
                lone[pool.reachable] = number
        return Pools(
            each=each,
            sizes=np.array([len(pool.names) for pool in each], dtype=np.int64),
            numbers={name: number for number, pool in enumerate(each) for name in pool.names},
            lone=lone,
            overlapping=tuple(number for number, pool in enumerate(each) if pool.overlaps),
        )

    def free_in(self, pools: Pools) -> Ints:
        """How many volumes of each pool are still to be had."""
        taken = [pools.numbers[name] for name in self.volumes_taken if name in pools.numbers]
        return pools.sizes - np.bincount(taken, minlength=len(pools.each)) if taken else pools.sizes

    def reach_of_shared(self, handle: str) -> Mask | None:
        """Nodes that can use the volume which a shared claim was given; None if it was given none."""
        slot = self.shared.get(handle)
        return None if slot is None or slot.volume is None else self._reach(slot.volume, placed=True)

    def _reach(self, name: str, placed: bool) -> Mask:
        volume = self._storage.volumes[name]
        reached = reachable_nodes(self._nodes, volume.spec.node_affinity.required)
        return reached & placed_nodes(self._nodes, place_labels(volume)) if placed else reached

    # -- running pods ----------------------------------------------------------------------------------

    def arrive(self, claim: str, row: int) -> None:
        """A running pod uses this claim on a node."""
        self.derived.clear()
        self.claims_taken[claim] += 1
        mounted = _handle(claim, self._storage) if self.free else None
        if mounted is not None:
            self._attach(mounted, row)

    def leave(self, claim: str, row: int) -> None:
        """It is gone, and what it alone used is there for others."""
        self.derived.clear()
        _count_down(self.claims_taken, claim)
        mounted = _handle(claim, self._storage) if self.free else None
        if mounted is not None:
            self._detach(mounted, row)

    # -- seated pods -----------------------------------------------------------------------------------

    def mount(self, needs: Iterable[VolumeNeed], row: int, copies: int, rows: Sequence[int]) -> Mount:
        """Account for `copies` pods with these volumes on one node; more of them come to other rows."""
        taken = Mount(row)
        self.derived.clear()
        for need in needs:
            if need.exclusive:
                self.claims_taken[need.exclusive] += 1
                taken.claims += (need.exclusive,)
            slots: Sequence[Slot] = ()
            if need.candidates and need.handle not in self.shared:
                slots = [Slot(need, row, rows)] if need.handle else [Slot(need, row) for _ in range(copies)]
                self._give_volumes(need, slots, taken)
            taken.slots += (slots,)
            if need.handle and need.unbound:
                self.followed.setdefault(need.handle, []).append(row)
                taken.followed += (need.handle,)
            if need.handle:
                self._attach((need.driver, need.handle), row)
                taken.handles += ((need.driver, need.handle),)
            elif need.driver in self.free:
                self.free[need.driver][row] -= copies
                taken.own += ((need.driver, copies),)
        return taken

    def is_served(self, needs: Iterable[VolumeNeed], taken: Mount) -> bool:
        """Whether each claim has a volume that exists and can be used there, or one can be made for it."""
        for need, slots in zip(needs, taken.slots, strict=True):
            reach = self.reach_of_shared(need.handle) if need.handle and need.unbound else None
            if reach is not None and not reach[taken.row]:
                return False
            missing = reach is None and any(slot.volume is None for slot in slots)
            if missing and not is_made_at(self._nodes, need, taken.row):
                return False
            if need.provisioned and reach is None and len(set(self.followed.get(need.handle, ()))) > 1:
                return False  # a volume that is made for the claim is made for one node
        return True

    def unmount(self, taken: Mount) -> None:
        """Give back what was mounted last."""
        row = taken.row
        self.derived.clear()
        for claim in taken.claims:
            _count_down(self.claims_taken, claim)
        for slot, before in reversed(taken.changes):
            self._assign(slot, before)
        for claim in taken.shared:
            del self.shared[claim]
        for claim in taken.followed:
            self.followed[claim].remove(row)
        for handle in taken.handles:
            self._detach(handle, row)
        for driver, copies in taken.own:
            self.free[driver][row] += copies

    def _attach(self, handle: Handle, row: int) -> None:
        """The first pod that uses a volume on a node takes room there, unless it is there already."""
        users = self.attached.setdefault(handle, Counter())
        users[row] += 1
        if users[row] == 1 and handle[0] in self.free:
            self.free[handle[0]][row] -= self._room_for(handle, row)

    def _detach(self, handle: Handle, row: int) -> None:
        """The last pod gives it back."""
        users = self.attached[handle]
        _count_down(users, row)
        if row not in users and handle[0] in self.free:
            self.free[handle[0]][row] += self._room_for(handle, row)

    def _room_for(self, handle: Handle, row: int) -> int:
        return 0 if row in self.left_behind.get(handle, ()) else 1

    # -- which volume for which claim ------------------------------------------------------------------

    def _give_volumes(self, need: VolumeNeed, slots: Sequence[Slot], taken: Mount) -> None:
        """Volumes that exist for claims of one kind on a node; what is then missing is made."""
        reached = (name for name in self._within_reach(slots[0]) if name not in self.volumes_taken)
        free = list(islice(reached, len(slots)))
        for slot, name in zip(slots, free, strict=False):
            self._give(slot, name, taken)
        for slot in slots[len(free) :]:
            if not is_made_at(self._nodes, need, slot.row) and not self._rearrange(slot, taken):
                break
        if need.handle and slots[0].volume is not None:
            self.shared[need.handle] = slots[0]
            taken.shared += (need.handle,)

    def _within_reach(self, slot: Slot) -> Iterator[str]:
        """Volumes that could be given to a claim where it is: those of fewest nodes first, so that others are
        left to whoever is elsewhere; for a claim that is shared, those of most nodes where it is used, and of
        most nodes at all, so that whoever shares it can follow."""
        shared = bool(slot.need.handle)
        pools = list(self.pools(slot.need.candidates, placed=shared).at(slot.row))
        if shared:
            beside = list(slot.beside)
            pools.reverse()
            pools.sort(key=lambda pool: -int(pool.reachable[beside].sum()))
        return (name for pool in pools for name in pool.names)

    def _give(self, slot: Slot, name: str, taken: Mount) -> None:
        taken.changes.append((slot, slot.volume))
        self._assign(slot, name)

    def _assign(self, slot: Slot, name: str | None) -> None:
        if slot.volume is not None:
            del self.volumes_taken[slot.volume]
        slot.volume = name
        if name is not None:
            self.volumes_taken[name] = slot

    def _rearrange(self, slot: Slot, taken: Mount) -> bool:
        """Others who could have another volume leave theirs to this one: the shortest chain of such changes.

        A claim that is shared keeps its volume once others may rely on it: after the pods that brought it.
        """
        just_given = {one for slots in taken.slots for one in slots}
        wanted_by: dict[str, Slot] = {}
        waiting = deque([slot])
        while waiting:
            asking = waiting.popleft()
            for name in self._within_reach(asking):
                if name in wanted_by:
                    continue
                wanted_by[name] = asking
                holder = self.volumes_taken.get(name)
                if holder is None:
                    self._pass_on(name, slot, wanted_by, taken)
                    return True
                if not holder.need.handle or holder in just_given:
                    waiting.append(holder)
        return False

    def _pass_on(self, free: str, last: Slot, wanted_by: Mapping[str, Slot], taken: Mount) -> None:
        """From the volume that is free back to the claim that has none."""
        name: str | None = free
        while name is not None:
            slot = wanted_by[name]
            before = slot.volume
            self._give(slot, name, taken)
            name = None if slot is last else before


def _count_down(counter: "Counter[Any]", key: Hashable) -> None:
    """What is not there any more is not in the counter either."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def is_made_at(nodes: NodeView, need: VolumeNeed, row: int) -> bool:
    """Whether a volume can be made for a claim on a node."""
    return bool(need.provisioned and made_at(nodes, need)[row])


def made_at(nodes: NodeView, need: VolumeNeed) -> Mask:
    """Nodes for which a volume can be made."""
    if not need.provisioned:
        return np.zeros(len(nodes.names), dtype=np.bool_)
    return nodes.derived(("made", need.topologies), lambda: provisionable_nodes(nodes, need.topologies))


def attach_limits(snapshot: Snapshot, nodes: NodeView) -> dict[str, Ints]:
    storage = snapshot.storage
    return nodes.derived_with(storage, "attach limits", lambda: _attach_limits(storage, nodes))


def _attach_limits(storage: StorageView, nodes: NodeView) -> dict[str, Ints]:
    free: dict[str, Ints] = {}
    for name, csi_node in storage.csi_nodes.items():
        row = nodes.rows.get(name)
        for driver in csi_node.spec.drivers:
            if row is not None and driver.allocatable.count is not None:
                column = free.setdefault(driver.name, np.full(len(nodes.names), UNLIMITED, dtype=np.int64))
                column[row] = driver.allocatable.count
    return free


def nodes_with_driver(storage: StorageView, nodes: NodeView, driver: str, migrated: bool) -> Mask:
    """Nodes on which a driver is installed, or would not be looked for: one that took over from a built-in
    plugin counts only where a CSINode says that there are drivers at all."""
    key = ("driver", driver, migrated)
    return nodes.derived_with(storage, key, lambda: _nodes_with_driver(storage, nodes, driver, migrated))


def _nodes_with_driver(storage: StorageView, nodes: NodeView, driver: str, migrated: bool) -> Mask:
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for name, row in nodes.rows.items():
        there = storage.csi_nodes.get(name)
        if there is None:
            mask[row] = migrated
        else:
            mask[row] = any(installed.name == driver for installed in there.spec.drivers)
    return mask


def _left_behind(snapshot: Snapshot, nodes: NodeView) -> list[tuple[Handle, int]]:
    """Volumes that are attached to nodes where no pod of the snapshot uses them, and the rows of these."""
    attached = snapshot.storage.attached
    if not attached:
        return []
    used = {
        (_handle(claim, snapshot.storage), row)
        for claim, rows in snapshot.claims_in_use.items()
        for row in rows
    }
    rows = nodes.rows
    found = [(handle, rows[node]) for node in attached if node in rows for handle in sorted(attached[node])]
    return [entry for entry in found if entry not in used]


def _handle(claim: str, storage: StorageView) -> Handle | None:
    """What a claim in use counts as: its volume, or while there is none, one that its class would make."""
    found = storage.claims.get(claim)
    if found is None:
        return None
    volume = storage.volumes.get(found.spec.volume_name)
    if volume is not None:
        return handle_of(volume)
    chosen = storage.classes.get(class_name(found, found.spec, storage))
    driver = driver_of(chosen.provisioner) if chosen is not None else ""
    return (driver, claim) if driver else None
