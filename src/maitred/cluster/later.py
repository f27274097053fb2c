"""Pods that come later, as the state knows them: which groups need room for them, and which wait for them.

An owner that creates pods once others are scheduled or ready is looked at again when it, or a pod of it, has
changed. What comes of it is a link for each group that is decided together with pods that are not there:

- a group that waits for places, which it gets only where the pods that come after it have room too;
- a group that comes next, because those before it have their places. Room is kept for it, whether its pods
  are there, or some of them, or none.

Clusters without such owners pay nothing for this.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.members import NOT_CREATED, GroupRecord, Member, State, index_in_job
from maitred.cluster.parts import Branch, Parts
from maitred.cluster.settling import Place, TracedLookup
from maitred.cluster.snapshot import NO_INDEX, UNKNOWN_TIME, GroupView, LaterMembers
from maitred.model.group import TopologyRequest
from maitred.model.kinds import row_of
from maitred.model.membership import GroupId, PodWords, common_models, common_payer, sorting_key
from maitred.model.membership.later import LaterGroup, all_before, is_suspended, later_groups
from maitred.model.membership.source import JOB
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import JOB_INDEX, JOB_KEY, REPLICATED_JOB
from maitred.model.operators.leaderworkerset import GROUP_INDEX, GROUP_KEY, SET_NAME
from maitred.model.operators.pods.remaining import before_admission
from maitred.model.operators.pods.replicas import in_domain_of
from maitred.model.owner_chain import Found
from maitred.model.pod import Pod
from maitred.model.queues import ANY_MODEL, Payer
from maitred.model.selector import Labels

MOST_IN_ALL, MOST_IN_NAMESPACE = 20_000, 5_000
"""Who causes them does not pay for them by a quota. For the pods of owners beyond that no room is kept."""
FOLLOWED_BY = ((REPLICATED_JOB, JOB_INDEX), (SET_NAME, GROUP_INDEX))
"""Labels that the pods of one Job of a JobSet share, and those of one group of a LeaderWorkerSet."""
NOBODY = np.array([], dtype=np.int32)
ShapeOf = Callable[[Member], int]
Following = tuple[str, ...]
PodsMade = dict[int | str, State]
"""The pods of a controller that are there, by their index, or by their key where they have none."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Pods of one controller that are not there yet. They are alike: one of them stands for all."""

    like: Member
    controller: str
    count: int
    level: str


@dataclass(frozen=True, slots=True)
class AwaitedGroup:
    """A group of which pods are not there yet."""

    later: LaterGroup
    coming: tuple[Coming, ...]

    @property
    def key(self) -> str:
        return self.later.id.key

    @property
    def pods(self) -> int:
        return sum(one.count for one in self.coming)


@dataclass(frozen=True, slots=True)
class Link:
    """A group that is decided together with pods that are not there."""

    host: GroupId
    owner: str
    awaited: tuple[AwaitedGroup, ...]
    """Groups with pods that are yet to come, the host among them if it has any."""
    before: tuple[GroupId, ...] = ()
    """Groups that have their places, so that room is kept for this one; none if it is not their turn."""

    @property
    def pods(self) -> int:
        return sum(one.pods for one in self.awaited)

    @property
    def coming(self) -> Iterator[tuple[str, Coming]]:
        """All that are to come, with the keys of their groups."""
        return ((one.key, coming) for one in self.awaited for coming in one.coming)


@dataclass(frozen=True, slots=True)
class StagedOwner:
    """What an owner creates later, as long as none of the objects changes that say so."""

    owner: Object
    groups: list[LaterGroup]
    read: tuple[Place, ...]

    @property
    def title(self) -> str:
        return f"{row_of(type(self.owner)).name} {key_of(self.owner.metadata)}"


