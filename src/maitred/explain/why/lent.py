"""What others have borrowed of the guarantee of a waiting group's queue, and until when at the latest."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import Limit, QueueBook
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME
from maitred.decide.preemption.evictable import NEVER, EvictablePods
from maitred.decide.queues.standings import NOWHERE, Standings
from maitred.decide.queues.words import named, shown
from maitred.decide.record import TriedGroup
from maitred.explain.situation import Situation
from maitred.explain.why.ending import stated_ends
from maitred.model.words import moment

MOST_BORROWERS = 3


class Loan(NamedTuple):
    """What one queue has borrowed of some kinds."""

    amount: int
    ends: int
    """When all of it has ended for certain, in milliseconds since 1970; NEVER if nobody enforces that."""
    free_from: int
    """From when on all of it may be taken back; NEVER if nothing may."""


def lent_words(situation: Situation, group: TriedGroup) -> Iterator[str]:
    """Of each guarantee of its queue, and of those above, that speaks of what the group asks for."""
    book = situation.snapshot.book
    if book is None or group.view.account == NO_ACCOUNT:
        return
    lending = _Lending(situation, book)
    asked: Mask = np.logical_or.reduce([lending.asked(shape) for shape in group.ask.distinct])
    for queue in reversed(book.tree.chain[book.accounts[group.view.account].queue]):
        for limit in book.limits[queue]:
            resource = book.tree.resources.index(limit.bounds.resource)
            lent = lending.lent(limit) if asked[resource] else 0
            loans = lending.loans(limit) if lent else {}
            if loans:
                yield _sentence(book, limit, lent, loans, lending.now)


def _sentence(book: QueueBook, limit: Limit, lent: int, loans: dict[int, Loan], now: int) -> str:
    resource, guarantor = limit.bounds.resource, book.tree.queues[limit.queue].name
    largest = sorted(loans, key=lambda queue: (-loans[queue].amount, queue))
    told = [
        f"queue {book.tree.queues[queue].name} has borrowed {shown(resource, loans[queue].amount)}, "
        f"{_until(loans[queue], now)}"
        for queue in largest[:MOST_BORROWERS]
    ]
    more = len(largest) - MOST_BORROWERS
    others = f"; {more} more have borrowed too" if more > 0 else ""
    what = f"{shown(resource, lent)} {named(limit.bounds)} of what queue {guarantor} is guaranteed"
    return f"{what} {'is' if lent == 1 else 'are'} lent: {'; '.join(told)}{others}"


def _until(loan: Loan, now: int) -> str:
    if loan.free_from <= now:
        return "which it may have to give back at any time"
    if loan.ends <= loan.free_from and loan.ends != NEVER:
        return f"until {moment(loan.ends // 1000)} at the latest"
    if loan.free_from != NEVER:
        return f"until {moment(loan.free_from // 1000)} at the latest, if it is wanted back"
    return "and no end of that is known"


class _Lending:
    def __init__(self, situation: Situation, book: QueueBook) -> None:
        self.situation, self.snapshot, self.book = situation, situation.snapshot, book
        self.now = round(situation.now.timestamp() * 1000)
        evictable = EvictablePods(self.snapshot, situation.policy, self.now)
        self.standings = Standings(book, evictable)

    def asked(self, shape: int) -> Mask:
        """Of which resources a pod of a shape asks for any."""
        known = self.snapshot.shapes[shape]
        own = self.book.amounts_of(self.snapshot.needs[known.needs], known.devices)
        for _, amounts in self.book.shared_by(known.devices):
            own = own + amounts
        return own > 0

    def lent(self, limit: Limit) -> int:
        """What a queue leaves idle of a guarantee and could not have now, as `maitred queues` shows it."""
        book, used = self.book, self.book.used_at_first
        free = int(np.maximum(book.hardware - used[0], 0)[limit.kinds].sum())
        own = int(used[book.row(limit.queue)][limit.kinds].sum())
        return max(0, (limit.bounds.guarantee or 0) - own - free)

    def loans(self, limit: Limit) -> dict[int, Loan]:
        """By queue: what others have borrowed of these kinds, where their branch parts from this queue."""
        parting = self.standings.parting_from(limit.queue)
        borrowed: Mask = np.zeros(len(parting), dtype=np.bool_)
        for level, there in enumerate(self.standings.borrowed):
            borrowed |= there & (parting == level) & (parting != NOWHERE)
        pods = np.flatnonzero(borrowed)
        amounts = self.book.kinds_of(pods)[:, limit.kinds].sum(axis=1)
        by_queue = defaultdict[int, list[int]](list)
        for place in np.flatnonzero(amounts > 0).tolist():
            by_queue[int(self.standings.queue[pods[place]])].append(place)
        return {
            queue: Loan(int(amounts[own].sum()), self._ends(pods[own]), self._free_from(pods[own]))
            for queue, own in by_queue.items()
        }

    def _free_from(self, pods: Rows) -> int:
        if self.situation.policy.preemption.mode == "never":
            return NEVER
        return int(self.standings.lent_until[pods].max())

    def _ends(self, pods: Rows) -> int:
        """When the last of these groups, and of the pods that are in none, has ended for certain."""
        bound, last = self.snapshot.bound, 0
        groups = bound.group[pods]
        _, first = np.unique(np.where(groups == NO_GROUP, -1 - pods, groups), return_index=True)
        for pod in pods[first].tolist():
            group = int(bound.group[pod])
            started = int(bound.started[pod] if group == NO_GROUP else self._group_started[group])
            ends = () if started in (UNKNOWN_TIME, NEVER) else stated_ends(self.snapshot, pod, started)
            last = max(last, next((end.at for end in ends if end.enforced), NEVER))
            if last == NEVER:
                break
        return last

    @cached_property
    def _group_started(self) -> Ints:
        """When the first member of each group started; NEVER if none has."""
        bound = self.snapshot.bound
        found = np.full(len(self.snapshot.seated), NEVER, dtype=np.int64)
        known = (bound.group != NO_GROUP) & (bound.started != UNKNOWN_TIME)
        np.minimum.at(found, bound.group[known], bound.started[known])
        return found
