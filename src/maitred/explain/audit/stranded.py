"""What is there and of no use: devices that are unwell, devices on nodes that are taken in part, and devices
beside which there is no cpu, memory or place for a pod left, because pods without devices took it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.counted import ClaimableDevices, by_driver, claimable_devices, held_devices
from maitred.cluster.devices.hardware import DeviceKind
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import Snapshot
from maitred.explain.audit.answer import DeviceCounts, LargestRoom, StrandedNode, UnwellNode
from maitred.explain.audit.holding import Held
from maitred.explain.topology import open_and_well
from maitred.model.needs import Needs
from maitred.model.policy import Level, Policy, health_taints, is_device
from maitred.model.quantity import CPU, MEMORY, PODS, text

LARGEST_SHOWN = 3
"""Pods without devices that are named for each node."""


class DeviceAmounts(NamedTuple):
    """Of one resource or driver, by node."""

    have: Ints
    """With what is unwell."""
    used: Ints
    free: Ints


class StrandedDevices:
    """Devices by node. Room on nodes that are closed or unwell is nobody's."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        nodes = snapshot.nodes
        self.snapshot, self.nodes = snapshot, nodes
        self.well: Mask = nodes.alive & open_and_well(nodes, health_taints(policy))
        self.free: Ints = np.maximum(nodes.allocatable - snapshot.used, 0)
        self.claimable = claimable_devices(snapshot)
        self.amounts = {
            **dict(self._offered_by_plugins(policy)),
            **{driver: DeviceAmounts(one.total, one.used, one.free) for driver, one in self._drivers.items()},
        }
        self.resources = list(self.amounts)
        """With the drivers of devices that claims are for."""

    @cached_property
    def _drivers(self) -> dict[str, ClaimableDevices]:
        return by_driver(self.claimable)

    def _offered_by_plugins(self, policy: Policy) -> "Iterator[tuple[str, DeviceAmounts]]":
        have = self.nodes.whole().allocatable
        for place, name in enumerate(self.nodes.resources):
            if is_device(policy, name) and have[place].any():
                yield name, DeviceAmounts(have[place], self.snapshot.used[place], self.free[place])

    def is_claimed(self, resource: str) -> bool:
        """Whether it is the driver of devices that claims are for."""
        return resource in self._drivers

    def model_on(self, resource: str, row: int) -> str:
        """Of devices that claims are for: that of most of them on a node."""
        kinds = [kind for kind in self.claimable if kind.driver == resource]
        return max(kinds, key=lambda kind: int(self.claimable[kind].total[row])).model

    def place(self, resource: str) -> int:
        return self.nodes.resources.index(resource)

    # -- fragmentation ---------------------------------------------------------------------------------

    def devices(self, resource: str) -> tuple[Ints, Mask]:
        """Free devices by node, and which nodes are whole: none of their devices is taken or unwell."""
        found = self.amounts[resource]
        free = found.free * self.well
        return free, (free > 0) & (free == found.have)

    def summary(
        self, resource: str, levels: tuple[Level, ...], stranded: Iterable[StrandedNode], half: Held
    ) -> DeviceCounts:
        """What needs whole nodes can use no others."""
        has = self.amounts[resource].have * self.nodes.alive
        taken = np.minimum(self.amounts[resource].used, has)
        free, whole = self.devices(resource)
        unwell = has - taken - free
        return DeviceCounts(
            resource=resource,
            total=int(has.sum()),
            taken=int(taken.sum()),
            half_started=int(sum(devices for (name, _), devices in half.items() if name == resource)),
            unwell=int(unwell.sum()),
            not_offered=int(unwell[self.well].sum()),
            free=int(free.sum()),
            stranded=sum(node.devices for node in stranded if node.resource == resource),
            whole_nodes=int(np.count_nonzero(whole)),
            in_whole_nodes=int(free[whole].sum()),
            part_nodes=int(np.count_nonzero((free > 0) & ~whole)),
            in_part=int(free[~whole].sum()),
            levels=tuple(self._rooms(levels, free, whole)),
        )

    def _rooms(self, levels: tuple[Level, ...], free: Ints, whole: Mask) -> Iterator[LargestRoom]:
        for level in levels:
            column = self.nodes.column(level.key)
            inside = whole & (column.codes >= 0)
            if not column.values:
                continue
            found = np.bincount(column.codes[inside], weights=free[inside], minlength=len(column.values))
            best = int(found.argmax())
            count = int(np.count_nonzero(column.codes[inside] == best))
            yield LargestRoom(level.name, column.values[best] if count else "", count, int(found[best]))

    def not_offered(self, resource: str) -> Ints:
        """Devices by node that are not taken, and that the plugin does not offer or that are tainted, on
        nodes that are well."""
        found = self.amounts[resource]
        left: Ints = np.maximum(found.have - found.used, 0) - found.free
        return np.where(self.well, left, 0)

    def unwell(self) -> Iterator[UnwellNode]:
        """All that nodes have and do not offer, by node, of whatever kind."""
        for row in sorted(self.nodes.unwell, key=lambda row: self.nodes.names[row]):
            for resource, one in sorted(self.nodes.unwell[row].items()):
                count, of = (one.unwell, one.of) if one.is_counted else (None, None)
                yield UnwellNode(self.nodes.names[row], resource, count, of, one.cause, one.label)
        for driver, found in self._drivers.items():
            for row in np.flatnonzero(found.tainted).tolist():
                count, of = int(found.tainted[row]), int(found.total[row])
                yield UnwellNode(self.nodes.names[row], driver, count, of, "Tainted", "")

    # -- devices that others leave no room for ----------------------------------------------------------

    def stranded(self, resource: str, policy: Policy) -> Iterator[StrandedNode]:
        """Free devices that not even the most modest pod with devices could be seated at, and could be if
        pods without devices were not there. Pods that belong to their nodes are none of these."""
        need, others = self._least(resource), self._taken_by_others(policy)
        free = self.amounts[resource].free * self.well
        now, alone = self._usable(free, self.free, need), self._usable(free, self.free + others, need)
        for row in np.flatnonzero(alone > now):
            yield self._stranded_node(resource, int(row), int((alone - now)[row]), others, need)

    def _least(self, resource: str) -> dict[int, float]:
        """Of cpu and memory, the least for each device that any pod with such devices asks for."""
        least: dict[int, float] = {}
        asking = self._claiming(resource) if self.is_claimed(resource) else self._asking(resource)
        for name in (CPU, MEMORY):
            if asking:
                least[self.place(name)] = min(asks.get(name, 0) / count for asks, count in asking)
        return least

    def _asking(self, resource: str) -> list[tuple[dict[str, int], int]]:
        """What pods ask for, and how many devices."""
        asking = (dict(needs.requests) for needs in self.snapshot.needs)
        return [(asks, asks[resource]) for asks in asking if resource in asks]

    def _claiming(self, driver: str) -> list[tuple[dict[str, int], int]]:
        bound, found = self.snapshot.bound, list[tuple[dict[str, int], int]]()
        for pod, kinds in self.held.items():
            count = sum(n for kind, n in kinds.items() if kind.driver == driver)
            if count:
                found.append((dict(self.snapshot.needs[bound.needs[pod]].requests), count))
        return found

    @cached_property
    def held(self) -> Mapping[int, Counter[DeviceKind]]:
        return held_devices(self.snapshot)

    def _usable(self, free: Ints, room: Ints, need: dict[int, float]) -> Ints:
        """One pod may take all devices of a node, so one place among its pods is enough."""
        usable = np.where(room[self.place(PODS)] > 0, free, 0)
        for column, each in need.items():
            if each > 0:
                usable = np.minimum(usable, np.floor(room[column] / each).astype(np.int64))
        return usable

    def _taken_by_others(self, policy: Policy) -> Ints:
        """What pods without devices have taken, by resource and node."""
        bound, taken = self.snapshot.bound, np.zeros_like(self.free)
        modest = np.array([not uses_devices(needs, policy) for needs in self.snapshot.needs], dtype=np.bool_)
        chosen = modest[bound.needs] & ~bound.fixed
        for number in np.unique(bound.needs[chosen]):
            rows = bound.node[chosen & (bound.needs == number)]
            counts = np.bincount(rows, minlength=taken.shape[1])
            for resource, amount in self.snapshot.needs[number].requests:
                column = self.nodes.resource_column(resource)
                if column is not None:
                    taken[column] += counts * amount
        return taken

    def _stranded_node(
        self, resource: str, row: int, devices: int, others: Ints, need: dict[int, float]
    ) -> StrandedNode:
        """It lacks what is left for the fewest devices."""
        lacks = {column: self.free[column, row] / each for column, each in need.items() if each > 0}
        if not self.free[self.place(PODS), row]:
            lacks = {self.place(PODS): 0.0}
        column = min(lacks, key=lambda one: lacks[one])
        name = self.nodes.resources[column]
        pods = self._largest(row, name)
        return StrandedNode(
            node=self.nodes.names[row],
            resource=resource,
            devices=devices,
            lacks=name,
            free=text(name, int(self.free[column, row])),
            taken=text(name, int(others[column, row])),
            pods=len(pods),
            largest=tuple(pods[:LARGEST_SHOWN]),
        )

    def _largest(self, row: int, resource: str) -> list[str]:
        """Pods without devices on a node, those first that have most of this."""
        bound, needs = self.snapshot.bound, self.snapshot.needs
        here = np.flatnonzero((bound.node == row) & ~bound.fixed)
        found = [
            (-dict(needs[bound.needs[place]].requests).get(resource, 0), bound.occupants[place].key)
            for place in here
            if not needs[bound.needs[place]].device_claims
            and not any(name in self.resources for name, _ in needs[bound.needs[place]].requests)
        ]
        return [key for _, key in sorted(found)]


def uses_devices(needs: Needs, policy: Policy) -> bool:
    return bool(needs.device_claims) or any(is_device(policy, name) for name, _ in needs.requests)
