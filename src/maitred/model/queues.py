"""Queues: who may use what, who may borrow it, and who gets it back.

Queues form a tree. Groups name a queue that has no others below it; what they use counts for it and for all
queues above it. The rules of how that decides are in `docs/design/queues.md`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from maitred.model.meta import Lean
from maitred.model.periods import Period
from maitred.model.pod import Quantity
from maitred.model.selector import LabelSelector
from maitred.model.setting import NO_LIMIT, Setting

QUEUE, USER = "maitred.dev/queue", "maitred.dev/user"
DEVICE_MODELS, ANY_MODEL, SAME_MODEL = "maitred.dev/device-models", "any", "same"
"""Whether the members of a gang may be on devices of different models: `any`; else all have the same."""
DEFAULT_QUEUE = "default"
"""The queue of groups that name none. Unless it is written it has no guarantee, no cap and weight 1."""
EVERY_MODEL = "*"


class QueueLimit(Setting, frozen=True):
    """What a queue may use of one resource, on devices of one model or on all."""

    resource: str
    model: str = EVERY_MODEL
    """A pattern for models of devices, as in `prices.devices`."""
    guarantee: Quantity | None = None
    """Nobody else keeps this from the queue. None: nothing."""
    cap: Quantity | None = None
    """The queue never has more. None: as much as there is."""
    per_user: Quantity | None = None
    """No user of the queue has more."""


class PriorityRange(Setting, frozen=True):
    least: int | None = None
    most: int | None = None


class QueueBudget(Setting, frozen=True):
    """What the groups of a queue may spend in a period: device-hours or money, one of the two."""

    device_hours: float | None = None
    money: float | None = None
    """By `prices`, in their currency."""
    period: Period = "month"
    """Of the calendar, in UTC."""
    warn_at: tuple[float, ...] = (0.8,)
    """Shares of it: once so much is spent or committed, Plans warn."""
    on_spent: Literal["wait", "scavenge"] = "wait"
    """What becomes of groups that it cannot pay for: they wait, or they run while nobody who pays wants what
    they have."""

    @property
    def amount(self) -> float:
        return (self.device_hours if self.money is None else self.money) or 0.0


class QueueRuntime(Setting, frozen=True):
    """What a queue says of how long its groups may run. Durations, or `none`."""

    default: str = NO_LIMIT
    """The limit of groups that ask for none."""
    most: str = NO_LIMIT
    """Groups that ask for more may not be in the queue."""
    enforce: bool = False
    """Whether limits end groups, by the deadlines of their Jobs; otherwise they are estimates."""
    enforce_pods: bool = False
    """Whether they also end pods that nobody controls, by deadlines of their own."""


class Queue(Setting, frozen=True):
    name: str
    parent: str = ""
    weight: Annotated[float, msgspec.Meta(gt=0, le=1_000_000)] = 1.0
    """Its part of what is shared, beside queues of the same parent."""
    limits: tuple[QueueLimit, ...] = ()
    namespaces: LabelSelector | None = None
    """Whose groups may use it; None: everybody's."""
    priorities: PriorityRange = PriorityRange()
    """The priorities that its groups may have."""
    borrow: Literal["always", "never"] = "always"
    """Whether it may use what others leave idle of their guarantees, or nobody was guaranteed."""
    lend: Literal["always", "never"] = "always"
    """Whether others may use what it leaves idle of its guarantee."""
    min_runtime: str = "0s"
    """How long a group that has borrowed runs before others may reclaim what it has."""
    budget: QueueBudget | None = None
    """What it may spend, with all queues below it; None: as much as it can."""
    runtime: QueueRuntime = QueueRuntime()


class Payer(Lean, frozen=True):
    """On whose account pods run: the queue that they name, and the user who made them."""

    namespace: str
    queue: str = ""
    """Empty: they name none, so it is what their namespace says, or else `default`."""
    user: str = ""
    problem: str = ""
    """Two places that name different queues."""


def named_queue(payer: Payer, namespaces: Mapping[str, Mapping[str, str]]) -> str:
    """The queue that pods are in, whether or not there is such a queue."""
    return payer.queue or namespaces.get(payer.namespace, {}).get(QUEUE, "") or DEFAULT_QUEUE
