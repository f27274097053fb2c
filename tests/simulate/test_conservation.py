"""Nothing gets lost in a run: no job, no device-second, and no law on the way."""

from collections.abc import Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from benchmarks.soak.receipts import Receipts
from maitred.model.node import Node
from maitred.model.policy import Healing, Order, Placement, Policy, Preemption, Topology
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.faults import Breakdown, Reaction
from maitred.simulate.group import Phase
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import Simulation
from maitred.simulate.run import run_of
from tests.oracle.effort import examples
from tests.simulate.laws import Laws
from tests.simulate.runs import (
    HEALINGS,
    RACK,
    REACTED,
    REACTIONS,
    clusters,
    faults,
    job,
    node,
    patients,
    play,
    rivals,
    workloads,
)

POLICIES: list[tuple[Order, Placement]] = [
    ("priority", "whole-groups"),
    ("fifo", "whole-groups"),
    ("shortest", "whole-groups"),
    ("shortest-remaining", "whole-groups"),
    ("shortest-service", "whole-groups"),
    ("least-attained", "whole-groups"),
    ("priority", "pod-by-pod"),
]


@pytest.mark.parametrize(("order", "placement"), POLICIES)
@examples(40)
@given(data=st.data())
def test_every_job_and_every_device_second_is_accounted_for(
    order: Order, placement: Placement, data: st.DataObject
) -> None:
    check_run(order, placement, data)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "placement"), POLICIES)
@examples(80)
@given(data=st.data())
def test_the_same_in_many_more_runs(order: Order, placement: Placement, data: st.DataObject) -> None:
    check_run(order, placement, data)


PREEMPTIONS = st.builds(
    Preemption, mode=st.sampled_from(("priority", "priority", "never")), delay=st.sampled_from(("0s", "10s"))
)


@examples(60)
@given(data=st.data())
def test_preemption_too(data: st.DataObject) -> None:
    check_rivals(data)


@pytest.mark.slow
@examples(120)
@given(data=st.data())
def test_preemption_in_many_more_runs(data: st.DataObject) -> None:
    check_rivals(data)


@examples(60)
@given(data=st.data())
def test_healing_too(data: st.DataObject) -> None:
    check_patients(data)


@pytest.mark.slow
@examples(300)
@given(data=st.data())
def test_healing_in_many_more_runs(data: st.DataObject) -> None:
    check_patients(data)


# -- runs that broke a law once ----------------------------------------------------------------------------


def test_who_begins_anew_loses_what_it_did_since_then() -> None:
    """A node dies under a group that goes on with one member less, and both are compared as victims."""
    policy = Policy(topology=Topology((RACK,)), healing=Healing(grace="0s", hold="10s"))
    jobs = [
        job("greater", 10, gpus=4, seconds=150, priority=1),
        *(job(f"small-{number}", gpus=2, seconds=150) for number in (1, 2)),
        job("hurt", workers=2, gpus=4, seconds=150, quorum=1, checkpoint=7 * SECOND),
    ]
    dies = Breakdown(10 * SECOND, ("n0",), 11 * SECOND, "drawn")
    laws = Laws(policy)
    nodes = [node(f"n{number}", 4, cpu=16) for number in range(3)]
    loop = play(nodes, jobs, policy, [dies], 300 * SECOND, 0, [laws], Reaction(5 * SECOND, 0, 0, 10 * SECOND))
    assert loop.books.preemptions


