"""Owners that were suspended to make room: they keep their turn while they are away, and come back.

An owner of which no pod is left is waited for by stand-ins, made from its templates, so that the next cycles
decide of it as of any group. It stays away for as long as it waits for room, and for no other reason: when
its stand-ins are seated, when it could be seated at the expense of others, or when something is wrong with it
that its user ought to see, it is resumed, and its own pods are decided as all pods are. Where there are too
many stand-ins already it is resumed too: then its pods wait in the open.

Between the resumption and the last of its pods its places are held for the stand-ins, so that it does not
come back in vain, and its pods are not decided, so that a gang is not seated in part. Groups of higher rank
may take the places, as they may take any that are held; then its pods wait like all others.

What is Kueue's is never resumed here: see `activations`.

Which owners were suspended by us is known from records that only we write. An owner may say of itself what
it likes: no pod stands in for it without one. All of this is in the API, in the owner and its record: a
scheduler that starts anew goes on with it.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from maitred.controllers.owners.activations import Activations
from maitred.controllers.owners.members import StandIns, awaited_pods, stand_ins
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.amending import NOBODY_AWAY, Away
from maitred.controllers.scheduling.mirror import Mirror, MirrorFeed
from maitred.controllers.scheduling.overlay import OverlayHold
from maitred.controllers.scheduling.worklist import Worklist
from maitred.explain.verdicts import verdict_words
from maitred.kube.outcomes import Done
from maitred.kube.wire import WatchedJob, WatchedJobSet, WatchedOwnerOfPods, WatchedPod
from maitred.model.categories import CATEGORIES
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.objects import Object
from maitred.model.plan import Bind, GroupVerdict, Plan
from maitred.model.suspending import BY_TITLE, OwnerName, SuspendableKind
from maitred.model.suspension import Suspension

log = logging.getLogger(__name__)

HOLD_SECONDS = 10.0
"""How long places are kept after the last pod that came."""
RETRY_SECONDS = 5.0
SETTLE_SECONDS = 2.0
"""How long a record may speak of a Job that is not suspended before that is looked into."""
MOST_STAND_INS = 20_000
MOST_IN_NAMESPACE = 5_000
"""Stand-ins cost as much as pods that wait, and those who cause them do not pay for them by a quota."""
SLICE = 100
"""So many are put into the state before others get their turn on the event loop."""
AFTER_THE_LAST = "Failed"
"""The replacement policy by which a Job makes no pod before its old ones are gone."""


@dataclass(slots=True)
class SuspendedOwner:
    """An owner that we have suspended."""

    one: WatchedOwnerOfPods
    record: Suspension
    stands: bool = False
    """Its stand-ins are there."""

    @property
    def made_from(self) -> tuple[object, ...]:
        """What its stand-ins are made from: where this is the same, so are they."""
        meta = self.one.metadata
        return meta.uid, meta.creation_timestamp, self.one.spec, progress_of(self.one), self.record


@dataclass(slots=True)
class Return:
    """An owner that is being resumed."""

    absence: SuspendedOwner
    hold: OverlayHold
    """The places that are kept for it, and until when; none where it is resumed for another reason."""
    awaited: int = 0
    """How many pods are to come for which places are kept,"""
    arrived: int = 0
    groups: set[str] = field(default_factory=set)
    """and the groups of which nothing is decided meanwhile."""
    beside: Sequence[Bind] = ()
    """Places of other members of these groups, which are there and wait for those of the owner."""

    @property
    def is_complete(self) -> bool:
        return self.awaited > 0 and self.arrived >= self.awaited


class Returns:
    def __init__(self, mirror: Mirror, worklist: Worklist, suspensions: Suspensions, scheduler: str) -> None:
        self.suspensions = suspensions
        self._mirror = mirror
        self._overlay = mirror.overlay
        self._worklist = worklist
        self._scheduler = scheduler
        self._owners: dict[OwnerName, WatchedOwnerOfPods] = {}
        self._absences: dict[OwnerName, SuspendedOwner] = {}
        self._returns: dict[OwnerName, Return] = {}
        self._resumed: dict[OwnerName, WatchedOwnerOfPods] = {}
        """Owners as they were when we resumed them, until the watch tells so."""
        self._doubts: dict[str, float] = {}
        """When to look into records of owners that do not seem to be suspended, by the UIDs of the owners."""
        self._standing_down: set[OwnerName] = set()
        """Owners whose stand-ins go before the next decision."""
        self._hastened: set[str] = set()
        """UIDs of pods that were given less time to leave, until the watch tells so."""
        self._orders: asyncio.Queue[Callable[[], Coroutine[Any, Any, None]]] = asyncio.Queue()
        self._activations = Activations(mirror, suspensions)
        suspensions.changed = self._look

    # -- told by the watch -----------------------------------------------------------------------------

    def feed(self, row: SuspendableKind) -> MirrorFeed[WatchedOwnerOfPods]:
        """The end of the watch of one kind of owners."""
        return MirrorFeed(self._mirror.changed, partial(self.put, row), partial(self.gone, row))

    def put(self, row: SuspendableKind, one: WatchedOwnerOfPods) -> None:
        name = OwnerName(row.title, key_of(one.metadata))
        self._owners[name] = one
        self._mirror.put_owner(as_decided(one, row), row)
        self._look(name)

    def gone(self, row: SuspendableKind, key: str) -> None:
        name = OwnerName(row.title, key)
        self._owners.pop(name, None)
        self._mirror.owner_gone(name, row)
        self._resumed.pop(name, None)
        self._end(name)
        self._forget(name)

    def _look(self, name: OwnerName) -> None:
        """An owner, or the record about it, is another than before."""
        one = self._owners.get(name)
        if one is None:
            return
        row = BY_TITLE[name.kind]
        if is_older(one, row, self._resumed.get(name)):
            return
        self._resumed.pop(name, None)
        record = self.suspensions.by_uid.get(one.metadata.uid)
        ours = record is not None and record.owner == name and not record.workload
        if record is None or not ours or not row.is_suspended(one) or row.is_over(one):
            self._forget(name)
            return
        absence, known = SuspendedOwner(one, record), self._absences.get(name)
        if known is not None and known.made_from == absence.made_from:
            known.one = one  # whatever else has changed, the same pods stand in for it
        else:
            self._absences[name] = absence

    def _forget(self, key: OwnerName) -> None:
        if self._absences.pop(key, None) is not None and key not in self._returns:
            self._stand_down(key)

    # -- before a cycle --------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Who stands in, and who is back."""
        now = time.monotonic()
        for key, returning in self._returns.items():
            self._see_who_has_come(key, returning)
        for key in [key for key, returning in self._returns.items() if self._is_back(returning, now)]:
            self._end(key)
        while self._standing_down:
            await self._let_go(self._standing_down.pop())
        self._look_into_doubts(now)
        for record in self._activations.due():
            self._orders.put_nowait(partial(self._activations.activate, record))
        self._hasten_those_who_linger()
        for key, absence in list(self._absences.items()):
            if key not in self._returns and not absence.stands:
                await self._stand_in(key, absence)

    def _look_into_doubts(self, now: float) -> None:
        """Records of owners that were resumed, that have come to their end or that are gone."""
        suspensions = self.suspensions
        doubtful = {
            uid: record
            for uid, record in suspensions.by_uid.items()
            if not self._is_away(record) and not suspensions.is_under_way(uid)
        }
        self._doubts = {uid: at for uid, at in self._doubts.items() if uid in doubtful}
        for uid, record in doubtful.items():
            if uid not in self._doubts:
                self._doubt(uid, SETTLE_SECONDS)
            elif now >= self._doubts[uid]:
                self._doubt(uid, RETRY_SECONDS)
                self._orders.put_nowait(partial(self._settle, record))

    def _hasten_those_who_linger(self) -> None:
        """Pods of owners that we have suspended leave within the time that the policy gives victims."""
        lingering = self._overlay.lingering() if self.suspensions.by_uid else {}
        self._hastened &= {pod.metadata.uid for pod in lingering.values()}
        for key, pod in lingering.items():
            uid, grace = pod.metadata.uid, self._overlay.shorter_grace(key)
            if grace is not None and uid not in self._hastened and self._have_suspended_its_owner(pod):
                self._hastened.add(uid)
                self._overlay.dismiss(key, uid)
                self._orders.put_nowait(partial(self._hasten, key, uid, grace))

    def _have_suspended_its_owner(self, pod: WatchedPod) -> bool:
        """A pod may name any owner: it has to be the one that the record is about."""
        for owner in self._overlay.owners_above(pod):
            record = self.suspensions.by_uid.get(owner.uid)
            if record is not None and record.owner == owner.owner:
                return True
        return False

    async def _hasten(self, key: str, uid: str, grace: int) -> None:
        outcome = await self.suspensions.hasten(key, uid, grace)
        if not isinstance(outcome, Done):
            log.warning("the grace period of pod %s could not be shortened; trying again: %s", key, outcome)
            self._overlay.retract_dismissal(key, uid)
            self._hastened.discard(uid)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._mirror.changed.set)

    def _is_away(self, record: Suspension) -> bool:
        if record.workload:
            return self._activations.is_off(record)
        absence = self._absences.get(record.owner)
        if record.owner in self._returns:
            return True
        return absence is not None and absence.one.metadata.uid == record.uid

    def _doubt(self, uid: str, seconds: float) -> None:
        self._doubts[uid] = time.monotonic() + seconds
        asyncio.get_running_loop().call_later(seconds, self._mirror.changed.set)

    async def _stand_in(self, key: OwnerName, absence: SuspendedOwner) -> None:
        one, record, row = absence.one, absence.record, BY_TITLE[key.kind]
        if self._is_leaving(key, one, record):
            await self._let_go(key)
            return
        if self._mirror.state.workload_of(one) is not None:
            self._leave_to_kueue(key, record)
            return
        if not row.is_own(one):
            await self._bring_back(key, absence, "a controller other than its own manages it")
            return
        awaited = await asyncio.to_thread(awaited_pods, one, record, self._mirror.state)
        if not self._is_room_for(key, sum(len(coming.numbers) for coming in awaited)):
            await self._bring_back(
                key, absence, "maitred keeps room for the pods of too many suspended owners already"
            )
        elif awaited:
            made = await asyncio.to_thread(stand_ins, one, record, awaited, self._scheduler)
            absence.stands = await self._take_in(key, absence, made)
        elif self._absences.get(key) is absence:
            await self._bring_back(key, absence, "it needs no more pods, or does not say which")

    def _leave_to_kueue(self, key: OwnerName, record: Suspension) -> None:
        """It has become Kueue's since we suspended it: Kueue resumes it, within its quota."""
        if not self.suspensions.is_under_way(record.uid):
            log.info("%s is Kueue's now, and is not resumed by maitred", key)
            self._orders.put_nowait(partial(self._forget_record, record))

    async def _forget_record(self, record: Suspension) -> None:
        await self.suspensions.forget(record)

    def _is_room_for(self, key: OwnerName, number: int) -> bool:
        """Beside the stand-ins of others: its own give way to those that are made now."""
        others = {owner: len(pods) for owner, pods in self._overlay.standing.items() if owner != key}
        here = sum(count for owner, count in others.items() if owner.namespace == key.namespace)
        return sum(others.values()) + number <= MOST_STAND_INS and here + number <= MOST_IN_NAMESPACE

    async def _take_in(self, key: OwnerName, absence: SuspendedOwner, made: StandIns) -> bool:
        """Some at a time. Where the owner changes meanwhile, it is looked at again with the next cycle."""
        await self._let_go(key)
        self._mirror.imagine(key, made.between.values())
        for start in range(0, len(made.pods), SLICE):
            if self._absences.get(key) is not absence:
                await self._let_go(key)
                return False
            self._mirror.stand_in(key, made.pods[start : start + SLICE])
            await asyncio.sleep(0)
        return True

    def _stand_down(self, key: OwnerName) -> None:
        """Before the next decision, in which they would still have their places."""
        if key in self._overlay.standing:
            self._standing_down.add(key)
            self._mirror.changed.set()

    async def _let_go(self, key: OwnerName) -> None:
        while self._mirror.stand_down(key, SLICE):
            await asyncio.sleep(0)

    def _is_leaving(self, key: OwnerName, one: WatchedOwnerOfPods, record: Suspension) -> bool:
        """Whether pods are left that are in the way: those that stay, and others where that matters."""
        if self._overlay.pods_below(key, one.metadata.uid):
            return True
        if not isinstance(one, WatchedJob):
            return False
        # Members of one group that name different schedulers would make it invalid.
        to_the_last = self._is_foreign(record) or one.spec.pod_replacement_policy == AFTER_THE_LAST
        return to_the_last and bool(one.status.active + one.status.terminating)

    def _see_who_has_come(self, key: OwnerName, returning: Return) -> None:
        """Nothing is decided of the first of its pods before the last is there."""
        pods = self._overlay.pods_below(key, returning.absence.one.metadata.uid)
        come = len(pods) - returning.arrived
        if not returning.awaited or come <= 0:
            return
        returning.arrived = len(pods)
        if self._is_foreign(returning.absence.record):
            self._mirror.stand_down(key, come)  # another scheduler gives them their places at once
        waiting = self._mirror.waiting
        self._hold(returning, {self._mirror.state.group_key(pod) for pod in pods if pod in waiting})
        if returning.hold.until < math.inf:
            self._end_after(returning, HOLD_SECONDS)

    def _is_back(self, returning: Return, now: float) -> bool:
        """Whether nothing is kept for it any more: it is there, it does not come, or its places are taken."""
        if now >= returning.hold.until or self._has_lost_its_places(returning):
            return True
        return all(other.is_complete for other in self._together(returning))

    def _has_lost_its_places(self, returning: Return) -> bool:
        """Whether others, who rank higher, sit there. Its own pods do not, while they are not decided."""
        if self._is_foreign(returning.absence.record):
            return False
        return not self._mirror.state.has_room_for(returning.hold.places)

    def _together(self, returning: Return) -> list[Return]:
        """Those who return to the same groups, it among them: a gang needs the places of all of them."""
        others = (other for other in self._returns.values() if other is not returning)
        return [returning, *(other for other in others if other.groups & returning.groups)]

    def _is_foreign(self, record: Suspension) -> bool:
        """Whether its pods name another scheduler."""
        return record.scheduler_name != self._scheduler

    # -- after a cycle ---------------------------------------------------------------------------------

    async def take(self, plan: Plan) -> Away:
        """Carry out what was decided of stand-ins, and say what of the Plan is about others than pods."""
        owners = dict(self._overlay.stand_ins)
        if not owners:
            return NOBODY_AWAY
        away = {verdict.group: self._missed(verdict.group, owners) for verdict in plan.decisions}
        seats, beside = dict[OwnerName, list[Bind]](), dict[str, list[Bind]]()
        for bind in plan.binds:
            if bind.pod in owners:
                seats.setdefault(owners[bind.pod], []).append(bind)
            elif away.get(bind.group):
                beside.setdefault(bind.group, []).append(bind)
        for verdict in plan.decisions:
            for owner in sorted(away[verdict.group]):
                await self._decided(owner, verdict, seats.get(owner, ()), beside.get(verdict.group, ()))
        untold = {group for group, who in away.items() if group in owners or who & self._returns.keys()}
        return Away(frozenset(group for group, who in away.items() if who), frozenset(untold))

    def _missed(self, group: str, owners: Mapping[str, OwnerName]) -> set[OwnerName]:
        """The owners that have stand-ins in this group."""
        return {owners[pod] for pod in self._mirror.waiting_by_group.get(group, ()) if pod in owners}

    async def _decided(
        self, key: OwnerName, verdict: GroupVerdict, seats: Sequence[Bind], beside: Sequence[Bind]
    ) -> None:
        """`beside`: the seats of other members of the group, which wait for those of the owner."""
        absence = self._absences.get(key)
        if absence is None or key in self._returns:
            return
        if seats:
            await self._bring_back(key, absence, "there is room for it", seats, beside)
        elif not waits_for_room(verdict):
            await self._bring_back(key, absence, verdict_words(verdict))

    # -- coming back -----------------------------------------------------------------------------------

    async def _bring_back(
        self,
        key: OwnerName,
        absence: SuspendedOwner,
        why: str,
        seats: Sequence[Bind] = (),
        beside: Sequence[Bind] = (),
    ) -> None:
        if not await self._keep_places(key, absence, [*seats, *beside]):
            return  # they have changed since, and are decided again
        hold = self._overlay.hold("Return", str(key)) or OverlayHold(str(key), "Return")
        returning = self._returns[key] = Return(absence, hold)
        if seats:
            returning.beside = beside
            members = self._overlay.standing.get(key, set())
            returning.awaited = len(members)
            self._hold(returning, {self._mirror.state.group_key(pod) for pod in members})
        else:
            self._stand_down(key)
        log.info("%s, suspended for %s, is resumed: %s", key, absence.record.preemptor, why)
        self._orders.put_nowait(partial(self._resume, key))

    async def _keep_places(self, key: OwnerName, absence: SuspendedOwner, seats: Sequence[Bind]) -> bool:
        """Some at a time too."""
        if seats:
            self._overlay.resume(key, absence.record.scheduler_name)
        for number, seat in enumerate(seats):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            same = self._absences.get(key) is absence
            if not same or not self._overlay.promise(seat.pod, seat.uid, seat.node):
                self._give_back(seats[:number])
                self._overlay.stays_away(key)
                return False
        return True

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                order = await self._orders.get()
                tasks.create_task(order())

    async def _resume(self, key: OwnerName) -> None:
        returning = self._returns.get(key)
        if returning is None:
            return
        outcome = await self.suspensions.resume(returning.absence.record)
        if isinstance(outcome, Done):
            self._resumed[key] = returning.absence.one
            self._forget(key)
            self._end_after(returning, HOLD_SECONDS if returning.awaited else 0.0)
            return
        log.warning("%s could not be resumed; trying again: %s", key, outcome.message)
        if self._returns.get(key) is returning:
            self._give_up(key, returning)
            self._end_after(returning, RETRY_SECONDS)

    async def _settle(self, record: Suspension) -> None:
        """What comes of it is seen by the watch; while nothing does, it is tried again."""
        await self.suspensions.settle(record)

    def _end_after(self, returning: Return, seconds: float) -> None:
        returning.hold.until = time.monotonic() + seconds
        asyncio.get_running_loop().call_later(seconds, self._mirror.changed.set)

    def _end(self, key: OwnerName) -> None:
        """Its pods are there, or do not come, or its places are needed: it is like any other from here on."""
        returning = self._returns.pop(key, None)
        if returning is not None:
            self._give_up(key, returning)

    def _give_back(self, places: Sequence[Bind]) -> None:
        for place in places:
            self._overlay.retract_promise(place.pod, place.node)
        self._mirror.changed.set()

    def _hold(self, returning: Return, groups: set[str]) -> None:
        returning.groups |= groups
        for group in groups:
            self._worklist.hold(group)

    def _give_up(self, key: OwnerName, returning: Return) -> None:
        self._stand_down(key)
        self._give_back(returning.beside)
        returning.absence.stands = False
        groups, returning.groups, returning.awaited = returning.groups, set(), 0
        for group in groups - {group for other in self._returns.values() for group in other.groups}:
            self._worklist.release(group)


