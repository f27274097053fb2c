"""Can the next gang be placed: the largest that could be, by shape, by priority and by level.

The count is the engine's own: copies of the shape on every node, added up by domain. It is exact, since pods
of these shapes mind nobody: where so many copies fit, a gang of as many is seated, and no larger one.
"""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.trial import Trial
from maitred.decide.compile import make_rules
from maitred.decide.preemption.units import Units
from maitred.explain.capacity.document import Gangs, Largest, Placeable, PlaceablePriority
from maitred.explain.capacity.shapes import shapes
from maitred.explain.capacity.survey import Survey, with_shapes
from maitred.model.policy import Level, preempts
from maitred.model.priority import PriorityClass

MOST_PRIORITIES = 4
OUR_NAME = "maitred"


def placeable(survey: Survey) -> tuple[Placeable, ...]:
    candidates = shapes(survey)
    snapshot, numbers = with_shapes(survey.snapshot, [(each.needs, each.devices) for each in candidates])
    ranks: list[list[PlaceablePriority]] = [[] for _ in candidates]
    for priority in _priorities(survey):
        now, leaving = survey.left_for(priority, snapshot)
        later = _with_room(survey, now, leaving, priority)
        for number, found in zip(numbers, ranks, strict=True):
            found.append(_rank(survey, priority, _gangs(survey, number, now, later)))
    return tuple(
        Placeable(candidate.shape, tuple(found)) for candidate, found in zip(candidates, ranks, strict=True)
    )


def _priorities(survey: Survey) -> list[int]:
    """High to low: the highest and the lowest in use, and those of most pods."""
    used = survey.pods_by_priority
    if len(used) <= MOST_PRIORITIES:
        return sorted(used, reverse=True)
    ends = {max(used), min(used)}
    others = sorted(set(used) - ends, key=lambda priority: (-used[priority], -priority))
    survey.notes.append(f"{len(used) - MOST_PRIORITIES} less common priorities are not shown")
    return sorted({*ends, *others[: MOST_PRIORITIES - len(ends)]}, reverse=True)


def _with_room(survey: Survey, now: Trial, leaving: Mask, priority: int) -> Trial | None:
    """The cluster once all have left who are leaving or may be made to; None if there is nobody."""
    policy, evictable = survey.policy, survey.evictable
    classes = _classes(survey, priority)
    never = bool(classes) and all(each.preemption_policy == "Never" for each in classes)
    if never or not preempts(policy):
        return None
    ripe = evictable.below(priority, (survey.situation.scheduler or OUR_NAME,)) & ~leaving
    ripe &= evictable.protected_until <= survey.now
    units = Units(evictable, ~leaving, ripe)
    if not len(units) and not leaving.any():
        return None
    later = now.ahead(leaving)
    later.evict(np.unique(units.pods))
    return later


def _rank(survey: Survey, priority: int, gangs: tuple[Gangs, ...]) -> PlaceablePriority:
    ahead = sum(ranked.priority > priority for ranked in survey.waiting)
    classes = _classes(survey, priority)
    return PlaceablePriority(priority, classes[0].metadata.name if classes else "", ahead, gangs)


def _classes(survey: Survey, priority: int) -> list[PriorityClass]:
    """Priority classes of that value, by name."""
    found = (each for each in survey.snapshot.priority_classes.values() if each.value == priority)
    return sorted(found, key=lambda each: each.metadata.name)


def _gangs(survey: Survey, number: int, now: Trial, later: Trial | None) -> tuple[Gangs, ...]:
    have = _copies(survey, number, now)
    could = None if later is None else _copies(survey, number, later)
    levels: Sequence[Level | None] = (None, *survey.context.levels)
    return tuple(
        Gangs(
            level=None if level is None else level.name,
            now=_largest(survey, level, have),
            with_room=None if could is None else _largest(survey, level, could),
        )
        for level in levels
    )


def _copies(survey: Survey, number: int, trial: Trial) -> Ints:
    return make_rules(trial, (number,), survey.policy).copies[0]


def _largest(survey: Survey, level: Level | None, copies: Ints) -> Largest:
    if level is None:
        return Largest(int(copies.sum()), None)
    column = survey.snapshot.nodes.column(level.key)
    inside = column.codes >= 0
    sums = np.bincount(column.codes[inside], weights=copies[inside], minlength=1).astype(np.int64)
    best = int(sums.argmax())
    return Largest(int(sums[best]), column.values[best] if sums[best] else None)
