"""Nodes as columns for a scheduler that sees one pod at a time, and what it reads of a pod."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.nodes import BASE_RESOURCES, Ints, Mask, NodeTable, NodeView
from maitred.cluster.selection import required_nodes, tolerated_nodes
from maitred.model.needs import NodeRequirements, node_requirements
from maitred.model.node import Node
from maitred.model.pod import Affinity, PodSpec, Toleration
from maitred.model.quantity import CPU, MEMORY
from maitred.model.requests import pod_requests
from maitred.simulate.seating.kube_scores import balanced_allocation, least_allocated, scored_requests

Rows = NDArray[np.intp]

CLOSED = -1
"""The worth of a node that a pod cannot go to."""

SCORED = slice(BASE_RESOURCES.index(CPU), BASE_RESOURCES.index(MEMORY) + 1)
"""The rows of CPU and memory in a table of nodes."""


@dataclass(frozen=True, slots=True)
class PodKind:
    """All that is read of a pod. Pods of one kind can take each other's place."""

    requests: tuple[tuple[str, int], ...]
    scored: tuple[int, int]
    node: NodeRequirements
    tolerations: tuple[Toleration, ...]


def kind_of(spec: PodSpec) -> PodKind:
    return PodKind(
        requests=tuple(sorted(pod_requests(spec).items())),
        scored=scored_requests(spec),
        node=node_requirements(spec, spec.affinity or Affinity()),
        tolerations=spec.tolerations,
    )


def open_nodes(nodes: NodeView, kind: PodKind) -> Mask:
    """Nodes that a pod of the kind may go to, if there is room."""
    return required_nodes(nodes, kind.node) & tolerated_nodes(nodes, kind.tolerations)


class PodLoad:
    """What a pod of one kind puts on its node."""

    def __init__(self, kind: PodKind, table: NodeTable) -> None:
        requests = dict(kind.requests)
        self.kind = kind
        self.columns = np.array([table.resource(resource) for resource in requests], dtype=np.intp)
        self.amounts: Ints = np.array(list(requests.values()), dtype=np.int64)
        self.scored: Ints = np.array(kind.scored, dtype=np.int64)
        asked = [[requests.get(CPU, 0)], [requests.get(MEMORY, 0)]]
        self.before_and_after: Ints = np.array([[[0], [0]], asked], dtype=np.int64)


class NodeColumns:
    """What nodes have and what is taken of it. Who derives something can tell which rows changed since."""

    def __init__(self) -> None:
        self.table = NodeTable()
        self.scored: Ints = np.zeros((2, 0), dtype=np.int64)
        """CPU and memory taken, as `kube_scores.scored_requests` counts them."""
        self.changed: Ints = np.zeros(0, dtype=np.int64)
        """The number of the last change of each row."""
        self.changes = 0

    def __len__(self) -> int:
        return len(self.changed)

    @property
    def view(self) -> NodeView:
        return self.table.view()

    def put(self, node: Node) -> None:
        self.table.put(node)
        row = self.table.rows[node.metadata.name]
        if row == len(self):
            self.scored = np.pad(self.scored, ((0, 0), (0, 1)))
            self.changed = np.pad(self.changed, (0, 1))
        self._touch(row)

    def take(self, load: PodLoad, node: str) -> None:
        row = self.table.rows[node]
        self.table.used[load.columns, row] += load.amounts
        self.scored[:, row] += load.scored
        self._touch(row)

    def give_back(self, load: PodLoad, node: str) -> None:
        row = self.table.rows[node]
        self.table.used[load.columns, row] -= load.amounts
        self.scored[:, row] -= load.scored
        self._touch(row)

    def _touch(self, row: int) -> None:
        self.changes += 1
        self.changed[row] = self.changes

    def worth(self, load: PodLoad, rows: Rows) -> Ints:
        """What kube-scheduler thinks of these nodes for one more pod: more is better, CLOSED is no room."""
        have, used = self.table.allocatable.take(rows, axis=1), self.table.used.take(rows, axis=1)
        after = used.take(load.columns, axis=0) + load.amounts[:, None]
        full = (after > have.take(load.columns, axis=0)).any(axis=0)
        score = least_allocated(self.scored.take(rows, axis=1) + load.scored[:, None], have[SCORED])
        score += balanced_allocation(used[SCORED] + load.before_and_after, have[SCORED])
        score[full] = CLOSED
        return score
