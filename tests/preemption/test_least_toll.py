"""The victims that are chosen cost no more than the best that brute force finds, and no law is broken.

Costs are compared part by part: violations of budgets, the highest priority touched, work lost, units, pods.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pytest

from maitred.verify import verify
from tests.oracle.effort import examples
from tests.preemption.brute import Best, Toll, least_toll
from tests.preemption.cases import Case, case
from tests.preemption.greedy import cheapest_first, everybody_then_reprieve
from tests.preemption.reading import Obj
from tests.support import decide

PARTS = ("violations", "highestPriority", "workLostSteps", "units", "pods")
CHUNK = 200
CHUNKS = examples(4).max_examples
"""800 cases, and 8,000 under the profile ``explore``; in a few the group fits, or nothing helps it."""
MOST_MISSES = 0.01


@dataclass(frozen=True)
class Miss:
    """A case whose victims cost more than they had to."""

    case: Case
    best: Best | None
    paid: Toll | None

    def __str__(self) -> str:
        gap = "no victims" if self.paid is None or self.best is None else self._gap(self.paid, self.best)
        return f"seed {self.case.seed} ({self.case.twist}): paid {self.paid}, best is {self.best}: {gap}"

    @staticmethod
    def _gap(paid: Toll, best: Best) -> str:
        parts = zip(PARTS, paid, best.toll, strict=True)
        return next(f"{mine - least:+} {part}" for part, mine, least in parts if mine != least)


def paid(plan: Obj) -> Toll | None:
    """What a Plan says that its victims cost; None if it has none."""
    tolls = {tuple(eviction["receipt"]["toll"][part] for part in PARTS) for eviction in plan["evictions"]}
    if not tolls:
        return None
    ((violations, priority, steps, units, pods),) = tolls
    return violations, priority, steps, units, pods


def misses(seeds: Iterable[int]) -> tuple[list[Miss], int]:
    """The cases that cost too much, and how many called for victims at all. No law may be broken in any."""
    found, counted = [], 0
    for seed in seeds:
        made = case(seed)
        best = least_toll(made.objects, made.now)
        plan = decide(made.objects, now=made.now)
        assert verify(made.objects, plan, now=datetime.fromisoformat(made.now)) == [], made
        needed = best is not None and best.toll[3] > 0
        counted += needed
        if not needed:
            fits = best is not None
            assert plan["evictions"] == [], (made.seed, "nobody needs to go, or it does not help")
            assert (plan["groups"][0]["verdict"] == "Scheduled") == fits, made.seed
        elif best is not None and paid(plan) != best.toll:
            found.append(Miss(made, best, paid(plan)))
    return found, counted


def check(seeds: range) -> int:
    found, counted = misses(seeds)
    report = "\n".join(map(str, found))
    print(f"{counted} cases, {len(found)} cost more than the best\n{report}")  # noqa: T201
    assert len(found) <= MOST_MISSES * counted, report
    return counted


def test_the_victims_cost_as_little_as_brute_force_finds() -> None:
    assert check(range(CHUNK)) > 0.85 * CHUNK


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_victims_cost_as_little_as_brute_force_finds_at_length(chunk: int) -> None:
    start = 10_000 + chunk * CHUNK
    assert check(range(start, start + CHUNK)) > 0.85 * CHUNK


def test_in_half_of_the_cases_a_greedy_choice_goes_wrong() -> None:
    """Else the comparison would prove little."""
    wrong = counted = 0
    for seed in range(CHUNK):
        made = case(seed)
        best = least_toll(made.objects, made.now)
        if best is None or not best.toll[3]:
            continue
        counted += 1
        greedy = [choose(made.objects, made.now) for choose in (cheapest_first, everybody_then_reprieve)]
        wrong += any(toll != best.toll for toll in greedy)
    assert wrong > counted / 2
