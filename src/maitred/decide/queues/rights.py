"""Who must leave for whom, where there are queues: by priority, or because what they have was lent to them.

Two groups are compared at the level where the branches of their queues part. What is entitled there yields to
no other queue; what is borrowed yields to whoever is entitled, and to a higher priority. What runs without
paying yields to all who pay.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.use import QueueUse
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.budget_words import unpaid_words
from maitred.decide.queues.standings import NOWHERE, Standings
from maitred.decide.queues.words import lent_words, share_words
from maitred.model.plan import EvictionCause
from maitred.model.policy import Policy
from maitred.model.priority import Rank

Rule = Callable[[int], tuple[EvictionCause, str]]
"""Why a pod leaves: the cause, and the rule in words; empty where it is the priority."""


@dataclass(frozen=True, slots=True)
class Yielding:
    """Pods that would have to leave for a group, some of them not yet."""

    pods: Mask
    until: Ints
    """Before when not, in milliseconds since 1970."""
    rule: Rule


def by_priority(evictable: EvictablePods, priority: int, schedulers: tuple[str, ...]) -> Yielding:
    return Yielding(evictable.below(priority, schedulers), evictable.protected_until, _preempted)


def _preempted(pod: int) -> tuple[EvictionCause, str]:
    return "Preemption", ""


class QueueRights:
    def __init__(self, use: QueueUse, standings: Standings, policy: Policy, by_rank: bool) -> None:
        """`use` is what queues use now; `by_rank`: whether a higher priority is a reason."""
        self.use, self.standings, self.policy, self.by_rank = use, standings, policy, by_rank
        self.evictable = standings.evictable
        self.tree = use.book.tree

    def over(self, account: int, amounts: Ints, rank: Rank, schedulers: tuple[str, ...]) -> Yielding:
        """Who yields to a group on this account that would use so much more."""
        evictable, standings = self.evictable, self.standings
        lower = evictable.below(rank.priority, schedulers)
        if not self.by_rank:
            lower = np.zeros_like(lower)
        unpaid = evictable.scavenges
        if evictable.anybody_scavenges:
            unpaid = unpaid & evictable.removable(schedulers)
        if account == NO_ACCOUNT:
            # What an entitled group has is taken by no one who has no right to it.
            until = np.where(unpaid, 0, evictable.protected_until)
            return Yielding(lower | unpaid, until, self._rule(np.zeros_like(lower), (), ()))
        if not self.might_yield(account, amounts, rank, schedulers):
            return Yielding(np.zeros_like(lower), evictable.protected_until, _preempted)
        own = self.use.book.accounts[account].queue
        chain, borrows = self.tree.chain[own], self.use.borrows(account, amounts)
        preempted: Mask = lower & ((standings.account == NO_ACCOUNT) | (standings.queue == own))
        parting = standings.parting_from(own)
        reclaimed = np.zeros_like(lower)
        for level, own_borrows in enumerate(borrows):
            theirs = (parting == level) & standings.borrowed[level]
            if not own_borrows:
                reclaimed |= theirs
                continue
            preempted |= theirs & lower
            if self.policy.fair_share.reclaim:
                least = theirs & (evictable.priority <= rank.priority)
                reclaimed |= least & self._has_more(chain[level], standings.above[:, level], amounts)
        reclaimed &= evictable.removable(schedulers) & ~unpaid
        preempted &= ~reclaimed
        until = np.where(reclaimed, standings.lent_until, evictable.protected_until)
        until = np.where(unpaid, 0, until)
        return Yielding(preempted | reclaimed | unpaid, until, self._rule(reclaimed, chain, borrows))

    def might_yield(self, account: int, amounts: Ints, rank: Rank, schedulers: tuple[str, ...]) -> bool:
        """Whether it is worth while to look at every pod: for most who wait nobody yields, which is known
        sooner."""
        if self.by_rank and self.evictable.any_below(rank.priority, schedulers):
            return True
        if self.evictable.anybody_scavenges:
            return True
        borrows = self.use.borrows(account, amounts)
        if all(borrows) and not self.policy.fair_share.reclaim:
            return False  # it has no right to anything, whatever others have borrowed
        reclaims = (self.policy.fair_share.reclaim or not own_borrows for own_borrows in borrows)
        return any(there and may for there, may in zip(self.standings.borrowed_at, reclaims, strict=False))

    def _has_more(self, own: int, others: Ints, more: Ints) -> Mask:
        """Which of some queues, one of each pod, have more than one queue would have. Were equal shares
        enough, two queues could take from each other in turn."""
        mine = self.use.share(own, more)
        found = np.zeros(len(self.tree) + 1, dtype=np.bool_)
        for queue in np.unique(others[others != NOWHERE]).tolist():
            found[queue] = mine < self.use.share(queue)
        has_more: Mask = found[others]
        return has_more

    def _rule(self, reclaimed: Mask, chain: tuple[int, ...], borrows: tuple[bool, ...]) -> Rule:
        book, used = self.use.book, self.use.now.copy()  # before anybody leaves

        def rule(pod: int) -> tuple[EvictionCause, str]:
            if self.evictable.scavenges[pod]:
                queue = int(self.standings.queue[pod])
                return "Budget", unpaid_words(self._budget_above(queue))
            if not reclaimed[pod]:
                return "Preemption", ""
            theirs = self.tree.chain[int(self.standings.queue[pod])]
            level = _parting(chain, theirs)
            words = share_words if borrows[level] else lent_words
            return "Reclaim", words(book, used, chain[level], theirs[level])

        return rule

    def _budget_above(self, queue: int) -> str:
        """The queue whose budget pays for what a queue has: its own if it has one, else the next above."""
        chain = (self.tree.queues[one] for one in reversed(self.tree.chain[queue]))
        found: str = next((one.name for one in chain if one.budget is not None), "")
        return found


def _parting(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """The level at which the branches of two queues part."""
    return next(level for level, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
