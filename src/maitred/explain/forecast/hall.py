"""The trial of one future: who sits where, who has room, and who would have to leave."""

from dataclasses import dataclass, field

import numpy as np

from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.seating import commit
from maitred.decide.seats import Steps
from maitred.explain.forecast.displacing import Holdings, Lesser, make_way
from maitred.explain.forecast.guests import Guest
from maitred.explain.forecast.opening import Opening
from maitred.explain.forecast.room import Room
from maitred.explain.remedies.effort import Effort
from maitred.explain.remedies.rehearsal import NODES_PER_UNIT, PROBE_STEPS, STEPS_PER_UNIT

LOOKS_PER_TRY = 16
"""Effort is counted in looks at how much room there is; to try a group takes so much longer."""


@dataclass(slots=True, eq=False)
class Stay:
    """A group that has been seated in this future, or one that runs now while others of it come."""

    guest: Guest
    since: float
    ends: float
    places: list[Seated] = field(default_factory=list)


@dataclass(slots=True)
class Kept:
    """Places that are kept free for a group until it has seats; nobody's, at first."""

    key: str = ""
    leaving: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Pods that will have left by then."""
    wanted: list[Seated] = field(default_factory=list)
    held: list[Seated] = field(default_factory=list)


class Hall:
    def __init__(self, opening: Opening, effort: Effort) -> None:
        self.opening, self.effort = opening, effort
        self.trial = Trial.of(opening.snapshot)
        self.room = Room(self.trial, opening.context)
        self.stays: dict[str, Stay] = {}
        self.here = np.ones(len(opening.tenants), dtype=np.bool_)
        """Tenants that have not left."""
        self._kept = Kept()
        self._size = 1 + len(self.trial.nodes.names) // NODES_PER_UNIT
        self._holdings = Holdings(self.trial, opening.displacing)
        self._note_tenants(np.arange(len(opening.tenants)), +1)

    # -- coming and going ------------------------------------------------------------------------------

    def sit(self, stay: Stay, guest: Guest, seats: Assignment) -> None:
        self.stays[guest.key] = stay
        for ranked in commit(self.trial, guest.ask, seats):
            stay.places.append(ranked)
            self._holdings.change(guest.priority, ranked.rows, self._amounts(ranked), +1)

    def leave(self, stay: Stay) -> None:
        del self.stays[stay.guest.key]
        for ranked in stay.places:
            self.trial.let_go(ranked)
            self._holdings.change(stay.guest.priority, ranked.rows, self._amounts(ranked), -1)

    def clear(self, tenants: Ints) -> None:
        """Tenants leave, but for those who have left."""
        leaving = tenants[self.here[tenants]]
        if not len(leaving):
            return
        self.here[leaving] = False
        pods = self.opening.tenants.pods_of(leaving)
        self.trial.evict(pods)
        if self._kept.key:
            self.trial.expect(pods[~self._kept.leaving[pods]])
        self._note_tenants(leaving, -1)

    def _note_tenants(self, tenants: Ints, sign: int) -> None:
        if not self.opening.displacing:
            return
        priorities = self.opening.priorities[tenants]
        for priority in np.unique(priorities).tolist():
            pods = self.opening.tenants.pods_of(tenants[priorities == priority])
            rows, amounts = self.trial.snapshot.bound.node[pods], self.trial.columns.amounts_of(pods)
            self._holdings.change(priority, rows, amounts, sign)

    def _amounts(self, ranked: Seated) -> Ints:
        return np.outer(ranked.copies, self.trial.columns.request_column(self.trial.needs(ranked.shape)))

    # -- places that are kept --------------------------------------------------------------------------

    def keep(self, key: str, places: list[Seated], leaving: Ints) -> None:
        """Nobody else is to sit there, once these tenants have left."""
        pods = np.zeros(len(self.trial.snapshot.bound.node), dtype=np.bool_)
        pods[self.opening.tenants.pods_of(leaving)] = True
        self._kept = Kept(key, pods, places)
        self._hold()

    def _hold(self) -> None:
        kept = self._kept
        kept.held = [self.trial.hold(one.shape, one.rows, one.copies, kept.leaving) for one in kept.wanted]

    def _let_go(self) -> None:
        for ranked in self._kept.held:
            self.trial.let_go(ranked)
        self._kept.held = []

    # -- who has room ----------------------------------------------------------------------------------

    def seats_for(self, guest: Guest) -> Assignment:
        """Places for its quorum, or for as many as can be of those who come late."""
        if guest.key != self._kept.key:
            return self._seats_for(guest)
        self._let_go()
        seats = self._seats_for(guest)
        if not seats:
            self._hold()
        return seats

    def _seats_for(self, guest: Guest) -> Assignment:
        if not self._may_hold(guest, None):
            return []
        steps = Steps(PROBE_STEPS)
        found = attempt(self.trial, guest.ask, self.opening.context, steps)
        self.effort.spend(LOOKS_PER_TRY * (self._size + (PROBE_STEPS - steps.left) // STEPS_PER_UNIT))
        return quorum_of(guest.ask, found) if found and guest.ask.need else found or []

    def _may_hold(self, guest: Guest, more: Ints | None) -> bool:
        looks = self.room.looks
        possible = self.room.may_hold(guest.ask, more)
        self.effort.spend((self.room.looks - looks) * self._size)
        return possible

    def make_way(self, guest: Guest, now: float) -> tuple[Assignment, list[Guest]]:
        """Seats for its quorum and those who lose theirs for it, all of whom want to come back."""
        held = self._holdings.below(guest.priority) if guest.displaces and guest.ask.need else None
        if held is None or not self._may_hold(guest, held):
            return [], []
        lesser = self._lesser(guest.priority, now)
        way = make_way(self.trial, self.opening.context, guest.ask, lesser) if lesser else None
        self.effort.spend(2 * LOOKS_PER_TRY * self._size * (way.tries if way else 1))
        if way is None:
            return [], []
        back = []
        for victim in way.victims:
            if isinstance(victim.who, Stay):
                self.leave(victim.who)
                victim.who.ends = now
                back.append(victim.who.guest.again(now))
            else:
                self.clear(np.array([victim.who]))
                back.append(self.opening.guest_of(victim.who, now))
        return way.seats, back

    def _lesser(self, priority: int, now: float) -> list[Lesser[int | Stay]]:
        """Who may be displaced by now."""
        opening = self.opening
        may = self.here & (opening.priorities < priority) & (opening.protected_until <= now)
        tenants = [self._tenant(number) for number in np.flatnonzero(may).tolist()]
        stays = [
            self._stay(stay)
            for stay in self.stays.values()
            if stay.places and stay.guest.priority < priority and stay.guest.displaceable
        ]
        return [*tenants, *stays]

    def _tenant(self, number: int) -> Lesser[int | Stay]:
        opening = self.opening
        pods: Rows = opening.tenants.pods_of(np.array([number]))
        since, rank = float(opening.tenants.started[number]), int(opening.priorities[number])
        return Lesser(
            number, rank, since, self.trial.snapshot.bound.node[pods], self.trial.columns.amounts_of(pods)
        )

    def _stay(self, stay: Stay) -> Lesser[int | Stay]:
        rows = np.concatenate([ranked.rows for ranked in stay.places])
        amounts = np.concatenate([self._amounts(ranked) for ranked in stay.places])
        return Lesser(stay, stay.guest.priority, stay.since, rows, amounts)
