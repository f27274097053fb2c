"""The trial of one future: who sits where, who has room, and who would have to leave."""

from dataclasses import dataclass, field, replace

import numpy as np

from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.seating import commit
from maitred.decide.seats import Steps
from maitred.explain.forecast.displacing import Holdings, Lesser, make_way
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.holding import FutureHolds
from maitred.explain.forecast.lending import Lending
from maitred.explain.forecast.room import RoomEstimate
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.remedies.rehearsal import NODES_PER_UNIT, PROBE_STEPS, STEPS_PER_UNIT

LOOKS_PER_TRY = 16
"""Effort is counted in looks at how much room there is; to try a group takes so much longer,"""
LOOKS_PER_MOMENT = 16
"""and to know of each moment at which somebody is planned to begin what the cluster will be like then,"""
LOOKS_PER_PLAN = 800
"""and to plan where and when a group begins at the earliest."""


@dataclass(slots=True, eq=False)
class ForecastRun:
    """A group that has been seated in this future, or one that runs now while others of it come."""

    group: ForecastGroup
    since: float
    ends: float
    places: list[Seated] = field(default_factory=list)


@dataclass(slots=True)
class PlacesKept:
    """Places that are kept free for a group until it has seats; nobody's, at first."""

    key: str = ""
    leaving: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Pods that will have left by then."""
    wanted: list[Seated] = field(default_factory=list)
    held: list[Seated] = field(default_factory=list)


class FutureCluster:
    def __init__(self, outset: StartingPoint, effort: AttemptBudget) -> None:
        self.outset, self.effort = outset, effort
        self.trial = Trial.of(outset.snapshot)
        self.room = RoomEstimate(self.trial, outset.context)
        self.stays: dict[str, ForecastRun] = {}
        self.here = np.ones(len(outset.tenants), dtype=np.bool_)
        """Tenants that have not left."""
        self._kept = PlacesKept()
        self.holds: FutureHolds | None = None
        """What is held for others, or reserved; None if nothing is."""
        self.shut_out = False
        """Whether there may have been room for whoever looked last, but for what is kept for others."""
        self._size = 1 + len(self.trial.nodes.names) // NODES_PER_UNIT
        self._holdings = Holdings(self.trial, outset.displacing)
        self._note_tenants(np.arange(len(outset.tenants)), +1)

    # -- coming and going ------------------------------------------------------------------------------

    def begin(self) -> None:
        """All have their seats who get them now: what is held from now on is held beside them."""
        if self.outset.keeps:
            self.holds = FutureHolds(self.outset)
            self.effort.spend(LOOKS_PER_MOMENT * self._size * len(self.holds.calendar.moments))

    def sit(self, stay: ForecastRun, group: ForecastGroup, seats: Assignment) -> None:
        self.stays[group.key] = stay
        places = commit(self.trial, group.ask, seats)
        for seated in places:
            stay.places.append(seated)
            self._holdings.change(group.priority, seated.rows, self._amounts(seated), +1)
        if self.holds is not None:
            self.holds.entered(group, places)

    def leave(self, stay: ForecastRun) -> None:
        del self.stays[stay.group.key]
        for seated in stay.places:
            self.trial.let_go(seated)
            self._holdings.change(stay.group.priority, seated.rows, self._amounts(seated), -1)
        if self.holds is not None:
            self.holds.left(stay.group.key)

    def clear(self, tenants: Ints) -> None:
        """Tenants leave, but for those who have left."""
        leaving = tenants[self.here[tenants]]
        if not len(leaving):
            return
        self.here[leaving] = False
        pods = self.outset.tenants.pods_of(leaving)
        self.trial.evict(pods)
        if self.holds is not None:
            self.holds.gone(pods)
        if self._kept.key:
            self.trial.expect(pods[~self._kept.leaving[pods]])
        self._note_tenants(leaving, -1)

    def _note_tenants(self, tenants: Ints, sign: int) -> None:
        if not self.outset.displacing:
            return
        priorities = self.outset.priorities[tenants]
        for priority in np.unique(priorities).tolist():
            pods = self.outset.tenants.pods_of(tenants[priorities == priority])
            rows, amounts = self.trial.snapshot.bound.node[pods], self.trial.columns.amounts_of(pods)
            self._holdings.change(priority, rows, amounts, sign)

    def _amounts(self, seated: Seated) -> Ints:
        return np.outer(seated.copies, self.trial.columns.request_column(self.trial.needs(seated.shape)))

    # -- places that are kept --------------------------------------------------------------------------

    def keep(self, key: str, places: list[Seated], leaving: Ints) -> None:
        """Nobody else is to sit there, once these tenants have left."""
        pods = np.zeros(len(self.trial.snapshot.bound.node), dtype=np.bool_)
        pods[self.outset.tenants.pods_of(leaving)] = True
        self._kept = PlacesKept(key, pods, places)
        self._hold()

    def _hold(self) -> None:
        kept = self._kept
        kept.held = [self.trial.hold(one.shape, one.rows, one.copies, kept.leaving) for one in kept.wanted]

    def _let_go(self) -> None:
        for seated in self._kept.held:
            self.trial.let_go(seated)
        self._kept.held = []

    # -- who has room ----------------------------------------------------------------------------------

    def seats_for(self, group: ForecastGroup) -> Assignment:
        """Places for its quorum, or for as many as can be of those who come late."""
        if group.key != self._kept.key:
            return self._seats_for(group)
        self._let_go()
        seats = self._seats_for(group)
        if not seats:
            self._hold()
        return seats

    def _seats_for(self, group: ForecastGroup) -> Assignment:
        self.shut_out = False
        if not self._may_hold(group, None):
            return []
        kept = None if self.holds is None else self.holds.kept_from(self.trial, group)
        self.shut_out = kept is not None
        if kept is not None and not self._may_hold(group, -kept):
            return []
        steps = Steps(PROBE_STEPS)
        if self.holds is None:
            found = attempt(self.trial, group.ask, self.outset.context, steps)
        else:
            found = self.holds.seats(self.trial, group, steps)
        self.effort.spend(LOOKS_PER_TRY * (self._size + (PROBE_STEPS - steps.left) // STEPS_PER_UNIT))
        return quorum_of(group.ask, found) if found and group.ask.need else found or []

    def plan(self, group: ForecastGroup) -> None:
        """A hold for one that finds no seats."""
        if self.holds is not None:
            self.effort.spend(LOOKS_PER_PLAN * self._size)
            self.holds.plan(self.trial, group)

    def _may_hold(self, group: ForecastGroup, more: Ints | None) -> bool:
        looks = self.room.looks
        possible = self.room.may_hold(group.ask, more)
        self.effort.spend((self.room.looks - looks) * self._size)
        return possible

    def make_way(self, group: ForecastGroup, now: float) -> tuple[Assignment, list[ForecastGroup]]:
        """Seats for its quorum and those who lose theirs for it, all of whom want to come back."""
        if self.outset.lending is not None:
            return self._reclaim(group, now, self.outset.lending)
        held = self._holdings.below(group.priority) if group.displaces and group.ask.need else None
        if held is None or not self._may_hold(group, held):
            return [], []
        return self._in_place_of(group, group.ask, self._lesser(group.priority, now), now)

    def _reclaim(
        self, group: ForecastGroup, now: float, lending: Lending
    ) -> tuple[Assignment, list[ForecastGroup]]:
        use = self.trial.queues
        assert use is not None, "where there are queues, what they use is counted"
        if not (group.displaces and group.ask.need):
            return [], []
        own = lending.queue_of_account(group.ask.account)
        for ask, yields in lending.yielding(use, group, now):
            tenants = [self._tenant(number) for number in np.flatnonzero(self.here & yields).tolist()]
            stays = [
                stay
                for stay in self._lesser_stays(group.priority)
                if lending.queue_of_account(stay.group.ask.account) == own
            ]
            lesser = [*tenants, *map(self._stay, stays)]
            seats, back = self._in_place_of(group, ask, lesser, now)
            if seats:
                return seats, back
        return [], []

    def _in_place_of(
        self, group: ForecastGroup, ask: Ask, lesser: list[Lesser[int | ForecastRun]], now: float
    ) -> tuple[Assignment, list[ForecastGroup]]:
        if self.holds is not None and lesser:
            ask = replace(ask, closed=ask.closed | self.holds.where_nobody_leaves(group))
        way = make_way(self.trial, self.outset.context, ask, lesser) if lesser else None
        self.effort.spend(2 * LOOKS_PER_TRY * self._size * (way.tries if way else 1))
        if way is None:
            return [], []
        back = []
        for victim in way.victims:
            if isinstance(victim.who, ForecastRun):
                self.leave(victim.who)
                victim.who.ends = now
                back.append(victim.who.group.again(now))
            else:
                self.clear(np.array([victim.who]))
                back.append(self.outset.displaced_group(victim.who, now))
        return way.seats, back

    def _lesser(self, priority: int, now: float) -> list[Lesser[int | ForecastRun]]:
        """Who may be displaced by now."""
        outset = self.outset
        may = self.here & (outset.priorities < priority) & (outset.protected_until <= now)
        tenants = [self._tenant(number) for number in np.flatnonzero(may).tolist()]
        return [*tenants, *map(self._stay, self._lesser_stays(priority))]

    def _lesser_stays(self, priority: int) -> list[ForecastRun]:
        stays = (stay for stay in self.stays.values() if stay.places and stay.group.displaceable)
        return [stay for stay in stays if stay.group.priority < priority]

    def _tenant(self, number: int) -> Lesser[int | ForecastRun]:
        outset = self.outset
        pods: Rows = outset.tenants.pods_of(np.array([number]))
        since, rank = float(outset.tenants.started[number]), int(outset.priorities[number])
        return Lesser(
            number, rank, since, self.trial.snapshot.bound.node[pods], self.trial.columns.amounts_of(pods)
        )

    def _stay(self, stay: ForecastRun) -> Lesser[int | ForecastRun]:
        rows = np.concatenate([seated.rows for seated in stay.places])
        amounts = np.concatenate([self._amounts(seated) for seated in stay.places])
        return Lesser(stay, stay.group.priority, stay.since, rows, amounts)
