"""Holds keep their times, not their nodes.

Where a group finds no seats beside those who begin later, these may have other nodes, each at its own time.
They are dealt theirs in the order in which they begin. So on nodes that are alike only their number counts:
whoever fits in by the number of nodes at each moment has some, as in a textbook, where nodes have no names.
"""

from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.holding.calendar import Moment, Tenure
from maitred.decide.holding.planning import PlannedPlace, Planner, TenureFrom, entries_of
from maitred.decide.preemption.feasibility import only_quorum
from maitred.decide.seats import Steps

IN_VAIN = 32
"""So many times a decision tries to deal and cannot, before it leaves everybody where they are. Where nodes
are alike that never happens."""


@dataclass(eq=False, slots=True)
class DealtPlace:
    """What is kept for a group. Others may have it dealt other nodes, at the same time."""

    ask: Ask
    tenure_from: TenureFrom
    place: PlannedPlace

    @property
    def begin(self) -> int:
        return self.place.tenure.begin

    @property
    def rows(self) -> frozenset[int]:
        return frozenset(row for _, row in self.place.seats)


class Dealer:
    def __init__(self, planner: Planner) -> None:
        self.planner, self.calendar, self.context = planner, planner.calendar, planner.context
        self._kept: dict[str, DealtPlace] = {}
        self._in_vain = 0

    def keep(self, group: str, kept: DealtPlace) -> None:
        """From now on nobody may delay it who comes later."""
        self._kept[group] = kept
        self.planner.keep(kept.ask, kept.place)

    def give_up(self, group: str) -> None:
        del self._kept[group]
        self.calendar.unplan(group)

    def place_at(self, ask: Ask, moment: int, tenure_from: TenureFrom) -> PlannedPlace | None:
        """As the planner has it; others are dealt other nodes if the group can only begin then so."""

        def seats(trial: Trial, asked: Ask, tenure: Tenure) -> Assignment | None:
            return self.seats(trial, asked, tenure, self.context.steps())

        return self.planner.place_by(seats, ask, moment, tenure_from)

    def seats(self, trial: Trial, ask: Ask, tenure: Tenure, steps: Steps) -> Assignment | None:
        """As the planner finds them; else for the quorum, if others are dealt other nodes."""
        moments = self.calendar.within(tenure)
        found, spared = self.planner.seats_beside(trial, ask, moments, steps)
        if found or not (spared and ask.need) or self._in_vain >= IN_VAIN:
            return found
        return self._seats_of_others(trial, only_quorum(ask), tenure, moments, steps)

    def _seats_of_others(
        self, trial: Trial, ask: Ask, tenure: Tenure, moments: list[Moment], steps: Steps
    ) -> Assignment | None:
        """Those who begin at these moments are dealt other nodes. None if one of them would have none."""
        found = attempt(trial, ask, self.context, steps)
        if not found or not all(self._has_room(moment, ask) for moment in moments):
            return None
        seats = quorum_of(ask, found)
        dealt = self._dealt(ask, seats, tenure)
        if dealt is None:
            self._in_vain += 1
            return None
        self._deal(dealt)
        return seats

    def _has_room(self, moment: Moment, ask: Ask) -> bool:
        """Whether there is room for the group anywhere then, beside all who are there. Those who begin at an
        unknown time are not moved; nor is anybody where more than amounts count."""
        if not moment.is_known or not self.planner.only_amounts_count(moment, ask):
            return False
        return bool(attempt(moment.trial, ask, self.context, self.context.steps()))

    def _dealt(self, ask: Ask, seats: Assignment, tenure: Tenure) -> dict[str, PlannedPlace] | None:
        """Other nodes for those who begin later and cannot stay where they are. None if there are none."""
        later = [item for item in self._kept.items() if item[1].begin > tenure.begin]
        then = self.calendar.until(tenure.begin)
        then.enter(entries_of(ask, seats), tenure)
        planner, found, changed = Planner(then, self.context), dict[str, PlannedPlace](), set[int]()
        changed.update(row for _, row in seats)
        for group, kept in sorted(later, key=lambda item: item[1].begin):
            place = kept.place
            if not changed.isdisjoint(kept.rows):
                other = self._another(planner, kept)
                if other is None:
                    return None
                changed.update(row for _, row in other.seats)
                found[group] = place = other
            then.expect(entries_of(kept.ask, place.seats), place.tenure)
        return found

    def _another(self, planner: Planner, kept: DealtPlace) -> PlannedPlace | None:
        """Where it is, if it can stay there; else anywhere, unless it would rather be in some domains."""
        there = planner.place_at(kept.ask, kept.begin, kept.tenure_from, self.nodes_of(kept))
        if there is not None or kept.ask.topology.preferred:
            return there
        return planner.place_at(kept.ask, kept.begin, kept.tenure_from)

    def nodes_of(self, kept: DealtPlace) -> Mask:
        found = np.zeros(len(self.calendar.snapshot.nodes.names), dtype=np.bool_)
        found[list(kept.rows)] = True
        return found

    def _deal(self, dealt: dict[str, PlannedPlace]) -> None:
        for group in dealt:
            self.calendar.unplan(group)
        for group, place in dealt.items():
            kept = self._kept[group]
            kept.place = place
            self.planner.keep(kept.ask, place)
