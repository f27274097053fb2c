"""Budgets: nobody starts whom a budget cannot pay, and what a Plan remembers of budgets is right.

docs/design/queues.md, a second time. Whoever has devices pays by the hour from its bind; until its end so
much is committed. Of those that were there when it was written down, and are not any more, as much was spent
as they could have spent since then.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from math import isclose, isfinite

from .case import Breach, Case, breach
from .claimed import priced_as
from .fields import Doc
from .kept import Kept, KeptDevices
from .limits import JobClock, asked_by, terms_of
from .membership import owners_of
from .pods import Pod
from .queues import Allotment, is_model
from .rights import LIMITS, Books
from .rules import Bind
from .scavengers import judge_departures, judge_memory
from .tariffs import DearHours, PriceTable
from .times import instant, thousandths

OBJECT = "maitred-system/maitred-budgets"
INTERVAL, HOUR = 60_000, 3_600_000
LONGEST, LARGEST, LONGEST_NAME = 900_000, 1e18, 512
LEAST = 1e-5
WHO = "what is remembered of budgets"


@dataclass(frozen=True)
class Spent:
    unit: str
    begun: int
    spent: float = 0.0
    rate: float = 0.0
    committed: float = 0.0
    kept: float = 0.0
    """What an hour of what stands idle for its groups costs,"""
    idle: float = 0.0
    """and what that has cost of `spent`, while anything stood idle."""


@dataclass(frozen=True)
class SpendingRecord:
    at: int | None = None
    """In thousandths of a second; None if nothing is remembered."""
    queues: Mapping[str, Spent] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """A pod with devices: what an hour of it costs, from when to when it pays, and from when it runs."""

    rate: float
    bound: int
    start: int
    end: int
    is_told: bool
    """Somebody says when it was bound."""
    table: PriceTable | None = None
    """What hours cost; None if each costs the same."""

    def until(self, now: int) -> int:
        """Whoever is there after its limit pays for an hour more, and then for the next."""
        return self.end if now < self.end else self.end + ((now - self.end) // HOUR + 1) * HOUR

    def within(self, begin: int, end: int) -> float:
        return self.rate * hours_between(self.table, begin, end)


def hours_between(table: PriceTable | None, begin: int, end: int) -> float:
    """As so many hours at plain prices."""
    return (max(0, end - begin) if table is None else table.worth(begin, end)) / HOUR


def judge_spending(case: Case) -> Iterator[Breach]:
    said, budgets = case.plan.doc("budgets"), case.policy.rights.budgets
    if not budgets or case.now is None:
        if said.raw and not budgets:
            yield breach(LIMITS, WHO, "is to be written down, although no queue has a budget")
        return
    ledger = _Ledger(case, case.now)
    for name, budget in budgets.items():
        yield from ledger.judge_binds(name, budget)
    yield from ledger.judge_unpaid()
    yield from judge_departures(ledger.scavengers)
    yield from judge_memory(ledger.scavengers, ledger.in_queues)
    yield from ledger.judge_record(said)


class _Ledger:
    def __init__(self, case: Case, now: int) -> None:
        self.case, self.now, self.books = case, now, Books(case)
        self.scavengers = self.books.scavengers
        self._tables = dict[tuple[DearHours, ...], PriceTable]()
        self.known = _known(case)
        if self.known.at is not None and self.known.at > now + INTERVAL:
            self.known = SpendingRecord()

    # -- who may start ---------------------------------------------------------------------------------

    def judge_binds(self, name: str, budget: Allotment) -> Iterator[Breach]:
        """In this period and in the next two, of which one is as long as any later one."""
        new, promised = self._costs(name, budget, self._starting), self._was_promised(name)
        for end, added, used in self._overspent(name, budget, new, promised=promised):
            yield breach(
                LIMITS,
                f"queue {name}",
                f"commits {added:g} {budget.unit} to groups that start, and of {budget.amount:g} in the "
                f"period until {_written(end)} {used:g} are spent or committed",
            )

    def _overspent(
        self,
        name: str,
        budget: Allotment,
        new: list[Cost],
        beside: Sequence[Cost] = (),
        promised: bool = False,
    ) -> Iterator[tuple[int, float, float]]:
        """The ends of periods that could not pay for some; what these cost in it, and what it pays else."""
        there = [*self.running(name, budget), *beside]
        # If hours cost more than others, all days of a week are looked at, and all months of a year.
        count = 13 if budget.hours else 3
        for number, (begin, end) in enumerate(pairwise(bounds_of(budget.period, self.now, count))):
            begin = max(begin, self.now)
            added = sum(one.within(begin, min(end, one.until(self.now))) for one in new)
            if added <= LEAST:
                continue
            used = sum(one.within(begin, min(end, one.until(self.now))) for one in there)
            used += self.spent(name, budget) if number == 0 else 0.0
            # What it cost to keep places free keeps nobody from taking them.
            used -= self.idle(name, budget) if number == 0 and promised else 0.0
            if used + added > budget.amount + LEAST:
                yield end, added, used

    @property
    def _starting(self) -> list[Bind]:
        """Those who get places and pay for them."""
        seats = (*self.case.binds, *self.case.nominations)
        return [seat for seat in seats if seat[0].key not in self.scavengers.begun]

    # -- who runs for nothing --------------------------------------------------------------------------

    @cached_property
    def in_queues(self) -> frozenset[str]:
        return frozenset(pod.key for pod, _ in self.books.holding if self.books.queue(pod))

    def judge_unpaid(self) -> Iterator[Breach]:
        """Groups that begin to run for nothing, whole: because a budget that says so cannot pay for them."""
        case, begun = self.case, self.scavengers.begun
        for group in dict.fromkeys(case.group_of[pod.key] for pod, _ in case.binds):
            seats = case.bound(group)
            free = [seat for seat in seats if seat[0].key in begun]
            if free and len(free) < len(seats):
                yield breach(LIMITS, group.key, "some of its members pay, and some do not")
            elif free and not self.scavengers.joins(group) and not self._is_too_dear(free):
                yield breach(
                    LIMITS, group.key, "runs without paying, and no budget that allows this is spent"
                )

    def _is_too_dear(self, seats: Sequence[Bind]) -> bool:
        """Claims of theirs may be paid by others: what they cost is not known here."""
        if any(pod.devices for pod, _ in seats):
            return True
        chain = self.books.rights.chain(self.books.queue(seats[0][0]))
        for name, budget in self.case.policy.rights.budgets.items():
            if budget.scavenges and name in chain:
                costs, beside = (self._costs(name, budget, some) for some in (seats, self._starting))
                if any(self._overspent(name, budget, costs, beside)):
                    return True
        return False

    def _was_promised(self, name: str) -> bool:
        """Whether anybody of the queue starts, or is to start, where it was promised a place."""
        starts = ((pod, node) for pod, node in [*self.case.binds, *self.case.nominations])
        return any(pod.nominated == node.name and self.books.is_in(name)(pod) for pod, node in starts)

    # -- what is spent ---------------------------------------------------------------------------------

    def running(self, name: str, budget: Allotment) -> list[Cost]:
        unpaid = self.scavengers.unpaid & self.in_queues
        return self._costs(name, budget, [seat for seat in self.books.holding if seat[0].key not in unpaid])

    def _costs(self, name: str, budget: Allotment, seats: Iterable[Bind]) -> list[Cost]:
        found, shared = [], dict[str, Cost]()
        for pod, node in seats:
            if not self.books.is_in(name)(pod):
                continue
            model = self.case.model_of(node)
            rate, together = self._rate(budget, pod, model), self._rates_of_claims(budget, pod, model)
            rate += together.pop("", 0.0)
            if rate:
                found.append(self._cost(budget, pod, rate))
            for claim, of_claim in together.items():
                cost = self._cost(budget, pod, of_claim)
                # Of several that get it together nobody knows here who pays: it costs this at least, and
                # nothing if any of them is in another queue.
                if not all(map(self.books.is_in(name), self.books.claims.users.get(claim, ()))):
                    continue
                if claim not in shared or cost.end < shared[claim].end:
                    shared[claim] = cost
        return [*found, *shared.values()]

    def _cost(self, budget: Allotment, pod: Pod, rate: float) -> Cost:
        bound, start = (None if one is None else thousandths(one) for one in (pod.bound, pod.started))
        is_told = bound is not None and bound <= self.now
        start = self.now if start is None or start > self.now else start
        since = bound if bound is not None and is_told else self.now
        end = max(start, self._end(pod, start))
        return Cost(rate, since, start, end, is_told, self._table(budget))

    def _table(self, budget: Allotment) -> PriceTable | None:
        return (
            self._tables.setdefault(budget.hours, PriceTable(budget.hours, self.now))
            if budget.hours
            else None
        )

    def _rate(self, budget: Allotment, pod: Pod, model: str) -> float:
        """Of what it requests as resources."""
        return self._rate_of(budget, pod.requests, model)

    def _rate_of(self, budget: Allotment, requests: Mapping[str, int], model: str) -> float:
        cluster, total = self.case.cluster, 0.0
        for name, n in requests.items():
            served = cluster.device_resources.get(name)
            names = (name,) if served is None else priced_as(cluster, served)
            total += (n / 1000 if name == "cpu" else n) * self._price(budget, names, model)
        return total

    def _rates_of_claims(self, budget: Allotment, pod: Pod, model: str) -> dict[str, float]:
        """Of the claims that it pays for: under the empty key those that it has on a node."""
        found = dict[str, float]()
        for key, counts in self.books.claims.by_claim(pod):
            each = ((priced_as(self.case.cluster, name), count) for name, count in counts.items())
            cost = sum(count * self._price(budget, names, model) for names, count in each)
            if cost and self._pays(pod, key):
                place = "" if pod.holds else key
                found[place] = found.get(place, 0.0) + cost
        return found

    def _pays(self, pod: Pod, claim: str) -> bool:
        """Only the first on a node pays that a claim was reserved for; if there is none, who gets it now."""
        first = self.books.claims.first(claim, self.scavengers.unpaid)
        if not pod.holds:
            return first is None
        return first is not None and first.key == pod.key and claim in self.case.cluster.allocations

    def _price(self, budget: Allotment, names: tuple[str, ...], model: str) -> float:
        """What one device costs that is known by these names; nothing if none of them is that of devices."""
        patterns = self.case.policy.devices
        if not any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
            return 0.0
        if not budget.prices:
            return 1.0
        prices = (_price(budget.prices, name, model) for name in names)
        return next((price for price in prices if price is not None), 0.0)

    def spent(self, name: str, budget: Allotment) -> float:
        """In this period."""
        begin, since, total = bounds_of(budget.period, self.now)[0], 0, 0.0
        last, at = self.known.queues.get(name) if self.known.at is not None else None, self.known.at
        there = self.running(name, budget)
        if last is not None and at is not None and last.unit == budget.unit:
            if last.begun >= begin:
                total, since = last.spent, at
            total += self._cost_of_idle(name, budget, last, at)
            same = [one for one in there if one.is_told and one.bound <= at]
            gone = last.rate - sum(one.rate for one in same)
            could = last.committed - sum(one.within(max(at, one.start), one.until(at)) for one in same)
            if gone > LEAST:
                hours = hours_between(self._table(budget), max(at, begin), self.now)
                total += min(max(0.0, could), gone * hours)
        return total + sum(one.within(max(one.bound, begin, since), self.now) for one in there)

    # -- what stands idle -------------------------------------------------------------------------------

    def idle(self, name: str, budget: Allotment) -> float:
        """What it has cost of what is spent."""
        last, at = self.known.queues.get(name) if self.known.at is not None else None, self.known.at
        if last is None or at is None or last.unit != budget.unit:
            return 0.0
        before = last.idle if last.begun >= bounds_of(budget.period, self.now)[0] else 0.0
        return before + self._cost_of_idle(name, budget, last, at)

    def _cost_of_idle(self, name: str, budget: Allotment, last: Spent, at: int) -> float:
        begin = max(at, bounds_of(budget.period, self.now)[0])
        rate = last.kept if self.now - at <= 2 * INTERVAL else min(last.kept, self.promised(name, budget))
        return rate * hours_between(self._table(budget), begin, self.now)

    def promised(self, name: str, budget: Allotment) -> float:
        """What an hour costs of places that members were promised,"""
        return self._cost_of_kept(name, budget, self._kept.promised)

    def kept(self, name: str, budget: Allotment) -> float:
        """and of these and of room for members that are not there."""
        return self.promised(name, budget) + self._cost_of_kept(name, budget, self._kept.rooms)

    def _cost_of_kept(self, name: str, budget: Allotment, kept: Iterable[KeptDevices]) -> float:
        return sum(
            self._rate_of(budget, one.amounts, self.case.model_of(one.node))
            for one in kept
            if one.payer is not None and self.books.is_in(name)(one.payer) and not self._goes_free(one)
        )

    def _goes_free(self, kept: KeptDevices) -> bool:
        """Whether it is kept for a group that does not pay."""
        group, begun = kept.group, self.scavengers.begun
        if group is None:
            return False
        return self.scavengers.joins(group) or any(pod.key in begun for pod, _ in self.case.bound(group))

    @cached_property
    def _kept(self) -> Kept:
        return Kept(self.case)

    def _end(self, pod: Pod, start: int) -> int:
        """When it ends by its limit, as all of its group together have it."""
        group = self.case.leaf_of[pod.key] if pod.holds else self.case.group_of[pod.key]
        members = [one for one in group.members if not one.finished] or [pod]
        deadlines = [self._pod_deadline(one) for one in members]
        ends = [end for one in members if (end := self._job_end(one)) is not None]
        # Who starts although its Job has had its time is not ended by it.
        jobs = [end for end in ends if pod.holds or end > self.now]
        spans = [max(one for one in deadlines if one is not None)] if None not in deadlines else []
        asked, (default, most) = (
            asked_by(self.case, group),
            terms_of(self.books.rights, self.books.queue(pod)),
        )
        limits = (default if asked is None else asked, most)
        spans += (
            [min(one for one in limits if one is not None)] if any(one is not None for one in limits) else []
        )
        return min([start + min(spans, default=HOUR), *jobs])

    def _pod_deadline(self, pod: Pod) -> int | None:
        spec = self.case.cluster.raw[("Pod", pod.key)].doc("spec")
        return spec.integer("activeDeadlineSeconds") * 1000 if spec.given("activeDeadlineSeconds") else None

    def _job_end(self, pod: Pod) -> int | None:
        owners = owners_of(pod, self.case.cluster).known
        if not owners or owners[0][0] != "Job":
            return None
        return JobClock(owners[0][1]).end

    # -- what is remembered ----------------------------------------------------------------------------

    @cached_property
    def _right(self) -> dict[str, Spent]:
        found = {}
        for name, budget in self.case.policy.rights.budgets.items():
            there = [one for one in self.running(name, budget) if one.is_told]
            found[name] = Spent(
                budget.unit,
                bounds_of(budget.period, self.now)[0],
                self.spent(name, budget),
                sum(one.rate for one in there),
                sum(one.within(self.now, one.until(self.now)) for one in there),
                kept := self.kept(name, budget),
                self.idle(name, budget) if kept > 0 else 0.0,
            )
        return found

    def judge_record(self, said: Doc) -> Iterator[Breach]:
        if not said.raw:
            changed = [name for name, one in self._right.items() if self._has_changed(name, one)]
            elapsed = 0 if self.known.at is None else self.now - self.known.at
            if changed or (
                elapsed >= INTERVAL and any(one.rate + one.kept > LEAST for one in self._right.values())
            ):
                what = (
                    f"of {changed[0]} has changed" if changed else f"was written down {elapsed // 1000} s ago"
                )
                yield breach(LIMITS, WHO, f"{what}, and is not written down")
            return
        found = _read(said)
        if found.at is None or abs(found.at - self.now) > 1:
            yield breach(LIMITS, WHO, "has another time than the Plan")
            return
        is_cut = len(json.dumps(said.raw)) > LONGEST / 2
        for name in sorted({*self._right, *found.queues}):
            told, right = found.queues.get(name), self._right.get(name)
            if right is None:
                yield breach(LIMITS, WHO, f"speaks of {name}, which has no budget")
            elif told is not None or not is_cut:
                yield from _judge(name, told or Spent(right.unit, right.begun), right)

    def _has_changed(self, name: str, right: Spent) -> bool:
        last = self.known.queues.get(name) if self.known.at is not None else None
        if last is None or last.unit != right.unit:
            last = Spent(right.unit, right.begun)
        return abs(last.rate - right.rate) > LEAST or abs(last.kept - right.kept) > LEAST


def _judge(name: str, told: Spent, right: Spent) -> Iterator[Breach]:
    if (told.unit, told.begun) != (right.unit, right.begun):
        words = f"says that queue {name} spends {told.unit} since {_written(told.begun)}"
        yield breach(LIMITS, WHO, f"{words}, and it is {right.unit} since {_written(right.begun)}")
    pairs = {
        "has spent": (told.spent, right.spent),
        "spends by the hour": (told.rate, right.rate),
        "has committed": (told.committed, right.committed),
        "keeps idle by the hour": (told.kept, right.kept),
        "has spent on what is kept idle": (told.idle, right.idle),
    }
    for words, (claimed, correct) in pairs.items():
        if not isclose(claimed, correct, rel_tol=1e-6, abs_tol=LEAST):
            yield breach(LIMITS, WHO, f"says that queue {name} {words} {claimed:g}, and it is {correct:g}")


def _price(prices: Sequence[tuple[str, str, float]], resource: str, model: str) -> float | None:
    fits = (cost for name, like, cost in prices if fnmatchcase(resource, name) and is_model(like, model))
    return next(fits, None)


def bounds_of(period: str, now: int, count: int = 3) -> list[int]:
    """When the period begins that some moment is in, and when so many end, it and the next ones: days, weeks
    from Monday on, and months of the calendar, in UTC."""
    here = datetime.fromtimestamp(now / 1000, UTC)
    day = datetime(here.year, here.month, here.day, tzinfo=UTC)
    if period == "month":
        months = [here.year * 12 + here.month - 1 + more for more in range(count + 1)]
        found = [datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in months]
    else:
        length = timedelta(days=7 if period == "week" else 1)
        first = day - timedelta(days=day.weekday()) if period == "week" else day
        found = [first + number * length for number in range(count + 1)]
    return [thousandths(one.timestamp()) for one in found]


def _written(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat().replace("+00:00", "Z")


# -- reading -------------------------------------------------------------------------------------------


def _known(case: Case) -> SpendingRecord:
    """What cannot be read counts for nothing."""
    kept = case.cluster.raw.get(("ConfigMap", OBJECT))
    text = "" if kept is None else kept.doc("data").text("record")
    try:
        return _read(Doc(json.loads(text), WHO)) if 0 < len(text) <= LONGEST else SpendingRecord()
    except ValueError:
        return SpendingRecord()


def _read(doc: Doc) -> SpendingRecord:
    at, queues = instant(doc.text("at")), dict[str, Spent]()
    for one in doc.docs("queues"):
        name, begun = one.text("queue"), instant(one.text("begun"))
        if not name or name in queues or len(name) > LONGEST_NAME or begun is None:
            raise one.error("queue", "must be a name, once, with the begin of its period")
        sizes = (_amount(one, field) for field in ("spent", "rate", "committed", "kept", "idle"))
        queues[name] = Spent(one.text("unit"), begun, *sizes)
    return SpendingRecord(at, queues) if at is not None else SpendingRecord()


def _amount(doc: Doc, field: str) -> float:
    value = doc.raw.get(field, 0.0)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value) or not 0 <= value <= LARGEST:
        raise doc.error(field, "must be an amount")
    return float(value)
