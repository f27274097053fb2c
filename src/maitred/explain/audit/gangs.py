"""Groups of pods, and how many members each takes: as declared, or by convention, or by the kind of owner."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate

from maitred.cluster.parts import Branch
from maitred.cluster.snapshot import AS_USUAL
from maitred.cluster.trees import COMPOSITE_POD_GROUP
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.pod_times import PodTimes, unready_since
from maitred.model.group import CompositePodGroup, composite_from_object
from maitred.model.membership import GroupId, PodWords, Settled, group_of, settle, size, without_failed

DEEPEST = 16
"""Composites within each other; more than any API server accepts."""


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """Pods that one source of membership puts together."""

    id: GroupId
    quorum: int | None
    """1: each is of use by itself. None: nobody says."""
    stays: tuple[PodTimes, ...]
    tree: Branch | None = None
    """What its parts take, if it is a tree of groups,"""
    leaves: tuple[int, ...] = ()
    """and which of them each of the stays is in."""
    parent: str = ""
    """The composite that it is a part of."""

    @property
    def needs(self) -> Branch:
        """A group that is no tree is a single leaf."""
        return self.tree or Branch(self.key, self.quorum or 1, leaf=0)

    @property
    def leaf_of(self) -> tuple[int, ...]:
        return self.leaves or (0,) * len(self.stays)

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
    """Every group, but for pods on their own, in the order of names. A tree of groups is one."""
    trees: dict[str, list[FoundGroup]] = {}
    for one in _settled_groups(observer):
        above = [one.parent, *_composites_above(observer, one.parent)] if one.parent else []
        if above and observer.find(CompositePodGroup, above[-1]) is not None:
            trees.setdefault(above[-1], []).append(one)
        else:
            yield one
    for root, parts in sorted(trees.items()):
        yield _tree_of(observer, root, parts)


def _composites_above(observer: Observer, key: str) -> Iterator[str]:
    """The composites that a composite is in, innermost first, as far as they are known."""
    for _ in range(DEEPEST):
        found = observer.find(CompositePodGroup, key)
        key = "" if found is None else composite_from_object(found).parent
        if not key:
            return
        yield key


def _tree_of(observer: Observer, root: str, parts: Sequence[FoundGroup]) -> FoundGroup:
    """All groups below one composite as one; parts of which there is no pod are not in it, and not met."""
    keys = {key for part in parts for key in (part.parent, *_composites_above(observer, part.parent))}
    inside: dict[str, list[str]] = {}
    for key in sorted(keys - {root}):
        inside.setdefault(next(_composites_above(observer, key), root), []).append(key)

    def branch(key: str) -> Branch:
        found = observer.find(CompositePodGroup, key)
        own = [
            Branch(part.key, part.quorum or 1, leaf=number)
            for number, part in enumerate(parts)
            if part.parent == key
        ]
        quorum = 1 if found is None else composite_from_object(found).quorum
        return Branch(key, quorum, children=(*own, *(branch(child) for child in inside.get(key, ()))))

    tree = branch(root)
    unsaid = any(part.quorum is None for part in parts)
    stays = tuple(stay for part in parts for stay in part.stays)
    leaves = tuple(number for number, part in enumerate(parts) for _ in part.stays)
    return FoundGroup(
        GroupId(COMPOSITE_POD_GROUP, root), None if unsaid else max(1, tree.least()), stays, tree, leaves
    )


def _settled_groups(observer: Observer) -> Iterator[FoundGroup]:
    together = defaultdict[GroupId, list[tuple[PodTimes, Settled]]](list)
    settled: dict[PodWords, Settled] = {}
    for stay in observer.stays():
        found = settled.get(stay.said)
        if found is None:
            found = settled[stay.said] = settle(stay.said, observer, AS_USUAL)
        if found.id is not None:
            together[found.id].append((stay, found))
    for id in sorted(together, key=lambda id: (id.key, id.source, id.uid)):
        yield found_group_of(id, together[id])


def found_group_of(id: GroupId, members: Sequence[tuple[PodTimes, Settled]]) -> FoundGroup:
    """Of members that succeeded and whose pods were removed since, the owner knows."""
    stays = tuple(stay for stay, _ in members)
    group = group_of(id, [found.marks for _, found in members], members[0][1].group, there(stays))
    if group.problems or not group.exists:
        return FoundGroup(id, None, stays, parent=group.parent)
    jobs = {found.job.job: found.job for _, found in members if found.job is not None}.values()
    group = without_failed(group, jobs)
    kept = sum(stay.succeeded and stay.leaving is None for stay in stays)
    done = size(group.completed) or group.done + sum(size(job.completed) for job in jobs)
    removed = max(0, done - kept)
    return FoundGroup(id, max(group.quorum - removed, 1), stays, parent=group.parent)


def without_lost(found_group: FoundGroup, lost: Set[str]) -> FoundGroup:
    """Members on lost nodes count until they were said not to be ready any more, if anybody said so."""
    stays = tuple(until_lost(stay) if stay.pod.spec.node_name in lost else stay for stay in found_group.stays)
    return replace(found_group, stays=stays)


def until_lost(stay: PodTimes) -> PodTimes:
    gone = unready_since(stay.pod)
    if gone is None or stay.over:
        return stay
    return replace(stay, leaving=min(gone, stay.leaving or gone), ended=gone)


def there(stays: Sequence[PodTimes]) -> int:
    """Members that there are: who makes such pods makes all of them. Of a group that is gone, the most that
    there were at a time."""
    present = sum(stay.succeeded or not stay.over for stay in stays if stay.leaving is None)
    return present or len(fullest(stays))


def fullest(stays: Sequence[PodTimes]) -> list[PodTimes]:
    """The members at the first moment when most of them were there: others came in the place of some."""
    came = [(stay.created, 1) for stay in stays]
    went = [(end, -1) for stay in stays if (end := until(stay)) is not None]
    changes = sorted((*came, *went))
    counts = list(accumulate(change for _, change in changes))
    when = changes[counts.index(max(counts))][0]
    return [stay for stay in stays if stay.created <= when < (until(stay) or math.inf)]


def until(stay: PodTimes) -> float | None:
    """Until when it counts as a member: one that has succeeded does so for as long as its pod is there."""
    ends = [stay.leaving, None if stay.succeeded else stay.ended]
    return min((end for end in ends if end is not None), default=None)
