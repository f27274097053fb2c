"""Whether those for whom others had to leave got the places that these left."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from maitred.simulate.clock import Time
from maitred.simulate.faults import Fault
from maitred.simulate.loop import Loop, Watcher
from maitred.simulate.party import Party, Phase
from maitred.simulate.seating.seater import Moves, Seating

Fate = Literal["kept", "elsewhere", "ended", "broken", "outranked", "vain"]
"""Seated on the places that were kept, or on others that became free meanwhile; over before that; a node of
theirs broke; someone more important took one. The last is nobody's to excuse."""


@dataclass(frozen=True, slots=True)
class Promise:
    party: Party
    made: Time
    due: Time
    """When the last of those who leave these nodes is gone."""
    nodes: tuple[str, ...]


class Taken(NamedTuple):
    """Nodes on which someone got seats, or was promised some."""

    time: Time
    priority: int
    nodes: frozenset[str]


class Promises(Watcher):
    """A watcher of a run whose scheduler decides whenever something happens."""

    def __init__(self, breakdowns: Sequence[Fault]) -> None:
        self.fates: Counter[Fate] = Counter()
        self.faults: list[str] = []
        self._breakdowns = breakdowns
        self._open: dict[Party, Promise] = {}
        self._taken: list[Taken] = []
        """Since the oldest promise that is open was made."""

    def moves(self, loop: Loop, moves: Moves) -> None:
        for seating in moves.seatings:
            self._note_seats(seating)
        if not self._open:
            self._taken = []
        for each in (*moves.seatings, *moves.nominations):
            nodes = frozenset(node for _, node in each.seats)
            self._taken.append(Taken(loop.now, each.party.job.priority, nodes))
        for promise in new_promises(loop, moves):
            self._open_anew(promise)

    def settled(self, loop: Loop) -> None:
        """Those are overdue whose places have been left and who do not sit."""
        for party, promise in list(self._open.items()):
            if party.phase == Phase.OVER:
                self._close(promise, "ended")
            elif promise.due <= loop.now:
                self._close(promise, self._excuse(promise))

    def _note_seats(self, seating: Seating) -> None:
        promise = self._open.get(seating.party)
        if promise is not None:
            there = Counter(promise.nodes) <= Counter(node for _, node in seating.seats)
            self._close(promise, "kept" if there else "elsewhere")

    def _open_anew(self, promise: Promise) -> None:
        """If more had to leave for the same party before it was seated, that needs an excuse too."""
        before = self._open.get(promise.party)
        if before is not None:
            self._close(before, self._excuse(before))
        self._open[promise.party] = promise

    def _close(self, promise: Promise, fate: Fate) -> None:
        del self._open[promise.party]
        self.fates[fate] += 1
        if fate == "vain":
            made, nodes = promise.made, ", ".join(promise.nodes)
            self.faults.append(f"others left {nodes} for {promise.party.name} in vain, at {made}")

    def _excuse(self, promise: Promise) -> Fate:
        nodes, priority = set(promise.nodes), promise.party.job.priority
        if any(promise.made <= fault.time and nodes.intersection(fault.nodes) for fault in self._breakdowns):
            return "broken"
        later = [taken for taken in self._taken if taken.time >= promise.made and taken.priority > priority]
        return "outranked" if any(nodes.intersection(taken.nodes) for taken in later) else "vain"


def new_promises(loop: Loop, moves: Moves) -> Iterator[Promise]:
    """For everyone for whom others are about to leave."""
    if not moves.removals:
        return
    by_name = {party.name: party for party in loop.parties}
    places = {seating.party.name: dict(seating.seats) for seating in moves.nominations}
    for name in dict.fromkeys(removal.preemptor for removal in moves.removals):
        nodes = tuple((places.get(name) or by_name[name].nominated).values())
        gone = [loop.now + r.party.job.grace for r in moves.removals if r.preemptor == name]
        sitters = (sitter for node in set(nodes) for sitter in loop.floor.places[node].sitters)
        leaving = [party.leaving[member] for party, member in sitters if member in party.leaving]
        yield Promise(by_name[name], loop.now, max(gone + leaving), nodes)
