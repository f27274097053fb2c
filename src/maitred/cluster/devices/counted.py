"""The devices of a cluster that claims are for, counted by kind and node; and who holds them.

All answers count devices by this: they show a driver where they show a resource of a device plugin, and the
model that the driver tells. See `hardware` for what one device is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from maitred.cluster.devices.allocated import Allocated, PoolUse
from maitred.cluster.devices.consumers import claim_users
from maitred.cluster.devices.hardware import DeviceKind, Tally, Unit, tallies, unit_of
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.nodes import Ints, NodeView
from maitred.cluster.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class ClaimableDevices:
    """Devices of one kind, by the rows of nodes. On each row, all of them are in use, unwell or free."""

    total: Ints
    used: Ints
    partly: Ints
    """In use, and more of them can be had."""
    unwell: Ints
    """Tainted, and not in use."""
    tainted: Ints
    """In use or not."""
    beyond: Tally
    """Devices that belong to no single node."""

    @property
    def free(self) -> Ints:
        left: Ints = self.total - self.used - self.unwell
        return left

    def plus(self, other: "ClaimableDevices") -> "ClaimableDevices":
        sums = (getattr(self, name) + getattr(other, name) for name in Tally._fields)
        total, used, partly, unwell, tainted = sums
        return ClaimableDevices(total, used, partly, unwell, tainted, self.beyond.plus(other.beyond))

    @property
    def everything(self) -> Tally:
        sums = (int(getattr(self, name).sum()) for name in Tally._fields)
        return Tally(*sums).plus(self.beyond)


ByKind = Mapping[DeviceKind, ClaimableDevices]
NO_NODE = ""
NOTHING: PoolUse = ()


def claimable_devices(snapshot: Snapshot) -> ByKind:
    """By kind, in the order of their names; nothing where no driver has published any."""
    if not snapshot.inventory.pools:
        return {}
    key = ("claimable devices", snapshot.inventory)
    return snapshot.nodes.derived_with(snapshot.allocated, key, lambda: _count(snapshot))


def by_driver(kinds: ByKind) -> dict[str, ClaimableDevices]:
    """Devices of all models of each driver; of drivers whose devices are on nodes."""
    found = dict[str, ClaimableDevices]()
    for kind, one in kinds.items():
        if one.total.any():
            known = found.get(kind.driver)
            found[kind.driver] = one if known is None else known.plus(one)
    return found


def _count(snapshot: Snapshot) -> ByKind:
    nodes, found = snapshot.nodes, dict[DeviceKind, dict[str, Tally]]()
    for node, kinds in tallies_by_node(snapshot.inventory, snapshot.allocated).items():
        if node == NO_NODE or node in nodes.rows:  # else the node is gone, and its devices with it
            for kind, tally in kinds.items():
                found.setdefault(kind, {})[node] = tally
    return {kind: _columns(nodes, found[kind]) for kind in sorted(found)}


def _columns(nodes: NodeView, by_node: Mapping[str, Tally]) -> ClaimableDevices:
    columns = np.zeros((len(Tally._fields), len(nodes.names)), dtype=np.int64)
    for node, tally in by_node.items():
        if node != NO_NODE:
            columns[:, nodes.rows[node]] = tally
    total, used, partly, unwell, tainted = columns
    return ClaimableDevices(total, used, partly, unwell, tainted, by_node.get(NO_NODE, Tally()))


def tallies_by_node(inventory: Inventory, allocated: Allocated) -> dict[str, dict[DeviceKind, Tally]]:
    """By the names of nodes; NO_NODE has what belongs to no single node."""
    found = dict[str, dict[DeviceKind, Tally]]()
    for id, pool in inventory.pools.items():
        here = found.setdefault(pool.node, {})
        for kind, tally in tallies(pool, allocated.by_pool.get(id, NOTHING)).items():
            here[kind] = here.get(kind, Tally()).plus(tally)
    return found


def held_devices(snapshot: Snapshot) -> Mapping[int, Counter[DeviceKind]]:
    """What bound pods have by their claims, by their places. Each device is counted once: of pods that share
    a claim, or have parts of one device, the first by name has it."""
    if not snapshot.allocated.claims or not snapshot.inventory.pools:
        return {}
    names: list[str] = ["" if one is None else one.key for one in snapshot.bound.occupants]
    found = dict[int, Counter[DeviceKind]]()
    first = {
        claim: min(users, key=names.__getitem__)
        for claim, users, _ in claim_users(snapshot, snapshot.bound)
        if users
    }
    for id, uses in snapshot.allocated.by_pool.items():
        pool, holders = snapshot.inventory.pools.get(id), dict[Unit, int]()
        if pool is None:
            continue
        for use in uses:
            unit, place = unit_of(pool, use.device), first.get(use.claim)
            if unit is not None and place is not None:
                known = holders.get(unit, place)
                holders[unit] = min(known, place, key=names.__getitem__)
        for unit, place in holders.items():
            if place not in found:
                found[place] = Counter()
            found[place][unit.kind] += 1
    return found
