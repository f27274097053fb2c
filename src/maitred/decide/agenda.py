"""The agenda: whose turn it is, and by which rule. Nothing else says which group goes before which.

The fields of a `Turn` are the rules, in the order in which they are looked at. The first field in which two
turns differ decides, and `rule_between` names its rule. Answers, remedies, forecasts and simulations compare
turns; they do not sort groups themselves.

Those who run without paying, because a budget is spent, come after all others. Where there are queues, two
groups are compared in the queues in which their branches part: those that are entitled there come before
those that borrow. Priority comes next, in one queue it comes first: high to low,
unless the policy's order leaves it out. Within one priority come quorums, and late members of groups whose
quorum runs already; then the surplus of groups that were seated in this cycle. Of each of these, those go
first that somebody has lifted past the turn of their queue; then those that have waited for longer than the
policy lets shares hold them up; then groups of several queues go
by the share that these have, then by their deadlines if the policy's order lists these (`deadlines.py`), then
by the measure of the policy's order if it has one, then by age. The policy may put age before the share, or
leave the share out. Promised places are held against equals too, so within
one priority they are held first, and the groups that they were promised to come next. A cycle with a budget
may not get to all groups. Those that it does not get to come first among their equals in a later cycle.

To add a rule, give it a name in `Rule`, a field in `Turn` at its place and words in `explain/why/rules.py`. A
rule that goes by what the cycle has given away so far is part of a `QueueBranch` (`queues/turns.py`).
"""

import heapq
import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from maitred.cluster.trial import Trial
from maitred.model.duration import milliseconds
from maitred.model.policy import AnyOrder, Policy, Rule, order_rules

RULES: tuple[Rule, ...] = get_args(Rule)

HEALED, MOVING, HELD, PROMISED, QUORUM, SURPLUS = -4, -3, -2, -1, 0, 1
NOT_CUT_OFF = sys.maxsize
"""The place in the rotation of those that earlier cycles got to: last, and all alike."""


class QueueBranch(NamedTuple):
    """How a group stands in one queue of those that it counts for."""

    queue: int
    borrows: bool
    """Whether with the group the queue is beyond its guarantee."""
    share: float
    """What the queue has of all there is, by its weight."""


