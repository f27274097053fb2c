"""What queues may have and what they have, as gauges: the answer of `maitred queues`, for Prometheus.

Queues are named as in the policy, resources and models as the policy and the nodes name them: tenants bring
about no series. A policy may have many queues, so there is an end to those that are shown.
"""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from maitred.explain.queues.answer import BudgetState, QueueAmounts, QueueBookings, Queues, QueueState
from maitred.model.quantity import parse_nano

MOST_QUEUES = 500
NANO = 10**9
BY_RESOURCE = ("queue", "resource", "model")

AMOUNTS: tuple[tuple[str, str, Callable[[QueueAmounts], str | None]], ...] = (
    ("guarantee", "What a queue is guaranteed.", lambda one: one.guarantee),
    ("cap", "The most that a queue has.", lambda one: one.cap),
    ("used", "What pods of a queue use that have a node.", lambda one: one.used),
    ("borrowed", "What groups of a queue use that are not within its guarantee.", lambda one: one.borrowed),
    ("lent", "What a queue leaves of its guarantee and others have.", lambda one: one.lent),
    ("waiting", "What waiting groups of a queue ask for.", lambda one: one.waiting),
)

BUDGETS: tuple[tuple[str, str, Callable[[BudgetState], float]], ...] = (
    ("budget", "What a queue may spend in a period.", lambda one: one.budget),
    ("spent", "What a queue has spent in this period.", lambda one: one.spent),
    (
        "committed",
        "What groups of a queue that run may still spend in this period.",
        lambda one: one.committed,
    ),
)


def queue_families(found: Queues) -> Iterator[Metric]:
    shown = found.queues[:MOST_QUEUES]
    for name, what, of in AMOUNTS:
        family = GaugeMetricFamily(f"maitred_queue_{name}", what, labels=BY_RESOURCE)
        for queue in shown:
            for one in queue.amounts:
                size = of(one)
                if size is not None:
                    family.add_metric((queue.queue, one.resource, one.model), parse_nano(size) / NANO)
        yield family
    yield by_queue("share", "What a queue has of the cluster, by its weight.", shown, lambda one: one.share)
    yield by_queue(
        "waiting_groups", "Groups of a queue that wait.", shown, lambda one: float(one.waiting_groups)
    )
    for name, what, spending in BUDGETS:
        family = GaugeMetricFamily(f"maitred_queue_{name}", what, labels=("queue", "unit"))
        for queue in shown:
            if queue.budget is not None:
                family.add_metric((queue.queue, queue.budget.unit), spending(queue.budget))
        yield family
    yield from booking_families(found.bookings[: MOST_QUEUES + 1])
    hidden = GaugeMetricFamily("maitred_queues_not_shown", f"Queues beyond the first {MOST_QUEUES}.")
    hidden.add_metric((), len(found.queues) - len(shown))
    yield hidden


def booking_families(found: Sequence[QueueBookings]) -> Iterator[Metric]:
    """Groups that are in no queue have the empty name."""
    standing = GaugeMetricFamily(
        "maitred_queue_booked_starts", "Starts that are booked for groups of a queue.", labels=("queue",)
    )
    over = GaugeMetricFamily(
        "maitred_queue_booked_starts_over", "Booked starts that are over.", labels=("queue", "outcome")
    )
    for one in found:
        standing.add_metric((one.queue,), one.standing)
        over.add_metric((one.queue, "kept"), one.kept)
        over.add_metric((one.queue, "broken"), one.broken)
    yield standing
    yield over


def by_queue(
    name: str, what: str, shown: tuple[QueueState, ...], of: Callable[[QueueState], float]
) -> Metric:
    family = GaugeMetricFamily(f"maitred_queue_{name}", what, labels=("queue",))
    for queue in shown:
        family.add_metric((queue.queue,), of(queue))
    return family
