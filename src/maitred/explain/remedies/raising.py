"""Other rights of queues as a remedy: what the owner of the policy could change.

`{"kind": "limits", "limits": [{"queue": "lab", "limit": "cap", "resource": "nvidia.com/gpu", "model": "*",
"from": "4", "to": "8"}], "instead": ["ns/group"]}`: all that is in the way, of its queue and of others, and
the groups that would wait in its place. `limit` is `cap`, `perUser` or `guarantee`; or `borrow` or `lend`,
from `never` to `always`; or `budget`, with its `unit`, its `period` and `until`, when the period ends that
needs it.

What is in the way because a queue never borrows, or another never lends, has two answers: to lift that, or to
guarantee the queue of the group as much as it then has, as long as there is as much for all guarantees.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from maitred.cluster.nodes import Ints
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.ask import ask_of
from maitred.decide.queues.admission import Excess, Obstacles, all_obstacles, beyond_guarantees
from maitred.decide.queues.affording import Overspend
from maitred.decide.queues.budgets import unit_words
from maitred.explain.policy_findings import too_much_guaranteed
from maitred.explain.remedies.changes import cost_words
from maitred.explain.remedies.policy_edits import LiftedRefusal, PolicyEdit, RaisedBudget, RaisedLimit
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.queue_checks import check_queues
from maitred.model.plan import Detail, Remedy
from maitred.model.policy import Policy
from maitred.model.words import moment

REFUSED = ("Quota", "Budget")


@dataclass(frozen=True, slots=True)
class OtherRights:
    edits: tuple[PolicyEdit, ...]
    instead: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of the largest edit."""
        return max(edit.share for edit in self.edits)

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        """Nothing of the cluster changes: the policy does."""
        return snapshot

    def in_policy(self, policy: Policy) -> Policy:
        edits = defaultdict[str, list[PolicyEdit]](list)
        for edit in self.edits:
            edits[edit.queue].append(edit)
        queues = list(policy.queues)
        for place, queue in enumerate(queues):
            for edit in edits[queue.name]:
                queues[place] = edit.applied(queues[place])
        return msgspec.structs.replace(policy, queues=tuple(queues))

    def remedy(self, view: GroupView) -> Remedy:
        said, before = list[str](), ""
        for edit in self.edits:
            said.append(edit.words if edit.verb == before else f"{edit.verb} {edit.words}")
            before = edit.verb
        instead = f"; {cost_words(self.instead)}" if self.instead else ""
        limits: list[Detail] = [edit.detail for edit in self.edits]
        return Remedy(
            f"in the policy, {', and '.join(said)}{instead}",
            {"kind": "limits", "limits": limits, "instead": list(self.instead)},
        )


def other_rights(rehearsal: Rehearsal, ranked: RankedGroup) -> list[OtherRights]:
    """What it takes to seat a group that its queue may not have, each raised no further than it needs; of
    several models of devices, on the one that takes fewest edits."""
    refused = any(blocker.category in REFUSED for blocker in rehearsal.blockers(ranked))
    use = rehearsal.leftover(rehearsal.snapshot, ranked).queues if refused else None
    if use is None:
        return []
    obstacles = all_obstacles(use, ask_of(ranked.view), rehearsal.policy)
    for one in sorted(filter(None, obstacles), key=len):
        found = [_working(rehearsal, ranked, change) for change in _changes(rehearsal, use, ranked, one)]
        works = [change for change in found if change is not None]
        if works:
            return works
    return []


def _changes(
    rehearsal: Rehearsal, use: QueueUse, ranked: RankedGroup, obstacles: Obstacles
) -> Iterator[OtherRights]:
    """The policy with nothing refused; and with more guaranteed, where that does it too."""
    lifted = dict.fromkeys(_lifted(use, rehearsal.policy, obstacles))
    yield OtherRights(tuple(lifted))
    refusals = [one for one in obstacles.excesses if one.kind in ("borrow", "lend")]
    if not refusals:
        return
    guaranteed = list(_guaranteed(use, ranked.view.account, refusals, obstacles.amounts))
    others = [edit for edit in lifted if not isinstance(edit, LiftedRefusal)]
    change = OtherRights((*guaranteed, *others))
    stated = all(_is_stated(rehearsal.policy, edit) for edit in guaranteed)
    if (
        guaranteed
        and stated
        and not too_much_guaranteed(change.in_policy(rehearsal.policy), use.load.snapshot)
    ):
        yield change


def _lifted(use: QueueUse, policy: Policy, obstacles: Obstacles) -> Iterator[PolicyEdit]:
    names = [queue.name for queue in use.book.tree.queues]
    for one in obstacles.excesses:
        after = one.used + one.asked
        if one.kind == "borrow" or one.kind == "lend":
            yield LiftedRefusal(names[one.queue], one.kind, 1 - one.allowed / after)
        else:
            yield RaisedLimit(names[one.queue], one.kind, one.bounds, one.allowed, after)
    short = defaultdict[int, list[Overspend]](list)
    for overspend in obstacles.overspends:
        short[overspend.queue].append(overspend)
    for queue, own in short.items():
        yield _raised_budget(use, policy, names[queue], own)


def _raised_budget(use: QueueUse, policy: Policy, name: str, short: Sequence[Overspend]) -> RaisedBudget:
    """So much that every period is enough that the group would run into; whole, as people write it."""
    balances, queue = use.balances, use.book.tree.queues[short[0].queue]
    budget = queue.budget
    assert balances is not None, "only where there are budgets"
    assert budget is not None, "only budgets are overspent"
    last = max(one.period for one in short)
    needed = max(one.used + one.asked for one in short)
    until = moment(int(balances.bounds[short[0].row][last + 1]) // 1000)
    unit = unit_words(budget, policy)
    return RaisedBudget(name, unit, budget.period, budget.amount, float(math.ceil(needed)), until)


def _guaranteed(
    use: QueueUse, account: int, refusals: Sequence[Excess], amounts: Ints
) -> Iterator[RaisedLimit]:
    """So much more for every queue of the group that would borrow, where that is refused."""
    names, tree = [queue.name for queue in use.book.tree.queues], use.book.tree
    refused = dict[int, None]()
    for one in refusals:
        beside = tree.chain[use.book.accounts[account].queue]
        theirs = tree.chain[one.queue]
        refused |= dict.fromkeys(
            [one.queue] if one.kind == "borrow" else [q for q in beside if q not in theirs]
        )
    for queue in refused:
        for one in beyond_guarantees(use, queue, amounts):
            yield RaisedLimit(names[queue], "guarantee", one.bounds, one.allowed, one.used + one.asked)


def _is_stated(policy: Policy, edit: RaisedLimit) -> bool:
    """Whether the policy has an entry in which the guarantee stands."""
    limits = (limit for queue in policy.queues if queue.name == edit.queue for limit in queue.limits)
    return any(edit.is_about(limit) and limit.guarantee is not None for limit in limits)


def _working(rehearsal: Rehearsal, ranked: RankedGroup, change: OtherRights) -> OtherRights | None:
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
