"""Traces that say of each job how many GPUs it had, when it came and how long it ran: ITP and Muri."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from maitred.simulate.clock import SECOND, Time
from maitred.simulate.traces.moments import Moments
from maitred.simulate.traces.rows import TraceRow, rows
from maitred.simulate.traces.traced import JobNames, Traced, TraceReading
from maitred.simulate.traces.workers import WorkerRequests

MILLISECOND = SECOND // 1000
MURI_STRETCH = 1015
"""Thousandths. Muri's simulator takes iterations to be so much longer than was measured."""
MOST_GPUS = 1_000_000
WHOLE_ONLY = "; use the format openb for parts of a GPU"

Times = Callable[[TraceRow], tuple[Time, Time]]
"""Arrival and run time of a job."""


@dataclass(frozen=True, slots=True)
class Split:
    """How the GPUs of a job become workers, all of them alike."""

    per_worker: int
    ask: WorkerRequests

    def workers(self, gpus: int) -> tuple[int, int]:
        """How many, and the GPUs of each. What does not divide is rounded up to whole workers."""
        if gpus <= self.per_worker:
            return 1, gpus
        return -(-gpus // self.per_worker), self.per_worker


def read_itp(data: bytes, source: str, split: Split) -> TraceReading:
    table = rows(data, source, ("job_id", "submission_time", "duration", "num_gpu"))
    submitted = Moments("submission_time")
    return read(table, source, split, lambda row: (submitted.of(row), row.time("duration", SECOND)))


def read_muri(data: bytes, source: str, split: Split) -> TraceReading:
    columns = ("job_id", "num_gpu", "submit_time", "iterations", "iteration_time", "model_name")
    return read(rows(data, source, columns), source, split, muri_times)


def muri_times(row: TraceRow) -> tuple[Time, Time]:
    """Iterations are given in milliseconds, so that thousandths of them are microseconds."""
    run_time = row.number("iterations") * row.number("iteration_time") * MURI_STRETCH
    return row.time("submit_time", MILLISECOND), row.bounded("iterations", run_time)


def read(table: Iterable[TraceRow], source: str, split: Split, times: Times) -> TraceReading:
    names, jobs, rounded = JobNames(), list[Traced](), 0
    for row in table:
        gpus = row.whole("num_gpu", WHOLE_ONLY)
        if gpus > MOST_GPUS:
            raise row.refuse("num_gpu", f"{gpus} is more than any job has")
        workers, each = split.workers(gpus)
        rounded += workers * each != gpus
        arrival, run_time = times(row)
        crews = (split.ask.crew(workers, each),)
        model = row.cells.get("model_name", "")
        jobs.append(Traced(names.of(row, "job_id"), arrival, crews, run_time, workers, model=model))
    what = (
        f"{source}: {rounded} of {len(jobs)} jobs got more GPUs than they asked for, so that every worker has"
    )
    return TraceReading(jobs, (f"{what} {split.per_worker}",) if rounded else ())
