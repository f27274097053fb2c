"""Runs that heal: the same decisions as on a cluster, in virtual time, in cases that can be worked out."""

from dataclasses import replace

from maitred.model.policy import Healing, LemonRules, Policy, Spares, Topology
from maitred.simulate.clock import SECOND
from maitred.simulate.faults import Breakdown
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.loop import Simulation
from maitred.simulate.run import run_of
from tests.simulate.runs import RACK, job, node
from tests.simulate.runs import play as play_jobs
from tests.simulate.test_reaction import KUBERNETES, ended, fault

HEALING = Policy(topology=Topology((RACK,)))
NONE = Policy(topology=Topology((RACK,)), healing=Healing(on_failure="none"))


def play(
    jobs: list[SimulatedJob], faults: list[Breakdown], policy: Policy = HEALING, nodes: int = 3
) -> Simulation:
    floor = [node(f"n{number}") for number in range(1, nodes + 1)]
    return play_jobs(floor, jobs, policy, faults, reaction=KUBERNETES)


def gang(workers: int = 2) -> SimulatedJob:
    return job("gang", workers=workers, gpus=8, seconds=1000, checkpoint=0)


def test_members_of_a_dead_node_are_told_to_leave_after_the_grace() -> None:
    """Dead at 100 s, not ready at 150 s, lost at 210 s; without healing, evicted at 450 s."""
    dead = [fault(100, "n1", repaired=5000)]
    loop = play([gang()], dead)
    assert ended(loop) == {"gang": 1110.0}
    assert loop.books.healed_pods == 1
    assert ended(play([gang()], dead, NONE)) == {"gang": 1350.0}


def test_nothing_changes_when_the_node_comes_back_within_the_grace() -> None:
    loop = play([gang()], [fault(100, "n1", repaired=200)])
    assert loop.books.healed_pods == 0
    assert loop.groups[0].births == [1, 1]


def test_a_newcomer_does_not_get_what_is_kept() -> None:
    """The gang lacks two places. One is free, and it is kept until `old` has left the other at 600 s. Without
    healing, `new` has the free one from 250 s to 2250 s."""
    jobs = [gang(), job("old", gpus=8, seconds=600), job("new", at=250, gpus=8, seconds=2000)]
    dead = [fault(100, "n1", "n2", repaired=9000)]
    assert ended(play(jobs, dead, nodes=4)) == {"gang": 1500.0, "old": 600.0, "new": 3500.0}
    assert ended(play(jobs, dead, NONE, nodes=4)) == {"gang": 3150.0, "old": 600.0, "new": 2250.0}


def test_a_bug_opens_no_incident() -> None:
    bug = replace(fault(100, "n1", repaired=160), process=True)
    loop = play([gang()], [bug])
    assert loop.books.healed_pods == 0
    assert ended(loop) == {"gang": 1010.0}


def test_a_broken_device_is_known_from_the_kubelet() -> None:
    """Its member is told to leave at once, and not only when its owner tries again."""
    loop = play([gang()], [fault(100, "n1", repaired=5000, device=0.5)])
    assert loop.books.healed_pods == 1
    assert ended(loop) == {"gang": 1000.0}
    assert run_of(loop, "p", 1, ()).healed_pods == 1


def test_free_devices_of_spares_are_counted_and_lent_to_none_but_the_hurt() -> None:
    """The spare is n1, where `new` would fit at 50 s. The gang has it from 210 s to 1110 s. Then two nodes
    are free: `new` gets one, and the other is the spare."""
    spare = Policy(topology=HEALING.topology, healing=Healing(spares=Spares(nodes=1)))
    jobs = [gang(), job("new", at=50, gpus=8, seconds=2000)]
    loop = play(jobs, [fault(100, "n2", repaired=5000)], spare)
    assert ended(loop) == {"gang": 1110.0, "new": 3110.0}
    assert loop.books.meter.totals["spare"] == (210 + 2000) * SECOND * 8 * WHOLE


def test_lemons_are_tainted_and_nobody_is_seated_there() -> None:
    """One failure is enough here. Both nodes are free when two jobs come, and one of them is a lemon."""
    lemons = LemonRules(above=0.5, taint=True, per_domain=1)
    controlled = Policy(healing=Healing(lemons=lemons))
    jobs = [job("late", at=5000, gpus=8, seconds=100), job("later", at=5000, gpus=8, seconds=100)]
    broken = [fault(100, "n1", repaired=400)]
    assert ended(play(jobs, broken, controlled, nodes=2)) == {"late": 5100.0, "later": 5200.0}
    assert ended(play(jobs, broken, nodes=2)) == {"late": 5100.0, "later": 5100.0}
