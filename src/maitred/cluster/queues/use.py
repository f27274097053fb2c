"""What queues use on a trial: counted at first from all pods on nodes, then with every change of it.

Like amounts on nodes it is counted twice while places are held: as it is now, and as it will be once all who
are leaving have left and all who were promised a place have it. A limit holds for both.
"""

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Account, Load
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import Limit, QueueBook
from maitred.cluster.queues.charges import Floats
from maitred.cluster.queues.tree import TOP

T = TypeVar("T")
Number = TypeVar("Number", np.int64, np.float64)


class SharedUse(Generic[Number]):
    """Claims that several pods share: how many use each, and where it counts. It counts for whoever had it
    first, as long as anybody uses it."""

    def __init__(self, users: Mapping[str, int], charged: Mapping[str, tuple[Rows, NDArray[Number]]]) -> None:
        self.users = dict(users)
        self.charged: dict[str, tuple[Rows, NDArray[Number]]] = dict(charged)

    def copy(self) -> "SharedUse[Number]":
        return SharedUse(self.users, self.charged)

    def change(
        self, claim: str, by: int, rows: Rows, amounts: NDArray[Number], used: NDArray[Number]
    ) -> None:
        """So many more use it, or fewer. If they are the first, it counts in these rows."""
        before = self.users.get(claim, 0)
        self.users[claim] = before + by
        if not before:
            self.charged[claim] = rows, amounts
            used[rows] += amounts
        elif not self.users[claim]:
            rows, amounts = self.charged.pop(claim)
            used[rows] -= amounts


class Answers:
    """What was asked of an account before, each with the version of the row that it was answered from: many
    groups ask the same."""

    def __init__(self) -> None:
        self.used = dict[tuple[int, int], tuple[int, int]]()
        self.within = dict[tuple[int, bytes], tuple[int, bool]]()
        self.on_accounts = dict[Hashable, tuple[int, Any]]()


