"""A cycle that is kept, so that people can ask about any group: its turn, and what the others left it."""

from collections.abc import Set
from datetime import datetime

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn
from maitred.decide.ask import Ask
from maitred.decide.cycle import Case, Cycle, with_refusal
from maitred.decide.diagnose import Ahead, Diagnosis
from maitred.model.plan import Blocker, GroupVerdict, Plan
from maitred.model.policy import Policy


class Hearing(Cycle):
    """The record of one cycle, from which every answer speaks.

    Groups are explained when they are asked about: that takes longest, and nobody asks about all of them. So
    what each of them saw is kept. Of several groups that have one name, the first is meant.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now: datetime,
        scheduler: str | None,
        waiting: Set[str] = frozenset(),
    ) -> None:
        """`waiting`: groups that are known to wait, and are not tried."""
        super().__init__(snapshot, policy, now, scheduler, explained=())
        self.now, self.scheduler = now, scheduler
        self._waiting = waiting
        self._heard = {case.key: case for case in reversed(self.cases)}
        self._before: dict[int, tuple[Diagnosis, GroupView, Ask, Ahead]] = {}
        """Of those who were promised places: what they saw before."""
        self._known: dict[int, GroupVerdict] = {}
        self.decided: Plan = self.run().plan()

    def serve(self, case: Case) -> bool:
        if case.key in self._waiting:
            self._note_turn(case)
            return False
        return super().serve(case)

    def case(self, group: str) -> Case | None:
        """The group on its way; None if it is not decided."""
        return self._heard.get(group)

    def verdict(self, group: str) -> GroupVerdict:
        return self._told(self._heard[group])

    def explained_at(self, index: int) -> GroupVerdict:
        """Of a group by its place in the Plan: two may have one name."""
        return self._told(self.cases[index])

    def verdicts(self, groups: Set[str]) -> tuple[GroupVerdict, ...]:
        """Of all groups, with what is in the way of these. Who came last is looked at first, as in a cycle:
        those who found the same follow each other."""
        for case in sorted(self.cases, key=lambda case: -case.last_tried):
            if case.key in groups:
                self._told(case)
        pairs = zip(self.cases, self.decided.groups, strict=True)
        return tuple(self._told(case) if case.key in groups else found for case, found in pairs)

    def _told(self, case: Case) -> GroupVerdict:
        if id(case) not in self._known:
            self.explained = {case.key}
            if case.promised:
                before, view, ask, ahead = self._before[id(case)]
                case.blockers = before.of(view, ask, (), ahead)[0]
            self._known[id(case)] = self._verdict(case, self._taken())
        return self._known[id(case)]

    def blockers_beside(self, group: str, siblings: Set[str]) -> tuple[Blocker, ...]:
        """What is in the way of a group whose siblings keep the places that they got in this cycle."""
        case = self._heard[group]
        taken = self._taken()
        own = tuple(
            (int(other.view.shapes[member]), row)
            for other, _ in taken
            if other.key in siblings
            for member, row in other.seated
        )
        ahead = self._ahead_of(case, [one for one in taken if one[0].key not in siblings])
        (first, *others), impossible = self._hindsight.at(case.last_tried).of(case.view, case.ask, own, ahead)
        refused = case.refusal and not impossible
        return (with_refusal(first, case.refusal) if refused else first, *others)

    def left(self, group: str) -> Trial:
        """The cluster as it was in the group's last turn."""
        trial = self._hindsight.at(self._heard[group].last_tried).trial
        return trial.on(trial.nodes)

    def turn_of(self, case: Case) -> Turn:
        """Its first turn in this cycle: turns compare in the order in which they came."""
        assert case.turn is not None, "every group that is decided has a turn"
        return case.turn

    def _note_blockers(self, case: Case) -> None:
        seen = Diagnosis(self._grounds, self.trial.on(self.trial.nodes))
        self._before[id(case)] = (seen, case.view, case.ask, self._ahead_of(case, self._taken()))