class LaterTable:
    """`records` are the groups of the state; `member_of` reads a pod as the state does."""

    def __init__(
        self, known: Found, records: Mapping[GroupId, GroupRecord], member_of: Callable[[Pod], Member]
    ) -> None:
        self._known, self._records, self._member_of = known, records, member_of
        self._pods: dict[Place, dict[str, Member]] = {}
        """The pods of each owner that creates some later."""
        self._owners: dict[Place, StagedOwner] = {}
        self._readers: dict[Place, set[Place]] = {}
        """Objects, and the owners of which something was read there."""
        self._links: dict[Place, tuple[Link, ...]] = {}
        self._stale: dict[Place, None] = {}

    def arrive(self, member: Member) -> None:
        """A pod has come, or is settled otherwise."""
        place = member.staged = member.settled.staged
        if place is not None:
            self._pods.setdefault(place, {})[member.key] = member
            self._stale[place] = None

    def depart(self, member: Member) -> None:
        if member.staged is not None:
            self._pods[member.staged].pop(member.key, None)
            self._stale[member.staged] = None
            member.staged = None

    def changed(self, place: Place) -> None:
        """An object is another one now."""
        for owner in tuple(self._readers.get(place, ())):
            self._forget(owner)
            self._stale[owner] = None

    def refresh(self) -> Iterator[tuple[tuple[Link, ...], tuple[Link, ...]]]:
        """What has changed since this was last asked: links as they were, and as they are."""
        stale, self._stale = self._stale, {}
        for place in stale:
            before, links = self._links.pop(place, ()), tuple[Link, ...]()
            if pods := self._pods.get(place):
                staged = self._owners.get(place) or self._read(place)
                links = () if staged is None else tuple(self._links_of(staged, pods.values()))
            else:
                self._pods.pop(place, None)
                self._forget(place)
            if links:
                self._links[place] = links
            if before or links:
                yield before, links

    def _read(self, place: Place) -> StagedOwner | None:
        reading = TracedLookup(self._known)
        owner = reading.find(*place)
        if owner is None:
            return None  # its pods are settled otherwise when it comes
        found = StagedOwner(owner, later_groups(owner, reading), tuple(reading.places))
        self._owners[place] = found
        for one in found.read:
            self._readers.setdefault(one, set()).add(place)
        return found

    def _forget(self, place: Place) -> None:
        staged = self._owners.pop(place, None)
        for one in () if staged is None else staged.read:
            self._readers[one].discard(place)
            if not self._readers[one]:
                del self._readers[one]

    def members(self) -> Iterator[Member]:
        """Those that stand for pods which are not there."""
        for links in self._links.values():
            yield from members_of(links)

    def links(self) -> list[Link]:
        """By name, as many as may count."""
        found, total, by_namespace = list[Link](), 0, Counter[str]()
        every = [link for links in self._links.values() for link in links]
        for link in sorted(every, key=lambda link: sorting_key(link.host)):
            namespace = link.host.key.partition("/")[0]
            total, by_namespace[namespace] = total + link.pods, by_namespace[namespace] + link.pods
            if total <= MOST_IN_ALL and by_namespace[namespace] <= MOST_IN_NAMESPACE:
                found.append(link)
        return found

    # -- links -----------------------------------------------------------------------------------------

    def _links_of(self, staged: StagedOwner, pods: Collection[Member]) -> Iterator[Link]:
        groups, leaders = [_as_made(later, pods) for later in staged.groups], _leaders(pods)
        needs = {group.id: group.before for group in groups}
        hosts = dict[GroupId, list[AwaitedGroup]]()
        turns = dict[GroupId, tuple[GroupId, ...]]()
        for later in groups:
            if self._is_met(later.id) or (later.id not in self._records and not later.pods):
                continue
            earlier = list(all_before(needs, later.id))
            waiting = [one for one in earlier if not self._is_met(one)]
            if any(one not in needs and one not in self._records for one in waiting):
                continue  # the owner has not begun
            # Of several that it waits for, one asks for its room: if each did, the room would be kept twice.
            host = waiting[-1] if waiting else later.id
            hosts.setdefault(host, []).append(AwaitedGroup(later, tuple(self._coming(later, leaders))))
            if not waiting:
                turns[later.id] = tuple(earlier)
        for host, awaited in hosts.items():
            coming, before = tuple(one for one in awaited if one.coming), turns.get(host, ())
            if (before and is_suspended(staged.owner)) or not (coming or before):
                continue  # nothing comes, or all are there and wait for others
            yield Link(host, staged.title, coming, before)

    def _is_met(self, id: GroupId) -> bool:
        record = self._records.get(id)
        if record is None:
            return False
        seated = record.seated()
        return seated.counted >= seated.group.quorum

    def _coming(self, later: LaterGroup, leaders: Mapping[Following, Member]) -> Iterator[Coming]:
        """Those of which there is no pod, whatever has become of it: what is made again has its own turn."""
        record = self._records.get(later.id)
        made = dict[str, PodsMade]() if record is None else _made_by_controller(record)
        missing = later.group.quorum - sum(len(one) for one in made.values())
        for pods in later.pods:
            name = pods.replicas.owner.name
            count = min(missing, _without(pods.numbers, made.get(name, {})))
            if count > 0:
                missing -= count
                pod = pods.replicas.pod(pods.replicas.first)
                leader = leaders.get(_following(pod.metadata.labels))
                if leader is not None:
                    name = leader.occupant.owner[1]
                    for key in (JOB_KEY, GROUP_KEY):
                        pod = in_domain_of(pod, key, leader.labels.get(key))
                pod = Pod(pod.metadata, before_admission(pod.spec))
                yield Coming(self._member_of(pod), name, count, pods.level)


