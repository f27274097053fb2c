"""Verdicts about nodes and groups, as the answer has them."""

from collections.abc import Iterable, Mapping, Sequence

from maitred.decide.healing.judging import earliest, more_words, verdict_of, worst
from maitred.decide.healing.members import HealthMembers
from maitred.explain.health.answer import GroupHealth, NodeHealth, NodeState
from maitred.model.health.signals import Signal, strength
from maitred.model.health.tables import LOSING

MOST_SIGNALS = 20


def node_health(node: str, signals: Sequence[Signal], groups: Iterable[str]) -> NodeHealth:
    losing = [one for one in signals if one.kind in LOSING]
    first = worst(losing or signals)
    alike = [one for one in signals if one.family == first.family]
    return NodeHealth(
        node=node,
        state=_state(signals),
        family=first.family,
        certainty=first.certainty,
        since=first.since or earliest(alike),
        words=first.words,
        more=more_words(first),
        signals=tuple(sorted(signals, key=lambda one: (strength(one), one.kind, one.device, one.words))),
        groups=tuple(sorted(groups)),
    )


def _state(signals: Sequence[Signal]) -> NodeState:
    if any(one.kind in LOSING for one in signals):
        return "Lost"
    faults = [one for one in signals if one.family != "Notice"]
    if not faults:
        return "Leaving"
    return "Suspected" if all(one.kind == "GroupsFail" for one in faults) else "Unwell"


def group_health(group: HealthMembers, hard: Mapping[str, Sequence[Signal]]) -> GroupHealth:
    """`hard` are the faults of nodes that could explain what fails on them, suspicions too."""
    verdict = verdict_of(group, hard)
    ordered = sorted(group.signals, key=lambda one: (strength(one), one.kind, one.pod, one.node, one.device))
    return GroupHealth(
        group=group.key,
        members=group.members,
        working=group.working,
        quorum=group.quorum,
        below=group.below,
        family=verdict.family,
        certainty=verdict.certainty,
        since=verdict.since,
        words=verdict.words,
        more=verdict.more,
        signals=tuple(ordered[:MOST_SIGNALS]),
        all_signals=len(ordered),
    )
