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
from maitred.explain.remedies.rehearsal import Entry
from maitred.model.group import TopologyRequest

MOST_CONSTRAINTS = 8


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    level: str
    """Its key."""
    constraint: Literal["required", "slice"]


def constraints(survey: Survey) -> tuple[Constraint, ...]:
    """Those with most devices waiting first."""
    survey.begin()
    entries: dict[Kind, list[Entry]] = {}
    for entry in survey.waiting:
        for kind in _kinds(survey, entry):
            entries.setdefault(kind, []).append(entry)
    by_weight = sorted(
        entries, key=lambda kind: (-_devices(survey, entries[kind]), kind.level, kind.constraint)
    )
    if len(by_weight) > MOST_CONSTRAINTS:
        survey.notes.append(
            f"{len(by_weight) - MOST_CONSTRAINTS} levels for which fewer devices wait are not shown"
        )
    return tuple(_constraint(survey, kind, entries[kind]) for kind in by_weight[:MOST_CONSTRAINTS])


def _kinds(survey: Survey, entry: Entry) -> Iterator[Kind]:
    request = entry.view.group.topology
    if request.required:
        yield Kind(survey.house.key(request.required), "required")
    if request.slice_size:
        yield Kind(survey.house.key(request.slice_level), "slice")


def _devices(survey: Survey, entries: list[Entry]) -> int:
    return sum(map(survey.counted_of, entries))


def _constraint(survey: Survey, kind: Kind, entries: list[Entry]) -> Constraint:
    wider = _wider(survey, kind)
    blocked = seated_alone(survey, entries, _anywhere)
    started = started_together(survey, entries, partial(_one_wider, survey, kind))
    waits = survey.scene.history.waits
    known = survey.scene.history.since is not None
    because = sum(waits.get(entry.view.group.key, {}).get("Topology", 0.0) for entry in entries)
    return Constraint(
        constraint=kind.constraint,
        level=survey.house.name(kind.level),
        groups=len(entries),
        devices=_devices(survey, entries),
        waited_hours=_waited(survey, entries),
        because_hours=round(because / SECONDS_PER_HOUR, 2) if known else None,
        blocked=len(blocked),
        blocked_hours=_waited(survey, blocked),
        wider=survey.house.name(wider) if wider else None,
        would_start=tuple(entry.view.group.key for entry in started or ()),
        devices_started=_devices(survey, started or []),
        tried=started is not None,
    )


def _waited(survey: Survey, entries: list[Entry]) -> float:
    return round(sum(map(survey.waited, entries)), 2)


def _wider(survey: Survey, kind: Kind) -> str:
    """The key of the next wider level; empty for the whole cluster."""
    place = position_of(kind.level, survey.house.levels)
    return survey.house.levels[place - 1].key if place else ""


def _anywhere(request: TopologyRequest) -> TopologyRequest:
    return TopologyRequest(preferred=request.preferred)


def _one_wider(survey: Survey, kind: Kind, request: TopologyRequest) -> TopologyRequest:
    wider = _wider(survey, kind)
    if kind.constraint == "required":
        return msgspec.structs.replace(request, required=wider, annotated="")
    outer = survey.house.key(request.required) if request.required else ""
    size = 0 if not wider or wider == outer else request.slice_size
    return msgspec.structs.replace(request, slice_level=wider, slice_size=size)
