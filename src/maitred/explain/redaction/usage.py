"""What devices were used for, as someone sees it who may look into some namespaces only."""

from collections.abc import Container

from maitred.explain.billing.bill import OTHERS
from maitred.explain.billing.document import Usage, Use


def usage_as_seen_by(usage: Usage, namespaces: Container[str] | None) -> Usage:
    """Without the names and labels of others, of whom one may see the sum; None for who may see all."""
    if namespaces is None:
        return usage
    return Usage(
        uses=tuple(
            use if not use.namespace or use.namespace in namespaces else _of_others(use) for use in usage.uses
        ),
        capacity=usage.capacity,
        observed=usage.observed,
        overrides=tuple(one for one in usage.overrides if one.group.partition("/")[0] in namespaces),
    )


def _of_others(use: Use) -> Use:
    return Use(
        namespace=OTHERS,
        labels={},
        resource=use.resource,
        model=use.model,
        bucket=use.bucket,
        device_milliseconds=use.device_milliseconds,
    )
