"""The loop: what happens next in virtual time, and what follows from it.

Seats are given out at a moment after all else that happens then, in a fixed order.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from maitred.simulate.breaking import Breaking
from maitred.simulate.clock import LONGEST, Time
from maitred.simulate.event_kinds import EventKind
from maitred.simulate.events import EventLoop, Handler
from maitred.simulate.faults import Breakdowns, Reaction
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.jobs import SimulatedJob, Workload
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.results import Bucket, End
from maitred.simulate.seating.seater import Moves, Removal, SeatAssignment, Seater
from maitred.simulate.statistics import RunStatistics

LONGEST_QUIET = 1000
"""A run without a horizon is over when for so many moments no job came or went, none is on its way to an end,
and all that was broken is mended: groups that wait for each other may try for ever."""
LAST_MOMENT = 10 * LONGEST
"""Of a run without a horizon: times must have a date."""
MOMENTS_PER_TICK = 200


class RunObserver:
    """Who looks on."""

    def moves(self, loop: "Simulation", moves: Moves) -> None:
        """What a seater wants to do, before it is done."""

    def settled(self, loop: "Simulation") -> None:
        """It wants to do no more at this moment."""


class Simulation(EventLoop[Time]):
    """One run. `tick` hears of progress, as a number from 0 to 1."""

    def __init__(
        self,
        floor: SimulatedNodes,
        seater: Seater,
        workload: Workload,
        faults: Breakdowns,
        horizon: Time | None,
        period: Time = 0,
        watchers: Sequence[RunObserver] = (),
        tick: Callable[[float], None] = lambda fraction: None,
        reaction: Reaction | None = None,
    ) -> None:
        self._breaking, self._reacts = Breaking(self, faults, reaction), reaction is not None
        handlers: dict[EventKind, Handler] = {
            EventKind.FINISH: self._finish,
            EventKind.READY: self._ready,
            EventKind.GONE: self._gone,
            EventKind.CANCEL: self._cancel,
            EventKind.RENDEZVOUS: self._rendezvous_failed,
            EventKind.ARRIVAL: self._arrive,
            EventKind.CYCLE: self._cycle,
            EventKind.PATIENCE: self._lose_patience,
            **self._breaking.handlers,
        }
        super().__init__(0, handlers)
        self.floor, self.seater, self.workload, self.horizon = floor, seater, workload, horizon
        self.books = RunStatistics(floor, seater)
        self.groups: list[SimulatedGroup] = []
        """Those that have arrived, in the order in which they did."""
        self.ends: dict[SimulatedGroup, tuple[End, str]] = {}
        """How jobs ended that did, with words where it was not well."""
        self.cycles = 0
        self._period, self._watchers, self._tick = period, watchers, tick
        self._cycle_at: Time | None = None
        self._quiet = 0
        """Moments since a job came or went."""
        self._still_until: Time | None = None
        """Where all has been quiet for long: when the last of what was then broken will have been mended."""

    def run(self) -> None:
        self._expect_next_arrival()
        self._breaking.expect_next_fault()
        self.books.settle(0)
        moments = 0
        while (event := self.next_event()) is not None and not self._is_over(*event):
            time, _ = event
            self.books.meter.advance(time)
            self.advance(time)
            moments += 1
            if moments % MOMENTS_PER_TICK == 0:
                self._tick(self._progress())
        if self.horizon is not None:
            self.now = self.horizon
        self.books.close(self.now)
        self._tick(1.0)

    def settle(self) -> None:
        self.books.settle(self.now)
        self._quiet += 1

    def _is_over(self, next_time: Time, kind: IntEnum) -> bool:
        if self.horizon is not None:
            return next_time >= self.horizon
        if next_time > LAST_MOMENT:
            return True
        only_faults = len(self) == 1 and kind == EventKind.FAULT  # Those come for ever.
        if only_faults or len(self.ends) == len(self.workload):
            return True
        return self._quiet > LONGEST_QUIET and self._stands_still(next_time)

    def _stands_still(self, next_time: Time) -> bool:
        if len(self.groups) < len(self.workload) or self.books.anyone_nears_an_end:
            self._stir()
            return False
        if self._still_until is None:
            self._still_until = max(self.times_of(EventKind.REPAIR, EventKind.CANCEL), default=0)
        return next_time > self._still_until

    def _progress(self) -> float:
        if self.horizon:
            return self.now / self.horizon
        return len(self.ends) / max(1, len(self.workload))

    def is_due(self, kind: IntEnum, what: Any) -> bool:
        """Whether what was expected of a group still comes true."""
        match kind:
            case EventKind.FINISH:
                group, pace = what
                return bool(group.pace == pace and group.phase == Phase.WORKING)
            case EventKind.READY:
                group, round_, _ = what
                return bool(group.round == round_ and group.phase != Phase.OVER)
            case EventKind.GONE:
                group, until = what
                return until in group.leaving.values()
            case EventKind.RENDEZVOUS:
                group, round_ = what
                return bool(group.round == round_ and group.phase == Phase.INCOMPLETE)
            case EventKind.CANCEL:
                return bool(what.phase != Phase.OVER)
            case EventKind.PATIENCE:
                return bool(what.phase == Phase.WAITING and what.first_seated is None)
            case _:
                return self._breaking.is_due(kind, what)

    # -- arrivals and ends -----------------------------------------------------------------------------

    def _expect_next_arrival(self) -> None:
        if len(self.groups) < len(self.workload):
            job = self.workload[len(self.groups)]
            self.expect(job.arrival, EventKind.ARRIVAL, job)

    def _arrive(self, job: SimulatedJob) -> None:
        group = SimulatedGroup(job, len(self.groups), owned=self._reacts)
        self.groups.append(group)
        self._stir()
        self._expect_next_arrival()
        if job.cancelled is not None:
            self.expect(max(job.cancelled, self.now), EventKind.CANCEL, group)
        if job.patience is not None:
            self.expect(self.now + job.patience, EventKind.PATIENCE, group)
        self.seater.wants(group, self.now)
        self.books.note(group, self.now)
        self.ask_for_cycle()

    def _cancel(self, group: SimulatedGroup) -> None:
        self._end(group, "cancelled")

    def _lose_patience(self, group: SimulatedGroup) -> None:
        self._end(group, "gaveUp")

    def _end(self, group: SimulatedGroup, end: End, why: str = "") -> None:
        group.pause(self.now)
        self._unseat(group, group.seated())
        if group.nominated:
            self.ask_for_cycle()
        group.phase, group.ended, group.nominated = Phase.OVER, self.now, {}
        self.books.note(group, self.now)
        self.seater.leaves(group)
        self.ends[group] = (end, why)
        self._stir()

    def _stir(self) -> None:
        """A job came or went, or will."""
        self._quiet, self._still_until = 0, None

    # -- work ------------------------------------------------------------------------------------------

    def start(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members who sit get ready."""
        at = self.now + group.job.start_up
        for member in members:
            group.starts[member] = at
        self.expect(at, EventKind.READY, (group, group.round, members))

    def _ready(self, what: tuple[SimulatedGroup, int, Sequence[int]]) -> None:
        """But for those who were sent away before they were."""
        group, _, members = what
        beginning = [member for member in members if group.starts[member] == self.now]
        group.begin(beginning, self.now)
        group.phase = Phase.WORKING
        self._breaking.begun(group, beginning)
        self.books.note(group, self.now)
        self._expect_finish(group)

    def _expect_finish(self, group: SimulatedGroup) -> None:
        """Unless it never ends, or those who sit so far can do nothing without the others' devices."""
        remaining = group.remaining(self.now)
        if remaining is not None and (group.speed or not remaining):
            left = -(-remaining // group.speed) if remaining else 0
            self.expect(self.now + left, EventKind.FINISH, (group, group.pace))

    def _finish(self, what: tuple[SimulatedGroup, int]) -> None:
        self._end(what[0], "finished")

    # -- seats -----------------------------------------------------------------------------------------

    def ask_for_cycle(self) -> None:
        """At once, or at the next beat of the scheduler."""
        at = self.now if not self._period else -(-self.now // self._period) * self._period
        self._expect_cycle(at)

    def _expect_cycle(self, at: Time) -> None:
        if self._cycle_at is None or at < self._cycle_at:
            self._cycle_at = at
            self.expect(at, EventKind.CYCLE, at)

    def _cycle(self, at: Time) -> None:
        if self._cycle_at != at:
            return
        self._cycle_at = None
        self.cycles += 1
        while moves := self.seater.cycle(self.now):
            for watcher in self._watchers:
                watcher.moves(self, moves)
            for taint in moves.taints:
                self.floor.taint(taint)
                self.seater.node_changed(self.floor.places[taint.node].as_it_is())
            for loss in moves.losses:
                self.books.healed_pods += len(loss.members)
                self._breaking.heal(loss.group, loss.members)
            self.books.note_removals(moves.removals)
            for removal in moves.removals:
                self._remove(removal)
            for nomination in moves.nominations:
                self._nominate(nomination)
            for seating in moves.seatings:
                self._seat(seating)
            for group, why in moves.impossible.items():
                self._end(group, "impossible", why)
        for watcher in self._watchers:
            watcher.settled(self)
        self.books.look_for_deadlock(self.now)
        again = self.seater.next_look(self.now)
        if again is not None:
            self._expect_cycle(again)

    def _seat(self, seating: SeatAssignment) -> None:
        group = seating.group
        members = [member for member, _ in seating.seats]
        for member, node in seating.seats:
            self.floor.sit(group, member, node, seating.device)
        group.nominated = {}
        self._breaking.seated(group, members)
        if group.runs:
            self.start(group, [member for member in members if member not in group.dead])
        elif group.can_work:
            if group.first_seated is None:
                group.first_seated = self.now
            group.astray |= not self.floor.keeps_together(group)
            group.phase, members = Phase.STARTING, group.sitters()
            self.start(group, group.living())
        elif group.has_quorum:
            group.phase = Phase.STALLED
        else:
            group.split = True
            self._wait_for_the_rest(group)
        self.seater.seated(group, members)
        self.books.note(group, self.now)

    def _nominate(self, nomination: SeatAssignment) -> None:
        group = nomination.group
        group.nominated = dict(nomination.seats)
        self.seater.wants(group, self.now)
        self.books.note(group, self.now)

    def _wait_for_the_rest(self, group: SimulatedGroup) -> None:
        if group.phase != Phase.INCOMPLETE and group.job.rendezvous is not None:
            self.expect(self.now + group.job.rendezvous, EventKind.RENDEZVOUS, (group, group.round))
        group.phase = Phase.INCOMPLETE

    def _rendezvous_failed(self, what: tuple[SimulatedGroup, int]) -> None:
        group, _ = what
        group.round += 1
        self.send_away(group, group.sitters())

    def _remove(self, removal: Removal) -> None:
        group, members = removal.group, removal.members
        group.nominated = {}
        if group.runs and group.sitting - len(members) >= group.job.quorum:
            self.books.meter.lose(group.stop(members, self.now), "lostToEviction")
            self._expect_finish(group)
        else:
            group.evictions += 1
            self.books.evictions += 1
            self.stop(group, "lostToEviction")
        grace = min(group.job.grace, self.floor.longest_grace)
        staying = [member for member in members if member not in group.dead]
        if staying and grace and not removal.at_once:
            self._dismiss(group, staying, self.now + grace)
            members = [member for member in members if member in group.dead]
        self.send_away(group, members)

    def stop(self, group: SimulatedGroup, lost_to: Bucket) -> None:
        """It no longer works. What it did since its last checkpoint is lost."""
        if group.runs:
            self.books.meter.lose(group.interrupt(self.now), lost_to)
            group.phase = Phase.STOPPED

    def _dismiss(self, group: SimulatedGroup, members: Sequence[int], until: Time) -> None:
        """Members will leave their seats."""
        group.dismiss(members, until)
        self.regroup(group)
        self.seater.leaving(group, members)
        self.books.note(group, self.now)
        self.expect(until, EventKind.GONE, (group, until))

    def _gone(self, what: tuple[SimulatedGroup, Time]) -> None:
        group, until = what
        self.send_away(group, [member for member, end in group.leaving.items() if end == until])

    def send_away(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members leave their seats, and their owner creates them anew."""
        if not members:
            return
        self._unseat(group, members)
        for member in members:
            group.created[member] = self.now
            group.births[member] += 1
        self.regroup(group)
        if group.phase != Phase.STOPPED:
            self.seater.wants(group, self.now)
        else:
            self.seater.changed(group, members)
        self.books.note(group, self.now)

    def regroup(self, group: SimulatedGroup) -> None:
        """What becomes of a group that has lost members, unless the others work on."""
        if group.runs:
            return
        if group.can_work:
            group.phase = Phase.STARTING
            self.start(group, group.living())
        elif group.has_quorum:
            group.phase = Phase.STALLED
        elif group.sitting:
            self._wait_for_the_rest(group)
        else:
            group.phase = Phase.STOPPED if group.leaving else Phase.WAITING

    def _unseat(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        if members:
            self.seater.unseated(group, members)
            for member in members:
                self.floor.stand(group, member)
            self.ask_for_cycle()
