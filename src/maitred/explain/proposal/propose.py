"""What would become of groups that do not exist yet: the cycle is run with them in it."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import chain

import msgspec

from maitred.decide.deadlines import due
from maitred.decide.queues.budget_words import AT_ANY_TIME
from maitred.explain.empty import blocker_on_empty_cluster
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimates
from maitred.explain.gang_advice import gang_advice, marks_words, no_gang_words
from maitred.explain.proposal.answer import (
    CostToOthers,
    Offer,
    Outcome,
    Proposal,
    Proposals,
    Victim,
    without,
    worst,
)
from maitred.explain.proposal.offers import fewer_pods, offers_of, time_offer
from maitred.explain.proposal.places import where
from maitred.explain.proposal.prices import cheaper_start
from maitred.explain.proposal.resolving import grounded
from maitred.explain.proposal.supposition import MARK, ProposedGroup, Supposition
from maitred.explain.proposal.words import answer_words
from maitred.explain.remedies.outranking import ahead_of
from maitred.explain.remedies.seeking import NOT_TRIED, Sought, sought_for
from maitred.explain.situation import Situation
from maitred.explain.tables import next_best, way
from maitred.explain.why.due import words_of_start
from maitred.model.group import PodGroup
from maitred.model.manifest import InputError
from maitred.model.membership import ALONE, POD_GROUP
from maitred.model.meta import key_of
from maitred.model.owners import BATCH_JOB
from maitred.model.plan import Bind, Blocker, Eviction, GroupVerdict, Remedy, Verdict
from maitred.model.words import counted, moment

OUTCOME_OF: dict[Verdict, Outcome] = {
    "Scheduled": "fits",
    "Preempting": "preempts",
    "Waiting": "waits",
    "Impossible": "never",
}
MOST_TRIED = 8
"""Groups for which it is tried what else could be had, should there be many in one question."""
CUT_SHORT = "the search stopped at its limit, policy.search.steps; a higher limit may find room"


def proposals(situation: Situation, supposition: Supposition) -> Proposals:
    """The answer for all that is supposed; the situation has the stand-ins already. Raises InputError."""
    asked = Asked(grounded(situation, supposition), supposition)
    found = tuple(asked.propose(proposed) for proposed in asked.proposed_groups)
    outcome = worst(proposal.outcome for proposal in found)
    return without(MARK, Proposals(outcome=outcome, proposals=found, warnings=tuple(asked.warnings())))


class Asked:
    """One supposition in one situation."""

    def __init__(self, situation: Situation, supposition: Supposition) -> None:
        self.situation, self.supposition = situation, supposition
        self.proposed_groups = supposition.proposed_groups(situation.policy.workloads)
        self.keys = frozenset(key for proposed in self.proposed_groups for key in proposed.groups)
        self.plan = situation.plan(explained=self.keys)
        self._verdicts = {group.group: group for group in self.plan.decisions}
        self._tries = MOST_TRIED

    def propose(self, proposed: ProposedGroup) -> Proposal:
        verdicts, own = self._verdicts_of(proposed), frozenset(proposed.groups)
        outcome = worst(OUTCOME_OF[verdict.verdict] for verdict in verdicts)
        decisive = [verdict for verdict in verdicts if OUTCOME_OF[verdict.verdict] == outcome]
        start = self._starts[decisive[-1].group] if outcome == "waits" else None
        untried = self._untried(verdicts, outcome)
        offers, remedies = self._offers(proposed, verdicts) if outcome != "fits" else ((), ())
        proposal = Proposal(
            workload=proposed.title,
            group=proposed.name if len(verdicts) == 1 else "",
            outcome=outcome,
            members=sum(verdict.members for verdict in verdicts),
            quorum=verdicts[0].quorum,
            placed=sum(verdict.placed for verdict in verdicts),
            counts=verdicts[0].counts,
            where=where(self.situation, (bind for bind in self._places if bind.group in own)),
            cost=cost_of([eviction for eviction in self.plan.evictions if eviction.preemptor in own]),
            delayed=self._delayed if outcome in ("fits", "preempts") else (),
            blockers=self._blockers(decisive[0], own),
            on_empty_cluster=self._proof(decisive[0].group) if outcome == "never" else None,
            remedies=remedies,
            estimate=start,
            due=self._due(decisive[-1].group, outcome, start),
            offers=(*offers, *time_offer(start, self.situation.now), *self._cheaper(verdicts, outcome)),
            notes=(*self._notes(proposed, outcome), *untried),
        )
        return msgspec.structs.replace(proposal, words=answer_words(proposal, self.supposition.by_options))

    @property
    def _places(self) -> Iterator[Bind]:
        return chain(self.plan.binds, self.plan.nominations)

    def _verdicts_of(self, proposed: ProposedGroup) -> list[GroupVerdict]:
        verdicts = [self._verdicts[key] for key in proposed.groups]
        for verdict in verdicts:
            if verdict.verdict == "Invalid":
                said = "; ".join(blocker.message for blocker in verdict.blockers)
                raise InputError("", proposed.title, "", said.replace(MARK, ""))
        return verdicts

    def _blockers(self, verdict: GroupVerdict, own: Set[str]) -> tuple[Blocker, ...]:
        """What is in the way; of several pods that are decided one by one, something else than each other."""
        found = verdict.blockers
        if len(own) == 1 or all(blocker.category != "Priority" for blocker in found):
            return found
        if verdict.verdict == "Preempting":  # what it saw in its turn is gone
            return tuple(one for one in found if one.category != "Priority" or set(ahead_of(one)) - own)
        return self.situation.cycle().blockers_beside(verdict.group, own)

    def _proof(self, group: str) -> Blocker:
        cycle = self.situation.cycle()
        found = cycle.group(group)
        assert found is not None, "or it would not have been found impossible"
        return blocker_on_empty_cluster(self.situation.snapshot, cycle.context, found.view)

    @cached_property
    def _starts(self) -> dict[str, Estimate]:
        """When those who wait will start, of pods that are seated one by one the last: all in one go."""
        waiting = [
            [key for key in proposed.groups if self._verdicts[key].verdict == "Waiting"]
            for proposed in self.proposed_groups
        ]
        return estimates(self.situation, [keys[-1] for keys in waiting if keys])

    def _due(self, group: str, outcome: Outcome, start: Estimate | None) -> str:
        """Of pods that are decided one by one, the last to start."""
        view = next(one for one in self.situation.snapshot.groups if one.group.key == group)
        found = due(view, self.situation.snapshot.book)
        if found is None or outcome == "never":
            return ""
        now = moment(int(self.situation.now.timestamp()))
        likely = None if start is None else start.likely
        return words_of_start(found, likely if outcome == "waits" else now)

    def _cheaper(self, verdicts: Sequence[GroupVerdict], outcome: Outcome) -> tuple[Offer, ...]:
        """Of pods that are decided one by one, each would have its own answer."""
        if len(verdicts) > 1 or outcome not in ("fits", "preempts"):
            return ()
        key = verdicts[0].group
        view = next(one for one in self.situation.snapshot.groups if one.group.key == key)
        return cheaper_start(self.situation, view, [bind for bind in self._places if bind.group == key])

    def _offers(
        self, proposed: ProposedGroup, verdicts: Sequence[GroupVerdict]
    ) -> tuple[tuple[Offer, ...], tuple[Remedy, ...]]:
        if self._tries == 0:
            return (), ()
        self._tries -= 1
        if len(verdicts) == 1:
            return offers_of(self.situation, self.plan, proposed, self.supposition.options)
        seated = [verdict.group for verdict in verdicts if verdict.verdict == "Scheduled"]
        sought = self._sought(verdicts)
        return fewer_pods(self.situation, proposed, seated), () if sought is None else sought.remedies

    def _sought(self, verdicts: Sequence[GroupVerdict]) -> Sought | None:
        """What would help; of pods that are decided one by one, the last of them, which comes after the
        others."""
        waiting = [verdict.group for verdict in verdicts if verdict.verdict in ("Waiting", "Impossible")]
        return sought_for(self.situation, waiting[-1]) if waiting else None

    def _untried(self, verdicts: Sequence[GroupVerdict], outcome: Outcome) -> tuple[str, ...]:
        """What was not tried for a group that would wait, in words."""
        if outcome in ("fits", "preempts"):
            return ()
        if self._tries == 0:
            return (NOT_TRIED,)
        sought = self._sought(verdicts)
        return () if sought is None else tuple(sought.untried)

    @cached_property
    def _delayed(self) -> tuple[str, ...]:
        """Groups that would be seated now if nobody came."""
        waiting = {key for key, one in self._verdicts.items() if one.verdict != "Scheduled"} - self.keys
        if not waiting:
            return ()
        situation = self.situation
        others = tuple(view for view in situation.snapshot.groups if view.group.key not in self.keys)
        plan = situation.on(replace(situation.snapshot, groups=others)).decided()
        return tuple(g.group for g in plan.decisions if g.group in waiting and g.verdict == "Scheduled")

    def _notes(self, proposed: ProposedGroup, outcome: Outcome) -> Iterator[str]:
        if not self.supposition.by_options and self._exists(proposed):
            yield f"{proposed.title} already exists: this answer is for a second one"
        named = {pod.spec.scheduler_name for pod in self.supposition.pods}
        own = self.situation.scheduler
        if own is not None and named != {own} and not self.supposition.by_options:
            yield (
                f"its pods name scheduler {', '.join(sorted(named))}; this answer is for pods that name {own}"
            )
        for view in self.situation.snapshot.groups:
            if view.group.key in proposed.groups and view.later is not None:
                later = " and ".join(f"{counted(pods, 'pod')} of {key}" for key, pods in view.later.groups)
                yield f"room is counted for {later} too, created once these run"
        free = () if self.plan.budgets is None else self.plan.budgets.scavengers
        if outcome == "fits" and any(one.group in proposed.groups for one in free):
            yield f"it would run without paying, because no budget of its queue pays for it: {AT_ANY_TIME}"
        if outcome == "waits" and self.plan.search_exhausted:
            yield CUT_SHORT

    def _exists(self, proposed: ProposedGroup) -> bool:
        snapshot = self.situation.snapshot
        if proposed.name in proposed.groups:
            return False  # more pods of a group that is there
        if proposed.kind == "Job" and proposed.name in snapshot.jobs:
            return True
        seated = (one.group.key for one in snapshot.seated if one is not None)
        alone = (
            (one.key for one in snapshot.bound.occupants if one is not None)
            if proposed.source == ALONE
            else ()
        )
        return proposed.name in chain(seated, alone, (view.group.key for view in snapshot.groups))

    def warnings(self) -> Iterator[str]:
        """What the objects say that may not be meant so."""
        for proposed in self.proposed_groups:
            yield from self._ganging(proposed)
        asked = {proposed.name for proposed in self.proposed_groups}
        for item in self.supposition.objects:
            named = isinstance(item, PodGroup) and not item.spec.parent_composite_pod_group_name
            if named and key_of(item.metadata) not in asked:
                yield f"PodGroup {key_of(item.metadata)}: none of the given pods names it"
        for view in self.situation.snapshot.groups:
            if view.group.key in self.keys:
                yield from view.group.warnings

    def _ganging(self, proposed: ProposedGroup) -> Iterator[str]:
        """What becomes of pods that name no group, and of a group that the cluster does not make."""
        api, count = self.situation.snapshot.group_api, len(proposed.groups)
        if proposed.source == ALONE and proposed.kind and count > 1:
            advice = gang_advice(proposed.kind, proposed.name.partition("/")[2], count)
            apart = f"{proposed.title} names no group{self._why_no_gang(proposed)}"
            yield f"{apart}, so its {count} pods are scheduled one by one; to make them a gang, {advice}"
        if proposed.source == POD_GROUP and proposed.kind == BATCH_JOB.title and api.served is False:
            yield (
                f"{proposed.title}: this cluster has no PodGroups, so spec.scheduling is ignored and its "
                f"pods are scheduled one by one; "
                f"{marks_words(proposed.name.partition('/')[2], self._quorum(proposed))}"
            )

    def _why_no_gang(self, proposed: ProposedGroup) -> str:
        job = self.supposition.job(proposed.owner) if proposed.kind == BATCH_JOB.title else None
        return "" if job is None else no_gang_words(job, self.situation.policy)

    def _quorum(self, proposed: ProposedGroup) -> int:
        return self._verdicts[proposed.groups[0]].quorum


def cost_of(evictions: Sequence[Eviction]) -> CostToOthers:
    if not evictions:
        return CostToOthers()
    units: dict[str, list[Eviction]] = {}
    for eviction in evictions:
        units.setdefault(eviction.group or eviction.pod, []).append(eviction)
    tolls = {eviction.preemptor: eviction.receipt.toll for eviction in evictions}.values()
    return CostToOthers(
        victims=tuple(victim(unit, theirs) for unit, theirs in units.items()),
        pods=len(evictions),
        work_lost_device_hours=sum(toll.work_lost_device_hours for toll in tolls),
        violations=sum(toll.violations for toll in tolls),
        alternative=next(map(next_best, evictions[0].receipt.alternatives), ""),
    )


def victim(unit: str, evictions: Sequence[Eviction]) -> Victim:
    receipts = [eviction.receipt for eviction in evictions]
    ways = dict.fromkeys(way(receipt.departure) for receipt in receipts)
    return Victim(unit, len(evictions), max(receipt.priority for receipt in receipts), ", ".join(ways))
