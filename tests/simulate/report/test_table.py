"""The table of a result: what it says, where it says nothing, and that it fits."""

import re

import pytest

from maitred.simulate.report.amounts import duration, hours, moment, number, percent
from maitred.simulate.report.table import result_lines
from maitred.simulate.results import Result, Run
from maitred.simulate.summary import summarise
from tests.simulate.report.results import SPLITS, result
from tests.simulate.test_summary import job, run

SMALL = (
    run([job(), job("impossible", job="huge", started=None, why="needs 9 devices, the cluster has 4")]),
    run(
        [job(waited=5400.0), job("waiting", started=None)],
        policy="pods",
        device_seconds={"productive": 1800.0, "incomplete": 1800.0, "idle": 10800.0},
        splits=1,
        deadlocks=2,
        deadlocked_seconds=7200.0,
        wait_by_blocker={"Capacity": 5400.0},
        warnings=("the trace has no priorities",),
    ),
)


def made(*runs: Run) -> Result:
    return Result(scenario="small", summaries=summarise(runs), runs=runs)


def lines(found: Result, width: int | None = None) -> list[str]:
    return [line.plain.rstrip() for line in result_lines(found, width)]


def test_the_whole_page() -> None:
    assert lines(made(*SMALL)) == [
        "small",
        "  1 node with 4 devices, 1 h of virtual time, 1 seed",
        "",
        "                                           p             pods",
        "Jobs",
        "  finished                            1 of 2           1 of 2",
        "  still waiting                            0                1",
        "  impossible                               1                0",
        "Wait",
        "  mean                                  10 s            1.5 h",
        "  p50                                   10 s            1.5 h",
        "  p99                                   10 s            1.5 h",
        "Completion",
        "  mean                               1.7 min          1.7 min",
        "  p50                                1.7 min          1.7 min",
        "  p99                                1.7 min          1.7 min",
        "  makespan                           1.7 min          1.7 min",
        "Device-hours",
        "  productive                   25.0 %  1.0 h    12.5 %  0.5 h",
        "  held by incomplete groups       0 %    0 h    12.5 %  0.5 h",
        "  idle                         75.0 %  3.0 h    75.0 %  3.0 h",
        "  all                         100.0 %  4.0 h   100.0 %  4.0 h",
        "Events",
        "  evictions                                0                0",
        "  groups hit by failures                   0                0",
        "  gangs split                              0                1",
        "  deadlocks                                0                2",
        "  time in deadlock                       0 s            2.0 h",
        "Wait by devices of a job: mean, p99",
        "  1                              10 s   10 s     1.5 h  1.5 h",
        "Hours that jobs waited, by blocker",
        "  Capacity                               0 h            1.5 h",
        "",
        "Warnings",
        "  the trace has no priorities (pods)",
        "",
        "Impossible jobs",
        "  huge: needs 9 devices, the cluster has 4 (p)",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit(width: int) -> None:
    assert max(len(line) for line in lines(result(seeds=3, nodes=847), width)) <= width


def test_three_policies_of_a_large_cluster_are_side_by_side_in_100_columns() -> None:
    heads = [line for line in lines(result(seeds=3, nodes=900), 100) if "pod-by-pod" in line]
    assert heads[0].split() == list(SPLITS)


def test_policies_that_do_not_fit_come_below() -> None:
    shown = lines(result(policies=[f"policy-{number}" for number in range(7)]), 100)
    heads = [line.split() for line in shown if re.match(r"\s+policy-", line)]
    assert [name for head in heads for name in head] == [f"policy-{number}" for number in range(7)]
    assert len(heads) == 3


def test_the_spread_over_seeds_is_told_where_there_are_several() -> None:
    assert not any("over seeds" in line for line in lines(result(seeds=1)))
    assert sum("over seeds" in line for line in lines(result(seeds=2))) == 4


def test_nobody_wins_by_the_few_that_were_let_through() -> None:
    few = run([job(waited=0.0), *[job("waiting", started=None)] * 9], policy="few")
    all_ = run([job(waited=60.0)] * 10, policy="all")
    mean = next(line for line in result_lines(made(few, all_)) if line.plain.strip().startswith("mean"))
    (winner,) = [mean.plain[span.start : span.end].strip() for span in mean.spans if span.style == "green"]
    assert winner == "1.0 min"


def test_names_that_a_terminal_would_trip_over() -> None:
    spiteful = made(run([job()], policy="\x1b[2Jclear\n" + "x" * 500))
    assert not any("\x1b" in line or len(line) > 60 for line in lines(spiteful))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (0.25, "0.2 s"),
        (41.2, "41 s"),
        (60.0, "1.0 min"),
        (11_520.0, "3.2 h"),
        (172_799.0, "48.0 h"),
        (172_800.0, "2.0 d"),
        (86_400.0 * 1234, "1,234 d"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_moments() -> None:
    moments = [moment(seconds) for seconds in (0.0, 0.4, 59.6, 3725.0, 302_400.0, 86_400.0)]
    assert moments == ["0 s", "0 s", "1 min 0 s", "1 h 2 min", "3 d 12 h", "1 d 0 h"]


def test_amounts() -> None:
    assert [number(1234.0), number(584.66), number(0.0)] == ["1,234", "584.7", "0"]
    assert [percent(0.0), percent(0.0004), percent(0.613), percent(1.0)] == [
        "0 %",
        "< 0.1 %",
        "61.3 %",
        "100.0 %",
    ]
    assert [hours(0.0), hours(41.25), hours(412_345.1)] == ["0 h", "41.2 h", "412,345 h"]
