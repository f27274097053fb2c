"""What the log says of verdicts, which is all that a shadow ever says, and what the metrics show of them."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.gangs import held_in, seated_in
from maitred.controllers.scheduling.last_verdicts import LastVerdicts, first_category
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.audit.gangs import FoundGroup
from maitred.explain.receipts import to_leave
from maitred.explain.verdicts import head_of, pod_words, verdict_words
from maitred.model.membership import GroupId
from maitred.model.meta import key_of
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.policy import Policy

log = logging.getLogger(__name__)

MOST_NODES = 8
"""That are named in one line."""


class Report:
    def __init__(
        self, mirror: Mirror, verdicts: LastVerdicts, shadow: bool, policy: Callable[[], Policy] = Policy
    ) -> None:
        self._mirror = mirror
        self._verdicts = verdicts
        self._policy = policy
        self._shadow = shadow
        self._in_part: set[str] = set()
        """Groups that wait and are part of a gang that was said to run in part."""
        self._first = True

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        self.decided(seats, snapshot, now)

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        if self._first and not plan.groups:
            log.info("no pod waits")
        self._first = False
        seats = Counter(bind.pod for bind in plan.binds)
        judged: dict[GroupId, FoundGroup | None] = {}
        for verdict in plan.decisions:
            gang = self._half_started(verdict, seats, judged)
            if self._is_news(verdict, gang is not None):
                words = self._words(verdict, plan) if gang is None else self._of_a_part(gang, verdict)
                log.info("group %s: %s", verdict.group, words)
            (self._in_part.discard if gang is None else self._in_part.add)(verdict.group)
        self._in_part &= self._mirror.waiting_by_group.keys()

    def _is_news(self, verdict: GroupVerdict, in_part: bool) -> bool:
        before = self._verdicts.before(verdict.group)
        if before is None or in_part != (verdict.group in self._in_part):
            return True
        if in_part:
            return first_category(before) != first_category(verdict)
        return head_of(before) != head_of(verdict)

    def _words(self, verdict: GroupVerdict, plan: Plan) -> str:
        """A shadow binds and evicts no pod, and so must not say that it did."""
        if not self._shadow:
            return verdict_words(verdict)
        victims = [eviction for eviction in plan.evictions if eviction.preemptor == verdict.group]
        if victims:
            return f"would ask {to_leave(victims)}"
        nodes = sorted({bind.node for bind in plan.binds if bind.group == verdict.group})
        if not nodes:
            return verdict_words(verdict)
        named = ", ".join(nodes[:MOST_NODES]) + (", ..." if len(nodes) > MOST_NODES else "")
        return f"would place {verdict.placed_words.removesuffix(' placed')} on {named}"

    def _half_started(
        self, verdict: GroupVerdict, seats: Mapping[str, int], judged: dict[GroupId, FoundGroup | None]
    ) -> FoundGroup | None:
        """The gang of which the group is a part, if some of it holds places and this cycle would not give it
        the others that it needs, as an audit judges it. `judged`: those that were looked at in this cycle."""
        gangs = self._mirror.gangs
        waiting = next(iter(self._mirror.waiting_by_group.get(verdict.group, ())), None)
        named = None if gangs is None or waiting is None else gangs.group_of(waiting)
        if gangs is None or waiting is None or named is None or not verdict.blockers:
            return None
        if named not in judged:
            gang = gangs.of(waiting)
            needed = 0 if gang is None else gang.quorum or 0
            coming = sum(seats.get(key_of(stay.pod.metadata), 0) for stay in gang.stays) if gang else 0
            judged[named] = gang if gang is not None and 0 < seated_in(gang) < needed - coming else None
        return judged[named]

    def _of_a_part(self, gang: FoundGroup, verdict: GroupVerdict) -> str:
        seated, held = seated_in(gang), held_in(gang, self._policy())
        holding = f", and {'holds' if seated == 1 else 'hold'} {held} without working" if held else ""
        are = "is" if seated == 1 else "are"
        part = f"{seated} of the {gang.quorum} members that it needs {are} placed{holding}"
        return f"{gang.by} {gang.key} runs in part: {part}; {pod_words(verdict)}"

    def waiting(self, category: str) -> int:
        """How many groups wait for this, as their first blocker says."""
        waiting = (one for one in self._verdicts if one.verdict != "Scheduled" or one.group in self._in_part)
        return sum(
            one.group in self._mirror.waiting_by_group and first_category(one) == category for one in waiting
        )
