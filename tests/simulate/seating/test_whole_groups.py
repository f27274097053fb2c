"""To ask about the first of each kin, where there is room, comes to the same as to ask about everybody."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.decide import Scope, decide
from maitred.decide.agenda import first_turn
from maitred.model.group import PodGroup
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.policy import Order, Policy, Topology
from maitred.simulate.clock import SECOND, Time, moment, time_of
from maitred.simulate.faults import Breakdown
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import Simulation
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.seating.arrangement import Arrangement
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group, pod_key
from maitred.simulate.seating.orders import measure_of
from maitred.simulate.seating.same_requests import WaitingTurn
from maitred.simulate.seating.seater import Moves
from maitred.simulate.seating.whole_groups import WholeGroups, words_of
from tests.oracle.effort import examples
from tests.simulate.runs import RACK, clusters, faults, job, node, play, rivals, workloads


class Everybody:
    """A seater that lets `decide` look at all who wait, every time."""

    spares = ()

    def __init__(self, nodes: Iterable[Node], policy: Policy) -> None:
        self.policy, self.state = policy, ClusterState()
        self.standing: dict[str, SimulatedGroup] = {}
        self.groups: dict[str, SimulatedGroup] = {}
        self.wake: Time | None = None
        self.well = {each.metadata.name: each for each in nodes}
        self.nodes = dict(self.well)
        for each in self.nodes.values():
            self.state.apply(Put(each))

    def node_changed(self, node: Node) -> None:
        self.nodes[node.metadata.name] = node
        self.state.apply(Put(node))

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        self.standing[group_key(group.job)] = self.groups[group_key(group.job)] = group
        if not is_lone(group.job):
            self.state.apply(Put(pod_group(group.job)))
        for member in range(group.job.members):
            self.state.apply(Put(pod(group, member)))

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        for member in members:
            self.state.apply(Put(pod(group, member)))
        if not group.standing():
            self.standing.pop(group_key(group.job), None)

    def changed(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        for member in members:
            self.state.apply(Put(pod(group, member)))

    def leaving(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        for member in range(group.job.members):
            self.state.apply(Put(pod(group, member)))
        if not group.sitting:
            self.standing.pop(group_key(group.job), None)

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        for member in members:
            self.state.apply(Delete(Pod, pod_key(group.job, member)))

    def leaves(self, group: SimulatedGroup) -> None:
        self.standing.pop(group_key(group.job), None)
        for member in range(group.job.members):
            self.state.apply(Delete(Pod, pod_key(group.job, member)))
        self.state.apply(Delete(PodGroup, group_key(group.job)))

    def cycle(self, now: Time) -> Moves:
        measure = measure_of(self.policy.order)
        asked = sorted(
            WaitingTurn(
                first_turn(
                    self.policy.order,
                    group.job.priority,
                    group.age,
                    key,
                    promised=bool(group.nominated),
                    measure=measure(group, now),
                ),
                group,
            )
            for key, group in self.standing.items()
        )
        measures = {waiter.turn.key: waiter.turn.measure for waiter in asked}
        plan = decide(
            self.state.snapshot(), self.policy, moment(now), Scope(groups=measures, measures=measures)
        )
        self.wake = None if plan.wake_at is None else time_of(datetime.fromisoformat(plan.wake_at))
        well = self.nodes == self.well
        never = [verdict for verdict in plan.groups if well and verdict.verdict == "Impossible"]
        planned = Arrangement(plan, self.groups)
        return Moves(
            planned.removals(asked),
            planned.nominations(asked),
            planned.seatings(asked),
            {self.standing[verdict.group]: words_of(verdict) for verdict in never},
        )

    def waited(self, group: SimulatedGroup, since: Time, now: Time) -> Mapping[str, Time]:
        return {}

    def why(self, group: SimulatedGroup) -> str:
        return ""

    def next_look(self, now: Time) -> Time | None:
        return self.wake


def history(loop: Simulation) -> list[tuple[object, ...]]:
    return [
        (
            group.name,
            group.first_seated,
            group.ended,
            group.waited,
            group.evictions,
            group.failures,
            loop.ends.get(group, ("",))[0],
        )
        for group in loop.groups
    ]


ORDERS: list[Order] = ["priority", "fifo", "shortest"]


@pytest.mark.parametrize("order", ORDERS)
@examples(40)
@given(data=st.data())
def test_as_one_decision_over_the_whole_queue(order: Order, data: st.DataObject) -> None:
    check_queue(order, data)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@examples(150)
@given(data=st.data())
def test_the_same_in_many_more_queues(order: Order, data: st.DataObject) -> None:
    check_queue(order, data)


@examples(40)
@given(rivals=rivals(), data=st.data())
def test_with_preemption_too(
    rivals: tuple[tuple[Node, ...], tuple[SimulatedJob, ...]], data: st.DataObject
) -> None:
    nodes, jobs = rivals
    check_the_same(
        "priority", nodes, [replace(job, min_run_time=0) for job in jobs], data.draw(faults(nodes))
    )


@pytest.mark.slow
@examples(150)
@given(rivals=rivals(), data=st.data())
def test_with_preemption_in_many_more(
    rivals: tuple[tuple[Node, ...], tuple[SimulatedJob, ...]], data: st.DataObject
) -> None:
    nodes, jobs = rivals
    check_the_same(
        "priority", nodes, [replace(job, min_run_time=0) for job in jobs], data.draw(faults(nodes))
    )


def check_queue(order: Order, data: st.DataObject) -> None:
    nodes = data.draw(clusters())
    check_the_same(order, nodes, data.draw(workloads()), data.draw(faults(nodes)))


def check_the_same(
    order: Order, nodes: Sequence[Node], jobs: Sequence[SimulatedJob], broken: Sequence[Breakdown]
) -> None:
    event(f"{min(compared(order, nodes, jobs, broken), 3)} preemptions")


def compared(
    order: Order, nodes: Sequence[Node], jobs: Sequence[SimulatedJob], broken: Sequence[Breakdown]
) -> int:
    policy = Policy(order=order, topology=Topology((RACK,)))
    ours = play(nodes, jobs, policy, broken, horizon=500 * SECOND)
    workload = tuple(sorted(jobs, key=lambda each: each.arrival))
    plain = Simulation(
        SimulatedNodes(nodes, policy, (RACK,)), Everybody(nodes, policy), workload, iter(broken), 500 * SECOND
    )
    plain.run()
    assert history(ours) == history(plain)
    return ours.books.preemptions


def test_devices_that_broke_before_make_no_difference_where_all_is_known_at_once() -> None:
    """Nothing is remembered there: otherwise places would depend on how often anyone was looked at."""
    nodes = [node("n0", 4, cpu=16), node("n1", 4, cpu=16)]
    jobs = [
        *(job(f"early-{number}", seconds=40) for number in range(3)),
        *(job(f"late-{number}", at=0.25, seconds=40) for number in range(4)),
        job("pair", 10, workers=2, seconds=40),
    ]
    broken = [Breakdown(0, ("n0",), SECOND, "drawn", device=0.0)] * 3
    lost = Breakdown(40 * SECOND + SECOND // 4, ("n0",), 42 * SECOND, "drawn")
    assert compared("priority", nodes, jobs, [*broken, lost]) == 0


def test_a_second_of_a_kin_goes_before_another_kin_that_ranks_behind_it() -> None:
    """One look at the firsts of both kins would seat `big`, though `small-2` is older than it."""
    nodes = [node("n1", gpus=3)]
    jobs = [
        job("filler", gpus=3, seconds=10),
        job("small-1", at=1, gpus=1, seconds=50),
        job("small-2", at=2, gpus=1, seconds=50),
        job("big", at=3, gpus=2, seconds=50),
    ]
    loop = play(nodes, jobs)
    assert {group.name: group.first_seated for group in loop.groups} == {
        "filler": 0,
        "small-1": 10 * SECOND,
        "small-2": 10 * SECOND,
        "big": 60 * SECOND,
    }


def test_only_the_first_of_a_long_queue_is_known_to_the_state() -> None:
    policy = Policy()
    nodes = [node("n1", gpus=1)]
    seater = WholeGroups(nodes, policy)
    jobs = tuple(job(f"j{number:03}", gpus=1, seconds=1000) for number in range(100))
    loop = Simulation(SimulatedNodes(nodes, policy, ()), seater, jobs, iter(()), 10 * SECOND)
    loop.run()
    assert len(seater.state.snapshot().groups) == 1
