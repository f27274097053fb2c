"""Jobs that were suspended to make room: they keep their turn while they are away, and come back.

A Job of which no pod is left is waited for by stand-ins, made from its template, so that the next cycles
decide of it as of any group. It stays away for as long as it waits for room, and for no other reason: when
its stand-ins are seated, when it could be seated at the expense of others, or when something is wrong with it
that its user ought to see, the Job is resumed, and its own pods are decided as all pods are. Where there are
too many stand-ins already it is resumed too: then its pods wait in the open.

Between the resumption and the last of its pods its places are held for the stand-ins, so that it does not
come back in vain, and its pods are not decided, so that a gang is not seated in part. Groups of higher rank
may take the places, as they may take any that are held; then its pods wait like all others.

Which Jobs were suspended by us is known from records that only we write. A Job may say of itself what it
likes: no pod stands in for it without one. All of this is in the API, in the Job and its record: a scheduler
that starts anew goes on with it.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from maitred.controllers.jobs.members import number_of_stand_ins, stand_ins
from maitred.controllers.jobs.suspensions import Suspensions
from maitred.controllers.scheduling.amending import NOBODY_AWAY, Away
from maitred.controllers.scheduling.departures import controller_of, is_of_job
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.overlay import OverlayHold
from maitred.controllers.scheduling.worklist import Worklist
from maitred.explain.verdicts import verdict_words
from maitred.kube.outcomes import Done
from maitred.kube.wire import WatchedJob, WatchedPod
from maitred.model.categories import CATEGORIES
from maitred.model.job import Job
from maitred.model.meta import key_of
from maitred.model.plan import Bind, GroupVerdict, Plan
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
OVER = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
AFTER_THE_LAST = "Failed"
"""The replacement policy by which a Job makes no pod before its old ones are gone."""


@dataclass(slots=True)
class SuspendedJob:
    """A Job that we have suspended."""

    job: WatchedJob
    record: Suspension
    stands: bool = False
    """Its stand-ins are there."""

    @property
    def made_from(self) -> tuple[object, ...]:
        """What its stand-ins are made from: where this is the same, so are they."""
        job = self.job
        done = (job.status.completed_indexes, job.status.failed_indexes, job.status.succeeded)
        return job.metadata.uid, job.metadata.creation_timestamp, job.spec, done, self.record


@dataclass(slots=True)
class Return:
    """A Job that is being resumed."""

    absence: SuspendedJob
    hold: OverlayHold
    """The places that are kept for it, and until when; none where it is resumed for another reason."""
    awaited: int = 0
    """How many pods are to come for which places are kept,"""
    arrived: int = 0
    groups: set[str] = field(default_factory=set)
    """and the groups of which nothing is decided meanwhile."""
    beside: Sequence[Bind] = ()
    """Places of other members of these groups, which are there and wait for the Job's."""

    @property
    def uid(self) -> str:
        return self.absence.job.metadata.uid

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
        self._jobs: dict[str, WatchedJob] = {}
        self._absences: dict[str, SuspendedJob] = {}
        self._returns: dict[str, Return] = {}
        self._resumed: dict[str, WatchedJob] = {}
        """Jobs as they were when we resumed them, until the watch tells so."""
        self._doubts: dict[str, float] = {}
        """When to look into the records of Jobs that do not seem to be suspended, by the UIDs of the Jobs."""
        self._standing_down: set[str] = set()
        """Jobs whose stand-ins go before the next decision."""
        self._hastened: set[str] = set()
        """UIDs of pods that were given less time to leave, until the watch tells so."""
        self._orders: asyncio.Queue[Callable[[], Coroutine[Any, Any, None]]] = asyncio.Queue()
        suspensions.changed = self._look

    # -- told by the watch -----------------------------------------------------------------------------

    def put_job(self, job: WatchedJob) -> None:
        key = key_of(job.metadata)
        self._jobs[key] = job
        self._mirror.put_job(Job(job.metadata, job.spec, job.status))
        self._look(key)

    def job_gone(self, key: str) -> None:
        self._jobs.pop(key, None)
        self._mirror.job_gone(key)
        self._resumed.pop(key, None)
        self._end(key)
        self._forget(key)

    def _look(self, key: str) -> None:
        """A Job, or the record about it, is another than before."""
        job = self._jobs.get(key)
        if job is None or is_older(job, self._resumed.get(key)):
            return
        self._resumed.pop(key, None)
        record = self.suspensions.by_uid.get(job.metadata.uid)
        if record is None or not job.spec.suspend or is_over(job):
            self._forget(key)
            return
        absence, known = SuspendedJob(job, record), self._absences.get(key)
        if known is not None and known.made_from == absence.made_from:
            known.job = job  # whatever else has changed, the same pods stand in for it
        else:
            self._absences[key] = absence

    def _forget(self, key: str) -> None:
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
        self._hasten_those_who_linger()
        for key, absence in list(self._absences.items()):
            if key not in self._returns and not absence.stands:
                await self._stand_in(key, absence)

    def _look_into_doubts(self, now: float) -> None:
        """Records of Jobs that were resumed, that have come to their end or that are gone."""
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
        """Pods of Jobs that we have suspended leave within the time that the policy gives victims."""
        lingering = self._overlay.lingering() if self.suspensions.by_uid else {}
        self._hastened &= {pod.metadata.uid for pod in lingering.values()}
        for key, pod in lingering.items():
            uid, grace = pod.metadata.uid, self._overlay.shorter_grace(key)
            if grace is not None and uid not in self._hastened and self._have_suspended_its_job(pod):
                self._hastened.add(uid)
                self._overlay.dismiss(key, uid)
                self._orders.put_nowait(partial(self._hasten, key, uid, grace))

    def _have_suspended_its_job(self, pod: WatchedPod) -> bool:
        """A pod may name any owner: it has to be in the namespace of the Job."""
        owner = controller_of(pod)
        if owner is None or not is_of_job(owner):
            return False
        record = self.suspensions.by_uid.get(owner.uid)
        return record is not None and record.job == f"{pod.metadata.namespace}/{owner.name}"

    async def _hasten(self, key: str, uid: str, grace: int) -> None:
        outcome = await self.suspensions.hasten(key, uid, grace)
        if not isinstance(outcome, Done):
            log.warning("the grace period of pod %s could not be shortened; trying again: %s", key, outcome)
            self._overlay.retract_dismissal(key, uid)
            self._hastened.discard(uid)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._mirror.changed.set)

    def _is_away(self, record: Suspension) -> bool:
        absence = self._absences.get(record.job)
        return record.job in self._returns or (absence is not None and absence.job.metadata.uid == record.uid)

    def _doubt(self, uid: str, seconds: float) -> None:
        self._doubts[uid] = time.monotonic() + seconds
        asyncio.get_running_loop().call_later(seconds, self._mirror.changed.set)

    async def _stand_in(self, key: str, absence: SuspendedJob) -> None:
        job, record = absence.job, absence.record
        if self._is_leaving(job, record):
            await self._let_go(key)
        elif not job.by_kubernetes:
            await self._bring_back(
                key, absence, "a controller other than the Job controller of Kubernetes manages it"
            )
        elif not self._is_room_for(key, number_of_stand_ins(job, record)):
            await self._bring_back(
                key, absence, "maitred keeps room for the pods of too many suspended Jobs already"
            )
        elif pods := await asyncio.to_thread(stand_ins, job, record, self._scheduler):
            absence.stands = await self._take_in(key, absence, pods)
        elif self._absences.get(key) is absence:
            await self._bring_back(key, absence, "it needs no more pods")

    def _is_room_for(self, key: str, number: int) -> bool:
        """Beside the stand-ins of others: its own give way to those that are made now."""
        others = {job: len(pods) for job, pods in self._overlay.standing.items() if job != key}
        namespace = f"{key.partition('/')[0]}/"
        here = sum(count for job, count in others.items() if job.startswith(namespace))
        return sum(others.values()) + number <= MOST_STAND_INS and here + number <= MOST_IN_NAMESPACE

    async def _take_in(self, key: str, absence: SuspendedJob, pods: Sequence[WatchedPod]) -> bool:
        """Some at a time. Where the Job changes meanwhile, it is looked at again with the next cycle."""
        await self._let_go(key)
        for start in range(0, len(pods), SLICE):
            if self._absences.get(key) is not absence:
                await self._let_go(key)
                return False
            self._mirror.stand_in(key, pods[start : start + SLICE])
            await asyncio.sleep(0)
        return True

    def _stand_down(self, key: str) -> None:
        """Before the next decision, in which they would still have their places."""
        if key in self._overlay.standing:
            self._standing_down.add(key)
            self._mirror.changed.set()

    async def _let_go(self, key: str) -> None:
        while self._mirror.stand_down(key, SLICE):
            await asyncio.sleep(0)

    def _is_leaving(self, job: WatchedJob, record: Suspension) -> bool:
        """Whether pods are left that are in the way: those that stay, and others where that matters."""
        # Members of one group that name different schedulers would make it invalid.
        to_the_last = self._is_foreign(record) or job.spec.pod_replacement_policy == AFTER_THE_LAST
        terminating = job.status.active + job.status.terminating if to_the_last else 0
        return bool(terminating or self._overlay.pods_of(job.metadata.namespace, job.metadata.uid))

    def _see_who_has_come(self, key: str, returning: Return) -> None:
        """Nothing is decided of the first of its pods before the last is there."""
        pods = self._overlay.pods_of(key.partition("/")[0], returning.uid)
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
        seats, beside = dict[str, list[Bind]](), dict[str, list[Bind]]()
        for bind in plan.binds:
            if bind.pod in owners:
                seats.setdefault(owners[bind.pod], []).append(bind)
            elif away.get(bind.group):
                beside.setdefault(bind.group, []).append(bind)
        for verdict in plan.decisions:
            for job in sorted(away[verdict.group]):
                await self._decided(job, verdict, seats.get(job, ()), beside.get(verdict.group, ()))
        untold = {group for group, jobs in away.items() if group in owners or jobs & self._returns.keys()}
        return Away(frozenset(group for group, jobs in away.items() if jobs), frozenset(untold))

    def _missed(self, group: str, owners: Mapping[str, str]) -> set[str]:
        """The Jobs that have stand-ins in this group."""
        return {owners[pod] for pod in self._mirror.waiting_by_group.get(group, ()) if pod in owners}

    async def _decided(
        self, key: str, verdict: GroupVerdict, seats: Sequence[Bind], beside: Sequence[Bind]
    ) -> None:
        """`beside`: the seats of other members of the group, which wait for those of the Job."""
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
        key: str,
        absence: SuspendedJob,
        why: str,
        seats: Sequence[Bind] = (),
        beside: Sequence[Bind] = (),
    ) -> None:
        if not await self._keep_places(key, absence, [*seats, *beside]):
            return  # they have changed since, and are decided again
        hold = self._overlay.hold("Return", key) or OverlayHold(key, "Return")
        returning = self._returns[key] = Return(absence, hold)
        if seats:
            returning.beside = beside
            members = self._overlay.standing.get(key, set())
            returning.awaited = len(members)
            self._hold(returning, {self._mirror.state.group_key(pod) for pod in members})
        else:
            self._stand_down(key)
        log.info("job %s, suspended for %s, is resumed: %s", key, absence.record.preemptor, why)
        self._orders.put_nowait(partial(self._resume, key))

    async def _keep_places(self, key: str, absence: SuspendedJob, seats: Sequence[Bind]) -> bool:
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

    async def _resume(self, key: str) -> None:
        returning = self._returns.get(key)
        if returning is None:
            return
        outcome = await self.suspensions.resume(returning.absence.record)
        if isinstance(outcome, Done):
            self._resumed[key] = returning.absence.job
            self._forget(key)
            self._end_after(returning, HOLD_SECONDS if returning.awaited else 0.0)
            return
        log.warning("job %s could not be resumed; trying again: %s", key, outcome.message)
        if self._returns.get(key) is returning:
            self._give_up(key, returning)
            self._end_after(returning, RETRY_SECONDS)

    async def _settle(self, record: Suspension) -> None:
        """What comes of it is seen by the watch; while nothing does, it is tried again."""
        await self.suspensions.settle(record)

    def _end_after(self, returning: Return, seconds: float) -> None:
        returning.hold.until = time.monotonic() + seconds
        asyncio.get_running_loop().call_later(seconds, self._mirror.changed.set)

    def _end(self, key: str) -> None:
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

    def _give_up(self, key: str, returning: Return) -> None:
        self._stand_down(key)
        self._give_back(returning.beside)
        returning.absence.stands = False
        groups, returning.groups, returning.awaited = returning.groups, set(), 0
        for group in groups - {group for other in self._returns.values() for group in other.groups}:
            self._worklist.release(group)


def is_over(job: WatchedJob) -> bool:
    if job.metadata.deletion_timestamp is not None:
        return True
    return any(c.type in OVER and c.status == "True" for c in job.status.conditions)


def is_older(job: WatchedJob, resumed: WatchedJob | None) -> bool:
    """Whether the watch still tells of the Job as it was before we resumed it."""
    if resumed is None or resumed.metadata.uid != job.metadata.uid or not job.spec.suspend:
        return False
    return job.metadata.generation <= resumed.metadata.generation


def waits_for_room(verdict: GroupVerdict) -> bool:
    """Room may come by itself. All else takes its pods, or a person who sees them."""
    if verdict.verdict not in ("Waiting", "Scheduled"):
        return False
    return not verdict.blockers or CATEGORIES[verdict.blockers[0].category].lifted_from_outside
