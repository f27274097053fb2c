"""A law: where all run times are known and no new groups arrive, groups start when it was said."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.estimates import objects, seconds
from maitred.cluster.state import ClusterState, Put
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimates
from maitred.explain.situation import Situation
from maitred.model.policy import Policy, Preemption, Topology
from maitred.model.queues import Queue, QueueLimit
from maitred.simulate.clock import SECOND, moment
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.objects import group_key
from tests.oracle.effort import examples
from tests.simulate.runs import GPU, RACK, job, node, play

NODES = [node(f"n{number}", rack=f"r{number // 2}") for number in range(4)]
STEP = 600
"""Seconds. Ends are so far apart, or at one moment, that none are taken together that are not."""
LATEST_ARRIVAL = 6 * STEP


class Listener(RunObserver):
    """Asks for everyone once all have come."""

    def __init__(self, policy: Policy, jobs: int) -> None:
        self.policy, self.jobs = policy, jobs
        self.answers: dict[SimulatedGroup, Estimate] = {}
        self.asked = False

    def settled(self, loop: Simulation) -> None:
        waiting = [group for group in loop.groups if group.waits]
        if self.asked or len(loop.groups) < self.jobs or not waiting:
            return
        self.asked, state = True, ClusterState()
        for item in NODES:
            state.apply(Put(item))
        for group in loop.groups:
            if group.phase != Phase.OVER:
                for each in objects(group, said=True):
                    state.apply(Put(each))
        situation = Situation(state.snapshot(), self.policy, moment(loop.now))
        found = estimates(situation, [group_key(group.job) for group in waiting])
        self.answers = {group: found[group_key(group.job)] for group in waiting}


@st.composite
def workloads(draw: st.DrawFn) -> list[SimulatedJob]:
    return [
        job(
            f"job{number}",
            at=STEP * draw(st.integers(0, LATEST_ARRIVAL // STEP)),
            workers=draw(st.integers(1, 4)),
            gpus=draw(st.sampled_from((2, 4, 8))),
            seconds=STEP * draw(st.integers(1, 12)),
            priority=draw(st.sampled_from((0, 0, 10))),
            within=draw(st.sampled_from(("", "", "rack"))),
        )
        for number in range(draw(st.integers(4, 12)))
    ]


@given(workloads())
@examples(60)
def test_what_was_said_comes_true(jobs: list[SimulatedJob]) -> None:
    jobs = [each for each in jobs if each.within == "" or each.members * each.crews[0].devices <= 16]
    policy = Policy(topology=Topology((RACK,)), preemption=Preemption(mode="never"))
    listener = Listener(policy, len(jobs))
    play(NODES, jobs, policy, watchers=[listener])
    for group, answer in listener.answers.items():
        assert group.first_seated is not None
        assert seconds(answer.earliest) == group.first_seated / SECOND, (group.name, answer)
        assert answer.basis == "known"


@given(workloads(), st.data())
@examples(20)
def test_what_was_said_comes_true_in_queues(jobs: list[SimulatedJob], data: st.DataObject) -> None:
    """Where nothing is reclaimed: limits hold, and turns go by priority, guarantee and share."""
    jobs = [
        replace(each, queue=data.draw(st.sampled_from(("a", "b", "c"))))
        for each in jobs
        if each.members * each.crews[0].devices <= 16
    ]
    amounts = st.sampled_from((None, 0, 8, 16))
    queues = tuple(
        Queue(name, weight=weight, limits=(QueueLimit(GPU, guarantee=data.draw(amounts), cap=cap),))
        for name, weight, cap in (("a", 1.0, 16), ("b", 3.0, None), ("c", 1.0, 24))
    )
    policy = Policy(topology=Topology((RACK,)), preemption=Preemption(mode="never"), queues=queues)
    listener = Listener(policy, len(jobs))
    play(NODES, jobs, policy, watchers=[listener])
    for group, answer in listener.answers.items():
        assert group.first_seated is not None
        assert seconds(answer.earliest) == group.first_seated / SECOND, (group.name, answer)
