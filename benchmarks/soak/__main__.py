"""`python -m benchmarks.soak`: two weeks of mixed priorities on 200 nodes, judged at every Plan.

The scenario is examples/scenarios/priorities.yaml. Whatever must not happen is printed, and then the exit
status is 1: two jobs that evict each other, others who leave in vain, the highest class waiting for lesser
ones, receipts that are not what was lost, and what the independent checker finds in a sample of the Plans.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.figures import say
from benchmarks.report import line, machine
from benchmarks.soak.judge import Judge
from maitred.model.policy import Policy, Topology
from maitred.simulate.faults import Breakdown
from maitred.simulate.results import Run
from maitred.simulate.run import simulate
from maitred.simulate.scenario import Scenario, prepare, read_scenario
from maitred.simulate.scenario.values import ScenarioDuration, duration
from maitred.simulate.setup import Setup
from maitred.simulate.summary import HOUR_S, by_priority

SCENARIO = Path(__file__).parents[2] / "examples" / "scenarios" / "priorities.yaml"
POLICY = "preemption"
SEEDS = 10
CHECKED_EVERY = 20
"""Of the Plans that evict someone, one in so many is checked against the laws."""
Row = tuple[str, ...]
HEADER: Row = (
    "Seed",
    "Jobs",
    "Preemptions",
    "Units",
    "Pods",
    "Most of one job",
    "On places kept",
    "Elsewhere",
    "Excused",
    "Highest class: p99, longest wait (s)",
    "Lost (h)",
    "By receipts (h)",
    "Checked",
    "CPU (s)",
)


class Figures(NamedTuple):
    row: Row
    faults: Sequence[str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--horizon", type=duration, metavar="TIME", help="by default that of the scenario")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at once")
    asked = parser.parse_args()
    seeds = range(1, 1 + asked.seeds)
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = list(heard(seeds, pool.map(partial(soak, asked.horizon), seeds)))
    table = [HEADER, *(figures.row for figures in found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print("\n".join(line(row, widths) for row in table), machine(), sep="\n\n")
    return int(any(figures.faults for figures in found))


def heard(seeds: Sequence[int], found: Iterator[Figures]) -> Iterator[Figures]:
    for seed, figures in zip(seeds, found, strict=True):
        say(f"seed {seed}: {len(figures.faults) or 'no'} faults")
        for fault in figures.faults:
            say(f"  {fault}")
        yield figures


def soak(horizon: ScenarioDuration | None, seed: int) -> Figures:
    scenario = read_scenario(SCENARIO.read_bytes(), SCENARIO.name)
    begun = time.process_time()
    run, judge = judged(scenario, horizon or scenario.horizon, seed, CHECKED_EVERY)
    return Figures(row_of(run, judge, time.process_time() - begun), judge.close())


def judged(scenario: Scenario, horizon: ScenarioDuration | None, seed: int, every: int) -> tuple[Run, Judge]:
    assert horizon is not None
    setup = replace(prepare(scenario, SCENARIO.name, {}, seed), horizon=horizon)
    policy = scenario.policies[POLICY]
    breakdowns = tuple(takewhile(lambda fault: fault.time < horizon, faults_of(scenario, seed)))
    judge = Judge(with_levels(policy, setup), setup.workload, breakdowns, every)
    return simulate(setup, POLICY, policy, seed, watchers=[judge]), judge


def faults_of(scenario: Scenario, seed: int) -> Iterator[Breakdown]:
    """The same as in the run, which uses up its own."""
    return prepare(scenario, SCENARIO.name, {}, seed).faults


def with_levels(policy: Policy, setup: Setup) -> Policy:
    """As a run has it."""
    return msgspec.structs.replace(policy, topology=Topology(setup.levels))


def row_of(run: Run, judge: Judge, seconds: float) -> Row:
    fates, highest = judge.promises.fates, next(iter(by_priority(run.outcomes).values())).wait
    return (
        str(run.seed),
        f"{sum(outcome.end != 'notArrived' for outcome in run.outcomes):,}",
        f"{run.preemptions:,}",
        f"{run.evicted_units:,}",
        f"{run.evicted_pods:,}",
        f"{max(outcome.evictions for outcome in run.outcomes)}",
        f"{fates['kept']:,}",
        f"{fates['elsewhere']:,}",
        f"{fates['ended'] + fates['broken'] + fates['outranked']:,}",
        f"{highest.p99:.0f}, {highest.max:.0f}",
        f"{run.device_seconds['lostToEviction'] / HOUR_S:,.1f}",
        f"{run.receipts_device_seconds / HOUR_S:,.1f}",
        f"{judge.checked} of {judge.plans}",
        f"{seconds:.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())
