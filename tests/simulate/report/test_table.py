"""The table of a result: what it says, where it says nothing, and that it fits."""

import re
from itertools import takewhile

import pytest

from maitred.simulate.report.amounts import amount, between, duration, hours, moment, number, percent
from maitred.simulate.report.savings import MINUS
from maitred.simulate.report.table import result_lines
from maitred.simulate.results import Result, Run
from maitred.simulate.summary import summarise
from tests.simulate.report.results import SPLITS, result
from tests.simulate.test_summary import job, run

SMALL = (
    run([job(), job("impossible", job="huge", started=None, why="needs 9 devices, the cluster has 4")]),
    run(
        [job(waited=5400.0), job("waiting", started=None, waited=1800.0)],
        policy="pods",
        placement="pod-by-pod",
        device_seconds={"productive": 1800.0, "incomplete": 1800.0, "idle": 10800.0},
        splits=1,
        astray=1,
        deadlocks=2,
        deadlocked_seconds=7200.0,
        wait_by_blocker={"Unschedulable": 7200.0},
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
        "  of all jobs that arrived; jobs that still wait count with their wait so far",
        "  mean                                  10 s            1.0 h",
        "  p50                                   10 s         30.0 min",
        "  p99                                   10 s            1.5 h",
        "Completion",
        "  of jobs that finished",
        "  mean                               1.7 min          1.7 min",
        "  p50                                1.7 min          1.7 min",
        "  p99                                1.7 min          1.7 min",
        "  makespan                           1.7 min                -",
        "Device-hours",
        "  productive                   25.0 %  1.0 h    12.5 %  0.5 h",
        "  held by incomplete groups       0 %    0 h    12.5 %  0.5 h",
        "  idle                         75.0 %  3.0 h    75.0 %  3.0 h",
        "  all                         100.0 %  4.0 h   100.0 %  4.0 h",
        "Events",
        "  evictions                                0                0",
        "  groups hit by failures                   0                0",
        "  gangs split                              0                1",
        "  outside required domain                  0                1",
        "  deadlocks                                0                2",
        "  time in deadlock                       0 s            2.0 h",
        "Wait by devices of a job: mean, p99",
        "  1                              10 s   10 s     1.0 h  1.5 h",
        "Hours that jobs waited, by blocker",
        "  Unschedulable: placement pod by pod knows no other reason",
        "  Unschedulable                          0 h            2.0 h",
        "Against pods",
        "  wasted: held by incomplete groups, or lost to eviction or failure",
        "  jobs finished                            0                -",
        f"  mean wait                        {MINUS}59.8 min                -",
        "    that is                    360 × shorter                -",
        f"  device-hours wasted                   {MINUS}0.5                -",
        f"  deadlocks                               {MINUS}2                -",
        "",
        "Warnings",
        "  the trace has no priorities (pods)",
        "",
        "Impossible jobs",
        "  huge: needs 9 devices, the cluster has 4 (p)",
    ]


def test_evictions_say_for_whom_and_at_what_cost() -> None:
    lost = 5400.0
    evicting = run([job()], evictions=3, preemptions=2, evicted_pods=9, receipts_device_seconds=lost)
    shown = lines(made(evicting, run([job()], policy="never")))
    start = shown.index("Events")
    assert [line.split() for line in shown[start + 1 : start + 5]] == [
        ["evictions", "3", "0"],
        ["groups", "evicted", "for", "2", "0"],
        ["pods", "9", "0"],
        ["lost", "by", "receipts", "1.5", "h", "0", "h"],
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


def rows(found: Result, section: str) -> dict[str, str]:
    """What is said under a title, by the first words of each line."""
    shown = lines(found)
    inside = [line.strip() for line in takewhile(is_inside, shown[shown.index(section) + 1 :])]
    return {re.split("  +", line)[0]: line for line in inside}


def is_inside(line: str) -> bool:
    return line.startswith(" ")


def best(found: Result, section: str, label: str) -> list[str]:
    """What is green in a row."""
    shown = list(result_lines(found))
    titles = [line.plain for line in shown]
    row = next(line for line in shown[titles.index(section) :] if line.plain.strip().startswith(label))
    return [row.plain[span.start : span.end].strip() for span in row.spans if span.style == "green"]


def test_the_spread_over_seeds_is_told_where_there_are_several() -> None:
    assert not any("over seeds" in line for line in lines(result(seeds=1)))
    assert sum("over seeds" in line for line in lines(result(seeds=2))) == 7


def test_what_is_a_mean_of_runs_and_what_is_of_all_jobs_is_told_where_there_are_several_seeds() -> None:
    assert not any("means of one run" in line for line in lines(result(seeds=1)))
    assert any("means of one run" in line for line in lines(result(seeds=2)))


def test_jobs_that_never_got_seats_count_in_waits() -> None:
    few = run([job(waited=0.0), *[job("waiting", started=None, waited=3600.0)] * 9], policy="few")
    all_ = run([job(waited=60.0)] * 10, policy="all")
    assert rows(made(few, all_), "Wait")["mean"].split()[1:] == ["54.0", "min", "1.0", "min"]
    assert best(made(few, all_), "Wait", "mean") == ["1.0 min"]


def test_nobody_completes_soonest_by_the_few_that_were_let_through() -> None:
    few = run([job(ended=20.0), *[job("waiting", started=None)] * 9], policy="few")
    all_ = run([job(ended=610.0)] * 10, policy="all")
    assert best(made(few, all_), "Completion", "mean") == ["10.0 min"]
    slow = run([job(ended=1210.0)] * 10, policy="slow")
    as_quick = run([job(ended=610.0)], policy="as quick")
    assert best(made(as_quick, all_, slow), "Completion", "mean") == ["10.0 min"]
    told = (
        "of jobs that finished; not marked as best, because they finished over 1 % fewer jobs than "
        "others: few"
    )
    assert told in rows(made(few, all_), "Completion")
    assert "of jobs that finished" in rows(made(all_), "Completion")


def test_a_makespan_is_of_policies_that_are_done() -> None:
    done, cut_off = run([job()], policy="a"), run([job(), job("running", ended=None)], policy="b")
    assert rows(made(done, cut_off), "Completion")["makespan"].split() == ["makespan", "1.7", "min", "-"]
    assert "makespan" not in rows(made(cut_off), "Completion")


def test_sizes_and_priorities_say_of_how_many_jobs_unless_policies_differ() -> None:
    one = run([job(devices=80, priority=1)] * 3 + [job()])
    title = "Wait by devices of a job: mean, p99"
    assert list(rows(made(one, run(one.outcomes, seed=2)), title)) == ["1 (1 job)", "65+ (3 jobs)"]
    assert list(rows(made(one), "Wait by priority: mean, p99")) == ["1 (3 jobs)", "0 (1 job)"]
    other = run([job("impossible", devices=80)] * 2 + [job(devices=80), job()], policy="other")
    assert list(rows(made(one, other), title)) == ["1 (1 job)", "65+"]


def test_differences_over_seeds() -> None:
    def runs(policy: str, *waits: float) -> list[Run]:
        return [run([job(waited=wait)], policy, seed) for seed, wait in enumerate(waits)]

    made_up = made(*runs("a", 7200.0, 3600.0), *runs("b", 1800.0, 5400.0))
    found = rows(made_up, "Against a")
    assert found["mean wait"].split() == ["mean", "wait", "-", f"{MINUS}30.0", "min"]
    assert found["that is"].split() == ["that", "is", "-", "1.5", "×", "shorter"]
    (reach,) = [line for line in lines(made_up) if " to +" in line]
    assert reach.split() == ["over", "seeds", "-", f"{MINUS}1.5", "h", "to", "+30.0", "min"]


def test_a_policy_alone_is_compared_with_nobody() -> None:
    assert not any(line.startswith("Against") for line in lines(made(SMALL[0])))


def test_names_that_a_terminal_would_trip_over() -> None:
    name = "\x1b[2Jclear\n" + "x" * 500
    spiteful = made(run(policy=name), run([job()], policy="other"))
    assert sum("xxx" in line for line in lines(spiteful)) == 3
    assert not any("\x1b" in line or "x" * 80 in line for line in lines(spiteful))


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
    assert [amount(1, "job"), amount(0.5, "job"), amount(1234, "job")] == ["1 job", "0.5 jobs", "1,234 jobs"]
    assert [between("2.0 h", "–", "3.1 h"), between("2.0 min", "–", "3.1 h")] == [
        "2.0 – 3.1 h",
        "2.0 min – 3.1 h",
    ]
    assert [between("2", "to", "3"), between("2 h", "to", "2 h")] == ["2 to 3", "2 h"]
    assert [number(1234.0), number(584.66), number(0.0)] == ["1,234", "584.7", "0"]
    assert [percent(0.0), percent(0.0004), percent(0.613), percent(1.0)] == [
        "0 %",
        "< 0.1 %",
        "61.3 %",
        "100.0 %",
    ]
    assert [hours(0.0), hours(41.25), hours(412_345.1)] == ["0 h", "41.2 h", "412,345 h"]


def test_what_failures_cost_is_told_where_groups_stall() -> None:
    told = made(
        run([job()], "base", device_seconds={"productive": 7200.0, "stalled": 7200.0}),
        run([job()], "healed", device_seconds={"productive": 10800.0, "stalled": 1800.0, "spare": 1800.0}),
    )
    found = lines(told)
    start = found.index("Cost of failures")
    assert [line.split() for line in found[start + 2 : start + 7]] == [
        ["below", "quorum", "2.0", "h", "0.5", "h"],
        ["work", "done", "twice", "0", "h", "0", "h"],
        ["spares", "0", "h", "0.5", "h"],
        ["in", "all", "2.0", "h", "1.0", "h"],
        ["saved", "-", "+50.0", "%"],
    ]
