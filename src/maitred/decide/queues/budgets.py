"""What queues have spent of their budgets, and what those that run could still spend.

Whoever has devices pays for them by the hour, from its bind, which the cluster knows; what has ended must
be remembered. It is written down what was spent, what an hour of all that ran cost then, and what they could
cost until their ends. Who of them has left since then follows from who is still there: they pay until now,
but for no more than was committed for them. So what nobody has seen end does not get cheaper by that, what is
written down twice is spent once, and what came and went since then is forgotten.

What stands idle for groups of a queue is paid by it, too. Nobody says since when it does, so it is written
down as soon as that changes: since then it has cost what it cost then. If nobody looked for long, it has cost
no more than places that were promised cost now. Room for members that are not there is found by the decision
itself, so what it costs is written down at the end of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

import msgspec
import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.balances import (
    Balances,
    budgets_of,
    periods_of,
    unit_of,
)
from maitred.cluster.queues.book import RENEWED_EVERY, QueueBook, in_queues
from maitred.cluster.queues.charges import MONEY, Floats
from maitred.cluster.queues.scavenging import identity
from maitred.cluster.queues.tariff import Tariff
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Occupant, Snapshot
from maitred.decide.idle_devices import IdleRoom
from maitred.decide.queues.idle import Payers
from maitred.model.memory import LONGEST
from maitred.model.meta import Timestamp
from maitred.model.periods import period_bounds
from maitred.model.policy import Policy
from maitred.model.queues import QueueBudget
from maitred.model.runtime import with_stay
from maitred.model.spending import (
    NO_SPENDING,
    SETTLED_EVERY,
    UNREAD,
    QueueSpending,
    Scavenger,
    SpendingMemory,
)
from maitred.model.times import at_second
from maitred.model.words import moment, rounded

DEVICE_HOURS = "device-hours"
LONGEST_LIST = LONGEST * 2 // 3
"""Of groups that do not pay, in characters."""
LEAST = 1e-6
"""What is less is nothing."""
NOBODY = -1
SEEN = 2 * SETTLED_EVERY
"""For so long what stood idle when it was written down has done so ever since."""
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class BudgetOutcome:
    balances: Balances | None = None
    memory: SpendingMemory | None = None
    """What is to be remembered from now on; None if that is what was."""
    known: SpendingMemory = NO_SPENDING
    """The same, whether or not it is due."""
    wake_at: int | None = None
    """In milliseconds since 1970."""
    warnings: tuple[str, ...] = ()


NO_BUDGETS = BudgetOutcome()


def entered(snapshot: Snapshot, policy: Policy, now: datetime, scheduler: str | None) -> Snapshot:
    """The same cluster with its book of queues and what they may still spend."""
    found = in_queues(snapshot, policy, scheduler)
    balances = settle(found, policy, now).balances
    return found if balances is found.balances else replace(found, balances=balances)


def settle(
    snapshot: Snapshot, policy: Policy, now: datetime, rooms: Iterable[IdleRoom] = ()
) -> BudgetOutcome:
    """`rooms`: what is kept from now on for members that are not there."""
    book = snapshot.book
    if book is None or not any(book.tree.has_budget):
        return NO_BUDGETS
    return _Settlement(book, snapshot, round(now.timestamp() * 1000), rooms).outcome(now)


def unit_words(budget: QueueBudget, policy: Policy) -> str:
    """`device-hours`, or the currency."""
    return policy.prices.currency if unit_of(budget) == MONEY else DEVICE_HOURS


@dataclass(frozen=True, eq=False)
class Running:
    """Pods and the budgets that pay for them: a pod as often as there are such, in the order of what counts,
    so that the same comes out in whatever order pods are known."""

    row: Ints
    since: Ints
    """From when they pay. Now, of those of whom nobody says when they were bound."""
    seen: Mask
    """Somebody does."""
    start: Ints
    """From when they run. Now, of those that have not started."""
    until: Ints
    """When they end by their limits."""
    rate: Floats
    """What an hour of them costs, at the plain price."""
    priced: Mask
    """They pay in money."""
    tariff: Tariff

    def end(self, at: int) -> Ints:
        """Until when they pay for what they have, as it was at some time: whoever is still there at its end
        pays for an hour more, and then for the next."""
        late = at - self.until
        return np.where(late < 0, self.until, self.until + (late // RENEWED_EVERY + 1) * RENEWED_EVERY)

    def ahead(self, at: int) -> Floats:
        """For how many hours they could still have it, as it was at some time. Who had not started was to run
        for as long as its limit says."""
        return self.tariff.hours(np.maximum(self.start, at), self.end(at), self.priced)

    def sums(self, amounts: Floats, rows: int) -> Floats:
        # Without any pods there would be whole numbers.
        return np.bincount(self.row, weights=amounts, minlength=rows).astype(np.float64)


class _Settlement:
    def __init__(self, book: QueueBook, snapshot: Snapshot, now: int, rooms: Iterable[IdleRoom]) -> None:
        self.book, self.now, self.policy = book, now, book.policy
        memory, self.unread = snapshot.spending, snapshot.unread_spending
        self.at = now if memory.at is None else round(memory.at.timestamp() * 1000)
        if self.at > now + SETTLED_EVERY:
            memory, self.at, self.unread = NO_SPENDING, now, UNREAD.format("it is from the future")
        self.memory = memory
        self.budgets = budgets_of(book.tree)
        self.queues = tuple(self.budgets)
        self.tariff = Tariff(self.policy.prices.hours, now)
        periods = periods_of(self.policy)
        self.bounds = np.array(
            [period_bounds(one.period, now, periods) for one in self.budgets.values()], dtype=np.int64
        )
        self.units = np.array([unit_of(one) for one in self.budgets.values()], dtype=np.int64)
        self.known = self._known(memory)
        self.running = self._running(snapshot)
        payers = Payers(book, self.queues, self.units)
        self.promised = payers.for_promised(snapshot)
        self.kept = self.promised + payers.for_rooms(snapshot, rooms)

    def _known(self, memory: SpendingMemory) -> list[QueueSpending | None]:
        """What is remembered of each queue, if it is in the unit in which it has its budget now."""
        by_name = {one.queue: one for one in memory.queues}
        found = list[QueueSpending | None]()
        for queue, budget in self.budgets.items():
            one = by_name.get(self.book.tree.queues[queue].name)
            found.append(one if one is not None and one.unit == unit_words(budget, self.policy) else None)
        return found

    # -- who runs --------------------------------------------------------------------------------------

    def _running(self, snapshot: Snapshot) -> Running:
        book, bound = self.book, snapshot.bound
        account = book.account_of_bound  # opens those that are missing
        above = self._budgets_above()[account]
        pods, levels = np.nonzero(above != NOBODY)
        row = above[pods, levels]
        models = book.model_of(snapshot.nodes)[bound.node[pods]]
        rate = book.charges.of_bound(pods, self.units[row], models)
        costs = (rate > 0) & ~book.unpaid[pods]
        pods, row, rate = pods[costs], row[costs], rate[costs]
        seen, since = self._times(bound.bound_at[pods])
        _, start = self._times(bound.started[pods])
        until = self._ends(snapshot, pods, start)
        order = np.lexsort((rate, seen, since, start, until, row))
        row = row[order]
        return Running(
            row=row,
            since=since[order],
            seen=seen[order],
            start=start[order],
            until=until[order],
            rate=rate[order],
            priced=self.units[row] == MONEY,
            tariff=self.tariff,
        )

    def _times(self, times: Ints) -> tuple[Mask, Ints]:
        """Which of these have come, and all of them: now, where not."""
        have_come = (times != UNKNOWN_TIME) & (times <= self.now)
        return have_come, np.where(have_come, times, self.now)

    def _budgets_above(self) -> Ints:
        """Of every account, the rows of the budgets that pay for what is on it."""
        tree, place = self.book.tree, {queue: row for row, queue in enumerate(self.queues)}
        found = np.full((len(self.book.accounts), tree.depth), NOBODY, dtype=np.int64)
        for number, account in enumerate(self.book.accounts):
            if number != NO_ACCOUNT:
                rows = [place.get(queue, NOBODY) for queue in tree.chain[account.queue]]
                found[number, : len(rows)] = rows
        return found

    def _ends(self, snapshot: Snapshot, pods: Ints, start: Ints) -> Ints:
        """When each of these pods ends by its limit, as its group or else it itself says."""
        book, bound = self.book, snapshot.bound
        queue = np.array([one.queue for one in book.accounts], dtype=np.int64)[book.account_of_bound[pods]]
        grouped = bound.group[pods] != NO_GROUP
        lone = np.where(grouped, 0, bound.standing[pods]), np.where(grouped, 0, bound.stay[pods])
        keys, places = np.unique(
            np.stack((queue, np.where(grouped, bound.group[pods], NO_GROUP), *lone)),
            axis=1,
            return_inverse=True,
        )
        spans = np.zeros(keys.shape[1], dtype=np.int64)
        deadlines = np.full(keys.shape[1], NEVER, dtype=np.int64)
        for place, (its_queue, group, standing, stay) in enumerate(keys.T.tolist()):
            seated = None if group == NO_GROUP else snapshot.seated[group]
            runtime = with_stay(snapshot.standings[standing].runtime, snapshot.stays[stay])
            runtime = runtime if seated is None else seated.runtime
            spans[place] = book.span(runtime, its_queue)
            if runtime.stay.deadline is not None:
                deadlines[place] = runtime.stay.deadline
        places = places.reshape(-1)
        found: Ints = np.maximum(start, np.minimum(start + spans[places], deadlines[places]))
        return found

    # -- what was spent --------------------------------------------------------------------------------

    def outcome(self, now: datetime) -> BudgetOutcome:
        rows, running = len(self.queues), self.running
        spent, left_rate = self._spent()
        periods = self.bounds.shape[1] - 1
        ends, committed = running.end(self.now), np.zeros((rows, periods))
        for period in range(periods):
            begins = np.maximum(self.bounds[running.row, period], self.now)
            until = np.minimum(ends, self.bounds[running.row, period + 1])
            hours = self.tariff.hours(begins, until, running.priced)
            committed[:, period] = running.sums(hours * running.rate, rows)
        balances = Balances(
            now=self.now,
            queues=self.queues,
            bounds=self.bounds,
            amounts=np.array([one.amount for one in self.budgets.values()]),
            units=self.units,
            spent=spent,
            committed=committed,
            idle=self._idle(),
            tariff=self.tariff,
        )
        rate = running.sums(running.rate * running.seen, rows)
        ahead = self.tariff.hours(np.full_like(ends, self.now), ends, running.priced)
        in_all = running.sums(running.rate * running.seen * ahead, rows)
        memory = self._remembered(now, spent, rate, in_all, np.where(self.kept > 0, balances.idle, 0.0))
        due = self._is_due(rate, left_rate, bool(memory.queues))
        due = due or memory.scavengers != self.memory.scavengers
        looks = [self.at if not due else self.now] if rate.any() or self.kept.any() else []
        wakes = [one + SETTLED_EVERY for one in looks] + self.bounds[:, 1].tolist()
        wakes += self._changes_of_price()
        warnings = (*self._warnings(balances), *filter(None, [self.unread]))
        return BudgetOutcome(balances, memory if due else None, memory, min(wakes), warnings)

    def _cost_of_idle(self, row: int, one: QueueSpending) -> float:
        """Since it was written down, in this period."""
        kept = one.kept if self.now - self.at <= SEEN else min(one.kept, float(self.promised[row]))
        return kept * self._hours(row, max(self.at, int(self.bounds[row, 0])))

    def _hours(self, row: int, begin: int) -> float:
        """From then until now."""
        times = np.array([begin]), np.array([self.now])
        return float(self.tariff.hours(*times, self.units[[row]] == MONEY)[0])

    def _changes_of_price(self) -> list[int]:
        """A group that no budget could pay for may be paid then."""
        change = self.tariff.next_change(self.now) if (self.units == MONEY).any() else None
        return [] if change is None else [change]

    def _idle(self) -> Floats:
        """What of that which each has spent in this period was for places that stand idle still."""
        found = np.zeros(len(self.queues))
        for row, one in enumerate(self.known):
            if one is not None:
                before = one.idle if self._is_of_this_period(row, one) else 0.0
                found[row] = before + self._cost_of_idle(row, one)
        return found

    def _is_of_this_period(self, row: int, one: QueueSpending) -> bool:
        return round(one.begun.timestamp() * 1000) >= int(self.bounds[row, 0])

    def _spent(self) -> tuple[Floats, Floats]:
        """In this period, by each; and what an hour of those cost who have left since it was written down."""
        running, rows = self.running, len(self.queues)
        begins, spent, left = self.bounds[:, 0], np.zeros(rows), np.zeros(rows)
        since = begins.copy()
        stayed = running.seen & (running.since <= self.at)
        still = running.sums(running.rate * stayed, rows)
        still_committed = running.sums(running.rate * stayed * running.ahead(self.at), rows)
        for row, one in enumerate(self.known):
            if one is None:
                continue
            if self._is_of_this_period(row, one):
                spent[row], since[row] = one.spent, max(begins[row], self.at)
            spent[row] += self._cost_of_idle(row, one)
            gone = one.rate - still[row]
            if gone > LEAST:
                left[row] = gone
                hours = self._hours(row, max(self.at, int(begins[row])))
                spent[row] += min(gone * hours, max(0.0, one.committed - still_committed[row]))
        since_then = np.maximum(running.since, since[running.row])
        stays = self.tariff.hours(since_then, np.full_like(since_then, self.now), running.priced)
        return spent + running.sums(running.rate * stays, rows), left

    # -- what is remembered ----------------------------------------------------------------------------

    def _is_due(self, rate: Floats, left: Floats, is_said: bool) -> bool:
        """It is written down when somebody has come or left, when a period begins, and now and then."""
        if self.memory.at is None:
            return is_said
        if self.now - self.at >= SETTLED_EVERY and (rate.any() or self.kept.any()):
            return True
        kept = np.array([0.0 if one is None else one.kept for one in self.known])
        if (np.abs(kept - self.kept) > LEAST).any():
            return True
        before = np.array([0.0 if one is None else one.rate for one in self.known])
        begun = [one is not None and one.begun.timestamp() * 1000 for one in self.known]
        is_old = any(b is not False and b != begin for b, begin in zip(begun, self.bounds[:, 0], strict=True))
        return bool(left.any()) or bool((np.abs(before - rate) > LEAST).any()) or is_old

    def _remembered(
        self, now: datetime, spent: Floats, rate: Floats, committed: Floats, idle: Floats
    ) -> SpendingMemory:
        """Queues that have spent nothing are left out; if there are too many, those that spend least."""
        order = np.argsort(-np.maximum(spent, rate + self.kept), kind="stable").tolist()
        found = [
            QueueSpending(
                self.book.tree.queues[self.queues[row]].name,
                unit_words(self.budgets[self.queues[row]], self.policy),
                _at(int(self.bounds[row, 0])),
                *(float(one[row]) for one in (spent, rate, committed, self.kept, idle)),
            )
            for row in order
            if spent[row] > 0 or rate[row] > 0 or self.kept[row] > 0
        ]
        there = scavengers_there(self.book)
        while len(str(memory := SpendingMemory(now, tuple(sorted(found, key=_name)), there))) > LONGEST:
            del found[len(found) * 3 // 4 :]
        return memory

    def _warnings(self, balances: Balances) -> list[str]:
        found = list[str]()
        for row, (queue, budget) in enumerate(self.budgets.items()):
            used = balances.spent[row] + balances.committed[row, 0]
            reached = [share for share in budget.warn_at if used >= share * budget.amount - LEAST]
            if reached:
                found.append(
                    f"queue {self.book.tree.queues[queue].name} has spent or committed {max(reached):.0%} of "
                    f"the {rounded(budget.amount)} {unit_words(budget, self.policy)} that it may spend until "
                    f"{moment(int(balances.bounds[row, 1]) // 1000)}"
                )
        return found


def with_scavengers(known: SpendingMemory, begun: Sequence[Scavenger]) -> SpendingMemory:
    """Remembered too: groups that begin to run without paying, or whose members join others who do. If there
    are too many, the last of them pay from the next decision on."""
    pods = {one.group: [*one.pods] for one in known.scavengers}
    for one in begun:
        pods.setdefault(one.group, []).extend(one.pods)
    found = [Scavenger(group, tuple(sorted({*own}))) for group, own in sorted(pods.items())]
    rest = len(str(msgspec.structs.replace(known, scavengers=())))
    return msgspec.structs.replace(known, scavengers=_that_fit(found, min(LONGEST_LIST, LONGEST - rest)))


def _that_fit(groups: Sequence[Scavenger], room: int) -> tuple[Scavenger, ...]:
    """As many as so many characters are enough for."""
    sizes = accumulate(len(msgspec.json.encode(one)) + 1 for one in groups)
    return tuple(one for one, size in zip(groups, sizes, strict=True) if size <= room)


def scavengers_there(book: QueueBook) -> tuple[Scavenger, ...]:
    """Those of whom it is remembered, as far as they still run."""
    rows = np.flatnonzero(book.unpaid)
    occupants: list[Occupant] = book.snapshot.bound.occupants[rows].tolist()
    here = {identity(one.uid, one.key) for one in occupants}
    kept = (
        (one.group, tuple(filter(here.__contains__, one.pods))) for one in book.snapshot.spending.scavengers
    )
    return _that_fit([Scavenger(group, pods) for group, pods in kept if pods], LONGEST_LIST)


def _name(one: QueueSpending) -> str:
    return one.queue


def _at(milliseconds: int) -> Timestamp:
    return at_second(milliseconds / 1000)
