"""What people ask about: a cluster at one moment, the rules, and what is remembered."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.decide.alike import plain
from maitred.decide.preemption.promises import not_before
from maitred.decide.queues.budgets import entered
from maitred.explain.cycle import ExplainedCycle
from maitred.model.history import NO_HISTORY, History
from maitred.model.plan import Plan
from maitred.model.policy import Policy

T = TypeVar("T")


@dataclass(frozen=True)
class Situation:
    """Every answer is a function of a situation: the same situation gives the same answer."""

    snapshot: Snapshot
    policy: Policy
    now: datetime
    scheduler: str | None = None
    """Only groups whose pods name this scheduler are decided; None for all."""
    history: History = NO_HISTORY
    waiting: frozenset[str] = frozenset()
    """Groups of which it is known that they wait, whoever else comes: they are not tried again."""
    _made: dict[Callable[["Situation"], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "snapshot", entered(self.snapshot, self.policy, self.now, self.scheduler))

    def on(self, snapshot: Snapshot) -> "Situation":
        """The same for another snapshot."""
        return replace(self, snapshot=snapshot, _made={})

    def once(self, make: Callable[["Situation"], T]) -> T:
        """Something that is made from this situation, and does not change: once for all who ask."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def cycle(self) -> ExplainedCycle:
        """What would be decided now, by one cycle for all who ask."""
        return self.once(_explained_cycle)

    def decided(self) -> Plan:
        """For those who only want to know what is decided, and not why."""
        return self.cycle().decided

    def plan(self, explained: Iterable[str]) -> Plan:
        """The same, and what is in the way of these groups."""
        chosen = frozenset(explained)
        cycle = self.cycle()
        verdicts, requests = cycle.verdicts(chosen), cycle.requests(chosen)
        times = (cycle.decided.wake_at, None if requests.wake_at is None else not_before(requests.wake_at))
        return msgspec.structs.replace(
            cycle.decided,
            groups=verdicts,
            provisioning=requests.asked,
            wake_at=min(filter(None, times), default=None),
            search_exhausted=cycle.exhausted,
        )

    def in_vain(self) -> frozenset[str]:
        """Groups that wait, and would if others came: more pods can only make it harder for them."""
        cycle = self.cycle()
        pairs = zip(cycle.groups, cycle.decided.decisions, strict=True)
        return frozenset(
            group.key
            for group, found in pairs
            if found.verdict in ("Waiting", "Impossible") and plain(self.snapshot, group.view)
        )


def _explained_cycle(situation: Situation) -> ExplainedCycle:
    return ExplainedCycle(
        situation.snapshot, situation.policy, situation.now, situation.scheduler, situation.waiting
    )