class Turn(NamedTuple):
    """Turns compare in the order in which they come: those of one queue, or all of them if there are none."""

    scavenges: bool
    """Whether it asks for places that nobody who pays asks for."""
    borrows: bool
    rank: int
    claims: bool
    """Whether it asks for seats; places that were promised are held first."""
    place: int
    """In the rotation: who was cut off in an earlier cycle comes before others of the same priority."""
    part: int
    in_line: bool
    """Whether it waits for the turn of its queue: no override lifts it past that."""
    waited: float
    """Since when it waits, if that is so long that the share does not count; else infinity."""
    elder: float
    """When it was created, where age comes before the share; else 0 for all."""
    share: float
    deadline: float
    """Until when it must be done, where the order goes by that and it can be; else infinity."""
    measure: float
    created: float
    key: str
    number: int
    """Of several groups that have one name."""
    branches: tuple[QueueBranch, ...] = ()
    """Its queue and those above, from the top down. What `borrows` and `share` say is true of one of them."""

    def at(self, level: int) -> "Turn":
        """As it compares with turns of other queues, where the branches part at this level."""
        _, borrows, share = self.branches[level]
        borrows = borrows and not self.scavenges
        return Turn._make(
            (*self[:_BORROWS], borrows, *self[_BORROWS + 1 : _SHARE], share, *self[_SHARE + 1 :])
        )

    @property
    def around_share(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What is compared after `borrows` and before the share, and after the share."""
        values: tuple[Any, ...] = self
        return values[_BORROWS + 1 : _SHARE], values[_SHARE + 1 : -1]

    def standing(self, branches: tuple[QueueBranch, ...]) -> "Turn":
        """The same, as its queues stand by now."""
        return Turn._make((*self[:-1], branches))

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
    def unpaid(self) -> "Turn":
        """When it is tried once more, after all who pay."""
        return self._replace(scavenges=True, place=NOT_CUT_OFF)

    @property
    def again(self) -> "Turn":
        """When it is tried once more, after everybody else."""
        return self._replace(part=QUORUM)

    def anew(self, created: float) -> "Turn":
        """Of the same group when it has lost its seats and is created again."""
        return self._replace(part=QUORUM, elder=created if self.elder else 0.0, created=created)

    @property
    def strength(self) -> tuple[int, float]:
        """What decides whether a group may take another's place. A greater age gives no right to that."""
        return self.rank, self.measure

    def by(self, rule: Rule) -> tuple[object, ...]:
        """What one rule compares."""
        values: tuple[Any, ...] = self
        return tuple(value for one, value in zip(RULE_OF_FIELD, values, strict=True) if one == rule)


_BORROWS, _SHARE = Turn._fields.index("borrows"), Turn._fields.index("share")

RULE_OF_FIELD: tuple[Rule, ...] = (
    "paying",
    "entitled",
    "priority",
    "promised",
    "rotation",
    "promised",
    "override",
    "waited",
    "age",
    "fair-share",
    "deadline",
    "measure",
    "age",
    "name",
    "name",
    "name",
)


def goes_by_priority(order: AnyOrder) -> bool:
    return "priority" in order_rules(order)


def age_first(order: AnyOrder) -> bool:
    """Whether age comes before the share of a queue."""
    rules = order_rules(order)
    return "fair-share" in rules and rules.index("age") < rules.index("fair-share")


@lru_cache(1024)
def rank(priority: int, order: AnyOrder) -> int:
    """What turns are compared by first."""
    return -priority if goes_by_priority(order) else 0


def first_turn(
    order: AnyOrder,
    priority: int,
    created: float,
    key: str,
    *,
    promised: bool = False,
    lifted: bool = False,
    waited: float = math.inf,
    deadline: float = math.inf,
    measure: float = math.inf,
    place: int = NOT_CUT_OFF,
    number: int = 0,
    scavenges: bool = False,
) -> Turn:
    """When the quorum of a group has its turn, or the late members of a group whose quorum runs."""
    part = PROMISED if promised else QUORUM
    elder = created if age_first(order) else 0.0
    first = rank(priority, order)
    return Turn(
        scavenges=scavenges,
        borrows=False,
        rank=first,
        claims=True,
        place=place,
        part=part,
        in_line=not lifted,
        waited=waited,
        elder=elder,
        share=0.0,
        deadline=deadline,
        measure=measure,
        created=created,
        key=key,
        number=number,
    )


def moving_turn(order: AnyOrder, priority: int, key: str, number: int, scavenges: bool = False) -> Turn:
    """When pods that must leave their node get other places: they have some already, which is the best of
    reasons to have one."""
    turn = first_turn(order, priority, 0.0, key, number=number, scavenges=scavenges)
    return turn._replace(claims=False, part=MOVING)


def rules_of(policy: Policy) -> list[Rule]:
    """The rules that can decide under a policy, in the order in which they are looked at."""
    listed = order_rules(policy.order)
    out: list[Rule] = [] if goes_by_priority(policy.order) else ["priority"]
    if not policy.queues:
        out += ["entitled", "override"]
    if not any(queue.budget is not None and queue.budget.on_spent == "scavenge" for queue in policy.queues):
        out.append("paying")
    if not policy.queues or "fair-share" not in listed:
        out.append("fair-share")
    if "deadline" not in listed:
        out.append("deadline")
    if milliseconds(policy.fair_share.longest_wait) is None:
        out.append("waited")
    found = [rule for rule in RULES if rule not in out]
    if age_first(policy.order) and "fair-share" in found:
        found.remove("age")
        found.insert(found.index("fair-share"), "age")
    return found


def rule_between(one: Turn, other: Turn) -> Rule:
    """The rule that decides which of the two comes first."""
    fields = zip(RULE_OF_FIELD, *as_compared(one, other), strict=True)
    return next((rule for rule, mine, theirs in fields if mine != theirs), "name")


def goes_before(one: Turn, other: Turn) -> bool:
    mine, theirs = as_compared(one, other)
    return mine < theirs


def as_compared(one: Turn, other: Turn) -> tuple[Turn, Turn]:
    """Two turns, with what counts where their branches part."""
    level = parting(one.branches, other.branches)
    return (one, other) if level is None else (one.at(level), other.at(level))


def parting(one: Sequence[QueueBranch], other: Sequence[QueueBranch]) -> int | None:
    """The level at which two branches part; None for one queue, and for those that are in none."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((level for level, (mine, theirs) in pairs if mine.queue != theirs.queue), None)


class Agenda:
    """Hands out turns one by one; turns may be added while it runs."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def add(self, turn: Turn) -> None:
        heapq.heappush(self._turns, turn)

    def next(self, trial: Trial) -> Turn | None:
        """The first of those that are left, given what the trial has given away so far. Without queues that
        changes no turn."""
        return heapq.heappop(self._turns) if self._turns else None
