"""How much hardware incomplete groups hold: members sit on nodes, and too few of them to begin."""

import math
from collections.abc import Container, Iterator

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.leaving import lost_nodes
from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, SeatedGroup, Snapshot
from maitred.decide.preemption.evictable import DEVICE_HOUR
from maitred.explain.capacity.document import Incomplete
from maitred.explain.capacity.survey import CORE, Survey
from maitred.model.words import moment

MOST_GROUPS = 20


def incomplete(survey: Survey) -> tuple[Incomplete, ...]:
    """Those that hold most first."""
    found = sorted(_found(survey), key=lambda each: (-sum(each.holds.values()), each.group))
    if len(found) > MOST_GROUPS:
        survey.notes.append(f"{len(found) - MOST_GROUPS} incomplete groups that hold less are not shown")
    return tuple(found[:MOST_GROUPS])


def _found(survey: Survey) -> Iterator[Incomplete]:
    """What is on a lost node holds nothing that anybody could use."""
    snapshot, bound = survey.snapshot, survey.snapshot.bound
    lacking = {view.group.key: min(order[1] for order in view.orders) for view in snapshot.groups}
    scheduled = {verdict.group for verdict in survey.plan.decisions if verdict.verdict == "Scheduled"}
    dead = lost_nodes(snapshot)[bound.node]
    counted = _counted(snapshot, lacking, dead)
    pods = np.flatnonzero(np.isin(bound.group, list(counted)) & ~dead)
    pods = pods[np.argsort(bound.group[pods], kind="stable")]
    for number, first in zip(*np.unique(bound.group[pods], return_index=True), strict=True):
        group = snapshot.seated[number]
        if group is not None:
            own = pods[first : np.searchsorted(bound.group[pods], number, "right")]
            key = snapshot.tree_of(group.group)
            yield _incomplete(survey, group, counted[number], own, lacking.get(key), key in scheduled)


def _counted(snapshot: Snapshot, lacking: Container[str], dead: Mask) -> dict[int, int]:
    """The groups that are short of their quorum, by number, and how many members run. While others wait,
    that is as decisions count them; else members on lost nodes do not run."""
    bound, found = snapshot.bound, dict[int, int]()
    gone = bound.group[dead & ~bound.terminating & (bound.group != NO_GROUP)]
    lost = np.bincount(gone, minlength=len(snapshot.seated))
    for number, group in enumerate(snapshot.seated):
        if group is not None:
            waits = snapshot.tree_of(group.group) in lacking
            running = group.counted - (0 if waits else int(lost[number]))
            if running < group.group.quorum:
                found[number] = running
    return found


def _incomplete(
    survey: Survey, seated: SeatedGroup, counted: int, pods: Rows, lacking: float | None, starts_now: bool
) -> Incomplete:
    """`lacking`: since when the first of those is there who wait. What members held before, while the group
    was whole, they did not hold in vain; if one has failed or was lost, it is not known when that was."""
    bound, holds, cost = survey.snapshot.bound, dict[str, int](), 0.0
    for pod in pods.tolist():
        for resource, model, requested in survey.has(pod):
            holds[resource] = holds.get(resource, 0) + requested
            cost += requested * (survey.price_of(resource, model) or 0.0)
    started = bound.started[pods]
    was_whole = seated.failed or counted < seated.counted or bool(bound.terminating[pods].any())
    known = (started != UNKNOWN_TIME) & (lacking is not None or not was_whole)
    if lacking is not None and math.isfinite(lacking):
        started = np.maximum(started, round(lacking * 1000))
    amounts = survey.counted_by_pod[pods]
    held = (amounts * np.where(known, np.maximum(survey.now - started, 0), 0)).sum()
    per_unit = 1 if survey.has_devices else CORE
    return Incomplete(
        group=seated.group.key,
        counted=counted,
        quorum=seated.group.quorum,
        holds=holds,
        since=moment(int(started[known].min()) // 1000) if known.any() else None,
        device_hours=round(float(held) / DEVICE_HOUR / per_unit, 2),
        starts_now=starts_now,
        cost_per_hour=round(cost / per_unit, 2) if survey.policy.prices.devices else None,
    )