def test_members_that_are_created_anew_while_others_leave_are_members() -> None:
    policy = Policy(topology=Topology((RACK,)))
    jobs = [
        job("early", seconds=40),
        *(job(f"late-{number}", at=0.25, seconds=40) for number in range(5)),
        job("leaving", workers=3, gpus=3, seconds=40, quorum=1, grace=3 * SECOND),
        job("greater", 10, gpus=2, seconds=40, priority=1),
    ]
    broken = Breakdown(10 * SECOND + SECOND // 4, ("n1",), 12 * SECOND, "drawn", device=0.0)
    laws = Laws(policy)
    loop = play([node("n0", 4, cpu=16), node("n1", 4, cpu=16)], jobs, policy, [broken], None, 0, [laws])
    assert (loop.books.preemptions > 0, loop.books.failures > 0) == (True, True)


# -- all that is checked of a run --------------------------------------------------------------------------


def check_patients(data: st.DataObject) -> None:
    """Whoever is told to leave was dead; what stalls, is lost or is broken is counted once."""
    nodes, jobs, broken = data.draw(patients())
    policy = Policy(topology=Topology((RACK,)), healing=data.draw(HEALINGS))
    horizon = data.draw(st.sampled_from((300 * SECOND, 1000 * SECOND)))
    reaction = data.draw(REACTED)
    loop = play(nodes, jobs, policy, broken, horizon, 0, [Laws(policy)], reaction)
    event(f"{loop.books.meter.totals['stalled'] > 0}: stalled")
    event(f"{min(loop.books.healed_pods, 3)} members healed")
    check_time(loop, nodes)
    check_jobs(loop, jobs)
    check_work(loop)
    check_repeatable(loop, nodes, jobs, policy, broken, horizon, 0, reaction)


def check_rivals(data: st.DataObject) -> None:
    """Evicted members hold their seats for a while, others their places; what is lost is on the receipts."""
    nodes, jobs = data.draw(rivals())
    broken = data.draw(faults(nodes, of_all_kinds=True))
    policy = Policy(
        topology=Topology((RACK,)), preemption=data.draw(PREEMPTIONS), healing=data.draw(HEALINGS)
    )
    horizon = data.draw(st.none() | st.integers(1, 500).map(lambda count: count * SECOND))
    period = data.draw(st.sampled_from((0, 10 * SECOND)))
    reaction = data.draw(REACTIONS)
    laws, receipts = Laws(policy), Receipts()
    loop = play(nodes, jobs, policy, broken, horizon, period, [laws, receipts], reaction)
    event(f"{min(loop.books.preemptions, 3)} preemptions")
    event(f"{loop.books.evictions < loop.books.evicted_units}: single members evicted")
    event(f"{loop.books.meter.totals['reserved'] > 0}: held in reserve")
    check_time(loop, nodes)
    check_jobs(loop, jobs)
    check_work(loop)
    assert receipts.add_up(loop) == []
    check_repeatable(loop, nodes, jobs, policy, broken, horizon, period, reaction)


def check_run(order: Order, placement: Placement, data: st.DataObject) -> None:
    nodes = data.draw(clusters())
    jobs, broken = data.draw(workloads()), data.draw(faults(nodes, of_all_kinds=True))
    policy = Policy(
        order=order,
        placement=placement,
        topology=Topology((RACK,)),
        redecide_seconds=data.draw(st.sampled_from((0.0, 20.0))),
        healing=data.draw(HEALINGS),
    )
    horizon = data.draw(st.none() | st.integers(1, 500).map(lambda count: count * SECOND))
    period = data.draw(st.sampled_from((0, 10 * SECOND)))
    reaction = data.draw(REACTIONS)
    laws = Laws(policy)
    loop = play(nodes, jobs, policy, broken, horizon, period, [laws], reaction)
    event(f"{min(laws.checked, 5)} moves")
    event(f"{min(loop.books.evictions, 3)} evictions, {min(loop.books.failures, 3)} failures")
    event(f"{loop.books.meter.totals['stalled'] > 0}: stalled")
    event(f"{min(loop.books.healed_pods, 3)} members healed")
    check_time(loop, nodes)
    check_jobs(loop, jobs)
    check_work(loop)
    check_repeatable(loop, nodes, jobs, policy, broken, horizon, period, reaction)


def check_time(loop: Simulation, nodes: Sequence[Node]) -> None:
    totals = loop.books.meter.totals
    assert all(total >= 0 for total in totals.values())
    assert sum(totals.values()) == loop.floor.total * loop.now
    for sample in loop.books.meter.samples():
        assert sum(sample.devices.values()) == pytest.approx(loop.floor.total / 1000)


def check_jobs(loop: Simulation, jobs: Sequence[SimulatedJob]) -> None:
    outcomes = run_of(loop, "p", 1, ()).outcomes
    assert sorted(outcome.job for outcome in outcomes) == sorted(job.name for job in jobs)
    for group in loop.groups:
        over = group in loop.ends
        assert over == (group.phase == Phase.OVER) == (group.ended is not None)
        assert not (over and group.sitting)
        assert group.waited <= (group.ended if group.ended is not None else loop.now) - group.job.arrival


def check_work(loop: Simulation) -> None:
    """What was done is what jobs needed, and what they had to do again."""
    totals = loop.books.meter.totals
    with_devices = [group for group in loop.groups if group.job.load]
    done = sum(
        group.attained(loop.now if group.phase == Phase.WORKING else group.since) for group in with_devices
    )
    assert totals["productive"] + totals["lostToEviction"] + totals["lostToFailure"] == done
    for group in loop.groups:
        if group in loop.ends and loop.ends[group][0] == "finished":
            assert group.job.work is not None
            done = group.done(group.since)
            assert group.job.work <= done < group.job.work + group.job.members * 8000


def check_repeatable(
    loop: Simulation,
    nodes: Sequence[Node],
    jobs: Sequence[SimulatedJob],
    policy: Policy,
    broken: Sequence[Breakdown],
    horizon: Time | None,
    period: Time,
    reaction: Reaction | None = None,
) -> None:
    again = play(nodes, jobs, policy, broken, horizon, period, reaction=reaction)
    assert run_of(again, "p", 1, ()) == run_of(loop, "p", 1, ())
