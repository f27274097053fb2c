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
from maitred.decide.maintenance.movers import Mover
from maitred.decide.preemption.promises import Promises
from maitred.decide.preemption.units import Units
from maitred.decide.seating import commit


@dataclass(slots=True)
class Moving:
    """What was found for one of them."""

    mover: Mover
    seats: list[Assignment] | None = None
    """By group; None if there is no place, or if it was not looked for."""
    leaves: bool = False
    """It is told to leave now."""
    budgets: tuple[str, ...] = ()
    """Budgets that do not allow it."""
    why_not: str = ""


@dataclass
class Moves:
    """On the trial of one cycle."""

    promises: Promises
    context: Context
    movers: Sequence[Mover]
    used: Counter[str] = field(default_factory=Counter)
    """Disruptions, by budget, of those who were told to leave before."""

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

    def serve(self, trial: Trial, mover: Mover) -> Moving:
        """Now is its time: it leaves if it can, and its places are kept on the trial."""
        found = self.look(trial, mover)
        if self.promises.leaving[mover.pods].any():
            found.why_not = "some of its pods are leaving already"
        elif mover.stays:
            found.why_not = mover.stays
        elif self.promises.needed[mover.pods].any():
            found.why_not = "another group that is being placed counts on it"
        elif found.budgets and not mover.timing.is_last:
            found.why_not = f"PodDisruptionBudget {', '.join(found.budgets)} allows no more disruptions now"
        elif found.seats is None and not mover.timing.is_last:
            found.why_not = "there is no place for it now"
        else:
            found.leaves = True
            self._tell(trial, found)
        return found

    def look(self, trial: Trial, mover: Mover) -> Moving:
        """Whether there is a place for it, and whether budgets allow it. Nothing is changed."""
        return Moving(mover, self._seats(trial, mover), budgets=self._forbidding(mover))

    def suppose(self, trial: Trial, found: Moving) -> None:
        """As if it left: those who are looked at after it get none of its places."""
        self._tell(trial, found)

    def _tell(self, trial: Trial, found: Moving) -> None:
        self.promises.expect(trial, found.mover.pods)
        for guard in self.units.guards:
            self.used[guard.name] += int(guard.counts[self._unit(found.mover)])

    def _unit(self, mover: Mover) -> int:
        return self.unit_of[int(mover.pods[0])]

    def _forbidding(self, mover: Mover) -> tuple[str, ...]:
        if int(mover.pods[0]) not in self.unit_of:
            return ()
        unit = self._unit(mover)
        return tuple(
            guard.name
            for guard in self.units.guards
            if guard.counts[unit] and int(guard.counts[unit]) + self.used[guard.name] > guard.allowed
        )

    def _seats(self, trial: Trial, mover: Mover) -> list[Assignment] | None:
        """For every group of it, on the cluster once all that leave have left, and it too."""
        ahead, found = self.promises.once_left(trial), list[Assignment]()
        checkpoint = ahead.checkpoint()
        ahead.evict(mover.pods[ahead.here[mover.pods]])
        for _, ask in mover.asks:
            seats = self._attempt(ahead, ask)
            if not seats:
                break
            commit(ahead, ask, seats)
            found.append(seats)
        ahead.rollback(checkpoint)
        return found if mover.asks and len(found) == len(mover.asks) else None

    def _attempt(self, ahead: Trial, ask: Ask) -> Assignment | None:
        steps = self.context.steps()
        found = attempt(ahead, ask, self.context, steps)
        self.promises.exhausted |= steps.exhausted
        return found
