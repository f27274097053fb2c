"""Many runs as one summary for each policy.

Percentiles are by nearest rank: p99 of n values is the one in place ⌈0.99 n⌉ of their order, so that every
percentile is the time of some job, never a time between two.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from maitred.model.queues import DEFAULT_QUEUE
from maitred.simulate.clock import HOUR, SECOND
from maitred.simulate.results import (
    BUCKETS,
    ENDS,
    AcrossSeeds,
    Against,
    Bucket,
    Distribution,
    End,
    FailureCost,
    JobOutcome,
    JobTimes,
    PolicyDifference,
    PolicySummary,
    QueueFigures,
    Run,
    SeedRange,
)

HOUR_S = HOUR / SECOND
SIZES = {"none": 0, "1": 1, "2-8": 8, "9-64": 64}
"""The most devices of a job of each size."""
LARGEST = "65+"

NEVER_HERE: tuple[End, ...] = ("impossible", "notArrived")
"""Jobs that no policy can do anything for: their waits say nothing about it."""
IN_VAIN: tuple[Bucket, ...] = ("incomplete", "stalled", "lostToEviction", "lostToFailure")

Floats = NDArray[np.float64]


def summarise(runs: Sequence[Run]) -> tuple[PolicySummary, ...]:
    """Policies in the order in which they first appear."""
    by_policy: dict[str, list[Run]] = {}
    for run in runs:
        by_policy.setdefault(run.policy, []).append(run)
    baseline = baseline_of(list(by_policy.values()))
    return tuple(summary(policy, own, baseline) for policy, own in by_policy.items())


def summary(policy: str, runs: Sequence[Run], baseline: Sequence[Run]) -> PolicySummary:
    outcomes = [outcome for run in runs for outcome in run.outcomes]
    hours = {bucket: mean(run.device_seconds.get(bucket, 0.0) for run in runs) / HOUR_S for bucket in BUCKETS}
    return PolicySummary(
        policy=policy,
        placement=runs[0].placement,
        seeds=tuple(run.seed for run in runs),
        jobs=jobs_by_end(outcomes, len(runs)),
        utilisation=shares(hours),
        device_hours=hours,
        makespan=mean(run.makespan for run in runs),
        evictions=mean(run.evictions for run in runs),
        preemptions=mean(run.preemptions for run in runs),
        evicted_units=mean(run.evicted_units for run in runs),
        evicted_pods=mean(run.evicted_pods for run in runs),
        receipts_device_hours=mean(run.receipts_device_seconds for run in runs) / HOUR_S,
        failures=mean(run.failures for run in runs),
        splits=mean(run.splits for run in runs),
        astray=mean(run.astray for run in runs),
        deadlocks=mean(run.deadlocks for run in runs),
        deadlocked_seconds=mean(run.deadlocked_seconds for run in runs),
        wait_by_blocker=seconds_by_blocker(runs),
        times=times_of(outcomes),
        by_size=by_size(outcomes),
        by_priority=by_priority(outcomes),
        by_queue=by_queue(outcomes, runs),
        across_seeds=across_seeds(runs),
        failure_cost=failure_cost(hours),
        against=against(runs, baseline),
        warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
    )


def failure_cost(hours: Mapping[Bucket, float]) -> FailureCost:
    """An incomplete group costs the same, whatever it waits for."""
    below, twice, spares = hours["incomplete"] + hours["stalled"], hours["lostToFailure"], hours["spare"]
    return FailureCost(below, twice, spares, below + twice + spares)


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def jobs_by_end(outcomes: Iterable[JobOutcome], runs: int) -> dict[End, float]:
    count: dict[End, int] = dict.fromkeys(ENDS, 0)
    for outcome in outcomes:
        count[outcome.end] += 1
    return {end: number / runs for end, number in count.items()}


def shares(amounts: dict[Bucket, float]) -> dict[Bucket, float]:
    total = sum(amounts.values())
    return {bucket: amount / total if total else 0.0 for bucket, amount in amounts.items()}


def seconds_by_blocker(runs: Sequence[Run]) -> dict[str, float]:
    """The one that cost the most first."""
    seconds: dict[str, float] = {}
    for run in runs:
        for blocker, waited in run.wait_by_blocker.items():
            seconds[blocker] = seconds.get(blocker, 0.0) + waited
    worst_first = sorted(seconds, key=lambda blocker: (-seconds[blocker], blocker))
    return {blocker: seconds[blocker] / len(runs) for blocker in worst_first}


# -- times -------------------------------------------------------------------------------------------------


def times_of(outcomes: Iterable[JobOutcome]) -> JobTimes:
    found = list(outcomes)
    return JobTimes(wait=spread(waits(found)), completion=spread(completions(found)))


def waits(outcomes: Iterable[JobOutcome]) -> Floats:
    """Of jobs that wanted seats at some time, whether they ever got them or not."""
    return np.array([outcome.waited for outcome in outcomes if outcome.end not in NEVER_HERE], np.float64)


def completions(outcomes: Iterable[JobOutcome]) -> Floats:
    """From arrival to end, of jobs that finished."""
    return np.array(
        [
            outcome.ended - outcome.arrival
            for outcome in outcomes
            if outcome.end == "finished" and outcome.ended is not None
        ],
        np.float64,
    )


def spread(values: Floats) -> Distribution:
    if not values.size:
        return Distribution()
    ordered = np.sort(values)
    return Distribution(
        count=ordered.size,
        mean=float(ordered.mean()),
        p50=percentile(ordered, 50),
        p99=percentile(ordered, 99),
        max=float(ordered[-1]),
    )


def percentile(ordered: Floats, percent: int) -> float:
    """By nearest rank, of values in ascending order."""
    rank = -(-percent * ordered.size // 100)
    return float(ordered[max(rank, 1) - 1])


def size_of(devices: int) -> str:
    return next((size for size, most in SIZES.items() if devices <= most), LARGEST)


def by_size(outcomes: Iterable[JobOutcome]) -> dict[str, JobTimes]:
    found: dict[str, list[JobOutcome]] = {size: [] for size in (*SIZES, LARGEST)}
    for outcome in outcomes:
        found[size_of(outcome.devices)].append(outcome)
    return {size: times_of(own) for size, own in found.items() if own}


def by_priority(outcomes: Iterable[JobOutcome]) -> dict[str, JobTimes]:
    found: dict[int, list[JobOutcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.priority, []).append(outcome)
    return {str(priority): times_of(found[priority]) for priority in sorted(found, reverse=True)}


def by_queue(
    outcomes: Iterable[JobOutcome], runs: Sequence[Run]
) -> dict[str, QueueFigures] | msgspec.UnsetType:
    held = Counter[str]()
    for run in runs:
        held.update(run.device_seconds_by_queue or {})
    if not held:
        return msgspec.UNSET
    found: dict[str, list[JobOutcome]] = {queue: [] for queue in sorted(held)}
    for outcome in outcomes:
        if outcome.end != "notArrived":
            found.setdefault(outcome.queue or DEFAULT_QUEUE, []).append(outcome)
    total = sum(held.values())
    return {
        queue: QueueFigures(
            jobs=len(own) / len(runs),
            wait=spread(waits(own)),
            device_hours=held[queue] / len(runs) / HOUR_S,
            share=held[queue] / total if total else 0.0,
        )
        for queue, own in found.items()
    }


# -- seeds -------------------------------------------------------------------------------------------------


def across_seeds(runs: Sequence[Run]) -> AcrossSeeds:
    times = [times_of(run.outcomes) for run in runs]
    return AcrossSeeds(
        wait=reach(one.wait.mean for one in times),
        completion=reach(one.completion.mean for one in times),
        productive=reach(shares(run.device_seconds).get("productive", 0.0) for run in runs),
        makespan=reach(run.makespan for run in runs),
    )


def reach(values: Iterable[float]) -> SeedRange:
    found = list(values)
    return SeedRange(least=min(found), most=max(found))


# -- one policy against another ----------------------------------------------------------------------------


def baseline_of(policies: Sequence[Sequence[Run]]) -> Sequence[Run]:
    """What the others are compared with: the runs that show the problem, wherever they stand."""
    return next((runs for runs in policies if runs[0].placement == "pod-by-pod"), policies[0])


def against(runs: Sequence[Run], baseline: Sequence[Run]) -> Against | None:
    """Runs with the same seed saw the same jobs and faults, so that only the policy makes a difference."""
    by_seed = {run.seed: run for run in baseline}
    pairs = [(run, by_seed[run.seed]) for run in runs if run.seed in by_seed]
    if runs[0].policy == baseline[0].policy or not pairs:
        return None

    def difference(figure: Callable[[Sequence[Run]], float]) -> PolicyDifference:
        each = [figure([run]) - figure([other]) for run, other in pairs]
        return PolicyDifference(figure(runs) - figure(baseline), min(each), max(each))

    return Against(
        policy=baseline[0].policy,
        finished=difference(finished),
        wait=difference(mean_wait),
        hours_in_vain=difference(hours_in_vain),
        deadlocks=difference(deadlocks),
    )


def finished(runs: Sequence[Run]) -> float:
    return mean(sum(outcome.end == "finished" for outcome in run.outcomes) for run in runs)


def mean_wait(runs: Sequence[Run]) -> float:
    return spread(waits(outcome for run in runs for outcome in run.outcomes)).mean


def hours_in_vain(runs: Sequence[Run]) -> float:
    return mean(sum(run.device_seconds.get(bucket, 0.0) for bucket in IN_VAIN) for run in runs) / HOUR_S


def deadlocks(runs: Sequence[Run]) -> float:
    return mean(run.deadlocks for run in runs)
