"""One cycle: every group has its turn on one trial, which leaves a record of what was tried.

In its turn a group takes seats if there are any. If there are none for its quorum, it may be promised places
that others leave; these are held against all who come after it. The steps of a turn, from the group to the
nodes, each with the file that has the next one:

- `_take_turn`: what the turn is about (here);
- `_serve`: as long as the budget of its namespace lasts (here);
- `_seat`: take what is found, or be promised something (here);
- `_find`: on promised places, or where a search says (here);
- `attempt`: in the domain that the topology asks for (`attempt.py`);
- `seat_within`: on some nodes, by the rules that hold there (`seating.py`);
- `place`: in the best domain of these (`place.py`);
- `solve`: on the best nodes of the domain (`solve.py`).
"""

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import Snapshot
from maitred.decide.agenda import (
    HEALED,
    HELD,
    MOVING,
    SURPLUS,
    Agenda,
    Turn,
    first_turn,
    moving_turn,
)
from maitred.decide.alike import kin, plain
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.budget import AGAIN, BudgetLevel, namespace_of
from maitred.decide.healing.deciding import SlowDecision
from maitred.decide.healing.slow import SlowGroup, forbidding
from maitred.decide.maintenance.movers import LeavingUnit
from maitred.decide.maintenance.moving import Moving
from maitred.decide.preemption.promises import Preemptor, Promise
from maitred.decide.queues.admission import as_scavenger
from maitred.decide.queues.budget_words import NO_ONE_LEAVES
from maitred.decide.queues.budgets import entered
from maitred.decide.queues.overriding import with_overrides
from maitred.decide.queues.turns import QueueAgenda
from maitred.decide.ranks import RankOrder
from maitred.decide.record import CycleRecord, TriedGroup
from maitred.decide.scope import EVERYTHING, NOTHING_KNOWN, KnownResults, Scope
from maitred.decide.seating import commit
from maitred.decide.verdicts import Verdicts
from maitred.model.plan import Plan
from maitred.model.policy import Policy

ONLY_HELD_UP = "it only waits for holds of others"


def decide(snapshot: Snapshot, policy: Policy, now: datetime, scope: Scope = EVERYTHING) -> Plan:
    """What to do with every waiting group. A pure function: the same input gives the same Plan.

    `now` is the only clock there is; `scope` says what to look at.
    """
    return Verdicts(run(snapshot, policy, now, scope)).plan()


def run(
    snapshot: Snapshot,
    policy: Policy,
    now: datetime,
    scope: Scope = EVERYTHING,
    known: KnownResults = NOTHING_KNOWN,
) -> CycleRecord:
    """The record of the cycle: all seats are final, nothing is explained yet."""
    known_queues = entered(snapshot, policy, now, scope.scheduler)
    record = CycleRecord(with_overrides(known_queues, now), policy, now, scope)
    _Cycle(record, known).run()
    return record


