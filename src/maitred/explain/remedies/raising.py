"""Higher limits of queues as a remedy: what the owner of the policy could change.

`{"kind": "limits", "limits": [{"queue": "lab", "limit": "cap", "resource": "nvidia.com/gpu", "model": "*",
"from": "4", "to": "8"}], "instead": ["ns/group"]}`: every limit that is in the way, of its queue and of those
above, and the groups that would wait in its place.
"""

from dataclasses import dataclass, replace

import msgspec

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.ask import ask_of
from maitred.decide.queues.admission import Excess, all_excesses
from maitred.decide.queues.words import named
from maitred.explain.remedies.changes import cost_words
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.queue_checks import check_queues
from maitred.model.plan import Detail, Remedy
from maitred.model.policy import Policy
from maitred.model.quantity import text
from maitred.model.queues import Queue, QueueLimit

RAISED = {"cap": "cap", "perUser": "limit per user"}
"""The limits that it takes no more than a larger number to lift, and their names in words."""


@dataclass(frozen=True, slots=True)
class HigherLimits:
    excesses: tuple[Excess, ...]
    queues: tuple[str, ...]
    """The names of the queues whose limits they are."""
    instead: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of the largest limit, what is new of it."""
        return max(1 - one.allowed / (one.used + one.asked) for one in self.excesses)

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        """Nothing of the cluster changes: the policy does."""
        return snapshot

    def in_policy(self, policy: Policy) -> Policy:
        queues = list(policy.queues)
        for excess, name in zip(self.excesses, self.queues, strict=True):
            place = next(number for number, queue in enumerate(queues) if queue.name == name)
            queues[place] = _raised(queues[place], excess)
        return msgspec.structs.replace(policy, queues=tuple(queues))

    def remedy(self, view: GroupView) -> Remedy:
        limits, words = list[Detail](), list[str]()
        for excess, queue in zip(self.excesses, self.queues, strict=True):
            bounds = excess.bounds
            before, after = (text(bounds.resource, n) for n in (excess.allowed, excess.used + excess.asked))
            words.append(
                f"the {RAISED[excess.kind]} of queue {queue} from {before} to {after} {named(bounds)}"
            )
            limits.append(
                {
                    "queue": queue,
                    "limit": excess.kind,
                    "resource": bounds.resource,
                    "model": bounds.model,
                    "from": before,
                    "to": after,
                }
            )
        instead = f"; {cost_words(self.instead)}" if self.instead else ""
        return Remedy(
            f"in the policy, raise {', and '.join(words)}{instead}",
            {"kind": "limits", "limits": limits, "instead": list(self.instead)},
        )


def higher_limits(rehearsal: Rehearsal, ranked: RankedGroup) -> HigherLimits | None:
    """The limits that it takes to seat a group, each raised no further than it needs; of several models of
    devices, those of the first that works."""
    refused = any(
        blocker.category == "Quota" and blocker.detail.get("limit") in RAISED
        for blocker in rehearsal.blockers(ranked)
    )
    use = rehearsal.leftover(rehearsal.snapshot, ranked).queues if refused else None
    if use is None:
        return None
    for excesses in all_excesses(use, ask_of(ranked.view), rehearsal.policy):
        if excesses and all(one.kind in RAISED for one in excesses):
            names = tuple(use.book.tree.queues[one.queue].name for one in excesses)
            found = _working(rehearsal, ranked, HigherLimits(tuple(excesses), names))
            if found is not None:
                return found
    return None


def _working(rehearsal: Rehearsal, ranked: RankedGroup, change: HigherLimits) -> HigherLimits | None:
    policy = change.in_policy(rehearsal.policy)
    try:
        check_queues(policy.queues, policy.fair_share, policy.order, policy.prices)
    except FieldError:
        return None
    last = rehearsal.last_to_matter(ranked)
    # Who waits for the same limits may be ahead, so nobody's failure is taken for settled.
    others = [one for one in rehearsal.ranked_groups[:last] if one.waits and one.number != ranked.number]
    outcome = rehearsal.outcome(change.applied, ranked, others, 0, policy)
    if outcome is None or outcome.wronged:
        return None
    return replace(change, instead=outcome.lost)


def _raised(queue: Queue, excess: Excess) -> Queue:
    size = text(excess.bounds.resource, excess.used + excess.asked)
    field = "cap" if excess.kind == "cap" else "per_user"

    def raised(limit: QueueLimit) -> QueueLimit:
        same = (limit.resource, limit.model) == (excess.bounds.resource, excess.bounds.model)
        return msgspec.structs.replace(limit, **{field: size}) if same else limit

    return msgspec.structs.replace(queue, limits=tuple(map(raised, queue.limits)))
