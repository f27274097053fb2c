"""What the types of a scenario leave open. Each finding names the field."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise

from maitred.model.manifest.checks import check_key, name_problem, quantity_problem
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.queue_checks import LONGEST_QUEUE_NAME
from maitred.model.manifest.settings import check_policy
from maitred.model.policy import Policy
from maitred.model.world import check_floor, check_levels, check_resources
from maitred.simulate.clock import DAY
from maitred.simulate.scenario.arrivals import expected
from maitred.simulate.scenario.document import Arrivals, JobSource, Scenario, ScenarioCluster, Trace
from maitred.simulate.scenario.values import DrawnCount, ScenarioDuration
from maitred.simulate.traces.traced import pod_name

LONGEST_NAME = 50
LONGEST_TITLE = 200
MOST_DRAWN = 1_000_000
MOST_WORKERS = 100_000
MOST_GPUS = 1024
SIZES = ("workers", "gpus", "models")
TOLD = {
    "itp": (*SIZES, "quorum"),
    "muri": (*SIZES, "quorum"),
    "openb": (*SIZES, "quorum", "cpu", "memory"),
    "kubectl": (*SIZES, "cpu", "memory"),
    "record": (*SIZES, "cpu", "memory"),
}
"""What traces say themselves. Dumps may leave the quorum open."""
NOTHING_SAID = JobSource()
MIDNIGHT = "; split a window over midnight in two, one until 24h and one from 0h"


@contextmanager
def inside(field: str) -> Iterator[None]:
    """Findings are about parts of this field."""
    try:
        yield
    except FieldError as problem:
        separator = "" if not problem.field or problem.field.startswith("[") else "."
        raise FieldError(f"{field}{separator}{problem.field}", problem.what) from None


def check_scenario(scenario: Scenario) -> None:
    if not 0 < len(scenario.name) <= LONGEST_TITLE:
        raise FieldError("name", f"must have 1 to {LONGEST_TITLE} characters")
    with inside("cluster"):
        check_cluster(scenario.cluster)
    if not scenario.workload:
        raise FieldError("workload", "is empty; nothing would arrive")
    for position, entry in enumerate(scenario.workload):
        with inside(f"workload[{position}]"):
            check_entry(entry, scenario.horizon)
    check_titles(scenario.workload)
    with inside("policies"):
        check_policies(scenario.policies)
    if scenario.faults and scenario.faults.causes:
        check_file("faults.causes", scenario.faults.causes)
    if scenario.horizon == 0:
        raise FieldError("horizon", "must be more than 0")
    if scenario.faults and scenario.horizon is None and any(entry.stay for entry in scenario.workload):
        raise FieldError("horizon", "is required: some jobs stay and nodes break, so the run would never end")


def check_cluster(cluster: ScenarioCluster) -> None:
    check_levels(cluster.levels)
    if cluster.kinds is not None:
        if cluster.trace is not None:
            raise FieldError("trace", "cannot be combined with kinds; give one of the two")
        if not cluster.kinds:
            raise FieldError("kinds", "is empty; leave it out for the usual 64 nodes")
        check_floor(cluster.levels, cluster.kinds)
    if cluster.trace is not None:
        check_file("trace.file", cluster.trace.file)
        if cluster.trace.resources and cluster.trace.format != "lingjun":
            raise FieldError(
                "trace.resources",
                "cannot be combined with a trace of nodes, which says what each node has; leave it out",
            )
        check_resources("trace.resources", cluster.trace.resources)


def check_policies(policies: Mapping[str, Policy]) -> None:
    if not policies:
        raise FieldError("", "is empty; leave it out for the default policy")
    for name, policy in policies.items():
        if problem := name_problem(name, LONGEST_NAME):
            raise FieldError("", problem)
        with inside(name):
            check_policy(policy)


# ---- workload


def check_titles(workload: tuple[JobSource, ...]) -> None:
    seen: dict[str, int] = {}
    for position, entry in enumerate(workload):
        first = seen.setdefault(pod_name(entry.title), position)
        if first != position:
            what = f"{entry.title!r} is already used by workload[{first}]; give each entry another name"
            raise FieldError(f"workload[{position}].name", what)


def check_entry(entry: JobSource, horizon: ScenarioDuration | None) -> None:
    if entry.arrivals is not None and entry.trace is None:
        with inside("arrivals"):
            check_arrivals(entry.arrivals, horizon)
        check_drawn(entry)
    elif entry.trace is not None and entry.arrivals is None:
        check_traced(entry, entry.trace)
    else:
        raise FieldError("arrivals", "give either arrivals or a trace")
    check_entry_name(entry)
    if entry.stay and (entry.run_time is not None or entry.cancelled):
        other = "cancelled" if entry.run_time is None else "runTime"
        raise FieldError("stay", f"contradicts {other}; give one of the two")
    if entry.stay and entry.max_runtime is not None:
        raise FieldError("stay", "contradicts maxRuntime; give one of the two")
    if entry.max_runtime is not None and entry.max_runtime.most < entry.max_runtime.least:
        raise FieldError("maxRuntime.until", "is less than from")
    for resource, quantity in (("cpu", entry.cpu), ("memory", entry.memory)):
        if quantity is not None and (problem := quantity_problem(resource, quantity)):
            raise FieldError(resource, problem)
    if entry.within:
        check_key("within", entry.within)
    if entry.queue and (problem := name_problem(entry.queue, LONGEST_QUEUE_NAME)):
        raise FieldError("queue", problem)
    if len(entry.user) > LONGEST_TITLE:
        raise FieldError("user", f"is {len(entry.user)} characters long; {LONGEST_TITLE} are allowed")


def check_entry_name(entry: JobSource) -> None:
    if not pod_name(entry.title):
        raise FieldError("name", "is required")
    if len(entry.title) > LONGEST_NAME:
        raise FieldError("name", f"is {len(entry.title)} characters long; {LONGEST_NAME} are allowed")
    if entry.name != pod_name(entry.name):
        raise FieldError("name", f"{entry.name!r} is not a valid name for pods: use a-z, 0-9 and '-' only")


def check_drawn(entry: JobSource) -> None:
    check_amounts("workers", entry.workers, 1, MOST_WORKERS)
    check_amounts("gpus", entry.gpus, 0, MOST_GPUS)
    if entry.run_time is None and not entry.stay:
        raise FieldError("runTime", "is required; or stay: true for jobs that never end")


def check_amounts(field: str, amounts: DrawnCount, least: int, most: int) -> None:
    for value in amounts.spread.values:
        if not least <= value <= most:
            raise FieldError(field, f"must be from {least} to {most}, not {value}")


def check_traced(entry: JobSource, trace: Trace) -> None:
    check_file("trace.file", trace.file)
    for field in TOLD[trace.format]:
        if getattr(entry, field) != getattr(NOTHING_SAID, field):
            raise FieldError(field, "cannot be combined with a trace, which already says it; leave it out")
    if trace.gangs != "declared" and trace.format not in ("kubectl", "record"):
        raise FieldError(
            "trace.gangs",
            "is only for traces with pods and their owners, such as kubectl dumps; leave it out",
        )
    if trace.until is not None and trace.until <= trace.start:
        raise FieldError("trace.until", "is not after from")


def check_file(field: str, file: str) -> None:
    if not file:
        raise FieldError(field, "is required: the path of a file, relative to the scenario")
    if file.rpartition("/")[2] in ("", ".", "..", "-") or "\0" in file:
        raise FieldError(field, f"{file[:40]!r} is not the name of a file")


# ---- arrivals


def check_arrivals(arrivals: Arrivals, horizon: ScenarioDuration | None) -> None:
    kinds = ("perHour", "every", "at", "windows")
    values = (arrivals.per_hour, arrivals.every, arrivals.at, arrivals.windows)
    given = [kind for kind, value in zip(kinds, values, strict=True) if value is not None]
    if len(given) != 1:
        raise FieldError("", f"give one of {', '.join(kinds)}")
    if arrivals.until is not None and arrivals.until <= arrivals.start:
        raise FieldError("until", "is not after from")
    if arrivals.every == 0:
        raise FieldError("every", "must be more than 0")
    if arrivals.at is not None:
        check_moments(arrivals)
    check_windows(arrivals)
    check_number(arrivals, horizon, given[0])


def check_moments(arrivals: Arrivals) -> None:
    if not arrivals.at:
        raise FieldError("at", "is empty; no job would arrive")
    for field, value in (("from", arrivals.start), ("until", arrivals.until), ("jobs", arrivals.jobs)):
        if value:
            raise FieldError(field, "cannot be combined with at, which says when jobs arrive; leave it out")


def check_windows(arrivals: Arrivals) -> None:
    if arrivals.daily and arrivals.windows is None:
        raise FieldError("daily", "needs windows; add at least one")
    if arrivals.windows is not None and not arrivals.windows:
        raise FieldError("windows", "is empty; no job would arrive")
    windows = sorted(enumerate(arrivals.windows or ()), key=lambda window: window[1].start)
    for position, window in windows:
        if window.until <= window.start:
            raise FieldError(f"windows[{position}].until", f"is not after from{MIDNIGHT * arrivals.daily}")
        if arrivals.daily and window.until > DAY:
            raise FieldError(f"windows[{position}].until", f"a day has 24 hours{MIDNIGHT}")
    for (earlier, before), (position, window) in pairwise(windows):
        if window.start < before.until:
            raise FieldError(f"windows[{position}]", f"overlapping rates: windows[{earlier}] has not ended")


def check_number(arrivals: Arrivals, horizon: ScenarioDuration | None, kind: str) -> None:
    """Jobs must come to an end, and be so few that a run of them can."""
    endless = arrivals.until is None and horizon is None and kind in ("perHour", "every")
    if arrivals.daily and arrivals.until is None and horizon is None:
        raise FieldError("daily", "would never end; set a horizon, or until here")
    if endless and arrivals.jobs is None:
        raise FieldError(kind, "would never end; set a horizon, or until or jobs here")
    number = expected(arrivals, horizon)
    count = arrivals.jobs or number
    if count > MOST_DRAWN:
        raise FieldError(kind, f"would make about {count:.0f} jobs; at most {MOST_DRAWN} are possible")
    if endless and count > number:
        raise FieldError(kind, f"{count} jobs would take more than a hundred years to arrive")
