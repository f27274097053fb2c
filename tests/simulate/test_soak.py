"""The first hours of two weeks of mixed priorities, judged as all of it is by `python -m benchmarks.soak`.

And that the judge sees what it is there for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec
import pytest

from benchmarks.soak.__main__ import HEADER, SCENARIO, judged, row_of
from benchmarks.soak.judge import Judge
from benchmarks.soak.promises import Promises
from benchmarks.soak.receipts import Receipts
from maitred.model.policy import Policy, Preemption
from maitred.simulate.clock import SECOND
from maitred.simulate.faults import Breakdown
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.scenario import read_scenario
from maitred.simulate.scenario.values import duration
from maitred.simulate.seating.seater import Moves, Removal
from tests.simulate.runs import job, node, play

NODES = [node("n1")]
JOBS = (
    job("low", gpus=8, seconds=100, grace=10 * SECOND),
    job("high", at=40, gpus=8, seconds=50, priority=10),
    job("none", at=80, gpus=0, seconds=50),
)


@dataclass
class Twisted(RunObserver):
    """Lets a watcher see other moves than are made."""

    watcher: RunObserver
    twist: Callable[[Moves], Moves]

    def moves(self, loop: Simulation, moves: Moves) -> None:
        self.watcher.moves(loop, self.twist(moves))

    def settled(self, loop: Simulation) -> None:
        self.watcher.settled(loop)


def judge_of(jobs: Sequence[SimulatedJob] = JOBS) -> Judge:
    return Judge(Policy(), tuple(jobs), (), every=1)


@pytest.mark.slow
def test_the_first_hours_of_mixed_priorities() -> None:
    scenario = read_scenario(SCENARIO.read_bytes(), SCENARIO.name)
    run, judge = judged(scenario, duration("14h"), seed=1, every=5)
    assert judge.close() == []
    assert run.preemptions > 10
    assert judge.checked > 1
    assert judge.promises.fates["kept"] > 10
    row = dict(zip(HEADER, row_of(run, judge, 1.0), strict=True))
    assert row["Preemptions"] == f"{run.preemptions}"
    # Receipts are written in whole device-seconds, one for each that leaves.
    lost, told = (float(row[column].replace(",", "")) for column in ("Lost (h)", "By receipts (h)"))
    assert lost == pytest.approx(told, abs=0.15)


def test_nothing_is_wrong_with_one_that_takes_the_place_of_another() -> None:
    judge = judge_of()
    play(NODES, JOBS, watchers=[judge])
    assert judge.close() == []
    assert (judge.plans, judge.checked, judge.promises.fates) == (1, 1, {"kept": 1})


def test_the_judge_sees_that_the_highest_starve() -> None:
    """They wait although everyone else could be made to leave."""
    judge = judge_of()
    play(NODES, JOBS, Policy(preemption=Preemption(mode="never")), watchers=[judge])
    assert judge.close() == ["high has waited since 40.0 s, though it fits without lesser jobs"]


def test_the_highest_do_not_starve_that_are_in_each_other_s_way_or_behind_who_must_not_leave() -> None:
    higher = [replace(one, name=f"{one.name}-{n}", priority=10) for one in JOBS for n in range(2)]
    exempt = [replace(JOBS[0], non_preemptible=True), *JOBS[1:]]
    for jobs in (higher, exempt):
        judge = judge_of(jobs)
        play(NODES, jobs, watchers=[judge])
        assert judge.close() == []


def test_the_judge_sees_those_who_left_in_vain() -> None:
    """As if nobody were seated in the end. A node that breaks is an excuse, and so is someone higher."""
    plain, broken = Promises(()), Promises([Breakdown(45 * SECOND, ("n1",), 46 * SECOND, "test")])
    for promises in (plain, broken):
        play(NODES, JOBS, watchers=[Twisted(promises, lambda moves: replace(moves, seatings=()))])
    assert plain.faults == ["others left n1 for high in vain, at 40000000"]
    assert broken.fates == {"broken": 1}
    outranked = Promises(())
    play(NODES, [*JOBS, job("highest", at=45, gpus=8, seconds=50, priority=20)], watchers=[outranked])
    assert outranked.fates == {"outranked": 1}


def test_the_judge_sees_a_receipt_that_is_wrong() -> None:
    def doubled(moves: Moves) -> Moves:
        return replace(moves, removals=[with_twice_the_work(removal) for removal in moves.removals])

    receipts = Receipts()
    loop = play(NODES, JOBS, watchers=[Twisted(receipts, doubled)])
    assert [fault.partition(",")[0] for fault in receipts.add_up(loop)] == [
        "low-0 loses 0.08888888888888889 device-hours",
        "0.08888888888888889 device-hours were lost",
    ]


def with_twice_the_work(removal: Removal) -> Removal:
    receipts = [
        msgspec.structs.replace(receipt, work_lost_device_hours=2 * receipt.work_lost_device_hours)
        for receipt in removal.receipts
    ]
    return replace(removal, receipts=receipts)


def test_the_judge_sees_two_that_evict_each_other() -> None:
    def both_ways(moves: Moves) -> Moves:
        back = [Removal(seating.group, (), "low") for seating in moves.nominations]
        return replace(moves, removals=[*moves.removals, *back])

    judge = judge_of()
    play(NODES, JOBS, watchers=[Twisted(judge, both_ways)])
    assert judge.faults == ["high and low evict each other"]


def test_the_judge_sees_a_law_that_a_plan_breaks() -> None:
    def without_places(moves: Moves) -> Moves:
        assert moves.plan is not None
        return replace(moves, plan=msgspec.structs.replace(moves.plan, nominations=()))

    judge = judge_of()
    play(NODES, JOBS, watchers=[Twisted(judge, without_places)])
    assert any("law 5" in fault for fault in judge.faults)
