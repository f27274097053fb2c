"""Holds and reservations in one future: what is kept for somebody, and so is not there for others.

A future begins with the calendar that the cycle has left, and its groups have their seats beside it as they
have them in a cycle: by the same planner. Where a group has a place planned, it keeps that until it starts.
Holds that would be made or moved later are not foreseen.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from maitred.cluster.ends import NEVER as NO_END
from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Ints
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.holding.calendar import Tenure
from maitred.decide.holding.idle import devices_idle
from maitred.decide.holding.planning import Planner
from maitred.decide.seats import Steps
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.runs import NEVER
from maitred.explain.forecast.starting_point import AgedHold, StartingPoint

NO_ROOM = 1 << 40
"""More than any node has of anything."""


class FutureHolds:
    """Where nothing is held or reserved, nothing of this is looked at."""

    def __init__(self, outset: StartingPoint) -> None:
        known = outset.holds
        self.outset, self.calendar = outset, known.calendar.fork(outset.snapshot)
        self.reservations = known.reservations
        self._planner = Planner(self.calendar, outset.context)
        self._strength = dict(outset.planned)
        """Of the groups that have a place planned."""
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

    def is_shut_out_with(self, group: ForecastGroup, other: ForecastGroup) -> bool:
        """Whether all that is kept from another of its kin is kept from this one, too."""
        if group.key in self._strength:
            return False
        return group.payer == other.payer and group.most >= other.most and group.ends_by >= other.ends_by

    # -- who has room ----------------------------------------------------------------------------------

    @contextmanager
    def _ahead_of(self, group: ForecastGroup) -> Iterator[None]:
        """Only what those have planned whom the group does not outrank; and nothing of its own."""
        lesser = {key for key, theirs in self._strength.items() if theirs > group.strength}
        with self.calendar.without(lesser | {group.key}):
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

    # -- what is kept no longer ------------------------------------------------------------------------

    def spend(self, trial: Trial) -> list[str]:
        """Groups for which too much has stood idle by now. Of the others, how much does from now on."""
        over = []
        for key, aged in self._aged.items():
            spent = aged.at(self.now)
            if spent.idle >= self.outset.policy.holds.idle:
                over.append(key)
            rate = devices_idle(trial, aged.plan.ask, aged.plan.place.seats, self.outset.policy)
            self._aged[key] = replace(spent, rate=float(rate))
        return over

    @property
    def spent_at(self) -> float:
        """When that is so of the next of them, in seconds; NEVER if it is not to come."""
        most = self.outset.policy.holds.idle
        return min((one.spent_at(most) for one in self._aged.values()), default=NEVER)


def in_ms(seconds: float) -> int:
    return NO_END if seconds == NEVER else round(seconds * 1000)
