"""What is free and of no use: devices on nodes that are taken in part, and devices beside which there is no
cpu, memory or place for a pod left, because pods without devices took it."""

from collections.abc import Iterable, Iterator

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import Snapshot
from maitred.explain.audit.answer import DeviceCounts, LargestRoom, StrandedNode
from maitred.explain.audit.holding import Held
from maitred.explain.topology import open_and_well
from maitred.model.needs import Needs
from maitred.model.policy import Level, Policy, health_taints, is_device
from maitred.model.quantity import CPU, MEMORY, PODS, text

LARGEST_SHOWN = 3
"""Pods without devices that are named for each node."""


class StrandedDevices:
    """Devices by node. Room on nodes that are closed or unwell is nobody's."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        nodes = snapshot.nodes
        self.snapshot, self.nodes = snapshot, nodes
        self.well: Mask = nodes.alive & open_and_well(nodes, health_taints(policy))
        self.free: Ints = np.maximum(nodes.allocatable - snapshot.used, 0)
        self.resources = [
            name
            for place, name in enumerate(nodes.resources)
            if is_device(policy, name) and nodes.allocatable[place].any()
        ]

    def place(self, resource: str) -> int:
        return self.nodes.resources.index(resource)

    # -- fragmentation ---------------------------------------------------------------------------------

    def devices(self, resource: str) -> tuple[Ints, Mask]:
        """Free devices by node, and which nodes are whole: none of their devices is taken."""
        place = self.place(resource)
        free = self.free[place] * self.well
        return free, (free > 0) & (free == self.nodes.allocatable[place])

    def summary(
        self, resource: str, levels: tuple[Level, ...], stranded: Iterable[StrandedNode], half: Held
    ) -> DeviceCounts:
        """What needs whole nodes can use no others."""
        has, unused = self.nodes.allocatable[self.place(resource)], self.free[self.place(resource)]
        free, whole = self.devices(resource)
        return DeviceCounts(
            resource=resource,
            total=int(has[self.nodes.alive].sum()),
            taken=int((has - unused)[self.nodes.alive].sum()),
            half_started=int(sum(devices for (name, _), devices in half.items() if name == resource)),
            unwell=int(unused[self.nodes.alive & ~self.well].sum()),
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

    # -- devices that others leave no room for ----------------------------------------------------------

    def stranded(self, resource: str, policy: Policy) -> Iterator[StrandedNode]:
        """Free devices that not even the most modest pod with devices could be seated at, and could be if
        pods without devices were not there. Pods that belong to their nodes are none of these."""
        place, need = self.place(resource), self._least(resource)
        others = self._taken_by_others(policy)
        free = self.free[place] * self.well
        now, alone = self._usable(free, self.free, need), self._usable(free, self.free + others, need)
        for row in np.flatnonzero(alone > now):
            yield self._stranded_node(resource, int(row), int((alone - now)[row]), others, need)

    def _least(self, resource: str) -> dict[int, float]:
        """Of cpu and memory, the least for each device that any pod with such devices asks for."""
        least: dict[int, float] = {}
        asking = [dict(needs.requests) for needs in self.snapshot.needs if resource in dict(needs.requests)]
        for name in (CPU, MEMORY):
            if asking:
                least[self.place(name)] = min(asks.get(name, 0) / asks[resource] for asks in asking)
        return least

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
            if not any(name in self.resources for name, _ in needs[bound.needs[place]].requests)
        ]
        return [key for _, key in sorted(found)]


def uses_devices(needs: Needs, policy: Policy) -> bool:
    return bool(needs.device_claims) or any(is_device(policy, name) for name, _ in needs.requests)
