"""The six questions of capacity as gauges: answered now and then, in a thread of their own, for Prometheus.
With them goes what queues have, where there are any.

They are the answers of `maitred capacity`, which is where to look for names once a gauge says that something
is wrong. A gauge has no label with the name of a group: there is no end to those.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from maitred.controllers.scheduling.queue_gauges import queue_families
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity, Constraint
from maitred.explain.queues.answer import Queues
from maitred.explain.queues.survey import queues
from maitred.explain.situation import Situation

SECONDS_BETWEEN = 60.0
EVERYWHERE = "cluster"
"""The level of gangs that may be anywhere."""


class CapacityGauges(Collector):
    """One answer at a time; there is nothing to show before the first, or while no scheduler leads."""

    def __init__(self, seconds_between: float = SECONDS_BETWEEN) -> None:
        self._latest: tuple[Capacity, Queues] | None = None
        self._seconds_between = seconds_between

    async def run(self, situation: Callable[[], Situation]) -> None:
        """For as long as a term lasts."""
        thread = ThreadPoolExecutor(1, "survey")
        try:
            while True:
                self._latest = await asyncio.get_running_loop().run_in_executor(thread, surveyed, situation())
                await asyncio.sleep(self._seconds_between)
        finally:
            self._latest = None
            thread.shutdown(wait=False, cancel_futures=True)

    def collect(self) -> Iterator[Metric]:
        if self._latest is not None:
            found, of_queues = self._latest
            yield from families(found)
            yield from queue_families(of_queues)


def surveyed(situation: Situation) -> tuple[Capacity, Queues]:
    return capacity(situation), queues(situation)


Row = tuple[tuple[str, ...], float]


def families(found: Capacity) -> Iterator[Metric]:
    yield gauge("maitred_devices", "Devices of the cluster.", ("resource", "model"), _devices(found))
    yield gauge(
        "maitred_unwell_devices",
        "Devices that nodes have and do not offer: they are unhealthy or tainted, or their device plugin is "
        "not answering or not registered.",
        ("resource", "model"),
        (((one.resource, one.model), one.unwell) for one in found.idle),
    )
    yield gauge(
        "maitred_idle_devices",
        "Devices that no pod holds, by the reason why they are idle.",
        ("resource", "model", "reason"),
        _idle(found),
    )
    yield gauge(
        "maitred_largest_gang",
        "Members of the largest gang that fits within one domain of a level: now, or after evicting all "
        "pods that may be evicted. Members ask for one device or for a whole node.",
        ("member", "resource", "model", "level", "room"),
        _largest(found),
    )
    yield gauge(
        "maitred_fragmented_groups",
        "Groups that wait although enough is free in total, by what would help.",
        ("helps",),
        _fragmented(found),
    )
    yield gauge(
        "maitred_incomplete_groups",
        "Groups that run with fewer members than their quorum.",
        (),
        [((), float(len(found.incomplete)))],
    )
    yield gauge(
        "maitred_incomplete_devices",
        "Devices that incomplete groups hold.",
        ("resource",),
        _incomplete(found),
    )
    yield gauge(
        "maitred_preemption_break_even_hours",
        "Shortest wait from which on waiting costs a group more device-hours than preemption would cost "
        "others.",
        ("allowed",),
        _break_even(found),
    )
    yield from _constraints(found)


def gauge(name: str, what: str, labels: tuple[str, ...], rows: Iterable[Row]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=labels)
    for values, amount in rows:
        family.add_metric(values, amount)
    return family


def _devices(found: Capacity) -> Iterator[Row]:
    return (((one.resource, one.model), one.total) for one in found.idle)


def _idle(found: Capacity) -> Iterator[Row]:
    for one in found.idle:
        by_reason: dict[str, int] = {}
        for part in one.reasons:
            by_reason[part.reason] = by_reason.get(part.reason, 0) + part.devices
        yield from (((one.resource, one.model, reason), count) for reason, count in by_reason.items())


def _largest(found: Capacity) -> Iterator[Row]:
    """Of the shapes that every cluster has, and of the highest priority in use: the others come after it."""
    for placeable in found.placeable:
        shape = placeable.shape
        if shape.kind == "asked" or not placeable.ranks:
            continue
        highest = max(placeable.ranks, key=lambda rank: rank.priority)
        for gangs in highest.gangs:
            asked = next(iter((*shape.requests, *shape.claims)))
            labels = (shape.kind, asked, shape.model, gangs.level or EVERYWHERE)
            yield (*labels, "now"), gangs.now.members
            if gangs.with_room is not None:
                yield (*labels, "preempting"), gangs.with_room.members


def _fragmented(found: Capacity) -> Iterator[Row]:
    counts = {"migration": 0, "drain": 0, "nothing-small": 0, "not-sought": 0}
    for one in found.fragmented:
        helps = one.move.kind if one.move else "nothing-small" if one.sought else "not-sought"
        counts[helps] += 1 + one.alike
    return (((helps,), float(count)) for helps, count in counts.items())


def _incomplete(found: Capacity) -> Iterator[Row]:
    return (
        ((resource,), float(sum(one.holds.get(resource, 0) for one in found.incomplete)))
        for resource in found.resources
    )


def _break_even(found: Capacity) -> Iterator[Row]:
    for allowed in (True, False):
        known = [one.break_even_hours for one in found.preemption if one.allowed is allowed]
        hours = [value for value in known if value is not None]
        if hours:
            yield (str(allowed).lower(),), min(hours)


def _constraints(found: Capacity) -> Iterator[Metric]:
    for name, what, amount in CONSTRAINTS:
        rows = [((one.constraint, one.level), amount(one)) for one in found.constraints]
        yield gauge(f"maitred_constraint_{name}", what, ("constraint", "level"), rows)


CONSTRAINTS: tuple[tuple[str, str, Callable[[Constraint], float]], ...] = (
    ("groups", "Waiting groups that must be within one domain of the level.", lambda one: one.groups),
    (
        "devices",
        "Devices asked for by waiting groups that must be within one domain of the level.",
        lambda one: one.devices,
    ),
    (
        "waited_hours",
        "Total time waited by groups that must be within one domain of the level.",
        lambda one: one.waited_hours,
    ),
    ("blocked_groups", "Waiting groups that would start now without the level.", lambda one: one.blocked),
    (
        "helped_groups",
        "Waiting groups that would start now if the level were one wider.",
        lambda one: len(one.would_start),
    ),
)
