"""What the scheduler counts. The names are part of the interface; docs/metrics.md lists them."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from maitred.controllers.scheduling.binding import Order
from maitred.controllers.scheduling.worklist import was_cut
from maitred.decide.healing.judging import HARD
from maitred.kube.outcomes import RefusalReason
from maitred.model.categories import CATEGORIES
from maitred.model.healing import FAILURE_RULES
from maitred.model.plan import Eviction, Plan, Verdict

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
HEALING_SECONDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)

T = TypeVar("T", Counter, Gauge, Histogram)


def nothing(*_: str) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Now:
    """Where a term keeps what the gauges show; a process without a term has nothing to show."""

    waiting_pods: Callable[[], int] = nothing
    assumed_pods: Callable[[], int] = nothing
    short_groups: Callable[[], int] = nothing
    contested_devices: Callable[[], int] = nothing
    hurt_groups: Callable[[], int] = nothing
    groups_at_risk: Callable[[], int] = nothing
    waiting_groups: Callable[[str], int] = nothing
    not_in_ledger: Callable[[], int] = nothing
    ledger_failing: Callable[[], int] = nothing


class MetricRow(Generic[T]):
    """One row of the table in `Metrics`: made anew for every registry."""

    def __init__(self, kind: type[T], name: str, what: str, *labels: str, **more: Any) -> None:
        self._make: Callable[..., T] = partial(kind, name, what, labels, **more)

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    def __get__(self, metrics: "Metrics", owner: type) -> T:
        raise AttributeError(f"{self.attribute} is not registered")  # what is registered hides this

    def register(self, registry: CollectorRegistry) -> T:
        return self._make(registry=registry)


class Metrics:
    cycles = MetricRow(Counter, "maitred_cycles", "Cycles decided.")
    cycle_seconds = MetricRow(
        Histogram, "maitred_cycle_seconds", "Time from snapshot to Plan.", buckets=SECONDS
    )
    exhausted = MetricRow(
        Counter, "maitred_searches_exhausted", "Cycles in which a search stopped at its limit of steps."
    )
    cut_groups = MetricRow(
        Counter,
        "maitred_cut_groups",
        "Groups that a cycle did not decide, because its budget of steps was used up.",
    )
    verdicts = MetricRow(Counter, "maitred_verdicts", "Verdicts given, by verdict.", "verdict")
    waiting_groups = MetricRow(
        Gauge,
        "maitred_waiting_groups",
        "Groups that are not scheduled now, by the category of their first blocker.",
        "category",
    )
    waiting_pods = MetricRow(Gauge, "maitred_waiting_pods", "Pods of this scheduler without a node.")
    assumed_pods = MetricRow(Gauge, "maitred_assumed_pods", "Pods bound to a node and not yet seen there.")
    binds = MetricRow(Counter, "maitred_binds", "Binds, by result.", "result")
    seating_seconds = MetricRow(
        Histogram,
        "maitred_seating_seconds",
        "Time from the Plan to the last bind of a group.",
        buckets=SECONDS,
    )
    stale_groups = MetricRow(
        Counter,
        "maitred_stale_groups",
        "Groups decided again because their places or victims changed during the decision.",
    )
    short_groups = MetricRow(
        Gauge, "maitred_short_groups", "Gangs that are bound in part and not yet repaired."
    )
    taken_back = MetricRow(
        Counter,
        "maitred_taken_back_pods",
        "Pods deleted because their whole group could not be bound, or because a pod of another claim has "
        "their device.",
    )
    contested_devices = MetricRow(
        Gauge, "maitred_contested_devices", "Devices that more than one resource claim has."
    )
    preemptions = MetricRow(Counter, "maitred_preemptions", "Times that pods were evicted for a group.")
    evictions = MetricRow(
        Counter,
        "maitred_evictions",
        "Pods evicted for other groups, by suspending their Job or by deleting them.",
        "how",
    )
    lost = MetricRow(Counter, "maitred_lost_device_hours", "Work lost with evicted pods, in device-hours.")
    notices = MetricRow(
        Counter, "maitred_notices", "Conditions written, on groups and pods, by result.", "kind", "result"
    )
    lists = MetricRow(Gauge, "maitred_lists", "Complete lists of a resource in this term.", "resource")
    hurt_groups = MetricRow(
        Gauge, "maitred_hurt_groups", "Groups that hardware has failed under, and that are being healed."
    )
    groups_at_risk = MetricRow(
        Gauge, "maitred_groups_at_risk", "Groups that wait and cannot be done by their deadlines any more."
    )
    incidents = MetricRow(
        Counter,
        "maitred_incidents",
        "Failures of hardware under groups, by their family and by what was done.",
        "family",
        "rule",
    )
    healing_seconds = MetricRow(
        Histogram,
        "maitred_healing_seconds",
        "Time from a decision about a failure until the quorum of the group worked again.",
        buckets=HEALING_SECONDS,
    )
    healed_pods = MetricRow(
        Counter, "maitred_healed_pods", "Pods deleted because their node or their device had failed."
    )
    leading = MetricRow(Gauge, "maitred_leading", "1 while this process leads.")
    policy_loads = MetricRow(Counter, "maitred_policy_loads", "Policies read, by result.", "result")
    not_in_ledger = MetricRow(
        Gauge,
        "maitred_records_not_in_ledger",
        "Records of this term for which the ledger had no room.",
    )
    ledger_failing = MetricRow(Gauge, "maitred_ledger_failing", "1 while the ledger cannot be written.")
    answers_restarts = MetricRow(
        Counter,
        "maitred_answers_restarts",
        "Times that the process that answers questions had to be started again.",
    )

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for series in vars(Metrics).values():
            if isinstance(series, MetricRow):
                vars(self)[series.attribute] = series.register(self.registry)
        self._begin_at_zero()
        self.follow(Now())

    def _begin_at_zero(self) -> None:
        """A series that first appears with its first event would hide that event from every rate."""
        for verdict in get_args(Verdict):
            self.verdicts.labels(verdict)
        for result in ("bound", *RefusalReason):
            self.binds.labels(str(result))
        for result in ("accepted", "refused"):
            self.policy_loads.labels(result)
        for how in ("suspend", "delete"):
            self.evictions.labels(how)
        for family in HARD:
            for rule in FAILURE_RULES[:-1]:  # of what is left alone nothing is remembered
                self.incidents.labels(family, rule)
        for kind in ("group", "pod"):
            for result in ("done", "failed"):
                self.notices.labels(kind, result)

    def follow(self, now: Now) -> None:
        """Gauges are read when they are asked for, so that they are never older than that."""
        self.waiting_pods.set_function(now.waiting_pods)
        self.assumed_pods.set_function(now.assumed_pods)
        self.short_groups.set_function(now.short_groups)
        self.contested_devices.set_function(now.contested_devices)
        self.hurt_groups.set_function(now.hurt_groups)
        self.groups_at_risk.set_function(now.groups_at_risk)
        self.not_in_ledger.set_function(now.not_in_ledger)
        self.ledger_failing.set_function(now.ledger_failing)
        for category in CATEGORIES:
            self.waiting_groups.labels(category).set_function(partial(now.waiting_groups, category))

    def policy_read(self, accepted: bool) -> None:
        self.policy_loads.labels("accepted" if accepted else "refused").inc()

    def seated(self, order: Order) -> None:
        self.seating_seconds.observe(order.settled_at - order.ordered_at)
        self.binds.labels("bound").inc(order.bound)
        for _, refusal in order.refused:
            self.binds.labels(str(refusal.why)).inc()

    def evicted(self, evictions: Iterable[Eviction]) -> None:
        for eviction in evictions:
            self.evictions.labels(eviction.receipt.departure.by).inc()
            self.lost.inc(eviction.receipt.work_lost_device_hours)

    def cycle(self, plan: Plan, seconds: float) -> None:
        self.cycles.inc()
        self.cycle_seconds.observe(seconds)
        if plan.search_exhausted:
            self.exhausted.inc()
        self.cut_groups.inc(sum(was_cut(group) for group in plan.decisions))
        for verdict, count in Tally(group.verdict for group in plan.decisions).items():
            self.verdicts.labels(verdict).inc(count)
