"""Where every future begins: what is decided now, who runs and until when, who waits and who may come."""

import sys
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.ends import NEVER as NO_END
from maitred.cluster.ends import enforced_spans
from maitred.cluster.journal import Seated
from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import NO_GROUP, GroupView
from maitred.decide.agenda import first_turn
from maitred.decide.alike import kin, plain
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.context import Context
from maitred.decide.deadlines import NOT_DUE, due, goes_by_deadline, urgency
from maitred.decide.diagnose import Diagnosis, Grounds
from maitred.decide.holding.waiting import PlannedGroup
from maitred.decide.levels import known_levels
from maitred.decide.preemption.evictable import NEVER as ALWAYS_PROTECTED
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.overriding import with_overrides
from maitred.decide.queues.past_use import PastUse, settle
from maitred.decide.screen import screen, waits_for_time_alone
from maitred.explain.forecast.ends import Tenants
from maitred.explain.forecast.groups import NOBODY, ForecastGroup, FutureArrivals, rest_of, run_times
from maitred.explain.forecast.lending import Lending
from maitred.explain.forecast.runs import NEVER, Floats, Runs
from maitred.explain.forecast.shapes import shapes_of
from maitred.explain.situation import Situation
from maitred.model.group import Group
from maitred.model.plan import Blocker
from maitred.model.policy import grace_limit, preempts
from maitred.model.reservations import goes_on
from maitred.model.runtime import NO_TERMS, Runtime, with_stay

HOUR = 3_600_000
"""In milliseconds."""


NOT_OUTRANKED = (False, -sys.maxsize)


@dataclass(frozen=True, slots=True)
class PlannedStart:
    """A group that the Plan gives seats, now or once others have left."""

    group: ForecastGroup
    seats: Assignment
    starts: float


@dataclass(frozen=True, slots=True)
class AgedHold:
    """A hold by age: how much has stood idle for it up to a time, and how much does from then on."""

    plan: PlannedGroup
    since: int
    idle: float
    rate: float

    def at(self, now: int) -> "AgedHold":
        return replace(self, since=now, idle=self.idle + self.rate * max(0, now - self.since) / HOUR)

    def spent_at(self, most: float) -> float:
        """In seconds since 1970; NEVER if that does not come."""
        left = max(0.0, most - self.idle)
        return (self.since + left / self.rate * HOUR) / 1000 if self.rate else NEVER


