"""A higher priority as a remedy: the only one that is at the cost of those ahead, who are named.

`{"kind": "priority", "from": 0, "to": 6, "instead": ["ns/group"]}`: the priority of the group and of its
pods, and the groups that would wait in its place.
"""

from dataclasses import dataclass, replace

import msgspec

from maitred.cluster.snapshot import GroupRank, GroupView, Snapshot
from maitred.decide.agenda import goes_by_priority
from maitred.explain.remedies.changes import cost_words, with_group
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.plan import Blocker, Remedy

MOST_RANKS = 3


@dataclass(frozen=True, slots=True)
class HigherRank:
    before: int
    after: int
    instead: tuple[str, ...] = ()
    share: float = 0.0
    """Of the members that would be seated or wait for it, those that would wait."""

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        view = snapshot.groups[number]
        own = {rank.preemption_policy for rank in view.ranks} or {""}
        ranks = tuple(GroupRank(self.after, "", policy) for policy in sorted(own))
        group = view.group
        if group.priority is not None or group.priority_class_name:
            group = msgspec.structs.replace(group, priority=self.after, priority_class_name="")
        return with_group(snapshot, number, replace(view, ranks=ranks, group=group))

    def remedy(self, view: GroupView) -> Remedy:
        instead = f"; {cost_words(self.instead)}" if self.instead else ""
        return Remedy(
            f"raise its priority from {self.before} to {self.after}{instead}",
            {"kind": "priority", "from": self.before, "to": self.after, "instead": list(self.instead)},
        )


def ahead_of(blocker: Blocker) -> list[str]:
    """Who went first, or has a hold."""
    found: list[str] = [*blocker.detail.get("ahead", ()), *blocker.detail.get("heldFor", ())]
    return found


def higher_rank(rehearsal: Rehearsal, ranked: RankedGroup) -> HigherRank | None:
    """The lowest priority that would seat a group for whom others left no room."""
    ahead = [ahead_of(blocker) for blocker in rehearsal.blockers(ranked) if blocker.category == "Priority"]
    if not ahead or not goes_by_priority(rehearsal.policy.order):
        return None
    others = {other.view.group.key: other for other in rehearsal.ranked_groups}
    workload = rehearsal.siblings(ranked)
    siblings = {other.view.group.key for other in (ranked, *workload)}
    ranks = {others[key].priority for key in ahead[0] if key in others.keys() - siblings}
    levels = sorted(rank for rank in ranks if rank >= ranked.priority)
    for level in levels[:MOST_RANKS]:
        change = HigherRank(ranked.priority, level + 1)
        first = sum(other.priority > change.after for other in rehearsal.ranked_groups)
        outcome = rehearsal.outcome(change.applied, ranked, rehearsal.rivals(ranked, first), first)
        lost = None if outcome is None else {*outcome.lost}
        if lost is not None and workload:
            together = rehearsal.outcome_for_all(change.applied, ranked, workload, first)
            lost = None if together is None else lost | {*together.lost}
        if lost is not None and siblings.isdisjoint(lost):
            waiting = sum(len(others[key].view.pods) for key in lost)
            share = waiting / (waiting + len(ranked.view.pods))
            return replace(change, instead=tuple(sorted(lost)), share=share)
    return None
