"""Which of the pods that terminate will leave, so that others may count on their room.

`deletionTimestamp` is the time by which a pod is to be gone: that of its deletion, and the grace period that
it was given. A pod that is there LATE after that is stuck, and so is one whose kubelet is silent, because
nobody stops its containers. A stuck pod holds its place like one that runs, and is not evicted: it was
deleted before, and a second deletion changes nothing. A pod that was given more time than the policy gives
anyone lingers in its place, but may be evicted, which gives it less.
"""

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import UNKNOWN_TIME, Snapshot
from maitred.model.node import NOT_READY, UNREACHABLE

LOST = (NOT_READY, UNREACHABLE)
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
    stuck: Mask = bound.terminating & (late | lost_nodes(snapshot)[bound.node])
    return stuck


def stuck_from(snapshot: Snapshot) -> Ints:
    """From when on each pod is stuck, if it terminates and is there still."""
    due = snapshot.bound.due
    return np.where(due == UNKNOWN_TIME, np.iinfo(np.int64).max, due + LATE)


def lost_nodes(snapshot: Snapshot) -> Mask:
    """Nodes that are gone, or whose kubelet does not answer: what is said of pods there is out of date."""
    nodes = snapshot.nodes
    silent = [any(taint.key in LOST for taint in taints) for taints in nodes.taint_sets]
    lost: Mask = ~nodes.alive | np.array(silent, dtype=np.bool_)[nodes.taint_ids]
    return lost
