"""One future: the cluster rolled forward from end to end on a trial, groups seated by the engine itself."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import count
from typing import Any

import numpy as np

from maitred.cluster.journal import Seated
from maitred.decide.agenda import Agenda, Turn
from maitred.decide.ask import Assignment
from maitred.decide.queues.turns import QueueAgenda
from maitred.explain.forecast.cluster import ForecastRun, FutureCluster
from maitred.explain.forecast.groups import ForecastGroup, rest_of
from maitred.explain.forecast.runs import NEVER, Floats, drawn
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.simulate.events import EventLoop, Handler

COALESCED, COALESCED_FROM = 1 / 200, 1_000
"""Ends that are apart by no more than this part of the time until then are taken to be one, at the last of
them; but not on clusters of fewer nodes, where it is quick to look at each."""

A_MOMENT = 0.001
"""Seconds: a start at the latest moment is not late."""
LOOKS_PER_ARRIVAL = 2
"""Who comes takes effort too, whether or not there is room."""


def coalesced(nodes: int) -> float:
    return COALESCED if nodes >= COALESCED_FROM else 0.0


class ForecastEvent(IntEnum):
    """What can happen, in the order in which it does at one moment."""

    TENANTS_END = 0
    RIPE = 1
    OPENS = 2
    STAY_ENDS = 3
    MAY_START = 4
    LATE = 5
    SPENT = 6
    COMES = 7


class Future(EventLoop[float]):
    """`draw` says which of the possible run times come true; `arrivals` are others who come meanwhile.
    Who has a turn after `last` is left out."""

    def __init__(
        self,
        outset: StartingPoint,
        effort: AttemptBudget,
        draw: int,
        arrivals: Iterator[tuple[float, ForecastGroup]],
        last: Turn | None = None,
    ) -> None:
        handlers: dict[ForecastEvent, Handler] = {
            ForecastEvent.TENANTS_END: self._end_tenants,
            ForecastEvent.RIPE: self._ripen,
            ForecastEvent.OPENS: self._open,
            ForecastEvent.STAY_ENDS: self._end,
            ForecastEvent.MAY_START: self._let_start,
            ForecastEvent.LATE: self._give_up_in_time,
            ForecastEvent.SPENT: self._note_spent,
            ForecastEvent.COMES: self._welcome,
        }
        super().__init__(outset.now, handlers)
        self.outset, self.effort, self.draw, self.last = outset, effort, draw, last
        self.starts: dict[str, float] = {}
        """When those start who do, of those who wait now and of those who come."""
        self.stays: list[ForecastRun] = []
        """All who sit down, whether or not they stay."""
        self.cluster = FutureCluster(outset, effort)
        self._coalesced = coalesced(len(outset.snapshot.nodes.names))
        self._arrivals = arrivals
        self._queues: dict[Hashable, list[ForecastGroup]] = {}
        """By kin: who waits, in the order of their turns."""
        self._hopeless: set[Hashable] = set()
        """Kins that find no room as long as nobody leaves."""
        self._came: dict[Hashable, None] = {}
        """Kins of those who came at this moment."""
        self._freed = False
        """Whether somebody has left at this moment, or may be displaced from now on."""
        self._unheld = False
        """Whether a hold is over, so that another group may have one."""
        self._numbers = count()
        self._asking = dict[int, ForecastGroup]()
        """By the numbers of their turns: of each kin, the first group that might have room."""
        self.tenant_ends = outset.tenants.ends_in(draw)
        self._order = np.argsort(self.tenant_ends, kind="stable")
        self._ends = self.tenant_ends[self._order]
        self._begin()

    def _begin(self) -> None:
        """What the Plan does now; whoever it leaves out has no room before somebody ends."""
        outset = self.outset
        self.cluster.clear(outset.leaving)
        for tenant in outset.displaced:
            self._join(outset.displaced_group(tenant, self.now))
        for seating in outset.seatings:
            self._sit(seating.group, seating.seats, seating.starts)
        self.cluster.begin()
        for group in outset.waiting:
            self._join(group)
        self._hopeless.update(self._queues)
        for at, group in outset.held_back:
            self.expect(at, ForecastEvent.MAY_START, group)
        for group in outset.waiting:
            self._expect_change(group)
        self._expect_next(ForecastEvent.TENANTS_END, self._ends, 0)
        self._expect_next(ForecastEvent.RIPE, outset.ripening, 0)
        self._expect_next(ForecastEvent.OPENS, outset.openings, 0)
        self._expect_spent()
        self._expect_next_arrival()

    def _join(self, group: ForecastGroup) -> None:
        if self.last is not None and group.turn > self.last:
            return
        insort(self._queues.setdefault(group.kin, []), group, key=lambda one: one.turn)

    def keep(self, group: ForecastGroup, places: list[Seated], by: float) -> None:
        """Places for one who waits, kept against all others until it sits: those who hold them leave by then.
        It is no longer like others of its kin."""
        self._queues[group.kin].remove(group)
        if not self._queues[group.kin]:
            del self._queues[group.kin]
        self._join(replace(group, kin=("kept", group.key)))
        self.cluster.keep(group.key, places, np.flatnonzero(self.tenant_ends <= by))

    # -- moments ---------------------------------------------------------------------------------------

    def run(self, wanted: Iterable[str]) -> None:
        """Until all of these have started, nobody knows what is next, or the effort is spent."""
        left = {key for key in wanted if key not in self.starts}
        while left and not self.effort.spent:
            event = self.next_event()
            if event is None:
                self.now = NEVER
                break
            self.advance(self._until(*event))
            left = {key for key in left if key not in self.starts}

    def _until(self, time: float, kind: IntEnum) -> float:
        """Ends that are close to each other are one moment."""
        return time if kind == ForecastEvent.COMES else time + (time - self.outset.now) * self._coalesced

    def is_due(self, kind: IntEnum, what: Any) -> bool:
        """Those who were displaced do not end, and what stands idle may be more or less by now."""
        if kind == ForecastEvent.SPENT:
            return self.cluster.holds is not None and self.cluster.holds.spent_at == what
        return kind != ForecastEvent.STAY_ENDS or self.cluster.stays.get(what.group.key) is what

    def settle(self) -> None:
        """As long as nothing has become free, nobody need be asked but those who came."""
        self._let_holds_go()
        while self._freed or self._came:
            if self._freed:
                self._hopeless.clear()
            asked = self._queues if self._freed else [kin for kin in self._came if kin in self._queues]
            self._freed, self._came = False, {}
            self._serve(asked)
        self._make_holds()
        self._expect_spent()

    def _make_holds(self) -> None:
        """Where a group that had one has started, or has lost its place: for the next of those that wait."""
        holds, agenda = self.cluster.holds, self._agenda()
        if holds is None or not self._unheld:
            return
        self._unheld = False
        self._asking.clear()
        for queue in self._queues.values():
            self._ask(agenda, queue[0], queue[0].turn)
        while holds.has_room_for_more and not self.effort.spent:
            turn = agenda.next(self.cluster.trial)
            if turn is None:
                return
            group = self._asking[turn.number]
            queue = self._queues[group.kin]
            place = next(place for place, one in enumerate(queue) if one is group) + 1
            if place < len(queue):
                self._ask(agenda, queue[place], queue[place].turn)
            if not holds.has_place(group.key):
                self.cluster.plan(group)

    def _let_holds_go(self) -> None:
        """For which too much has stood idle."""
        holds = self.cluster.holds
        if holds is not None:
            holds.advance(self.now)
            for key in holds.spend(self.cluster.trial):
                self._freed |= holds.give_up(key)

    def _expect_next(self, kind: ForecastEvent, times: Floats, number: int) -> None:
        if number < len(times) and times[number] < NEVER:
            self.expect(float(times[number]), kind, number)

    def _end_tenants(self, number: int) -> None:
        due = int(np.searchsorted(self._ends, self.now, side="right"))
        self.cluster.clear(self._order[number:due])
        self._freed = True
        self._expect_next(ForecastEvent.TENANTS_END, self._ends, due)

    def _ripen(self, number: int) -> None:
        self._freed = True
        self._expect_next(ForecastEvent.RIPE, self.outset.ripening, number + 1)

    def _open(self, number: int) -> None:
        """What was reserved may be had by others."""
        self._freed = True
        self._expect_next(ForecastEvent.OPENS, self.outset.openings, number + 1)

    def _expect_spent(self) -> None:
        at = NEVER if self.cluster.holds is None else self.cluster.holds.spent_at
        if at < NEVER:
            self.expect(max(at, self.now) + A_MOMENT, ForecastEvent.SPENT, at)

    def _note_spent(self, at: float) -> None:
        """What follows is found out where the moment is settled."""

    def _end(self, stay: ForecastRun) -> None:
        self.cluster.leave(stay)
        self._queues.pop(rest_of(stay.group.key), None)
        self._freed = True

    def _let_start(self, group: ForecastGroup) -> None:
        """It was not to start before."""
        now = group.at(self.now)
        self._join(now)
        self._came[now.kin] = None
        if now.most < NEVER:  # it may have room where others of its kin would stay for too long
            self._hopeless.discard(now.kin)
        self._expect_change(now)

    def _expect_change(self, group: ForecastGroup) -> None:
        if group.changes_at < NEVER:
            self.expect(group.changes_at + A_MOMENT, ForecastEvent.LATE, group)

    def _give_up_in_time(self, group: ForecastGroup) -> None:
        """If it waits still, it goes as if it had no deadline, or no override."""
        queue = self._queues.get(group.kin, [])
        place = next((place for place, one in enumerate(queue) if one is group), None)
        if place is not None:
            queue[place : place + 1] = []
            now = group.at(self.now)
            insort(queue, now, key=lambda one: one.turn)
            self._expect_change(now)

    def _expect_next_arrival(self) -> None:
        arrival = next(self._arrivals, None)
        if arrival is not None:
            self.expect(arrival[0], ForecastEvent.COMES, arrival[1])

    def _welcome(self, group: ForecastGroup) -> None:
        self.effort.spend(LOOKS_PER_ARRIVAL)
        self._join(group)
        self._came[group.kin] = None
        self._expect_next_arrival()

    # -- seats -----------------------------------------------------------------------------------------

    def _serve(self, kins: Iterable[Hashable]) -> None:
        """Everyone in turn, but for those of whose kin somebody has found no room."""
        agenda, shut_out = self._agenda(), dict[Hashable, list[ForecastGroup]]()
        self._asking.clear()
        firsts = [self._queues[kin][0] for kin in kins if kin not in self._hopeless]
        for first in (*firsts, *self._held_in_queues()):
            self._ask(agenda, first, first.turn)
        while (turn := agenda.next(self.cluster.trial)) is not None:
            group = self._asking[turn.number]
            kin, queue = group.kin, self._queues.get(group.kin, [])
            if self.cluster.holds is not None:
                self.cluster.holds.pass_turn(group.key)
            if kin in self._hopeless or not any(one is group for one in queue):
                continue  # it was asked as one that has a hold, or has lost what it was to join
            rest = self._seat(group)
            if rest is None and self.cluster.shut_out:
                shut_out.setdefault(kin, []).append(group)
            elif rest is None:
                self._hopeless.add(kin)
                continue
            else:
                del queue[next(place for place, one in enumerate(queue) if one is group)]
            self._go_on(agenda, group, self._following(queue, group, shut_out.get(kin, ())))
            if rest is not None and rest.ask.shapes:
                self._join(rest)
                if rest.kin != kin:
                    self._ask(agenda, rest, rest.turn.surplus)

    def _ask(self, agenda: Agenda | QueueAgenda, group: ForecastGroup, turn: Turn) -> None:
        """Turns are numbered: two groups may have one name, and so one turn."""
        number = next(self._numbers)
        self._asking[number] = group
        agenda.add(turn._replace(number=number))

    def _go_on(
        self, agenda: Agenda | QueueAgenda, group: ForecastGroup, following: ForecastGroup | None
    ) -> None:
        """With the next of its kin, if there is one that may have room."""
        if following is not None:
            self._ask(agenda, following, following.turn)
        elif self._queues[group.kin]:
            self._hopeless.add(group.kin)
        else:
            del self._queues[group.kin]

    def _held_in_queues(self) -> list[ForecastGroup]:
        """Where there are queues: those that have a hold have a turn each time. Who comes after it may not
        delay the hold, and who comes before it may."""
        holds = self.cluster.holds
        if holds is None or self.outset.lending is None:
            return []
        holds.begin_turns()
        return [one for queue in self._queues.values() for one in queue if holds.has_place(one.key)]

    def _following(
        self, queue: list[ForecastGroup], group: ForecastGroup, shut_out: Sequence[ForecastGroup]
    ) -> ForecastGroup | None:
        """The next of its kin that may have room, where so much is kept from these."""
        holds = self.cluster.holds
        if holds is None or not shut_out:
            return queue[0] if queue else None
        later = queue[bisect_left(queue, group.turn, key=lambda one: one.turn) :]
        others = (one for one in later if one is not group)
        return next(
            (one for one in others if not any(holds.is_shut_out_with(one, other) for other in shut_out)), None
        )

    def _agenda(self) -> Agenda | QueueAgenda:
        """Past use is taken as it is now: it changes slowly."""
        outset = self.outset
        if outset.lending is None:
            return Agenda()
        return QueueAgenda(outset.policy, lambda turn: self._asking[turn.number].ask, outset.past_use)

    def _seat(self, group: ForecastGroup) -> ForecastGroup | None:
        """Those of it who are left without seats; None if none of it can have any."""
        seats, displaced = self.cluster.seats_for(group), list[ForecastGroup]()
        if not seats:
            seats, displaced = self.cluster.make_way(group, self.now)
        for other in displaced:
            self._queues.pop(rest_of(other.key), None)
            self._join(other)
        return self._sit(group, seats, self.now) if seats else None

    def _sit(self, group: ForecastGroup, seats: Assignment, at: float) -> ForecastGroup:
        self.starts.setdefault(group.key, at)
        holds = self.cluster.holds
        if holds is not None and holds.give_up(group.key):
            self._freed = self._unheld = True  # what was held for it may be more than it takes
        self.cluster.sit(self._stay_of(group, at), group, seats)
        return group.rest(seats)

    def _stay_of(self, group: ForecastGroup, at: float) -> ForecastRun:
        """Whoever comes late to a group leaves with it."""
        stay = self.cluster.stays.get(group.key)
        if stay is None:
            tenant = None if group.ask.need else self.outset.tenants.keys.get(group.key)
            lasts = drawn(group.runs, group.key, self.draw)
            ends = max(at, min(at + lasts, group.ends_by))
            stay = ForecastRun(group, at, ends if tenant is None else float(self.tenant_ends[tenant]))
            self.stays.append(stay)
            if stay.ends < NEVER:
                self.expect(stay.ends, ForecastEvent.STAY_ENDS, stay)
        return stay
