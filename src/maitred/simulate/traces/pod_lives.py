"""Pods of a dump: how long each was there, and who of those with one owner were there together."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from maitred.model.container_status import ContainerStatus
from maitred.model.job import COMPLETION_INDEX
from maitred.model.manifest import Document, InputError
from maitred.model.manifest.errors import field_error
from maitred.model.meta import Lean, OwnerReference, mark
from maitred.model.pod import Pod
from maitred.simulate.clock import Time

MICROSECOND = timedelta(microseconds=1)
FOREVER = datetime.max.replace(tzinfo=UTC)
LOOSE = ("ReplicaSet", "StatefulSet", "DaemonSet", "Node")
"""Owners whose pods are of use each by itself."""


class Ending(Lean, frozen=True):
    container_statuses: tuple[ContainerStatus, ...] = ()


class Owner(OwnerReference, frozen=True):
    controller: bool = False


class Ownership(Lean, frozen=True):
    owner_references: tuple[Owner, ...] = ()


class PodRecord(Lean, frozen=True):
    """The part of a pod that no decision reads."""

    metadata: Ownership = Ownership()
    status: Ending = Ending()


@dataclass(frozen=True, slots=True)
class PodLife:
    """A pod, from when it was created to when it was gone."""

    pod: Pod
    created: datetime
    owner: Owner | None
    """Who controls it and all others of its gang, where there may be one."""
    ran: tuple[datetime, datetime] | None
    """From the first start of a container to the last end. None: it has not ended, or nobody knows when."""

    @property
    def gone(self) -> datetime:
        """Every pod was there for a moment, also one that ended within the second, or who knows when."""
        if self.ran is not None:
            return max(self.ran[1], self.created + MICROSECOND)
        return self.created + MICROSECOND if self.pod.status.phase in ("Succeeded", "Failed") else FOREVER


def stay_of(pod: Pod, document: Document) -> PodLife:
    created = pod.metadata.creation_timestamp
    if created is None:
        what = "is required: jobs arrive when their pods were created"
        raise InputError(document.source, document.title, "metadata.creationTimestamp", what)
    record = recorded(document)
    controllers = [owner for owner in record.metadata.owner_references if owner.controller]
    owner = next((owner for owner in controllers if owner.kind not in LOOSE), None)
    return PodLife(pod, created, owner, ran(record.status, created))


def recorded(document: Document) -> PodRecord:
    plain = document.plain()
    try:
        return msgspec.convert(plain, PodRecord)
    except msgspec.ValidationError as error:
        problem = field_error(error, plain, PodRecord)
        raise InputError(document.source, document.title, problem.field, problem.what) from None


def ran(status: Ending, created: datetime) -> tuple[datetime, datetime] | None:
    """No pod ran before it was created: the start of a container that could not start is given as 1970."""
    ends = [container.state.terminated for container in status.container_statuses]
    starts = [end.started_at for end in ends if end and end.started_at]
    finishes = [end.finished_at for end in ends if end and end.finished_at]
    if not ends or len(starts) < len(ends) or len(finishes) < len(ends):
        return None
    return max(created, min(starts)), max(finishes)


def longest(stays: Sequence[PodLife]) -> Time | None:
    times = [lasted(*stay.ran) for stay in stays if stay.ran]
    return max(times) if len(times) == len(stays) else None


def lasted(since: datetime, until: datetime) -> Time:
    return max(0, (until - since) // MICROSECOND)


# ---- gangs of owners


def at_their_most(stays: Sequence[PodLife]) -> list[PodLife]:
    """Those who were there at the first moment when most of them were: others came in the place of some."""
    ordered = sorted(stays, key=lambda stay: stay.created)
    leaving = departures(ordered)
    came, left = [stay.created for stay in ordered], sorted(leaving)
    fullest = max(came, key=lambda moment: bisect_right(came, moment) - bisect_right(left, moment))
    return [stay for stay, end in zip(ordered, leaving, strict=True) if stay.created <= fullest < end]


def departures(ordered: Sequence[PodLife]) -> list[datetime]:
    """When each was gone, or the next one of its index came: two with one index are never two members."""
    successors, leaving = dict[str, datetime](), list[datetime]()
    for stay in reversed(ordered):
        index = mark(stay.pod.metadata, COMPLETION_INDEX)
        leaving.append(min(stay.gone, FOREVER if index is None else successors.get(index, FOREVER)))
        if index is not None:
            successors[index] = stay.created
    return leaving[::-1]


def time_together(stays: Sequence[PodLife], members: Sequence[PodLife]) -> Time | None:
    """From the start of the last member, for whom the others had waited, to the end of the last pod."""
    ends = [stay.ran[1] for stay in stays if stay.ran]
    starts = [member.ran[0] for member in members if member.ran]
    return lasted(max(starts), max(ends)) if len(ends) == len(stays) else None
