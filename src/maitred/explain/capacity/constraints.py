"""Which topology constraints drive pending time, and who would start if each were one level wider.

Both are tried by the engine, in the order of turns: whether a group fits in its turn if it may sit anywhere,
and who would start if all that wait under the constraint might sit within the next wider level.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import msgspec

from maitred.decide.levels import position_of
from maitred.explain.capacity.document import Constraint
from maitred.explain.capacity.survey import SECONDS_PER_HOUR, Survey
from maitred.explain.capacity.widening import seated_alone, started_together
from maitred.explain.remedies.rehearsal import RankedGroup
from maitred.model.group import TopologyRequest

MOST_CONSTRAINTS = 8


@dataclass(frozen=True, slots=True, order=True)
class ConstraintKind:
    level: str
    """Its key."""
    constraint: Literal["required", "slice"]


def constraints(survey: Survey) -> tuple[Constraint, ...]:
    """Those with most devices waiting first."""
    survey.begin()
    ranked_groups: dict[ConstraintKind, list[RankedGroup]] = {}
    for ranked in survey.waiting:
        for kind in _kinds(survey, ranked):
            ranked_groups.setdefault(kind, []).append(ranked)
    by_weight = sorted(
        ranked_groups, key=lambda kind: (-_devices(survey, ranked_groups[kind]), kind.level, kind.constraint)
    )
    if len(by_weight) > MOST_CONSTRAINTS:
        survey.notes.append(
            f"{len(by_weight) - MOST_CONSTRAINTS} levels for which fewer devices wait are not shown"
        )
    return tuple(_constraint(survey, kind, ranked_groups[kind]) for kind in by_weight[:MOST_CONSTRAINTS])


def _kinds(survey: Survey, ranked: RankedGroup) -> Iterator[ConstraintKind]:
    request = ranked.view.group.topology
    if request.required:
        yield ConstraintKind(survey.context.key(request.required), "required")
    if request.slice_size:
        yield ConstraintKind(survey.context.key(request.slice_level), "slice")


def _devices(survey: Survey, ranked_groups: list[RankedGroup]) -> int:
    return sum(map(survey.counted_of, ranked_groups))


def _constraint(survey: Survey, kind: ConstraintKind, ranked_groups: list[RankedGroup]) -> Constraint:
    wider = _wider(survey, kind)
    blocked = seated_alone(survey, ranked_groups, _anywhere)
    started = started_together(survey, ranked_groups, partial(_one_wider, survey, kind))
    waits = survey.situation.history.waits
    known = survey.situation.history.since is not None
    because = sum(waits.get(ranked.view.group.key, {}).get("Topology", 0.0) for ranked in ranked_groups)
    return Constraint(
        constraint=kind.constraint,
        level=survey.context.name(kind.level),
        groups=len(ranked_groups),
        devices=_devices(survey, ranked_groups),
        waited_hours=_waited(survey, ranked_groups),
        because_hours=round(because / SECONDS_PER_HOUR, 2) if known else None,
        blocked=len(blocked),
        blocked_hours=_waited(survey, blocked),
        wider=survey.context.name(wider) if wider else None,
        would_start=tuple(ranked.view.group.key for ranked in started or ()),
        devices_started=_devices(survey, started or []),
        tried=started is not None,
    )


def _waited(survey: Survey, ranked_groups: list[RankedGroup]) -> float:
    return round(sum(map(survey.waited, ranked_groups)), 2)


def _wider(survey: Survey, kind: ConstraintKind) -> str:
    """The key of the next wider level; empty for the whole cluster."""
    place = position_of(kind.level, survey.context.levels)
    return survey.context.levels[place - 1].key if place else ""


def _anywhere(request: TopologyRequest) -> TopologyRequest:
    return TopologyRequest(preferred=request.preferred)


def _one_wider(survey: Survey, kind: ConstraintKind, request: TopologyRequest) -> TopologyRequest:
    wider = _wider(survey, kind)
    if kind.constraint == "required":
        return msgspec.structs.replace(request, required=wider, annotated="")
    outer = survey.context.key(request.required) if request.required else ""
    size = 0 if not wider or wider == outer else request.slice_size
    return msgspec.structs.replace(request, slice_level=wider, slice_size=size)
