"""Groups of pods, and how many members each takes: as declared, or by convention, or by the kind of owner."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from maitred.cluster.leaving import LOST
from maitred.cluster.snapshot import AS_USUAL
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.stays import Stay, unready_since
from maitred.model.membership import GroupId, PodWords, Settled, group_of, settle, size, without_failed
from maitred.model.node import Node, effective_taints


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """Pods that one source of membership puts together."""

    id: GroupId
    quorum: int | None
    """1: each is of use by itself. None: nobody says."""
    stays: tuple[Stay, ...]

    @property
    def by(self) -> str:
        return self.id.source

    @property
    def key(self) -> str:
        return self.id.key

    @property
    def is_gang(self) -> bool:
        return self.quorum is not None and self.quorum > 1


def found_groups(observer: Observer) -> Iterator[FoundGroup]:
    """Every group, but for pods on their own, in the order of names."""
    together = defaultdict[GroupId, list[tuple[Stay, Settled]]](list)
    settled: dict[PodWords, Settled] = {}
    for stay in observer.stays():
        found = settled.get(stay.said)
        if found is None:
            found = settled[stay.said] = settle(stay.said, observer, AS_USUAL)
        if found.id is not None:
            together[found.id].append((stay, found))
    for id in sorted(together, key=lambda id: (id.key, id.source, id.uid)):
        yield found_group_of(id, together[id])


def found_group_of(id: GroupId, members: Sequence[tuple[Stay, Settled]]) -> FoundGroup:
    """Of members that succeeded and whose pods were removed since, the owner knows."""
    stays = tuple(stay for stay, _ in members)
    group = group_of(id, [found.marks for _, found in members], members[0][1].group, there(stays))
    if group.problems or not group.exists:
        return FoundGroup(id, None, stays)
    jobs = {found.job.job: found.job for _, found in members if found.job is not None}.values()
    group = without_failed(group, jobs)
    kept = sum(stay.succeeded and stay.leaving is None for stay in stays)
    done = size(group.completed) or group.done + sum(size(job.completed) for job in jobs)
    removed = max(0, done - kept)
    return FoundGroup(id, max(group.quorum - removed, 1), stays)


def lost_nodes(observer: Observer) -> frozenset[str]:
    """The nodes whose kubelets do not answer."""
    silent = (any(taint.key in LOST for taint in effective_taints(node)) for node in observer.every(Node))
    names = (node.metadata.name for node in observer.every(Node))
    return frozenset(name for name, is_silent in zip(names, silent, strict=True) if is_silent)


def without_lost(found_group: FoundGroup, lost: frozenset[str]) -> FoundGroup:
    """Members on lost nodes count until they were said not to be ready any more, if anybody said so."""
    stays = tuple(until_lost(stay) if stay.pod.spec.node_name in lost else stay for stay in found_group.stays)
    return replace(found_group, stays=stays)


def until_lost(stay: Stay) -> Stay:
    gone = unready_since(stay.pod)
    if gone is None or stay.over:
        return stay
    return replace(stay, leaving=min(gone, stay.leaving or gone), ended=gone)


def there(stays: Sequence[Stay]) -> int:
    """Members that there are: who makes such pods makes all of them. Of a group that is gone, the most that
    there were at a time."""
    present = sum(stay.succeeded or not stay.over for stay in stays if stay.leaving is None)
    return present or len(fullest(stays))


def fullest(stays: Sequence[Stay]) -> list[Stay]:
    """The members at the first moment when most of them were there: others came in the place of some."""
    came = [(stay.created, 1) for stay in stays]
    went = [(end, -1) for stay in stays if (end := until(stay)) is not None]
    changes = sorted((*came, *went))
    counts = list(accumulate(change for _, change in changes))
    when = changes[counts.index(max(counts))][0]
    return [stay for stay in stays if stay.created <= when < (until(stay) or math.inf)]


def until(stay: Stay) -> float | None:
    """Until when it counts as a member: one that has succeeded does so for as long as its pod is there."""
    ends = [stay.leaving, None if stay.succeeded else stay.ended]
    return min((end for end in ends if end is not None), default=None)
