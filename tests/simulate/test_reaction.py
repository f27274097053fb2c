"""Faults on a cluster that learns of them after a while, in cases that can be worked out by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from maitred.model.node import Node
from maitred.model.policy import Healing, Policy, Topology
from maitred.simulate.clock import SECOND
from maitred.simulate.faults import Breakdown, Reaction
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import Simulation
from maitred.simulate.results import BUCKETS
from maitred.simulate.run import run_of
from tests.simulate import runs
from tests.simulate.runs import RACK, job, node

KUBERNETES = Reaction(detection=50 * SECOND, eviction=300 * SECOND, retry=10 * SECOND, relapse=100 * SECOND)
UNHEALED = Policy(topology=Topology((RACK,)), healing=Healing(on_failure="none"))
NODES = [node("n1"), node("n2"), node("n3")]


def gang(seconds: float = 1000, **more: int) -> SimulatedJob:
    return job("gang", workers=2, gpus=8, seconds=seconds, checkpoint=0, **more)


def fault(at: float, *nodes: str, repaired: float, device: float | None = None) -> Breakdown:
    return Breakdown(round(at * SECOND), nodes, round(repaired * SECOND), "test", device)


def play(nodes: Sequence[Node], jobs: Sequence[SimulatedJob], faults: Sequence[Breakdown]) -> Simulation:
    return runs.play(nodes, jobs, UNHEALED, faults, reaction=KUBERNETES)


def device_seconds(loop: Simulation) -> dict[str, float]:
    totals = loop.books.meter.totals
    return {bucket: totals[bucket] / SECOND / 1000 for bucket in BUCKETS if totals[bucket]}


def ended(loop: Simulation) -> dict[str, float | None]:
    return {outcome.job: outcome.ended for outcome in run_of(loop, "p", 1, ()).outcomes}


def test_a_dead_node_is_noticed_and_later_its_pods_are_evicted() -> None:
    """Dead at 100 s; evicted at 450 s, and seated on the third node at once: 350 s without work."""
    loop = play(NODES, [gang()], faults=[fault(100, "n1", repaired=5000)])
    assert ended(loop) == {"gang": 1350.0}
    found = device_seconds(loop)
    assert found["stalled"] == 8 * 350
    assert found["broken"] == 8 * 1250
    assert sum(found.values()) == 24 * 1350


def test_nobody_is_evicted_from_a_node_that_comes_back_in_time() -> None:
    """Its kubelet starts again what is bound there."""
    loop = play(NODES, [gang()], faults=[fault(100, "n1", repaired=300)])
    assert ended(loop) == {"gang": 1200.0}
    assert loop.groups[0].births == [1, 1]


def test_until_it_is_noticed_pods_are_seated_on_a_dead_node() -> None:
    """They are evicted with the others: 50 s and 300 s after its death."""
    late = job("late", at=20, gpus=8, seconds=100)
    blocker = job("blocker", gpus=8, seconds=2000)
    loop = play(NODES[:2], [blocker, late], faults=[fault(10, "n2", repaired=400)])
    assert loop.groups[1].births == [2]
    assert ended(loop)["late"] == 500.0


def test_what_a_broken_device_ended_is_created_anew_somewhere_else() -> None:
    loop = play(NODES, [gang()], faults=[fault(100, "n1", repaired=5000, device=0.5)])
    assert ended(loop) == {"gang": 1010.0}
    assert device_seconds(loop)["stalled"] == 16 * 10 - 10
    assert sum(device_seconds(loop).values()) == 24 * 1010


def test_without_another_place_it_waits_for_the_repair() -> None:
    loop = play(NODES[:2], [gang()], faults=[fault(100, "n1", repaired=500, device=0.5)])
    assert ended(loop) == {"gang": 1400.0}


def test_a_device_of_which_nobody_knows_fails_again_and_again() -> None:
    """It works for 100 s, is created anew in 10 s, on the only node that is free: the one with the device."""
    silent = replace(fault(100, "n1", repaired=400, device=0.5), silent=True)
    loop = play(NODES[:2], [gang()], faults=[silent])
    assert loop.groups[0].failures == 3
    assert ended(loop) == {"gang": 1030.0}
    assert "broken" not in device_seconds(loop)


@pytest.mark.parametrize("quorum", [1, 2])
def test_a_bug_ends_processes_and_no_node(quorum: int) -> None:
    """The whole gang starts anew, and once more when the other is there, if one is enough."""
    bug = replace(fault(100, "n1", repaired=160), process=True)
    loop = play(NODES, [gang(start_up=5 * SECOND, quorum=quorum)], faults=[bug])
    assert loop.groups[0].failures == 1
    assert ended(loop)["gang"] == pytest.approx(1000 + 5 + {1: 10, 2: 15}[quorum], abs=1)
    assert "broken" not in device_seconds(loop)


def test_a_job_that_ends_does_not_fail_any_more() -> None:
    silent = replace(fault(0, "n1", repaired=400, device=0.5), silent=True)
    loop = play(NODES[:1], [job("short", at=1, gpus=8, seconds=50)], faults=[silent])
    assert ended(loop) == {"short": 51.0}
