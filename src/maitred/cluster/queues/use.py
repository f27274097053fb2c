"""What queues use on a trial: counted at first from all pods on nodes, then with every change of it.

Like amounts on nodes it is counted twice while places are held: as it is now, and as it will be once all who
are leaving have left and all who were promised a place have it. A limit holds for both.
"""

from copy import copy
from typing import Self

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Account, Load
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.balances import PERIODS, rates_of
from maitred.cluster.queues.book import Floats, QueueBook


class QueueUse(Account):
    def __init__(self, load: Load) -> None:
        super().__init__(load)
        known = load.snapshot.book
        assert known is not None, "only a snapshot with a book of queues has this account"
        self.book: QueueBook = known.about(load.snapshot)
        book = self.book
        self.now = book.used_at_first.copy() if load.here.all() else book.used_by(np.flatnonzero(load.here))
        self.later: Ints | None = None
        self.models = book.model_of(load.nodes)
        self._by_shape: dict[int, Ints] = {}
        self._rates: dict[int, Floats] = {}
        self.balances = load.snapshot.balances
        self.committed: Floats = np.zeros((0, PERIODS))
        """By budget and period: what those who were seated here could cost, beside all who were there. What
        others had is free again only once they have left."""
        if self.balances is not None:
            self.committed = np.zeros((len(self.balances.queues), PERIODS))
        self.changes = 0
        """How often anything has changed; equal numbers mean that nothing has."""
        for entry in load.seated():
            self.take(entry)

    def on(self, load: Load) -> Self:
        if load.snapshot is not self.load.snapshot:
            return type(self)(load)
        other = copy(self)
        other.load, other.now = load, self.now.copy()
        other.later = None if self.later is None else self.later.copy()
        other.committed = self.committed.copy()
        if load.nodes is not self.load.nodes:
            other.models = self.book.model_of(load.nodes)
        return other

    def ahead(self, load: Load, leaving: Mask) -> Self:
        other = self.on(load)
        other.now = self._once_gone(leaving) if self.later is None else self.later.copy()
        other.later = None
        return other

    # -- change and undo -------------------------------------------------------------------------------

    def take(self, entry: Seated) -> None:
        self._account(entry, 1)

    def give_back(self, entry: Seated) -> None:
        self._account(entry, -1)

    def _account(self, entry: Seated, sign: int) -> None:
        rows, amounts = self._rows(entry.account), sign * self.amounts(entry.shape, entry.rows, entry.copies)
        if not entry.held:
            self.now[rows] += amounts
        if self.later is not None:
            self.later[rows] += amounts
        if len(self.committed) and entry.account != NO_ACCOUNT:
            self._commit(entry, sign)
        self.changes += 1

    def _commit(self, entry: Seated, sign: int) -> None:
        of_models = np.bincount(
            self.models[entry.rows], weights=entry.copies, minlength=len(self.book.models)
        )
        rows, costs = self.costs(entry.account, self.rates_of(entry.shape) @ of_models)
        self.committed[rows] += sign * costs

    def move(self, entry: Moved, gone: bool) -> None:
        amounts = self._of_pods(entry.pods)
        self.now += -amounts if gone else amounts
        self.changes += 1

    def look_ahead(self, leaving: Mask) -> None:
        if self.later is None:
            self.later = self._once_gone(leaving)

    def expect(self, pods: Rows) -> None:
        if self.later is not None:
            self.later -= self._of_pods(pods)
            self.changes += 1

    def _once_gone(self, leaving: Mask) -> Ints:
        return self.now - self._of_pods(np.flatnonzero(leaving & self.load.here))

    def _of_pods(self, pods: Rows) -> Ints:
        self._grow()
        return self.book.used_by(pods)

    def _rows(self, account: int) -> Rows:
        self._grow()
        return self.book.accounts[account].rows

    def _grow(self) -> None:
        """Users come while the book is read."""
        missing = self.book.height - len(self.now)
        if missing > 0:
            more = ((0, missing), (0, 0))
            self.now = np.pad(self.now, more)
            self.later = None if self.later is None else np.pad(self.later, more)

    def amounts_of(self, shape: int) -> Ints:
        """What a pod of a shape uses of every resource that counts."""
        known = self._by_shape.get(shape)
        if known is None:
            known = self._by_shape[shape] = self.book.amounts_of(self.load.needs(shape))
        return known

    def rates_of(self, shape: int) -> Floats:
        """What an hour of a pod of a shape costs in each unit, on devices of each model."""
        known = self._rates.get(shape)
        if known is None:
            known = rates_of(self.book.policy, self.book.models, self.load.needs(shape))
            self._rates[shape] = known
        return known

    def costs(self, account: int, rates: Floats) -> tuple[Ints, Floats]:
        """The budgets that pay for what runs on an account, and what it costs each of them in each period
        until its end, if an hour costs so much in each unit."""
        assert self.balances is not None, "only where there are budgets"
        known = self.book.accounts[account]
        rows = self.balances.rows_of(self.book.tree.chain[known.queue])
        return rows, self.balances.hours(rows, known) * rates[self.balances.units[rows]][:, None]

    # -- what is used ----------------------------------------------------------------------------------

    def amounts(self, shape: int, rows: Rows, copies: Ints) -> Ints:
        """What so many pods of a shape use of every kind on these nodes."""
        of_models = np.bincount(self.models[rows], weights=copies, minlength=len(self.book.models))
        found: Ints = np.outer(self.amounts_of(shape), of_models.astype(np.int64)).reshape(-1)
        return found

    def used_in(self, row: int) -> Ints:
        """The most that is used, now or once all have left who are leaving, in one row."""
        self._grow()
        now: Ints = self.now[row]
        return now if self.later is None else np.maximum(now, self.later[row])

    def of_queue(self, queue: int) -> Ints:
        return self.used_in(self.book.row(queue))

    def within_guarantee(self, queue: int, more: Ints) -> bool:
        """Whether a queue stays within what it is guaranteed with so much more."""
        return self.book.within_guarantee(queue, self.of_queue(queue) + more)

    def borrows(self, account: int, more: Ints) -> tuple[bool, ...]:
        """At every level, from the top down: whether with so much more the queue is beyond its guarantee."""
        if account == NO_ACCOUNT:
            return ()
        chain = self.book.tree.chain[self.book.accounts[account].queue]
        return tuple([not self.within_guarantee(queue, more) for queue in chain])

    def share(self, queue: int, more: Ints | int = 0) -> float:
        """The largest part that a queue has of anything that is limited, over its weight."""
        return self.book.share(queue, self.of_queue(queue) + more)
