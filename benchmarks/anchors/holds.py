"""`python -m benchmarks.anchors.holds [DATA_FOLDER]`: what holds do for large gangs on a real trace.

The jobs of ITP on the topology of Lingjun, anywhere and each under one switch, and those of Philly in small
racks, with whole groups. Every job runs as long as in the trace; what differs is what is known of that:
nothing, limits of 1 to 10 times what the job needs, or exact limits. The table is written as in
docs/benchmarks.md. `--save` names a file that keeps runs, so that they are not done again.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.anchors.data import data_folder
from benchmarks.figures import say
from benchmarks.report import machine
from maitred.model.policy import Holds, Policy
from maitred.simulate.run import simulate
from maitred.simulate.scenario import prepare, read_scenario
from maitred.simulate.scenario.document import LimitRange, Scenario

SCENARIOS = ("itp-on-lingjun", "itp-in-racks", "itp-many-workers", "philly-in-racks")
LIMITS: Mapping[str, LimitRange | None] = {
    "none": None,
    "long": LimitRange(1, 10),
    "exact": LimitRange(1, 1),
}
HOLDS: Mapping[str, Holds] = {
    "none": Holds(depth=4, after="20h", idle=5000.0),
    "long": Holds(depth=1),
    "exact": Holds(depth=1),
}
"""By what is known of ends."""
LARGE = 8
"""Devices that a job fits on one node with."""
HOUR = 3600


class Case(NamedTuple):
    scenario: str
    limits: str
    policy: str


class Outcome(msgspec.Struct, frozen=True):
    """What is kept of a run. Waits in hours."""

    case: Case
    mean: float
    by_device: float
    """The mean where a job counts as often as it has devices."""
    by_size: dict[str, tuple[float, float]]
    """Mean and 99th percentile."""
    makespan: float
    cpu_seconds: float


def main() -> int:
    args = arguments().parse_args()
    cases = [
        case
        for scenario in args.scenarios.split(",")
        for case in (
            Case(scenario, "none", "whole-groups"),
            *(Case(scenario, limits, "holds") for limits in args.limits.split(",")),
        )
    ]
    outcomes = gather(cases, args.folder, args.jobs, args.save)
    print("\n".join(table(outcomes)), machine(), sep="\n\n")
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors.holds", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=data_folder(), metavar="DATA_FOLDER")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--limits", default=",".join(LIMITS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--save", type=Path, help="a file of results, which are added to it")
    return parser


# -- runs --------------------------------------------------------------------------------------------------


def gather(cases: Sequence[Case], folder: Path, jobs: int, save: Path | None) -> list[Outcome]:
    known = {one.case: one for one in load(save)}
    left = [(case, folder) for case in cases if case not in known]
    with get_context("spawn").Pool(jobs) as pool:
        for outcome in pool.imap_unordered(play, left):
            say(f"{', '.join(outcome.case)}: {outcome.cpu_seconds:.0f} s of CPU")
            known[outcome.case] = outcome
            if save is not None:
                with save.open("ab") as file:
                    file.write(msgspec.json.encode(outcome) + b"\n")
    return [known[case] for case in cases]


def load(save: Path | None) -> list[Outcome]:
    if save is None or not save.exists():
        return []
    return [msgspec.json.decode(line, type=Outcome) for line in save.read_bytes().splitlines()]


def play(what: tuple[Case, Path]) -> Outcome:
    (case, folder), begun = what, time.process_time()
    told = with_limits(scenario(case.scenario), LIMITS[case.limits])
    files = {name: (folder / name).read_bytes() for name in told.files()}
    policy = Policy(holds=HOLDS[case.limits]) if case.policy == "holds" else Policy()
    run = simulate(prepare(told, case.scenario, files, 1), case.policy, policy, 1)
    sizes = {"1": (0, 1), "2-8": (2, LARGE), "9+": (LARGE + 1, sys.maxsize)}
    waits = {
        size: [one.waited / HOUR for one in run.outcomes if least <= one.devices <= most]
        for size, (least, most) in sizes.items()
    }
    everybody = [one.waited / HOUR for one in run.outcomes]
    devices = sum(one.devices for one in run.outcomes)
    waited = sum(one.waited / HOUR * one.devices for one in run.outcomes)
    return Outcome(
        case,
        mean(everybody),
        waited / max(1, devices),
        {size: (mean(own), percentile(own)) for size, own in waits.items()},
        run.makespan / HOUR,
        time.process_time() - begun,
    )


def scenario(name: str) -> Scenario:
    file = Path(__file__).with_name(f"{name}.yaml")
    return read_scenario(file.read_bytes(), file.name)


def with_limits(told: Scenario, limits: LimitRange | None) -> Scenario:
    entries = tuple(msgspec.structs.replace(entry, max_runtime=limits) for entry in told.workload)
    return msgspec.structs.replace(told, workload=entries)


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def percentile(values: Sequence[float]) -> float:
    """The 99th, by nearest rank."""
    return sorted(values)[ceil(len(values) * 0.99) - 1] if values else 0.0


# -- the table ---------------------------------------------------------------------------------------------


def table(outcomes: Iterable[Outcome]) -> Iterable[str]:
    columns = ("Mean wait", "of a device", "1 GPU", "2 to 8 GPUs", "More", "99 %, more", "Makespan")
    yield f"| Scenario | Policy | Limits | {' | '.join(columns)} |"
    yield f"| --- | --- | --- |{' --: |' * len(columns)}"
    for one in outcomes:
        means = [one.mean, one.by_device, *(one.by_size[size][0] for size in ("1", "2-8", "9+"))]
        cells = [f"{figure:.2f} h" for figure in means]
        cells += [f"{one.by_size['9+'][1]:.1f} h", f"{one.makespan / 24:.1f} d"]
        yield f"| {one.case.scenario} | {one.case.policy} | {one.case.limits} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
