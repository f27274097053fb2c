"""What else could be had now: changes of the group that the engine has tried, each with where it would be."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from maitred.decide import Scope, decide
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.proposal.answer import Offer
from maitred.explain.proposal.places import where
from maitred.explain.proposal.supposition import ProposedGroup
from maitred.explain.proposal.words import CLAIM_CHANGES, change_words, offer_words, time_words
from maitred.explain.remedies.changes import Change, with_group
from maitred.explain.remedies.rehearsal import RankedGroup
from maitred.explain.remedies.seeking import MOST_REMEDIES, Seeking, sought_for
from maitred.explain.situation import Situation
from maitred.model.group import TopologyRequest
from maitred.model.plan import Plan, Remedy

OFFERED: tuple[str, ...] = ("members", "quorum", "topology", "request", *CLAIM_CHANGES)
"""To have less of something now. What else would help is told as remedies are."""


def offers_of(
    situation: Situation, plan: Plan, proposed: ProposedGroup, options: Sequence[str]
) -> tuple[tuple[Offer, ...], tuple[Remedy, ...]]:
    """For a group without room: what it could have now, and what else would help. Smaller changes first."""
    (key,) = proposed.groups
    if next(group.verdict for group in plan.decisions if group.group == key) == "Preempting":
        situation = patient(situation, key)
    sought = sought_for(situation, key)
    if sought is None:
        return (), ()
    ranked = sought.ranked
    changes = [(change, change.remedy(ranked.view)) for change in sought.changes]
    offers = [
        offer(situation, ranked, change, proposed, options)
        for change, remedy in changes
        if remedy.detail["kind"] in OFFERED
    ]
    remedies = [remedy for _, remedy in changes if remedy.detail["kind"] not in OFFERED]
    return tuple(one for one in offers if one is not None), tuple(remedies[:MOST_REMEDIES])


def patient(situation: Situation, key: str) -> Situation:
    """The same, but nobody leaves for this group."""
    snapshot = situation.snapshot
    number = next(number for number, view in enumerate(snapshot.groups) if view.group.key == key)
    view = snapshot.groups[number]
    ranks = tuple(replace(rank, preemption_policy="Never") for rank in view.ranks)
    group = msgspec.structs.replace(view.group, preemption_policy="Never")
    changed = with_group(snapshot, number, replace(view, group=group, ranks=ranks))
    return Situation(changed, situation.policy, situation.now, situation.scheduler, situation.history)


def offer(
    situation: Situation, ranked: RankedGroup, change: Change, proposed: ProposedGroup, options: Sequence[str]
) -> Offer | None:
    view = ranked.view
    remedy = change.remedy(view)
    after = Situation(
        change.applied(situation.snapshot, ranked.number),
        situation.policy,
        situation.now,
        situation.scheduler,
        situation.history,
    )
    ranked_groups = situation.once(Seeking).rehearsal.ranked_groups
    served = {other.view.group.key for other in ranked_groups if not other.waits} | {view.group.key}
    plan = decide(after.snapshot, after.policy, after.now, Scope(after.scheduler, served, explained=()))
    binds = [bind for bind in plan.binds if bind.group == view.group.key]
    if not binds:
        return None
    place = where(after, binds)
    words = offer_words(remedy, view.members, place, bool(options))
    told = change_words(remedy.detail, proposed, view.group.topology, options)
    return Offer(remedy.detail["kind"], words, told, remedy.detail, place)


def fewer_pods(situation: Situation, proposed: ProposedGroup, seated: Sequence[str]) -> tuple[Offer, ...]:
    """Of pods that are decided one by one: those that have room now, once the others are left out."""
    left_out = frozenset(proposed.groups).difference(seated)
    kept = tuple(view for view in situation.snapshot.groups if view.group.key not in left_out)
    plan = situation.on(replace(situation.snapshot, groups=kept)).decided()
    binds = [bind for bind in plan.binds if bind.group in seated]
    if not seated or len(binds) < len(seated):
        return ()
    detail = {"kind": "members", "from": len(proposed.groups), "to": len(seated), "quorum": 1}
    told = change_words(detail, proposed, TopologyRequest())
    words = f"now with {len(seated)} of {len(proposed.groups)} pods"
    return (Offer("members", words, told, detail, where(situation, binds)),)


def time_offer(start: Estimate | None, now: datetime) -> tuple[Offer, ...]:
    """To wait, if anybody knows for how long."""
    if start is None or start.earliest is None:
        return ()
    detail = {"kind": "time", "earliest": start.earliest, "likely": start.likely, "latest": start.latest}
    return (Offer("time", f"{time_words(start, now)} as asked", "", detail),)
