"""Devices of a sandbox that claims are for, kept up to date for the floor."""

from collections.abc import Callable
from typing import Any

from maitred.cluster.devices.allocated import Allocated, AllocatedTable
from maitred.cluster.devices.counted import tallies_by_node
from maitred.cluster.devices.inventory import Inventory, InventoryTable
from maitred.explain.floorplan import NO_CLAIMABLE, ClaimableByNode
from maitred.model.devices.claims import ResourceClaim
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.meta import key_of
from maitred.model.objects import Object

WATCHED: tuple[type[Object], ...] = (ResourceSlice, DeviceTaintRule, ResourceClaim)


class WatchedDevices:
    def __init__(self, tell: Callable[[], None]) -> None:
        self._rules = dict[str, Any]()
        self._inventory = InventoryTable({DeviceTaintRule: self._rules, DeviceClass: {}})
        self._allocated = AllocatedTable()
        self._counted: tuple[Inventory, Allocated, ClaimableByNode] | None = None
        self.sinks = {kind: DeviceSink(self, kind, tell) for kind in WATCHED}

    def change(self, kind: type[Object], key: str, now: Object | None) -> None:
        if kind is DeviceTaintRule and now is not None:
            self._rules[key] = now
        elif kind is DeviceTaintRule:
            self._rules.pop(key, None)
        self._inventory.changed(kind, key, now)
        self._allocated.changed(kind, key, now)

    def by_node(self) -> ClaimableByNode:
        """Counted again only after a change."""
        inventory, allocated = self._inventory.view(), self._allocated.view()
        if not inventory.pools:
            return NO_CLAIMABLE
        known = self._counted
        if known is None or known[0] is not inventory or known[1] is not allocated:
            known = self._counted = (inventory, allocated, tallies_by_node(inventory, allocated))
        return known[2]


class DeviceSink:
    """Of objects of one kind."""

    def __init__(self, devices: WatchedDevices, kind: type[Object], tell: Callable[[], None]) -> None:
        self._devices, self._kind, self._tell = devices, kind, tell

    def put(self, item: Object) -> None:
        key = key_of(item.metadata) if item.metadata.namespace else item.metadata.name
        self._devices.change(self._kind, key, item)

    def gone(self, key: str) -> None:
        self._devices.change(self._kind, key, None)

    def settled(self) -> None:
        self._tell()
