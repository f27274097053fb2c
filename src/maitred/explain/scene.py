"""What people ask about: a cluster at one moment, the rules, and what is remembered."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.explain.hearing import Hearing
from maitred.model.history import NO_HISTORY, History
from maitred.model.plan import Plan
from maitred.model.policy import Policy


@dataclass(frozen=True)
class Scene:
    """Every answer is a function of a scene: the same scene gives the same answer."""

    snapshot: Snapshot
    policy: Policy
    now: datetime
    scheduler: str | None = None
    """Only groups whose pods name this scheduler are decided; None for all."""
    history: History = NO_HISTORY
    _plans: dict[frozenset[str] | None, Plan] = field(default_factory=dict, compare=False, repr=False)
    _hearings: dict[frozenset[str], Hearing] = field(default_factory=dict, compare=False, repr=False)

    def plan(self, explained: Iterable[str] | None = None) -> Plan:
        """What would be decided now. To find out what is in the way takes longest, so it is done for some
        groups; None for all."""
        chosen = None if explained is None else frozenset(explained)
        if chosen not in self._plans:
            self._plans[chosen] = decide(
                self.snapshot, self.policy, self.now, self.scheduler, explained=chosen
            )
        return self._plans[chosen]

    def decided(self) -> Plan:
        """The same for those who only want to know what is decided: Plans differ in explanations alone."""
        return next(iter(self._plans.values())) if self._plans else self.plan(explained=())

    def hearing(self, *groups: str) -> Hearing:
        """The same cycle, with what it found out about these groups."""
        chosen = frozenset(groups)
        if chosen not in self._hearings:
            heard = Hearing(self.snapshot, self.policy, self.now, self.scheduler, chosen)
            self._hearings[chosen], self._plans[chosen] = heard, heard.decided
        return self._hearings[chosen]
