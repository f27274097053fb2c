"""Groups of pods, and how many members each takes: as declared, or by convention, or by the kind of owner."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol, TypeVar

from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import ForeignGroup, Seen, TrainingJob
from maitred.explain.audit.stays import Stay
from maitred.model import conventions
from maitred.model.conventions import JOB_SET_NAME, OBJECTS, Bond, owned
from maitred.model.group import PodGroup, group_from_marks, group_from_pod_group, marks_of
from maitred.model.job import Job
from maitred.model.meta import mark


@dataclass(frozen=True, slots=True)
class Party:
    """Pods that one convention puts together."""

    by: str
    key: str
    quorum: int | None
    """1: each is of use by itself. None: nobody says."""
    stays: tuple[Stay, ...]

    @property
    def is_gang(self) -> bool:
        return self.quorum is not None and self.quorum > 1


T = TypeVar("T", bound=Seen)


class Known(Protocol):
    """What is known of objects that say how many members groups take."""

    def find(self, kind: type[T], key: str, uid: str = "", api_group: str = "") -> T | None: ...

    def every(self, kind: type[T]) -> Iterator[T]: ...


def parties(observer: Observer) -> Iterator[Party]:
    """Every group, but for pods on their own, in the order of names."""
    together = defaultdict[tuple[str, str, str], list[Stay]](list)
    for stay in observer.stays():
        if (bond := bond_in(stay, observer)) is not None:
            together[bond.key, bond.by, bond.uid].append(stay)
    sizes = Sizes(observer)
    for (key, by, uid), stays in sorted(together.items()):
        yield Party(by, key, sizes.quorum(by, key, uid, stays), tuple(stays))


def bond_in(stay: Stay, observer: Known) -> Bond | None:
    """Since 1.37 a Job makes a group of its pods, which is `basic` if nobody says anything. The pods of such
    a group are what their Job makes of them."""
    bond = stay.bond
    if bond is None or bond.by != conventions.POD_GROUP:
        return bond
    group = observer.find(PodGroup, bond.key)
    if group is None or group_from_pod_group(group).gang:
        return bond
    owner = owned(stay.pod.metadata)
    job = None if owner is None or owner.by != conventions.JOB else observer.find(Job, owner.key)
    return bond if job is None or job.spec.scheduling is not None else owner


class Sizes:
    """How many members groups take. None where nobody says, or where they contradict each other."""

    def __init__(self, observer: Known) -> None:
        self._observer = observer

    @cached_property
    def _sets(self) -> dict[str, list[Job]]:
        found = defaultdict[str, list[Job]](list)
        for job in self._observer.every(Job):
            if name := mark(job.metadata, JOB_SET_NAME):
                found[conventions.placed(job.metadata, name)].append(job)
        return found

    def quorum(self, by: str, key: str, uid: str, stays: Sequence[Stay]) -> int | None:
        match by:
            case conventions.MARKS:
                marked = group_from_marks(key, [marks_of(stay.pod.metadata) for stay in stays])
                return None if marked.problems else marked.quorum
            case conventions.POD_GROUP:
                declared = self._observer.find(PodGroup, key)
                return None if declared is None else group_from_pod_group(declared).quorum
            case conventions.JOB:
                job = self._observer.find(Job, key, uid)
                return None if job is None else quorum_of_job(job, stays)
            case conventions.JOB_SET:
                return quorum_of_set(self._sets.get(key, ()), stays)
            case conventions.TRAINING:
                return self._quorum_of_training(key, uid, stays)
            case conventions.RAY:
                return there(stays)
        return self._said(by, key, stays)

    def _said(self, by: str, key: str, stays: Sequence[Stay]) -> int | None:
        """By the object of the group, or else by its pods; the least, should they disagree."""
        group = self._observer.find(ForeignGroup, key, api_group=OBJECTS.get(by, ""))
        if group is not None and group.spec.min_member > 0:
            return group.spec.min_member
        counts = [stay.bond.quorum for stay in stays if stay.bond is not None and stay.bond.quorum]
        return min(counts, default=None)

    def _quorum_of_training(self, key: str, uid: str, stays: Sequence[Stay]) -> int:
        job = self._observer.find(TrainingJob, key, uid)
        return (None if job is None else job.spec.quorum) or there(stays)


def quorum_of_job(job: Job, stays: Sequence[Stay]) -> int:
    """Of members that succeeded and whose pods were removed since, the status of the Job knows."""
    if not job.needs_all:
        return 1
    removed = max(0, job.status.succeeded - sum(stay.succeeded and stay.leaving is None for stay in stays))
    return max((job.spec.completions or 1) - removed, 1)


def quorum_of_set(jobs: Iterable[Job], stays: Sequence[Stay]) -> int:
    """All pods of all Jobs of the set that may have any; those that succeeded count as members."""
    wanted = sum(job.members for job in jobs if not job.spec.suspend)
    return wanted + sum(stay.succeeded for stay in stays) if wanted else there(stays)


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
