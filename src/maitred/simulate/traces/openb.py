"""Pods of openb: lone pods, of which many take a part of one GPU, and some only certain models."""

from maitred.simulate.clock import SECOND
from maitred.simulate.jobs import WHOLE, Crew
from maitred.simulate.traces.rows import TraceRow, rows
from maitred.simulate.traces.traced import JobNames, Traced, TraceReading
from maitred.simulate.traces.workers import crew

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIMES = ("creation_time", "deletion_time", "scheduled_time")
"""Some variants of the trace have none of them."""
ADVICE = dict.fromkeys(TIMES, "; with shuffle: true a trace needs no times")


def read_openb_pods(data: bytes, source: str, timed: bool) -> TraceReading:
    """Unless `timed`, pods may be without times: they come at once, and nobody knows how long they ran."""
    names, jobs = JobNames(), list[Traced]()
    columns = (*COLUMNS, *TIMES) if timed else COLUMNS
    for row in rows(data, source, columns, ADVICE):
        name, crews = names.of(row, "name"), (crew_of(row),)
        if not (timed or row.has("creation_time")):
            jobs.append(Traced(name, 0, crews, None, 1))
            continue
        created, deleted = row.time("creation_time", SECOND), row.time("deletion_time", SECOND)
        ran = row.has("scheduled_time")
        began = row.time("scheduled_time", SECOND) if ran else created
        if began < created:
            raise row.refuse("scheduled_time", "is before creation_time")
        if deleted < began:
            raise row.refuse("deletion_time", "is before it began")
        lasted = deleted - began
        jobs.append(
            Traced(name, created, crews, lasted if ran else None, 1, given_up=None if ran else lasted)
        )
    return TraceReading(jobs)


def crew_of(row: TraceRow) -> Crew:
    gpus, part = row.whole("num_gpu"), row.whole("gpu_milli")
    if gpus and not 0 < part <= WHOLE:
        raise row.refuse("gpu_milli", f"{part} is not between 1 and {WHOLE}")
    if gpus > 1 and part != WHOLE:
        raise row.refuse("gpu_milli", f"{part} of each of {gpus} GPUs; only a single one is shared")
    shared = gpus == 1 and part < WHOLE
    return crew(
        1,
        cpu=row.quantity("cpu_milli", "cpu", "m"),
        memory=row.quantity("memory_mib", "memory", "Mi"),
        devices=0 if shared else gpus,
        share=part if shared else 0,
        models=tuple(sorted(filter(None, row.cells.get("gpu_spec", "").split("|")))),
    )
