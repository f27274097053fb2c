"""What people ask about: a cluster at one moment, the rules, and what is remembered."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.explain.hearing import Hearing
from maitred.explain.remedies.rerun import plain
from maitred.model.history import NO_HISTORY, History
from maitred.model.plan import Plan
from maitred.model.policy import Policy

T = TypeVar("T")


@dataclass(frozen=True)
class Scene:
    """Every answer is a function of a scene: the same scene gives the same answer."""

    snapshot: Snapshot
    policy: Policy
    now: datetime
    scheduler: str | None = None
    """Only groups whose pods name this scheduler are decided; None for all."""
    history: History = NO_HISTORY
    waiting: frozenset[str] = frozenset()
    """Groups of which it is known that they wait, whoever else comes: they are not tried again."""
    _hearings: dict[frozenset[str], Hearing] = field(default_factory=dict, compare=False, repr=False)
    _made: dict[Callable[["Scene"], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def on(self, snapshot: Snapshot) -> "Scene":
        """The same for another snapshot."""
        return replace(self, snapshot=snapshot, _hearings={}, _made={})

    def once(self, make: Callable[["Scene"], T]) -> T:
        """Something that is made from this scene, and does not change: once for all who ask."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def hearing(self, *groups: str) -> Hearing:
        """What would be decided now, by one cycle for all who ask."""
        hearing = self._hearing(frozenset())
        promised = frozenset(group for group in groups if hearing.needs_another(group))
        return self._hearing(promised) if promised else hearing

    def decided(self) -> Plan:
        """For those who only want to know what is decided, and not why."""
        return self._hearing(frozenset()).decided

    def plan(self, explained: Iterable[str]) -> Plan:
        """The same, and what is in the way of these groups."""
        chosen = frozenset(explained)
        hearing = self.hearing(*chosen)
        return msgspec.structs.replace(hearing.decided, groups=hearing.verdicts(chosen))

    def in_vain(self) -> frozenset[str]:
        """Groups that wait, and would if others came: more pods can only make it harder for them."""
        hearing = self._hearing(frozenset())
        pairs = zip(hearing.cases, hearing.decided.groups, strict=True)
        return frozenset(
            case.key
            for case, found in pairs
            if found.verdict in ("Waiting", "Impossible") and plain(self.snapshot, case.view)
        )

    def _hearing(self, promised: frozenset[str]) -> Hearing:
        if promised not in self._hearings:
            self._hearings[promised] = Hearing(
                self.snapshot, self.policy, self.now, self.scheduler, promised, self.waiting
            )
        return self._hearings[promised]
