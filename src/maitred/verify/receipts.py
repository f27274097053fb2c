"""Law 4, the receipts: every number in them worked out again."""

from collections.abc import Iterator

from .budgets import Budget, allowance
from .case import Breach, Case, Eviction, breach
from .evictions import marks_of
from .fields import Doc
from .pods import Pod
from .protection import lost
from .units import Sacrifice, Unit, sacrifices

STEP = 600_000  # ten minutes of one device
HOUR = 3_600_000
NOISE = 0.001
COMPARED = ("violations", "highestPriority", "workLostSteps", "units", "pods")


def judge_receipts(case: Case) -> Iterator[Breach]:
    for sacrifice in sacrifices(case):
        units = {pod.key: unit for unit in sacrifice.units for pod in unit.pods}
        for eviction in case.evicted_for(sacrifice.preemptor):
            if eviction.receipt.raw and eviction.pod.key in units:
                for fault in _faults(case, sacrifice, eviction, units[eviction.pod.key]):
                    yield breach(4, eviction.pod.key, f"its receipt is wrong: {fault}")
        yield from _judge_names(case, sacrifice)


def _faults(case: Case, sacrifice: Sacrifice, eviction: Eviction, unit: Unit) -> Iterator[str]:
    pod, receipt = eviction.pod, eviction.receipt
    if not receipt.text("rule"):
        yield "it names no rule"
    ranks = {"priority": case.group_of[pod.key].rank, "preemptorPriority": sacrifice.preemptor.rank}
    for name, rank in ranks.items():
        if receipt.raw.get(name) != rank:
            yield f"{name} is {receipt.raw.get(name)}, should be {rank}"
    over = sorted(budget.key for budget in _overdrawn(case, sacrifice) if budget.counts(pod))
    if receipt.texts("budgets") != over:
        yield f"budgets are {receipt.texts('budgets')}, should be {over}"
    if case.now is not None:
        yield from _judge_hours(receipt, _lost(case, pod, case.now))
    yield from _judge_toll(case, sacrifice, receipt)
    by, rightly = receipt.doc("departure").text("by"), _leaves_by(case, sacrifice, pod)
    if by != rightly:
        yield f"departure.by is {by or 'missing'}, should be {rightly}"


def _judge_hours(doc: Doc, work: int) -> Iterator[str]:
    hours = doc.raw.get("workLostDeviceHours")
    if not isinstance(hours, int | float) or abs(hours - work / HOUR) > NOISE:
        yield f"workLostDeviceHours is {hours}, should be {work / HOUR}"


def _lost(case: Case, pod: Pod, now: int) -> int:
    """Work in thousandths of a device-second."""
    return case.policy.device_count(pod.requests) * lost(pod, marks_of(case, pod), now)


def _judge_toll(case: Case, sacrifice: Sacrifice, receipt: Doc) -> Iterator[str]:
    toll, pods = receipt.doc("toll"), sacrifice.pods
    numbers = {
        "highestPriority": max(case.group_of[pod.key].rank or 0 for pod in pods),
        "units": len(sacrifice.units),
        "pods": len(pods),
    }
    if case.now is not None:
        work = sum(_lost(case, pod, case.now) for pod in pods)
        numbers["workLostSteps"] = work // STEP
        yield from _judge_hours(toll, work)
    for name, number in numbers.items():
        if toll.raw.get(name) != number:
            yield f"{name} is {toll.raw.get(name)}, should be {number}"
    violations = _violations(case, sacrifice)
    if toll.raw.get("violations") != violations:
        yield f"violations is {toll.raw.get('violations')}, should be {violations}"
    for other in receipt.docs("alternatives"):
        if _compared(other.doc("toll")) < _compared(toll):
            yield f"the alternative {', '.join(other.texts('units'))} would have cost less"
        if not other.texts("units") or not other.text("worse"):
            yield "an alternative does not say what it is, or why it was worse"


def _compared(toll: Doc) -> list[int]:
    return [toll.integer(name) for name in COMPARED]


def _over(case: Case, budget: Budget, pods: list[Pod]) -> int:
    return max(0, sum(map(budget.counts, pods)) - allowance(budget, case.cluster.pods.values()))


def _violations(case: Case, sacrifice: Sacrifice) -> int:
    """Disruptions beyond what budgets allow, on top of those for groups that were decided before."""
    every = case.cluster.budgets.values()
    together, before = [*sacrifice.earlier, *sacrifice.pods], sacrifice.earlier
    return sum(_over(case, budget, together) - _over(case, budget, before) for budget in every)


def _overdrawn(case: Case, sacrifice: Sacrifice) -> list[Budget]:
    together = [*sacrifice.earlier, *sacrifice.pods]
    return [budget for budget in case.cluster.budgets.values() if _over(case, budget, together)]


def _leaves_by(case: Case, sacrifice: Sacrifice, pod: Pod) -> str:
    """A Job all of whose pods leave is suspended where the policy says so; all others are deleted."""
    owner = pod.controller
    known = owner is not None and owner[0] == "Job" and f"{pod.namespace}/{owner[1]}" in case.cluster.jobs
    if not known or not case.policy.preemption.suspends:
        return "delete"
    running = [other for other in case.cluster.pods.values() if other.running]
    kin = [other for other in running if (other.namespace, other.controller) == (pod.namespace, owner)]
    return "suspend" if all(other in sacrifice.pods for other in kin) else "delete"


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
