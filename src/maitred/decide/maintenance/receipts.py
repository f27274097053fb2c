"""Receipts of maintenance: for which request each pod leaves, what that costs, and how it leaves."""

from collections import Counter
from collections.abc import Iterator, Sequence

from maitred.cluster.snapshot import Occupant
from maitred.decide.maintenance.moving import MoveSearch, Moving
from maitred.decide.preemption.evictable import OwnerOfPods, device_hours, owner_of
from maitred.decide.preemption.receipts import Departures
from maitred.model.drain import MAINTENANCE, Drain
from maitred.model.plan import Eviction, Receipt, Toll
from maitred.model.words import moment


def maintenance_evictions(
    moves: MoveSearch, told: Sequence[Moving], failing: Counter[OwnerOfPods]
) -> list[Eviction]:
    """One for each pod that leaves now; `failing`: how many of each owner leave, for whatever reason."""
    found = list[Eviction]()
    for drain in {moving.mover.drain.name: moving.mover.drain for moving in told}.values():
        of_drain = [moving for moving in told if moving.mover.drain is drain]
        chosen = moves.units.chosen([moves.unit_of[int(one.mover.pods[0])] for one in of_drain])
        departures = Departures(moves.units, chosen, failing)
        toll, broken = moves.units.toll(chosen), moves.units.broken_budgets(chosen)
        for moving in of_drain:
            unit = moves.unit_of[int(moving.mover.pods[0])]
            budgets = tuple(name for name, speaks_of in broken.items() if speaks_of[unit])
            found += _of(moves, moving, drain, toll, budgets, departures)
    return sorted(found, key=lambda one: (one.preemptor, one.receipt.unit, one.pod))


def _reason(moving: Moving) -> str:
    request = moving.mover.drain.request
    if request.room:
        return "it moves to other nodes, so that a group that waits finds room"
    return f"{request.where} {'are' if len(request.nodes) > 1 else 'is'} drained"


def _of(
    moves: MoveSearch,
    moving: Moving,
    drain: Drain,
    toll: Toll,
    budgets: tuple[str, ...],
    departures: Departures,
) -> Iterator[Eviction]:
    evictable, mover = moves.promises.evictable, moving.mover
    bound, snapshot = evictable.bound, evictable.snapshot
    rule = f"{_reason(moving)}; {mover.timing.why}"
    if moving.seats is None:
        rule = f"{rule}; there is no place for it"
    for pod in mover.pods.tolist():
        occupant: Occupant = bound.occupants[pod]
        group, work = evictable.group_of(pod), int(evictable.work[pod])
        receipt = Receipt(
            unit=mover.name,
            rule=rule,
            priority=mover.priority,
            preemptor_priority=mover.priority,
            work_lost_device_hours=device_hours(work),
            lost_since=moment(int(evictable.lost_since[pod]) // 1000) if work else None,
            budgets=budgets,
            departure=departures.of(owner_of(occupant)),
            toll=toll,
        )
        key = None if group is None else snapshot.tree_of(group)
        yield Eviction(occupant.key, occupant.uid, key, drain.key, MAINTENANCE, receipt)
