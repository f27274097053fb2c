"""Whose turn it is among queues: what a cycle gives away changes who borrows, and what the shares are.

In every queue the first of its groups waits for its turn; of queues side by side, the one whose first group
comes first. So two groups are compared where the branches of their queues part, as they would be if one had
to leave for the other: whoever goes first there would not have to leave again.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.trial import Trial
from maitred.decide.agenda import QueueBranch, Turn
from maitred.decide.ask import Ask
from maitred.decide.queues.admission import amounts_asked
from maitred.model.policy import Policy, order_rules

OUTSIDE = QueueBranch(-1, False, 0.0)
"""What is in no queue, beside the queues at the top."""


@dataclass(eq=False)
class WaitingQueue:
    """Whoever waits in a queue, or in those below it."""

    turns: list[Turn] = field(default_factory=list)
    below: dict[int, "WaitingQueue"] = field(default_factory=dict)
    firsts: list[tuple[Turn, int, int]] = field(default_factory=list)
    """The first turn of each queue below as it was looked at last, the number of the queue, its version."""
    changed: set[int] = field(default_factory=set)
    """Queues below that have another first turn by now."""
    version: int = 0


class QueueAgenda:
    """Hands out turns one by one; turns may be added while it runs."""

    def __init__(self, policy: Policy, ask_of: Callable[[Turn], Ask | None]) -> None:
        """`ask_of` tells what somebody asks for in a turn; None for those that are in no queue."""
        self._branches = BranchTable(policy, ask_of)
        self._top = WaitingQueue()
        self._added: list[Turn] = []

    def add(self, turn: Turn) -> None:
        self._added.append(turn)

    def next(self, trial: Trial) -> Turn | None:
        """The first of those that are left, given what the trial has given away so far."""
        for added in self._added:
            self._enter(added, trial)
        self._added.clear()
        path, turn = self._first(self._top, 0, trial)
        if turn is not None:
            heapq.heappop(path[-1][1].turns)
            self._changed_on(path)
        return turn

    def _enter(self, turn: Turn, trial: Trial) -> None:
        place, path = self._top, list[tuple[int, WaitingQueue]]()
        for branch in self._branches.of(turn, trial).branches:
            place = place.below.setdefault(branch.queue, WaitingQueue())
            path.append((branch.queue, place))
        heapq.heappush(place.turns, turn)
        self._changed_on(path)

    def _changed_on(self, path: list[tuple[int, WaitingQueue]]) -> None:
        above = self._top
        for queue, place in path:
            above.changed.add(queue)
            above = place

    def _first(
        self, place: WaitingQueue, level: int, trial: Trial
    ) -> tuple[list[tuple[int, WaitingQueue]], Turn | None]:
        """The first turn in a queue, and the queues below it that lead there."""
        if place.turns:  # no other queue is below one that groups are in
            return [], self._branches.of(place.turns[0], trial)
        for queue in place.changed:
            self._look_at(place, queue, level, trial)
        place.changed.clear()
        while place.firsts:
            known, queue, version = place.firsts[0]
            if version != place.below[queue].version:
                heapq.heappop(place.firsts)
                continue
            path, turn = self._first(place.below[queue], level + 1, trial)
            assert turn is not None, "a queue in which nobody waits is not looked at"
            now = turn.at(level)
            if now <= known or len(place.firsts) == 1 or now <= min(place.firsts[1:3])[0]:
                return [(queue, place.below[queue]), *path], turn
            heapq.heapreplace(place.firsts, (now, queue, version))
        return [], None

    def _look_at(self, place: WaitingQueue, queue: int, level: int, trial: Trial) -> None:
        below = place.below[queue]
        below.version += 1
        _, turn = self._first(below, level + 1, trial)
        if turn is not None:
            heapq.heappush(place.firsts, (turn.at(level), queue, below.version))


class BranchTable:
    """How groups that wait stand in their queues by now."""

    def __init__(self, policy: Policy, ask_of: Callable[[Turn], Ask | None]) -> None:
        self._policy, self._ask_of = policy, ask_of
        self._asked = dict[tuple[int, int], tuple[int, list[Ints]]]()
        """By number and part: the account, and what would be used on devices of each model."""
        self._known = dict[tuple[int, int], tuple[int, tuple[QueueBranch, ...]]]()
        """The same as branches, and at how many changes of what is used they were looked at."""

    def of(self, turn: Turn, trial: Trial) -> Turn:
        use, place = trial.queues, (turn.number, turn.part)
        assert use is not None, "without queues there is another agenda"
        changes, branches = self._known.get(place, (-1, ()))
        if changes != use.changes:
            if place not in self._asked:
                self._asked[place] = asked(use, self._ask_of(turn), self._policy)
            branches = branches_of(use, *self._asked[place], self._policy)
            self._known[place] = (use.changes, branches)
        return turn._replace(branches=branches)


def asked(use: QueueUse, ask: Ask | None, policy: Policy) -> tuple[int, list[Ints]]:
    """The account of a group, and what it would use on devices of each model."""
    if ask is None or ask.account == NO_ACCOUNT or not ask.shapes:
        return NO_ACCOUNT if ask is None else ask.account, []
    return ask.account, amounts_asked(use, ask, policy)


def branches_of(use: QueueUse, account: int, amounts: list[Ints], policy: Policy) -> tuple[QueueBranch, ...]:
    """Its queue and those above, from the top down: on devices of the model with which they are least beyond
    their guarantees."""
    if account == NO_ACCOUNT:
        return (OUTSIDE,)
    chain = use.book.tree.chain[use.book.accounts[account].queue]
    borrows = min((use.borrows(account, more) for more in amounts), default=(False,) * len(chain))
    by_share = "fair-share" in order_rules(policy.order)
    shares = [use.share(queue) if by_share else 0.0 for queue in chain]
    return tuple([QueueBranch(*branch) for branch in zip(chain, borrows, shares, strict=True)])