class StartingPoint:
    def __init__(self, situation: Situation) -> None:
        self.situation, self.policy, self.plan = situation, situation.policy, situation.decided()
        self.now = situation.now.timestamp()
        self.runs = Runs(situation.history.groups, self.now)
        self.known_shapes = shapes_of(situation.snapshot, situation.history.groups)
        self.snapshot = self.known_shapes.snapshot
        self.context = Context(self.policy, known_levels(self.policy, self.snapshot))
        self.tenants = Tenants(self.snapshot, self.now, self.runs, grace_limit(self.policy))
        self.holds = situation.cycle().holds
        self.keeps = bool(self.holds.calendar.moments or self.holds.reservations.kept)
        """Whether places are held for somebody, or reserved."""
        self.arrivals = FutureArrivals(
            situation.history, self.now, self.known_shapes, self.runs, self.policy.order
        )
        self.seatings = list[PlannedStart]()
        self.waiting = list[ForecastGroup]()
        self.held_back = list[tuple[float, ForecastGroup]]()
        """Those that wait for their time, and when that is."""
        for view in with_overrides(self.snapshot, situation.now).groups:
            group = self._group(view)
            if group is not None:
                self._admit(group, view)

    @property
    def groups(self) -> list[ForecastGroup]:
        """All who have a turn now, or will have one when it is their time."""
        held_back = (group for _, group in self.held_back)
        return [*(seating.group for seating in self.seatings), *self.waiting, *held_back]

    @property
    def certain(self) -> bool:
        """Whether there is but one time at which each who runs or waits may end."""
        return self.tenants.certain and all(bool((g.runs == g.runs[:1]).all()) for g in self.groups)

    def beside_others(self, key: str) -> tuple[Blocker, ...]:
        """What would be in the way of one who waits if all others had left; none where that is not sure."""
        ask = next(group.ask for group in reversed(self.groups) if group.key == key)
        grounds = Grounds(self.snapshot, self.context)
        diagnosis = Diagnosis(grounds, grounds.roomy)
        found = diagnosis.behind_gates(ask)
        return () if diagnosis.exhausted else found

    # -- who waits -------------------------------------------------------------------------------------

    def _group(self, view: GroupView) -> ForecastGroup | None:
        """None for who may not start yet, or is another scheduler's."""
        key, scheduler = view.group.key, self.situation.scheduler
        screening = screen(view, self.snapshot, self.context, self.situation.now)
        is_barred = screening.problems or not waits_for_time_alone(screening.obstacles)
        if is_barred or scheduler not in (None, *view.pending_schedulers):
            return None
        ask = self._ask(view)
        most, ends_by = self._certain_end(view.runtime, view.account)
        latest_start = self._latest_start(view)
        turn = first_turn(
            self.policy.order,
            screening.rank.priority,
            view.created,
            key,
            promised=bool(view.nominated),
            lifted=view.override is not None,
            scavenges=ask.scavenges,
            deadline=NOT_DUE if latest_start == NEVER else urgency(view, self.snapshot.book, self.now * 1000),
        )
        return ForecastGroup(
            key=key,
            turn=turn,
            ask=ask,
            kin=self._kin(view, turn.rank, ask.closed),
            runs=self._runs(view.group, view.runtime, view.account, ask),
            displaces=screening.rank.preemption_policy != "Never" and not ask.scavenges,
            displaceable=not view.group.protection.non_preemptible,
            schedulers=view.pending_schedulers,
            latest_start=latest_start,
            lifted_until=NEVER if view.override is None else view.override.until.timestamp(),
            most=most,
            ends_by=ends_by,
            payer=view.payer,
        )

    def _certain_end(self, runtime: Runtime, account: int) -> tuple[float, float]:
        """In how many seconds from its start it has ended for certain, and when, whenever it starts."""
        terms = NO_TERMS if self.snapshot.book is None else self.snapshot.book.run_terms(account)
        span, deadline = min(enforced_spans(runtime, terms)), runtime.stay.deadline
        return NEVER if span >= NO_END else span / 1000, NEVER if deadline is None else deadline / 1000

    def _ask(self, view: GroupView) -> Ask:
        """On the account on which it would run by now, and not on nodes that are kept free for repairs."""
        ask, tried = ask_of(view), self.situation.cycle().group(view.group.key)
        if tried is None:
            return ask
        if tried.ask.closed:
            ask = replace(ask, closed=tried.ask.closed - self.holds.from_now(view).closed)
        return replace(ask, account=tried.ask.account, scavenges=True) if tried.ask.scavenges else ask

    def _latest_start(self, view: GroupView) -> float:
        """Until when its deadline counts; NEVER if it does not, or not any more."""
        found = due(view, self.snapshot.book) if goes_by_deadline(self.policy.order) else None
        known = found is not None and found.can_be_kept(round(self.now * 1000))
        at = None if found is None or not known else found.latest_start
        return NEVER if at is None else at / 1000

    def _kin(self, view: GroupView, first: int, closed: frozenset[int]) -> Hashable:
        key = view.group.key
        if not view.missing:
            return rest_of(key)
        if view.override is not None:
            return "lifted", key
        return (first, view.account, (kin(view), closed) if plain(self.snapshot, view) else key)

    def _admit(self, group: ForecastGroup, view: GroupView) -> None:
        first = view.runtime.stay.timing.not_before
        if first is not None and first / 1000 > self.now:
            self.held_back.append((first / 1000, group))
            return
        places = [(member, self._places[pod]) for member, pod in enumerate(view.pods) if pod in self._places]
        if places:
            seats = [(member, row) for member, (row, _) in places]
            self.seatings.append(PlannedStart(group, seats, max(at for _, (_, at) in places)))
            group = group.rest(seats)
        if group.ask.shapes:
            self.waiting.append(group)

    @cached_property
    def _places(self) -> dict[str, tuple[int, float]]:
        """Pods that the Plan gives places: the rows, and when they sit there."""
        rows, ready = self.snapshot.nodes.rows, self.now + self.grace
        promised = {bind.pod: (rows[bind.node], ready) for bind in self.plan.nominations}
        return {**promised, **{bind.pod: (rows[bind.node], self.now) for bind in self.plan.binds}}

    def _runs(self, group: Group, runtime: Runtime, account: int, ask: Ask) -> Floats:
        requests = self.snapshot.needs[self.snapshot.shapes[ask.shapes[0]].needs].requests
        terms = NO_TERMS if self.snapshot.book is None else self.snapshot.book.run_terms(account)
        return run_times(runtime, terms, lambda: self.runs.like(group.key, (group.quorum, requests)))

    # -- what is kept ----------------------------------------------------------------------------------

    @cached_property
    def planned_places(self) -> dict[str, PlannedGroup]:
        """Of groups that have holds."""
        return {one.key: one for one in self.holds.planned}

    def promised(self, key: str) -> float:
        """When a group starts at the latest, by its hold or its booked start; NEVER if it has none that says
        so."""
        plan, booked = self.planned_places.get(key), self.holds.booked.kept.get(key)
        if booked is not None:
            return booked.booking.at.timestamp()
        return NEVER if plan is None or plan.basis == "age" else -(-plan.place.tenure.begin // 1000)

    @cached_property
    def planned(self) -> dict[str, tuple[bool, int]]:
        """The strength of groups that have a place planned. Nobody outranks those that are not decided, and
        those whose start is booked."""
        known = {group.key: group.strength for group in self.groups}
        booked = dict.fromkeys(self.holds.booked.kept, NOT_OUTRANKED)
        return {key: known.get(key, NOT_OUTRANKED) for key in self.planned_places} | booked

    @cached_property
    def aged(self) -> dict[str, AgedHold]:
        known, now = {one.group: one for one in self.holds.known.holds}, round(self.now * 1000)
        found = dict[str, AgedHold]()
        for key, plan in self.planned_places.items():
            hold = known.get(key)
            if plan.basis == "age" and hold is not None and hold.at is not None:
                since = round(hold.at.timestamp() * 1000)
                found[key] = AgedHold(plan, since, hold.idle, hold.rate).at(now)
        return found

    @cached_property
    def openings(self) -> Floats:
        """When others may have nodes again that are reserved, in order: as far ahead as reservations are
        looked at."""
        found, now = set[int](), round(self.now * 1000)
        for one in self.holds.reservations.kept:
            spans = one.spans[:-1] if goes_on(one.said, now) else one.spans
            found.update(end for _, end in spans)
        return np.array(sorted(found), dtype=np.float64) / 1000

    @cached_property
    def entered(self) -> dict[str, list[Seated]]:
        """What groups have got in this cycle, as its calendar has it."""
        groups = (group for group in reversed(self.situation.cycle().groups) if group.places)
        return {group.key: [place for _, place in group.places] for group in groups}

    # -- who leaves for others -------------------------------------------------------------------------

    @cached_property
    def displaced(self) -> list[int]:
        """Tenants of whom the Plan evicts somebody."""
        evicted, tenants = {eviction.pod for eviction in self.plan.evictions}, self.tenants
        if not evicted:
            return []
        gone = np.array([one.key in evicted for one in self.snapshot.bound.occupants], dtype=np.bool_)
        found: list[int] = np.flatnonzero(tenants.any_of(gone)).tolist()
        return found

    @cached_property
    def leaving(self) -> Ints:
        """Tenants that make room for those who were promised their places."""
        leaving = self._evictable.leaving
        gone = leaving[self.tenants.heads] & bool(self.plan.nominations)
        gone[self.displaced] = True
        return np.flatnonzero(gone)

    @cached_property
    def grace(self) -> float:
        """Seconds until the last of them has left."""
        return float(self.tenants.graces[self.leaving].max(initial=0.0))

    @cached_property
    def _evictable(self) -> EvictablePods:
        return EvictablePods(self.snapshot, self.policy, round(self.now * 1000))

    @cached_property
    def priorities(self) -> Ints:
        """Of the tenants."""
        return self._evictable.priority[self.tenants.heads]

    @cached_property
    def protected_until(self) -> Floats:
        """From when on tenants may be displaced; NEVER if they may not be."""
        evictable = self._evictable
        known = evictable.movable & (evictable.protected_until != ALWAYS_PROTECTED)
        return self.tenants.last_of(np.where(known, evictable.protected_until / 1000, NEVER))

    @cached_property
    def ripening(self) -> Floats:
        """The moments from which on more tenants may be displaced, in order: there is news without an end."""
        if self.lending is not None:
            return self._to_come(np.concatenate([self.lending.ripening, np.unique(self.protected_until)]))
        if not self.displacing:
            return np.zeros(0)
        lesser = self.priorities < max(self.displacing)
        return self._to_come(self.protected_until[lesser])

    def _to_come(self, times: Floats) -> Floats:
        until = np.unique(times)
        return until[(until > self.now) & (until < NEVER)]

    @cached_property
    def lending(self) -> Lending | None:
        """Who must leave for whom, where there are queues."""
        book = self.snapshot.book
        return None if book is None else Lending(book, self.policy, self.tenants, self._evictable)

    @cached_property
    def past_use(self) -> PastUse | None:
        """What queues have used, as it is now."""
        return settle(self.snapshot, self.policy, self.situation.now).past

    @cached_property
    def displacing(self) -> frozenset[int]:
        """Priorities for which others may have to leave; none where all are of one priority."""
        if self.lending is not None or not preempts(self.policy):
            return frozenset()
        asking = {group.priority for group in self.groups if group.displaces}
        asking.update(group.priority for group in self.arrivals.past)
        lowest = min([*asking, *np.unique(self.priorities).tolist()], default=0)
        return frozenset(asking - {lowest})

    def displaced_group(self, tenant: int, now: float) -> ForecastGroup:
        """A tenant that has lost its seats, and wants to come back."""
        snapshot, pods = self.snapshot, self.tenants.pods_of(np.array([tenant]))
        number, first = int(self.tenants.group[tenant]), int(pods[0])
        seated = snapshot.seated[number] if number != NO_GROUP else None
        bound, book = snapshot.bound, snapshot.book
        lone = with_stay(snapshot.standings[bound.standing[first]].runtime, snapshot.stays[bound.stay[first]])
        account = NO_ACCOUNT if book is None else int(book.account_of_bound[first])
        group = Group(snapshot.bound.occupants[first].key) if seated is None else seated.group
        shapes = tuple(self.known_shapes.of_pods[pods].tolist())
        quorum = min(group.quorum, len(shapes))
        free = book is not None and book.accounts[account].scavenges
        ask = Ask(shapes, (NOBODY,) * len(shapes), quorum, group.topology, account=account, scavenges=free)
        turn = first_turn(self.policy.order, int(self.priorities[tenant]), now, group.key, scavenges=free)
        runtime = lone if seated is None else seated.runtime
        runs = self._runs(group, runtime, account, ask)
        most, ends_by = self._certain_end(runtime, account)
        payer = snapshot.payers[bound.payer[first]]
        alike = ("back", turn.rank, shapes, ask.need, group.topology, account)
        return ForecastGroup(
            group.key,
            turn,
            ask,
            alike,
            runs,
            displaces=not free,
            most=most,
            ends_by=ends_by,
            payer=payer,
        )
