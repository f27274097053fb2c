"""Whose protection counts. Marks are the words of tenants; the policy says who may protect how much.

A namespace that the policy does not name protects nothing. In one that may, marks count for as many devices
as the policy allows: those who started first are heeded first, a group as a whole, by name where they started
together. Whoever does not fit into what is left of the allowance is not heeded, and a pod without devices
counts as one: it takes the room of others too.
"""

from enum import IntEnum

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Snapshot
from maitred.model.policy import Policy
from maitred.model.selector import matches, selector_of

LAST = np.iinfo(np.int64).max


class Heed(IntEnum):
    HEEDED = 0
    OUTSIDE = 1
    """Its namespace may not protect pods."""
    BEYOND = 2
    """Its namespace protects as many devices as it may, without it."""


def heeds(snapshot: Snapshot, policy: Policy, claims: Mask, devices: Ints) -> Ints:
    """For every pod on a node; `claims` are those whose marks would keep them where they are."""
    limits, found = policy.preemption.protection, np.full(len(claims), Heed.HEEDED, dtype=np.int64)
    if limits.namespaces is None and limits.devices_per_namespace is None:
        return found
    pods: Ints = np.flatnonzero(claims)
    names = np.array(
        [snapshot.bound.occupants[pod].key.partition("/")[0] for pod in pods.tolist()], dtype=object
    )
    selector = selector_of(limits.namespaces)
    for namespace in sorted(set(names.tolist())):
        inside = pods[names == namespace]
        if selector is not None and not matches(selector, snapshot.namespace_labels(namespace)):
            found[inside] = Heed.OUTSIDE
        elif limits.devices_per_namespace is not None:
            found[inside] = _within(snapshot, inside, devices, limits.devices_per_namespace)
    return found


def _within(snapshot: Snapshot, pods: Ints, devices: Ints, limit: int) -> Ints:
    """Unit by unit, the oldest first, as long as it fits."""
    bound = snapshot.bound
    grouped = bound.group[pods] != NO_GROUP
    _, unit = np.unique(np.where(grouped, bound.group[pods], -1 - pods), return_inverse=True)
    counts = np.bincount(unit, np.maximum(devices[pods], 1)).astype(np.int64)
    started = np.full(len(counts), LAST, dtype=np.int64)
    known = np.where(bound.started[pods] == UNKNOWN_TIME, LAST, bound.started[pods])
    np.minimum.at(started, unit, known)
    names = [""] * len(counts)
    for place, number in zip(pods.tolist(), unit.tolist(), strict=True):
        seated = snapshot.seated[bound.group[place]] if bound.group[place] != NO_GROUP else None
        names[number] = bound.occupants[place].key if seated is None else seated.group.key
    beyond, left = np.zeros(len(counts), dtype=bool), limit
    for number in sorted(range(len(counts)), key=lambda n: (int(started[n]), names[n])):
        beyond[number] = counts[number] > left
        left -= 0 if beyond[number] else int(counts[number])
    return np.where(beyond[unit], Heed.BEYOND, Heed.HEEDED)
