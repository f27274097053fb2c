"""What would become of a request: the cycle that would come next, and then everybody else in their turn.

Who leaves later is given a place as the cluster is now, beside those who leave before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from maitred.cluster.draining import opened
from maitred.cluster.trial import Trial
from maitred.decide.attempt import attempt
from maitred.decide.cycle import run
from maitred.decide.diagnose import Diagnosis
from maitred.decide.maintenance.movers import LeavingUnit
from maitred.decide.maintenance.moving import Moving
from maitred.decide.preemption.evictable import owner_of
from maitred.decide.preemption.receipts import Departures
from maitred.decide.record import CycleRecord
from maitred.decide.scope import Scope
from maitred.decide.seating import commit
from maitred.explain.maintenance.answer import DrainPlan, DrainStatus, Leaving, PlannedMove
from maitred.explain.situation import Situation
from maitred.model.drain import Drain, begun_words
from maitred.model.plan import Blocker
from maitred.model.words import counted, moment

MOST_TRIED = 64
NAMES_SHOWN = 3


def drain_plan(situation: Situation, name: str) -> DrainPlan:
    """The request is one of the situation."""
    return _DrainSurvey(situation, next(one for one in situation.snapshot.drains if one.name == name)).plan()


def drain_status(drain: Drain) -> DrainStatus:
    progress = drain.progress
    return DrainStatus(
        name=drain.name,
        where=drain.request.where,
        by=moment(int(drain.request.by.timestamp())),
        state="done" if drain.is_done else "draining" if progress.moves else "waiting",
        left=progress.left,
        moved=sum(move.pods for move in progress.moves),
        work_lost_device_hours=round(sum(move.work_lost_device_hours for move in progress.moves), 4),
        words=begun_words(drain),
        staying=progress.staying,
    )


class _DrainSurvey:
    def __init__(self, situation: Situation, drain: Drain) -> None:
        self.situation, self.drain, self.snapshot = situation, drain, situation.snapshot
        scope = Scope(situation.scheduler, explained=())
        self.record: CycleRecord = run(self.snapshot, situation.policy, situation.now, scope)
        self.maintenance = self.record.maintenance
        self.rows = [row for row, one in self.snapshot.drained.items() if one.name == drain.name]

    def plan(self) -> DrainPlan:
        movers = [mover for mover in self.maintenance.movers if mover.drain.name == self.drain.name]
        found = [self._looked(mover) for mover in movers]
        ways = self._ways(found)
        planned = (self._planned(moving, ways[moving.mover.name]) for moving in found)
        moves = tuple(
            sorted(planned, key=lambda one: (one.at is None, one.at or "", -one.priority, one.unit))
        )
        bound, names = self.snapshot.bound, self.snapshot.nodes.names
        there = np.isin(bound.node, self.rows)
        leaving = [move for move in moves if move.leaves != "stays"]
        return DrainPlan(
            name=self.drain.name,
            where=self.drain.request.where,
            now=moment(int(self.situation.now.timestamp())),
            by=moment(int(self.drain.request.by.timestamp())),
            nodes=tuple(sorted(names[row] for row in self.rows)),
            moves=moves,
            fixed=int((there & bound.fixed).sum()),
            leaving=int((there & bound.terminating & ~bound.fixed).sum()),
            pods=sum(move.pods for move in leaving),
            work_lost_device_hours=round(sum(move.work_lost_device_hours for move in leaving), 4),
            all_fit=all(move.fits for move in moves) and len(leaving) == len(moves),
            warnings=tuple(sorted(self.maintenance.warnings())),
        )

    def _looked(self, mover: LeavingUnit) -> Moving:
        return self.maintenance.looked.get(mover.name) or Moving(mover)

    # -- where there is no place -----------------------------------------------------------------------

    def _in_the_way(self, moving: Moving) -> tuple[Blocker, ...]:
        """What is in the way of a place, and nothing where it has one."""
        if moving.in_the_way is None:
            return ()
        ahead, checkpoint = self._without(moving.mover)
        found = Diagnosis(self.record.grounds, ahead).behind_gates(moving.in_the_way)
        ahead.rollback(checkpoint)
        return found

    def _help(self, moving: Moving) -> Iterator[str]:
        """How few of the nodes would have to stay open, or be replaced, so that it has a place."""
        if moving.in_the_way is None:
            return
        mover, names = moving.mover, self.snapshot.nodes.names
        ahead, checkpoint = self._without(mover)
        there = Counter(self.snapshot.bound.node[mover.pods].tolist())
        rows = [row for row, _ in there.most_common() if row in self.snapshot.drained][:MOST_TRIED]
        for count in range(1, len(rows) + 1):
            if self._fits(ahead.on(opened(self.snapshot, rows[:count])), mover):
                kept = sorted(names[row] for row in rows[:count])
                more = f" and {len(kept) - NAMES_SHOWN} more" if len(kept) > NAMES_SHOWN else ""
                yield f"add {counted(count, 'node')} like {names[rows[0]]}"
                yield f"leave {', '.join(kept[:NAMES_SHOWN])}{more} out of the request"
                break
        ahead.rollback(checkpoint)

    def _without(self, mover: LeavingUnit) -> tuple[Trial, int]:
        """The cluster once it has left, beside the places of those who leave later; to be rolled back."""
        ahead = self.record.promises.once_left(self.record.trial)
        checkpoint = ahead.checkpoint()
        self.maintenance.moves.seat_planned(ahead)
        ahead.evict(mover.pods[ahead.here[mover.pods]])
        return ahead, checkpoint

    def _fits(self, trial: Trial, mover: LeavingUnit) -> bool:
        context = self.record.context
        for _, ask in mover.asks:
            found = attempt(trial, ask, context, context.steps())
            if not found:
                return False
            commit(trial, ask, found)
        return True

    # -- in words --------------------------------------------------------------------------------------

    def _ways(self, found: Sequence[Moving]) -> dict[str, str]:
        """How each leaves."""
        moves, evictable = self.maintenance.moves, self.record.promises.evictable
        if not found:
            return {}
        units = {one.mover.name: moves.unit_of.get(int(one.mover.pods[0])) for one in found}
        chosen = moves.units.chosen([unit for unit in units.values() if unit is not None])
        leaving = evictable.leaving.copy()
        for moving in found:
            leaving[moving.mover.pods] = True
        departures = Departures(moves.units, chosen, evictable.by_owner(leaving))
        occupants = self.snapshot.bound.occupants
        return {
            one.mover.name: "; ".join(
                dict.fromkeys(departures.of(owner_of(who)).words for who in occupants[one.mover.pods])
            )
            for one in found
        }

    def _planned(self, moving: Moving, departure: str) -> PlannedMove:
        mover, names = moving.mover, self.snapshot.nodes.names
        timing, seats = mover.timing, moving.seats or []
        to = Counter(names[row] for places in seats for _, row in places)
        leaves, at, why = _when(moving)
        return PlannedMove(
            unit=mover.name,
            pods=len(mover.pods),
            there=mover.there,
            whole=mover.is_whole,
            priority=mover.priority,
            leaves=leaves,
            at=None if at is None else moment(at // 1000),
            why=why,
            last=moment(timing.last // 1000),
            work_lost_device_hours=self._lost(mover, leaves),
            work_lost_now=timing.lost_now,
            departure=departure,
            fits=moving.seats is not None,
            members=to.total(),
            to=dict(sorted(to.items())),
            blockers=self._in_the_way(moving),
            help=tuple(self._help(moving)),
            budgets=moving.budgets,
            protection=mover.shield,
            unowned=mover.bare,
        )

    def _lost(self, mover: LeavingUnit, leaves: Leaving) -> float:
        if leaves == "stays":
            return 0.0
        return (
            self.maintenance.lost_at(mover, mover.timing.last) if leaves == "deadline" else mover.timing.lost
        )


def _when(moving: Moving) -> tuple[Leaving, int | None, str]:
    mover, timing = moving.mover, moving.mover.timing
    if mover.stays:
        return "stays", None, mover.stays
    if moving.leaves or timing.is_last:
        return "now", timing.at, timing.why
    if moving.why_not:
        return "later", timing.last, f"{moving.why_not}; at the latest it leaves then"
    if moving.seats is None:
        return "deadline", timing.last, "there is no place for it: it leaves then all the same"
    if timing.is_due and moving.budgets:
        named = ", ".join(moving.budgets)
        return "later", timing.last, f"as soon as PodDisruptionBudget {named} allows it, at the latest then"
    return "later", timing.at, timing.why
