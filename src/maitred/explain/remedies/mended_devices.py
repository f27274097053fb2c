"""Devices brought back as a remedy: those that are tainted, and those that a node has and does not offer.

- `{"kind": "devices", "devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]}`: devices
  of claims, whose taints are to go;
- `{"kind": "nodeDevices", "devices": [{"node": "n2", "resource": "nvidia.com/gpu", "unwell": 3}]}`: those of
  a device plugin, which is to offer them again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.pools import DeviceId, DevicePool, PoolId
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.explain.remedies.changes import available, shown_names
from maitred.model.plan import Blocker, Detail, Remedy
from maitred.model.words import counted


@dataclass(frozen=True, slots=True)
class MendedDevices:
    """Devices that are tainted are well again."""

    devices: tuple[DeviceId, ...]
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        inventory, mended = snapshot.inventory, set(self.devices)
        pools = dict(inventory.pools)
        for id in {PoolId(one.driver, one.pool) for one in self.devices} & pools.keys():
            pool = pools[id]
            devices = tuple(replace(one, taints=()) if one.id in mended else one for one in pool.devices)
            pools[id] = DevicePool(pool.id, devices, pool.counters, pool.node, pool.problem)
        return replace(snapshot, inventory=Inventory(pools, inventory.classes))

    def remedy(self, view: GroupView) -> Remedy:
        pools = dict[str, list[str]]()
        for one in self.devices:
            pools.setdefault(one.pool, []).append(one.device)
        names = shown_names(
            [
                f"{names[0] if len(names) == 1 else counted(len(names), 'device')} of pool {pool}"
                for pool, names in pools.items()
            ]
        )
        detail: Detail = {"kind": "devices", "devices": [one._asdict() for one in self.devices]}
        return Remedy(f"bring back {names}", detail)


def tainted_devices_back(view: GroupView, blockers: tuple[Blocker, ...]) -> Iterator[MendedDevices]:
    """What the blocker of health names, if it names all."""
    for blocker in blockers:
        named = blocker.detail.get("tainted", ())
        if blocker.category == "Health" and named and len(named) == blocker.detail["taintedDevices"]:
            ids = tuple(DeviceId(one["driver"], one["pool"], one["device"]) for one in named)
            places = len({(one.driver, one.pool) for one in ids})
            yield MendedDevices(ids, places / max(places, available(view)))


class NodeDevices(NamedTuple):
    """All devices of one kind that a node has and does not offer."""

    node: str
    resource: str
    unwell: int


@dataclass(frozen=True, slots=True)
class OfferedAgain:
    """Device plugins offer all devices of their nodes again."""

    devices: tuple[NodeDevices, ...]
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        mended = dict[int, set[str]]()
        for one in self.devices:
            mended.setdefault(snapshot.nodes.rows[one.node], set()).add(one.resource)
        return replace(snapshot, nodes=snapshot.nodes.with_devices_back(mended))

    def remedy(self, view: GroupView) -> Remedy:
        named = [f"{one.unwell} {one.resource} on {one.node}" for one in self.devices]
        detail: Detail = {"kind": "nodeDevices", "devices": [one._asdict() for one in self.devices]}
        return Remedy(f"bring back {shown_names(named)}", detail)
