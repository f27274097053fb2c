"""What is remembered of failures, from one decision to the next: when each began, and how it ended."""

import math
from collections.abc import Set
from datetime import datetime, timedelta

from msgspec.structs import replace

from maitred.decide.healing.losses import HurtGroup
from maitred.model.healing import FailureRule
from maitred.model.memory import MOST_INCIDENTS, MOST_OF_NAMESPACE, HealthMemory, Incident
from maitred.model.times import CLOCK_SKEW, after, at_second, before

DEGRADED = "Degradation"
"""The family of incidents in which members were replaced because they were slow."""
WHOLE, OVER = "its quorum works again", "no place was found in time"


class Remembering:
    """The memory while it changes. `window` is how long what has ended is kept.

    What begins in the future was written by a clock that was ahead, and is forgotten: else room would be
    kept, and nothing done, until that time has come.
    """

    def __init__(self, memory: HealthMemory, now: datetime, window: timedelta, again: timedelta) -> None:
        """`again`: for how long it is known that members of a group were replaced because they were slow."""
        self._before, self._now, self._window = memory, now, window
        self._old, self._slow_before = before(now, window), before(now, again)
        latest = after(now, CLOCK_SKEW)
        self._incidents = [one for one in memory.incidents if one.begun <= latest]
        self.scores = memory.scores

    @property
    def open(self) -> list[Incident]:
        return [one for one in self._incidents if one.is_open]

    def _of(self, group: str) -> list[Incident]:
        return [one for one in self._incidents if one.group == group]

    def begun(self, group: str) -> int:
        """How often something was done for a group of late."""
        return sum(one.begun > self._old for one in self._of(group))

    def replaced(self, group: str) -> Incident | None:
        """When members of it were slow the last time, if that was of late."""
        slow = (one for one in self._of(group) if one.family == DEGRADED and one.begun > self._slow_before)
        return max(slow, key=lambda one: one.begun, default=None)

    def _is_kept(self, one: Incident) -> bool:
        late = one.family == DEGRADED and one.begun > self._slow_before
        return one.is_open or late or one.begun > self._old

    def open_until(self, group: str) -> datetime | None:
        """How long room is kept for a group; None if nothing is open, or nothing is kept."""
        ends = (one.held_until for one in self._of(group) if one.is_open)
        return max((end for end in ends if end is not None), default=None)

    def is_open(self, group: str) -> bool:
        return any(one.is_open for one in self._of(group))

    def had(self, group: str) -> int | None:
        """How many members a group had when something failed under it; None where that was not kept."""
        found = [one.had for one in self._of(group) if one.is_open]
        return None if None in found else max((one for one in found if one is not None), default=None)

    def is_full(self, namespace: str) -> bool:
        """Whether so much is under way in a namespace that others might be forgotten for more of it."""
        theirs = sum(one.group.partition("/")[0] == namespace for one in self.open)
        return theirs >= MOST_OF_NAMESPACE or len(self.open) >= MOST_INCIDENTS

    def last(self, group: str) -> Incident:
        return max(self._of(group), key=lambda one: (one.is_open, one.begun))

    def unknown(self, group: HurtGroup) -> bool:
        """Whether members were lost that no decision was about."""
        known = {uid for one in self._of(group.key) for uid in one.uids}
        return not known.issuperset((*(one.uid for one in group.lost), *group.failed))

    def begin(self, group: HurtGroup, rule: FailureRule, until: datetime | None, devices: int) -> None:
        self._incidents.append(
            Incident(
                group=group.key,
                source=group.view.source,
                begun=self._now,
                rule=rule,
                family=group.verdict.family,
                words=group.verdict.words,
                since=group.verdict.since,
                pods=tuple(one.pod for one in group.lost),
                uids=(*(one.uid for one in group.lost), *group.failed),
                nodes=tuple(sorted({*(one.node for one in group.lost), *group.failed_on})),
                held_until=until,
                devices=devices,
                had=_had(group),
                youngest=_youngest(group) if rule == "restart" else None,
            )
        )

    def end(self, whole: Set[str]) -> None:
        """Of groups that have their quorum again, and of those for which no room is kept any more."""
        for place, one in enumerate(self._incidents):
            if one.is_open and one.group in whole:
                self._incidents[place] = replace(one, ended=self._now, how=WHOLE, is_whole=True)
            elif one.is_open and (one.held_until or after(one.begun, self._window)) <= self._now:
                self._incidents[place] = replace(one, ended=self._now, how=OVER)

    @property
    def changed(self) -> HealthMemory | None:
        """What is to be remembered from now on; None if that is what was."""
        kept = [one for one in self._incidents if self._is_kept(one)]
        over = len(kept) - MOST_INCIDENTS
        ended = [one for one in kept if not one.is_open]
        kept = [one for one in kept if one not in ended[:over]] if over > 0 else kept
        found = replace(self._before, incidents=tuple(kept), scores=self.scores)
        return None if found == self._before else found


def _had(group: HurtGroup) -> int:
    """Failed pods count as far as others of the group have places: anyone may make pods that fail."""
    there = len(group.view.running) + len(group.view.leaving_shapes)
    return group.view.succeeded + there + min(group.ended, there)


def _youngest(group: HurtGroup) -> datetime | None:
    """By the clock of the API server. None if the members do not say it."""
    created = max((member.order[1] for member in group.view.running), default=math.inf)
    return at_second(created) if math.isfinite(created) else None