class QueueUse(Account):
    def __init__(self, load: Load) -> None:
        super().__init__(load)
        known = load.snapshot.book
        assert known is not None, "only a snapshot with a book of queues has this account"
        self.book: QueueBook = known.about(load.snapshot)
        book = self.book
        self.now = self._at_first()
        self.later: Ints | None = None
        self.shared, self.shared_later = SharedUse[np.int64]({}, {}), SharedUse[np.int64]({}, {})
        self.models = book.model_of(load.nodes)
        self._grow()
        self._move_shared(self.shared, self.now, np.flatnonzero(load.here), 1)
        self._by_shape: dict[int, Ints] = {}
        self._rates: dict[int, Floats] = {}
        self.balances = load.snapshot.balances
        self.committed: Floats = np.zeros((0, 0))
        """By budget and period: what those who were seated here could cost, beside all who were there. What
        others had is free again only once they have left."""
        self.paid: SharedUse[np.float64] = SharedUse({}, {})
        """Who pays for claims that several share. One that somebody had before is paid by that pod until it
        has left, so it costs nobody here."""
        self._shared_rates: dict[int, tuple[tuple[str, Floats], ...]] = {}
        if self.balances is not None:
            self.committed = np.zeros((len(self.balances.queues), self.balances.periods))
            self.paid = SharedUse(dict.fromkeys(book.charges.paid_claims(), 1), {})
        self._shared_by_shape: dict[int, tuple[tuple[str, Ints], ...]] = {}
        self.changes = 0
        """How often anything has changed; equal numbers mean that nothing has."""
        self._changed_in = dict[int, int]()
        """At which of the changes each row changed last,"""
        self._changed_everywhere = 0
        """and at which perhaps all of them did."""
        self._answers = Answers()
        self._derived = dict[Hashable, Any]()
        """What follows from the shapes and the nodes, whoever is there."""
        for entry in load.seated():
            self.take(entry)

    def on(self, load: Load) -> Self:
        if load.snapshot is not self.load.snapshot:
            return type(self)(load)
        other = copy(self)
        other.load, other.now = load, self.now.copy()
        other.later = None if self.later is None else self.later.copy()
        other.committed, other.paid = self.committed.copy(), self.paid.copy()
        other.shared, other.shared_later = self.shared.copy(), self.shared_later.copy()
        other._changed_in, other._answers = dict(self._changed_in), Answers()
        if load.nodes is not self.load.nodes:
            other.models = self.book.model_of(load.nodes)
            other._derived = {}
        return other

    def ahead(self, load: Load, leaving: Mask) -> Self:
        other = self.on(load)
        if other.later is None:
            other._leave_out(np.flatnonzero(leaving & self.load.here))
        assert other.later is not None
        other.now, other.shared, other.later = other.later, other.shared_later, None
        other._answers = Answers()
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
        pays = entry.account != NO_ACCOUNT and not self.book.accounts[entry.account].scavenges
        if len(self.committed) and pays:
            self._commit(entry, sign)
        for claim, of_claim in self.shared_by(entry.shape):
            kinds = self.on_model(of_claim, int(self.models[entry.rows[0]]))
            copies = sign * int(entry.copies.sum())
            if not entry.held:
                self.shared.change(claim, copies, rows, kinds, self.now)
            if self.later is not None:
                self.shared_later.change(claim, copies, rows, kinds, self.later)
            self._changed_everywhere = self.changes + 1  # it may count for somebody else
        self._note_change(rows)

    def _commit(self, entry: Seated, sign: int) -> None:
        of_models = np.bincount(
            self.models[entry.rows], weights=entry.copies, minlength=len(self.book.models)
        )
        rows, costs = self.costs(entry.account, self.rates_of(entry.shape) @ of_models)
        self.committed[rows] += sign * costs
        for claim, rates in self.shared_rates_of(entry.shape):
            self._changed_everywhere = self.changes + 1  # somebody else may pay for it
            rows, costs = self.costs(entry.account, rates[:, self.models[entry.rows[0]]])
            self.paid.change(claim, sign * int(entry.copies.sum()), rows, costs, self.committed)

    def move(self, entry: Moved, gone: bool) -> None:
        self._grow()
        amounts = self._of_pods(entry.pods)
        self.now += -amounts if gone else amounts
        self._move_shared(self.shared, self.now, entry.pods, -1 if gone else 1)
        self._note_change()

    def look_ahead(self, leaving: Mask) -> None:
        if self.later is None:
            self._leave_out(np.flatnonzero(leaving & self.load.here))

    def _leave_out(self, pods: Rows) -> None:
        """These are gone later."""
        self._grow()
        self.later = self.now - self._of_pods(pods)
        self.shared_later = self.shared.copy()
        self._move_shared(self.shared_later, self.later, pods, -1)

    def expect(self, pods: Rows) -> None:
        self._grow()
        if self.later is not None:
            self.later -= self._of_pods(pods)
            self._move_shared(self.shared_later, self.later, pods, -1)
            self._note_change()

    def _note_change(self, rows: Rows | None = None) -> None:
        """In these rows; None: perhaps in all of them."""
        self.changes += 1
        if rows is None:
            self._changed_everywhere = self.changes
        else:
            self._changed_in.update(dict.fromkeys(rows.tolist(), self.changes))

    def _at_first(self) -> Ints:
        book, here = self.book, self.load.here
        if here.all() and (book.held is None or not book.held.shared):
            return book.used_at_first.copy()
        return book.used_alone_by(np.flatnonzero(here))

    def _of_pods(self, pods: Rows) -> Ints:
        return self.book.used_alone_by(pods)

    def _move_shared(self, shared: SharedUse[np.int64], used: Ints, pods: Rows, by: int) -> None:
        """Claims that bound pods share are used by these no more, or again."""
        held = self.book.held
        if held is None or not held.shared:
            return
        book, bound = self.book, self.book.snapshot.bound
        for pod in pods.tolist():
            for claim in held.shared_by.get(pod, ()):
                one = held.shared[claim]
                rows = self._rows(int(book.account_of_bound[one.payer]))
                kinds = self.on_model(one.amounts, int(self.models[bound.node[one.payer]]))
                shared.change(claim, by, rows, kinds, used)

    def _rows(self, account: int) -> Rows:
        self._grow()
        return self.book.accounts[account].rows

    def _grow(self) -> None:
        """Users come while the book is read, and so do those who do not pay. Before anything is counted: what
        is counted in grows anew."""
        missing = self.book.height - len(self.now)
        if missing > 0:
            more = ((0, missing), (0, 0))
            self.now = np.pad(self.now, more)
            self.later = None if self.later is None else np.pad(self.later, more)

    def amounts_of(self, shape: int) -> Ints:
        """What a pod of a shape uses of every resource that counts; claims aside that several may share."""
        known = self._by_shape.get(shape)
        if known is None:
            claims = self.load.shape(shape).devices
            known = self._by_shape[shape] = self.book.amounts_of(self.load.needs(shape), claims)
        return known

    def rates_of(self, shape: int) -> Floats:
        """What an hour of a pod of a shape costs in each unit, on devices of each model; claims aside that
        several may share."""
        known = self._rates.get(shape)
        if known is None:
            claims = self.load.shape(shape).devices
            known = self._rates[shape] = self.book.charges.of_pod(self.load.needs(shape), claims)
        return known

    def shared_rates_of(self, shape: int) -> tuple[tuple[str, Floats], ...]:
        """The same of the claims of such a pod that several may share."""
        known = self._shared_rates.get(shape)
        if known is None:
            claims = self.load.shape(shape).devices
            known = self._shared_rates[shape] = tuple(self.book.charges.shared_by(claims))
        return known

    def is_paid(self, claim: str) -> bool:
        """Whether somebody pays for it already, so that it costs nothing more to use it too."""
        return bool(self.paid.users.get(claim))

    def costs(self, account: int, rates: Floats) -> tuple[Ints, Floats]:
        """The budgets that pay for what runs on an account, and what it costs each of them in each period
        until its end, if an hour costs so much in each unit."""
        assert self.balances is not None, "only where there are budgets"
        known = self.book.accounts[account]
        rows = self.balances.rows_of(self.book.tree.chain[known.queue])
        return rows, self.balances.hours(rows, known) * rates[self.balances.units[rows]][:, None]

    def shared_by(self, shape: int) -> tuple[tuple[str, Ints], ...]:
        """Claims of pods of a shape that several may share, and what each counts."""
        known = self._shared_by_shape.get(shape)
        if known is None:
            known = self._shared_by_shape[shape] = self.book.shared_by(self.load.shape(shape).devices)
        return known

    def classes_of(self, shape: int) -> set[str]:
        """The device classes of claims of a pod of a shape, and those that serve what it requests."""
        served = self.book.snapshot.device_classes
        requested = {served[name] for name, _ in self.load.needs(shape).requests if name in served}
        return requested | self.book.claims.classes_of(self.load.shape(shape).devices)

    def counts_already(self, claim: str) -> bool:
        """Whether somebody uses it: then it counts no more for whoever uses it too."""
        later = self.later is None or bool(self.shared_later.users.get(claim))
        return later and bool(self.shared.users.get(claim))

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is the same for all who ask for the same, as long as the nodes are these."""
        found: T | None = self._derived.get(key)
        if found is None:
            found = self._derived[key] = make()
        return found

    # -- what is used ----------------------------------------------------------------------------------

    def amounts(self, shape: int, rows: Rows, copies: Ints) -> Ints:
        """What so many pods of a shape use of every kind on these nodes."""
        of_models = np.bincount(self.models[rows], weights=copies, minlength=len(self.book.models))
        found: Ints = np.outer(self.amounts_of(shape), of_models.astype(np.int64)).reshape(-1)
        return found

    def on_model(self, amounts: Ints, model: int) -> Ints:
        """So much of every resource on devices of one model, by kind."""
        found = np.zeros((len(amounts), len(self.book.models)), dtype=np.int64)
        found[:, model] = amounts
        return found.reshape(-1)

    def used_in(self, row: int) -> Ints:
        """The most that is used, now or once all have left who are leaving, in one row."""
        self._grow()
        now: Ints = self.now[row]
        return now if self.later is None else np.maximum(now, self.later[row])

    def used_of(self, limit: Limit, row: int) -> int:
        """The same of what a limit speaks of."""
        version, key = self.version_in(row), (limit.number, row)
        known = self._answers.used.get(key)
        if known is None or known[0] != version:
            known = self._answers.used[key] = version, limit.asked(self.used_in(row).tolist())
        return known[1]

    def version_in(self, row: int) -> int:
        """Equal numbers mean that nothing has changed in a row."""
        own, every = self._changed_in.get(row, 0), self._changed_everywhere
        return own if own > every else every

    def version(self, queue: int) -> int:
        """The same of a queue and of all below it; of TOP, and of what is in no queue, of all there are."""
        return self.version_in(self.book.row(queue))

    def answered(self, account: int, key: Hashable, make: Callable[[], T]) -> T:
        """What follows from what its queue uses, and those above; and others, where some do not lend. The key
        names the account, or what asks for it does."""
        version = self.version_for(account)
        known = self._answers.on_accounts.get(key)
        if known is None or known[0] != version:
            known = self._answers.on_accounts[key] = version, make()
        found: T = known[1]
        return found

    def version_for(self, account: int) -> int:
        """Equal numbers mean that nothing has changed of what limits leave for an account."""
        chain = self.book.tree.chain[self.book.accounts[account].queue]
        return self.version(TOP if self.book.not_lent(chain) else chain[0])

    def of_queue(self, queue: int) -> Ints:
        return self.used_in(self.book.row(queue))

    def paid_in(self, queue: int) -> Ints:
        """The same without those who scavenge: those who pay are compared as if the others were not there."""
        row, free = self.book.row(queue), self.book.rows_of_scavengers.get(queue)
        self._grow()
        if free is None:
            return self.used_in(row)
        paid: Ints = self.now[row] - self.now[free]
        return paid if self.later is None else np.maximum(paid, self.later[row] - self.later[free])

    def within_guarantee(self, queue: int, more: Ints) -> bool:
        """Whether a queue stays within what it is guaranteed with so much more."""
        return self._within(queue, more, more.tobytes())

    def _within(self, queue: int, more: Ints, asked: bytes) -> bool:
        if self.book.is_beyond(queue, more):
            return False  # whatever it uses
        version, key = self.version(queue), (queue, asked)
        known = self._answers.within.get(key)
        if known is None or known[0] != version:
            within = self.book.within_guarantee(queue, self.paid_in(queue) + more)
            known = self._answers.within[key] = version, within
        return known[1]

    def borrows(self, account: int, more: Ints) -> tuple[bool, ...]:
        """At every level, from the top down: whether with so much more the queue is beyond its guarantee."""
        if account == NO_ACCOUNT:
            return ()
        chain, asked = self.book.tree.chain[self.book.accounts[account].queue], more.tobytes()
        return tuple([not self._within(queue, more, asked) for queue in chain])

    def share(self, queue: int, more: Ints | int = 0) -> float:
        """The largest part that a queue has of anything that is limited, over its weight."""
        return self.book.share(queue, self.paid_in(queue) + more)

    def shares(self) -> list[float]:
        """The same of all queues at once."""
        self._grow()
        now = self._paid(self.now)
        return self.book.shares_of(now if self.later is None else np.maximum(now, self._paid(self.later)))

    def _paid(self, used: Ints) -> Ints:
        """What is used in all rows; in those of queues, by those who pay."""
        free = self.book.rows_of_scavengers
        if not free:
            return used
        found = used.copy()
        found[[self.book.row(queue) for queue in free]] -= used[[*free.values()]]
        return found
