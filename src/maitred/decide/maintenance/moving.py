"""Places for those who leave: proven on the cluster as it will be without them, and kept from then on.

Nobody leaves before its last moment unless there is a place for all that it needs, and the budgets of its
pods allow it. At the last moment everybody leaves.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.context import Context
from maitred.decide.maintenance.movers import LeavingUnit, RoomMakers
from maitred.decide.preemption.feasibility import only_quorum
from maitred.decide.preemption.promises import Promises
from maitred.decide.preemption.units import Units
from maitred.decide.seating import by_shape, commit, per_node

Others = tuple[Sequence[Ask], Sequence[Ask]]
"""What groups lack that rank higher than the one for which there is to be room; and what those lack that rank
between it and those who move for it."""


@dataclass(slots=True)
class Moving:
    """What was found for one of them."""

    mover: LeavingUnit
    seats: list[Assignment] | None = None
    """By group; None if there is no place, or if it was not looked for."""
    leaves: bool = False
    """It is told to leave now."""
    in_the_way: Ask | None = None
    """What there is no place for."""
    budgets: tuple[str, ...] = ()
    """Budgets that do not allow it."""
    why_not: str = ""


@dataclass(slots=True)
class FoundRoom:
    """What was found for a group that waits, and for those who make room for it."""

    makers: RoomMakers
    movings: list[Moving]
    seats: Assignment = field(default_factory=list)
    why_not: str = ""


@dataclass
class MoveSearch:
    """On the trial of one cycle."""

    promises: Promises
    context: Context
    movers: Sequence[LeavingUnit]
    used: Counter[str] = field(default_factory=Counter)
    """Disruptions, by budget, of those who were told to leave before."""
    planned: dict[int, list[int]] = field(default_factory=dict)
    """Places of those who leave later, by shape: who ranks lower, and leaves now, does not take them."""

    @cached_property
    def units(self) -> Units:
        """All of them, whether or not they leave now."""
        evictable = self.promises.evictable
        candidates = evictable.leaving.copy()
        candidates[:] = False
        for mover in self.movers:
            candidates[mover.pods] = True
        return Units(evictable, ~evictable.leaving, candidates)

    @cached_property
    def unit_of(self) -> dict[int, int]:
        """The whole unit that each pod is in."""
        units = self.units
        pairs = zip(units.pods.tolist(), units.unit.tolist(), strict=True)
        return {pod: unit for pod, unit in pairs if units.whole[unit]}

    def serve(self, trial: Trial, mover: LeavingUnit) -> Moving:
        """It leaves if it is its time and it can. Its places are to be kept on the trial then."""
        found = Moving(mover, budgets=self._forbidding(mover))
        if self.promises.leaving[mover.pods].any():
            found.why_not = "some of its pods are leaving already"
            return found
        if self.promises.needed[mover.pods].any():
            found.why_not = "another group that is being placed counts on it"
            return found
        self._look_for_seats(trial, found)
        if mover.timing.is_last or (mover.timing.is_due and found.seats is not None and not found.budgets):
            found.leaves = True
            self._tell(trial, mover)
        elif found.seats is not None:
            self._plan(mover, found.seats)
        return found

    def _plan(self, mover: LeavingUnit, seats: list[Assignment]) -> None:
        for (_, ask), places in zip(mover.asks, seats, strict=True):
            for shape, rows in by_shape(ask, places).items():
                self.planned.setdefault(shape, []).extend(rows)

    def seat_planned(self, ahead: Trial) -> None:
        """To be rolled back."""
        for shape, rows, copies in per_node(self.planned):
            ahead.seat(shape, rows, copies)

    def _tell(self, trial: Trial, mover: LeavingUnit) -> None:
        self.promises.expect(trial, mover.pods)
        for guard in self.units.guards:
            self.used[guard.name] += int(guard.counts[self._unit(mover)])

    def _unit(self, mover: LeavingUnit) -> int:
        return self.unit_of[int(mover.pods[0])]

    def _forbidding(self, mover: LeavingUnit) -> tuple[str, ...]:
        if int(mover.pods[0]) not in self.unit_of:
            return ()
        unit = self._unit(mover)
        return tuple(
            guard.name
            for guard in self.units.guards
            if guard.counts[unit] and int(guard.counts[unit]) + self.used[guard.name] > guard.allowed
        )

    def make_room(self, trial: Trial, makers: RoomMakers, ask: Ask, others: Others) -> FoundRoom:
        """They leave together if it is their time, the group finds room without them, and then there is a
        place for each of them, also once those have theirs who rank higher. Then the room is to be kept on
        the trial, and their places in their own turns."""
        found = FoundRoom(makers, [Moving(unit, budgets=self._forbidding(unit)) for unit in makers.units])
        pods = np.concatenate([unit.pods for unit in makers.units])
        timing = makers.first.timing
        if makers.stays:
            found.why_not = makers.stays
        elif self.promises.leaving[pods].any() or self.promises.needed[pods].any():
            found.why_not = "others count on some of these pods, or they leave already"
        elif not self._find_both(trial, found, ask, others):
            found.why_not = "there is no longer room for all"
        elif timing.is_due and not timing.is_last and not any(one.budgets for one in found.movings):
            for moving in found.movings:
                moving.leaves = True
                self._tell(trial, moving.mover)
        return found

    def _find_both(self, trial: Trial, room: FoundRoom, ask: Ask, others: Others) -> bool:
        ahead, checkpoint = self._without(trial, [moving.mover for moving in room.movings])
        first, between = others
        for other in first:
            commit(ahead, other, self._attempt(ahead, other))
        ask = only_quorum(ask)
        seats = quorum_of(ask, self._attempt(ahead, ask))
        if seats:
            commit(ahead, ask, seats)
            for other in between:
                commit(ahead, other, self._attempt(ahead, other))
            for moving in room.movings:
                self._seat_elsewhere(ahead, moving)
        ahead.rollback(checkpoint)
        if seats and all(moving.seats is not None for moving in room.movings):
            room.seats = seats
        return bool(room.seats)

    def served_again(self, trial: Trial, moving: Moving) -> Moving:
        """In the turn of its own rank: who ranks higher has got seats since it was told to leave."""
        moving.seats = None
        self._look_for_seats(trial, moving)
        return moving

    def _look_for_seats(self, trial: Trial, moving: Moving) -> None:
        """For every group of it, on the cluster once all that leave have left, and it too."""
        ahead, checkpoint = self._without(trial, [moving.mover])
        self._seat_elsewhere(ahead, moving)
        ahead.rollback(checkpoint)

    def _without(self, trial: Trial, movers: Sequence[LeavingUnit]) -> tuple[Trial, int]:
        """The cluster once these have left, too; to be rolled back."""
        ahead = self.promises.once_left(trial)
        checkpoint = ahead.checkpoint()
        self.seat_planned(ahead)
        for mover in movers:
            ahead.evict(mover.pods[ahead.here[mover.pods]])
        return ahead, checkpoint

    def _seat_elsewhere(self, ahead: Trial, moving: Moving) -> None:
        found = list[Assignment]()
        for _, ask in moving.mover.asks:
            places = self._attempt(ahead, ask)
            if not places:
                moving.in_the_way = ask
                return
            commit(ahead, ask, places)
            found.append(places)
        moving.seats = found or None

    def _attempt(self, ahead: Trial, ask: Ask) -> Assignment:
        steps = self.context.steps()
        found = attempt(ahead, ask, self.context, steps)
        self.promises.exhausted |= steps.exhausted
        return found or []
