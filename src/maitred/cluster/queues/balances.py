"""What queues may still spend in this period and in the next ones, and what it costs to have devices.

A budget is in device-hours or in money. Whoever has devices pays for them by the hour; what somebody could
have until its end is committed from the start. What reaches beyond the end of a period is committed in the
next. Three periods tell for all that come later: of them one is at least as long as any later one, and what
is committed only gets less. Where prices differ by the hour, one period may cost more than another of the
same length: then so many tell that each weekday is among days, and each month among months.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueAccount
from maitred.cluster.queues.charges import DEVICE_HOURS, MONEY, Floats
from maitred.cluster.queues.tariff import PLAIN, Tariff
from maitred.cluster.queues.tree import QueueTree
from maitred.model.policy import Policy
from maitred.model.queues import QueueBudget

PERIODS, PRICED_PERIODS = 3, 13


def unit_of(budget: QueueBudget) -> int:
    return DEVICE_HOURS if budget.money is None else MONEY


@dataclass(frozen=True, eq=False)
class Balances:
    """One row for each queue with a budget."""

    now: int
    """In milliseconds since 1970."""
    queues: tuple[int, ...]
    bounds: Ints
    """When its period began, when this one ends, and when the next ones end."""
    amounts: Floats
    units: Ints
    spent: Floats
    """In this period."""
    committed: Floats
    """By what runs, from now on, in each period."""
    idle: Floats
    """What of that was spent for places that stand idle still. It keeps nobody from taking them."""
    tariff: Tariff = PLAIN
    """What the hours cost, for budgets in money."""

    @property
    def periods(self) -> int:
        return int(self.bounds.shape[1]) - 1

    def rows_of(self, chain: Sequence[int]) -> Ints:
        """The budgets that pay for what a queue has, given with those above it."""
        places = {queue: row for row, queue in enumerate(self.queues)}
        return np.array([places[queue] for queue in chain if queue in places], dtype=np.int64)

    def hours(self, rows: Ints, account: QueueAccount) -> Floats:
        """How much of the time, from now on, that groups on an account could have devices is in each of the
        periods, as hours at the plain price."""
        until = self.now + account.span
        if account.deadline is not None and account.deadline > self.now:
            until = min(until, account.deadline)
        starts, ends = np.maximum(self.bounds[rows, :-1], self.now), self.bounds[rows, 1:]
        return self.tariff.hours(starts, np.minimum(ends, until), (self.units[rows] == MONEY)[:, None])


def periods_of(policy: Policy) -> int:
    return PRICED_PERIODS if policy.prices.hours else PERIODS


def budgets_of(tree: QueueTree) -> Mapping[int, QueueBudget]:
    return {place: queue.budget for place, queue in enumerate(tree.queues) if queue.budget is not None}
