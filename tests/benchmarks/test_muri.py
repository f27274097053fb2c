"""Muri's published digits, on maitred's loop; and the rules that are peculiar to Muri, one by one."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.anchors.muri import figures, play, published, read_overheads, read_trace, replay
from benchmarks.anchors.muri_rules import LeastAttained, Muri, Order, Shortest
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.orders import MEASURES
from maitred.simulate.seating.seater import Moves
from maitred.simulate.traces.rows import rows
from tests.simulate.data import FOLDER, shared
from tests.simulate.runs import job

QUICK = [("SRTF", "trace1")]
SLOW = [("SRSF", "trace1"), ("Tiresias_L", "trace1"), ("SRSF", "trace2"), ("Tiresias_L", "trace2")]


def folder() -> Path:
    shared("muri/published_results.csv")
    return FOLDER / "muri"


@pytest.mark.parametrize(
    ("policy", "trace"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_every_published_digit(policy: str, trace: str) -> None:
    loop = replay(folder(), policy, trace)
    ours, theirs = figures(loop), published(folder(), policy, trace)
    assert {what: ours[what].quantize(figure) for what, figure in theirs.items()} == theirs
    check_accounts(loop)


def check_accounts(loop: Simulation, forgiven: int = 0) -> None:
    """Every device-second is in one bucket, and the productive ones are the work of the jobs, but for what
    they were let off because they ended together with others."""
    totals = loop.books.meter.totals
    assert sum(totals.values()) == loop.floor.total * loop.now
    assert totals["productive"] + forgiven == sum(job.work or 0 for job in loop.workload)
    assert {end for end, _ in loop.ends.values()} == {"finished"}


# -- the one digit that is rounding ------------------------------------------------------------------------


class Sittings(RunObserver):
    """A watcher that writes down who sat from when on."""

    def __init__(self) -> None:
        self.since: dict[Time, list[SimulatedGroup]] = {}

    def moves(self, loop: Simulation, moves: Moves) -> None:
        self.since[loop.now] = [seating.group for seating in moves.seatings]


@pytest.mark.slow
def test_srtf_on_trace2_differs_by_nothing_but_the_rounding_of_the_original() -> None:
    """Muri adds up seconds in floats. In whole microseconds one figure comes out 3 of them lower; the same
    run with Muri's arithmetic gives what was published."""
    sittings = Sittings()
    loop = replay(folder(), "SRTF", "trace2", [sittings])
    ours, theirs = figures(loop), published(folder(), "SRTF", "trace2")
    apart = [(ours[what].quantize(figure) - figure) * SECOND for what, figure in theirs.items()]
    assert apart == [0, 0, -3]
    in_floats = figures_in_floats(ends_in_floats(sittings, loop.now))
    rounded = [ours.quantize(figure) for ours, figure in zip(in_floats, theirs.values(), strict=True)]
    assert rounded == [*theirs.values()]
    check_accounts(loop, forgiven=3610 * WHOLE)


def ends_in_floats(sittings: Sittings, over: Time) -> dict[SimulatedGroup, float]:
    data = shared("muri/trace2.csv.gz")
    table = list(rows(data, "trace2", ("job_id", "iterations", "iteration_time")))
    left = {row.text("job_id"): float(row.whole("iterations")) for row in table}
    each = {row.text("job_id"): row.whole("iteration_time") * 1.015 / 1000 for row in table}
    overheads = read_overheads(folder(), read_trace(folder(), "trace2"))
    clock, ends = min(sittings.since) / SECOND, dict[SimulatedGroup, float]()
    for sitting, until in zip(sittings.since.values(), [*sittings.since, over][1:], strict=True):
        ended = [group for group in sitting if group.ended == until]
        later = clock + left[ended[0].name] * each[ended[0].name] if ended else until / SECOND
        ends |= dict.fromkeys(ended, later)
        for group in sitting:
            gone = later - clock - overheads[group.name] // SECOND
            left[group.name] -= max(gone, 0) / each[group.name]
        clock = later
    return ends


def figures_in_floats(ends: dict[SimulatedGroup, float]) -> list[Decimal]:
    times = sorted(end - group.job.arrival / SECOND for group, end in ends.items())
    found = sum(times) / len(times), max(ends.values()), times[len(times) * 99 // 100]
    return [Decimal(figure) for figure in found]


# -- rule by rule ------------------------------------------------------------------------------------------


def played(order: Order, jobs: list[SimulatedJob], overhead: Time = 0) -> tuple[Simulation, dict[str, float]]:
    """And when each job ended, in seconds."""
    jobs = [replace(each, checkpoint=0) for each in jobs]
    loop = play(Muri(order, {each.name: overhead for each in jobs}), jobs)
    return loop, {group.name: (group.ended or 0) / SECOND for group in loop.groups}


def shortest_remaining() -> Order:
    return Shortest(MEASURES["shortest-remaining"])


def test_an_event_costs_whoever_runs_but_not_whoever_ends() -> None:
    jobs = [job("long", seconds=100), job("short", at=30, seconds=20, gpus=4)]
    loop, ends = played(shortest_remaining(), jobs, overhead=3 * SECOND)
    assert ends == {"short": 50, "long": 106}
    assert loop.books.meter.totals["lostToEviction"] == 6 * SECOND * WHOLE
    check_accounts(loop)


def test_an_event_costs_no_more_than_was_done_since_the_last() -> None:
    jobs = [job("long", seconds=100), job("first", at=10, seconds=500), job("second", at=11, seconds=500)]
    _, ends = played(shortest_remaining(), jobs, overhead=3 * SECOND)
    assert ends["long"] == 104


def test_who_does_not_fit_is_passed_over() -> None:
    jobs = [
        job("all but one", seconds=10, workers=7, gpus=8),
        job("two nodes", seconds=20, workers=2, gpus=8),
        job("one device", seconds=30, gpus=1),
    ]
    _, ends = played(shortest_remaining(), jobs)
    assert ends == {"all but one": 10, "two nodes": 10 + 20, "one device": 30}


def test_who_would_end_a_billionth_later_ends_together() -> None:
    jobs = [job("a", seconds=1000), job("b", seconds=1000.000001), job("c", seconds=1000.000002)]
    loop, ends = played(shortest_remaining(), jobs)
    assert ends == {"a": 1000, "b": 1000, "c": 1000.000002}
    check_accounts(loop, forgiven=WHOLE)


def test_attained_service_moves_a_job_back_and_those_who_sit_stay_ahead() -> None:
    """On all 64 devices the first queue ends after 51 s, the second after 113 s."""
    jobs = [job("long", seconds=1000, workers=8, gpus=8), job("short", at=10, seconds=20, workers=8, gpus=8)]
    loop, ends = played(LeastAttained(), jobs, overhead=5 * SECOND)
    assert ends == {"short": 51 + 20, "long": 1000 + 20 + 3 * 5}
    assert loop.books.meter.totals["lostToEviction"] == 3 * 5 * SECOND * 64 * WHOLE
    check_accounts(loop)
