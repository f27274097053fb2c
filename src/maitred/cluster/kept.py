"""Devices that stand idle for somebody: promised to members that wait, on places that others have left.

What is promised and still held by those who leave is paid by these; the rest of it is free, and kept for the
group. Whoever counts this, for a bill or for a budget, counts it here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.selection import REPELLING
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.node import Taint


@dataclass(frozen=True)
class KeptPlace:
    view: GroupView
    row: int
    """Of the node."""
    amounts: Ints
    """Of each resource."""


def kept_places(snapshot: Snapshot, asked: Ints, leaving: Ints, free: Ints) -> Iterator[KeptPlace]:
    """`asked` is over resources and needs; `leaving`, what those have who leave, and `free`, over resources
    and nodes. Both are used up: what others still hold serves promises first."""
    shapes, rows = snapshot.shapes, snapshot.nodes.rows
    promised = (view for view in snapshot.groups if view.nominated)
    for view in sorted(promised, key=lambda view: view.group.key):
        for node, shape in zip(view.nominated, view.shapes.tolist(), strict=True):
            row = rows.get(node)
            if row is None:
                continue
            wanted = asked[:, shapes[shape].needs]
            awaited = np.minimum(wanted, leaving[:, row])
            kept = np.minimum(wanted - awaited, free[:, row])
            leaving[:, row] -= awaited
            free[:, row] -= kept
            if kept.any():
                yield KeptPlace(view, row, kept)


def nodes_with(nodes: NodeView, keys: frozenset[str]) -> Mask:
    """Nodes with a taint of one of these keys that keeps pods away, and those that are gone."""
    return nodes.derived(("tainted", keys), lambda: _nodes_with(nodes, keys))


def _nodes_with(nodes: NodeView, keys: frozenset[str]) -> Mask:
    def repels(taints: tuple[Taint, ...]) -> bool:
        return any(taint.key in keys and taint.effect in REPELLING for taint in taints)

    mask: Mask = np.array([repels(taints) for taints in nodes.taint_sets])[nodes.taint_ids]
    return mask | ~nodes.alive
