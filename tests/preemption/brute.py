"""The least toll by brute force: every set of victims that break together, bounded by what is known so far.

Each part of a toll can only grow as victims are added, so a branch that costs more than the best set known,
or that does not make room even with everybody who is left, holds no better one. Within what `reading` knows
of a cluster it is exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tests.preemption.reading import Amounts, House, Obj, Reading, Shape, Victim

Toll = tuple[int, int, int, int, int]
"""Violations, highest priority, steps of work lost, units, pods."""
Freed = tuple[tuple[int, Amounts], ...]
"""By node."""

STEP = 600_000
LOWEST = -(2**31)


@dataclass(frozen=True)
class Choice:
    """One thing that can become of a house. `parts` are what else might do, where that would be less."""

    units: tuple[str, ...]
    rank: int
    pods: tuple[Victim, ...]
    freed: Freed
    parts: tuple[Freed, ...] = ()


@dataclass(frozen=True)
class Best:
    """The least toll, and every set of units that costs no more."""

    toll: Toll
    sets: tuple[tuple[str, ...], ...]


def least_toll(objects: Sequence[Obj], now: str) -> Best | None:
    """The best victims for the one group that waits; None where no victims make room for it.

    Nobody at all is a set too: a group that fits as things are costs nothing.
    """
    reading = Reading(objects, now)
    table = Table(reading.free(), reading.rooms(), reading.shapes(), reading.need)
    houses = reading.houses()
    return Search(table, houses, [list(choices(house)) for house in houses], reading.allowed).run()


@dataclass
class Table:
    """What there is, and what the preemptor asks for."""

    free: list[list[int]]
    rooms: list[list[int]]
    """Nodes by the domains that the group may choose from."""
    shapes: list[Shape]
    need: int

    def fits(self, extra: Sequence[Freed] = ()) -> bool:
        for freed in extra:
            self.give(freed, 1)
        found = any(self._fits(room) for room in self.rooms)
        for freed in extra:
            self.give(freed, -1)
        return found

    def give(self, freed: Freed, sign: int) -> None:
        for node, amounts in freed:
            free = self.free[node]
            for kind, amount in enumerate(amounts):
                free[kind] += sign * amount

    def _fits(self, room: list[int]) -> bool:
        if len(self.shapes) == 1:
            asked, nodes, count = self.shapes[0]
            seats = sum(_copies(self.free[node], asked) for node in room if node in nodes)
            return min(seats, count) >= self.need
        return self._fits_two(room)

    def _fits_two(self, room: list[int]) -> bool:
        """For each number of members of the first shape, the most of the second that fit beside them."""
        (first, firsts, many), (second, seconds, more) = self.shapes
        beside = [0] + [LOWEST] * many
        for node in room:
            free = self.free[node]
            most = min(many, _copies(free, first)) if node in firsts else 0
            left = [
                [have - taken * each for have, each in zip(free, first, strict=True)]
                for taken in range(most + 1)
            ]
            with_them = [_copies(rest, second) if node in seconds else 0 for rest in left]
            beside = [
                max(beside[total - taken] + with_them[taken] for taken in range(min(most, total) + 1))
                for total in range(many + 1)
            ]
        return any(total + min(other, more) >= self.need for total, other in enumerate(beside) if other >= 0)


def _copies(free: Sequence[int], asked: Amounts) -> int:
    return max(0, min(have // each for have, each in zip(free, asked, strict=True) if each))


@dataclass
class Search:
    table: Table
    houses: list[House]
    choices: list[list[Choice]]
    allowed: list[int]
    best: Toll | None = None
    sets: list[tuple[str, ...]] = field(default_factory=list)

    def run(self) -> Best | None:
        everybody = [_freed(house.pods) for house in self.houses]
        if self.table.fits(everybody):
            self._descend(everybody, [], [0] * len(self.allowed), 0)
        return None if self.best is None else Best(self.best, tuple(sorted(self.sets)))

    def _descend(self, rest: list[Freed], taken: list[Choice], hits: list[int], work: int) -> None:
        """`rest` is what the houses that are not decided yet could free at most."""
        toll = self._toll(taken, hits, work)
        if self.best is not None and toll > self.best:
            return
        if self.table.fits():
            self._record(toll, taken)
            return
        if not rest:
            return
        later = rest[1:]
        for choice in self.choices[-len(rest)]:
            self._take(choice, hits, 1)
            self._descend(later, [*taken, choice], hits, work + sum(pod.work for pod in choice.pods))
            self._take(choice, hits, -1)
        if self.table.fits(later):
            self._descend(later, taken, hits, work)

    def _take(self, choice: Choice, hits: list[int], sign: int) -> None:
        self.table.give(choice.freed, sign)
        for pod in choice.pods:
            for budget in pod.budgets:
                hits[budget] += sign

    def _toll(self, taken: list[Choice], hits: list[int], work: int) -> Toll:
        return (
            sum(max(0, hit - allowed) for hit, allowed in zip(hits, self.allowed, strict=True)),
            max((choice.rank for choice in taken), default=LOWEST),
            work // STEP,
            sum(len(choice.units) for choice in taken),
            sum(len(choice.pods) for choice in taken),
        )

    def _record(self, toll: Toll, taken: list[Choice]) -> None:
        """A gang that goes whole where the members it can spare would have been enough goes in vain."""
        for choice in taken:
            self.table.give(choice.freed, -1)
            vain = any(self.table.fits([part]) for part in choice.parts)
            self.table.give(choice.freed, 1)
            if vain:
                return
        if self.best is None or toll < self.best:
            self.best, self.sets = toll, []
        self.sets.append(tuple(sorted(unit for choice in taken for unit in choice.units)))


def choices(house: House) -> Iterator[Choice]:
    """Every way to take victims from one house."""
    parts = [picked for count in range(1, house.spare + 1) for picked in combinations(house.pods, count)]
    for picked in parts:
        yield Choice(tuple(pod.name for pod in picked), house.rank, picked, _freed(picked))
    if house.whole:
        enough = tuple(_freed(picked) for picked in parts if len(picked) == house.spare)
        yield Choice((house.name,), house.rank, house.pods, _freed(house.pods), enough)


def _freed(pods: Sequence[Victim]) -> Freed:
    return tuple((pod.node, pod.amounts) for pod in pods)
