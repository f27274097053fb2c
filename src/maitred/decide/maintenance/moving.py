"""Places for those who leave: proven on the cluster as it will be without them, and kept from then on.

Nobody leaves before its last moment unless there is a place for all that it needs, and the budgets of its
pods allow it. At the last moment everybody leaves.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt
from maitred.decide.context import Context
from maitred.decide.maintenance.movers import LeavingUnit
from maitred.decide.preemption.promises import Promises
from maitred.decide.preemption.units import Units
from maitred.decide.seating import by_shape, commit, per_node


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

    def _look_for_seats(self, trial: Trial, moving: Moving) -> None:
        """For every group of it, on the cluster once all that leave have left, and it too."""
        mover, ahead, found = moving.mover, self.promises.once_left(trial), list[Assignment]()
        checkpoint = ahead.checkpoint()
        self.seat_planned(ahead)
        ahead.evict(mover.pods[ahead.here[mover.pods]])
        for _, ask in mover.asks:
            places = self._attempt(ahead, ask)
            if not places:
                moving.in_the_way = ask
                break
            commit(ahead, ask, places)
            found.append(places)
        ahead.rollback(checkpoint)
        if mover.asks and moving.in_the_way is None:
            moving.seats = found

    def _attempt(self, ahead: Trial, ask: Ask) -> Assignment:
        steps = self.context.steps()
        found = attempt(ahead, ask, self.context, steps)
        self.promises.exhausted |= steps.exhausted
        return found or []