def as_decided(one: WatchedOwnerOfPods, row: SuspendableKind) -> Object:
    """Without what decisions never look at, so that they are not made again when only that has changed."""
    told = {name: getattr(one.metadata, name) for name in ObjectMeta.__struct_fields__}
    fields: dict[str, Any] = {"metadata": ObjectMeta(**told), "spec": one.spec, "status": one.status}
    return row.type(**fields)


def progress_of(one: WatchedOwnerOfPods) -> object:
    """How much of it is done, as far as that says how many pods it will make."""
    if isinstance(one, WatchedJob):
        return one.status.completed_indexes, one.status.failed_indexes, one.status.succeeded
    if isinstance(one, WatchedJobSet):
        return tuple((said.name, said.succeeded) for said in one.status.replicated_jobs_status)
    return None


def is_older(one: WatchedOwnerOfPods, row: SuspendableKind, resumed: WatchedOwnerOfPods | None) -> bool:
    """Whether the watch still tells of the owner as it was before we resumed it."""
    if resumed is None or resumed.metadata.uid != one.metadata.uid or not row.is_suspended(one):
        return False
    return one.metadata.generation <= resumed.metadata.generation


def waits_for_room(verdict: GroupVerdict) -> bool:
    """Room may come by itself. All else takes its pods, or a person who sees them."""
    if verdict.verdict not in ("Waiting", "Scheduled"):
        return False
    return not verdict.blockers or CATEGORIES[verdict.blockers[0].category].lifted_from_outside
