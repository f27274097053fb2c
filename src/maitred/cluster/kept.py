"""Devices that stand idle for somebody: promised to members that wait, on places that others have left, or
kept for members that are not there.

What is promised and still held by those who leave is paid by these; the rest of it is free, and kept for the
group. Whoever counts this, for a bill or for a budget, counts it here.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.selection import REPELLING, tainted_nodes
from maitred.cluster.snapshot import GroupView, Snapshot


@dataclass(frozen=True)
class KeptPlace:
    view: GroupView
    row: int
    """Of the node."""
    amounts: Ints
    """Of each resource."""


def kept_places(
    snapshot: Snapshot, asked: Ints, leaving: Ints, free: Ints, bound: Container[str] = ()
) -> Iterator[KeptPlace]:
    """`asked` is over resources and needs; `leaving`, what those have who leave, and `free`, over resources
    and nodes. Both are used up: what others still hold serves promises first. `bound`: pods that have their
    places by now."""
    shapes, rows = snapshot.shapes, snapshot.nodes.rows
    promised = (view for view in snapshot.groups if view.nominated)
    for view in sorted(promised, key=lambda view: view.group.key):
        for pod, node, shape in zip(view.pods, view.nominated, view.shapes.tolist(), strict=True):
            row = rows.get(node)
            if row is None or pod in bound:
                continue
            kept = taken(asked[:, shapes[shape].needs], leaving[:, row], free[:, row])
            if kept.any():
                yield KeptPlace(view, row, kept)


def taken(wanted: Ints, leaving: Ints, free: Ints) -> Ints:
    """What of the free devices of a node is kept for somebody. Both are used up."""
    awaited = np.minimum(wanted, leaving)
    kept: Ints = np.minimum(wanted - awaited, free)
    leaving -= awaited
    free -= kept
    return kept


def nodes_with(nodes: NodeView, keys: frozenset[str]) -> Mask:
    """Nodes with a taint of one of these keys that keeps pods away, and those that are gone."""
    return nodes.derived(("tainted", keys), lambda: tainted_nodes(nodes, keys, REPELLING) | ~nodes.alive)
