"""Whether the budgets of its queue, and of the queues above, can pay for a group until its end."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.queues.charges import MONEY, UNITS, Floats
from maitred.cluster.queues.use import QueueUse
from maitred.decide.ask import Ask, Assignment

TOLERANCE = 1e-6
"""What sums of fractions may be off by."""


@dataclass(frozen=True, slots=True)
class Overspend:
    """A budget that would be exceeded."""

    queue: int
    period: int
    """0: in this period; else in one of the next, into which the group would run."""
    row: int
    """Among all budgets."""
    spent: float
    committed: float
    """Until the end of the period, by those that run."""
    asked: float
    rate: float
    """What an hour of the group costs, at the plain price."""

    @property
    def used(self) -> float:
        return self.spent + self.committed


def is_paid_for(use: QueueUse, account: int) -> bool:
    """Whether any budget pays for groups on this account."""
    return use.balances is not None and account != NO_ACCOUNT and bool(use.book.accounts[account].span)


def pays_by_price(use: QueueUse, account: int) -> bool:
    """Whether it makes a difference to a budget on devices of which model a group is."""
    if use.balances is None or not is_paid_for(use, account):
        return False
    rows = use.balances.rows_of(use.book.tree.chain[use.book.accounts[account].queue])
    return bool((use.balances.units[rows] == MONEY).any())


def first_overspend(use: QueueUse, account: int, rates: Floats, promised: bool = False) -> Overspend | None:
    """The first budget that cannot pay for what costs so much by the hour, in each unit: that of its own
    queue, or one above. What places cost that were promised is nothing that keeps anybody from taking them:
    who had to leave for them would have left in vain."""
    return next(overspends(use, account, rates, promised), None)


def runs_unpaid(use: QueueUse, account: int, rates: Floats) -> bool:
    """Whether what costs so much by the hour runs without paying: every budget that cannot pay for it says
    so, and there is one."""
    short = {one.queue for one in overspends(use, account, rates)}
    budgets = [use.book.tree.queues[queue].budget for queue in short]
    return bool(budgets) and all(one is not None and one.on_spent == "scavenge" for one in budgets)


def overspends(use: QueueUse, account: int, rates: Floats, promised: bool = False) -> Iterator[Overspend]:
    """Of all these budgets, and of every period into which it would run."""
    balances = use.balances
    if balances is None or not is_paid_for(use, account) or not rates.any():
        return
    rows, costs = use.costs(account, rates)
    committed = balances.committed[rows] + use.committed[rows]
    spent = np.zeros_like(committed)
    spent[:, 0] = balances.spent[rows] - (balances.idle[rows] if promised else 0.0)
    left = balances.amounts[rows][:, None] - spent - committed
    for place in range(len(rows) - 1, -1, -1):
        for period in np.flatnonzero((costs[place] > 0) & (costs[place] > left[place] + TOLERANCE)).tolist():
            row = int(rows[place])
            yield Overspend(
                queue=balances.queues[row],
                period=period,
                row=row,
                spent=float(spent[place, period]),
                committed=float(committed[place, period]),
                asked=float(costs[place, period]),
                rate=float(rates[balances.units[row]]),
            )


def least_rates(use: QueueUse, ask: Ask, model: int | None, count: int) -> Floats:
    """What an hour of so many members costs at least in each unit; where they may be on any model, on the
    cheapest."""
    if not is_paid_for(use, ask.account):
        return np.zeros(UNITS)
    of_shapes = {shape: use.rates_of(shape) for shape in ask.distinct}
    rates = np.array([of_shapes[shape] for shape in ask.shapes])
    chosen = rates.min(axis=2) if model is None else rates[:, :, model]
    found: Floats = np.sort(chosen, axis=0)[:count].sum(axis=0)
    for claim, of_claim in _unpaid_claims(use, ask).items():
        without = sum(1 for shape in ask.shapes if claim not in dict(use.shared_rates_of(shape)))
        if count > without:
            found = found + (of_claim.min(axis=1) if model is None else of_claim[:, model])
    return found


def rates_of_seats(use: QueueUse, ask: Ask, found: Assignment) -> Floats:
    """The same of each of these members on these nodes."""
    rates = np.zeros((len(found), UNITS))
    if is_paid_for(use, ask.account):
        models = use.models[[row for _, row in found]]
        for place, (member, _) in enumerate(found):
            rates[place] = use.rates_of(ask.shapes[member])[:, models[place]]
        for claim, of_claim in _unpaid_claims(use, ask).items():
            of_members = (dict(use.shared_rates_of(ask.shapes[member])) for member, _ in found)
            users = (place for place, claims in enumerate(of_members) if claim in claims)
            if (first := next(users, None)) is not None:
                rates[first] += of_claim[:, models[first]]
    return rates


def _unpaid_claims(use: QueueUse, ask: Ask) -> dict[str, Floats]:
    """Claims that its members share and that nobody pays for yet: each is paid once, for all of them."""
    shared = {claim: rates for shape in ask.distinct for claim, rates in use.shared_rates_of(shape)}
    return {claim: rates for claim, rates in shared.items() if not use.is_paid(claim)}


def longest_span(use: QueueUse, excess: Overspend) -> int:
    """How long the group could run for what is left in this period, in milliseconds; 0 if not at all, and if
    it is a later period that cannot pay."""
    balances = use.balances
    assert balances is not None, "only where there are budgets"
    left = float(balances.amounts[excess.row]) - excess.used
    if excess.period or left <= 0:
        return 0
    is_money = bool(balances.units[excess.row] == MONEY)
    return balances.tariff.end(balances.now, left / excess.rate, is_money) - balances.now
