"""The comparison of policies as rows of words, which the table and the page both show."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from maitred.model.words import counted
from maitred.simulate.report.amounts import duration, hours, number, percent
from maitred.simulate.results import BUCKETS, ENDS, Bucket, End, Range, Result, Spread, Summary, Times
from maitred.simulate.summary import LARGEST, SIZES

BUCKET_NAMES: dict[Bucket, str] = {
    "productive": "productive",
    "starting": "starting",
    "incomplete": "held by incomplete groups",
    "lostToEviction": "lost to eviction",
    "lostToFailure": "lost to failure",
    "reserved": "held in reserve",
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
NONE = "-"
NEARLY_ALL = 0.99

Figure = Callable[[Summary], float]
Cell = tuple[str, ...]
"""One amount, or two that belong side by side."""


@dataclass(frozen=True)
class Row:
    """One figure of every policy."""

    label: str
    cells: tuple[Cell, ...]
    best: frozenset[int] = frozenset()
    """Which policies do best in it, as far as the words tell, where one can do better than another."""
    is_aside: bool = False
    """It says more about the row above."""


def contest(label: str, cells: tuple[Cell, ...], best: Collection[int]) -> Row:
    """Who reads the same as the best is as good; and nobody is better where all read the same."""
    words = {cells[index] for index in best}
    winners = frozenset(index for index, cell in enumerate(cells) if cell in words)
    return Row(label, cells, winners if len(winners) < len(cells) else frozenset())


@dataclass(frozen=True)
class Section:
    """Rows about one thing. Those that would say zero of every policy are left out."""

    title: str
    rows: tuple[Row, ...]


def setting(result: Result) -> str:
    """What was simulated, in a line."""
    run = result.runs[0]
    longest = max(run.duration for run in result.runs)
    seeds = len(result.summaries[0].seeds)
    size = f"{counted(run.nodes, 'node')} with {counted(run.devices, 'device')}"
    length = duration(longest).replace(".0 ", " ")
    return f"{size}, {length} of virtual time, {counted(seeds, 'seed')}"


def cells(words: Iterable[str]) -> tuple[Cell, ...]:
    return tuple((word,) for word in words)


def sections(summaries: Sequence[Summary]) -> tuple[Section, ...]:
    made = (
        Section("Jobs", tuple(job_rows(summaries))),
        Section("Wait", tuple(wait_rows(summaries))),
        Section("Completion", tuple(completion_rows(summaries))),
        Section("Device-hours", tuple(device_rows(summaries))),
        Section("Events", tuple(event_rows(summaries))),
        Section("Wait by devices of a job: mean, p99", tuple(size_rows(summaries))),
        Section("Wait by priority: mean, p99", tuple(priority_rows(summaries))),
        Section("Hours that jobs waited, by blocker", tuple(blocker_rows(summaries))),
    )
    return tuple(section for section in made if section.rows)


# -- who does best -----------------------------------------------------------------------------------------


def least(summaries: Sequence[Summary], figure: Figure, among: Iterable[int] | None = None) -> list[int]:
    values = {index: figure(summaries[index]) for index in among or range(len(summaries))}
    return [index for index, value in values.items() if value == min(values.values())]


def quickest(summaries: Sequence[Summary], figure: Figure) -> list[int]:
    """The least of those who finished the most: nobody wins by the times of the few that were let through."""
    most = max(one.jobs["finished"] for one in summaries)
    return least(
        summaries,
        figure,
        [index for index, one in enumerate(summaries) if one.jobs["finished"] >= NEARLY_ALL * most],
    )


# -- sections ----------------------------------------------------------------------------------------------


def job_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    arrived = [sum(one.jobs[end] for end in ENDS if end != "notArrived") for one in summaries]
    finished = [one.jobs["finished"] for one in summaries]
    yield contest(
        "finished",
        cells(f"{number(done)} of {number(total)}" for done, total in zip(finished, arrived, strict=True)),
        least(summaries, lambda one: -one.jobs["finished"]),
    )
    for end, name in END_NAMES.items():
        counts = [one.jobs[end] for one in summaries]
        if any(counts):
            yield Row(name, cells(map(number, counts)))


def wait_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    yield from time_rows(summaries, lambda one: one.times.wait, lambda one: one.across_seeds.wait)


def completion_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    yield from time_rows(summaries, lambda one: one.times.completion, lambda one: one.across_seeds.completion)
    yield contest(
        "makespan",
        cells(duration(one.makespan) for one in summaries),
        quickest(summaries, lambda one: one.makespan),
    )
    yield from seeds_row(summaries, lambda one: one.across_seeds.makespan, duration)


def time_rows(
    summaries: Sequence[Summary], spread: Callable[[Summary], Spread], seeds: Callable[[Summary], Range]
) -> Iterator[Row]:
    figures: dict[str, Callable[[Spread], float]] = {
        "mean": lambda one: one.mean,
        "p50": lambda one: one.p50,
        "p99": lambda one: one.p99,
    }
    for label, figure in figures.items():
        words = [duration(figure(spread(one))) if spread(one).count else NONE for one in summaries]
        yield contest(label, cells(words), quickest(summaries, partial(of_spread, spread, figure)))
        if label == "mean":
            yield from seeds_row(summaries, seeds, duration)


def of_spread(
    spread: Callable[[Summary], Spread], figure: Callable[[Spread], float], summary: Summary
) -> float:
    """Nobody is quick by having nothing to count."""
    found = spread(summary)
    return figure(found) if found.count else math.inf


def device_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    for bucket in BUCKETS:
        split = [(one.utilisation[bucket], one.device_hours[bucket]) for one in summaries]
        if not any(amount for _, amount in split):
            continue
        if bucket == "productive":
            yield contest(BUCKET_NAMES[bucket], shares_and_hours(split), most_productive(summaries))
            yield from seeds_row(summaries, lambda one: one.across_seeds.productive, percent)
        else:
            yield Row(BUCKET_NAMES[bucket], shares_and_hours(split))
    totals = [(sum(one.utilisation.values()), sum(one.device_hours.values())) for one in summaries]
    yield Row("all", shares_and_hours(totals))


def most_productive(summaries: Sequence[Summary]) -> list[int]:
    return least(summaries, lambda one: -one.utilisation["productive"])


def shares_and_hours(split: Iterable[tuple[float, float]]) -> tuple[Cell, ...]:
    return tuple((percent(share), hours(amount)) for share, amount in split)


def event_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    counts: dict[str, Figure] = {
        "evictions": lambda one: one.evictions,
        "groups hit by failures": lambda one: one.failures,
        "gangs split": lambda one: one.splits,
        "deadlocks": lambda one: one.deadlocks,
    }
    for label, count in counts.items():
        yield Row(label, cells(number(count(one)) for one in summaries))
    if any(one.deadlocks for one in summaries):
        yield Row("time in deadlock", cells(duration(one.deadlocked_seconds) for one in summaries))


def size_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    for size in (*SIZES, LARGEST):
        if any(size in one.by_size for one in summaries):
            yield mean_and_tail(size, [one.by_size.get(size) for one in summaries])


def priority_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    """Nothing, where all jobs have the same priority."""
    found = sorted({int(priority) for one in summaries for priority in one.by_priority}, reverse=True)
    if len(found) > 1:
        for priority in found[:MOST_ROWS]:
            yield mean_and_tail(str(priority), [one.by_priority.get(str(priority)) for one in summaries])


def mean_and_tail(label: str, times: Sequence[Times | None]) -> Row:
    def words(one: Times | None) -> Cell:
        return (duration(one.wait.mean), duration(one.wait.p99)) if one and one.wait.count else (NONE, NONE)

    return Row(label, tuple(map(words, times)))


def blocker_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    for blocker in blockers(summaries):
        waited = [one.wait_by_blocker.get(blocker, 0.0) for one in summaries]
        yield Row(blocker, cells(map(hours, waited)))


def blockers(summaries: Sequence[Summary]) -> list[str]:
    """Those that cost the most, over all policies."""
    cost: dict[str, float] = {}
    for one in summaries:
        for blocker, waited in one.wait_by_blocker.items():
            cost[blocker] = cost.get(blocker, 0.0) + waited
    return sorted((name for name in cost if cost[name]), key=lambda name: (-cost[name], name))[:MOST_ROWS]


def seeds_row(
    summaries: Sequence[Summary], reach: Callable[[Summary], Range], words: Callable[[float], str]
) -> Iterator[Row]:
    """From the least to the most of the row above, where there are several seeds."""
    if any(len(one.seeds) > 1 for one in summaries):
        ranges = [reach(one) for one in summaries]
        found = cells(f"{words(one.least)} – {words(one.most)}" for one in ranges)
        yield Row("over seeds", found, is_aside=True)


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
