"""Which topology constraints drive pending time, and who would start if each were one level wider.

Both are tried by the engine on what is left: whether a group fits if it may sit anywhere, and, one group
after the other in the order of their turns, whether it fits within the next wider level.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from maitred.decide.ask import Ask, ask_of
from maitred.decide.attempt import quorum_of
from maitred.decide.levels import position_of
from maitred.decide.seating import commit
from maitred.explain.capacity.document import Constraint
from maitred.explain.capacity.survey import Survey
from maitred.explain.rehearsal import Entry
from maitred.model.group import TopologyRequest

MOST_CONSTRAINTS = 8
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    level: str
    """Its key."""
    constraint: Literal["required", "slice"]


def constraints(survey: Survey) -> tuple[Constraint, ...]:
    """Those with most devices waiting first."""
    entries: dict[Kind, list[Entry]] = {}
    for entry in survey.waiting:
        for kind in _kinds(survey, entry):
            entries.setdefault(kind, []).append(entry)
    by_weight = sorted(
        entries, key=lambda kind: (-_devices(survey, entries[kind]), kind.level, kind.constraint)
    )
    if len(by_weight) > MOST_CONSTRAINTS:
        survey.notes.append(f"{len(by_weight) - MOST_CONSTRAINTS} levels with less waiting are left out")
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
    blocked = _served(survey, kind, entries, everywhere=True)
    started = _served(survey, kind, entries, everywhere=False)
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
        would_start=tuple(entry.view.group.key for entry in started),
        devices_started=_devices(survey, started),
    )


def _waited(survey: Survey, entries: list[Entry]) -> float:
    return round(sum(map(survey.waited, entries)), 2)


def _wider(survey: Survey, kind: Kind) -> str:
    """The key of the next wider level; empty for the whole cluster."""
    place = position_of(kind.level, survey.house.levels)
    return survey.house.levels[place - 1].key if place else ""


def _served(survey: Survey, kind: Kind, entries: list[Entry], everywhere: bool) -> list[Entry]:
    """Who would be seated: each alone if it may sit anywhere, or all in turn within the wider level."""
    trial, too_large, served = survey.settled, set[Hashable](), list[Entry]()
    checkpoint = trial.checkpoint()
    for entry in entries:
        if survey.effort.spent:
            survey.note_effort()
            break
        kin = survey.stage.kin(entry)
        if kin in too_large:
            continue
        ask = _changed(survey, kind, ask_of(entry.view), everywhere)
        seats = survey.stage.seats(trial, ask, survey.quick_house)
        if not seats:
            too_large.add(kin)
            continue
        served.append(entry)
        if not everywhere:
            commit(trial, ask, quorum_of(ask, seats))
    trial.rollback(checkpoint)
    return served


def _changed(survey: Survey, kind: Kind, ask: Ask, everywhere: bool) -> Ask:
    request, wider = ask.topology, _wider(survey, kind)
    if everywhere:
        return replace(ask, topology=TopologyRequest(preferred=request.preferred))
    if kind.constraint == "required":
        return replace(ask, topology=msgspec.structs.replace(request, required=wider, annotated=""))
    outer = survey.house.key(request.required) if request.required else ""
    size = 0 if not wider or wider == outer else request.slice_size
    return replace(ask, topology=msgspec.structs.replace(request, slice_level=wider, slice_size=size))
