"""The loop: what happens next in virtual time, and what follows from it.

Seats are given out at a moment after all else that happens then, in a fixed order.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any

from maitred.simulate.books import Books
from maitred.simulate.clock import LONGEST, Time
from maitred.simulate.events import EventLoop, Handler
from maitred.simulate.faults import Fault, Faults
from maitred.simulate.floor import Floor, Sitter
from maitred.simulate.jobs import Job, Workload
from maitred.simulate.party import Party, Phase
from maitred.simulate.results import Bucket, End
from maitred.simulate.seating.seater import Moves, Removal, Seater, Seating

LONGEST_QUIET = 1000
"""A run without a horizon is over when for so many moments no job came or went, none is on its way to an end,
and all that was broken is mended: groups that wait for each other may try for ever."""
LAST_MOMENT = 10 * LONGEST
"""Of a run without a horizon: times must have a date."""
MOMENTS_PER_TICK = 200


class Kind(IntEnum):
    """What can happen, in the order in which it does at one moment."""

    FINISH = 0
    READY = 1
    GONE = 2
    REPAIR = 3
    FAULT = 4
    CANCEL = 5
    RENDEZVOUS = 6
    ARRIVAL = 7
    CYCLE = 8
    PATIENCE = 9


class Watcher:
    """Who looks on."""

    def moves(self, loop: "Loop", moves: Moves) -> None:
        """What a seater wants to do, before it is done."""

    def settled(self, loop: "Loop") -> None:
        """It wants to do no more at this moment."""


class Loop(EventLoop[Time]):
    """One run. `tick` hears of progress, as a number from 0 to 1."""

    def __init__(
        self,
        floor: Floor,
        seater: Seater,
        workload: Workload,
        faults: Faults,
        horizon: Time | None,
        period: Time = 0,
        watchers: Sequence[Watcher] = (),
        tick: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        handlers: dict[Kind, Handler] = {
            Kind.FINISH: self._finish,
            Kind.READY: self._ready,
            Kind.GONE: self._gone,
            Kind.REPAIR: self._repair,
            Kind.FAULT: self._fault,
            Kind.CANCEL: self._cancel,
            Kind.RENDEZVOUS: self._rendezvous_failed,
            Kind.ARRIVAL: self._arrive,
            Kind.CYCLE: self._cycle,
            Kind.PATIENCE: self._lose_patience,
        }
        super().__init__(0, handlers)
        self.floor, self.seater, self.workload, self.horizon = floor, seater, workload, horizon
        self.books = Books(floor, seater)
        self.parties: list[Party] = []
        """Those that have arrived, in the order in which they did."""
        self.ends: dict[Party, tuple[End, str]] = {}
        """How jobs ended that did, with words where it was not well."""
        self.cycles = 0
        self._faults, self._period, self._watchers, self._tick = faults, period, watchers, tick
        self._cycle_at: Time | None = None
        self._quiet = 0
        """Moments since a job came or went."""
        self._still_until: Time | None = None
        """Where all has been quiet for long: when the last of what was then broken will have been mended."""

    def run(self) -> None:
        self._expect_next_arrival()
        self._expect_next_fault()
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
        only_faults = len(self) == 1 and kind == Kind.FAULT  # Those come for ever.
        if only_faults or len(self.ends) == len(self.workload):
            return True
        return self._quiet > LONGEST_QUIET and self._stands_still(next_time)

    def _stands_still(self, next_time: Time) -> bool:
        if len(self.parties) < len(self.workload) or self.books.anyone_nears_an_end:
            self._stir()
            return False
        if self._still_until is None:
            self._still_until = max(self.times_of(Kind.REPAIR, Kind.CANCEL), default=0)
        return next_time > self._still_until

    def _progress(self) -> float:
        if self.horizon:
            return self.now / self.horizon
        return len(self.ends) / max(1, len(self.workload))

    def is_due(self, kind: IntEnum, what: Any) -> bool:
        """Whether what was expected of a party still comes true."""
        match kind:
            case Kind.FINISH:
                party, pace = what
                return bool(party.pace == pace and party.phase == Phase.WORKING)
            case Kind.READY:
                party, round_, _ = what
                return bool(party.round == round_ and party.phase != Phase.OVER)
            case Kind.GONE:
                party, until = what
                return until in party.leaving.values()
            case Kind.RENDEZVOUS:
                party, round_ = what
                return bool(party.round == round_ and party.phase == Phase.INCOMPLETE)
            case Kind.CANCEL:
                return bool(what.phase != Phase.OVER)
            case Kind.PATIENCE:
                return bool(what.phase == Phase.WAITING and what.first_seated is None)
            case _:
                return True

    # -- arrivals and ends -----------------------------------------------------------------------------

    def _expect_next_arrival(self) -> None:
        if len(self.parties) < len(self.workload):
            job = self.workload[len(self.parties)]
            self.expect(job.arrival, Kind.ARRIVAL, job)

    def _arrive(self, job: Job) -> None:
        party = Party(job, len(self.parties))
        self.parties.append(party)
        self._stir()
        self._expect_next_arrival()
        if job.cancelled is not None:
            self.expect(max(job.cancelled, self.now), Kind.CANCEL, party)
        if job.patience is not None:
            self.expect(self.now + job.patience, Kind.PATIENCE, party)
        self.seater.wants(party, self.now)
        self.books.note(party, self.now)
        self._ask_for_cycle()

    def _cancel(self, party: Party) -> None:
        self._end(party, "cancelled")

    def _lose_patience(self, party: Party) -> None:
        self._end(party, "gaveUp")

    def _end(self, party: Party, end: End, why: str = "") -> None:
        party.pause(self.now)
        self._unseat(party, party.seated())
        if party.nominated:
            self._ask_for_cycle()
        party.phase, party.ended, party.nominated = Phase.OVER, self.now, {}
        self.books.note(party, self.now)
        self.seater.leaves(party)
        self.ends[party] = (end, why)
        self._stir()

    def _stir(self) -> None:
        """A job came or went, or will."""
        self._quiet, self._still_until = 0, None

    # -- work ------------------------------------------------------------------------------------------

    def _start(self, party: Party, members: Sequence[int]) -> None:
        """Members who sit get ready."""
        at = self.now + party.job.start_up
        for member in members:
            party.starts[member] = at
        self.expect(at, Kind.READY, (party, party.round, members))

    def _ready(self, what: tuple[Party, int, Sequence[int]]) -> None:
        """But for those who were sent away before they were."""
        party, _, members = what
        party.begin([member for member in members if party.starts[member] == self.now], self.now)
        party.phase = Phase.WORKING
        self.books.note(party, self.now)
        self._expect_finish(party)

    def _expect_finish(self, party: Party) -> None:
        """Unless it never ends, or those who sit so far can do nothing without the others' devices."""
        remaining = party.remaining(self.now)
        if remaining is not None and (party.speed or not remaining):
            left = -(-remaining // party.speed) if remaining else 0
            self.expect(self.now + left, Kind.FINISH, (party, party.pace))

    def _finish(self, what: tuple[Party, int]) -> None:
        self._end(what[0], "finished")

    # -- faults ----------------------------------------------------------------------------------------

    def _expect_next_fault(self) -> None:
        fault = next(self._faults, None)
        if fault is not None:
            self.expect(fault.time, Kind.FAULT, fault)

    def _fault(self, fault: Fault) -> None:
        hit: dict[Party, list[int]] = {}
        for node in fault.nodes:
            for party, member in self._break(node, fault.device):
                hit.setdefault(party, []).append(member)
        for party, members in hit.items():
            leaving = [member for member in members if member in party.leaving]
            self._send_away(party, leaving)
            self._fail(party, [member for member in members if member not in leaving])
        self._nodes_changed(fault.nodes)
        self.expect(fault.repaired, Kind.REPAIR, fault)
        self._expect_next_fault()

    def _break(self, node: str, device: float | None) -> list[Sitter]:
        return self.floor.take_down(node) if device is None else self.floor.break_device(node, device)

    def _repair(self, fault: Fault) -> None:
        for node in fault.nodes:
            if fault.device is None:
                self.floor.bring_up(node)
            else:
                self.floor.mend_device(node)
        self._nodes_changed(fault.nodes)

    def _nodes_changed(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self.seater.node_changed(self.floor.places[node].as_it_is())
        self._ask_for_cycle()

    def _fail(self, party: Party, members: Sequence[int]) -> None:
        if members:
            party.failures += 1
            self.books.failures += 1
            self._stop(party, "lostToFailure")
            self._send_away(party, members)

    # -- seats -----------------------------------------------------------------------------------------

    def _ask_for_cycle(self) -> None:
        """At once, or at the next beat of the scheduler."""
        at = self.now if not self._period else -(-self.now // self._period) * self._period
        self._expect_cycle(at)

    def _expect_cycle(self, at: Time) -> None:
        if self._cycle_at is None or at < self._cycle_at:
            self._cycle_at = at
            self.expect(at, Kind.CYCLE, at)

    def _cycle(self, at: Time) -> None:
        if self._cycle_at != at:
            return
        self._cycle_at = None
        self.cycles += 1
        while moves := self.seater.cycle(self.now):
            for watcher in self._watchers:
                watcher.moves(self, moves)
            self.books.note_removals(moves.removals)
            for removal in moves.removals:
                self._remove(removal)
            for nomination in moves.nominations:
                self._nominate(nomination)
            for seating in moves.seatings:
                self._seat(seating)
            for party, why in moves.impossible.items():
                self._end(party, "impossible", why)
        for watcher in self._watchers:
            watcher.settled(self)
        self.books.look_for_deadlock(self.now)
        again = self.seater.next_look(self.now)
        if again is not None:
            self._expect_cycle(again)

    def _seat(self, seating: Seating) -> None:
        party, had_quorum = seating.party, seating.party.has_quorum
        members = [member for member, _ in seating.seats]
        for member, node in seating.seats:
            self.floor.sit(party, member, node, seating.device)
        party.nominated = {}
        if had_quorum:
            self._start(party, members)
        elif party.has_quorum:
            if party.first_seated is None:
                party.first_seated = self.now
            party.astray |= not self.floor.keeps_together(party)
            party.phase, members = Phase.STARTING, party.sitters()
            self._start(party, members)
        else:
            party.split = True
            self._wait_for_the_rest(party)
        self.seater.seated(party, members)
        self.books.note(party, self.now)

    def _nominate(self, nomination: Seating) -> None:
        party = nomination.party
        party.nominated = dict(nomination.seats)
        self.seater.wants(party, self.now)
        self.books.note(party, self.now)

    def _wait_for_the_rest(self, party: Party) -> None:
        if party.phase != Phase.INCOMPLETE and party.job.rendezvous is not None:
            self.expect(self.now + party.job.rendezvous, Kind.RENDEZVOUS, (party, party.round))
        party.phase = Phase.INCOMPLETE

    def _rendezvous_failed(self, what: tuple[Party, int]) -> None:
        party, _ = what
        party.round += 1
        self._send_away(party, party.sitters())

    def _remove(self, removal: Removal) -> None:
        party, members = removal.party, removal.members
        party.nominated = {}
        if party.runs and party.sitting - len(members) >= party.job.quorum:
            self.books.meter.lose(party.stop(members, self.now), "lostToEviction")
            self._expect_finish(party)
        else:
            party.evictions += 1
            self.books.evictions += 1
            self._stop(party, "lostToEviction")
        grace = min(party.job.grace, self.floor.longest_grace)
        if removal.at_once or not grace:
            self._send_away(party, members)
        else:
            self._dismiss(party, members, self.now + grace)

    def _stop(self, party: Party, lost_to: Bucket) -> None:
        """It no longer works. What it did since its last checkpoint is lost."""
        if party.runs:
            self.books.meter.lose(party.interrupt(self.now), lost_to)
            party.phase = Phase.STOPPED

    def _dismiss(self, party: Party, members: Sequence[int], until: Time) -> None:
        """Members will leave their seats."""
        party.dismiss(members, until)
        self._regroup(party)
        self.seater.leaving(party, members)
        self.books.note(party, self.now)
        self.expect(until, Kind.GONE, (party, until))

    def _gone(self, what: tuple[Party, Time]) -> None:
        party, until = what
        self._send_away(party, [member for member, end in party.leaving.items() if end == until])

    def _send_away(self, party: Party, members: Sequence[int]) -> None:
        """Members leave their seats, and their owner creates them anew."""
        if not members:
            return
        self._unseat(party, members)
        for member in members:
            party.created[member] = self.now
            party.births[member] += 1
        self._regroup(party)
        if party.phase != Phase.STOPPED:
            self.seater.wants(party, self.now)
        self.books.note(party, self.now)

    def _regroup(self, party: Party) -> None:
        """What becomes of a party that has lost members, unless the others work on."""
        if party.runs:
            return
        if party.has_quorum:
            party.phase = Phase.STARTING
            self._start(party, party.sitters())
        elif party.sitting:
            self._wait_for_the_rest(party)
        else:
            party.phase = Phase.STOPPED if party.leaving else Phase.WAITING

    def _unseat(self, party: Party, members: Sequence[int]) -> None:
        if members:
            self.seater.unseated(party, members)
            for member in members:
                self.floor.stand(party, member)
            self._ask_for_cycle()
