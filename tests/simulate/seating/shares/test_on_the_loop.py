"""Whole runs of pods that share devices: nothing is given out twice, and nothing gets lost."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from maitred.model.manifest.errors import InputError
from maitred.model.node import Node, allocatable
from maitred.model.policy import SHARING_PLACEMENTS, Placement, Policy
from maitred.model.quantity import CPU, MEMORY
from maitred.model.requests import pod_requests
from maitred.simulate.clock import SECOND
from maitred.simulate.faults import Breakdown
from maitred.simulate.jobs import WHOLE, Crew, SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.nodes import SimulatedNode
from maitred.simulate.run import simulate
from maitred.simulate.seating.seater import Moves
from maitred.simulate.setup import Setup
from maitred.simulate.traces.workers import crew
from tests.oracle.effort import examples
from tests.simulate.runs import TIMES, faults, play
from tests.simulate.seating.groups import node
from tests.simulate.test_conservation import check_jobs, check_repeatable, check_time, check_work


def pod(name: str, at: float = 0, share: int = 0, gpus: int = 0, seconds: float | None = 60) -> SimulatedJob:
    run_time = None if seconds is None else round(seconds * SECOND)
    return SimulatedJob(name, round(at * SECOND), (crew(1, 1, "1Gi", gpus, share),), 1, run_time)


# ---- faults


def broken_device(at: float, which: float, repaired: float = 1000) -> Breakdown:
    return Breakdown(round(at * SECOND), ("a",), round(repaired * SECOND), "test", which)


def failures(loop: Simulation) -> dict[str, int]:
    return {group.name: group.failures for group in loop.groups if group.failures}


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_all_who_share_a_device_break_down_with_it(placement: Placement) -> None:
    """Devices are counted in the order in which they came into use: two with shares, one whole, one free."""
    jobs = [pod("a1", share=600), pod("b1", share=700), pod("a2", share=400), pod("w", gpus=1)]
    loops = [
        play([node("a", gpu=4)], jobs, Policy(placement=placement), [broken_device(10, which)], 50 * SECOND)
        for which in (0.1, 0.3, 0.6, 0.9)
    ]
    assert [failures(loop) for loop in loops] == [{"a1": 1, "a2": 1}, {"b1": 1}, {"w": 1}, {}]


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_who_lost_a_device_sits_again_where_there_is_room(placement: Placement) -> None:
    """Of two devices one breaks. One of its users fits beside the user of the other, one has to wait."""
    jobs = [pod("a1", share=600), pod("a2", share=400), pod("b", share=500)]
    loop = play([node("a", gpu=2)], jobs, Policy(placement=placement), [broken_device(10, 0.1, repaired=40)])
    ended = {group.name: (group.ended or 0) / SECOND for group in loop.groups}
    assert failures(loop) == {"a1": 1, "a2": 1}
    assert ended == {"b": 60, "a2": 10 + 60, "a1": 40 + 60}


# ---- nothing is given out twice

SHARES = st.sampled_from((0, 0, 100, 300, 333, 500, 667, 700, 999))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    return tuple(
        node(f"n{number}", draw(st.integers(1, 8)), f"{draw(st.integers(1, 8))}Gi", gpus)
        for number, gpus in enumerate(sizes)
    )


@st.composite
def pods(draw: st.DrawFn) -> tuple[SimulatedJob, ...]:
    found = []
    for number in range(draw(st.integers(0, 14))):
        share = draw(SHARES)
        devices = 0 if share else draw(st.integers(0, 3))
        asks = crew(1, draw(st.integers(1, 3)), f"{draw(st.integers(1, 3))}Gi", devices, share)
        found.append(
            SimulatedJob(
                name=f"j{number}",
                arrival=draw(TIMES),
                crews=(asks,),
                quorum=1,
                run_time=draw(st.integers(0, 200 * SECOND)),
                priority=draw(st.integers(0, 2)),
                start_up=draw(st.sampled_from((0, 5 * SECOND))),
                checkpoint=draw(st.sampled_from((None, 0, 7 * SECOND))),
                cancelled=draw(st.none() | st.none() | TIMES),
                patience=draw(st.none() | st.none() | TIMES),
            )
        )
    return tuple(found)


class Inspector(RunObserver):
    """A watcher that counts on every node what is taken, with what is about to be."""

    def __init__(self) -> None:
        self.seated = 0
        self.shared = 0

    def moves(self, loop: Simulation, moves: Moves) -> None:
        coming: defaultdict[str, list[tuple[Crew, int | None]]] = defaultdict(list)
        for seating in moves.seatings:
            ((member, name),) = seating.seats
            coming[name].append((seating.group.job.crew_of[member], seating.device))
        for name, place in loop.floor.places.items():
            self.inspect(place, [*sitting(place), *coming[name]])
            assert not (place.down and coming[name])
        self.seated += len(moves.seatings)

    def inspect(self, place: SimulatedNode, there: list[tuple[Crew, int | None]]) -> None:
        taken: Counter[str] = Counter()
        shares: Counter[int] = Counter()
        for pod, device in there:
            taken.update(pod_requests(pod.spec))
            assert (device is not None) == (pod.share > 0)
            if device is not None:
                shares[device] += pod.share
        whole = sum(pod.devices for pod, _ in there)
        assert whole + len(shares) <= place.total - place.broken_load // WHOLE
        assert max(shares.values(), default=0) <= WHOLE
        have = allocatable(place.node)
        assert taken[CPU] <= have[CPU]
        assert taken[MEMORY] <= have[MEMORY]
        self.shared += sum(count > 1 for count in Counter(device for _, device in there).values())


def sitting(place: SimulatedNode) -> Iterator[tuple[Crew, int | None]]:
    for group, member in place.sitters:
        yield group.job.crew_of[member], place.shares.get((group, member))


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
@examples(60)
@given(data=st.data())
def test_nothing_is_given_out_twice_and_nothing_gets_lost(placement: Placement, data: st.DataObject) -> None:
    nodes, jobs = data.draw(clusters()), data.draw(pods())
    broken = data.draw(faults(nodes))
    horizon = data.draw(st.none() | st.integers(1, 500).map(lambda count: count * SECOND))
    period = data.draw(st.sampled_from((0, 10 * SECOND)))
    policy, inspector = Policy(placement=placement), Inspector()
    loop = play(nodes, jobs, policy, broken, horizon, period, [inspector])
    event(f"{min(inspector.seated, 9)} seated, {min(inspector.shared, 3)} beside each other")
    event(f"{min(loop.books.failures, 3)} failures")
    check_time(loop, nodes)
    check_jobs(loop, jobs)
    check_work(loop)
    check_repeatable(loop, nodes, jobs, policy, broken, horizon, period)


# ---- what a placement cannot seat


def refused(placement: Placement, job: SimulatedJob) -> str:
    with pytest.raises(InputError) as refusal:
        simulate(Setup((node("a", gpu=2),), (job,), iter(())), "mine", Policy(placement=placement), 1)
    return str(refusal.value)


@pytest.mark.parametrize("placement", ["whole-groups", "pod-by-pod"])
def test_shares_are_refused_by_placements_that_would_not_count_them(placement: Placement) -> None:
    assert refused(placement, pod("half", share=500)) == (
        f"policy mine: placement: '{placement}' cannot place job half, which takes a share of a device; "
        f"use one of best-fit, fragmentation-gradient, least-loss, or leave such jobs out"
    )


@pytest.mark.parametrize("placement", SHARING_PLACEMENTS)
def test_groups_are_refused_by_placements_of_lone_pods(placement: Placement) -> None:
    gang = SimulatedJob("gang", 0, (crew(3, 1, "1Gi", 1),), 3, SECOND)
    bound = SimulatedJob("bound", 0, (crew(1, 1, "1Gi", 1),), 1, SECOND, within="rack")
    words = f"policy mine: placement: '{placement}' cannot place job "
    advice = "; use whole-groups, or leave such jobs out"
    assert refused(placement, gang) == f"{words}gang, which has 3 members{advice}"
    assert refused(placement, bound) == f"{words}bound, which has to be within one rack{advice}"
