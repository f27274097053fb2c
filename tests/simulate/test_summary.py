"""Runs summed up: by hand where the numbers are small, against numpy where they are many."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.simulate.results import (
    BUCKETS,
    ENDS,
    Against,
    Bucket,
    Distribution,
    End,
    FailureCost,
    JobOutcome,
    PolicyDifference,
    Run,
)
from maitred.simulate.summary import percentile, size_of, spread, summarise
from tests.simulate.report.results import result


def job(end: End = "finished", **changes: Any) -> JobOutcome:
    usual: dict[str, Any] = {
        "job": "j",
        "end": end,
        "arrival": 10.0,
        "members": 1,
        "devices": 1,
        "priority": 0,
        "started": 20.0,
        "ended": 110.0,
        "waited": 10.0,
        "evictions": 0,
        "failures": 0,
        "split": False,
    }
    return JobOutcome(**{**usual, **changes})


def run(outcomes: Sequence[JobOutcome] = (), policy: str = "p", seed: int = 1, **changes: Any) -> Run:
    usual: dict[str, Any] = {
        "policy": policy,
        "seed": seed,
        "duration": 3600.0,
        "devices": 4,
        "nodes": 1,
        "device_seconds": {"productive": 3600.0, "idle": 10800.0},
        "makespan": 100.0,
        "evictions": 0,
        "failures": 0,
        "splits": 0,
        "astray": 0,
        "deadlocks": 0,
        "deadlocked_seconds": 0.0,
        "wait_by_blocker": {},
        "cycles": 1,
        "outcomes": tuple(outcomes),
        "samples": (),
        "floor": None,
    }
    return Run(**{**usual, **changes})


def test_policies_come_in_the_order_of_first_appearance() -> None:
    summaries = summarise([run(policy="b"), run(policy="a"), run(policy="b", seed=2)])
    assert [(one.policy, one.seeds) for one in summaries] == [("b", (1, 2)), ("a", (1,))]


def test_every_job_is_counted_once_and_over_seeds_on_average() -> None:
    first = [job("finished"), job("finished"), job("waiting", started=None)]
    second = [job("finished"), job("impossible", started=None), job("notArrived", started=None)]
    (summary,) = summarise([run(first), run(second, seed=2)])
    counted = dict.fromkeys(ENDS, 0.0) | {
        "finished": 1.5,
        "waiting": 0.5,
        "impossible": 0.5,
        "notArrived": 0.5,
    }
    assert summary.jobs == counted


def test_waits_are_of_all_jobs_that_could_run_and_completions_of_those_that_finished() -> None:
    jobs = [
        job(waited=4.0, arrival=0.0, ended=50.0),
        job("running", waited=8.0, ended=None),
        job("cancelled", waited=0.0, ended=999.0),
        job("gaveUp", waited=60.0, started=None, ended=70.0),
        job("waiting", waited=128.0, started=None, ended=None),
        job("impossible", waited=1e9, started=None),
        job("notArrived", waited=1e9, started=None, ended=None),
    ]
    (summary,) = summarise([run(jobs)])
    assert summary.times.wait == Distribution(count=5, mean=40.0, p50=8.0, p99=128.0, max=128.0)
    assert summary.times.completion == Distribution(count=1, mean=50.0, p50=50.0, p99=50.0, max=50.0)


@pytest.mark.parametrize(
    ("devices", "size"),
    [(0, "none"), (1, "1"), (2, "2-8"), (8, "2-8"), (9, "9-64"), (64, "9-64"), (65, "65+"), (10**6, "65+")],
)
def test_sizes(devices: int, size: str) -> None:
    assert size_of(devices) == size


def test_by_size_and_priority_only_what_occurs_in_order() -> None:
    jobs = [job(devices=65, priority=-1, waited=9.0), job(devices=0, priority=10), job(devices=3, priority=9)]
    (summary,) = summarise([run(jobs)])
    assert list(summary.by_size) == ["none", "2-8", "65+"]
    assert list(summary.by_priority) == ["10", "9", "-1"]
    assert summary.by_size["65+"].wait.mean == summary.by_priority["-1"].wait.mean == 9.0


def test_device_hours_are_means_and_shares_add_up() -> None:
    lost: dict[Bucket, float] = {"broken": 7200.0, "idle": 7200.0}
    (summary,) = summarise([run(), run(seed=2, device_seconds=lost)])
    assert summary.device_hours == dict.fromkeys(BUCKETS, 0.0) | {
        "productive": 0.5,
        "idle": 2.5,
        "broken": 1.0,
    }
    assert summary.utilisation["idle"] == 0.625
    assert sum(summary.utilisation.values()) == 1.0


def test_a_cluster_without_devices_has_no_shares() -> None:
    (summary,) = summarise([run(device_seconds={})])
    assert set(summary.utilisation.values()) == {0.0}


def test_blockers_are_seconds_of_one_run_and_the_worst_comes_first() -> None:
    blocked = [{"Capacity": 60.0}, {"Topology": 240.0, "Capacity": 60.0}]
    (summary,) = summarise([run(seed=seed, wait_by_blocker=one) for seed, one in enumerate(blocked)])
    assert list(summary.wait_by_blocker.items()) == [("Topology", 120.0), ("Capacity", 60.0)]


def test_seeds_are_as_far_apart_as_their_runs() -> None:
    runs = [
        run([job(waited=2.0)], makespan=5.0),
        run([job(waited=6.0), job(waited=8.0)], seed=2, makespan=1.0),
    ]
    (summary,) = summarise(runs)
    assert (summary.across_seeds.wait.least, summary.across_seeds.wait.most) == (2.0, 7.0)
    assert (summary.across_seeds.makespan.least, summary.across_seeds.makespan.most) == (1.0, 5.0)
    assert summary.across_seeds.productive.least == summary.across_seeds.productive.most == 0.25


def test_a_policy_is_compared_run_by_run_with_the_same_seed() -> None:
    held: dict[Bucket, float] = {"incomplete": 7200.0, "lostToEviction": 3600.0, "lostToFailure": 3600.0}
    runs = [
        run([job(waited=100.0)], "base", 1, device_seconds=held, deadlocks=3),
        run([job(waited=200.0), job("waiting", waited=400.0)], "base", 2),
        run([job(waited=10.0), job(waited=10.0)], "other", 2, deadlocks=1),
        run([job(waited=40.0)], "other", 1),
    ]
    base, other = summarise(runs)
    assert base.against is None
    assert other.against == Against(
        policy="base",
        finished=PolicyDifference(0.5, 0.0, 1.0),
        wait=PolicyDifference(20.0 - 700.0 / 3, -290.0, -60.0),
        hours_in_vain=PolicyDifference(-2.0, -4.0, 0.0),
        deadlocks=PolicyDifference(-1.0, -3.0, 1.0),
    )


def test_failures_cost_what_is_held_below_quorum_done_twice_or_kept_as_spares() -> None:
    held: dict[Bucket, float] = {
        "productive": 3600.0,
        "incomplete": 7200.0,
        "stalled": 3600.0,
        "lostToEviction": 3600.0,
        "lostToFailure": 1800.0,
        "spare": 9000.0,
    }
    (summary,) = summarise([run(device_seconds=held)])
    assert summary.failure_cost == FailureCost(3.0, 0.5, 2.5, 6.0)


def test_all_are_compared_with_pod_by_pod_wherever_it_stands() -> None:
    runs = [run(policy="a"), run(policy="pods", placement="pod-by-pod"), run(policy="b")]
    assert [one.against.policy if one.against else None for one in summarise(runs)] == ["pods", None, "pods"]
    assert [one.against.policy if one.against else None for one in summarise(runs[::2])] == [None, "a"]


def test_runs_without_a_seed_in_common_are_not_compared() -> None:
    _, other = summarise([run(policy="a", seed=1), run(policy="b", seed=2)])
    assert other.against is None


def test_the_same_warning_is_given_once() -> None:
    (summary,) = summarise([run(warnings=("a", "b")), run(seed=2, warnings=("b", "c"))])
    assert summary.warnings == ("a", "b", "c")


def test_nothing_to_count() -> None:
    assert spread(np.array([])) == Distribution()


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.integers(1, 100))
def test_percentiles_are_by_nearest_rank(values: list[float], percent: int) -> None:
    ordered = np.sort(np.array(values))
    assert percentile(ordered, percent) == np.percentile(ordered, percent, method="inverted_cdf")


def test_summaries_do_not_depend_on_how_runs_of_policies_are_mixed() -> None:
    runs = result(jobs=50, seeds=2).runs
    mixed = sorted(runs, key=lambda one: one.seed)
    assert summarise(mixed) == summarise(runs)
