"""Two ways to choose victims that are simple and not good enough: what the traps are made for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.preemption.brute import LOWEST, STEP, Choice, Table, Toll, choices
from tests.preemption.reading import Obj, Reading


def cheapest_first(objects: Sequence[Obj], now: str) -> Toll | None:
    """Units by their own toll until there is room; then those that were not needed go back, dearest first."""
    stage = _stage(objects, now)
    taken: list[Choice] = []
    for unit in sorted(stage.units, key=lambda unit: stage.toll([unit])):
        if stage.room(taken):
            break
        taken.append(unit)
    return stage.reprieved(taken, lambda unit: stage.toll([unit]))


def everybody_then_reprieve(objects: Sequence[Obj], now: str) -> Toll | None:
    """All candidates go; then, the most important first, everybody comes back who can."""
    stage = _stage(objects, now)
    return stage.reprieved(stage.units, lambda unit: (unit.rank, len(unit.pods)))


@dataclass
class _Stage:
    table: Table
    units: list[Choice]
    allowed: list[int]

    def room(self, taken: Iterable[Choice]) -> bool:
        return self.table.fits([unit.freed for unit in taken])

    def toll(self, taken: Sequence[Choice]) -> Toll:
        pods = [pod for unit in taken for pod in unit.pods]
        hits = [sum(number in pod.budgets for pod in pods) for number in range(len(self.allowed))]
        return (
            sum(max(0, hit - allowed) for hit, allowed in zip(hits, self.allowed, strict=True)),
            max((unit.rank for unit in taken), default=LOWEST),
            sum(pod.work for pod in pods) // STEP,
            len(taken),
            len(pods),
        )

    def reprieved(self, taken: Iterable[Choice], weight: Callable[[Choice], tuple[int, ...]]) -> Toll | None:
        kept = sorted(taken, key=weight, reverse=True)
        if not self.room(kept):
            return None
        for unit in list(kept):
            rest = [other for other in kept if other is not unit]
            if self.room(rest):
                kept = rest
        return self.toll(kept)


def _stage(objects: Sequence[Obj], now: str) -> _Stage:
    """Gangs go whole here, whatever they can spare."""
    reading = Reading(objects, now)
    table = Table(reading.free(), reading.rooms(), reading.shapes(), reading.need)
    units = [list(choices(house))[-1] for house in reading.houses() if house.whole]
    return _Stage(table, units, reading.allowed)
