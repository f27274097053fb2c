"""One cycle: every group in its turn, on one trial; then a verdict for each."""

import math
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Self

import msgspec

from maitred.cluster.journal import Seated
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import HELD, SURPLUS, Agenda, Turn, first_turn, rank
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.budget import AGAIN, EXPLAINING, Budget, Level, namespace_of
from maitred.decide.diagnose import Ahead, Diagnosis, Grounds
from maitred.decide.hindsight import Hindsight
from maitred.decide.house import House
from maitred.decide.levels import known_levels, shared_domains
from maitred.decide.preemption.promises import Claimant, Promise, Promises, not_before
from maitred.decide.screen import Screening, invalid_blocker, screen
from maitred.decide.seating import commit
from maitred.model.categories import CATEGORIES
from maitred.model.plan import Bind, Blocker, GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation

NOT_MEASURED: Mapping[str, float] = {}


def decide(
    snapshot: Snapshot,
    policy: Policy,
    now: datetime,
    scheduler: str | None = None,
    groups: Container[str] | None = None,
    measures: Mapping[str, float] = NOT_MEASURED,
    explained: Container[str] | None = None,
    rotation: Rotation | None = None,
) -> Plan:
    """What to do with every waiting group. A pure function: the same input gives the same Plan.

    `now` is the only clock there is; `scheduler` limits the decision to pods that name that scheduler, and
    `groups` to those whose result may have changed since they were last decided. `measures` are, by group,
    what the policy's order goes by where the API does not say it, such as the run time that is left. To find
    out what is in the way takes longer than to find seats; `explained` limits it to some groups. `rotation`
    limits how much is done in all; groups that are not got to wait with the blocker `Backoff`.
    """
    return Cycle(snapshot, policy, now, scheduler, groups, measures, explained, rotation).run().plan()


NEVER_YET = -1


@dataclass(slots=True)
class Case:
    """A group on its way through the cycle."""

    view: GroupView
    screening: Screening
    ask: Ask
    """What is still asked for."""
    waiting: list[int]
    """Positions in the view of the members in `ask`."""
    seated: Assignment = field(default_factory=list)
    """Members, by position in the view, and their rows."""
    first_seated: int = NEVER_YET
    last_tried: int = 0
    """At which of the cycle's moments these were."""
    promised: Assignment = field(default_factory=list)
    """Members, by position in the view, and the rows that they take once others have left."""
    places: list[tuple[int, Seated]] = field(default_factory=list)
    """What it has on the trial, and since which moment: seats, and places that are held for it."""
    steps: int = 0
    """What the searches for its seats took."""
    refusal: str = ""
    """Why nobody leaves for it, if it could not be seated."""
    blockers: tuple[Blocker, ...] = ()
    """What was in the way when it was promised its places."""
    turn: Turn | None = None
    """Its first, as it was handed out: nobody who asks need work out the order again."""
    cut: bool = False
    """Whether its namespace had used its share of the cycle's budget when it was its turn."""
    _rows: tuple[int, ...] | None = None

    @property
    def blocked(self) -> bool:
        return bool(self.screening.problems or self.screening.obstacles)

    @property
    def key(self) -> str:
        return self.view.group.key

    @property
    def held(self) -> list[Seated]:
        """The places that it was promised, while they are held for it."""
        return [place for _, place in self.places if place.held]

    @property
    def rows(self) -> tuple[int, ...]:
        """Of its seats, and of the places that it was promised: every group after it asks for them."""
        if self._rows is None:
            self._rows = tuple(int(row) for _, row in (*self.seated, *self.promised))
        return self._rows

    def promise(self, places: Assignment) -> None:
        self.promised, self._rows = places, None

    def take(self, assignment: Assignment) -> None:
        waiting = self.waiting
        self.seated += [(waiting[member], row) for member, row in assignment]
        self._rows = None
        gone = {member for member, _ in assignment}
        self.waiting = [place for member, place in enumerate(waiting) if member not in gone]
        self.ask = self.ask.without(assignment)


