"""Volumes in use: which are attached where, how many more each node takes, and which claims are taken."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Ints, NodeView
from maitred.cluster.selection import reachable_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.volumes import StorageView, VolumeNeed

UNLIMITED = 2**31
Handle = tuple[str, str]
"""Driver and name of a volume."""


@dataclass(slots=True)
class Mount:
    """What one placement took, so that it can be given back."""

    handles: list[tuple[Handle, int]]
    volumes: list[str]
    claims: list[str]
    own: list[tuple[str, int, int]]


class Attachments:
    def __init__(self, snapshot: Snapshot, nodes: NodeView, occupied: bool) -> None:
        self._storage = snapshot.storage
        self._nodes = nodes
        self.claims_taken: set[str] = set(snapshot.claims_in_use) if occupied else set()
        self.volumes_taken: set[str] = set()
        self.attached: dict[Handle, set[int]] = {}
        self.free: dict[str, Ints] = _limits(snapshot.storage, nodes)
        if occupied and self.free:
            for claim, rows in snapshot.claims_in_use.items():
                for handle in _handles(claim, snapshot.storage):
                    for row in rows:
                        self._attach(handle, row)

    def mount(self, needs: Iterable[VolumeNeed], row: int, copies: int) -> Mount:
        """Account for `copies` pods with these volumes on one node."""
        taken = Mount([], [], [], [])
        for need in needs:
            if need.exclusive and need.exclusive not in self.claims_taken:
                self.claims_taken.add(need.exclusive)
                taken.claims.append(need.exclusive)
            for _ in range(copies if need.candidates else 0):
                name = self._free_candidate(need, row)
                if name is not None:
                    self.volumes_taken.add(name)
                    taken.volumes.append(name)
            if need.handle and self._attach((need.driver, need.handle), row):
                taken.handles.append(((need.driver, need.handle), row))
            if need.driver in self.free and not need.handle:
                self.free[need.driver][row] -= copies
                taken.own.append((need.driver, row, copies))
        return taken

    def unmount(self, taken: Mount) -> None:
        self.claims_taken.difference_update(taken.claims)
        self.volumes_taken.difference_update(taken.volumes)
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

    def _free_candidate(self, need: VolumeNeed, row: int) -> str | None:
        for name in need.candidates:
            volume = self._storage.volumes.get(name)
            if name in self.volumes_taken or volume is None:
                continue
            if reachable_nodes(self._nodes, volume.spec.node_affinity.required)[row]:
                return name
        return None


def _limits(storage: StorageView, nodes: NodeView) -> dict[str, Ints]:
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
