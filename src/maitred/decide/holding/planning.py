"""When a group could have its places at the earliest, and where: by the calendar of the cycle.

Without others who are planned, room only grows: so the earliest moment is found by halving the moments at
which somebody leaves. Beside others it is sought from there on, one moment after the other, and with larger
and larger steps if that takes long.

Of all places that would do, a group takes those that become free last. So what is free now can be used by
others until then.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.ends import NEVER
from maitred.cluster.journal import Seated
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.context import Context
from maitred.decide.holding.calendar import Calendar, Moment, Tenure
from maitred.decide.holds import Hold, fits
from maitred.decide.preemption.feasibility import only_quorum
from maitred.decide.scoring import WISH_BITS
from maitred.decide.seating import by_shape, per_node
from maitred.decide.seats import Steps
from maitred.model.priority import Rank

LAST_WISH = (1 << WISH_BITS) - 1
CLOSE_LOOKS = 64
"""So many moments are looked at one by one, before some are passed over."""
NO_RANK = Rank(0)
TenureFrom = Callable[[int], Tenure]
"""How long a group has its places that starts at some moment."""
FindSeats = Callable[[Trial, Ask, Tenure], Assignment | None]


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    tenure: Tenure
    seats: Assignment
    gone: Mask | None = None
    """Pods that must have left by then, where nobody knows when that is."""


class Planner:
    """Whoever asks `seats` has places at a moment without delaying those who are planned already."""

    def __init__(self, calendar: Calendar, context: Context) -> None:
        self.calendar, self.context = calendar, context

    # -- beside those who are planned ------------------------------------------------------------------

    def seats(
        self, trial: Trial, ask: Ask, tenure: Tenure, steps: Steps, among: Mask | None = None
    ) -> Assignment | None:
        """As `attempt` finds them on the cluster at the beginning of the tenure, for all of it."""
        return self.seats_beside(trial, ask, self.calendar.within(tenure), steps, among)[0]

    def seats_beside(
        self, trial: Trial, ask: Ask, moments: list[Moment], steps: Steps, among: Mask | None = None
    ) -> tuple[Assignment | None, bool]:
        """The same, and whether anything was not taken because others need it at one of these moments."""
        with self.calendar.spared(trial, moments) as spared:
            found = attempt(trial, ask, self.context, steps, among=among)
        if not found or self._keeps(moments, ask, found):
            return found, spared
        beside = np.ones(len(trial.nodes.names), dtype=np.bool_) if among is None else among.copy()
        for moment in moments:
            beside[moment.nodes] = False
        found = attempt(trial, ask, self.context, steps, among=beside)
        return found if found and self._keeps(moments, ask, found) else None, True

    def _keeps(self, moments: list[Moment], ask: Ask, found: Assignment) -> bool:
        """Whether these can be there at each of the moments, by all rules. Amounts were looked at before."""
        return all(
            self.only_amounts_count(moment, ask)
            or fits(moment.trial, Hold("", ask, found, NO_RANK), found, self.context)
            for moment in moments
        )

    def only_amounts_count(self, moment: Moment, ask: Ask) -> bool:
        """Between those who are planned and who else is there."""
        trial = moment.trial
        if trial.queues is not None:
            return False
        needs = [trial.needs(shape) for shape in {*ask.distinct, *moment.shapes}]
        if any(one.affinity or one.anti_affinity or one.spread for one in needs):
            return False
        others = (supply for supply in trial.supplies if supply is not trial.columns)
        return not any(supply.asked_by(shape) for supply in others for shape in ask.distinct)

    # -- the earliest moment ---------------------------------------------------------------------------

    def earliest(
        self,
        ask: Ask,
        tenure_from: TenureFrom,
        from_now: bool,
        place_at: Callable[[int], PlannedPlace | None],
    ) -> PlannedPlace | None:
        """None if that is not known. `from_now`: the group has not been looked at yet, and may begin now.
        `place_at`: its place at a moment."""
        ask, times = only_quorum(ask), self.calendar.changes().tolist()
        if from_now:
            times.insert(0, self.calendar.at_once)
        anywhere = self._open_to(ask, tenure_from)
        if not times or not self._fits_alone(anywhere, times[-1]):
            return None
        place = bisect_left(times, True, key=lambda moment: self._fits_alone(anywhere, moment))
        stride = 1
        while place < len(times):
            found = place_at(times[place])
            if found is not None or not (self.calendar.moments or self.calendar.openings):
                return found
            stride = stride if place < CLOSE_LOOKS else 2 * stride
            place += stride
        return None

    def _open_to(self, ask: Ask, tenure_from: TenureFrom, later: Tenure | None = None) -> Ask:
        """What is reserved for others now may not be later, and what is not may be."""
        now = tenure_from(self.calendar.now).closed
        then = frozenset[int]() if later is None else later.closed
        return ask if now == then else replace(ask, closed=ask.closed - now | then)

    def _fits_alone(self, ask: Ask, moment: int) -> bool:
        trial = self.calendar.at(moment, planned=False)
        return bool(attempt(trial, ask, self.context, self.context.steps()))

    def place_at(
        self, ask: Ask, moment: int, tenure_from: TenureFrom, among: Mask | None = None
    ) -> PlannedPlace | None:
        """Those places that become free last, if the group can begin then."""

        def seats(trial: Trial, asked: Ask, tenure: Tenure) -> Assignment | None:
            return self.seats(trial, asked, tenure, self.context.steps(), among)

        return self.place_by(seats, ask, moment, tenure_from)

    def place_by(
        self, find: FindSeats, ask: Ask, moment: int, tenure_from: TenureFrom
    ) -> PlannedPlace | None:
        """The same, as somebody finds seats on the cluster of that moment."""
        ask, tenure = only_quorum(ask), tenure_from(moment)
        if tenure.end <= moment:
            return None
        ask = self._open_to(ask, tenure_from, tenure)
        trial = self.calendar.at(moment)
        trial.wish = self._late_first(moment)
        found = find(trial, ask, tenure)
        trial.wish = None
        return PlannedPlace(tenure, quorum_of(ask, found)) if found else None

    def _late_first(self, moment: int) -> Ints:
        last = self.calendar.freed_last(moment)
        rank = np.unique(-last, return_inverse=True)[1].astype(np.int64)
        return np.where(last > 0, np.minimum(rank, LAST_WISH - 1), LAST_WISH)

    def keep(self, ask: Ask, place: PlannedPlace) -> None:
        """From now on nobody may delay it who comes later."""
        begin = place.tenure.begin
        known = place.gone is None
        there = self.calendar.at(begin, gone=place.gone)
        self.calendar.plan(entries_of(ask, place.seats), place.tenure, there, known)

    # -- where ends are not known ----------------------------------------------------------------------

    def soonest(self, ask: Ask, group: str, ends: Ints, nodes: Mask | None) -> PlannedPlace | None:
        """The places that are likely to be free first, if those end who may. `nodes`: where they were kept so
        far; they stay there if that will do."""
        times = np.unique(ends[ends < NEVER]).tolist()
        tenure, ask = Tenure(self.calendar.at_once, NEVER, group), only_quorum(ask)
        if nodes is not None:
            found = self._once_gone(ask, tenure, ends < NEVER, nodes)
            if found is not None:
                return found
        if not times or self._once_gone(ask, tenure, ends < NEVER) is None:
            return None

        def fits(moment: int) -> bool:
            return self._once_gone(ask, tenure, ends <= moment) is not None

        first = times[bisect_left(times, True, key=fits)]
        found = self._once_gone(ask, tenure, ends <= first)
        return None if found is None else replace(found, gone=ends < NEVER)

    def _once_gone(
        self, ask: Ask, tenure: Tenure, gone: Mask, among: Mask | None = None
    ) -> PlannedPlace | None:
        trial = self.calendar.at(tenure.begin, gone=gone)
        since_now = Tenure(self.calendar.now, tenure.end)
        found = self.seats(trial, ask, since_now, self.context.steps(), among)
        return PlannedPlace(tenure, quorum_of(ask, found), gone) if found else None


def entries_of(ask: Ask, seats: Assignment) -> list[Seated]:
    return [
        Seated(shape, rows, copies, account=ask.account)
        for shape, rows, copies in per_node(by_shape(ask, seats))
    ]
