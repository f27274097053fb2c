"""Whose turn it is among queues: what a cycle gives away changes who borrows, and what the shares are.

In every queue the first of its groups waits for its turn; of queues side by side, the one whose first group
comes first. So two groups are compared where the branches of their queues part, as they would be if one had
to leave for the other: whoever goes first there would not have to leave again.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.tree import TOP
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.trial import Trial
from maitred.decide.agenda import QueueBranch, Turn
from maitred.decide.ask import AnyAsk, Ask
from maitred.decide.queues.admission import amounts_asked, shares_claims
from maitred.decide.queues.past_use import PastUse
from maitred.model.policy import Policy, order_rules

OUTSIDE = QueueBranch(-1, False, 0.0)
"""What is in no queue, beside the queues at the top."""


Key = tuple[Any, ...]
"""A turn as it compares with those of other queues at a level: as `Turn.at`, in parts that are made once."""


@dataclass(eq=False, slots=True)
class QueueAsk:
    """What is asked for on an account, as far as it matters for the order of queues: many who wait in one
    queue ask for the same."""

    account: int
    amounts: Sequence[Ints] = ()
    """What it would use on devices of each model."""
    version: int = -1
    """At which version of the queue at the top of the branch it was worked out how that stands."""
    branches: tuple[QueueBranch, ...] = ()


class Waiter:
    """Somebody whose turn is to come, as queues stand by now."""

    __slots__ = ("_after", "_between", "asked", "branches", "turn", "version")

    def __init__(self, turn: Turn, asked: QueueAsk) -> None:
        self.turn, self.asked = turn, asked
        self.version = -1
        """At which version of the queue at the top of its branch it is known how it stands: as long as that
        is the same, nothing here has changed."""
        self.branches: tuple[QueueBranch, ...] = ()
        self._between, self._after = turn.around_share

    def at(self, level: int) -> Key:
        _, borrows, share = self.branches[level]
        unpaid = self.turn.scavenges
        return unpaid, borrows and not unpaid, self._between, share, self._after

    @property
    def turn_now(self) -> Turn:
        return self.turn if self.turn.branches == self.branches else self.turn.standing(self.branches)


@dataclass(eq=False)
class WaitingQueue:
    """Whoever waits in a queue, or in those below it."""

    queue: int
    top: int
    """The queue at the top of its branch: what that uses changes with all that its turns go by."""
    turns: list[Turn] = field(default_factory=list)
    below: dict[int, "WaitingQueue"] = field(default_factory=dict)
    firsts: list[tuple[Key, int, int, int]] = field(default_factory=list)
    """The first turn of each queue below as it was looked at last, the number of the queue, its version, and
    at which version of its branch it was looked at."""
    changed: set[int] = field(default_factory=set)
    """Queues below that have another first turn by now."""
    version: int = 0
    first: "tuple[int, First] | None" = None
    """Who was found to be the first in it, and at which version of that queue; None if somebody has come or
    gone since then."""


First = tuple[list[WaitingQueue], Waiter | None]
"""Who comes first in a queue, and the queues below it that lead there."""


class QueueAgenda:
    """Hands out turns one by one; turns may be added while it runs."""

    def __init__(
        self, policy: Policy, ask_of: Callable[[Turn], Ask | None], past: PastUse | None = None
    ) -> None:
        """`ask_of` tells what somebody asks for in a turn; None for those that are in no queue."""
        self._branches = BranchTable(policy, ask_of, past)
        self._top = WaitingQueue(TOP, TOP)
        self._added: list[Turn] = []

    def add(self, turn: Turn) -> None:
        self._added.append(turn)

    def next(self, trial: Trial) -> Turn | None:
        """The first of those that are left, given what the trial has given away so far."""
        use = trial.queues
        assert use is not None, "without queues there is another agenda"
        for added in self._added:
            self._enter(added, use)
        self._added.clear()
        path, first = self._first(self._top, 0, use, use.version(TOP))
        if first is None:
            return None
        heapq.heappop(path[-1].turns)
        self._changed_on(path)
        return first.turn_now

    def _enter(self, turn: Turn, use: QueueUse) -> None:
        place, path, chain = self._top, list[WaitingQueue](), self._branches.enter(turn, use)
        for queue in chain:
            if queue not in place.below:
                place.below[queue] = WaitingQueue(queue, chain[0])
            place = place.below[queue]
            path.append(place)
        heapq.heappush(place.turns, turn)
        self._changed_on(path)

    def _changed_on(self, path: list[WaitingQueue]) -> None:
        above = self._top
        above.first = None
        for place in path:
            above.changed.add(place.queue)
            place.first = None
            above = place

    def _first(self, place: WaitingQueue, level: int, use: QueueUse, version: int) -> First:
        """`version` is that of the queue at the top of its branch."""
        if place.first is None or place.first[0] != version:
            place.first = version, self._found_first(place, level, use, version)
        return place.first[1]

    def _found_first(self, place: WaitingQueue, level: int, use: QueueUse, version: int) -> First:
        if place.turns:  # no other queue is below one that groups are in
            return [], self._branches.of(place.turns[0], use, version)
        for queue in place.changed:
            self._look_at(place, queue, level, use, version)
        place.changed.clear()
        while place.firsts:
            known, queue, looked, seen = place.firsts[0]
            below = place.below[queue]
            if looked != below.version:
                heapq.heappop(place.firsts)
                continue
            within = self._within(place, below, use, version)
            path, first = self._first(below, level + 1, use, within)
            assert first is not None, "a queue in which nobody waits is not looked at"
            if seen == within:
                return [below, *path], first
            now = first.at(level)
            if now <= known or len(place.firsts) == 1 or now <= min(place.firsts[1:3])[0]:
                return [below, *path], first
            heapq.heapreplace(place.firsts, (now, queue, looked, within))
        return [], None

    def _look_at(self, place: WaitingQueue, queue: int, level: int, use: QueueUse, version: int) -> None:
        below = place.below[queue]
        below.version += 1
        within, firsts = self._within(place, below, use, version), place.firsts
        _, first = self._first(below, level + 1, use, within)
        if first is None:
            return
        entry = (first.at(level), queue, below.version, within)
        if firsts and firsts[0][1] == queue:
            heapq.heapreplace(firsts, entry)  # what was known of it is no more true
        else:
            heapq.heappush(firsts, entry)

    def _within(self, place: WaitingQueue, below: WaitingQueue, use: QueueUse, version: int) -> int:
        """The version of the branch that leads from a queue to one below it."""
        return use.version(below.top) if place is self._top else version


class BranchTable:
    """How groups that wait stand in their queues by now."""

    def __init__(self, policy: Policy, ask_of: Callable[[Turn], Ask | None], past: PastUse | None) -> None:
        self._policy, self._ask_of, self._past = policy, ask_of, past
        self._waiters = dict[tuple[int, int], Waiter]()
        """By number and part."""
        self._shares = dict[int, tuple[int, float]]()
        """By queue, and at which version of it."""
        self._asked = dict[AnyAsk, QueueAsk]()

    def enter(self, turn: Turn, use: QueueUse) -> tuple[int, ...]:
        """Somebody, with what is asked for now. Returns the queue and those above, from the top down."""
        known = self._asked_for(use, self._ask_of(turn))
        self._waiters[turn.number, turn.part] = Waiter(turn, known)
        return _chain(known.account, use)

    def _asked_for(self, use: QueueUse, ask: Ask | None) -> QueueAsk:
        if ask is None or not ask.shapes:
            return asked(use, ask, self._policy)
        key = ask.unnamed()
        known = self._asked.get(key)
        if known is None:
            known = asked(use, ask, self._policy)
            if not shares_claims(use, ask):
                self._asked[key] = known
        return known

    def of(self, turn: Turn, use: QueueUse, version: int) -> Waiter:
        """`version` is that of the queue at the top of its branch."""
        waiter = self._waiters[turn.number, turn.part]
        if waiter.version != version:
            waiter.version = version
            waiter.branches = self._branches_of(use, waiter.asked, version)
        return waiter

    def _branches_of(self, use: QueueUse, asked: QueueAsk, version: int) -> tuple[QueueBranch, ...]:
        if asked.version != version:
            asked.version, asked.branches = version, branches_of(use, asked, self._share_of(use))
        return asked.branches

    def _share_of(self, use: QueueUse) -> Callable[[int], float]:
        if "fair-share" not in order_rules(self._policy.order):
            return no_share
        return partial(self._share, use)

    def _share(self, use: QueueUse, queue: int) -> float:
        if self._past is None and not self._shares:
            self._shares = {one: (use.version(one), share) for one, share in enumerate(use.shares())}
        version = use.version(queue)
        known = self._shares.get(queue)
        if known is None or known[0] != version:
            share = use.share(queue) if self._past is None else self._past.share(use, queue)
            known = self._shares[queue] = version, share
        return known[1]


def _chain(account: int, use: QueueUse) -> tuple[int, ...]:
    """Its queue and those above, from the top down."""
    if account == NO_ACCOUNT:
        return (OUTSIDE.queue,)
    return use.book.tree.chain[use.book.accounts[account].queue]


def no_share(queue: int) -> float:
    return 0.0


def asked(use: QueueUse, ask: Ask | None, policy: Policy) -> QueueAsk:
    """Of a group; None for somebody in no queue."""
    if ask is None or ask.account == NO_ACCOUNT:
        return QueueAsk(NO_ACCOUNT)
    return QueueAsk(ask.account, amounts_asked(use, ask, policy) if ask.shapes else ())


def branches_of(use: QueueUse, asked: QueueAsk, share_of: Callable[[int], float]) -> tuple[QueueBranch, ...]:
    """Its queue and those above, from the top down: on devices of the model with which they are least beyond
    their guarantees."""
    account = asked.account
    if account == NO_ACCOUNT:
        return (OUTSIDE,)
    chain = use.book.tree.chain[use.book.accounts[account].queue]
    borrows = min((use.borrows(account, more) for more in asked.amounts), default=(False,) * len(chain))
    return tuple([QueueBranch(queue, b, share_of(queue)) for queue, b in zip(chain, borrows, strict=True)])
