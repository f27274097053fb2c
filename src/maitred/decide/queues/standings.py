"""Entitled or borrowed: how what runs stands to the guarantees of its queue, at every level of the tree."""

from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import NO_QUEUE, QueueBook
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME
from maitred.decide.preemption.evictable import NEVER, EvictablePods
from maitred.model.duration import milliseconds

NOWHERE = -1


class Standings:
    """Worked out once, for the cluster as the cycle found it. Pods that are leaving stand nowhere, and
    neither do those who do not pay."""

    def __init__(self, book: QueueBook, evictable: EvictablePods) -> None:
        self.book, self.evictable = book, evictable
        self.account = book.account_of_bound
        """Of every pod on a node."""
        self.queue: Ints = np.array([one.queue for one in book.accounts], dtype=np.int64)[self.account]

    @cached_property
    def above(self) -> Ints:
        """The queue of each pod at every level from the top down; NOWHERE below its own, and for those that
        are in none."""
        found: Ints = self._chains[self.queue]
        return found

    @cached_property
    def _chains(self) -> Ints:
        """The same of each queue; the last row is that of no queue."""
        tree = self.book.tree
        chains = np.full((len(tree) + 1, tree.depth), NOWHERE, dtype=np.int64)
        for queue, chain in enumerate(tree.chain):
            chains[queue, : len(chain)] = chain
        return chains

    def parting_from(self, queue: int) -> Ints:
        """The level at which the branch of each pod parts from that of a queue; NOWHERE for pods of the
        queue, and for those that are in none."""
        chain = self.book.tree.chain[queue]
        parting = np.full(len(self._chains), NOWHERE, dtype=np.int64)
        together = np.ones(len(self._chains), dtype=np.bool_)
        together[NO_QUEUE] = False
        for level, above in enumerate(chain):
            same = self._chains[:, level] == above
            parting[together & ~same] = level
            together &= same
        found: Ints = parting[self.queue]
        return found

    @cached_property
    def lent_until(self) -> Ints:
        """When what is borrowed may be reclaimed: once it has run as long as its queue says."""
        spans = [milliseconds(queue.min_runtime) or 0 for queue in self.book.tree.queues]
        least = np.array([*spans, 0], dtype=np.int64)[self.queue]
        started = self.evictable.bound.started
        waits = np.where(started == UNKNOWN_TIME, NEVER, started + least)
        return np.where(least == 0, 0, waits)

    @cached_property
    def _unit(self) -> tuple[Ints, Ints]:
        """Which unit each pod is in: its group, as far as that is on one account, or itself; and the first
        pod of each unit."""
        bound = self.evictable.bound
        counts = (self.account != NO_ACCOUNT) & ~self.evictable.leaving & ~bound.terminating
        counts &= ~self.evictable.scavenges
        pods = np.flatnonzero(counts)
        alone = len(self.evictable.snapshot.seated) + np.arange(len(bound.node))
        group = np.where(bound.group == NO_GROUP, alone, bound.group).astype(np.int64)
        keys = group[pods] * len(self.book.accounts) + self.account[pods]
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        unit: Ints = np.full(len(bound.node), NOWHERE, dtype=np.int64)
        unit[pods] = numbers
        return unit, pods[first]

    @cached_property
    def _amounts(self) -> Ints:
        """What each unit uses of every kind."""
        unit, first = self._unit
        pods = np.flatnonzero(unit != NOWHERE)
        found = np.zeros((len(first), self.book.kinds), dtype=np.int64)
        np.add.at(found, unit[pods], self.book.kinds_of(pods))
        return found

    @cached_property
    def _order(self) -> Ints:
        """Units by priority, then by start, then by name."""
        unit, first = self._unit
        pods = np.flatnonzero(unit != NOWHERE)
        priority = np.full(len(first), np.iinfo(np.int64).min)
        np.maximum.at(priority, unit[pods], self.evictable.priority[pods])
        started = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(started, unit[pods], self.evictable.started[pods])
        occupants = self.evictable.bound.occupants[first].tolist()
        # Of pods that are only imagined there, nobody knows names: they are told apart by nothing.
        names = np.array(["" if one is None else one.key for one in occupants], dtype=object)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(names, kind="stable")] = np.arange(len(first))
        return np.lexsort((rank, started, -priority))

    @cached_property
    def borrowed(self) -> tuple[Mask, ...]:
        """At every level from the top down, the pods that their queue there has borrowed."""
        unit, _ = self._unit
        there = unit != NOWHERE
        found = []
        for level in self._by_unit:
            mask = np.zeros(len(unit), dtype=np.bool_)
            mask[there] = level[unit[there]]
            found.append(mask)
        return tuple(found)

    @cached_property
    def borrowed_at(self) -> tuple[bool, ...]:
        """Whether there are any."""
        return tuple([bool(mask.any()) for mask in self.borrowed])

    @cached_property
    def _by_unit(self) -> list[Mask]:
        tree, (_, first) = self.book.tree, self._unit
        levels = [np.zeros(len(first), dtype=np.bool_) for _ in range(tree.depth)]
        above = self.above[first]
        rank = np.empty(len(first), dtype=np.int64)
        rank[self._order] = np.arange(len(first))
        for queue in tree.from_below():
            level = len(tree.chain[queue]) - 1
            units = np.flatnonzero(above[:, level] == queue)
            if len(units) and not self.book.within_guarantee(queue, self._amounts[units].sum(axis=0)):
                # Who is entitled further down comes first.
                keys = [rank[units], *(levels[below][units] for below in range(tree.depth - 1, level, -1))]
                ordered = units[np.lexsort(keys)]
                levels[level][ordered] = self._beyond(queue, self._amounts[ordered])
        return levels

    def _beyond(self, queue: int, amounts: Ints) -> Mask:
        """Which of these, one after the other, do not fit beside those before them that do."""
        limits = [one for one in self.book.limits[queue] if one.bounds.guarantee is not None]
        beyond: Mask = amounts[:, self.book.unguaranteed[queue]].sum(axis=1) > 0
        if not limits:
            return beyond
        asked = np.array([amounts[:, one.kinds].sum(axis=1) for one in limits]).T
        left = np.array([one.bounds.guarantee for one in limits], dtype=np.int64)
        waiting = np.flatnonzero(~beyond)
        while len(waiting):
            fits = (np.cumsum(asked[waiting], axis=0) <= left).all(axis=1)
            count = len(waiting) if fits.all() else int(fits.argmin())
            left = left - asked[waiting[:count]].sum(axis=0)
            waiting = waiting[count:]
            alone = (asked[waiting] <= left).all(axis=1)
            beyond[waiting[~alone]] = True
            waiting = waiting[alone]
        return beyond
