"""The comparison of policies as rows of words, which the table and the page both show."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from maitred.model.words import counted
from maitred.simulate.report import savings
from maitred.simulate.report.amounts import amount, between, duration, hours, number, percent
from maitred.simulate.report.markup import short
from maitred.simulate.report.rows import NONE, Cell, ReportRow, ReportSection, cells, contest
from maitred.simulate.results import (
    BUCKETS,
    ENDS,
    Bucket,
    Distribution,
    End,
    JobTimes,
    PolicySummary,
    QueueFigures,
    Result,
    SeedRange,
)
from maitred.simulate.seating.seater import UNDIAGNOSED
from maitred.simulate.summary import HOUR_S, LARGEST, SIZES

BUCKET_NAMES: dict[Bucket, str] = {
    "productive": "productive",
    "starting": "starting",
    "incomplete": "held by incomplete groups",
    "stalled": "held by stalled groups",
    "leaving": "held by leaving pods",
    "lostToEviction": "lost to eviction",
    "lostToFailure": "lost to failure",
    "reserved": "held in reserve",
    "spare": "kept as spares",
    "fragmented": "fragmented",
    "idle": "idle",
    "broken": "broken",
}
END_NAMES: dict[End, str] = {
    "running": "still running",
    "waiting": "still waiting",
    "gaveUp": "given up",
    "cancelled": "cancelled",
    "impossible": "impossible",
    "notArrived": "not arrived yet",
}
MOST_ROWS = 12
"""Priorities, and blockers: of more, only so many are shown."""
MOST_REMARKS = 5
NEARLY_ALL = 0.99
UNDONE: tuple[End, ...] = ("running", "waiting", "notArrived")
OF_WAITS = "of all jobs that arrived; jobs that still wait count with their wait so far"
OF_COMPLETIONS = "of jobs that finished"
OF_QUEUES = "what jobs held from bind to release: as a part of what all jobs held, and in device-hours"
OF_FAILURES = "device-hours held below quorum, lost since the last checkpoint, or kept as spares"
NO_DIAGNOSIS = f"{UNDIAGNOSED}: placement pod by pod knows no other reason"

Figure = Callable[[PolicySummary], float]


def setting(result: Result) -> str:
    """What was simulated, in a line."""
    run = result.runs[0]
    longest = max(run.duration for run in result.runs)
    seeds = len(result.summaries[0].seeds)
    size = f"{counted(run.nodes, 'node')} with {counted(run.devices, 'device')}"
    length = duration(longest).replace(".0 ", " ")
    return f"{size}, {length} of virtual time, {counted(seeds, 'seed')}"


def averages(result: Result) -> str:
    """How several runs of a policy became one number."""
    if len(result.summaries[0].seeds) == 1:
        return ""
    return (
        "Numbers of jobs and events, hours and device-hours are means of one run. "
        "Wait and completion times are over the jobs of all runs together."
    )


def sections(summaries: Sequence[PolicySummary]) -> tuple[ReportSection, ...]:
    made = (
        ReportSection("Jobs", tuple(job_rows(summaries))),
        ReportSection("Wait", tuple(wait_rows(summaries)), OF_WAITS),
        ReportSection("Completion", tuple(completion_rows(summaries)), about_completions(summaries)),
        ReportSection("Device-hours", tuple(device_rows(summaries))),
        ReportSection("Cost of failures", tuple(failure_rows(summaries)), OF_FAILURES),
        ReportSection("Events", tuple(event_rows(summaries))),
        ReportSection("Wait by devices of a job: mean, p99", tuple(size_rows(summaries))),
        ReportSection("Wait by priority: mean, p99", tuple(priority_rows(summaries))),
        ReportSection("Wait by queue: mean, p99", tuple(queue_wait_rows(summaries))),
        ReportSection("Devices by queue", tuple(queue_share_rows(summaries)), OF_QUEUES),
        ReportSection(
            "Hours that jobs waited, by blocker", tuple(blocker_rows(summaries)), about_blockers(summaries)
        ),
        *savings.section(summaries),
    )
    return tuple(section for section in made if section.rows)


# -- sections ----------------------------------------------------------------------------------------------


def job_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    arrived = [sum(one.jobs[end] for end in ENDS if end != "notArrived") for one in summaries]
    finished = [one.jobs["finished"] for one in summaries]
    yield contest(
        "finished",
        cells(f"{number(done)} of {number(total)}" for done, total in zip(finished, arrived, strict=True)),
        [-done for done in finished],
    )
    for end, name in END_NAMES.items():
        counts = [one.jobs[end] for one in summaries]
        if any(counts):
            yield ReportRow(name, cells(map(number, counts)))


def wait_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    yield from time_rows(summaries, lambda one: one.times.wait, lambda one: one.across_seeds.wait)


def completion_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    yield from time_rows(
        summaries,
        lambda one: one.times.completion,
        lambda one: one.across_seeds.completion,
        contenders(summaries),
    )
    yield from makespan_rows(summaries)


def contenders(summaries: Sequence[PolicySummary]) -> list[int]:
    """Those who finished nearly the most: nobody wins by the times of the few that were let through."""
    enough = NEARLY_ALL * max(one.jobs["finished"] for one in summaries)
    return [index for index, one in enumerate(summaries) if one.jobs["finished"] >= enough]


def about_completions(summaries: Sequence[PolicySummary]) -> str:
    enough = contenders(summaries)
    few = [short(one.policy) for index, one in enumerate(summaries) if index not in enough]
    if not few:
        return OF_COMPLETIONS
    return (
        f"{OF_COMPLETIONS}; not marked as best, because they finished over 1 % fewer jobs than others: "
        f"{', '.join(few)}"
    )


def makespan_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    """Where all is done. Else the last end tells when the run was stopped, and nothing about the policy."""
    done = [index for index, one in enumerate(summaries) if is_done(one)]
    if not done:
        return
    words = [duration(one.makespan) if is_done(one) else NONE for one in summaries]
    among = [index for index in contenders(summaries) if index in done]
    yield contest("makespan", cells(words), [one.makespan for one in summaries], among)
    yield from seeds_row(summaries, lambda one: one.across_seeds.makespan if is_done(one) else None, duration)


def is_done(summary: PolicySummary) -> bool:
    return not any(summary.jobs[end] for end in UNDONE)


def time_rows(
    summaries: Sequence[PolicySummary],
    spread: Callable[[PolicySummary], Distribution],
    seeds: Callable[[PolicySummary], SeedRange],
    among: Sequence[int] | None = None,
) -> Iterator[ReportRow]:
    figures: dict[str, Callable[[Distribution], float]] = {
        "mean": lambda one: one.mean,
        "p50": lambda one: one.p50,
        "p99": lambda one: one.p99,
    }
    for label, figure in figures.items():
        times = [figure(spread(one)) if spread(one).count else math.inf for one in summaries]
        words = [duration(time) if time < math.inf else NONE for time in times]
        yield contest(label, cells(words), times, among)
        if label == "mean":
            yield from seeds_row(summaries, seeds, duration)


def device_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for bucket in BUCKETS:
        split = [(one.utilisation[bucket], one.device_hours[bucket]) for one in summaries]
        if not any(amount for _, amount in split):
            continue
        if bucket == "productive":
            yield contest(BUCKET_NAMES[bucket], shares_and_hours(split), [-share for share, _ in split])
            yield from seeds_row(summaries, lambda one: one.across_seeds.productive, percent)
        else:
            yield ReportRow(BUCKET_NAMES[bucket], shares_and_hours(split))
    totals = [(sum(one.utilisation.values()), sum(one.device_hours.values())) for one in summaries]
    yield ReportRow("all", shares_and_hours(totals))


def failure_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    """Where a cluster learns of failures after a while, or keeps spares."""
    costs = [one.failure_cost for one in summaries]
    if not any(one.device_hours["stalled"] or one.device_hours["spare"] for one in summaries):
        return
    yield ReportRow("below quorum", cells(hours(one.below_quorum) for one in costs))
    yield ReportRow("work done twice", cells(hours(one.done_twice) for one in costs))
    if any(one.spares for one in costs):
        yield ReportRow("spares", cells(hours(one.spares) for one in costs))
    yield contest("in all", cells(hours(one.total) for one in costs), [one.total for one in costs])
    baseline = next(one for one in summaries if one.against is None).failure_cost.total
    if len(costs) > 1 and baseline:
        saved = (savings.signed(1 - one.failure_cost.total / baseline, percent) for one in summaries)
        words = (words if one.against else NONE for one, words in zip(summaries, saved, strict=True))
        yield ReportRow("saved", cells(words), is_aside=True)


def shares_and_hours(split: Iterable[tuple[float, float]]) -> tuple[Cell, ...]:
    return tuple((percent(share), hours(amount)) for share, amount in split)


def event_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    def row(
        label: str, count: Figure, words: Callable[[float], str] = number, aside: bool = False
    ) -> ReportRow:
        return ReportRow(label, cells(words(count(one)) for one in summaries), is_aside=aside)

    yield row("evictions", lambda one: one.evictions)
    if any(one.preemptions for one in summaries):
        yield row("groups evicted for", lambda one: one.preemptions, aside=True)
        yield row("pods", lambda one: one.evicted_pods, aside=True)
    if any(one.receipts_device_hours for one in summaries):
        yield row("lost by receipts", lambda one: one.receipts_device_hours, hours, aside=True)
    yield row("groups hit by failures", lambda one: one.failures)
    yield row("gangs split", lambda one: one.splits)
    if any(one.astray for one in summaries):
        yield row("outside required domain", lambda one: one.astray)
    yield row("deadlocks", lambda one: one.deadlocks)
    if any(one.deadlocks for one in summaries):
        yield row("time in deadlock", lambda one: one.deadlocked_seconds, duration)


def size_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for size in (*SIZES, LARGEST):
        times = [one.by_size.get(size) for one in summaries]
        if any(times):
            yield mean_and_tail(with_count(size, summaries, times), times)


def priority_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    """Nothing, where all jobs have the same priority."""
    found = sorted({int(priority) for one in summaries for priority in one.by_priority}, reverse=True)
    if len(found) > 1:
        for priority in map(str, found[:MOST_ROWS]):
            times = [one.by_priority.get(priority) for one in summaries]
            yield mean_and_tail(with_count(priority, summaries, times), times)


def queue_wait_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for queue in queues(summaries):
        waits = [figures_of(one, queue).wait for one in summaries]
        counts = {one.count / len(own.seeds) for one, own in zip(waits, summaries, strict=True)}
        label = f"{queue} ({amount(counts.pop(), 'job')})" if len(counts) == 1 else queue
        times = ((duration(one.mean), duration(one.p99)) if one.count else (NONE, NONE) for one in waits)
        yield ReportRow(label, tuple(times))


def queue_share_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for queue in queues(summaries):
        split = [figures_of(one, queue) for one in summaries]
        yield ReportRow(queue, shares_and_hours((one.share, one.device_hours) for one in split))


def queues(summaries: Sequence[PolicySummary]) -> list[str]:
    """All policies see the same jobs, so all have the same queues; of many, only the first."""
    return list(summaries[0].by_queue or ())[:MOST_ROWS]


def figures_of(summary: PolicySummary, queue: str) -> QueueFigures:
    return (summary.by_queue or {})[queue]


def with_count(name: str, summaries: Sequence[PolicySummary], times: Sequence[JobTimes | None]) -> str:
    """`65+ (13 jobs)`, where all policies had as many."""
    counts = {
        own.wait.count / len(one.seeds) if own else 0.0 for one, own in zip(summaries, times, strict=True)
    }
    return f"{name} ({amount(counts.pop(), 'job')})" if len(counts) == 1 else name


def mean_and_tail(label: str, times: Sequence[JobTimes | None]) -> ReportRow:
    def words(one: JobTimes | None) -> Cell:
        return (duration(one.wait.mean), duration(one.wait.p99)) if one and one.wait.count else (NONE, NONE)

    return ReportRow(label, tuple(map(words, times)))


def blocker_rows(summaries: Sequence[PolicySummary]) -> Iterator[ReportRow]:
    for blocker in blockers(summaries):
        waited = [one.wait_by_blocker.get(blocker, 0.0) for one in summaries]
        yield ReportRow(blocker, cells(hours(seconds / HOUR_S) for seconds in waited))


def about_blockers(summaries: Sequence[PolicySummary]) -> str:
    return NO_DIAGNOSIS if UNDIAGNOSED in blockers(summaries) else ""


def blockers(summaries: Sequence[PolicySummary]) -> list[str]:
    """Those that cost the most, over all policies."""
    cost: dict[str, float] = {}
    for one in summaries:
        for blocker, waited in one.wait_by_blocker.items():
            cost[blocker] = cost.get(blocker, 0.0) + waited
    return sorted((name for name in cost if cost[name]), key=lambda name: (-cost[name], name))[:MOST_ROWS]


def seeds_row(
    summaries: Sequence[PolicySummary],
    reach: Callable[[PolicySummary], SeedRange | None],
    words: Callable[[float], str],
) -> Iterator[ReportRow]:
    """From the least to the most of the row above, where there are several seeds."""
    if any(len(one.seeds) > 1 for one in summaries):
        ranges = map(reach, summaries)
        found = cells(between(words(one.least), "–", words(one.most)) if one else NONE for one in ranges)
        yield ReportRow("over seeds", found, is_aside=True)


# -- remarks -----------------------------------------------------------------------------------------------


def remarks(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Titles and lines: what the runs warn of, and which jobs can never run. The first few, then a count."""
    warnings = ((run.policy, warning) for run in result.runs for warning in run.warnings)
    impossible = (
        (run.policy, f"{outcome.job}: {outcome.why}")
        for run in result.runs
        for outcome in run.outcomes
        if outcome.end == "impossible"
    )
    for title, found in (("Warnings", warnings), ("Impossible jobs", impossible)):
        lines = first_few(found, len(result.summaries))
        if lines:
            yield title, lines


def first_few(found: Iterable[tuple[str, str]], policies: int) -> list[str]:
    """Each line once, with the policies that it is about unless it is about all."""
    about: dict[str, dict[str, None]] = {}
    for policy, line in found:
        about.setdefault(line, {})[policy] = None
    lines = [
        line if len(own) == policies else f"{line} ({', '.join(own)})"
        for line, own in list(about.items())[:MOST_REMARKS]
    ]
    rest = len(about) - MOST_REMARKS
    return [*lines, f"and {rest:,} more"] if rest > 0 else lines
