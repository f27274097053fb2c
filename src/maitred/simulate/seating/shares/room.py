"""What is free on each node, down to the thousandths of each device."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from maitred.cluster.nodes import BASE_RESOURCES, Ints, Mask, NodeView
from maitred.model.node import HEALTH_TAINTS, Node
from maitred.model.policy import Policy
from maitred.model.quantity import CPU, MEMORY
from maitred.simulate.jobs import WHOLE
from maitred.simulate.nodes import devices_of
from maitred.simulate.seating.columns import NodeColumns, PodLoad, Rows, open_nodes
from maitred.simulate.seating.shares.asks import ShareRequest

CPU_ROW, MEMORY_ROW = BASE_RESOURCES.index(CPU), BASE_RESOURCES.index(MEMORY)


class DeviceRoom:
    def __init__(self, nodes: Sequence[Node], policy: Policy) -> None:
        self.columns = NodeColumns()
        self._policy = policy
        most = max([1, *map(self._count, nodes)])
        self.devices: Ints = np.zeros((len(nodes), most), dtype=np.int64)
        """Thousandths of each device that are free, node by node. There is nothing of those that are gone."""
        self._gone: Mask = np.ones((len(nodes), most), dtype=np.bool_)
        for node in nodes:
            self.put(node)
        self._in_order = self.columns.view.without_taints(HEALTH_TAINTS)

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def view(self) -> NodeView:
        return self.columns.view

    @property
    def changes(self) -> int:
        return self.columns.changes

    def cpu(self, rows: Rows) -> Ints:
        return self._free(CPU_ROW, rows)

    def memory(self, rows: Rows) -> Ints:
        return self._free(MEMORY_ROW, rows)

    def free(self, rows: Rows | slice = slice(None)) -> Ints:
        """Thousandths of devices."""
        free: Ints = self.devices[rows].sum(axis=1)
        return free

    def _free(self, resource: int, rows: Rows) -> Ints:
        table = self.columns.table
        free: Ints = table.allocatable[resource, rows] - table.used[resource, rows]
        return free

    def changed_since(self, change: int) -> Rows:
        return np.flatnonzero(self.columns.changed > change)

    def reach(self, asks: Collection[ShareRequest]) -> Mask:
        """Nodes, and for each ask whether such a pod may go there when all is well and nobody is there."""
        found = np.zeros((len(self), len(asks)), dtype=np.bool_)
        for column, ask in enumerate(asks):
            found[:, column] = open_nodes(self._in_order, ask.kind)
        return found

    def fits(self, ask: ShareRequest, load: PodLoad, rows: Rows) -> Mask:
        table, columns = self.columns.table, load.columns[:, None]
        free = table.allocatable[columns, rows] - table.used[columns, rows]
        enough: Mask = np.all(free >= load.amounts[:, None], axis=0)
        if ask.devices:
            enough &= np.count_nonzero(self.devices[rows] >= ask.each, axis=1) >= ask.devices
        return enough

    # -- changes ---------------------------------------------------------------------------------------

    def put(self, node: Node) -> None:
        """Which devices are gone does not matter, as nobody uses them: the emptiest."""
        self.columns.put(node)
        row = self.columns.table.rows[node.metadata.name]
        free, gone = self.devices[row], self._gone[row]
        lost = self._count(node) - int((~gone).sum())
        for _ in range(lost, 0):
            emptiest = int(np.where(gone, -1, free).argmax())
            gone[emptiest], free[emptiest] = True, 0
        for device in np.flatnonzero(gone)[: max(lost, 0)]:
            gone[device], free[device] = False, WHOLE

    def _count(self, node: Node) -> int:
        return sum(devices_of(node, self._policy).values())

    def whole_devices(self, row: int, count: int) -> tuple[int, ...]:
        """The first of a node that nobody uses."""
        return tuple(np.flatnonzero(self.devices[row] == WHOLE)[:count].tolist())

    def take(self, ask: ShareRequest, load: PodLoad, node: str, devices: Iterable[int]) -> None:
        self._use(node, devices, ask.each)
        self.columns.take(load, node)

    def give_back(self, ask: ShareRequest, load: PodLoad, node: str, devices: Iterable[int]) -> None:
        self._use(node, devices, -ask.each)
        self.columns.give_back(load, node)

    def _use(self, node: str, devices: Iterable[int], each: int) -> None:
        free = self.devices[self.columns.table.rows[node]]
        for device in devices:
            free[device] -= each