def _made_by_controller(record: GroupRecord) -> dict[str, PodsMade]:
    made = dict[str, PodsMade]()
    for member in record.members.values():
        index = index_in_job(member.order)
        number = member.key if index == NO_INDEX else index
        made.setdefault(member.occupant.owner[1], {})[number] = member.state
    return made


def _without(numbers: frozenset[int], made: PodsMade) -> int:
    """Of how many of these there is no pod. What has succeeded is not among them, but its pod may be kept."""
    unnumbered = [state for number, state in made.items() if isinstance(number, str)]
    return len(numbers - made.keys()) - sum(state != State.SUCCEEDED for state in unnumbered)


def _leaders(pods: Iterable[Member]) -> dict[Following, Member]:
    """The pods that others follow into their domains. What the two are called, and by which key they find
    each other, only their operator knows for certain."""
    leading = (one for one in pods if _leads(one.said))
    return {followed: one for one in leading if (followed := _following(one.labels))}


def _following(labels: Labels) -> Following:
    """What a leader and those that follow it have in common; nothing where nobody is followed."""
    found = (tuple(labels.get(key, "") for key in keys) for keys in FOLLOWED_BY)
    return next((one for one in found if all(one)), ())


def _leads(said: PodWords) -> bool:
    return said.leads and (said.worker_set is None or said.worker_set.leads)


def _as_made(later: LaterGroup, pods: Collection[Member]) -> LaterGroup:
    """The pod that submits the job of a RayJob is a group of its own name once it is there, and only for as
    long as it waits. Then no more come."""
    if later.id.source != JOB:
        return later
    jobs = {pods.replicas.owner.name for pods in later.pods}
    there = [one for one in pods if one.occupant.owner[0] == JOB and one.occupant.owner[1] in jobs]
    if not there:
        return later
    ids = (one.group for one in there)
    return replace(later, id=next((id for id in ids if id is not None), later.id), pods=[])


def members_of(links: Iterable[Link]) -> Iterator[Member]:
    return (coming.like for link in links for _, coming in link.coming)


# -- as a decision sees them -------------------------------------------------------------------------------


