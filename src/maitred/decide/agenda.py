"""The agenda: whose turn it is, and by which rule. Nothing else says which group goes before which.

The fields of a `Turn` are the rules, in the order in which they are looked at. The first field in which two
turns differ decides, and `rule_between` names its rule. Answers, remedies, forecasts and simulations compare
turns; they do not sort groups themselves.

Where there are queues, groups that are entitled come before those that borrow. Priority comes next, high to
low, unless the policy's order is first come, first served. Within one priority come quorums, and late members
of groups whose quorum runs already; then the surplus of groups that were seated in this cycle. Of each of
these, groups go by the share that their queue has, if there are queues, then by the measure of the policy's
order if it has one, then by age. Promised places are held against equals too, so within one priority they are
held first, and the groups that they were promised to come next. A cycle with a budget may not get to all
groups. Those that it does not get to come first among their equals in a later cycle.

To add a rule, give it a name in `Rule`, a field in `Turn` at its place and words in `explain/why/rules.py`. A
rule that goes by what the cycle has given away so far is part of what renews a turn (`queues/turns.py`).
"""

import heapq
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from maitred.cluster.trial import Trial
from maitred.model.policy import Order, Rule

RULES: tuple[Rule, ...] = get_args(Rule)

HEALED, MOVING, HELD, PROMISED, QUORUM, SURPLUS = -4, -3, -2, -1, 0, 1
NOT_CUT_OFF = sys.maxsize
"""The place in the rotation of those that earlier cycles got to: last, and all alike."""


class Turn(NamedTuple):
    """Turns compare in the order in which they come."""

    borrows: tuple[bool, ...]
    """Of its queue and those above, from the top down: whether with the group it is beyond its guarantee.
    Empty where there are no queues."""
    rank: int
    claims: bool
    """Whether it asks for seats; places that were promised are held first."""
    place: int
    """In the rotation: who was cut off in an earlier cycle comes before others of the same priority."""
    part: int
    shares: tuple[float, ...]
    """What its queue and those above have, from the top down, of all there is and by their weights."""
    measure: float
    created: float
    key: str
    number: int
    """Of several groups that have one name."""

    @property
    def level(self) -> "OrderLevel":
        """Turns of one level come one after the other."""
        return self.borrows, self.rank

    @property
    def priority(self) -> int:
        """As far as the order goes by it: 0 for all where it does not."""
        return -self.rank

    @property
    def promised(self) -> bool:
        """Whether places are held for it."""
        return self.part < QUORUM

    @property
    def held(self) -> "Turn":
        """When the places that the group was promised are held for it."""
        return self._replace(claims=False, part=HELD)

    @property
    def healed(self) -> "Turn":
        """The same of a group that hardware has failed under: before what was only promised."""
        return self._replace(claims=False, part=HEALED)

    @property
    def surplus(self) -> "Turn":
        """When the members above the quorum have their turn."""
        return self._replace(place=NOT_CUT_OFF, part=SURPLUS)

    @property
    def again(self) -> "Turn":
        """When it is tried once more, after everybody else."""
        return self._replace(part=QUORUM)

    def anew(self, created: float) -> "Turn":
        """Of the same group when it has lost its seats and is created again."""
        return self._replace(part=QUORUM, created=created)

    @property
    def strength(self) -> tuple[int, float]:
        """What decides whether a group may take another's place. A greater age gives no right to that."""
        return self.rank, self.measure

    def by(self, rule: Rule) -> tuple[object, ...]:
        """What one rule compares."""
        values: tuple[Any, ...] = self
        return tuple(value for one, value in zip(RULE_OF_FIELD, values, strict=True) if one == rule)


OrderLevel = tuple[tuple[bool, ...], int]
"""Whether a group borrows, and its priority as far as the order goes by it."""
RULE_OF_FIELD: tuple[Rule, ...] = (
    "entitled",
    "priority",
    "promised",
    "rotation",
    "promised",
    "fair-share",
    "measure",
    "age",
    "name",
    "name",
)


def goes_by_priority(order: Order) -> bool:
    return order != "fifo"


@lru_cache(1024)
def rank(priority: int, order: Order) -> int:
    """What turns are compared by first."""
    return -priority if goes_by_priority(order) else 0


def first_turn(
    order: Order,
    priority: int,
    created: float,
    key: str,
    *,
    promised: bool = False,
    measure: float = math.inf,
    place: int = NOT_CUT_OFF,
    number: int = 0,
) -> Turn:
    """When the quorum of a group has its turn, or the late members of a group whose quorum runs."""
    part = PROMISED if promised else QUORUM
    return Turn((), rank(priority, order), True, place, part, (), measure, created, key, number)


def moving_turn(order: Order, priority: int, key: str, number: int) -> Turn:
    """When pods that must leave their node get other places: they have some already, which is the best of
    reasons to have one."""
    return Turn((), rank(priority, order), False, NOT_CUT_OFF, MOVING, (), math.inf, 0.0, key, number)


def rule_between(one: Turn, other: Turn) -> Rule:
    """The rule that decides which of the two comes first."""
    fields = zip(RULE_OF_FIELD, one, other, strict=True)
    return next((rule for rule, mine, theirs in fields if mine != theirs), "name")


class Agenda:
    """Hands out turns one by one; turns may be added while it runs."""

    def __init__(self, renewed: Callable[[Turn, Trial], Turn] | None = None) -> None:
        """`renewed` makes a turn what it is by now, where that depends on what the cycle has given away: such
        a turn only ever comes later than it was."""
        self._turns: list[Turn] = []
        self._renewed = renewed

    def add(self, turn: Turn) -> None:
        heapq.heappush(self._turns, turn)

    def next(self, trial: Trial) -> Turn | None:
        """The first of those that are left, given what the trial has given away so far."""
        while self._turns:
            turn = heapq.heappop(self._turns)
            if self._renewed is None:
                return turn
            now = self._renewed(turn, trial)
            if not self._turns or now <= max(turn, self._turns[0]):
                return now
            heapq.heappush(self._turns, now)
        return None
