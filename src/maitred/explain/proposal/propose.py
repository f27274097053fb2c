"""What would become of groups that do not exist yet: the cycle is run with them in it."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import chain

import msgspec

from maitred.explain.empty import blocker_on_empty_cluster
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimates
from maitred.explain.ganging import contradiction, gang_advice, gang_by_itself, marks_words
from maitred.explain.proposal.answer import (
    Cost,
    Offer,
    Outcome,
    Proposal,
    Proposals,
    Victim,
    without,
    worst,
)
from maitred.explain.proposal.grounding import grounded
from maitred.explain.proposal.offers import fewer_pods, offers_of, time_offer
from maitred.explain.proposal.places import where
from maitred.explain.proposal.supposition import MARK, Party, Supposition
from maitred.explain.proposal.words import answer_words
from maitred.explain.scene import Scene
from maitred.explain.tables import next_best, way
from maitred.model.group import PodGroup
from maitred.model.manifest import InputError
from maitred.model.membership import ALONE, MARKS, POD_GROUP
from maitred.model.meta import key_of
from maitred.model.owners import BATCH_JOB
from maitred.model.plan import Bind, Blocker, Eviction, GroupVerdict, Remedy, Verdict

OUTCOME_OF: dict[Verdict, Outcome] = {
    "Scheduled": "fits",
    "Preempting": "preempts",
    "Waiting": "waits",
    "Impossible": "never",
}
MOST_TRIED = 8
"""Groups for which it is tried what else could be had, should there be many in one question."""
CUT_SHORT = "the search stopped at its limit, policy.search.steps; a higher limit may find room"


def proposals(scene: Scene, supposition: Supposition) -> Proposals:
    """The answer for all that is supposed; the scene has the stand-ins already. Raises InputError."""
    asked = Asked(grounded(scene, supposition), supposition)
    found = tuple(asked.propose(party) for party in asked.parties)
    outcome = worst(proposal.outcome for proposal in found)
    return without(MARK, Proposals(outcome=outcome, proposals=found, warnings=tuple(asked.warnings())))


class Asked:
    """One supposition in one scene."""

    def __init__(self, scene: Scene, supposition: Supposition) -> None:
        self.scene, self.supposition = scene, supposition
        self.parties = supposition.parties
        self.keys = frozenset(key for party in self.parties for key in party.groups)
        self.plan = scene.plan(explained=self.keys)
        self._verdicts = {group.group: group for group in self.plan.groups}
        self._tries = MOST_TRIED

    def propose(self, party: Party) -> Proposal:
        verdicts, own = self._verdicts_of(party), frozenset(party.groups)
        outcome = worst(OUTCOME_OF[verdict.verdict] for verdict in verdicts)
        decisive = [verdict for verdict in verdicts if OUTCOME_OF[verdict.verdict] == outcome]
        start = self._starts[decisive[-1].group] if outcome == "waits" else None
        offers, remedies = self._offers(party, verdicts) if outcome != "fits" else ((), ())
        proposal = Proposal(
            workload=party.title,
            group=party.name if len(verdicts) == 1 else "",
            outcome=outcome,
            members=sum(verdict.members for verdict in verdicts),
            quorum=verdicts[0].quorum,
            placed=sum(verdict.placed for verdict in verdicts),
            where=where(self.scene, (bind for bind in self._places if bind.group in own)),
            cost=cost_of([eviction for eviction in self.plan.evictions if eviction.preemptor in own]),
            delayed=self._delayed if outcome in ("fits", "preempts") else (),
            blockers=self._blockers(decisive[0], own),
            on_empty_cluster=self._proof(decisive[0].group) if outcome == "never" else None,
            remedies=remedies,
            estimate=start,
            offers=(*offers, *time_offer(start, self.scene.now)),
            notes=tuple(self._notes(party, outcome)),
        )
        return msgspec.structs.replace(proposal, words=answer_words(proposal, self.supposition.by_options))

    @property
    def _places(self) -> Iterator[Bind]:
        return chain(self.plan.binds, self.plan.nominations)

    def _verdicts_of(self, party: Party) -> list[GroupVerdict]:
        api, at_once = self.scene.snapshot.group_api, party.owner in self.supposition.at_once
        if party.source == MARKS and (clash := contradiction(api, party.kind, party.name, at_once)):
            raise InputError("", party.title, "", clash)
        verdicts = [self._verdicts[key] for key in party.groups]
        for verdict in verdicts:
            if verdict.verdict == "Invalid":
                said = "; ".join(blocker.message for blocker in verdict.blockers)
                raise InputError("", party.title, "", said.replace(MARK, ""))
        return verdicts

    def _blockers(self, verdict: GroupVerdict, own: Set[str]) -> tuple[Blocker, ...]:
        """What is in the way; of several pods that are decided one by one, something else than each other."""
        found = verdict.blockers
        if len(own) == 1 or all(blocker.category != "Priority" for blocker in found):
            return found
        if verdict.verdict == "Preempting":  # what it saw in its turn is gone
            return tuple(one for one in found if one.category != "Priority" or set(one.detail["ahead"]) - own)
        return self.scene.hearing().blockers_beside(verdict.group, own)

    def _proof(self, group: str) -> Blocker:
        hearing = self.scene.hearing()
        found = hearing.group(group)
        assert found is not None, "or it would not have been found impossible"
        return blocker_on_empty_cluster(self.scene.snapshot, hearing.house, found.view)

    @cached_property
    def _starts(self) -> dict[str, Estimate]:
        """When those who wait will start, of pods that are seated one by one the last: all in one go."""
        waiting = [
            [key for key in party.groups if self._verdicts[key].verdict == "Waiting"]
            for party in self.parties
        ]
        return estimates(self.scene, [keys[-1] for keys in waiting if keys])

    def _offers(
        self, party: Party, verdicts: Sequence[GroupVerdict]
    ) -> tuple[tuple[Offer, ...], tuple[Remedy, ...]]:
        if self._tries == 0:
            return (), ()
        self._tries -= 1
        if len(verdicts) == 1:
            return offers_of(self.scene, self.plan, party, self.supposition.options)
        return fewer_pods(self.scene, party, [v.group for v in verdicts if v.verdict == "Scheduled"]), ()

    @cached_property
    def _delayed(self) -> tuple[str, ...]:
        """Groups that would be seated now if nobody came."""
        waiting = {key for key, one in self._verdicts.items() if one.verdict != "Scheduled"} - self.keys
        if not waiting:
            return ()
        scene = self.scene
        others = tuple(view for view in scene.snapshot.groups if view.group.key not in self.keys)
        plan = scene.on(replace(scene.snapshot, groups=others)).decided()
        return tuple(g.group for g in plan.groups if g.group in waiting and g.verdict == "Scheduled")

    def _notes(self, party: Party, outcome: Outcome) -> Iterator[str]:
        if not self.supposition.by_options and self._exists(party):
            yield f"{party.title} exists already: this answer is for a second one beside it"
        named = {pod.spec.scheduler_name for pod in self.supposition.pods}
        own = self.scene.scheduler
        if own is not None and named != {own} and not self.supposition.by_options:
            yield (
                f"its pods name scheduler {', '.join(sorted(named))}; this answer is for pods that name {own}"
            )
        if outcome == "waits" and self.plan.search_exhausted:
            yield CUT_SHORT

    def _exists(self, party: Party) -> bool:
        snapshot = self.scene.snapshot
        if party.name in party.groups:
            return False  # more pods of a group that is there
        if party.kind == "Job" and party.name in snapshot.jobs:
            return True
        seated = (one.group.key for one in snapshot.seated if one is not None)
        alone = (
            (one.key for one in snapshot.bound.occupants if one is not None) if party.source == ALONE else ()
        )
        return party.name in chain(seated, alone, (view.group.key for view in snapshot.groups))

    def warnings(self) -> Iterator[str]:
        """What the objects say that may not be meant so."""
        for party in self.parties:
            yield from self._ganging(party)
        asked = {party.name for party in self.parties}
        for item in self.supposition.objects:
            if isinstance(item, PodGroup) and key_of(item.metadata) not in asked:
                yield f"PodGroup {key_of(item.metadata)}: none of the given pods names it"
        for view in self.scene.snapshot.groups:
            if view.group.key in self.keys:
                yield from view.group.warnings

    def _ganging(self, party: Party) -> Iterator[str]:
        """What becomes of pods that name no group, and of a group that the cluster does not make."""
        api, count = self.scene.snapshot.group_api, len(party.groups)
        if party.source == ALONE and party.kind and count > 1:
            if said := gang_by_itself(api, party.kind, party.owner in self.supposition.at_once, count):
                yield f"{party.title}: {said}"
                return
            advice = gang_advice(api, party.kind, party.name.partition("/")[2], count)
            apart = f"{party.title} names no group, so its {count} pods are scheduled one by one"
            yield f"{apart}; to make them a gang, {advice}"
        if party.source == POD_GROUP and party.kind == BATCH_JOB.title and api.served is False:
            yield (
                f"{party.title}: this cluster has no PodGroups, so spec.scheduling is ignored and its "
                f"pods are scheduled one by one; "
                f"{marks_words(party.name.partition('/')[2], self._quorum(party))}"
            )

    def _quorum(self, party: Party) -> int:
        return self._verdicts[party.groups[0]].quorum


def cost_of(evictions: Sequence[Eviction]) -> Cost:
    if not evictions:
        return Cost()
    units: dict[str, list[Eviction]] = {}
    for eviction in evictions:
        units.setdefault(eviction.group or eviction.pod, []).append(eviction)
    tolls = {eviction.preemptor: eviction.receipt.toll for eviction in evictions}.values()
    return Cost(
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
