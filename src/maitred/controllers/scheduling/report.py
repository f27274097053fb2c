"""What the log says of verdicts, which is all that a shadow ever says, and what the metrics show of them."""

import logging

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.receipts import to_leave
from maitred.explain.verdicts import head_of, verdict_words
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.words import counted

log = logging.getLogger(__name__)

MOST_NODES = 8
"""That are named in one line."""


class Report:
    def __init__(self, mirror: Mirror, shadow: bool) -> None:
        self._mirror = mirror
        self._shadow = shadow
        self._heads: dict[str, str] = {}
        self._first = True

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        if self._first and not plan.groups:
            log.info("no pod waits")
        self._first = False
        for verdict in plan.groups:
            head = head_of(verdict)
            if self._heads.get(verdict.group) != head:
                self._heads[verdict.group] = head
                log.info("group %s: %s", verdict.group, self._words(verdict, plan))
        waiting = self._mirror.parties
        self._heads = {group: head for group, head in self._heads.items() if group in waiting}

    def _words(self, verdict: GroupVerdict, plan: Plan) -> str:
        """A shadow seats nobody and evicts nobody, and so must not say that it did."""
        if not self._shadow:
            return verdict_words(verdict)
        victims = [eviction for eviction in plan.evictions if eviction.preemptor == verdict.group]
        if victims:
            return f"would ask {to_leave(victims)}"
        nodes = sorted({bind.node for bind in plan.binds if bind.group == verdict.group})
        if not nodes:
            return verdict_words(verdict)
        named = ", ".join(nodes[:MOST_NODES]) + (", ..." if len(nodes) > MOST_NODES else "")
        return f"would seat {verdict.placed} of {counted(verdict.members, 'member')} on {named}"

    def waiting(self, category: str) -> int:
        """How many groups wait for this, as their first blocker says."""
        parties = self._mirror.parties
        return sum(head.endswith(f": {category}") and group in parties for group, head in self._heads.items())
