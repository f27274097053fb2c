"""Who has to leave for whom in a future with queues: by the rights that `decide` has, a little coarser.

Who has borrowed what is taken as it is now. It may be reclaimed later as long as the queue that borrowed it,
or one above it, is still beyond its guarantee. Of groups that start in the future only those leave that are
in the same queue and of lower priority.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Mask
from maitred.cluster.queues.book import NO_QUEUE, QueueBook
from maitred.cluster.queues.use import QueueUse
from maitred.decide.ask import Ask
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.admission import narrowed
from maitred.decide.queues.rights import QueueRights
from maitred.decide.queues.standings import Standings
from maitred.explain.forecast.ends import Tenants
from maitred.explain.forecast.groups import ForecastGroup
from maitred.explain.forecast.runs import NEVER, Floats
from maitred.model.policy import Policy, preempts
from maitred.model.priority import Rank


@dataclass(frozen=True)
class Lending:
    book: QueueBook
    policy: Policy
    tenants: Tenants
    evictable: EvictablePods

    def yielding(self, use: QueueUse, group: ForecastGroup, now: float) -> Iterator[tuple[Ask, Mask]]:
        """What a group may ask for on devices of one model after the other, and the tenants that leave for it
        if they must. `use` is what queues use by then."""
        if self.policy.preemption.mode == "never":
            return
        rights = QueueRights(use, self._standings, self.policy, preempts(self.policy))
        rank = Rank(group.priority, "PreemptLowerPriority" if group.displaces else "Never")
        for ask, amounts in narrowed(use, group.ask, self.policy):
            if ask.account != NO_ACCOUNT:
                continue  # a limit is in the way, whoever leaves
            found = rights.over(group.ask.account, amounts, rank, group.schedulers)
            pods = found.pods & (found.until <= now * 1000) & self._still_yields(use, group.ask.account)
            yield ask, self.tenants.all_of(pods)

    def _still_yields(self, use: QueueUse, account: int) -> Mask:
        """Pods of the group's own queue, of none, and of queues of which one is beyond its guarantee."""
        tree, standings = self.book.tree, self._standings
        nothing = np.zeros(self.book.kinds, dtype=np.int64)
        beyond = [not use.within_guarantee(queue, nothing) for queue in range(len(tree))]
        found = np.array(
            [any(beyond[one] for one in tree.chain[queue]) for queue in range(len(tree))] + [True]
        )
        found[use.book.accounts[account].queue] = True
        still: Mask = found[np.where(standings.queue == NO_QUEUE, len(tree), standings.queue)]
        return still | self.evictable.scavenges

    @cached_property
    def ripening(self) -> Floats:
        """From when on what was borrowed may be taken back."""
        borrowed = np.any(self._standings.borrowed, axis=0)
        until = np.where(borrowed, self._standings.lent_until / 1000, NEVER)
        return np.unique(until)

    def queue_of_account(self, account: int) -> int:
        return self.book.accounts[account].queue

    @cached_property
    def _standings(self) -> Standings:
        return Standings(self.book, self.evictable)
