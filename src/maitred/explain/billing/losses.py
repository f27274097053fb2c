"""Work that was in vain: it counted as productive while it was done, and is moved to where it was lost.

What an eviction by maitred costs is on its receipt. Of failures nobody writes one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from maitred.cluster.leaving import lost_nodes
from maitred.cluster.news import PodEnd
from maitred.cluster.snapshot import NO_GROUP, Snapshot
from maitred.decide.preemption.evictable import DEVICE_HOUR, EvictablePods
from maitred.model.plan import Eviction
from maitred.model.policy import Policy
from maitred.simulate.results import Bucket


@dataclass(frozen=True, slots=True)
class Loss:
    """Times in milliseconds since 1970."""

    holder: str
    since: int
    until: int
    device_milliseconds: int
    bucket: Bucket
    victim: tuple[str, str] = ("", "")
    """The pod and its UID, if it was evicted."""


def lost_to_eviction(eviction: Eviction, at: int) -> Loss | None:
    receipt = eviction.receipt
    if receipt.lost_since is None:
        return None
    since = round(datetime.fromisoformat(receipt.lost_since).timestamp() * 1000)
    work = round(receipt.work_lost_device_hours * DEVICE_HOUR)
    victim = eviction.pod, eviction.uid
    return Loss(eviction.group or eviction.pod, since, at, work, "lostToEviction", victim)


@dataclass(frozen=True)
class Times:
    """Milliseconds since 1970."""

    now: int
    died: Mapping[str, int]
    """Nodes on which nothing works, and since when."""
    lost_until: Mapping[str, int]
    """Holders who lost work before: what they did up to then is not lost again."""


def lost_to_failures(
    before: Snapshot, after: Snapshot, ends: Sequence[PodEnd], policy: Policy, times: Times
) -> list[Loss]:
    """Pods failed, or ended on a node that is dead. Where a group has its quorum no more, the others have to
    begin again at their last checkpoint, too."""
    failed = failures(before, ends)
    if not failed:
        return []
    evictable = EvictablePods(before, policy, times.now)
    whole = {key for key, is_whole in after.seated_whole().items() if is_whole}
    found = []
    for holder, pods in failed.items():
        rows = sorted(pods) if holder in whole else sorted({*pods, *fellows(before, pods[0], ends)})
        stopped = min(times.died.get(before.nodes.names[before.bound.node[pod]], times.now) for pod in pods)
        loss = _loss(holder, rows, evictable, times.lost_until.get(holder, 0), stopped)
        if loss.device_milliseconds:
            found.append(loss)
    return found


def failures(before: Snapshot, ends: Sequence[PodEnd]) -> dict[str, list[int]]:
    """Holders, and the rows of their pods that failed."""
    bound, dead = before.bound, lost_nodes(before)
    unhappy = {end.pod: end for end in ends if end.how != "Succeeded"}
    failed = defaultdict[str, list[int]](list)
    for row, occupant in enumerate(bound.occupants) if unhappy else ():
        end = unhappy.get(occupant.key)
        if end is not None and ((end.how == "Failed" and not end.told_to_go) or dead[bound.node[row]]):
            failed[end.group].append(row)
    return failed


def fellows(before: Snapshot, pod: int, ends: Sequence[PodEnd]) -> Iterable[int]:
    """Members of the same group who worked, but for those who had finished."""
    bound = before.bound
    if bound.group[pod] == NO_GROUP:
        return ()
    done = {end.pod for end in ends if end.how == "Succeeded"}
    working = (bound.group == bound.group[pod]) & bound.working & ~bound.terminating
    return (row for row in np.flatnonzero(working).tolist() if bound.occupants[row].key not in done)


def _loss(holder: str, rows: list[int], evictable: EvictablePods, lost_until: int, stopped: int) -> Loss:
    since = np.maximum(evictable.lost_since[rows], lost_until)
    lost = evictable.devices[rows] * np.maximum(stopped - since, 0)
    return Loss(holder, int(since.min()), stopped, int(lost.sum()), "lostToFailure")
