"""Which of the pods that terminate will leave, so that others may count on their room.

`deletionTimestamp` is the time by which a pod is to be gone: that of its deletion, and the grace period that
it was given. A pod that is there LATE after that is stuck, and so is one whose kubelet is silent, because
nobody stops its containers. A stuck pod holds its place like one that runs, and is not evicted: it was
deleted before, and a second deletion changes nothing. A pod that was given more time than the policy gives
anyone lingers in its place, but may be evicted, which gives it less.
"""

from collections.abc import Set

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import UNKNOWN_TIME, Snapshot
from maitred.model.health.tables import LOST_TAINTS
from maitred.model.node import NOT_READY, UNREACHABLE

SILENT = frozenset((NOT_READY, UNREACHABLE))
LATE = 60_000
"""Milliseconds past its time after which a pod that terminates is stuck."""


def leaving_pods(snapshot: Snapshot, grace_limit: int | None, now: int) -> Mask:
    """Terminating pods whose room will be there without more ado. The limit is in seconds, `now` in
    milliseconds since 1970."""
    bound = snapshot.bound
    leaving: Mask = bound.terminating & ~stuck_pods(snapshot, now)
    return leaving if grace_limit is None else leaving & (bound.grace <= grace_limit * 1000)


def stuck_pods(snapshot: Snapshot, now: int) -> Mask:
    """Which of the pods on nodes are terminating with no end in sight."""
    bound = snapshot.bound
    if not bound.terminating.any():
        return bound.terminating
    late = stuck_from(snapshot) <= now
    stuck: Mask = bound.terminating & (late | silent_nodes(snapshot)[bound.node])
    return stuck


def stuck_from(snapshot: Snapshot) -> Ints:
    """From when on each pod is stuck, if it terminates and is there still."""
    due = snapshot.bound.due
    return np.where(due == UNKNOWN_TIME, np.iinfo(np.int64).max, due + LATE)


def silent_nodes(snapshot: Snapshot) -> Mask:
    """Nodes that are gone, or whose kubelet does not answer: nobody ends what runs there."""
    return _gone_or_tainted(snapshot, SILENT)


def lost_nodes(snapshot: Snapshot) -> Mask:
    """These, and nodes that are closed: no pod works there, or it is not known whether it does."""
    return _gone_or_tainted(snapshot, LOST_TAINTS)


def _gone_or_tainted(snapshot: Snapshot, keys: Set[str]) -> Mask:
    """Where no node was read, nothing is known of any."""
    nodes = snapshot.nodes
    tainted = [any(taint.key in keys for taint in taints) for taints in nodes.taint_sets]
    found: Mask = np.array(tainted, dtype=np.bool_)[nodes.taint_ids]
    return found | ~nodes.alive if nodes.alive.any() else found