class _Cycle:
    def __init__(self, record: CycleRecord, known: KnownResults) -> None:
        self.record, self.known = record, known
        self.context, self.trial = record.context, record.trial
        self.promises, self.budget = record.promises, record.budget
        self._in_vain = set[Hashable]()
        """What groups asked for that found nothing, where others are known by them."""
        self._agenda = self._new_agenda()
        self._movers: list[LeavingUnit | Moving] = [*record.maintenance.served]
        """Those who leave drained nodes, and those who are told in this cycle to make room for others."""

    def run(self) -> None:
        agenda, everyone = self._agenda, self.record.everyone
        for number, group in enumerate(everyone):
            keeps_room = self.record.keeps_room_for(group.view)
            turn = self._first_turn(group, number, keeps_room)
            if self._is_held(group, keeps_room):
                is_healed = group.key in self.record.healing.held_until
                agenda.add(turn.healed if is_healed else turn.held)
            if number < len(self.record.groups) or self.record.holds.remembered(group.view) is not None:
                agenda.add(turn)
        for number, mover in enumerate(self.record.maintenance.served):
            self._add_mover(mover, number)
        self._divide_budget()
        self.record.beginnings.tell(self.trial)
        standing = self._standing_holds()
        while (turn_now := agenda.next(self.trial)) is not None:
            for group in standing.pop(turn_now.rank, ()):
                self.record.holds.keep_as_before(group.view, group.ask)
            if turn_now.part == MOVING:
                self._move(self._movers[turn_now.number])
            else:
                self._take_turn(everyone[turn_now.number], turn_now)
        self._retry_those_who_wait_for_others()
        self._replace_slow_members()
        ranks = RankOrder(self.record.snapshot.nodes, self.context)
        for group in self.record.groups:
            if group.seated or group.promised:
                group.sit_in_rank_order(ranks)

    def _standing_holds(self) -> dict[int, list[TriedGroup]]:
        """Groups that have holds, by rank. With queues whoever has the smaller share goes first."""
        found = dict[int, list[TriedGroup]]()
        if not self.record.holds.are_on or self.trial.queues is not None:
            return found
        known = {group.key: group for group in self.record.everyone if not group.blocked}
        for hold in self.record.snapshot.holds.holds:
            group = known.get(hold.group)
            if group is not None and self.record.holds.remembered(group.view) is not None:
                found.setdefault(self.record.rank(group), []).append(group)
        return found

    def _new_agenda(self) -> Agenda | QueueAgenda:
        everyone, policy = self.record.everyone, self.context.policy
        if self.trial.queues is None:
            return Agenda()
        past = self.record.usage.past
        return QueueAgenda(
            policy, lambda turn: None if turn.part == MOVING else everyone[turn.number].ask, past
        )

    def _first_turn(self, group: TriedGroup, number: int, keeps_room: bool) -> Turn:
        return first_turn(
            self.context.policy.order,
            group.screening.rank.priority,
            group.view.created,
            group.key,
            promised=bool(group.view.nominated) or keeps_room,
            lifted=group.view.override is not None,
            waited=self.record.waited_long(group.view),
            deadline=self.record.urgency(group.view),
            measure=self.record.scope.measures.get(group.key, math.inf),
            place=self.budget.place(group.key),
            number=number,
            scavenges=group.ask.scavenges,
        )

    def _is_held(self, group: TriedGroup, keeps_room: bool) -> bool:
        """Whether places are held for it; for one that comes next, also while not all its pods are there."""
        if not group.blocked and group.view.nominated:
            return True
        incomplete = all(one.category == "Members" for one in group.screening.obstacles)
        return keeps_room and incomplete and not group.screening.problems

    def _divide_budget(self) -> None:
        namespaces = dict[int, set[str]]()
        for group in self.record.groups:
            if not group.blocked:
                namespaces.setdefault(self.record.rank(group), set()).add(namespace_of(group.key))
        self.budget.divide(namespaces)

    def _add_mover(self, mover: LeavingUnit, number: int) -> None:
        scavenges, order = all(ask.scavenges for _, ask in mover.asks), self.context.policy.order
        self._agenda.add(moving_turn(order, mover.priority, mover.name, number, scavenges))

    def _take_turn(self, group: TriedGroup, turn: Turn) -> None:
        if turn.part in (HEALED, HELD):
            self._hold(group)
            return
        self.record.holds.reconsider(group.view)
        if turn.number >= len(self.record.groups):
            self._plan(group, decided=False)
            return
        if group.turn is None:
            group.turn = turn
        if group.blocked:
            self.record.note_turn(group)  # what it would have found now is what it is told
        elif self._serve(group, turn.rank) and turn.part != SURPLUS:
            self._agenda.add(turn.surplus)
        elif self._goes_unpaid(group):
            self._agenda.add(turn.unpaid)
            group.turn = turn.unpaid

    def _goes_unpaid(self, group: TriedGroup) -> bool:
        """Whether no budget pays for it and it is to be tried once more, after all who pay."""
        if group.cut or group.seated or group.promised or not group.ask.need:
            return False
        found = as_scavenger(self.trial, group.ask, self.context.policy)
        if found is None:
            return False
        group.ask, group.too_dear = found
        return True

    def _retry_those_who_wait_for_others(self) -> None:
        """A group may have had its turn before the pods whose company, or balance, it needs were seated.

        A group that is promised places here is not tried again: they are held for it until others have left.
        Now those have had their turns, too, who rank lower: what they have got is not taken from them again.
        """
        groups = self.record.groups
        leaning = (group.turn for group in groups if group.turn and self._depends_on_others(group))
        dependent = [groups[turn.number] for turn in sorted(turn.again for turn in leaning)]
        progress = self.trial.changed and bool(dependent)
        if progress:
            self.promises.spare({group.key for group in groups if group.seated or group.promised})
        while progress:
            progress = False
            self.promises.reconsider()
            for group in dependent:
                if not group.promised:
                    before = len(group.seated)
                    self._serve(group, AGAIN)
                    progress |= len(group.seated) > before
                    if group.seated or group.promised:
                        self.promises.spare({group.key})

    def _depends_on_others(self, group: TriedGroup) -> bool:
        if group.blocked or not group.ask.shapes or group.promised or group.plan is not None:
            return False
        needs = [self.trial.needs(shape) for shape in group.ask.distinct]
        return any(need.affinity or need.spread for need in needs)

    # -- one turn --------------------------------------------------------------------------------------

    def _serve(self, group: TriedGroup, level: BudgetLevel) -> bool:
        """Seat it, if its namespace may go on in this cycle; True if members are left for a surplus turn."""
        if not group.ask.shapes:
            return False
        if not self.budget.is_open(level, group.key):
            if level != AGAIN:  # who had a turn is looked at again when those who sat down are seen there
                self._cut_off(group)
            return False
        group.cut = False
        with self.budget.examination(group.key):
            return self._seat(group)

    def _cut_off(self, group: TriedGroup) -> None:
        """It is not examined in this cycle. Places that are held for it stay held."""
        self.record.note_turn(group)
        group.cut = True
        if group.held and not group.promised:
            group.promise(self.promises.standing(group.preemptor))
        if self.record.holds.remembered(group.view) is not None:
            self._plan(group, decided=False)

    def _seat(self, group: TriedGroup) -> bool:
        """Seat the quorum, or else as many as fit; True if members are left for the surplus turn."""
        self.record.note_turn(group)
        alike = self._known_by(group)
        if group.key in self.known.waiting or alike in self._in_vain:
            self._plan(group)
            return False
        ask, found = group.ask, self._find(group)
        if found:
            taken = quorum_of(ask, found) if ask.need else found
            self.record.note_places(group, commit(self.trial, ask, taken))
            group.take(taken)
            return bool(group.ask.shapes) and bool(ask.need)
        if ask.scavenges:
            group.refusal = NO_ONE_LEAVES
        elif ask.need and not group.promised:
            self._promise(group)
        if not group.promised and self.record.held_until(group.key) is not None:
            self._hold(group)  # what it could not take yet stays kept
        self._plan(group)
        if alike is not None and not (group.promised or group.exhausted):
            self._in_vain.add(alike)
        return False

    def _known_by(self, group: TriedGroup) -> Hashable | None:
        """What it asks for, if others who ask for the same are known to fail as it does."""
        if self.known.as_others and group.ask.need and plain(self.record.snapshot, group.view):
            return kin(group.view), group.ask.closed, group.ask.scavenges
        return None

    def _find(self, group: TriedGroup) -> Assignment | None:
        """Where it can sit now: on the places that it was promised, if it was and they are free."""
        if group.held:
            self._let_go(group)
            ready = self.promises.ready(self.trial, group.preemptor)
            if ready:
                return ready
        known = self.known.seats.get(group.key)
        if known:
            return known
        group.tries += 1
        found = self._search(group)
        return found and self._spare_promised(group, found)

    def _search(self, group: TriedGroup) -> Assignment | None:
        steps = self.context.steps()
        before = steps.left
        group.beside = self.record.holds.in_the_way(group.view)
        found = self.record.holds.seats(self.trial, group.view, group.ask, steps)
        group.steps += before - steps.left
        group.exhausted |= steps.exhausted
        return found

    # -- places that it will have later ----------------------------------------------------------------

    def _plan(self, group: TriedGroup, decided: bool = True) -> None:
        """Where and when it begins at the latest, which nobody who comes after it may delay."""
        if group.plan is None and not (group.promised or group.reserved or group.held or group.blocked):
            group.plan = self.record.holds.plan(self.trial, group.view, group.ask, decided)

    # -- places that others were promised --------------------------------------------------------------

    def _spare_promised(self, group: TriedGroup, found: Assignment) -> Assignment:
        """Seats as good that leave to lesser groups what they were promised, if there are any.

        It may have their places. But others have left for these, and would have left in vain.
        """
        rows = {row for _, row in found}
        lesser = [
            (other, places)
            for other, places in self._promised_before
            if self.record.outranks(group, other) and not (other.held or other.last_tried)
        ]
        if all(places.isdisjoint(rows) for _, places in lesser):
            return found
        with self.promises.kept(self.trial, [other.preemptor for other, _ in lesser]):
            beside = self._search(group) or []
        return beside if len(beside) >= (group.ask.need or len(found)) else found

    @cached_property
    def _promised_before(self) -> list[tuple[TriedGroup, Set[int]]]:
        """Groups that others were told to leave for, and the rows of their places, by rank."""
        nominated = (group for group in self.record.everyone if group.view.nominated)
        waiting = sorted((group for group in nominated if not group.blocked), key=self.record.rank)
        places = (group.preemptor.hold(self.record.snapshot).places for group in waiting)
        return [(group, {row for _, row in seats}) for group, seats in zip(waiting, places, strict=True)]

    def _hold(self, group: TriedGroup) -> None:
        """What it was promised is held against its equals, whether or not it is decided in this cycle.

        Where two were promised the same, the first of them has it.
        """
        self.record.moment += 1
        if self.record.keeps_room_for(group.view):
            group.reserved = self._room_for(group)
            held = self.promises.hold(self.trial, group.coming, group.reserved)
        else:
            held = self.promises.hold_promised(self.trial, group.preemptor)
        if held:
            self.record.note_places(group, held)

    def _room_for(self, group: TriedGroup) -> Assignment:
        """For members that take the places of lost ones also where it is not enough for all of them yet."""
        awaited = replace(group.preemptor, ask=group.coming)
        whole = self.promises.room_for(self.trial, awaited)
        if whole or self.record.held_until(group.key) is None:
            return whole
        return self.promises.some_room_for(self.trial, awaited)

    def _let_go(self, group: TriedGroup) -> None:
        for entry in group.held:
            self.trial.let_go(entry)
            self.record.holds.left(entry)
        group.places = [(moment, place) for moment, place in group.places if not place.held]
        group.reserved = []

    # -- those who leave nodes that are drained --------------------------------------------------------

    def _move(self, mover: LeavingUnit | Moving) -> None:
        """If it leaves now, its places are held before its equals are seated."""
        maintenance = self.record.maintenance
        self.record.moment += 1
        if isinstance(mover, LeavingUnit):
            found = maintenance.serve(self.trial, self.record.moving(mover))
        else:
            found = maintenance.moves.served_again(self.trial, mover)
        if not found.leaves:
            return
        for (view, ask), seats in zip(found.mover.asks, found.seats or (), strict=False):
            group = self.record.move(view, ask, seats)
            self.record.note_places(group, self.promises.hold(self.trial, ask, seats))
        self._note_displaced(self.promises.displaced(found.mover.pods))

    def _make_room(self, group: TriedGroup) -> bool:
        """Whether others move elsewhere for it, because somebody has asked for that."""
        record = self.record
        for makers in record.maintenance.rooms.get(group.key, ()):
            movers = [mover for unit in makers.units for mover in record.movers(unit)]
            last = max(movers, key=record.rank, default=None)
            first = self._unserved_ahead_of(group)
            between = [] if last is None else self._unserved_ahead_of(last, besides=group)
            units = tuple(map(record.moving, makers.units))
            others = first, [ask for ask in between if ask not in first]
            room = record.maintenance.make_room(
                self.trial, replace(makers, units=units), group.key, group.ask, others
            )
            if room is not None:
                self._keep_promise(group, room.seats)
                for moving in room.movings:
                    self._add_mover(moving.mover, len(self._movers))
                    self._movers.append(moving)
                return True
        return False

    # -- members that are slow -------------------------------------------------------------------------

    def _replace_slow_members(self) -> None:
        """Last of all, with the room that nobody else has got."""
        record, begun = self.record, list[SlowDecision]()
        if not self.context.policy.healing.slow.replace:
            return
        for one in record.healing.slow:
            record.moment += 1
            group, leaving = record.replaced_by(one.slow), [other.slow.chosen for other in begun]
            if self._is_needed(one.slow, leaving):
                continue
            seats = attempt(self.trial, group.ask, self.context, self.context.steps())
            if seats:
                group.reserved = seats
                record.bystanders.append(group)
                record.note_places(group, self.promises.hold(self.trial, group.ask, seats))
                begun.append(one)
        record.settle_slow(begun)

    def _is_needed(self, slow: SlowGroup, others: Sequence[Rows]) -> bool:
        """Whether anybody counts on it where it is, or it leaves for somebody; or whether a budget does not
        allow it any more. `others` leave as it would."""
        leaving = self.promises.leaving & ~self.record.snapshot.bound.terminating
        if self.promises.needed[slow.rows].any() or leaving[slow.rows].any():
            return True
        going = np.concatenate((np.flatnonzero(leaving), *others))
        return any(forbidding(self.record.snapshot, slow.chosen, going))

    # -- places that others must leave first -----------------------------------------------------------

    def _promise(self, group: TriedGroup) -> None:
        """Places that others must leave first, if there are any; they are held against all who come after."""
        if group.beside and attempt(self.trial, group.ask, self.context, self.context.steps()):
            group.refusal = ONLY_HELD_UP
            return
        group.weighed += 1
        if self.record.maintenance.rooms and self._make_room(group):
            return
        found = self.promises.find(self.trial, self._preemptor(group), lambda: self._unserved_ahead_of(group))
        if not isinstance(found, Promise):
            group.refusal = found
            return
        self._keep_promise(group, found.seats)
        self._note_displaced(found.displaced)

    def _keep_promise(self, group: TriedGroup, seats: Assignment) -> None:
        self.record.note_sight(group)
        group.promise(seats)
        group.refusal = ""
        self.record.note_places(group, self.promises.hold(self.trial, group.ask, seats))

    def _preemptor(self, group: TriedGroup) -> Preemptor:
        """Nobody leaves for it where it would delay a hold of a group that ranks higher."""
        closed = self.record.holds.closed_to(group.view) if group.beside else None
        if not closed:
            return group.preemptor
        return replace(group.preemptor, ask=replace(group.ask, closed=group.ask.closed | closed))

    def _note_displaced(self, displaced: Mapping[str, Set[str]]) -> None:
        for key, pods in displaced.items():
            if key in self.record.by_key:
                self.record.note_displaced(self.record.by_key[key], pods)

    def _unserved_ahead_of(self, group: TriedGroup, besides: TriedGroup | None = None) -> list[Ask]:
        """What groups of higher rank lack, for which no pod leaves: late and surplus members, and others."""
        record = self.record
        others = (other for other in (*record.groups, *record.undecided) if other is not besides)
        higher = (other for other in others if record.outranks(other, group))
        ahead = [other for other in higher if not other.blocked]
        asks = [other.ask.without(other.promised) if other.promised else other.ask for other in ahead]
        return [ask for ask in asks if ask.shapes]
