"""Who must leave for whom, where there are queues: by priority, or because what they have was lent to them.

Two groups are compared at the level where the branches of their queues part. What is entitled there yields to
no other queue; what is borrowed yields to whoever is entitled, and to a higher priority.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.use import QueueUse
from maitred.decide.preemption.evictable import NEVER, EvictablePods
from maitred.decide.queues.standings import Standings
from maitred.decide.queues.words import lent_words, share_words
from maitred.model.duration import milliseconds
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
    return Yielding(
        evictable.below(priority, schedulers), evictable.protected_until, lambda pod: ("Preemption", "")
    )


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
        if account == NO_ACCOUNT:
            # What an entitled group has is taken by no one who has no right to it.
            return Yielding(lower, evictable.protected_until, lambda pod: ("Preemption", ""))
        own = self.use.book.accounts[account].queue
        chain, borrows = self.tree.chain[own], self.use.borrows(account, amounts)
        preempted: Mask = lower & ((standings.account == NO_ACCOUNT) | (standings.queue == own))
        reclaimed = np.zeros_like(lower)
        for other in np.unique(standings.queue[standings.account != NO_ACCOUNT]).tolist():
            if other == own:
                continue
            level = _parting(chain, self.tree.chain[other])
            theirs = (standings.queue == other) & standings.borrowed[level]
            if not borrows[level]:
                reclaimed |= theirs
                continue
            if self._has_less(chain[level], self.tree.chain[other][level], amounts):
                reclaimed |= theirs & (evictable.priority <= rank.priority)
            preempted |= theirs & lower
        reclaimed &= evictable.removable(schedulers)
        preempted &= ~reclaimed
        until = np.where(reclaimed, self._lent_until, evictable.protected_until)
        return Yielding(preempted | reclaimed, until, self._rule(reclaimed, chain, borrows))

    def _has_less(self, own: int, other: int, more: Ints) -> bool:
        """Whether by fair share one queue may reclaim from another. Were equal shares enough, the two could
        take from each other in turn."""
        return self.policy.fair_share.reclaim and self.use.share(own, more) < self.use.share(other)

    @property
    def _lent_until(self) -> Ints:
        """When what is borrowed may be reclaimed: once it has run as long as its queue says."""
        spans = [milliseconds(queue.min_runtime) or 0 for queue in self.tree.queues]
        least = np.array([*spans, 0], dtype=np.int64)[self.standings.queue]
        started = self.evictable.bound.started
        waits = np.where(started < 0, NEVER, started + least)
        return np.where(least == 0, 0, waits)

    def _rule(self, reclaimed: Mask, chain: tuple[int, ...], borrows: tuple[bool, ...]) -> Rule:
        book, used = self.use.book, self.use.now.copy()  # before anybody leaves

        def rule(pod: int) -> tuple[EvictionCause, str]:
            if not reclaimed[pod]:
                return "Preemption", ""
            theirs = self.tree.chain[int(self.standings.queue[pod])]
            level = _parting(chain, theirs)
            words = share_words if borrows[level] else lent_words
            return "Reclaim", words(book, used, chain[level], theirs[level])

        return rule


def _parting(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """The level at which the branches of two queues part."""
    return next(level for level, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
