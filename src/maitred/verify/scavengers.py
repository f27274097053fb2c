"""Who runs without paying because a budget is spent: docs/design/queues.md, a second time.

What is remembered of that is all there is: nothing that a pod says counts. Whoever begins to run so could not
be paid for; whoever runs so stays on record; and nobody leaves for them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from .case import BUDGET, PREEMPTION, RECLAIM, Breach, Case, Eviction, breach
from .fields import Doc
from .groups import Group
from .pods import Pod

OBJECT = "maitred-system/maitred-budgets"
LONGEST = 900_000
WHO = "what is remembered of budgets"
LIMITS = 14

Remembered = Mapping[str, str]
"""Pods, and the groups that they are remembered with."""


def identity(pod: Pod) -> str:
    return pod.uid or pod.key


@dataclass(frozen=True)
class Scavengers:
    case: Case

    @cached_property
    def known(self) -> Remembered:
        kept = self.case.cluster.raw.get(("ConfigMap", OBJECT))
        text = "" if kept is None else kept.doc("data").text("record")
        try:
            return _read(Doc(json.loads(text), WHO)) if 0 < len(text) <= LONGEST else {}
        except ValueError:
            return {}

    @cached_property
    def told(self) -> Remembered:
        """By the Plan; if it tells nothing, what was known."""
        said = self.case.plan.doc("budgets")
        try:
            return _read(said) if said.raw else self.known
        except ValueError:
            return {}

    @cached_property
    def unpaid(self) -> frozenset[str]:
        """Pods on nodes that cost nothing,"""
        return frozenset(
            p.key for p in self.case.cluster.pods.values() if p.holds and identity(p) in self.known
        )

    @cached_property
    def yielding(self) -> frozenset[str]:
        """and those with all of their groups, which leave for whoever pays."""
        crowds = [self.case.leaf_of[key] for key in self.unpaid]
        return self.unpaid | {pod.key for group in crowds for pod in group.members if pod.holds}

    @cached_property
    def begun(self) -> frozenset[str]:
        """Pods that the Plan binds and that cost nothing."""
        told = self.told.keys()
        return frozenset(pod.key for pod, _ in self.case.binds if identity(pod) in told)

    @cached_property
    def names(self) -> frozenset[str]:
        """What units of these are called."""
        return self.yielding | {self.case.leaf_of[key].key for key in self.yielding}

    def joins(self, group: Group) -> bool:
        """Whether its members that run were remembered with it."""
        running = (pod for leaf in group.leaves for pod in leaf.running)
        return any(self.known.get(identity(pod)) == group.key for pod in running)


def _read(doc: Doc) -> Remembered:
    return {pod: one.text("group") for one in doc.docs("scavengers") for pod in one.texts("pods")}


# -- what is remembered ----------------------------------------------------------------------------------


def judge_memory(scavengers: Scavengers, in_queues: frozenset[str]) -> Iterator[Breach]:
    """`in_queues`: pods on nodes. Which queue they name by now does not matter."""
    case = scavengers.case
    pods = {identity(pod): pod for pod in case.cluster.pods.values()}
    right = {who: group for who, group in scavengers.known.items() if who in pods and pods[who].holds}
    right = {who: group for who, group in right.items() if pods[who].key in in_queues}
    new = {identity(pod): case.group_of[pod.key].key for pod, _ in case.binds if pod.key in scavengers.begun}
    said = case.plan.doc("budgets").raw
    if not said:
        if len(right) < len(scavengers.known):
            yield breach(LIMITS, WHO, "some who ran without paying have left, and that is not written down")
        return
    told, is_cut = scavengers.told, len(json.dumps(said)) > LONGEST / 2
    for who in sorted(told.keys() - right.keys() - new.keys()):
        yield breach(LIMITS, WHO, f"says that {told[who]} runs without paying, and {who} does not")
    for who, group in sorted({**new, **right}.items()):
        if told.get(who, "") != group and not (is_cut and who not in told):
            yield breach(LIMITS, WHO, f"forgets that {who} of {group} runs without paying")


# -- evictions -------------------------------------------------------------------------------------------


def judge_departures(scavengers: Scavengers) -> Iterator[Breach]:
    for eviction in scavengers.case.evictions:
        for fault in _faults(scavengers, eviction):
            yield breach(4, eviction.pod.key, fault)


def _faults(scavengers: Scavengers, eviction: Eviction) -> Iterator[str]:
    if eviction.cause not in (PREEMPTION, RECLAIM, BUDGET):
        return
    case = scavengers.case
    group = next((group for group in case.preempting if group.key == eviction.preemptor), None)
    if eviction.cause == BUDGET and eviction.pod.key not in scavengers.yielding:
        yield "is said to run without paying, and it pays"
    if eviction.cause != BUDGET and eviction.pod.key in scavengers.yielding:
        yield f"is said to leave by {eviction.cause}, and it runs without paying"
    if group is not None and scavengers.joins(group):
        yield f"evicted for {group.key}, which runs without paying"
