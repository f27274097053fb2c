"""Whether those for whom others had to leave got the places that these left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from maitred.simulate.clock import Time
from maitred.simulate.faults import Breakdown
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.seater import Moves, SeatAssignment

Fate = Literal["kept", "elsewhere", "ended", "broken", "outranked", "vain"]
"""Seated on the places that were kept, or on others that became free meanwhile; over before that; a node of
theirs broke; someone more important took one. The last is nobody's to excuse."""


@dataclass(frozen=True, slots=True)
class Promise:
    group: SimulatedGroup
    made: Time
    due: Time
    """When the last of those who leave these nodes is gone."""
    nodes: tuple[str, ...]


class Taken(NamedTuple):
    """Nodes on which someone got seats, or was promised some."""

    time: Time
    priority: int
    nodes: frozenset[str]


class Promises(RunObserver):
    """A watcher of a run whose scheduler decides whenever something happens."""

    def __init__(self, breakdowns: Sequence[Breakdown]) -> None:
        self.fates: Counter[Fate] = Counter()
        self.faults: list[str] = []
        self._breakdowns = breakdowns
        self._open: dict[SimulatedGroup, Promise] = {}
        self._taken: list[Taken] = []
        """Since the oldest promise that is open was made."""

    def moves(self, loop: Simulation, moves: Moves) -> None:
        for seating in moves.seatings:
            self._note_seats(seating)
        if not self._open:
            self._taken = []
        for each in (*moves.seatings, *moves.nominations):
            nodes = frozenset(node for _, node in each.seats)
            self._taken.append(Taken(loop.now, each.group.job.priority, nodes))
        for promise in new_promises(loop, moves):
            self._open_anew(promise)

    def settled(self, loop: Simulation) -> None:
        """Those are overdue whose places have been left and who do not sit."""
        for group, promise in list(self._open.items()):
            if group.phase == Phase.OVER:
                self._close(promise, "ended")
            elif promise.due <= loop.now:
                self._close(promise, self._excuse(promise))

    def _note_seats(self, seating: SeatAssignment) -> None:
        promise = self._open.get(seating.group)
        if promise is not None:
            there = Counter(promise.nodes) <= Counter(node for _, node in seating.seats)
            self._close(promise, "kept" if there else "elsewhere")

    def _open_anew(self, promise: Promise) -> None:
        """If more had to leave for the same group before it was seated, that needs an excuse too."""
        before = self._open.get(promise.group)
        if before is not None:
            self._close(before, self._excuse(before))
        self._open[promise.group] = promise

    def _close(self, promise: Promise, fate: Fate) -> None:
        del self._open[promise.group]
        self.fates[fate] += 1
        if fate == "vain":
            made, nodes = promise.made, ", ".join(promise.nodes)
            self.faults.append(f"others left {nodes} for {promise.group.name} in vain, at {made}")

    def _excuse(self, promise: Promise) -> Fate:
        nodes, priority = set(promise.nodes), promise.group.job.priority
        if any(promise.made <= fault.time and nodes.intersection(fault.nodes) for fault in self._breakdowns):
            return "broken"
        later = [taken for taken in self._taken if taken.time >= promise.made and taken.priority > priority]
        return "outranked" if any(nodes.intersection(taken.nodes) for taken in later) else "vain"


def new_promises(loop: Simulation, moves: Moves) -> Iterator[Promise]:
    """For everyone for whom others are about to leave."""
    if not moves.removals:
        return
    by_name = {group.name: group for group in loop.groups}
    places = {seating.group.name: dict(seating.seats) for seating in moves.nominations}
    for name in dict.fromkeys(removal.preemptor for removal in moves.removals):
        nodes = tuple((places.get(name) or by_name[name].nominated).values())
        gone = [loop.now + r.group.job.grace for r in moves.removals if r.preemptor == name]
        sitters = (sitter for node in set(nodes) for sitter in loop.floor.places[node].sitters)
        leaving = [group.leaving[member] for group, member in sitters if member in group.leaving]
        yield Promise(by_name[name], loop.now, max(gone + leaving), nodes)
