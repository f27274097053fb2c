"""Volumes in use: which are attached where, how many more each node takes, and which claims are taken."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.selection import reachable_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.volumes import StorageView, VolumeNeed

UNLIMITED = 2**31
Handle = tuple[str, str]
"""Driver and name of a volume."""


@dataclass(slots=True)
class Mount:
    """What one placement took, so that it can be given back."""

    handles: list[tuple[Handle, int]] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    own: list[tuple[str, int, int]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pool:
    """Volumes that can be used from the same nodes."""

    reachable: Mask
    names: tuple[str, ...]
    overlaps: bool
    """Whether some of these nodes can use volumes of another pool as well."""


class Attachments:
    def __init__(self, snapshot: Snapshot, nodes: NodeView, in_use: Mapping[str, tuple[int, ...]]) -> None:
        """`in_use` are the claims that pods mount, and the rows of their nodes."""
        self._storage = snapshot.storage
        self._nodes = nodes
        self.claims_taken: set[str] = set(in_use)
        self.volumes_taken: set[str] = set()
        self.chosen: dict[str, str] = {}
        """Claims that several pods share, and the existing volume that the first of them was given."""
        self.attached: dict[Handle, set[int]] = {}
        self.derived: dict[Hashable, Any] = {}
        """What was derived from all this: forgotten as soon as a volume is mounted or given back."""
        limits = attach_limits(snapshot, nodes)
        self.free: dict[str, Ints] = {driver: free.copy() for driver, free in limits.items()}
        if self.free:
            for claim, rows in in_use.items():
                for handle in _handles(claim, snapshot.storage):
                    for row in rows:
                        self._attach(handle, row)

    def pools(self, names: tuple[str, ...]) -> tuple[Pool, ...]:
        """These volumes by the nodes they can be used from, those of fewest nodes first."""
        return self._nodes.derived_with(self._storage, ("pools", names), lambda: self._make_pools(names))

    def _make_pools(self, names: tuple[str, ...]) -> tuple[Pool, ...]:
        by_nodes: dict[bytes, tuple[Mask, list[str]]] = {}
        for name in names:
            reachable = reachable_nodes(self._nodes, self._storage.volumes[name].spec.node_affinity.required)
            by_nodes.setdefault(np.packbits(reachable).tobytes(), (reachable, []))[1].append(name)
        ordered = sorted(by_nodes.items(), key=lambda item: (int(item[1][0].sum()), item[1][1]))
        cover = sum((mask.astype(np.int32) for mask, _ in by_nodes.values()), np.zeros(1, dtype=np.int32))
        return tuple(
            Pool(mask, tuple(members), bool((cover[mask] > 1).any())) for _, (mask, members) in ordered
        )

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
            if need.handle and self._attach((need.driver, need.handle), row):
                taken.handles.append(((need.driver, need.handle), row))
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
        for (driver, name), row in taken.handles:
            self.attached[driver, name].discard(row)
            if driver in self.free:
                self.free[driver][row] += 1
        for driver, row, copies in taken.own:
            self.free[driver][row] += copies

    def _attach(self, handle: Handle, row: int) -> bool:
        rows = self.attached.setdefault(handle, set())
        if row in rows:
            return False
        rows.add(row)
        if handle[0] in self.free:
            self.free[handle[0]][row] -= 1
        return True

    def reach_of_chosen(self, handle: str) -> Mask | None:
        """Nodes that can use the volume which a shared claim was given; None if it was given none."""
        name = self.chosen.get(handle)
        if name is None:
            return None
        return reachable_nodes(self._nodes, self._storage.volumes[name].spec.node_affinity.required)

    def _free_candidates(self, need: VolumeNeed, row: int, count: int) -> list[str]:
        """Volumes that so many pods on a node would be given; fewer if the rest is provisioned."""
        found: list[str] = []
        for pool in self.pools(need.candidates):
            if pool.reachable[row]:
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


def _handles(claim: str, storage: StorageView) -> Iterable[Handle]:
    found = storage.claims.get(claim)
    volume = storage.volumes.get(found.spec.volume_name) if found is not None else None
    if volume is not None and volume.spec.csi is not None:
        yield volume.spec.csi.driver, volume.spec.csi.volume_handle
