"""What devices were used for, as someone sees it who may look into some namespaces only."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator

import msgspec

from maitred.explain.billing.bill import OTHERS
from maitred.explain.billing.document import Usage, Use, UsedEviction
from maitred.model.queues import QUEUE


def usage_as_seen_by(usage: Usage, namespaces: Container[str] | None) -> Usage:
    """Without the names and labels of others, of whom one may see the sum; None for who may see all."""
    if namespaces is None:
        return usage
    queues = {use.labels[QUEUE] for use in usage.uses if use.namespace in namespaces and QUEUE in use.labels}
    return Usage(
        uses=tuple(
            use if not use.namespace or use.namespace in namespaces else _of_others(use) for use in usage.uses
        ),
        capacity=usage.capacity,
        observed=usage.observed,
        overrides=tuple(one for one in usage.overrides if one.group.partition("/")[0] in namespaces),
        evictions=tuple(_evictions_as_seen_by(usage.evictions, namespaces)),
        lent={queue: amount for queue, amount in usage.lent.items() if queue in queues},
    )


def _evictions_as_seen_by(
    evictions: Iterable[UsedEviction], namespaces: Container[str]
) -> Iterator[UsedEviction]:
    """Of others only how many pods left, for which cause, and what was lost. A request to drain nodes is in
    no namespace, and its name is the administrators'."""
    pods, lost = Counter[UsedEviction](), Counter[UsedEviction]()
    for one in evictions:
        seen = msgspec.structs.replace(one, pods=0, lost_device_milliseconds=0)
        if one.group.partition("/")[0] not in namespaces:
            seen = msgspec.structs.replace(seen, group=OTHERS, queue="")
        if "/" not in one.evictor or one.evictor.partition("/")[0] not in namespaces:
            seen = msgspec.structs.replace(seen, evictor=OTHERS, evictor_queue="")
        pods[seen] += one.pods
        lost[seen] += one.lost_device_milliseconds
    for seen, count in pods.items():
        yield msgspec.structs.replace(seen, pods=count, lost_device_milliseconds=lost[seen])


def _of_others(use: Use) -> Use:
    return Use(
        namespace=OTHERS,
        labels={},
        resource=use.resource,
        model=use.model,
        bucket=use.bucket,
        device_milliseconds=use.device_milliseconds,
        surcharge=use.surcharge,
    )
