"""Nodes that other schedulers use: what they do there next is not known, so nothing is promised there."""

from collections.abc import Collection

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import Snapshot


def foreign_pods(snapshot: Snapshot, own: Collection[str]) -> Mask:
    """Pods on nodes that other schedulers have put there. Those that belong to their node do not count."""
    bound = snapshot.bound
    others = np.array([*(one.scheduler not in own for one in snapshot.standings), False], dtype=np.bool_)
    found: Mask = others[bound.standing] & ~bound.fixed
    return found


def foreign_nodes(snapshot: Snapshot, own: Collection[str]) -> frozenset[int]:
    rows = snapshot.bound.node[foreign_pods(snapshot, own)]
    return frozenset(np.unique(rows).tolist())
