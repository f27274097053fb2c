"""The experiment of FGD on maitred's loop: what was published comes out, and least-loss is ahead of it."""

from pathlib import Path

import pytest

from benchmarks.anchors.fgd import ARRIVED, FIRST_SEED, RULES, Case, allocated, compared, published, replay
from maitred.model.policy import Policy
from maitred.simulate.clock import SECOND
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.run import simulate
from maitred.simulate.setup import Setup
from maitred.simulate.traces.workers import crew
from tests.simulate.data import FOLDER, shared
from tests.simulate.runs import node

TOLERANCE = 0.5
"""Percent of all GPUs."""


def folder() -> Path:
    shared("fgd/analysis_allo_discrete.csv.gz")
    return FOLDER


@pytest.mark.slow
def test_published_allocation_and_ours() -> None:
    cases = [Case("default", rule, FIRST_SEED) for rule in RULES]
    found = {case: replay(folder(), case) for case in cases}
    theirs = published(folder())
    ours = {case.rule: figures.allocated for case, figures in found.items()}
    for rule in ("best-fit", "fragmentation-gradient"):
        for figure, arrived in zip(ours[rule], ARRIVED, strict=True):
            seeds = theirs["default", rule, arrived]
            assert figure == pytest.approx(sum(seeds) / len(seeds), abs=TOLERANCE)
    assert min(ours["least-loss"][1:]) >= 95.9
    assert [row[0] for row in compared(folder(), found)] == [f"default, {rule}" for rule in RULES]


def test_allocation_is_the_mean_over_arrivals_that_round_to_the_same_percentage() -> None:
    """On 10 devices arrivals come to 50, 90, 99.6, 100, 100.2 and 130.2 %. The last two find no room."""
    sizes = [(5, 0), (4, 0), (0, 960), (0, 40), (0, 20), (3, 0)]
    crews = [crew(1, 1, "1Gi", gpus, share) for gpus, share in sizes]
    jobs = tuple(
        SimulatedJob(f"j{number}", number * SECOND, (one,), 1, None, patience=0)
        for number, one in enumerate(crews)
    )
    run = simulate(Setup((node("a", gpus=10),), jobs, iter(())), "p", Policy(placement="best-fit"), 1)
    assert allocated(jobs, run) == pytest.approx((90, (99.6 + 100 + 100) / 3, 100))
