"""What people ask about: a cluster at one moment, the rules, and what is remembered."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.decide.alike import plain
from maitred.explain.hearing import Hearing
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
    _made: dict[Callable[["Scene"], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def on(self, snapshot: Snapshot) -> "Scene":
        """The same for another snapshot."""
        return replace(self, snapshot=snapshot, _made={})

    def once(self, make: Callable[["Scene"], T]) -> T:
        """Something that is made from this scene, and does not change: once for all who ask."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def hearing(self) -> Hearing:
        """What would be decided now, by one cycle for all who ask."""
        return self.once(_heard)

    def decided(self) -> Plan:
        """For those who only want to know what is decided, and not why."""
        return self.hearing().decided

    def plan(self, explained: Iterable[str]) -> Plan:
        """The same, and what is in the way of these groups."""
        chosen = frozenset(explained)
        hearing = self.hearing()
        verdicts = hearing.verdicts(chosen)
        return msgspec.structs.replace(hearing.decided, groups=verdicts, search_exhausted=hearing.exhausted)

    def in_vain(self) -> frozenset[str]:
        """Groups that wait, and would if others came: more pods can only make it harder for them."""
        hearing = self.hearing()
        pairs = zip(hearing.groups, hearing.decided.groups, strict=True)
        return frozenset(
            group.key
            for group, found in pairs
            if found.verdict in ("Waiting", "Impossible") and plain(self.snapshot, group.view)
        )


def _heard(scene: Scene) -> Hearing:
    return Hearing(scene.snapshot, scene.policy, scene.now, scene.scheduler, scene.waiting)
