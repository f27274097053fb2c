"""Whose turn it is among queues: what a cycle gives away changes who borrows, and what the shares are."""

from collections.abc import Callable

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn
from maitred.decide.ask import Ask
from maitred.decide.queues.admission import amounts_asked
from maitred.model.policy import Policy


class QueueTurns:
    """Makes turns what they are by now. What queues use only grows in a cycle, but for places that a group
    lets go to take them, so no turn comes sooner than it was."""

    def __init__(self, policy: Policy, ask_of: Callable[[Turn], Ask | None]) -> None:
        """`ask_of` tells what somebody asks for in a turn; None for those that are in no queue."""
        self._policy, self._ask_of = policy, ask_of
        self._asked = dict[tuple[int, int], tuple[int, list[Ints]]]()
        """By number and part: the account, and what would be used on devices of each model."""
        self._renewed = dict[tuple[int, int], int]()
        """When each was renewed, by the changes of what is used."""

    def __call__(self, turn: Turn, trial: Trial) -> Turn:
        use, place = trial.queues, (turn.number, turn.part)
        assert use is not None, "without queues no turn changes"
        if self._renewed.get(place) == use.changes:
            return turn
        self._renewed[place] = use.changes
        if place not in self._asked:
            self._asked[place] = _asked(use, self._ask_of(turn), self._policy)
        account, amounts = self._asked[place]
        shares = use.shares(account)
        more = (0.0,) * (use.book.tree.depth - len(shares))
        return turn._replace(borrows=_least(use, account, amounts), shares=(*shares, *more))


def beyond_guarantees(use: QueueUse, ask: Ask, policy: Policy) -> tuple[bool, ...]:
    """Whether the queue of a group, and those above it, would be beyond their guarantees with it: on devices
    of the model with which they would least be."""
    return _least(use, *_asked(use, ask, policy))


def _asked(use: QueueUse, ask: Ask | None, policy: Policy) -> tuple[int, list[Ints]]:
    if ask is None or ask.account == NO_ACCOUNT or not ask.shapes:
        return NO_ACCOUNT, []
    return ask.account, amounts_asked(use, ask, policy)


def _least(use: QueueUse, account: int, amounts: list[Ints]) -> tuple[bool, ...]:
    """As long for all queues, so that they compare: what is in no queue, and what lies deeper than a queue,
    is within every guarantee."""
    depth = use.book.tree.depth
    found = min((use.borrows(account, more) for more in amounts), default=())
    return (*found, *[False] * (depth - len(found)))
