"""One cycle: every group in its turn, on one trial; then a verdict for each."""

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import QUORUM, SURPLUS, Agenda, Turn, rank
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.diagnose import Ahead, Diagnosis
from maitred.decide.house import House
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.screen import Screening, invalid_blocker, screen
from maitred.decide.seating import commit
from maitred.decide.seats import Steps
from maitred.model.plan import Bind, Blocker, GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy

NOT_MEASURED: Mapping[str, float] = {}


def decide(
    snapshot: Snapshot,
    policy: Policy,
    now: datetime,
    scheduler: str | None = None,
    groups: Container[str] | None = None,
    measures: Mapping[str, float] = NOT_MEASURED,
    explained: Container[str] | None = None,
) -> Plan:
    """What to do with every waiting group. A pure function: the same input gives the same Plan.

    `now` is the only clock there is; `scheduler` limits the decision to pods that name that scheduler, and
    `groups` to those whose result may have changed since they were last decided. `measures` are, by group,
    what the policy's order goes by where the API does not say it, such as the run time that is left. To find
    out what is in the way takes longer than to find seats; `explained` limits it to some groups.
    """
    return Cycle(snapshot, policy, scheduler, groups, measures, explained).run()


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
    first_seated: int = 0
    last_tried: int = 0
    """Which of the cycle's attempts these were."""

    @property
    def blocked(self) -> bool:
        return bool(self.screening.problems or self.screening.obstacles)

    @property
    def key(self) -> str:
        return self.view.group.key

    def take(self, assignment: Assignment) -> None:
        waiting = self.waiting
        self.seated += [(waiting[member], row) for member, row in assignment]
        gone = {member for member, _ in assignment}
        self.waiting = [place for member, place in enumerate(waiting) if member not in gone]
        self.ask = self.ask.without(assignment)


class Cycle:
    """Turns are served, then the Plan is made of what came of them; a rehearsal replaces either."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        scheduler: str | None,
        groups: Container[str] | None = None,
        measures: Mapping[str, float] = NOT_MEASURED,
        explained: Container[str] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.measures = measures
        self.explained = explained
        self.house = House(policy, known_levels(policy, snapshot))
        self.trial = Trial.of(snapshot)
        self.exhausted = False
        self.attempts = 0
        self.cases = [
            Case(view, screen(view, snapshot, self.house), ask_of(view), list(range(len(view.pods))))
            for view in snapshot.groups
            if (scheduler is None or scheduler in view.pending_schedulers)
            and (groups is None or view.group.key in groups)
        ]

    def run(self) -> Plan:
        agenda = Agenda()
        for number, case in enumerate(self.cases):
            if not case.blocked:
                agenda.add(self._turn(number, QUORUM))
        while (turn := agenda.next()) is not None:
            if self.serve(self.cases[turn.number]) and turn.part == QUORUM:
                agenda.add(self._turn(turn.number, SURPLUS))
        self._retry_those_who_wait_for_others()
        return self.plan()

    def _turn(self, number: int, part: int) -> Turn:
        case = self.cases[number]
        first = rank(case.screening.priority, self.house.policy.order)
        measure = self.measures.get(case.key, math.inf)
        return Turn(first, part, measure, case.view.created, case.key, number)

    def serve(self, case: Case) -> bool:
        """Seat the quorum, or else as many as fit; True if members are left for the surplus turn."""
        ask = case.ask
        if not ask.shapes:
            return False
        self.attempts += 1
        case.last_tried = self.attempts
        steps = Steps(self.house.policy.search.steps)
        found = attempt(self.trial, ask, self.house, steps)
        self.exhausted |= steps.exhausted
        if not found:
            return False
        taken = quorum_of(ask, found) if ask.need else found
        commit(self.trial, ask, taken)
        case.first_seated = case.first_seated or self.attempts
        case.take(taken)
        return bool(case.ask.shapes) and bool(ask.need)

    def _retry_those_who_wait_for_others(self) -> None:
        """A group may have had its turn before the pods whose company, or balance, it needs were seated."""
        turns = sorted(self._turn(number, QUORUM) for number in range(len(self.cases)))
        dependent = [case for turn in turns if self._depends_on_others(case := self.cases[turn.number])]
        progress = self.trial.changed
        while progress:
            progress = False
            for case in dependent:
                before = len(case.seated)
                self.serve(case)
                progress |= len(case.seated) > before

    def _depends_on_others(self, case: Case) -> bool:
        if case.blocked or not case.ask.shapes:
            return False
        needs = [self.trial.needs(shape) for shape in case.ask.distinct]
        return any(need.affinity or need.spread for need in needs)

    # -- the Plan --------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        diagnosis = Diagnosis(self.snapshot, self.trial, self.house)
        verdicts = [self._verdict(case, diagnosis) for case in self.cases]
        warnings = {w for case in self.cases for w in case.view.group.warnings}
        return Plan(
            binds=tuple(chain.from_iterable(map(self._binds, self.cases))),
            groups=tuple(verdicts),
            search_exhausted=self.exhausted or diagnosis.exhausted,
            warnings=tuple(sorted(warnings)),
        )

    def _ahead_of(self, case: Case) -> Ahead:
        """Groups that had seats when this one last tried in vain, with the rows of all their seats."""
        return tuple(
            rows for other, rows in self._seated if other is not case and other.first_seated < case.last_tried
        )

    @cached_property
    def _seated(self) -> list[tuple[Case, tuple[str, tuple[int, ...]]]]:
        """Every group that got seats in this cycle, which is over."""
        seated = [case for case in self.cases if case.seated]
        return [(case, (case.key, tuple(row for _, row in case.seated))) for case in seated]

    def _binds(self, case: Case) -> list[Bind]:
        names, pods, uids, key = self.snapshot.nodes.names, case.view.pods, case.view.uids, case.key
        return [Bind(pods[member], uids[member], names[row], key) for member, row in sorted(case.seated)]

    def _verdict(self, case: Case, diagnosis: Diagnosis) -> GroupVerdict:
        view, screening = case.view, case.screening
        placed = len(view.running) + view.succeeded + len(case.seated)
        blockers: tuple[Blocker, ...] = ()
        verdict: Verdict = "Scheduled" if placed >= view.group.quorum and view.group.exists else "Waiting"
        if screening.problems:
            verdict, blockers = "Invalid", tuple(map(invalid_blocker, screening.problems))
        elif screening.obstacles:
            blockers = screening.obstacles
        elif case.ask.shapes and (self.explained is None or case.key in self.explained):
            own = tuple((int(view.shapes[member]), row) for member, row in case.seated)
            blockers, impossible = diagnosis.of(view, case.ask, own, self._ahead_of(case))
            verdict = "Impossible" if impossible and verdict == "Waiting" else verdict
        return GroupVerdict(
            group=case.key,
            verdict=verdict,
            members=view.members,
            quorum=view.group.quorum,
            placed=placed,
            domains=self._domains(case),
            blockers=blockers,
        )

    def _domains(self, case: Case) -> dict[str, str]:
        """The domains that all placed members share, by level."""
        rows = [member.node for member in case.view.running] + [row for _, row in case.seated]
        asked = [self.house.key(level) for level in named_keys(case.view.group.topology)]
        keys = dict.fromkeys([*(level.key for level in self.house.levels), *asked])
        domains = {}
        for key in keys if rows else ():
            column = self.snapshot.nodes.column(key)
            codes = set(column.codes[rows].tolist())
            if len(codes) == 1 and (code := codes.pop()) >= 0:
                domains[self.house.name(key)] = column.values[code]
        return domains
