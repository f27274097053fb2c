"""Volumes in use: which are attached where, how many more each node takes, and which claims are taken."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.selection import placed_nodes, reachable_nodes
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


@dataclass(slots=True)
class Mount:
    """What one placement took, so that it can be given back."""

    handles: list[tuple[Handle, int, int]] = field(default_factory=list)
    """Volumes that were not on a node before: which, where, and how much room each took."""
    volumes: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    own: list[tuple[str, int, int]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    followed: list[tuple[str, int]] = field(default_factory=list)


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
        if self.lone[row] >= 0:
            yield self.each[self.lone[row]]
        for number in self.overlapping if self.lone[row] < 0 else ():
            if self.each[number].reachable[row]:
                yield self.each[number]


class Attachments:
    def __init__(
        self, snapshot: Snapshot, nodes: NodeView, in_use: Mapping[str, tuple[int, ...]] | None
    ) -> None:
        """`in_use` are the claims that pods mount, and the rows of their nodes; None for an empty cluster."""
        self._storage = snapshot.storage
        self._nodes = nodes
        self.claims_taken: set[str] = set(in_use or ())
        self.volumes_taken: set[str] = set()
        self.chosen: dict[str, str] = {}
        """Claims that several pods share, and the existing volume that the first of them was given."""
        self.followed: dict[str, list[int]] = {}
        """Claims that several pods share and that are not bound: where those sit who were seated so."""
        self.attached: dict[Handle, set[int]] = {}
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
            for claim, rows in in_use.items():
                mounted = _handle(claim, snapshot.storage)
                if mounted is not None:
                    for row in rows:
                        self._attach(mounted, row)

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

    def mount(self, needs: Iterable[VolumeNeed], row: int, copies: int) -> Mount:
        """Account for `copies` pods with these volumes on one node."""
        taken = Mount()
        self.derived.clear()
        for need in needs:
            if need.exclusive and need.exclusive not in self.claims_taken:
                self.claims_taken.add(need.exclusive)
                taken.claims.append(need.exclusive)
            if need.candidates and need.handle not in self.chosen:
                names = self._free_candidates(need, row, 1 if need.handle else copies)
                self.volumes_taken.update(names)
                taken.volumes += names
                if need.handle and names:
                    self.chosen[need.handle] = names[0]
                    taken.chosen.append(need.handle)
            if need.handle and need.unbound:
                self.followed.setdefault(need.handle, []).append(row)
                taken.followed.append((need.handle, row))
            if need.handle:
                room = self._attach((need.driver, need.handle), row)
                if room is not None:
                    taken.handles.append(((need.driver, need.handle), row, room))
            if need.driver in self.free and not need.handle:
                self.free[need.driver][row] -= copies
                taken.own.append((need.driver, row, copies))
        return taken

    def unmount(self, taken: Mount) -> None:
        self.derived.clear()
        self.claims_taken.difference_update(taken.claims)
        self.volumes_taken.difference_update(taken.volumes)
        for handle in taken.chosen:
            del self.chosen[handle]
        for handle, row in taken.followed:
            self.followed[handle].remove(row)
        for (driver, name), row, room in taken.handles:
            self.attached[driver, name].discard(row)
            if driver in self.free:
                self.free[driver][row] += room
        for driver, row, copies in taken.own:
            self.free[driver][row] += copies

    def _attach(self, handle: Handle, row: int) -> int | None:
        """How much room it takes there; None if it is there already, with a pod that uses it."""
        rows = self.attached.setdefault(handle, set())
        if row in rows:
            return None
        rows.add(row)
        room = 0 if row in self.left_behind.get(handle, ()) else 1
        if handle[0] in self.free:
            self.free[handle[0]][row] -= room
        return room

    def reach_of_chosen(self, handle: str) -> Mask | None:
        """Nodes that can use the volume which a shared claim was given; None if it was given none."""
        name = self.chosen.get(handle)
        return None if name is None else self._reach(name, placed=True)

    def _reach(self, name: str, placed: bool) -> Mask:
        volume = self._storage.volumes[name]
        reached = reachable_nodes(self._nodes, volume.spec.node_affinity.required)
        return reached & placed_nodes(self._nodes, place_labels(volume)) if placed else reached

    def _free_candidates(self, need: VolumeNeed, row: int, count: int) -> list[str]:
        """Volumes that so many pods on a node would be given; fewer if the rest is provisioned."""
        found: list[str] = []
        for pool in self.pools(need.candidates, placed=bool(need.handle)).at(row):
            found += [name for name in pool.names if name not in self.volumes_taken]
            if len(found) >= count:
                break
        return found[:count]


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
