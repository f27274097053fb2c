"""What the log and the metrics say of verdicts; all that a shadow ever says."""

import logging
from collections import Counter

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.explain.verdicts import head_of, verdict_words
from maitred.model.plan import Plan

log = logging.getLogger(__name__)


class Report:
    def __init__(self, mirror: Mirror, metrics: Metrics) -> None:
        self._mirror = mirror
        self._metrics = metrics
        self._heads: dict[str, str] = {}

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        for verdict in plan.groups:
            head = head_of(verdict)
            if self._heads.get(verdict.group) != head:
                self._heads[verdict.group] = head
                log.info("group %s: %s", verdict.group, verdict_words(verdict))
        waiting = self._mirror.parties
        self._heads = {group: head for group, head in self._heads.items() if group in waiting}
        self._gauge()

    def _gauge(self) -> None:
        metrics = self._metrics
        categories = Counter(category_of(head) for head in self._heads.values())
        metrics.waiting_groups.clear()
        for category, count in categories.items():
            if category:
                metrics.waiting_groups.labels(category).set(count)
        metrics.waiting_pods.set(len(self._mirror.waiting))
        metrics.assumed_pods.set(self._mirror.assumed)


def category_of(head: str) -> str:
    return head.partition(": ")[2]
