"""Pods as members of groups: what the state remembers of each, and what a decision sees of a group."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import msgspec
import numpy as np

from maitred.cluster.devices.needs import PodClaim, Taken
from maitred.cluster.devices.table import DeviceTable
from maitred.cluster.news import PodEnd
from maitred.cluster.settling import NO_SPEAKERS, Place, Speakers
from maitred.cluster.snapshot import (
    JOB_SPAN,
    NO_CONTROLLER,
    NO_GROUP,
    NO_INDEX,
    UNKNOWN_TIME,
    GroupRank,
    GroupView,
    MemberOrder,
    Occupant,
    RunningMember,
    SeatedGroup,
    Standing,
)
from maitred.model.group import Group, Marks
from maitred.model.healing import NO_WISH
from maitred.model.job import COMPLETION_INDEX, Ranges
from maitred.model.membership import (
    ALONE,
    GroupId,
    JobProgress,
    PodWords,
    Settled,
    common_models,
    common_payer,
    group_of,
    size,
    without_failed,
)
from maitred.model.meta import ObjectMeta, Timestamp, controller_of, mark
from maitred.model.operators.jobset import JOB_GLOBAL_INDEX, JOB_INDEX
from maitred.model.owners import kind_of
from maitred.model.pod import Pod
from maitred.model.queues import ANY_MODEL, Payer
from maitred.model.runtime import Runtime, together
from maitred.model.selector import Labels, integer
from maitred.model.storage import ClaimSpec

INDEX_MARKS = (
    COMPLETION_INDEX,
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
)
JOB_INDEX_MARKS = (JOB_GLOBAL_INDEX, JOB_INDEX)
NOT_CREATED = math.inf
"""The age of what has no creation time yet: younger than everything."""

NOT_BOUND = -1


class State(IntEnum):
    PENDING = 0
    RUNNING = 1
    TERMINATING = 2
    LEAVING = 3
    """Being deleted before it was ever bound: holds nothing, and is not decided."""
    SUCCEEDED = 4
    FAILED = 5


COUNTED = (State.PENDING, State.RUNNING, State.SUCCEEDED)
UNFINISHED = (State.PENDING, State.RUNNING, State.TERMINATING, State.LEAVING)


@dataclass(slots=True, eq=False)
class Member:
    """One pod, reduced to what the state needs to put it in and to take it out again."""

    key: str
    uid: str
    state: State
    node: str
    needs: int
    labels: Labels
    fixed: bool
    standing: Standing
    standing_number: int
    occupant: Occupant
    order: MemberOrder
    said: PodWords
    gates: tuple[str, ...]
    claims: tuple[str, ...]
    brought: dict[str, ClaimSpec]
    device_claims: tuple[PodClaim, ...] = ()
    nominated: str = ""
    working: bool = False
    bound_at: int = UNKNOWN_TIME
    started: int = UNKNOWN_TIME
    checkpoint: int = UNKNOWN_TIME
    due: int = UNKNOWN_TIME
    """By when it is to be gone, if it is being deleted,"""
    grace: int = 0
    """and how long it was given."""
    step: float = 0.0
    """How long its last step took, in seconds, if it says that."""
    controller: int = NO_CONTROLLER
    """The number of its controller, while it has not finished."""
    crew: Speakers = NO_SPEAKERS
    """Those who say the same of their group."""
    node_row: int = NOT_BOUND
    bound_row: int = NOT_BOUND
    label_class: int = 0
    record: "GroupRecord | None" = None
    staged: Place | None = None
    """The owner of it that creates pods later, as it was when the pod was taken in."""

    @property
    def settled(self) -> Settled:
        """The group that it is in, by what it says and by the objects that this points to."""
        return self.crew.settled

    @property
    def payer(self) -> Payer:
        return self.settled.payer or Payer(self.key.partition("/")[0])

    @property
    def group(self) -> GroupId | None:
        """The group that it is recorded with. A lone pod is a group only while it waits."""
        if self.settled.id is not None:
            return self.settled.id
        return GroupId(ALONE, self.key) if self.state == State.PENDING else None

    def like(self, other: "Member") -> bool:
        """Whether nothing but its progress has changed: most events only tell how a pod is doing."""
        return (
            self.needs == other.needs
            and self.state == other.state
            and self.node == other.node
            and self.labels == other.labels
            and self.order == other.order
            and self.uid == other.uid
            and self.said == other.said
            and self.standing is other.standing
            and self.nominated == other.nominated
            and self.occupant.owner == other.occupant.owner
            and self.gates == other.gates
            and self.claims == other.claims
            and self.device_claims == other.device_claims
            and self.fixed == other.fixed
            and self.brought == other.brought
        )


ENDS: dict[State, Literal["Succeeded", "Failed"]] = {State.SUCCEEDED: "Succeeded", State.FAILED: "Failed"}


def end_of(known: Member, group: str, now: Member | None) -> PodEnd | None:
    """What became of a pod that had a place; `now` is what has its name by now, if anything has."""
    how = ENDS.get(now.state) if now is not None and now.uid == known.uid else "Gone"
    return None if how is None else PodEnd(known.key, group, how, known.state == State.TERMINATING)


def owner_in_namespace(member: Member) -> tuple[str, tuple[str, str, str]]:
    return member.key.partition("/")[0], member.occupant.owner


def state_of(pod: Pod) -> State:
    if pod.status.phase == "Succeeded":
        return State.SUCCEEDED
    if pod.status.phase == "Failed":
        return State.FAILED
    if pod.metadata.deletion_timestamp is not None:
        return State.TERMINATING if pod.spec.node_name else State.LEAVING
    return State.RUNNING if pod.spec.node_name else State.PENDING


def order_of(meta: ObjectMeta) -> MemberOrder:
    created = meta.creation_timestamp.timestamp() if meta.creation_timestamp else NOT_CREATED
    index = _first_index(meta, INDEX_MARKS)
    if index is None:
        return (NO_INDEX, created, meta.name)
    job = _first_index(meta, JOB_INDEX_MARKS) or 0
    return (job * JOB_SPAN + index, created, meta.name)


def _first_index(meta: ObjectMeta, names: Iterable[str]) -> int | None:
    """What is too large for Kubernetes, or no number, is none."""
    for name in names:
        text = mark(meta, name)
        index = integer(text) if text is not None else None
        if index is not None and 0 <= index < JOB_SPAN:
            return index
    return None


def index_in_job(order: MemberOrder) -> int:
    return order[0] if order[0] == NO_INDEX else order[0] % JOB_SPAN


def owner_of(pod: Pod) -> tuple[str, str, str]:
    """Kind, name and UID of the controller; the kind of one that is only called like a known one has its
    API group with it."""
    owner = controller_of(pod.metadata)
    return ("", "", "") if owner is None else (kind_of(owner), owner.name, owner.uid)


def in_milliseconds(moment: Timestamp | None) -> int:
    return UNKNOWN_TIME if moment is None else round(moment.timestamp() * 1000)


ShapeAs = Callable[[Member, Taken], int]
"""The number of the shape of a member, and how its claims are taken for that."""


@dataclass(slots=True, eq=False)
class GroupRecord:
    """All pods of one group. The view is made when asked for and kept until a member changes."""

    id: GroupId
    declared: Group | None = None
    """As the object has it that the group comes from."""
    members: dict[str, Member] = field(default_factory=dict)
    pending: int = 0
    mounts: int = 0
    """Members with claims of volumes."""
    with_devices: int = 0
    view: GroupView | None = None
    claims_version: int = 0
    """Of the objects behind claims that the view was made with."""
    device_claims: frozenset[str] = frozenset()
    """The claims of devices that the view was made with, and when."""
    devices_moment: int = 0
    devices_version: int = 0
    bound: int = 0
    number: int = NO_GROUP
    """Among the groups that have members on nodes."""

    def add(self, member: Member) -> None:
        self.members[member.key] = member
        self.declared = member.settled.group
        self.pending += member.state == State.PENDING
        self.mounts += bool(member.claims)
        self.with_devices += bool(member.device_claims)
        self.view = None

    def remove(self, member: Member) -> None:
        del self.members[member.key]
        self.pending -= member.state == State.PENDING
        self.mounts -= bool(member.claims)
        self.with_devices -= bool(member.device_claims)
        self.view = None

    @property
    def parent(self) -> str:
        """The composite that it is in, if any."""
        return "" if self.declared is None else self.declared.parent

    def group(self) -> Group:
        there = sum(m.state in COUNTED for m in self.members.values())
        group = group_of(self.id, self._marks(), self.declared, there)
        return without_failed(group, _jobs(self.members.values()).values())

    def _marks(self) -> Iterator[Marks]:
        """Of those that are not finished, if there are any."""
        members = self.members.values()
        open_ones = any(m.state in UNFINISHED for m in members)
        yield from (m.settled.marks for m in members if not open_ones or m.state in UNFINISHED)

    def current_view(
        self,
        shape_of: ShapeAs,
        claims_of: Callable[[Member], tuple[str, ...]],
        claims_version: int,
        devices: DeviceTable,
    ) -> GroupView:
        """The view, made anew only if a member changed or its claims may mean something else by now."""
        if (
            self.view is None
            or (self.mounts and self.claims_version != claims_version)
            or (self.with_devices and self._devices_changed(devices))
        ):
            self.view = self._make_view(shape_of, claims_of)
            self.claims_version = claims_version
            if self.with_devices:
                claims = (claim for member in self.members.values() for claim in claims_of(member))
                self.device_claims, self.devices_moment = frozenset(claims), devices.moment
                self.devices_version = devices.version
        return self.view

    def _devices_changed(self, devices: DeviceTable) -> bool:
        known = self.devices_version == devices.version
        return not known or devices.changed_since(self.device_claims, self.devices_moment)

    def _make_view(self, shape_of: ShapeAs, claims_of: Callable[[Member], tuple[str, ...]]) -> GroupView:
        ordered = sorted(self.members.values(), key=lambda member: member.order)
        pending = [m for m in ordered if m.state == State.PENDING]
        running = [m for m in ordered if m.state == State.RUNNING]
        unfinished = [m for m in ordered if m.state in UNFINISHED]
        leaving = [m for m in unfinished if m.state == State.TERMINATING]
        shapes = made = np.array([shape_of(m, "as they are") for m in pending], dtype=np.int32)
        if self.with_devices:
            made = np.array([shape_of(m, "made") for m in pending], dtype=np.int32)
        group, conflicts = self.group(), tuple(m.settled.conflict for m in pending if m.settled.conflict)[:1]
        speaking = _speakers(pending or unfinished or ordered)
        models = common_models(m.settled.models for m in speaking)
        conflicts += (models.problem,) if models.problem else ()
        unread = {problem for m in unfinished for problem in m.standing.protection.problems}
        unread.update(group.protection.problems)
        runtime, removed = _runtime(group, unfinished), _succeeded_and_removed(group, ordered)
        arrived = min(m.order[1] for m in ordered)
        if conflicts or unread or runtime.problems:
            said = [f"group {group.key}: {problem}; it will not be evicted" for problem in sorted(unread)]
            said += [f"group {group.key}: {problem}" for problem in runtime.problems]
            problems, warnings = (*group.problems, *conflicts), (*group.warnings, *said)
            group = msgspec.structs.replace(group, problems=problems, warnings=warnings)
        return GroupView(
            group=group,
            pods=tuple(m.key for m in pending),
            uids=tuple(m.uid for m in pending),
            orders=tuple(m.order for m in pending),
            shapes=shapes,
            gates=tuple(m.gates for m in pending),
            running=tuple(RunningMember(m.order, m.node_row) for m in running),
            running_shapes=np.array([shape_of(m, "anew") for m in running], dtype=np.int32),
            members=len(ordered) + removed,
            succeeded=sum(m.state == State.SUCCEEDED for m in ordered) + removed,
            created=min([arrived, *(m.settled.since for m in ordered if m.settled.since is not None)]),
            arrived=arrived,
            ranks=_ranks(unfinished),
            schedulers=tuple(sorted({m.standing.scheduler for m in unfinished})),
            pending_schedulers=tuple(sorted({m.standing.scheduler for m in pending})),
            nominated=tuple(m.nominated for m in pending) if any(m.nominated for m in pending) else (),
            claims=tuple(m.claims for m in pending) if self.mounts else (),
            device_claims=tuple(map(claims_of, pending)) if self.with_devices else (),
            made_shapes=() if np.array_equal(made, shapes) else tuple(made.tolist()),
            runtime=runtime,
            owner=_owner(pending),
            overruled=next((m.settled.overruled for m in pending if m.settled.overruled), ""),
            source=(self.id.source, self.id.key, self.id.uid),
            wishes=tuple(sorted({m.standing.on_failure for m in unfinished} - {NO_WISH}, key=repr)),
            leaving_shapes=tuple(shape_of(m, "anew") for m in leaving),
            payer=common_payer([(f"pod {m.key}", m.payer) for m in speaking]),
            any_model=models.said == ANY_MODEL,
        )

    def seated(self) -> SeatedGroup:
        members, group = self.members.values(), self.group()
        counted = sum(m.state in (State.RUNNING, State.SUCCEEDED) for m in members)
        counted += _succeeded_and_removed(group, members)
        unfinished = [m for m in members if m.state in UNFINISHED]
        placed = [m for m in unfinished if m.state in (State.RUNNING, State.TERMINATING)]
        failed = sum(m.state == State.FAILED for m in members)
        return SeatedGroup(group, counted, _ranks(placed), _runtime(group, unfinished), failed)


def _succeeded_and_removed(group: Group, members: Collection[Member]) -> int:
    """Members that succeeded and whose pods are not there any more: indexes of a Job, or Jobs of a set."""
    succeeded = [m for m in members if m.state == State.SUCCEEDED]
    if group.completed:
        return _removed(group.completed, succeeded)
    jobs, kept = _jobs(members), defaultdict[str, list[Member]](list)
    for member in succeeded:
        if member.settled.job is not None:
            kept[member.settled.job.job].append(member)
    kept_jobs = sum(len(kept[name]) for name, job in jobs.items() if job.complete)
    of_others = sum(_removed(job.completed, kept[name]) for name, job in jobs.items())
    return max(0, group.done - kept_jobs) + of_others


def _removed(completed: Ranges, succeeded: Iterable[Member]) -> int:
    """How many of these indexes of a Job have no pod among those that succeeded."""
    kept = {index_in_job(m.order) for m in succeeded} if completed else set[int]()
    ends = [last for _, last in completed]
    places = ((index, bisect_left(ends, index)) for index in kept)
    counted = (place < len(ends) and completed[place][0] <= index for index, place in places)
    return size(completed) - sum(counted)


def _jobs(members: Iterable[Member]) -> dict[str, JobProgress]:
    """The Jobs below the owner that makes the group, if something has become of them."""
    found = (m.settled.job for m in members)
    return {job.job: job for job in found if job is not None}


def _owner(members: Iterable[Member]) -> str:
    """What somebody wrote that all of them are made from, as far as that is known."""
    owners = {m.settled.top or " ".join(filter(None, m.occupant.owner)) for m in members}
    return owners.pop() if len(owners) == 1 else ""


def _speakers(members: Iterable[Member]) -> list[Member]:
    """The first of those who say the same."""
    found = dict[Speakers, Member]()
    for member in members:
        found.setdefault(member.crew, member)
    return list(found.values())


def _ranks(members: Iterable[Member]) -> tuple[GroupRank, ...]:
    return tuple(sorted({m.standing.rank for m in members}, key=repr))


def _runtime(group: Group, unfinished: Collection[Member]) -> Runtime:
    stays = {m.crew.settled.stay for m in unfinished}
    return together(group.runtime, {m.standing.runtime for m in unfinished}, stays)
