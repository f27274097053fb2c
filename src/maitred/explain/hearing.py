"""A cycle that keeps what people ask about some groups: their turns, and what the others left them."""

from collections.abc import Sequence, Set
from datetime import datetime

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import PROMISED, QUORUM, Turn
from maitred.decide.cycle import Case, Cycle, Taken
from maitred.decide.diagnose import Diagnosis
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.policy import Policy


class Hearing(Cycle):
    """Only these groups are explained. Of several that have one name, the first is meant."""

    def __init__(
        self, snapshot: Snapshot, policy: Policy, now: datetime, scheduler: str | None, groups: Set[str]
    ) -> None:
        super().__init__(snapshot, policy, now, scheduler, explained=groups)
        self._heard = {case.key: case for case in reversed(self.cases) if case.key in groups}
        self._verdicts_of: dict[str, GroupVerdict] = {}
        self._left: dict[str, Trial] = {}
        self.decided: Plan = self.run()

    def case(self, group: str) -> Case | None:
        """The group on its way; None if it is not decided."""
        return self._heard.get(group)

    def verdict(self, group: str) -> GroupVerdict:
        return self._verdicts_of[group]

    def left(self, group: str) -> Trial:
        """The cluster as it was when the blockers of the group were looked for."""
        return self._left[group]

    def turn_of(self, case: Case) -> Turn:
        """When it had its first turn: turns compare in the order in which they come."""
        return self._turn(case, 0, PROMISED if case.view.nominated else QUORUM)

    def _verdict(self, case: Case, diagnosis: Diagnosis, taken: Sequence[Taken]) -> GroupVerdict:
        found = super()._verdict(case, diagnosis, taken)
        if case is self._heard.get(case.key):
            self._verdicts_of[case.key] = found
            self._left[case.key] = diagnosis.trial.on(diagnosis.trial.nodes)
        return found
