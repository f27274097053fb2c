"""Which moves would make room for groups that wait: who moves when and where to, what that costs, who starts.

The moves are those of `capacity`. The request for them is put to the engine, which says what it would do now.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from maitred.decide.cycle import run
from maitred.decide.maintenance.deciding import Maintenance
from maitred.decide.maintenance.moving import FoundRoom
from maitred.decide.scope import Scope
from maitred.explain.capacity.document import Fragmented
from maitred.explain.capacity.moves import fragmented
from maitred.explain.capacity.survey import Survey
from maitred.explain.maintenance.answer import DefragPlan, Leaving, MadeRoom
from maitred.explain.situation import Situation
from maitred.model.drain import Drain, Making
from maitred.model.manifest import InputError
from maitred.model.words import moment

LATER = "not beside the moves above; it is looked at again once these are done"
TAKEN = "who would move for it moves for another group"
NO_MOVE = "no move of one group, or of all on one node, is enough"


@dataclass(frozen=True, slots=True)
class BlockedGroup:
    """A group that fragmentation blocks, and the move that would help."""

    found: Fragmented
    devices: int
    """That it would use."""

    @property
    def order(self) -> tuple[int, float, str]:
        """Who would use most comes first."""
        lost = 0.0 if self.found.move is None else self.found.move.lost_device_hours
        return -self.devices, lost, self.found.group


def blocked_groups(situation: Situation, names: Collection[str] = ()) -> list[BlockedGroup]:
    """Of these names, if any are given. Raises InputError for a name that is not one of them."""
    survey = Survey(situation)
    found = {one.group: one for one in fragmented(survey)}
    unknown = [name for name in names if name not in found]
    if unknown:
        known = ", ".join(found) or "none"
        what = f"{unknown[0]} does not wait because of fragmentation; groups that do: {known}"
        raise InputError("", "", "", what)
    counted = {ranked.view.group.key: survey.counted_of(ranked) for ranked in survey.waiting}
    chosen = (one for name, one in found.items() if not names or name in names)
    devices = counted if survey.has_devices else Counter[str]()
    return sorted((BlockedGroup(one, devices[one.group]) for one in chosen), key=lambda one: one.order)


def makings_of(blocked: Sequence[BlockedGroup]) -> tuple[Making, ...]:
    """The room to ask for. Who moves for one group does not move for another, too."""
    found, taken = list[Making](), set[str]()
    for one in blocked:
        move = one.found.move
        if move is not None and taken.isdisjoint(move.units):
            taken.update(move.units)
            found.append(Making(one.found.group, move.units))
    return tuple(found)


def defrag_plan(situation: Situation, drain: Drain, blocked: Sequence[BlockedGroup]) -> DefragPlan:
    """The request is one of the situation, if any room is to be made."""
    scope = Scope(situation.scheduler, explained=())
    maintenance = run(situation.snapshot, situation.policy, situation.now, scope).maintenance
    asked = {one.group for one in drain.request.room}
    rooms = (_told(one, asked, maintenance) for one in blocked)
    return DefragPlan(
        name=drain.name,
        now=moment(int(situation.now.timestamp())),
        by=moment(int(drain.request.by.timestamp())),
        rooms=tuple(rooms),
    )


def _told(blocked: BlockedGroup, asked: Collection[str], maintenance: Maintenance) -> MadeRoom:
    one = blocked.found
    bare = MadeRoom(
        group=one.group,
        members=one.needed,
        devices=blocked.devices,
        alike=one.alike,
        units=() if one.move is None else one.move.units,
        leaves="stays",
        why=NO_MOVE if one.move is None else TAKEN,
    )
    room = maintenance.made.get(one.group)
    if one.group not in asked or room is None:
        return bare
    leaves, at, why = _when(room)
    lost = sum(maintenance.lost_at(moving.mover, at) for moving in room.movings) if at is not None else 0.0
    names = maintenance.snapshot.nodes.names
    to = Counter(names[row] for moving in room.movings for places in moving.seats or () for _, row in places)
    return replace(
        bare,
        pods=sum(len(moving.mover.pods) for moving in room.movings),
        leaves=leaves,
        at=None if at is None else moment(at // 1000),
        why=why,
        work_lost_device_hours=round(lost, 4),
        to=dict(sorted(to.items())),
    )


def _when(room: FoundRoom) -> tuple[Leaving, int | None, str]:
    timing = room.makers.first.timing
    if room.makers.stays:
        return "stays", None, room.makers.stays
    if not room.seats:
        return "later", timing.at, LATER
    if all(moving.leaves for moving in room.movings):
        return "now", timing.at, timing.why
    budgets = sorted({name for moving in room.movings for name in moving.budgets})
    if timing.is_due and budgets:
        return "later", timing.at, f"as soon as PodDisruptionBudget {', '.join(budgets)} allows it"
    return "later", timing.at, timing.why
