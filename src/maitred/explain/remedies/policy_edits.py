"""Single changes of queues in the policy, each of which lifts one thing that is in the way of a group."""

from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from maitred.cluster.queues.tree import Bounds
from maitred.decide.queues.words import named, shown
from maitred.model.plan import Detail
from maitred.model.quantity import text
from maitred.model.queues import Queue, QueueLimit
from maitred.model.words import rounded

LIMIT_WORDS = {"cap": "the cap", "perUser": "the limit per user", "guarantee": "the guarantee"}
FIELDS = {"cap": "cap", "perUser": "per_user", "guarantee": "guarantee"}


class PolicyEdit(Protocol):
    @property
    def queue(self) -> str: ...

    @property
    def verb(self) -> str:
        """`raise`, of `raise the cap of ...`."""

    @property
    def words(self) -> str:
        """The rest of it."""

    @property
    def detail(self) -> Detail: ...

    @property
    def share(self) -> float:
        """Of what there would be, the part that is new."""

    def applied(self, queue: Queue) -> Queue: ...


@dataclass(frozen=True, slots=True)
class RaisedLimit:
    queue: str
    kind: Literal["cap", "perUser", "guarantee"]
    bounds: Bounds
    before: int
    after: int
    verb: str = "raise"

    @property
    def share(self) -> float:
        return 1 - self.before / self.after

    @property
    def words(self) -> str:
        before, after = (shown(self.bounds.resource, size) for size in (self.before, self.after))
        return f"{LIMIT_WORDS[self.kind]} of queue {self.queue} from {before} to {after} {named(self.bounds)}"

    @property
    def detail(self) -> Detail:
        resource = self.bounds.resource
        return {
            "queue": self.queue,
            "limit": self.kind,
            "resource": resource,
            "model": self.bounds.model,
            "from": text(resource, self.before),
            "to": text(resource, self.after),
        }

    def applied(self, queue: Queue) -> Queue:
        size = {FIELDS[self.kind]: text(self.bounds.resource, self.after)}

        def raised(limit: QueueLimit) -> QueueLimit:
            return msgspec.structs.replace(limit, **size) if self.is_about(limit) else limit

        return msgspec.structs.replace(queue, limits=tuple(map(raised, queue.limits)))

    def is_about(self, limit: QueueLimit) -> bool:
        return (limit.resource, limit.model) == (self.bounds.resource, self.bounds.model)


@dataclass(frozen=True, slots=True)
class LiftedRefusal:
    """A queue that never borrows may borrow, or one that never lends lends."""

    queue: str
    field: Literal["borrow", "lend"]
    share: float
    verb: str = "let"

    @property
    def words(self) -> str:
        what = "borrow what others leave idle" if self.field == "borrow" else "lend what it leaves idle"
        return f"queue {self.queue} {what} ({self.field}: always)"

    @property
    def detail(self) -> Detail:
        return {"queue": self.queue, "limit": self.field, "from": "never", "to": "always"}

    def applied(self, queue: Queue) -> Queue:
        return msgspec.structs.replace(queue, **{self.field: "always"})


@dataclass(frozen=True, slots=True)
class RaisedBudget:
    queue: str
    unit: str
    """In words: `device-hours`, or the currency."""
    period: str
    before: float
    after: float
    until: str
    """When the period ends that needs more."""
    verb: str = "raise"

    @property
    def share(self) -> float:
        return 1 - self.before / self.after

    @property
    def words(self) -> str:
        sizes = f"from {rounded(self.before)} to {rounded(self.after)} {self.unit} a {self.period}"
        return f"the budget of queue {self.queue} {sizes}, at least until {self.until}"

    @property
    def detail(self) -> Detail:
        return {
            "queue": self.queue,
            "limit": "budget",
            "unit": self.unit,
            "period": self.period,
            "from": self.before,
            "to": self.after,
            "until": self.until,
        }

    def applied(self, queue: Queue) -> Queue:
        if queue.budget is None:
            return queue
        field = "device_hours" if queue.budget.money is None else "money"
        return msgspec.structs.replace(
            queue, budget=msgspec.structs.replace(queue.budget, **{field: self.after})
        )
