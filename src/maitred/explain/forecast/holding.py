"""Holds and reservations in one future: what is kept for somebody, and so is not there for others.

A future begins with the calendar that the cycle has left, and its groups have their seats beside it as they
have them in a cycle: by the same planner. Where a group has a place planned, it keeps that until it starts,
or until one that goes before it takes the place. When it has started, the next that waits has a hold. No hold
becomes earlier than it was planned.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from maitred.cluster.ends import NEVER as NO_END
from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Ints
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.holding.calendar import Tenure
from maitred.decide.holding.idle import devices_idle
from maitred.decide.holding.planning import PlannedPlace, Planner
from maitred.decide.queues.admission import is_refused
from maitred.decide.seats import Steps
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.starting_point import AgedHold, StartingPoint

NO_ROOM = 1 << 40
"""More than any node has of anything."""
MOST_PLANS = 32
"""So many holds are reckoned in one future, at most."""


class FutureHolds:
    """Where nothing is held or reserved, nothing of this is looked at."""

    def __init__(self, outset: StartingPoint) -> None:
        known = outset.holds
        self.outset, self.calendar = outset, known.calendar.fork(outset.snapshot)
        self.reservations = known.reservations
        self._planner = Planner(self.calendar, outset.context)
        self._strength = dict(outset.planned)
        """Of the groups that have a place planned."""
        self._passed: set[str] | None = None if outset.lending is None else set()
        """Where there are queues: those that have had their turns at this moment."""
        self._plans = 0
        self._aged: dict[str, AgedHold] = dict(outset.aged)
        self._entries = {key: list(entries) for key, entries in outset.entered.items()}
        self._ends = dict(known.end_of_running)
        """By when those have ended for certain who are here, in milliseconds since 1970."""
        self.now = self.calendar.now

    def advance(self, now: float) -> None:
        self.now = round(now * 1000)
        self.calendar.advance(self.now)

    # -- who comes and goes ----------------------------------------------------------------------------

    def end_of(self, group: ForecastGroup) -> int:
        """When it has ended for certain if it starts now; who comes late to a group leaves with it."""
        return self._ends.get(group.key, min(in_ms(self.now / 1000 + group.most), in_ms(group.ends_by)))

    def entered(self, group: ForecastGroup, places: Sequence[Seated]) -> None:
        self._ends[group.key] = end = self.end_of(group)
        self.calendar.enter(places, Tenure(self.now, end, group.key))
        self._entries.setdefault(group.key, []).extend(places)
        if self._behind(group):
            self._give_up_what_is_taken()

    def _give_up_what_is_taken(self) -> None:
        for one in self.calendar.moments:
            if (one.trial.columns.free[:, one.nodes] < 0).any():
                for key in one.groups:
                    self.give_up(key)

    def left(self, key: str) -> None:
        self._ends.pop(key, None)
        for entry in self._entries.pop(key, ()):
            self.calendar.leave(entry)

    def gone(self, pods: Rows) -> None:
        self.calendar.gone(pods)

    def give_up(self, key: str) -> bool:
        """Of a group that has started, or has no hold any more: whether it had a place planned."""
        self._aged.pop(key, None)
        if self._strength.pop(key, None) is None:
            return False
        self.calendar.unplan(key)
        return True

    def has_place(self, key: str) -> bool:
        """Whether it has one planned."""
        return key in self._strength

    def is_shut_out_with(self, group: ForecastGroup, other: ForecastGroup) -> bool:
        """Whether all that is kept from another of its kin is kept from this one, too."""
        if self.has_place(group.key):
            return False
        return group.payer == other.payer and group.most >= other.most and group.ends_by >= other.ends_by

    # -- whose turn it is, where there are queues ------------------------------------------------------

    def begin_turns(self) -> None:
        self._passed = set()

    def pass_turn(self, key: str) -> None:
        if self._passed is not None:
            self._passed.add(key)

    # -- who has room ----------------------------------------------------------------------------------

    def _behind(self, group: ForecastGroup) -> set[str]:
        """Groups whose holds it may delay: it outranks them, or its turn comes before theirs."""
        lesser = {key for key, theirs in self._strength.items() if theirs > group.strength}
        return lesser if self._passed is None else lesser | self._strength.keys() - self._passed

    @contextmanager
    def _ahead_of(self, group: ForecastGroup) -> Iterator[None]:
        """Only what those have planned who go before it; and nothing of its own."""
        with self.calendar.without(self._behind(group) | {group.key}):
            yield

    def _asked(self, group: ForecastGroup) -> tuple[Ask, Tenure]:
        """What it asks for, beside what is reserved for others while it would be there."""
        end = self.end_of(group)
        closed = self.reservations.closed_to_group(group.key, group.payer, self.now, end)
        ask = replace(group.ask, closed=group.ask.closed | closed) if closed else group.ask
        return ask, Tenure(self.now, end, group.key, closed)

    def seats(self, trial: Trial, group: ForecastGroup, steps: Steps) -> Assignment | None:
        """As they are found where they delay no hold."""
        ask, tenure = self._asked(group)
        with self._ahead_of(group):
            trial.wish = self.reservations.wish_at(self.now, group.key, group.payer)
            if trial.wish is None:
                trial.wish = self.calendar.held_first(tenure)
            found = self._planner.seats(trial, ask, tenure, steps)
            trial.wish = None
        return found

    def kept_from(self, trial: Trial, group: ForecastGroup) -> Ints | None:
        """What is free, and not for it; None if there is no such thing."""
        ask, tenure = self._asked(group)
        with self._ahead_of(group):
            moments = self.calendar.within(tenure)
            if not moments and not ask.closed:
                return None
            found = np.zeros_like(trial.columns.free)
            if moments:
                rows, kept = self.calendar.kept(trial, moments)
                found[:, rows] = kept
        found[:, list(ask.closed)] = NO_ROOM
        return found

    def where_nobody_leaves(self, group: ForecastGroup) -> frozenset[int]:
        """Nodes where places are held for others, or reserved: nobody is made to leave there for it."""
        ask, tenure = self._asked(group)
        with self._ahead_of(group):
            return ask.closed.union(*(one.nodes.tolist() for one in self.calendar.within(tenure)))

    # -- holds that are made later ---------------------------------------------------------------------

    @property
    def has_room_for_more(self) -> bool:
        """Whether more groups may have holds than have them now."""
        return len(self._strength) < self.outset.policy.holds.depth and self._plans < MOST_PLANS

    def plan(self, trial: Trial, group: ForecastGroup) -> None:
        """A hold for a group that finds no seats, if it is known when it could begin."""
        self._plans += 1
        ask, _ = self._asked(group)
        if not ask.need or is_refused(trial, ask, self.outset.policy):
            return
        tenure_from = partial(self._tenure, group)

        def place_at(moment: int) -> PlannedPlace | None:
            return self._planner.place_at(ask, moment, tenure_from)

        place = self._planner.earliest(ask, tenure_from, False, place_at)
        if place is not None:
            self._planner.keep(ask, place)
            self._strength[group.key] = group.strength

    def _tenure(self, group: ForecastGroup, begin: int) -> Tenure:
        end = min(in_ms(begin / 1000 + group.most), in_ms(group.ends_by))
        closed = self.reservations.closed_to_group(group.key, group.payer, begin, end)
        return Tenure(begin, end, group.key, closed)

    # -- what is kept no longer ------------------------------------------------------------------------

    def spend(self, trial: Trial) -> list[str]:
        """Groups for which too much has stood idle by now. Of the others, how much does from now on."""
        over = []
        for key, aged in self._aged.items():
            spent = aged.at(self.now)
            if spent.idle >= self.outset.policy.holds.idle:
                over.append(key)
            rate = devices_idle(trial, aged.plan.kept.ask, aged.plan.place.seats, self.outset.policy)
            self._aged[key] = replace(spent, rate=float(rate))
        return over

    @property
    def spent_at(self) -> float:
        """When that is so of the next of them, in seconds; NEVER if it is not to come."""
        most = self.outset.policy.holds.idle
        return min((one.spent_at(most) for one in self._aged.values()), default=NEVER)


def in_ms(seconds: float) -> int:
    return NO_END if seconds == NEVER else round(seconds * 1000)
