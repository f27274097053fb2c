"""The jobs of a scenario: drawn, or as a trace tells of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil

from maitred.model.manifest.errors import FieldError
from maitred.simulate.clock import LONGEST, SECOND, Time
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.scenario.arrivals import arrival_times
from maitred.simulate.scenario.document import MOST_JOBS, JobSource, Trace
from maitred.simulate.scenario.streams import Generator, Streams
from maitred.simulate.traces.gangs import Split, read_itp, read_muri
from maitred.simulate.traces.kubectl import read_groups
from maitred.simulate.traces.openb import read_openb_pods
from maitred.simulate.traces.record import read_recorded_groups
from maitred.simulate.traces.traced import Traced, TraceReading, pod_name
from maitred.simulate.traces.workers import WorkerRequests

AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class WorkloadInputs:
    """What jobs are made from."""

    files: Mapping[str, bytes]
    streams: Streams
    horizon: Time | None
    capacity: int
    """Thousandths of devices that the cluster has."""
    queues: bool = False
    """Whether it counts in which queues the jobs of a dump or record were."""


def jobs_of(entry: JobSource, supply: WorkloadInputs) -> tuple[list[SimulatedJob], tuple[str, ...]]:
    """The jobs of an entry, and warnings."""
    if entry.trace is None:
        return list(finished(entry, drawn(entry, supply), supply)), ()
    reading = read(entry, entry.trace, supply.files[entry.trace.file])
    told = cut(entry.trace, sorted(reading.jobs, key=lambda job: job.arrival))
    if not told:
        when = " between from and until" if reading.jobs else ""
        raise FieldError("trace.file", f"{entry.trace.file} has no jobs{when}")
    if entry.trace.shuffle:
        order = supply.streams.of(entry.title, "order").permutation(len(told))
        told = [replace(told[old], arrival=new * SECOND) for new, old in enumerate(order)]
    if entry.trace.fill is not None:
        room = int(entry.trace.fill * supply.capacity)
        told = filled(told, room, supply.streams.of(entry.title, "fill"))
    return list(finished(entry, told, supply)), reading.warnings


def drawn(entry: JobSource, supply: WorkloadInputs) -> list[Traced]:
    assert entry.arrivals is not None  # As was checked.
    streams, title, models = supply.streams, entry.title, tuple(sorted(set(entry.models)))
    times = arrival_times(entry.arrivals, supply.horizon, streams.of(title, "arrivals")).tolist()
    workers = entry.workers.draw(streams.of(title, "workers"), len(times)).tolist()
    gpus = entry.gpus.draw(streams.of(title, "gpus"), len(times)).tolist()
    sizes = list(zip(workers, gpus, strict=True))
    ask = WorkerRequests(entry.cpu, entry.memory)
    crews = {size: (ask.crew(*size, models),) for size in set(sizes)}
    return [
        Traced(f"{number:05}", arrival, crews[size], None, min(entry.quorum or size[0], size[0]))
        for number, (arrival, size) in enumerate(zip(times, sizes, strict=True), 1)
    ]


# ---- traces


def read(entry: JobSource, trace: Trace, data: bytes) -> TraceReading:
    split = Split(trace.gpus_per_worker, WorkerRequests(entry.cpu, entry.memory))
    match trace.format:
        case "itp":
            return read_itp(data, trace.file, split)
        case "muri":
            return read_muri(data, trace.file, split)
        case "openb":
            return read_openb_pods(data, trace.file, timed=not trace.shuffle)
        case "kubectl":
            return read_groups(data, trace.file, trace.gangs, entry.quorum)
        case "record":
            return read_recorded_groups(data, trace.file, trace.gangs, entry.quorum)


def cut(trace: Trace, jobs: Sequence[Traced]) -> list[Traced]:
    """Those that arrive in the time that was asked for, which is counted from the first arrival of all."""
    first = jobs[0].arrival if jobs else 0
    since, until = first + trace.start, None if trace.until is None else first + trace.until
    within = [job for job in jobs if since <= job.arrival and (until is None or job.arrival < until)]
    kept = within[: trace.limit]
    if kept and (kept[-1].arrival - since) / trace.speed > LONGEST:
        raise FieldError(
            "trace.speed", "is too slow: the jobs would take more than a hundred years to arrive"
        )
    return [replace(job, arrival=round((job.arrival - since) / trace.speed)) for job in kept]


def filled(jobs: Sequence[Traced], room: int, chance: Generator) -> list[Traced]:
    """These jobs and others drawn from them, one each second, until the next one would ask for too much."""
    if not any(job.load for job in jobs):
        raise FieldError("trace.fill", "no job of the trace takes devices")
    kept, copies = list[Traced](), Counter[str]()
    for job in chain(jobs, copied(jobs, chance)):
        room -= job.load
        if room < 0 or len(kept) == MOST_JOBS:
            break
        if len(kept) >= len(jobs):
            copies[job.name] += 1
            name = f"{job.name}-copy{copies[job.name]}"
            job = replace(job, name=name, arrival=kept[-1].arrival + SECOND)
        kept.append(job)
    return kept


def copied(jobs: Sequence[Traced], chance: Generator) -> Iterator[Traced]:
    while True:
        for position in chance.integers(len(jobs), size=AT_ONCE):
            yield jobs[position]


# ---- the end of them


def finished(entry: JobSource, told: Sequence[Traced], supply: WorkloadInputs) -> Iterator[SimulatedJob]:
    """With all that is said of the entry as a whole."""
    streams = supply.streams
    times = run_times(entry, told, streams)
    fates = streams.of(entry.title, "cancelled").random((len(told), 2)).tolist()
    limits = limits_of(entry, times, streams)
    title = pod_name(entry.title)
    for job, run_time, limit, (fate, part) in zip(told, times, limits, fates, strict=True):
        lasts = job.given_up
        if run_time is not None and fate < entry.cancelled:
            lasts = round(part * run_time)
        yield SimulatedJob(
            name=f"{title}-{job.name}",
            arrival=job.arrival,
            crews=job.crews,
            quorum=job.quorum,
            run_time=run_time,
            priority=job.priority or 0 if entry.priority is None else entry.priority,
            within=entry.within or job.within,
            queue=entry.queue or (job.queue if supply.queues else ""),
            user=entry.user or (job.user if supply.queues else ""),
            start_up=entry.start_up,
            checkpoint=entry.checkpoint,
            limit=limit,
            grace=entry.grace,
            min_run_time=entry.min_run_time,
            non_preemptible=entry.non_preemptible,
            disruption=entry.disruption,
            cancelled=None if lasts is None or entry.stay else job.arrival + lasts,
            patience=entry.patience,
            rendezvous=entry.rendezvous,
        )


def run_times(entry: JobSource, told: Sequence[Traced], streams: Streams) -> list[Time | None]:
    """Nobody knows how long those would have run who were given up before they could."""
    if entry.stay:
        return [None] * len(told)
    unknown = sum(job.run_time is None and job.given_up is None for job in told)
    if entry.run_time is None:
        if unknown:
            what = f"the trace does not say how long {unknown} of {len(told)} jobs ran; or give stay: true"
            raise FieldError("runTime", f"is required: {what}")
        return [job.run_time for job in told]
    spread = entry.run_time.draw(streams.of(entry.title, "run times"), len(told)).tolist()
    return [
        any_time if job.run_time is None and job.given_up is None else job.run_time
        for job, any_time in zip(told, spread, strict=True)
    ]


def limits_of(entry: JobSource, times: Sequence[Time | None], streams: Streams) -> list[Time | None]:
    """In whole seconds, as pods say them."""
    if entry.max_runtime is None:
        return [None] * len(times)
    least, most = entry.max_runtime.least, entry.max_runtime.most
    factors = streams.of(entry.title, "limits").uniform(least, most, len(times)).tolist()
    return [
        None if time is None else min(ceil((entry.start_up + time) * factor / SECOND) * SECOND, LONGEST)
        for time, factor in zip(times, factors, strict=True)
    ]