Taken = tuple[Case, tuple[str, tuple[int, ...]]]
"""A group that has places, its name, and the rows of these."""


class Cycle:
    """In two steps: `run` gives every group its turn, after which all seats are final; `plan` explains what
    is in the way of those who wait, which takes longer. Who binds pods need not wait for the second."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now: datetime,
        scheduler: str | None = None,
        groups: Container[str] | None = None,
        measures: Mapping[str, float] = NOT_MEASURED,
        explained: Container[str] | None = None,
        rotation: Rotation | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.measures = measures
        self.explained = explained
        self.house = House(policy, known_levels(policy, snapshot))
        self.budget = Budget(rotation, self.house.meter, policy.search.steps)
        self.trial = Trial.of(snapshot)
        self.promises = Promises(snapshot, self.house, now)
        self.exhausted = False
        self.moment = 0
        """Every attempt to seat a group, and every place that is held, has its own."""
        self.cases = list[Case]()
        self.bystanders = list[Case]()
        """They are not decided, but were promised places, which they keep."""
        for view in snapshot.groups:
            decided = (scheduler is None or scheduler in view.pending_schedulers) and (
                groups is None or view.group.key in groups
            )
            if decided or view.nominated:
                (self.cases if decided else self.bystanders).append(self._case(view))

    def _case(self, view: GroupView) -> Case:
        screening = screen(view, self.snapshot, self.house)
        return Case(view, screening, ask_of(view), list(range(len(view.pods))))

    def run(self) -> Self:
        """Serve everybody."""
        agenda, everyone = Agenda(), [*self.cases, *self.bystanders]
        for number, case in enumerate(everyone):
            turn = self._first_turn(case, number)
            if not case.blocked and case.view.nominated:
                agenda.add(turn.held)
            if number < len(self.cases):
                agenda.add(turn)
        self._divide_budget()
        while (next_turn := agenda.next(self.trial)) is not None:
            self._take_turn(everyone[next_turn.number], next_turn, agenda)
        self._retry_those_who_wait_for_others()
        return self

    def _take_turn(self, case: Case, turn: Turn, agenda: Agenda) -> None:
        if turn.part == HELD:
            self._hold(case)
            return
        if case.turn is None:
            case.turn = turn
        if case.blocked:
            self._note_turn(case)  # what it would have found now is what it is told
        elif self._serve_within_budget(case, turn.rank) and turn.part != SURPLUS:
            agenda.add(turn.surplus)

    def _first_turn(self, case: Case, number: int) -> Turn:
        return first_turn(
            self.house.policy.order,
            case.screening.rank.priority,
            case.view.created,
            case.key,
            promised=bool(case.view.nominated),
            measure=self.measures.get(case.key, math.inf),
            place=self.budget.place(case.key),
            number=number,
        )

    def _divide_budget(self) -> None:
        namespaces = dict[int, set[str]]()
        for case in self.cases:
            if not case.blocked:
                namespaces.setdefault(self._rank(case), set()).add(namespace_of(case.key))
        self.budget.divide(namespaces)

    def _serve_within_budget(self, case: Case, level: Level) -> bool:
        """The same as to serve it, if its namespace may go on in this cycle."""
        if not case.ask.shapes:
            return False
        if not self.budget.is_open(level, case.key):
            if level != AGAIN:  # who had a turn is looked at again when those who sat down are seen there
                self._cut_off(case)
            return False
        case.cut = False
        with self.budget.examination(case.key):
            return self.serve(case)

    def _cut_off(self, case: Case) -> None:
        """It is not examined in this cycle. Places that are held for it stay held."""
        self._note_turn(case)
        case.cut = True
        if case.held and not case.promised:
            case.promise(self.promises.standing(self._claimant(case)))

    def serve(self, case: Case) -> bool:
        """Seat the quorum, or else as many as fit; True if members are left for the surplus turn."""
        ask = case.ask
        if not ask.shapes:
            return False
        self._note_turn(case)
        found = self._seats_for(case)
        if not found:
            if ask.need and not case.promised:
                self._promise(case)
            return False
        taken = quorum_of(ask, found) if ask.need else found
        self._note_places(case, commit(self.trial, ask, taken))
        case.take(taken)
        return bool(case.ask.shapes) and bool(ask.need)

    def _promise(self, case: Case) -> None:
        """Places that others must leave first, if there are any; they are held against all who come after."""
        claimant = self._claimant(case)
        found = self.promises.find(self.trial, claimant, lambda: self._unserved_ahead_of(case))
        if not isinstance(found, Promise):
            case.refusal = found
            return
        self._note_blockers(case)
        case.promise(found.seats)
        case.refusal = ""
        self._note_places(case, self.promises.hold(self.trial, case.ask, found.seats))
        for key, pods in found.displaced.items():
            if key in self._by_key:
                self._take_away(self._by_key[key], pods)

    @cached_property
    def _by_key(self) -> dict[str, Case]:
        return {case.key: case for case in self.cases}

    def _note_blockers(self, case: Case) -> None:
        """What is in its way now is gone once its places are held for it."""
        if self._is_explained(case):
            diagnosis = Diagnosis(self._grounds, self.trial)
            case.blockers = diagnosis.of_promised(case.ask, self._ahead_of(case, self._taken()))

    def _take_away(self, case: Case, pods: Set[str]) -> None:
        """Members that leave for others count no more; the group, which ranks lower, is yet to be served."""
        stays = [place for place, member in enumerate(case.view.running) if member.order[2] not in pods]
        running = tuple(case.view.running[place] for place in stays)
        case.view = replace(case.view, running=running, running_shapes=case.view.running_shapes[stays])
        case.screening = screen(case.view, self.snapshot, self.house)
        case.ask = ask_of(case.view)

    def _unserved_ahead_of(self, case: Case) -> list[Ask]:
        """What groups of higher rank lack, for whom nobody leaves: late and surplus members, and others."""
        first = self._rank(case)
        higher = (other for other in (*self.cases, *self._undecided) if self._rank(other) < first)
        ahead = [other for other in higher if not other.blocked]
        asks = [other.ask.without(other.promised) if other.promised else other.ask for other in ahead]
        return [ask for ask in asks if ask.shapes]

    @cached_property
    def _undecided(self) -> list[Case]:
        """Groups that wait and that this cycle does not decide: not ours, or nothing has happened to them."""
        known = {id(case.view) for case in (*self.cases, *self.bystanders)}
        return [self._case(view) for view in self.snapshot.groups if id(view) not in known]

    def _hold(self, case: Case) -> None:
        """What it was promised is held against its equals, whether or not it is decided in this cycle.

        Where two were promised the same, the first of them has it.
        """
        self.moment += 1
        held = self.promises.hold_promised(self.trial, self._claimant(case))
        if held:
            self._note_places(case, held)

    def _note_turn(self, case: Case) -> None:
        self.moment += 1
        case.last_tried = self.moment

    def _note_places(self, case: Case, places: Sequence[Seated]) -> None:
        """From now on it is in the way of others."""
        case.first_seated = self.moment if case.first_seated == NEVER_YET else case.first_seated
        case.places += [(self.moment, place) for place in places]

    def _let_go(self, case: Case) -> None:
        for entry in case.held:
            self.trial.let_go(entry)
        case.places = [(moment, place) for moment, place in case.places if not place.held]

    def _claimant(self, case: Case) -> Claimant:
        return Claimant(case.view, case.ask, case.screening.rank)

    def _seats_for(self, case: Case) -> Assignment | None:
        """Where it can sit now: on the places that it was promised, if it was and they are free."""
        if not case.held:
            return self._attempt(case)
        self._let_go(case)
        return self.promises.ready(self.trial, self._claimant(case)) or self._attempt(case)

    def _attempt(self, case: Case) -> Assignment | None:
        found = self._search(case)
        return found and self._considerate(case, found)

    def _search(self, case: Case) -> Assignment | None:
        steps = self.house.steps()
        before = steps.left
        found = attempt(self.trial, case.ask, self.house, steps)
        case.steps += before - steps.left
        self.exhausted |= steps.exhausted
        return found

    def _considerate(self, case: Case, found: Assignment) -> Assignment:
        """Seats as good that leave to lesser groups what they were promised, if there are any.

        It may have their places. But others have left for these, and would have left in vain.
        """
        first, rows = self._rank(case), {row for _, row in found}
        lesser = [
            (other, places)
            for other, places in self._promised_before
            if self._rank(other) > first and not (other.held or other.last_tried)
        ]
        if all(places.isdisjoint(rows) for _, places in lesser):
            return found
        with self.promises.kept(self.trial, [self._claimant(other) for other, _ in lesser]):
            beside = self._search(case) or []
        return beside if len(beside) >= (case.ask.need or len(found)) else found

    @cached_property
    def _promised_before(self) -> list[tuple[Case, Set[int]]]:
        """Groups that others were told to leave for, and the rows of their places, by rank."""
        everyone = (case for case in (*self.cases, *self.bystanders) if case.view.nominated)
        waiting = sorted((case for case in everyone if not case.blocked), key=self._rank)
        places = (self._claimant(case).promised(self.snapshot) for case in waiting)
        return [(case, {row for _, row in seats}) for case, seats in zip(waiting, places, strict=True)]

    def _retry_those_who_wait_for_others(self) -> None:
        """A group may have had its turn before the pods whose company, or balance, it needs were seated."""
        turns = sorted(case.turn.again for case in self.cases if case.turn is not None)
        dependent = [case for turn in turns if self._depends_on_others(case := self.cases[turn.number])]
        progress = self.trial.changed
        while progress:
            progress = False
            for case in dependent:
                before = len(case.seated)
                self._serve_within_budget(case, AGAIN)
                progress |= len(case.seated) > before

    def _depends_on_others(self, case: Case) -> bool:
        if case.blocked or not case.ask.shapes or case.promised:
            return False
        needs = [self.trial.needs(shape) for shape in case.ask.distinct]
        return any(need.affinity or need.spread for need in needs)

    # -- the Plan --------------------------------------------------------------------------------------

    def seats(self) -> Plan:
        """The part of the Plan that is known first: who sits down, in the order in which they were served.
        Of members that are left over it does not say what is in their way."""
        seated = sorted((case for case in self.cases if case.seated), key=lambda case: case.first_seated)
        return Plan(
            binds=tuple(chain.from_iterable(self._binds(case, case.seated) for case in seated)),
            groups=tuple(self._bare_verdict(case) for case in seated),
        )

    def plan(self) -> Plan:
        verdicts = self._verdicts()
        warnings = {w for case in self.cases for w in case.view.group.warnings}
        wake_at = self.promises.wake_at
        return Plan(
            binds=tuple(chain.from_iterable(self._binds(case, case.seated) for case in self.cases)),
            nominations=tuple(chain.from_iterable(self._binds(case, case.promised) for case in self.cases)),
            evictions=tuple(self.promises.evictions()),
            groups=tuple(verdicts),
            wake_at=None if wake_at is None else not_before(wake_at),
            search_exhausted=self.exhausted or self.promises.exhausted,
            warnings=tuple(sorted(warnings.union(self.promises.warnings()))),
        )

    def _verdicts(self) -> list[GroupVerdict]:
        """In the order of the cases. Who came last is looked at first: the groups that had their turns with
        nothing given away between them then follow each other, and are diagnosed on the same ground."""
        found, taken = dict[int, GroupVerdict](), self._taken()
        for case in sorted(self.cases, key=lambda case: -case.last_tried):
            found[id(case)] = self._verdict(case, taken)
        return [found[id(case)] for case in self.cases]

    @cached_property
    def _hindsight(self) -> Hindsight:
        everyone = (*self.cases, *self.bystanders)
        return Hindsight(self._grounds, self.trial, (place for case in everyone for place in case.places))

    @cached_property
    def _grounds(self) -> Grounds:
        return Grounds(self.snapshot, self.house)

    def _rank(self, case: Case) -> int:
        return rank(case.screening.rank.priority, self.house.policy.order)

    def _ahead_of(self, case: Case, taken: Sequence[Taken]) -> Ahead:
        """Groups that had places when this one last tried in vain, with the rows of all of them."""
        return tuple(
            rows for other, rows in taken if other is not case and other.first_seated < case.last_tried
        )

    def _taken(self) -> list[Taken]:
        """Every group that has got places in this cycle, or was promised some."""
        found = [(case, case.rows) for case in self.cases if case.seated or case.promised]
        found += [(case, tuple(int(r) for held in case.held for r in held.rows)) for case in self.bystanders]
        return [(case, (case.key, rows)) for case, rows in found if rows]

    def _binds(self, case: Case, places: Assignment) -> list[Bind]:
        names, pods, uids, key = self.snapshot.nodes.names, case.view.pods, case.view.uids, case.key
        return [Bind(pods[member], uids[member], names[row], key) for member, row in sorted(places)]

    def _verdict(self, case: Case, taken: Sequence[Taken]) -> GroupVerdict:
        bare, screening = self._bare_verdict(case), case.screening
        verdict, blockers = bare.verdict, bare.blockers
        if screening.problems:
            verdict, blockers = "Invalid", tuple(map(invalid_blocker, screening.problems))
        elif screening.obstacles:
            blockers = screening.obstacles
            if self._is_explained(case) and all(CATEGORIES[one.category].hides_others for one in blockers):
                blockers += self._behind_gates(case)
        elif case.promised:
            verdict, blockers = "Preempting", case.blockers
            if case.cut:
                blockers = (self.budget.not_examined(case.key),)
        elif case.ask.shapes and case.cut:
            blockers = (self.budget.not_examined(case.key),)
        elif case.ask.shapes and self._is_explained(case):
            blockers, impossible = self._blockers_within_budget(case, taken)
            verdict = "Impossible" if impossible and verdict == "Waiting" else verdict
            if case.refusal and verdict == "Waiting":
                blockers = (with_refusal(blockers[0], case.refusal), *blockers[1:])
        return msgspec.structs.replace(bare, verdict=verdict, blockers=blockers)

    def _bare_verdict(self, case: Case) -> GroupVerdict:
        """What its seats alone say."""
        view = case.view
        placed = len(view.running) + view.succeeded + len(case.seated)
        verdict: Verdict = "Scheduled" if placed >= view.group.quorum and view.group.exists else "Waiting"
        return GroupVerdict(case.key, verdict, view.members, view.group.quorum, placed, self._domains(case))

    def _is_explained(self, case: Case) -> bool:
        return self.explained is None or case.key in self.explained

    def _blockers_within_budget(self, case: Case, taken: Sequence[Taken]) -> tuple[tuple[Blocker, ...], bool]:
        """What is in its way, and whether it could never be seated; a later cycle says so if this one may not
        go on."""
        if not self.budget.is_open(EXPLAINING, case.key):
            return (self.budget.not_explained(case.key),), False
        own = tuple((int(case.view.shapes[member]), row) for member, row in case.seated)
        with self.budget.examination(case.key):
            diagnosis = self._hindsight.at(case.last_tried)
            found = diagnosis.of(case.view, case.ask, own, self._ahead_of(case, taken))
        self.exhausted |= diagnosis.exhausted
        return found

    def _behind_gates(self, case: Case) -> tuple[Blocker, ...]:
        if not self.budget.is_open(EXPLAINING, case.key):
            return (self.budget.not_explained(case.key),)
        with self.budget.examination(case.key):
            diagnosis = self._hindsight.at(case.last_tried)
            found = diagnosis.behind_gates(case.ask)
        self.exhausted |= diagnosis.exhausted
        return found

    def _domains(self, case: Case) -> dict[str, str]:
        rows = [member.node for member in case.view.running] + [row for _, row in case.seated]
        return shared_domains(self.snapshot.nodes, self.house.levels, case.view.group.topology, rows)


def with_refusal(blocker: Blocker, refusal: str) -> Blocker:
    """The same, and why others do not make room."""
    return msgspec.structs.replace(blocker, detail={**blocker.detail, "preemption": refusal})
