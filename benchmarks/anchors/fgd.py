"""`python -m benchmarks.anchors.fgd [DATA_FOLDER]`: how full pods that share GPUs make a cluster.

The experiment of FGD (ATC '23), beside what was published: the part of all GPUs that is allocated when those
who have come asked for 90 % of them, for 100 % and for 130 %. `openb.yaml` is the scenario. As in the
original, nodes are looked at in an order that is drawn anew with each seed, and ties go to the first.
"""

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.anchors.data import data_folder
from benchmarks.figures import say
from benchmarks.report import line, machine
from maitred.simulate.jobs import WHOLE, Workload
from maitred.simulate.results import Run
from maitred.simulate.run import simulate
from maitred.simulate.scenario import Scenario, prepare, read_scenario
from maitred.simulate.setup import Setup
from maitred.simulate.traces.rows import rows

SCENARIO = Path(__file__).parent / "openb.yaml"
VARIANTS = ("default", "gpushare100", "multigpu50", "gpuspec33", "cpu250")
RULES: Mapping[str, str] = {
    "best-fit": "05-BestFit",
    "fragmentation-gradient": "06-FGD",
    "least-loss": "",
}
"""Policies of the scenario, and under which name figures of them were published."""
ARRIVED = (90, 100, 130)
"""Percent of all GPUs that those who came so far have asked for."""
FIRST_SEED, PUBLISHED_SEEDS = 42, 10
Row = tuple[str, ...]
HEADER: Row = (
    "Pods, rule",
    *(f"{who} @{arrived}" for arrived in ARRIVED for who in ("Ours", "Published")),
    "Took (s)",
)


class Case(NamedTuple):
    variant: str
    rule: str
    seed: int


class Figures(NamedTuple):
    allocated: tuple[float, ...]
    """Percent of all GPUs, when so many are asked for as ARRIVED says."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors.fgd", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=data_folder(), metavar="DATA_FOLDER")
    parser.add_argument("--seeds", type=int, default=PUBLISHED_SEEDS, metavar="N")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at once")
    asked = parser.parse_args()
    if not (asked.folder / "fgd").is_dir():
        parser.error(f"there is no folder {asked.folder / 'fgd'}: name the one above it, or set MAITRED_DATA")
    seeds = range(FIRST_SEED, FIRST_SEED + asked.seeds)
    cases = [Case(*case) for case in product(asked.variants, RULES, seeds)]
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = dict(zip(cases, heard(cases, pool.map(partial(replay, asked.folder), cases)), strict=True))
    table = [HEADER, *compared(asked.folder, found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print("\n".join(line(row, widths) for row in table), machine(), sep="\n\n")
    return 0


def heard(cases: Sequence[Case], found: Iterator[Figures]) -> Iterator[Figures]:
    for case, figures in zip(cases, found, strict=True):
        say(f"{case.variant} {case.rule} {case.seed}: {figures.allocated[-1]:.2f} %")
        yield figures


def compared(folder: Path, found: Mapping[Case, Figures]) -> Iterator[Row]:
    """A row for each variant and rule. Published are means over the original ten seeds."""
    by_rule: defaultdict[tuple[str, str], list[Figures]] = defaultdict(list)
    for case, figures in found.items():
        by_rule[case.variant, case.rule].append(figures)
    theirs = published(folder)
    for (variant, rule), runs in by_rule.items():
        cells = []
        for place, arrived in enumerate(ARRIVED):
            cells.append(spread([figures.allocated[place] for figures in runs]))
            cells.append(spread(theirs.get((variant, rule, arrived), ())))
        yield f"{variant}, {rule}", *cells, f"{statistics.fmean(figures.seconds for figures in runs):.1f}"


def spread(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.2f} ± {statistics.pstdev(values):.2f}" if values else ""


# -- a run -------------------------------------------------------------------------------------------------


def replay(folder: Path, case: Case) -> Figures:
    scenario = scenario_of(case.variant)
    files = {name: (folder / name).read_bytes() for name in scenario.files()}
    setup = in_drawn_order(prepare(scenario, SCENARIO.name, files, case.seed), case.seed)
    begun = time.perf_counter()
    run = simulate(setup, case.rule, scenario.policies[case.rule], case.seed)
    return Figures(allocated(setup.workload, run), time.perf_counter() - begun)


def scenario_of(variant: str) -> Scenario:
    scenario = read_scenario(SCENARIO.read_bytes(), SCENARIO.name)
    (entry,) = scenario.workload
    assert entry.trace is not None
    trace = msgspec.structs.replace(entry.trace, file=entry.trace.file.replace(VARIANTS[0], variant))
    return msgspec.structs.replace(scenario, workload=(msgspec.structs.replace(entry, trace=trace),))


def in_drawn_order(setup: Setup, seed: int) -> Setup:
    order = np.random.default_rng(seed).permutation(len(setup.nodes))
    return replace(setup, nodes=tuple(setup.nodes[place] for place in order))


def allocated(workload: Workload, run: Run) -> tuple[float, ...]:
    """The mean after all arrivals at which what was asked for rounds to the same percentage."""
    loads = np.array([job.load for job in workload])
    seated = np.array([outcome.started is not None for outcome in run.outcomes])
    capacity = run.devices * WHOLE / 100
    asked, held = np.rint(loads.cumsum() / capacity), (loads * seated).cumsum() / capacity
    return tuple(float(held[asked == arrived].mean()) for arrived in ARRIVED)


def published(folder: Path) -> dict[tuple[str, str, int], list[float]]:
    """By variant, rule and percent arrived: that of each seed."""
    file = folder / "fgd" / "analysis_allo_discrete.csv.gz"
    rules = {name: rule for rule, name in RULES.items()}
    found: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows(file.read_bytes(), str(file), ("workload", "sc_policy", *map(str, ARRIVED))):
        rule = rules.get(row.text("sc_policy"))
        for arrived in ARRIVED if rule else ():
            variant = row.text("workload").removeprefix("openb_pod_list_")
            found[variant, str(rule), arrived].append(float(row.number(str(arrived))))
    return found


if __name__ == "__main__":
    sys.exit(main())
