"""`python -m benchmarks.anchors.muri [DATA_FOLDER]`: Muri's traces, beside the figures that Muri published.

SRTF, SRSF and Tiresias-L on 8 nodes with 8 GPUs each, as in figures 9 and 10 of the paper. Time, arrivals,
ends, progress and accounts are those of maitred's loop; `muri_rules` holds what is peculiar to Muri.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from benchmarks.anchors.data import data_folder
from benchmarks.anchors.muri_rules import DEVICES, NODES, LeastAttained, Muri, Order, Shortest
from benchmarks.figures import say
from benchmarks.report import line, machine
from maitred.model.policy import Policy
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.seating.orders import MEASURES
from maitred.simulate.traces.gangs import Split, read_muri
from maitred.simulate.traces.nodes import node
from maitred.simulate.traces.rows import rows
from maitred.simulate.traces.traced import Traced
from maitred.simulate.traces.workers import DEVICE, WorkerRequests

ORDERS: Mapping[str, Callable[[], Order]] = {
    "SRTF": lambda: Shortest(MEASURES["shortest-remaining"]),
    "SRSF": lambda: Shortest(MEASURES["shortest-service"]),
    "Tiresias_L": LeastAttained,
}
TRACES = ("trace1", "trace2")
FIGURES = {"average JCT": "avg_jct_s", "makespan": "makespan_s", "99 % JCT": "p99_jct_s"}
"""What is printed, and the column in which it was published. JCT: from arrival to end."""
USUAL_OVERHEAD = 10 * SECOND
"""Of models that the table of overheads does not have."""
Row = tuple[str, ...]
HEADER: Row = ("Policy, trace", "Figure", "Ours (s)", "Published (s)", "Difference", "Took (s)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors.muri", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=data_folder(), metavar="DATA_FOLDER")
    folder = parser.parse_args().folder / "muri"
    if not folder.is_dir():
        parser.error(f"there is no folder {folder}: name the one above it, or set MAITRED_DATA")
    table = [HEADER]
    for trace in TRACES:
        for policy in ORDERS:
            say(f"{policy} {trace} ...")
            table += compared(folder, policy, trace)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print("\n".join(line(row, widths) for row in table), machine(), sep="\n\n")
    return 0


def compared(folder: Path, policy: str, trace: str) -> list[Row]:
    """The difference is that of the digits that were published."""
    begun = time.perf_counter()
    ours = figures(replay(folder, policy, trace))
    took = f"{time.perf_counter() - begun:.1f}"
    table = list[Row]()
    for what, theirs in published(folder, policy, trace).items():
        difference = ours[what].quantize(theirs) - theirs
        table.append((f"{policy} {trace}", what, f"{ours[what]:,}", f"{theirs:,}", f"{difference:f}", took))
    return table


# -- a run -------------------------------------------------------------------------------------------------


def replay(folder: Path, policy: str, trace: str, watchers: Sequence[RunObserver] = ()) -> Simulation:
    traced = read_trace(folder, trace)
    return play(Muri(ORDERS[policy](), read_overheads(folder, traced)), map(job_of, traced), watchers)


def play(seater: Muri, jobs: Iterable[SimulatedJob], watchers: Sequence[RunObserver] = ()) -> Simulation:
    nodes = [node(name, {DEVICE: DEVICES}, {}) for name in NODES]
    workload = tuple(sorted(jobs, key=lambda job: job.arrival))
    loop = Simulation(
        SimulatedNodes(nodes, Policy(), ()), seater, workload, iter(()), None, watchers=(seater, *watchers)
    )
    loop.run()
    return loop


def figures(loop: Simulation) -> dict[str, Decimal]:
    """In seconds."""
    ends = [group.ended for group in loop.groups if group.ended is not None]
    assert len(ends) == len(loop.workload), "every job has ended"
    times = sorted(end - job.arrival for end, job in zip(ends, loop.workload, strict=True))
    found = (Decimal(sum(times)) / len(times), Decimal(max(ends)), Decimal(times[len(times) * 99 // 100]))
    return {
        what: (figure / SECOND).quantize(Decimal("1e-6")) for what, figure in zip(FIGURES, found, strict=True)
    }


# -- what there is to read ---------------------------------------------------------------------------------


def read_trace(folder: Path, trace: str) -> list[Traced]:
    file = folder / f"{trace}.csv.gz"
    return read_muri(file.read_bytes(), str(file), Split(DEVICES, WorkerRequests(0, 0))).jobs


def job_of(traced: Traced) -> SimulatedJob:
    return SimulatedJob(
        traced.name, traced.arrival, traced.crews, traced.quorum, traced.run_time, checkpoint=0
    )


def read_overheads(folder: Path, traced: Iterable[Traced]) -> dict[str, Time]:
    """By job: what a job of its model and size loses each time it is stopped."""
    file = folder / "overhead.csv"
    table = rows(file.read_bytes(), str(file), ("num_gpu", "model_name", "overhead_s"))
    known = {(row.whole("num_gpu"), row.text("model_name")): row.time("overhead_s", SECOND) for row in table}
    return {job.name: known.get((job.load // WHOLE, job.model), USUAL_OVERHEAD) for job in traced}


def published(folder: Path, policy: str, trace: str) -> dict[str, Decimal]:
    """With as many digits as were printed."""
    file = folder / "published_results.csv"
    for row in rows(file.read_bytes(), str(file), ("policy", "trace", *FIGURES.values())):
        if (row.text("policy"), row.text("trace")) == (policy, trace):
            return {what: row.number(column) for what, column in FIGURES.items()}
    raise LookupError(f"{file} has no figures of {policy} on {trace}")


if __name__ == "__main__":
    sys.exit(main())
