"""How much hardware incomplete groups hold: members sit on nodes, and too few of them to begin."""

import math
from collections.abc import Iterator

import numpy as np

from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, SeatedGroup
from maitred.decide.preemption.evictable import DEVICE_HOUR
from maitred.explain.capacity.document import Incomplete
from maitred.explain.capacity.survey import CORE, Survey
from maitred.model.policy import price_of
from maitred.model.words import moment

MOST_GROUPS = 20


def incomplete(survey: Survey) -> tuple[Incomplete, ...]:
    """Those that hold most first."""
    found = sorted(_found(survey), key=lambda each: (-sum(each.holds.values()), each.group))
    if len(found) > MOST_GROUPS:
        survey.notes.append(f"{len(found) - MOST_GROUPS} incomplete groups that hold less are not shown")
    return tuple(found[:MOST_GROUPS])


def _found(survey: Survey) -> Iterator[Incomplete]:
    bound, seated = survey.snapshot.bound, survey.snapshot.seated
    short = np.array([g is not None and g.counted < g.group.quorum for g in seated] + [False])
    pods = np.flatnonzero(short[bound.group] & (bound.group != NO_GROUP))
    pods = pods[np.argsort(bound.group[pods], kind="stable")]
    lacking = {view.group.key: min(order[1] for order in view.orders) for view in survey.snapshot.groups}
    scheduled = {verdict.group for verdict in survey.plan.decisions if verdict.verdict == "Scheduled"}
    for number, first in zip(*np.unique(bound.group[pods], return_index=True), strict=True):
        group = seated[number]
        if group is not None:
            own = pods[first : np.searchsorted(bound.group[pods], number, "right")]
            key = survey.snapshot.tree_of(group.group)
            yield _incomplete(survey, group, own, lacking.get(key, -math.inf), key in scheduled)


def _incomplete(
    survey: Survey, seated: SeatedGroup, pods: np.ndarray, lacking: float, starts_now: bool
) -> Incomplete:
    """`lacking`: since when the first of those is there who wait. What members held before, while the group
    was whole, they did not hold in vain."""
    bound, holds, cost = survey.snapshot.bound, dict[str, int](), 0.0
    for pod in pods.tolist():
        model = survey.models.names[survey.models.codes[bound.node[pod]]]
        for resource, requested in survey.snapshot.needs[bound.needs[pod]].requests:
            if resource in survey.resources:
                holds[resource] = holds.get(resource, 0) + requested
                cost += requested * (price_of(survey.policy, resource, model) or 0.0)
    started = bound.started[pods]
    known = started != UNKNOWN_TIME
    if math.isfinite(lacking):
        started = np.maximum(started, round(lacking * 1000))
    amounts = survey.counted_by_needs[bound.needs[pods]]
    held = (amounts * np.where(known, np.maximum(survey.now - started, 0), 0)).sum()
    per_unit = 1 if survey.has_devices else CORE
    return Incomplete(
        group=seated.group.key,
        counted=seated.counted,
        quorum=seated.group.quorum,
        holds=holds,
        since=moment(int(started[known].min()) // 1000) if known.any() else None,
        device_hours=round(float(held) / DEVICE_HOUR / per_unit, 2),
        starts_now=starts_now,
        cost_per_hour=round(cost / per_unit, 2) if survey.policy.prices.devices else None,
    )
