"""What queues have used: kept in one object of maitred's own namespace, where no tenant can write.

It is a ConfigMap with the label `maitred.dev/record: usage`. A decision reads it like any other object, and
its Plan has what is to be remembered from now on. For every queue it has an average in which what was used a
half-life ago counts for half, and what the queue had at that moment. What that comes to later follows from
the time that has passed and from what the queue has then, so it need not be written often.
"""

from typing import Annotated

import msgspec

from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp

USAGE = "maitred-usage"
SETTLED_EVERY = 300_000
"""In milliseconds: so often it is written down what queues have. A crash forgets no more."""
LARGEST = 2**63
UNREAD = "what is remembered of use (maitred-usage) cannot be read, so it is ignored: {}"

Used = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]


class QueueUsage(Lean, frozen=True, omit_defaults=False):
    queue: Name
    had: dict[Name, Used] = {}
    """Of each resource, in cores, bytes or devices: when it was written down,"""
    average: dict[Name, Used] = {}
    """and over the time before, where older use counts for less."""


class UsageMemory(Lean, frozen=True, omit_defaults=False):
    at: Timestamp | None = None
    """When it was written down; None if it never was."""
    queues: tuple[QueueUsage, ...] = ()

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NO_USAGE = UsageMemory()


def usage_of(kept: MemoryObject | None) -> tuple[UsageMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, UsageMemory, NO_USAGE, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: UsageMemory) -> str:
    repeated = len({one.queue for one in found.queues}) < len(found.queues)
    return "it has no time, or a queue twice" if found.at is None or repeated else ""
