"""Can the next gang be placed: the largest that could be, by shape, by priority and by level.

The count is the engine's own: copies of the shape on every node, added up by domain. It is exact, since pods
of these shapes mind nobody: where so many copies fit, a gang of as many is seated, and no larger one.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.trial import Trial
from maitred.decide.compile import make_rules
from maitred.decide.preemption.units import Units
from maitred.explain.capacity.document import Capacity, Gangs, Largest, Placeable, Rank
from maitred.explain.capacity.shapes import Candidate, shapes
from maitred.explain.capacity.survey import Survey, with_shapes
from maitred.model.policy import Level

MOST_PRIORITIES = 4
OUR_NAME = "maitred"


def placeable(survey: Survey) -> tuple[Placeable, ...]:
    candidates = shapes(survey)
    snapshot, numbers = with_shapes(survey.snapshot, [candidate.needs for candidate in candidates])
    ranks: list[list[Rank]] = [[] for _ in candidates]
    for priority in _priorities(survey):
        now, leaving = survey.left_for(priority, snapshot)
        later = _with_room(survey, now, leaving, priority)
        for number, candidate, found in zip(numbers, candidates, ranks, strict=True):
            found.append(_rank(survey, priority, _gangs(survey, candidate, number, now, later)))
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
    survey.notes.append(f"{len(used) - MOST_PRIORITIES} priorities that fewer pods have are left out")
    return sorted({*ends, *others[: MOST_PRIORITIES - len(ends)]}, reverse=True)


def _with_room(survey: Survey, now: Trial, leaving: np.ndarray, priority: int) -> Trial | None:
    """The cluster once all who may be made to leave for such a gang have left; None if nobody may be."""
    policy, roster = survey.policy, survey.roster
    if policy.preemption.mode == "never" or policy.order != "priority":
        return None
    ripe = roster.below(priority, (survey.scene.scheduler or OUR_NAME,)) & ~leaving
    ripe &= roster.protected_until <= survey.now
    units = Units(roster, ~leaving, ripe)
    if not len(units):
        return None
    later = now.ahead(leaving)
    later.evict(np.unique(units.pods))
    return later


def _rank(survey: Survey, priority: int, gangs: tuple[Gangs, ...]) -> Rank:
    ahead = sum(entry.priority > priority for entry in survey.waiting)
    names = sorted(n for n, c in survey.snapshot.priority_classes.items() if c.value == priority)
    return Rank(priority, names[0] if names else "", ahead, gangs)


def _gangs(
    survey: Survey, candidate: Candidate, number: int, now: Trial, later: Trial | None
) -> tuple[Gangs, ...]:
    have = _copies(survey, number, now)
    could = None if later is None else _copies(survey, number, later)
    levels: Sequence[Level | None] = (None, *survey.house.levels)
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


# -- a gang of some size -----------------------------------------------------------------------------------


def asked_about(capacity: Capacity, gang: int) -> Capacity:
    """The same, and whether a gang of that many members could be placed."""
    answered = tuple(
        msgspec.structs.replace(
            each,
            ranks=tuple(
                msgspec.structs.replace(
                    rank, gangs=tuple(msgspec.structs.replace(g, fits=_fits(g, gang)) for g in rank.gangs)
                )
                for rank in each.ranks
            ),
        )
        for each in capacity.placeable
    )
    return msgspec.structs.replace(capacity, gang=gang, placeable=answered)


def _fits(gangs: Gangs, gang: int) -> Literal["now", "with-room", "no"]:
    if gang <= gangs.now.members:
        return "now"
    return "with-room" if gangs.with_room is not None and gang <= gangs.with_room.members else "no"
