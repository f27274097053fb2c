"""What queues have spent of their budgets: kept in one object of maitred's own namespace, where no tenant can
write.

It is a ConfigMap with the label `maitred.dev/record: budgets`. A decision reads it like any other object, and
its Plan has what is to be remembered from now on. Who has devices pays from its own bind, which the cluster
knows; so only what has ended must be remembered, and what those that ran then would have cost if they had
ended.
"""

from typing import Annotated

import msgspec

from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp

BUDGETS = "maitred-budgets"
SETTLED_EVERY = 60_000
"""In milliseconds: so often it is looked at what queues spend. A crash forgets no more."""
LARGEST = 1e18
UNREAD = "what is remembered of budgets (maitred-budgets) cannot be read, so it is ignored: {}"

Amount = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]


class QueueSpending(Lean, frozen=True, omit_defaults=False):
    """In device-hours or in money, as the budget of the queue is."""

    queue: Name
    unit: Name
    """If the budget has another one by now, this counts for nothing."""
    begun: Timestamp
    """When the period began in which so much was spent,"""
    spent: Amount = 0.0
    """by all that ran in it, up to when this was written down."""
    rate: Amount = 0.0
    """What an hour of all that ran then costs, at the plain price,"""
    committed: Amount = 0.0
    """and what it could still cost from then on, up to its ends."""
    kept: Amount = 0.0
    """What an hour of all that stood idle for its groups then cost, at the plain price,"""
    idle: Amount = 0.0
    """and what of `spent` that had cost, for as long as anything has stood idle for them."""


class Scavenger(Lean, frozen=True, omit_defaults=False):
    """A group that runs without paying, because a budget was spent when it started."""

    group: Name
    """As it is decided."""
    pods: tuple[Name, ...]
    """The UIDs of its pods; where there is none, as in a manifest, their `namespace/name`."""


class SpendingMemory(Lean, frozen=True, omit_defaults=False):
    at: Timestamp | None = None
    """When it was written down; None if it never was."""
    queues: tuple[QueueSpending, ...] = ()
    scavengers: tuple[Scavenger, ...] = ()
    """Whoever runs and is not among these pays."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NO_SPENDING = SpendingMemory()


def spending_of(kept: MemoryObject | None) -> tuple[SpendingMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, SpendingMemory, NO_SPENDING, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: SpendingMemory) -> str:
    repeated = len({one.queue for one in found.queues}) < len(found.queues)
    return "it has no time, or a queue twice" if found.at is None or repeated else ""
