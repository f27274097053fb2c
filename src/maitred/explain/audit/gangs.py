"""Groups of pods, and how many members each takes: as declared, or by convention, or by the kind of owner."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from maitred.explain.audit.observer import Observer
from maitred.explain.audit.stays import Stay
from maitred.model.group import Marks, marks_of
from maitred.model.membership import GroupId, Objects, quorum_of, settled


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


class StayedMembers:
    """What the stays of its pods tell of a group."""

    def __init__(self, stays: Sequence[Stay]) -> None:
        self._stays = stays

    @property
    def marks(self) -> Iterator[Marks]:
        return (marks_of(stay.pod.metadata) for stay in self._stays)

    @property
    def counts(self) -> Iterator[int]:
        claims = (stay.membership for stay in self._stays)
        return (claim.quorum for claim in claims if claim is not None and claim.quorum)

    @property
    def there(self) -> int:
        return there(self._stays)

    @property
    def succeeded(self) -> int:
        return sum(stay.succeeded for stay in self._stays)

    @property
    def succeeded_and_kept(self) -> int:
        return sum(stay.succeeded and stay.leaving is None for stay in self._stays)


def found_groups(observer: Observer) -> Iterator[FoundGroup]:
    """Every group, but for pods on their own, in the order of names."""
    together = defaultdict[GroupId, list[Stay]](list)
    for stay in observer.stays():
        if (found := settled(stay.pod, stay.membership, observer)) is not None:
            together[found.id].append(stay)
    objects = Objects(observer)
    for id in sorted(together, key=lambda id: (id.key, id.source, id.uid)):
        yield found_group_of(id, together[id], objects)


def found_group_of(id: GroupId, stays: Sequence[Stay], objects: Objects) -> FoundGroup:
    return FoundGroup(id, quorum_of(id, StayedMembers(stays), objects), tuple(stays))


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
