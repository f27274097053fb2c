"""All devices at one moment: those of each node, those that several nodes can use, and their classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from maitred.cluster.devices.findings import Findings
from maitred.cluster.devices.pools import DevicePool, PooledDevice, PoolId, pool_of
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.model.objects import Object
from maitred.model.unwell import resource_of


@dataclass(frozen=True, eq=False)
class Inventory:
    pools: Mapping[PoolId, DevicePool] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    hidden: Mapping[str, Mapping[PoolId, int]] = field(default_factory=dict)
    """Expressions that whoever reads this may not know, by other names: the devices that they select."""
    findings: Findings = field(default_factory=Findings, compare=False)
    """What was worked out from all this, by whoever did."""

    @cached_property
    def on_node(self) -> Mapping[str, tuple[DevicePool, ...]]:
        """The pools whose devices are all on one node, by its name, in the order in which they are used."""
        found = dict[str, list[DevicePool]]()
        for pool in self.pools.values():
            if pool.node:
                found.setdefault(pool.node, []).append(pool)
        return {node: tuple(sorted(pools, key=lambda pool: pool.order)) for node, pools in found.items()}

    @cached_property
    def wide(self) -> tuple[DevicePool, ...]:
        """Pools with devices that several nodes can use, or each another."""
        found = (pool for pool in self.pools.values() if not pool.node)
        return tuple(sorted(found, key=lambda pool: pool.order))

    @cached_property
    def instead_of_plugins(self) -> frozenset[tuple[str, str]]:
        """Nodes whose devices of a kind are published in slices, and the resource as which a device plugin
        would offer them."""
        found = ((pool.node, resource_of(id.driver)) for id, pool in self.pools.items() if pool.node)
        return frozenset(one for one in found if one[1])

    @cached_property
    def has_shares(self) -> bool:
        """Whether several pods can have parts of one device."""
        return any(
            device.is_shared or device.counters for pool in self.pools.values() for device in pool.devices
        )

    @cached_property
    def is_tainted(self) -> bool:
        return any(device.taints for pool in self.pools.values() for device in pool.devices)

    @cached_property
    def problems(self) -> tuple[str, ...]:
        return tuple(sorted(pool.problem for pool in self.pools.values() if pool.problem))

    def device(self, pool: PoolId, name: str) -> PooledDevice | None:
        known = self.pools.get(pool)
        if known is None:
            return None
        if "names" not in known.derived:
            known.derived["names"] = {device.id.device: device for device in known.devices}
        found: PooledDevice | None = known.derived["names"].get(name)
        return found

    def followed_by(self, later: "Inventory") -> "Inventory":
        """The later one with what was found out before, as far as it still holds."""
        if (later.classes, later.wide) != (self.classes, self.wide):
            return later
        return replace(later, findings=self.findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return Inventory, (self.pools, self.classes, self.hidden)


NO_DEVICES = Inventory()


class KindTables(Protocol):
    """The objects of each kind, by key."""

    def __getitem__(self, kind: type[Object], /) -> Mapping[str, Any]: ...


class InventoryTable:
    """Keeps the inventory true as slices, classes and taint rules change."""

    def __init__(self, tables: KindTables) -> None:
        self._tables = tables
        self._slices: dict[PoolId, dict[str, ResourceSlice]] = {}
        self._pool_of_slice: dict[str, PoolId] = {}
        self._pools: dict[PoolId, DevicePool] = {}
        self._stale: set[PoolId] = set()
        self._view: Inventory | None = NO_DEVICES
        self._last = Inventory()

    def changed(self, kind: type[Object], key: str, now: Object | None) -> None:
        """An object of this kind has come, has changed, or is gone."""
        if kind is ResourceSlice:
            name = key.rpartition("/")[2] if now is None else now.metadata.name
            self._put(name, now if isinstance(now, ResourceSlice) else None)
        elif kind is DeviceTaintRule:
            self._stale.update(self._slices)
        elif kind is not DeviceClass:
            return
        self._view = None

    def _put(self, name: str, now: ResourceSlice | None) -> None:
        before = self._pool_of_slice.pop(name, None)
        if before is not None:
            self._slices[before].pop(name)
            self._stale.add(before)
        if now is not None:
            id = PoolId(now.spec.driver, now.spec.pool.name)
            self._pool_of_slice[name] = id
            self._slices.setdefault(id, {})[name] = now
            self._stale.add(id)

    def view(self) -> Inventory:
        if self._view is None:
            rules = [self._tables[DeviceTaintRule][name] for name in sorted(self._tables[DeviceTaintRule])]
            for id in self._stale:
                slices = self._slices[id]
                pool = pool_of(id, slices.values(), rules) if slices else None
                if not slices:
                    del self._slices[id]
                if pool is None:
                    self._pools.pop(id, None)
                else:
                    self._pools[id] = pool
            self._stale = set()
            self._view = self._last = self._last.followed_by(
                Inventory(dict(self._pools), dict(self._tables[DeviceClass]))
            )
        return self._view
