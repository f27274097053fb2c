"""Maintenance in one cycle: who is told to leave now, for whom room is kept, and how far each request is.

What it must know of earlier is in the requests themselves, whose progress it hands on changed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

import msgspec
import numpy as np

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask
from maitred.decide.context import Context
from maitred.decide.maintenance.movers import LeavingUnit, LeavingUnits, RoomMakers
from maitred.decide.maintenance.moving import FoundRoom, MoveSearch, Moving, Others
from maitred.decide.maintenance.receipts import maintenance_evictions
from maitred.decide.preemption.promises import Promises
from maitred.model.drain import MOST_MOVES, Drain, DrainMove, DrainProgress, MovedGroup
from maitred.model.duration import span
from maitred.model.plan import DrainDecision, Eviction
from maitred.model.times import after

LOOK_AGAIN = timedelta(seconds=10)
"""While anybody is left: a checkpoint that was written, or a budget that allows more, wakes nobody."""
UIDS_KEPT = 64
NAMES_SHOWN = 5
WHOLE, OVER = "it runs again", "it did not come back in time"


@dataclass
class Maintenance:
    """Of one cycle. Where nothing is drained, nothing is looked at."""

    snapshot: Snapshot
    context: Context
    now: datetime
    promises: Promises
    scheduler: str | None
    told: list[Moving] = field(default_factory=list)
    """Those who leave now, in their order."""
    looked: dict[str, Moving] = field(default_factory=dict)
    """What was found for each, whether or not it leaves now."""
    made: dict[str, FoundRoom] = field(default_factory=dict)
    """The same for those who may make room, by the group that waits for it."""
    _moves: dict[str, DrainMove] = field(default_factory=dict)
    """What is remembered of those that leave now,"""
    _kept_now: dict[str, datetime] = field(default_factory=dict)
    """and how long room is kept for their groups."""

    @cached_property
    def movers(self) -> list[LeavingUnit]:
        return self._movers.all() if self.snapshot.drained else []

    @cached_property
    def _movers(self) -> LeavingUnits:
        return LeavingUnits(self.snapshot, self.promises.evictable)

    @cached_property
    def served(self) -> list[LeavingUnit]:
        """All that leave sooner or later, each in the turn of its rank: who leaves later has a place, too."""
        return [mover for mover in self.movers if not mover.stays]

    @cached_property
    def moves(self) -> MoveSearch:
        makers = (unit for rooms in self.rooms.values() for room in rooms for unit in room.units)
        return MoveSearch(self.promises, self.context, [*self.movers, *makers])

    @cached_property
    def held_until(self) -> Mapping[str, datetime]:
        """Groups that were told to leave and are not back, and how long room is kept for each."""
        return {
            group.key: move.held_until
            for drain in self.snapshot.drains
            for move in drain.progress.moves
            if move.is_open and move.held_until is not None and move.held_until > self.now
            for group in move.groups
            if not self._is_back(group.key)
        }

    def serve(self, trial: Trial, mover: LeavingUnit) -> Moving:
        found = self.looked[mover.name] = self.moves.serve(trial, mover)
        if found.leaves:
            self._note(found)
        return found

    def _note(self, moving: Moving) -> None:
        self.told.append(moving)
        move = self._moves[moving.mover.name] = self._begun(moving, moving.mover.drain)
        if move.held_until is not None:
            self._kept_now |= {group.key: move.held_until for group in move.groups}

    # -- those who make room ---------------------------------------------------------------------------

    @cached_property
    def rooms(self) -> Mapping[str, Sequence[RoomMakers]]:
        """By the groups that wait for it."""
        asked = any(drain.request.room for drain in self.snapshot.drains)
        return self._movers.making_room(self.now) if asked else {}

    def make_room(
        self, trial: Trial, makers: RoomMakers, group: str, ask: Ask, others: Others
    ) -> FoundRoom | None:
        """For a group that finds no seats."""
        found = self.made[group] = self.moves.make_room(trial, makers, ask, others)
        if not all(one.leaves for one in found.movings):
            return None
        for one in found.movings:
            self._note(one)
        return found

    def lost_at(self, mover: LeavingUnit, at: int) -> float:
        """What is lost with it if it leaves then, in device-hours."""
        return self._movers.timings.lost_at(mover.pods, at)

    # -- what becomes of it ----------------------------------------------------------------------------

    def evictions(self) -> list[Eviction]:
        if not self.told:
            return []
        failing = self.promises.evictable.by_owner(self.promises.leaving)
        return maintenance_evictions(self.moves, self.told, failing)

    def decisions(self) -> Iterator[DrainDecision]:
        there, left = self._there if self.snapshot.drained else None, Counter[str]()
        for row, count in Counter([] if there is None else self.snapshot.bound.node[there].tolist()).items():
            left[self.snapshot.drained[row].name] += count
        for room in self._open_rooms:
            left[room.drain.name] += sum(len(unit.pods) for unit in room.units)
        for drain in self.snapshot.drains:
            progress = self._progress(drain, left[drain.name])
            yield DrainDecision(
                name=drain.name,
                left=left[drain.name],
                cordon=tuple(sorted(self._to_cordon(drain, left[drain.name]))),
                done=progress.done is not None,
                over=drain.is_over(self.now),
                progress=None if progress == drain.progress else progress,
            )

    @cached_property
    def _there(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return self._movers.there

    def _to_cordon(self, drain: Drain, left: int) -> Iterator[str]:
        """Its nodes, once the first pod is told to leave: other schedulers would fill them again. Requests
        that are done are left alone: whoever uncordons a node knows why."""
        begun = drain.progress.moves or any(moving.mover.drain is drain for moving in self.told) or not left
        if not drain.request.cordon or drain.is_done or not begun:
            return
        nodes = self.snapshot.nodes
        for row, one in self.snapshot.drained.items():
            if one is drain and row not in self.snapshot.cordoned:
                yield nodes.names[row]

    def _progress(self, drain: Drain, left: int) -> DrainProgress:
        told = [moving for moving in self.told if moving.mover.drain is drain]
        again = {moving.mover.name for moving in told}
        moves = [
            self._as_it_is(move)
            for move in drain.progress.moves
            if move.unit not in again or not move.is_open
        ]
        moves += [self._moves[moving.mover.name] for moving in told]
        staying = [
            f"{mover.name}: {mover.stays}" for mover in self.movers if mover.drain is drain and mover.stays
        ]
        staying += [
            f"{', '.join(unit.name for unit in room.makers.units)}: {room.why_not}"
            for room in self.made.values()
            if room.makers.drain is drain and room.why_not
        ]
        is_known = drain.request.room or any(one is drain for one in self.snapshot.drained.values())
        done = drain.progress.done or (self.now if is_known and not left else None)
        return DrainProgress(tuple(moves[-MOST_MOVES:]), done, left, tuple(staying[:NAMES_SHOWN]))

    @cached_property
    def _open_rooms(self) -> list[RoomMakers]:
        """Those whose groups still wait."""
        waiting = {view.group.key for view in self.snapshot.groups} if self.rooms else ()
        return [room for group, rooms in self.rooms.items() if group in waiting for room in rooms]

    def _as_it_is(self, move: DrainMove) -> DrainMove:
        if not move.is_open:
            return move
        if move.groups and all(self._is_back(group.key) for group in move.groups):
            return msgspec.structs.replace(move, ended=self.now, how=WHOLE)
        if (move.held_until or after(move.begun, self._hold)) <= self.now:
            return msgspec.structs.replace(move, ended=self.now, how=OVER if move.groups else "")
        return move

    def _begun(self, moving: Moving, drain: Drain) -> DrainMove:
        """Who was told before, and is still there, is told again; room is kept for it no longer for that."""
        mover, bound = moving.mover, self.snapshot.bound
        uids = tuple(sorted(one.uid for one in bound.occupants[mover.pods]))[:UIDS_KEPT]
        known = self._open_moves.get((drain.name, mover.name))
        groups = tuple(
            MovedGroup(view.group.key, view.source)
            for view in mover.groups
            if mover.is_whole and self._is_ours(view)
        )
        kept = bool(groups) and moving.seats is not None
        if known is not None and known.uids == uids:
            return known
        return DrainMove(
            unit=mover.name,
            begun=self.now,
            pods=len(mover.pods),
            uids=uids,
            groups=groups,
            held_until=after(self.now, self._hold) if kept else None,
            work_lost_device_hours=mover.timing.lost_now,
        )

    @property
    def kept_until(self) -> Mapping[str, datetime]:
        """The same, with those that leave now."""
        return self.held_until if not self._kept_now else {**self.held_until, **self._kept_now}

    def is_kept(self, group: str) -> bool:
        return group in self._kept_now or group in self.held_until

    @cached_property
    def _open_moves(self) -> Mapping[tuple[str, str], DrainMove]:
        return {
            (drain.name, move.unit): move
            for drain in self.snapshot.drains
            for move in drain.progress.moves
            if move.is_open
        }

    @cached_property
    def _hold(self) -> timedelta:
        return span(self.context.policy.healing.hold)

    @cached_property
    def _whole(self) -> Mapping[str, bool]:
        return self.snapshot.seated_whole()

    def _is_back(self, group: str) -> bool:
        return self._whole.get(group, False)

    def _is_ours(self, view: GroupView) -> bool:
        return self.scheduler is None or self.scheduler in view.schedulers

    @property
    def wake_at(self) -> int | None:
        """In milliseconds: when time alone may change any of this."""
        now = round(self.now.timestamp() * 1000)
        times = [mover.timing.at for mover in self.movers if not mover.timing.is_due]
        times += [mover.timing.last for mover in self.movers if not mover.timing.is_last]
        times += [room.first.timing.at for room in self._open_rooms if not room.first.timing.is_due]
        times += [round(until.timestamp() * 1000) for until in self.held_until.values()]
        open_ones = [drain for drain in self.snapshot.drains if not drain.is_done]
        if self.movers or open_ones:
            times.append(now + round(LOOK_AGAIN.total_seconds() * 1000))
        return min((time for time in times if time > now), default=None)

    def warnings(self) -> Iterable[str]:
        yield from self.snapshot.unread_drains
        rows = Counter(drain.name for drain in self.snapshot.drained.values())
        for drain in self.snapshot.drains:
            if not (rows[drain.name] or drain.is_done or drain.request.room):
                yield f"drain request {drain.name} means {drain.request.where}: there is no such node"
