"""A cycle that is kept, so that people can ask about any group: its turn, and what the others left it."""

import math
from collections.abc import Set
from datetime import datetime

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn
from maitred.decide.context import Context
from maitred.decide.cycle import run
from maitred.decide.holding.waiting import WaitingHolds
from maitred.decide.provisioning import NOTHING, Requests
from maitred.decide.record import TriedGroup
from maitred.decide.scope import KnownResults, Scope
from maitred.decide.verdicts import Verdicts, with_refusal
from maitred.model.plan import Blocker, GroupVerdict, Plan
from maitred.model.policy import Policy


class ExplainedCycle:
    """One cycle, from whose record every answer speaks.

    Groups are explained when they are asked about: that takes longest, and nobody asks about all of them. Of
    several groups that have one name, the first is meant.
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
        self.snapshot, self.now, self.scheduler = snapshot, now, scheduler
        scope = Scope(scheduler, explained=(), explainable=True)
        self._record = run(snapshot, policy, now, scope, KnownResults(waiting))
        self._verdicts = Verdicts(self._record)
        self._by_key = {group.key: group for group in reversed(self._record.groups)}
        self._explained: dict[int, GroupVerdict] = {}
        self.decided: Plan = self._verdicts.plan()

    @property
    def context(self) -> Context:
        return self._record.context

    @property
    def groups(self) -> list[TriedGroup]:
        """All that were decided, in the order of the Plan."""
        return self._record.groups

    @property
    def holds(self) -> WaitingHolds:
        """What is held for groups that wait, and what is reserved."""
        return self._record.holds

    @property
    def exhausted(self) -> bool:
        """Whether any search was cut off so far, of the cycle or of what was asked since."""
        return self._verdicts.exhausted

    def group(self, key: str) -> TriedGroup | None:
        """What the cycle did with a group; None if it is not decided."""
        return self._by_key.get(key)

    def kept_room(
        self, priority: float = -math.inf, besides: str = ""
    ) -> list[tuple[int, list[tuple[int, int]]]]:
        """The account, and the shapes and rows of places that are kept for pods which come later: of this
        priority or a higher, and not of the group `besides`."""
        return [
            (group.ask.account, [(group.shapes[member], row) for member, row in group.kept])
            for group in self._record.everyone
            if group.kept and group.screening.rank.priority >= priority and group.key != besides
        ]

    def verdict(self, key: str) -> GroupVerdict:
        return self._explain(self._by_key[key])

    def explained_at(self, index: int) -> GroupVerdict:
        """Of a group by its place in the Plan: two may have one name."""
        return self._explain(self.groups[index])

    def verdicts(self, keys: Set[str]) -> tuple[GroupVerdict, ...]:
        """Of all groups, with what is in the way of these. Who came last is looked at first, as in a cycle:
        those who found the same follow each other."""
        for group in sorted(self.groups, key=lambda group: -group.last_tried):
            if group.key in keys:
                self._explain(group)
        pairs = zip(self.groups, self.decided.decisions, strict=True)
        found = [(one, self._explain(one) if one.key in keys else bare) for one, bare in pairs]
        return tuple(verdict for one, whole in found for verdict in self._verdicts.with_parts(one, whole))

    def requests(self, keys: Set[str]) -> Requests:
        """Which of these groups ask an autoscaler for nodes."""
        if not self.context.policy.provisioning.class_name:
            return NOTHING
        decided = enumerate(self.decided.decisions)
        found = (self.explained_at(place) if one.group in keys else one for place, one in decided)
        return self._verdicts.node_requests(list(found))

    def parts(self, key: str) -> tuple[GroupVerdict, ...]:
        """The parts of a tree, as its verdict has them; none of any other group."""
        group = self._by_key[key]
        return self._verdicts.with_parts(group, self._explain(group))[1:]

    def _explain(self, group: TriedGroup) -> GroupVerdict:
        if id(group) not in self._explained:
            taken = self._record.taken()
            self._explained[id(group)] = self._verdicts.of(group, taken, explained=True)
        return self._explained[id(group)]

    def blockers_beside(self, key: str, siblings: Set[str]) -> tuple[Blocker, ...]:
        """What is in the way of a group whose siblings keep the places that they got in this cycle."""
        record, group = self._record, self._by_key[key]
        taken = record.taken()
        own = tuple(
            (int(other.view.shapes[member]), row)
            for other, _ in taken
            if other.key in siblings
            for member, row in other.seated
        )
        ahead = record.ahead_of(group, [one for one in taken if one[0].key not in siblings])
        diagnosis = record.hindsight.at(group.last_tried)
        blockers, impossible = diagnosis.of(group.view, group.ask, own, ahead)
        return blockers if impossible else with_refusal(blockers, group.refusal)

    def left(self, key: str) -> Trial:
        """The cluster as it was in the group's last turn."""
        trial = self._record.hindsight.at(self._by_key[key].last_tried).trial
        return trial.on(trial.nodes)

    def turn_of(self, group: TriedGroup) -> Turn:
        """Its first turn in this cycle: turns compare in the order in which they came."""
        assert group.turn is not None, "every group that is decided has a turn"
        return group.turn
