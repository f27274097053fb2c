"""Law 4, the receipts: every number in them worked out again."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .allowances import marks_of
from .budgets import Budget, allowance
from .case import Breach, Case, Eviction, breach
from .counted import devices_of
from .fields import Doc
from .jobs import FAIL, Job
from .pods import Owner, Pod
from .priorities import standing
from .protection import lost
from .scavengers import Scavengers
from .units import Sacrifice, Unit, sacrifices

STEP = 600_000  # ten minutes of one device
HOUR = 3_600_000
NOISE = 0.001
Family = tuple[str, Owner | None]  # namespace, controller
COMPARED = ("violations", "highestPriority", "workLostSteps", "units", "pods")


def judge_receipts(case: Case) -> Iterator[Breach]:
    departures = _Departures(case)
    pods, budgets = case.cluster.pods.values(), case.cluster.budgets.values()
    allowed = {budget: allowance(budget, pods) for budget in budgets} if case.evictions else {}
    for sacrifice in sacrifices(case):
        bill = _Bill(case, sacrifice, allowed)
        units = {pod.key: unit for unit in sacrifice.units for pod in unit.pods}
        for eviction in case.evicted_for(sacrifice.preemptor):
            if eviction.receipt.raw and eviction.pod.key in units:
                faults = (
                    *_judge_receipt(bill, eviction, units[eviction.pod.key]),
                    *departures.judge(bill, eviction),
                )
                for fault in faults:
                    yield breach(4, eviction.pod.key, f"its receipt is wrong: {fault}")
        yield from _judge_names(case, sacrifice)


@dataclass
class _Bill:
    """What all who leave for one group cost together."""

    case: Case
    sacrifice: Sacrifice
    allowed: dict[Budget, int]

    @cached_property
    def numbers(self) -> dict[str, int]:
        case, pods = self.case, self.sacrifice.pods
        numbers = {
            "highestPriority": max(
                standing(case.cluster, case.leaf_of[pod.key], pod) or 0 for pod in self.paying or pods
            ),
            "units": len(self.sacrifice.units),
            "pods": len(pods),
            "violations": self._violations,
        }
        return numbers if self.work is None else {**numbers, "workLostSteps": self.work // STEP}

    @cached_property
    def paying(self) -> list[Pod]:
        """Of them, those who pay: others are below all of these, whatever their priority."""
        free = Scavengers(self.case).yielding
        return [pod for pod in self.sacrifice.pods if pod.key not in free]

    def is_paid_for(self, other: Doc) -> bool:
        """Whether an alternative touches somebody who pays, and these do not."""
        free = Scavengers(self.case).names
        return not self.paying and any(unit not in free for unit in other.texts("units"))

    @cached_property
    def work(self) -> int | None:
        now, work = self.case.now, 0
        for pod in self.sacrifice.pods:
            lost_by = None if now is None else _lost(self.case, pod, now)
            if lost_by is None:
                return None
            work += lost_by
        return work

    @cached_property
    def _violations(self) -> int:
        """Disruptions beyond what budgets allow, on top of those for groups that were decided before."""
        before = self.sacrifice.earlier
        return sum(self._over(budget, self._together) - self._over(budget, before) for budget in self.allowed)

    @cached_property
    def overdrawn(self) -> list[Budget]:
        return [budget for budget in self.allowed if self._over(budget, self._together)]

    @property
    def _together(self) -> list[Pod]:
        return [*self.sacrifice.earlier, *self.sacrifice.pods]

    def _over(self, budget: Budget, pods: list[Pod]) -> int:
        return max(0, sum(map(budget.counts, pods)) - self.allowed[budget])


def _judge_receipt(bill: _Bill, eviction: Eviction, unit: Unit) -> Iterator[str]:
    case, pod, receipt = bill.case, eviction.pod, eviction.receipt
    if not receipt.text("rule"):
        yield "it names no rule"
    own = standing(case.cluster, case.leaf_of[pod.key], pod)
    ranks = {"priority": own, "preemptorPriority": bill.sacrifice.preemptor.rank}
    for name, rank in ranks.items():
        if receipt.raw.get(name) != rank:
            yield f"{name} is {receipt.raw.get(name)}, should be {rank}"
    over = sorted(budget.key for budget in bill.overdrawn if any(map(budget.counts, unit.pods)))
    if receipt.texts("budgets") != over:
        yield f"budgets are {receipt.texts('budgets')}, should be {over}"
    work = None if case.now is None else _lost(case, pod, case.now)
    if work is not None:
        yield from _judge_hours(receipt, work)
    yield from _judge_toll(bill, receipt)


def _judge_hours(doc: Doc, work: int) -> Iterator[str]:
    hours = doc.raw.get("workLostDeviceHours")
    if not isinstance(hours, int | float) or abs(hours - work / HOUR) > NOISE:
        yield f"workLostDeviceHours is {hours}, should be {work / HOUR}"


def _lost(case: Case, pod: Pod, now: int) -> int | None:
    """Work in thousandths of a device-second. Who is being deleted anyway loses nothing by an eviction."""
    if pod.deleting:
        return 0
    devices = devices_of(case, pod)
    return None if devices is None else devices * lost(pod, marks_of(case, pod), now)


def _judge_toll(bill: _Bill, receipt: Doc) -> Iterator[str]:
    toll = receipt.doc("toll")
    if bill.work is not None:
        yield from _judge_hours(toll, bill.work)
    for name, number in bill.numbers.items():
        if toll.raw.get(name) != number:
            yield f"{name} is {toll.raw.get(name)}, should be {number}"
    for other in receipt.docs("alternatives"):
        if _compared(other.doc("toll")) < _compared(toll) and not bill.is_paid_for(other):
            yield f"the alternative {', '.join(other.texts('units'))} would have cost less"
        if not other.texts("units") or not other.text("worse"):
            yield "an alternative does not say what it is, or why it was worse"


def _compared(toll: Doc) -> list[int]:
    return [toll.integer(name) for name in COMPARED]


class _Departures:
    """How victims leave, and whether who made them outlives it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        running = [pod for pod in case.cluster.pods.values() if pod.running] if case.evictions else []
        self.ways = {pod.key: case.cluster.suspendable.way_out(pod) for pod in running}
        self.here = Counter(self.ways.values())
        victims = [eviction.pod for eviction in case.evictions]
        self.leaving = Counter(_family(pod) for pod in victims if pod.running)

    def judge(self, bill: _Bill, eviction: Eviction) -> Iterator[str]:
        departure = eviction.receipt.doc("departure")
        by, survives = self._rightly(bill, eviction.pod)
        if departure.text("by") != by:
            yield f"departure.by is {departure.text('by') or 'missing'}, should be {by}"
        elif departure.raw.get("survives") is not survives:
            yield f"departure.survives is {departure.raw.get('survives')}, should be {survives}"

    def _rightly(self, bill: _Bill, pod: Pod) -> tuple[str, bool | None]:
        """If all pods below the topmost owner leave for one group, that is suspended, if the policy says so
        and it can be; for what is Kueue's, its Workload is deactivated. All other victims are deleted."""
        owner = pod.controller
        if owner is None or self.case.lingers(pod):
            return "delete", None if owner is None else True
        way, job = self.ways.get(pod.key), self._job(pod.namespace, owner) if owner[0] == "Job" else None
        if way is not None and way.stopped:
            return "delete", True
        together = sum(self.ways.get(other.key) == way for other in bill.sacrifice.pods if other.running)
        if way is not None and self.case.policy.preemption.suspends and together == self.here[way]:
            by = "deactivate" if way.queued else "suspend"
            return by, None if job is not None and job.action == FAIL else True
        if owner[0] != "Job":
            return "delete", True
        return "delete", None if job is None else job.survives(self.leaving[_family(pod)])

    def _job(self, namespace: str, owner: Owner) -> Job | None:
        job = self.case.cluster.jobs.get(f"{namespace}/{owner[1]}")
        return job if job is not None and job.made(owner[2]) else None


def _family(pod: Pod) -> Family:
    return pod.namespace, pod.controller


def _judge_names(case: Case, sacrifice: Sacrifice) -> Iterator[Breach]:
    """Receipts of one unit name one unit, and those of two name two."""
    named: dict[str, set[str]] = {}
    said = {e.pod.key: e.receipt.text("unit") for e in case.evicted_for(sacrifice.preemptor) if e.receipt.raw}
    for unit in sacrifice.units:
        names = {said[pod.key] for pod in unit.pods if pod.key in said}
        if len(names) > 1:
            yield breach(4, unit.name, f"its receipts speak of different units: {', '.join(sorted(names))}")
        for name in names:
            named.setdefault(name, set()).add(unit.name)
    for name, units in sorted(named.items()):
        if len(units) > 1:
            yield breach(4, name, f"receipts speak of one unit, but these are {', '.join(sorted(units))}")
