"""Who goes first where the API does not say: by run time, by the work that is left, by service attained."""

import math
from collections.abc import Callable, Mapping

from maitred.model.policy import AnyOrder, Order
from maitred.simulate.clock import HOUR, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import WHOLE

Measure = Callable[[SimulatedGroup, Time], float]

SHORT_SERVICE = HOUR * WHOLE
"""One device for an hour: the least service in which attained services are told apart."""


def _by_nothing(group: SimulatedGroup, now: Time) -> float:
    return 0.0


def _run_time(group: SimulatedGroup, now: Time) -> float:
    return math.inf if group.job.run_time is None else group.job.run_time


def _remaining_time(group: SimulatedGroup, now: Time) -> float:
    work, remaining = group.job.work, group.remaining(now)
    if remaining is None or work is None or not group.job.run_time:
        return math.inf if remaining is None else 0.0
    return remaining / (work // group.job.run_time)


def _remaining_service(group: SimulatedGroup, now: Time) -> float:
    remaining = group.remaining(now)
    return math.inf if remaining is None else remaining


def _attained_service(group: SimulatedGroup, now: Time) -> float:
    """In steps that double. Two groups that are level would otherwise take turns at every look."""
    return (group.attained(now) // SHORT_SERVICE).bit_length()


MEASURES: Mapping[Order, Measure] = {
    "shortest": _run_time,
    "shortest-remaining": _remaining_time,
    "shortest-service": _remaining_service,
    "least-attained": _attained_service,
}


def measure_of(order: AnyOrder) -> Measure:
    """Where the order has none, all are alike."""
    return MEASURES.get(order, _by_nothing) if isinstance(order, str) else _by_nothing
