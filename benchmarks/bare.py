"""The floor of reading: the same decoding, and of each pod only a row in a few columns."""

import msgspec
import numpy as np

from maitred.model.meta import Lean, key_of
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.requests import pod_requests


class PodEvent(Lean, frozen=True):
    type: str
    object: Pod


class PodPage(Lean, frozen=True):
    items: tuple[Pod, ...]


class NodePage(Lean, frozen=True):
    items: tuple[Node, ...]


EVENTS = msgspec.json.Decoder(PodEvent)
PODS, NODES = msgspec.json.Decoder(PodPage), msgspec.json.Decoder(NodePage)


class BareTable:
    """Pods as rows and what they take from their nodes; nothing by which a change could be taken back."""

    def __init__(self, nodes: int) -> None:
        self.rows: dict[str, int] = {}
        self.node_rows: dict[str, int] = {}
        self.used = np.zeros((8, nodes), dtype=np.int64)
        self._columns: dict[str, int] = {}
        self._request: list[tuple[int, int]] | None = None

    def put_node(self, node: Node) -> None:
        self.node_rows.setdefault(node.metadata.name, len(self.node_rows))

    def put_pod(self, pod: Pod) -> None:
        self.rows.setdefault(key_of(pod.metadata), len(self.rows))
        if pod.spec.node_name:
            row = self.node_rows[pod.spec.node_name]
            for column, amount in self._amounts(pod):
                self.used[column, row] += amount

    def _amounts(self, pod: Pod) -> list[tuple[int, int]]:
        """All pods here are alike, so the first says what every one of them asks for."""
        if self._request is None:
            requests = pod_requests(pod.spec).items()
            self._request = [(self._columns.setdefault(name, len(self._columns)), n) for name, n in requests]
        return self._request