class LinkedView:
    """A group as it is decided together with pods that are not there."""

    def __init__(self, link: Link, records: Mapping[GroupId, GroupRecord], shape_of: ShapeOf) -> None:
        self.link, self.records, self.shape_of = link, records, shape_of
        record = records.get(link.host)
        members = [] if record is None else sorted(record.members.values(), key=lambda one: one.order)
        self.pending = [one for one in members if one.state == State.PENDING]
        self.running = [one for one in members if one.state == State.RUNNING]

    def of(self, view: GroupView | None) -> GroupView:
        """`view`: the group as its own pods have it; None if it has none."""
        view = self._without_pods() if view is None else view
        later = self._later(view) if self.link.awaited else None
        kept_from = self._kept_from() if self.link.before else None
        return replace(view, later=later, kept_from=kept_from, owned_by=self.link.owner)

    def _kept_from(self) -> float:
        """When the last of those before it started, or was created where no kubelet says when it started: who
        puts a pod onto a node where none looks after it keeps nothing for ever."""
        seated = (one for one in self._before() if one.state == State.RUNNING)
        times = [one.order[1] if one.started == UNKNOWN_TIME else one.started / 1000 for one in seated]
        return max(times, default=math.inf)

    def _before(self) -> Iterator[Member]:
        for id in self.link.before:
            yield from self.records[id].members.values() if id in self.records else ()

    def _without_pods(self) -> GroupView:
        later = next(one for one in self.link.awaited if one.later.id == self.link.host)
        before = list(self._before())
        created = min((one.settled.since or one.order[1] for one in before), default=NOT_CREATED)
        schedulers = tuple(sorted({one.standing.scheduler for one in before}))
        done = max(0, later.later.group.quorum - later.pods)  # and their pods are gone
        return GroupView(
            group=later.later.group,
            pods=(),
            uids=(),
            orders=(),
            shapes=NOBODY,
            gates=(),
            running=(),
            running_shapes=NOBODY,
            members=done,
            succeeded=done,
            created=created,
            arrived=created,
            ranks=tuple({coming.like.standing.rank for coming in later.coming}),
            schedulers=schedulers,
            pending_schedulers=schedulers,
            payer=self._payer(before),
            any_model=common_models(one.settled.models for one in before).said == ANY_MODEL,
        )

    def _payer(self, before: list[Member]) -> Payer:
        """Its pods are not there yet, and have the same owner as those that come before them."""
        known = [(f"pod {one.key}", one.payer) for one in before]
        return common_payer(known) if known else Payer(self.link.host.key.partition("/")[0])

    def _later(self, view: GroupView) -> LaterMembers:
        shapes = list[int]()
        for _, coming in self.link.coming:
            shapes += [self.shape_of(coming.like)] * coming.count
        orders = ((NO_INDEX, NOT_CREATED, f":{number:05}") for number in range(len(shapes)))
        groups = ((one.key, one.pods) for one in self.link.awaited)
        return LaterMembers(tuple(shapes), tuple(orders), self._parts(view), tuple(sorted(groups)))

    def _parts(self, view: GroupView) -> Parts:
        """The group and those that come later, as parts of one tree. Pods that follow the first of their
        controller into its domain are below one branch with it."""
        own, slots = view.group.key, _Slots(self.link)
        waiting = [slots.number(own, one.occupant.owner[1]) for one in self.pending]
        seated = [slots.number(own, one.occupant.owner[1]) for one in self.running]
        if not slots.levels:
            slots.number(own, "")
        for key, coming in self.link.coming:
            waiting += [slots.number(key, coming.controller)] * coming.count
        sizes = Counter([*waiting, *seated])
        topologies = {one.key: one.later.group.topology for one in self.link.awaited}
        leaves = dict[str, list[Branch]]()
        for (key, controller), number in slots.numbers.items():
            whole = key == own and not slots.levels
            quorum = view.group.quorum if whole else sizes[number]
            topology = view.group.topology if key == own else topologies[key]
            leaves.setdefault(controller, []).append(Branch(key, quorum, topology, leaf=number))
        namespace = own.partition("/")[0]
        children = [
            Branch(f"{namespace}/{name}", len(below), TopologyRequest(slots.levels[name]), tuple(below))
            for name, below in leaves.items()
            if name
        ]
        children += leaves.get("", ())
        root = Branch(own, len(children), self._shared(), tuple(children))
        succeeded = [0] * len(slots.numbers)
        if not slots.levels:
            succeeded[slots.numbers[own, ""]] = view.succeeded
        return Parts(root, tuple(waiting), tuple(seated), tuple(succeeded))

    def _shared(self) -> TopologyRequest:
        """The level of which all of them must be in one domain."""
        levels = (one.later.group.topology.required for one in self.link.awaited if one.later.beside)
        return TopologyRequest(next(levels, ""))


class _Slots:
    """Numbers for the leaves: one for each group, and for each controller whose pods share a domain."""

    def __init__(self, link: Link) -> None:
        self.levels = {coming.controller: coming.level for _, coming in link.coming if coming.level}
        self.numbers: dict[tuple[str, str], int] = {}

    def number(self, group: str, controller: str) -> int:
        slot = (group, controller if controller in self.levels else "")
        return self.numbers.setdefault(slot, len(self.numbers))
