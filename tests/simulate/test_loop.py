"""What a run does, moment by moment, in cases that can be worked out by hand."""

from typing import Any

import pytest

from maitred.model.policy import Policy, Topology
from maitred.simulate.clock import SECOND
from maitred.simulate.faults import Breakdown
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.loop import Simulation
from maitred.simulate.results import BUCKETS, Run
from maitred.simulate.run import run_of
from tests.simulate.runs import RACK, crew, job, node, play

POD_BY_POD = Policy(placement="pod-by-pod")


def device_seconds(loop: Simulation) -> dict[str, float]:
    """By bucket, those that are not empty."""
    totals = loop.books.meter.totals
    return {bucket: totals[bucket] / SECOND / WHOLE for bucket in BUCKETS if totals[bucket]}


def ends(loop: Simulation) -> dict[str, tuple[str, float | None]]:
    return {outcome.job: (outcome.end, outcome.ended) for outcome in run(loop).outcomes}


def run(loop: Simulation) -> Run:
    return run_of(loop, "policy", 1, ())


def fault(at: float, *nodes: str, repaired: float, device: float | None = None) -> Breakdown:
    return Breakdown(round(at * SECOND), nodes, round(repaired * SECOND), "test", device)


def test_a_job_starts_works_and_ends() -> None:
    loop = play([node("n1")], [job("a", at=10, gpus=4, seconds=100, start_up=20 * SECOND)])
    assert ends(loop) == {"a": ("finished", 130.0)}
    assert device_seconds(loop) == {"productive": 400, "starting": 80, "idle": 8 * 130 - 480}
    (outcome,) = run(loop).outcomes
    assert (outcome.started, outcome.waited) == (10.0, 0.0)


def test_nothing_arrives() -> None:
    loop = play([node("n1")], [], horizon=60 * SECOND)
    assert device_seconds(loop) == {"idle": 480}


def test_who_comes_second_waits_for_the_first() -> None:
    loop = play([node("n1")], [job("a", gpus=8, seconds=100), job("b", at=1, gpus=8, seconds=50)])
    assert ends(loop) == {"a": ("finished", 100.0), "b": ("finished", 150.0)}
    outcome = run(loop).outcomes[1]
    assert (outcome.started, outcome.waited) == (100.0, 99.0)
    assert run(loop).wait_by_blocker == {"Capacity": 99.0}
    assert run(loop).makespan == 150.0


def test_what_is_free_and_enough_in_number_but_not_in_one_place_is_fragmented() -> None:
    ones = [job(f"one-{i}", gpus=5, seconds=100) for i in range(2)]
    loop = play([node("n1"), node("n2")], [*ones, job("big", at=1, gpus=6, seconds=10)])
    assert device_seconds(loop) == {"productive": 1060, "fragmented": 6 * 99, "idle": 6 + 100}
    assert run(loop).wait_by_blocker == {"Fragmentation": 99.0}


def test_a_period_makes_everyone_wait_for_the_beat() -> None:
    loop = play([node("n1")], [job("a", at=1, seconds=5), job("b", at=10, seconds=5)], period=10 * SECOND)
    assert ends(loop) == {"a": ("finished", 15.0), "b": ("finished", 15.0)}


@pytest.mark.parametrize(
    ("checkpoint", "ended", "lost"),
    [
        (None, 260.0, 60),
        (0, 200.0, 0),
        (25 * SECOND, 210.0, 10),
        (60 * SECOND, 200.0, 0),
        (90 * SECOND, 260.0, 60),
    ],
    ids=["never", "all the time", "ten seconds ago", "just now", "not yet"],
)
def test_a_failure_takes_the_work_since_the_last_checkpoint(
    checkpoint: int | None, ended: float, lost: float
) -> None:
    loop = play(
        [node("n1", gpus=1)],
        [job("a", seconds=100, checkpoint=checkpoint)],
        faults=[fault(60, "n1", repaired=160)],
    )
    assert ends(loop) == {"a": ("finished", ended)}
    expected = {"productive": 100, "lostToFailure": lost, "broken": 100}
    assert device_seconds(loop) == {bucket: amount for bucket, amount in expected.items() if amount}
    assert run(loop).outcomes[0].failures == 1


def test_a_gang_that_loses_a_member_is_incomplete_until_another_sits() -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    filler = job("filler", gpus=8, seconds=100)
    loop = play(
        nodes,
        [filler, job("gang", workers=2, gpus=8, seconds=80, checkpoint=0, start_up=5 * SECOND)],
        faults=[fault(50, "n2", repaired=1000)],
    )
    """45 s of work before the fault; from 100 s on there is a place; 5 s later the other 35 s are worked."""
    assert ends(loop)["gang"] == ("finished", 140.0)
    assert device_seconds(loop)["incomplete"] == 8 * 50
    outcome = run(loop).outcomes[1]
    assert (outcome.waited, outcome.split) == (50.0, False)


def test_a_broken_device_hits_who_uses_it_and_nobody_else() -> None:
    jobs = [job("a", gpus=4, seconds=100, checkpoint=0), job("b", gpus=3, seconds=100, checkpoint=0)]
    for device, hit in ((0.1, "a"), (0.6, "b"), (0.99, "")):
        loop = play([node("n1")], jobs, faults=[fault(50, "n1", repaired=60, device=device)])
        failed = [outcome.job for outcome in run(loop).outcomes if outcome.failures]
        assert failed == ([hit] if hit else [])
        assert device_seconds(loop)["broken"] == 10


def test_what_a_broken_device_makes_impossible_waits_for_the_repair() -> None:
    loop = play(
        [node("n1")],
        [job("a", at=10, gpus=8, seconds=10)],
        faults=[fault(5, "n1", repaired=60, device=0.5)],
    )
    assert ends(loop) == {"a": ("finished", 70.0)}


def test_cancelled_while_it_waits_and_while_it_runs() -> None:
    jobs = [job("a", gpus=8, seconds=100, cancelled=30 * SECOND), job("b", gpus=8, cancelled=20 * SECOND)]
    assert ends(play([node("n1")], jobs)) == {"a": ("cancelled", 30.0), "b": ("cancelled", 20.0)}


def test_without_patience_a_job_that_does_not_fit_at_once_is_gone() -> None:
    jobs = [job("a", gpus=5, seconds=None, patience=0), job("b", gpus=5, seconds=None, patience=0)]
    assert ends(play([node("n1")], jobs)) == {"a": ("running", None), "b": ("gaveUp", 0.0)}


def test_a_job_larger_than_the_cluster_is_reported_and_does_not_block() -> None:
    loop = play([node("n1")], [job("huge", workers=2, gpus=8), job("small", at=1, seconds=5)])
    assert ends(loop) == {"huge": ("impossible", 0.0), "small": ("finished", 6.0)}
    assert run(loop).outcomes[0].why.startswith("Capacity: ")


def test_the_horizon_cuts_and_everyone_is_accounted_for() -> None:
    jobs = [job("a", gpus=8, seconds=100), job("b", gpus=8), job("c", at=99)]
    loop = play([node("n1")], jobs, horizon=50 * SECOND)
    assert {name: end for name, (end, _) in ends(loop).items()} == {
        "a": "running",
        "b": "waiting",
        "c": "notArrived",
    }
    assert run(loop).outcomes[1].waited == 50.0
    assert device_seconds(loop) == {"productive": 400}


def test_surplus_members_come_later_and_make_it_faster() -> None:
    """Of 4 members with a quorum of 2, two sit at once; the others when there is room, at 40 s."""
    jobs = [job("a", gpus=4, seconds=40), job("gang", at=1, workers=4, quorum=2, gpus=2, seconds=100)]
    loop = play([node("n1")], jobs)
    """400 member-seconds: 2 x 39 until then, the rest by four."""
    assert ends(loop)["gang"] == ("finished", 40 + (400 - 78) / 4)


@pytest.mark.parametrize(
    ("more", "faults", "period"),
    [
        ({"patience": 3000 * SECOND}, [], 0),
        ({"cancelled": 3000 * SECOND}, [], 0),
        ({"rendezvous": 3000 * SECOND}, [], 0),
        ({}, [fault(50, "n2", repaired=3000)], 0),
        ({}, [], 60 * SECOND),
    ],
    ids=["patience", "a cancellation", "a rendezvous", "a repair", "the next beat"],
)
def test_a_run_ends_with_its_last_job(more: Any, faults: list[Breakdown], period: int) -> None:
    jobs = [job("a", workers=2, gpus=4, seconds=100, **more)]
    assert play([node("n1"), node("n2")], jobs, faults=faults, period=period).now == 100 * SECOND


def test_who_waits_for_a_repair_is_not_given_up() -> None:
    """The node that it needs is mended after a month, in which another breaks all the time."""
    nodes = [node("n1", gpus=8), node("n2", gpus=1)]
    broken = [fault(0, "n1", repaired=30 * 86400)]
    broken += [fault(600 * number, "n2", repaired=600 * number + 60) for number in range(1, 3000)]
    loop = play(nodes, [job("a", at=1, gpus=8, seconds=10)], faults=broken)
    assert ends(loop) == {"a": ("finished", 30 * 86400 + 10.0)}


# -- pod by pod --------------------------------------------------------------------------------------------


def two_gangs(later: float) -> list[SimulatedJob]:
    """Each of 8 members, on a floor for 10."""
    return [job("a", workers=8, gpus=1, seconds=10), job("b", at=later, workers=8, gpus=1, seconds=10)]


def test_pod_by_pod_the_first_gang_has_its_seats_and_the_second_holds_some() -> None:
    loop = play([node("n1", gpus=10)], two_gangs(later=1), POD_BY_POD)
    assert ends(loop) == {"a": ("finished", 10.0), "b": ("finished", 20.0)}
    assert device_seconds(loop)["incomplete"] == 2 * 9
    assert (run(loop).splits, run(loop).deadlocks) == (1, 0)


def test_two_gangs_that_come_together_get_in_each_other_s_way_for_ever() -> None:
    """Their pods are created in turns, so each has five seats of eight: nobody ever works."""
    loop = play([node("n1", gpus=10)], two_gangs(later=0), POD_BY_POD, horizon=100 * SECOND)
    assert ends(loop) == {"a": ("waiting", None), "b": ("waiting", None)}
    assert device_seconds(loop) == {"incomplete": 1000}
    assert (run(loop).splits, run(loop).deadlocks, run(loop).deadlocked_seconds) == (2, 1, 100.0)
    assert {end for end, _ in ends(play([node("n1", gpus=10)], two_gangs(later=0))).values()} == {"finished"}


def deadlock(**more: Any) -> list[SimulatedJob]:
    """A third leaves, and two gangs of which each lacks some divide what it leaves."""
    first = [job("first", workers=6, gpus=1, seconds=30)]
    return [*first, job("a", at=1, workers=6, gpus=1, seconds=10, **more), *late(**more)]


def late(**more: Any) -> list[SimulatedJob]:
    return [job("b", at=2, workers=7, gpus=1, seconds=10, priority=1, **more)]


def test_whole_groups_never_meet_a_deadlock_that_pods_one_by_one_do() -> None:
    """8 devices: `first` has 6 and `a` 2 of its 6; then `b`, which is more important, takes 6 of its 7."""
    nodes = [node("n1", gpus=8)]
    loop = play(nodes, deadlock(), POD_BY_POD)
    assert {name: end for name, (end, _) in ends(loop).items()} == {
        "first": "finished",
        "a": "waiting",
        "b": "waiting",
    }
    assert run(loop).deadlocks == 1
    whole = play(nodes, deadlock())
    assert all(end == "finished" for end, _ in ends(whole).values())
    assert run(whole).deadlocks == run(whole).splits == 0


def test_members_that_wait_too_long_for_the_others_fail_and_come_back() -> None:
    loop = play([node("n1", gpus=8)], deadlock(rendezvous=100 * SECOND), POD_BY_POD, horizon=1000 * SECOND)
    assert all(end == "finished" for end, _ in ends(loop).values())
    assert run(loop).deadlocks == 1
    assert 0 < run(loop).deadlocked_seconds <= 100


def test_a_run_that_would_never_end_is_stopped() -> None:
    """Both try again every 100 s, and are always in each other's way."""
    jobs = [job(name, workers=5, gpus=1, rendezvous=100 * SECOND) for name in ("a", "b")]
    nodes = [node("n1", gpus=8)]
    blocked = [job("filler", gpus=4, seconds=None), *jobs]
    loop = play(nodes, blocked, POD_BY_POD)
    assert {end for end, _ in ends(loop).values()} == {"running", "waiting"}
    (warning,) = run(loop).warnings
    assert warning.startswith("2 jobs still waited, and no running job was going to end")


def test_members_without_devices_do_nothing_for_a_job_that_needs_them() -> None:
    """The quorum is three leaders without devices; the workers never get theirs, and others are compared."""
    stuck = SimulatedJob("stuck", SECOND, (crew(3, 0), crew(1, 8)), 3, 60 * SECOND)
    jobs = [job("filler", gpus=1, seconds=None), stuck]
    loop = play([node("n1")], jobs, Policy(order="shortest-remaining", redecide_seconds=20))
    assert {end for end, _ in ends(loop).values()} == {"running"}


def test_who_never_leaves_takes_part_in_a_deadlock() -> None:
    """Without the service there would be room for one of the two."""
    service = job("service", gpus=2, seconds=None)
    loop = play([node("n1", gpus=10)], [service, *two_gangs(later=1)], POD_BY_POD, horizon=100 * SECOND)
    assert {end for end, _ in ends(loop).values()} == {"running", "finished"}
    gangs = [job(name, at=1, workers=8, gpus=1, seconds=10) for name in ("a", "b")]
    stuck = play([node("n1", gpus=10)], [service, *gangs], POD_BY_POD, horizon=101 * SECOND)
    assert (run(stuck).deadlocks, run(stuck).deadlocked_seconds) == (1, 100.0)


def test_pod_by_pod_a_job_is_seated_outside_its_rack() -> None:
    nodes = [node("n1", gpus=1, rack="r1"), node("n2", gpus=1, rack="r2")]
    pair = job("pair", workers=2, gpus=1, within="rack")
    policy = Policy(placement="pod-by-pod", topology=Topology((RACK,)))
    assert [outcome.astray for outcome in run(play(nodes, [pair], policy)).outcomes] == [True]
    assert ends(play(nodes, [pair]))["pair"][0] == "impossible"


# -- preemptive orders -------------------------------------------------------------------------------------


def orders(order: Any, jobs: list[SimulatedJob], **more: Any) -> Simulation:
    return play([node("n1")], jobs, Policy(order=order, topology=Topology((RACK,)), **more))


LONG_AND_SHORT = [
    job("long", gpus=8, seconds=1000, checkpoint=0),
    job("short", at=100, gpus=8, seconds=50, checkpoint=0),
]


def test_the_shortest_waits_for_who_runs_already() -> None:
    loop = orders("shortest", [*LONG_AND_SHORT, job("shorter", at=200, gpus=8, seconds=10)])
    assert ends(loop) == {
        "long": ("finished", 1000.0),
        "shorter": ("finished", 1010.0),
        "short": ("finished", 1060.0),
    }


def test_the_one_with_the_shortest_time_left_takes_the_place_of_another() -> None:
    loop = orders("shortest-remaining", LONG_AND_SHORT, redecide_seconds=0)
    assert ends(loop) == {"long": ("finished", 1050.0), "short": ("finished", 150.0)}
    assert (run(loop).evictions, device_seconds(loop).get("lostToEviction")) == (1, None)


def test_who_is_nearly_done_is_left_alone() -> None:
    jobs = [job("long", gpus=8, seconds=1000), job("short", at=960, gpus=8, seconds=50)]
    assert run(orders("shortest-remaining", jobs, redecide_seconds=0)).evictions == 0


def test_service_counts_devices_too() -> None:
    """500 s on one device are less service than 100 s on eight."""
    jobs = [job("wide", gpus=8, seconds=100, checkpoint=0), job("narrow", at=10, gpus=1, seconds=500)]
    assert ends(orders("shortest-service", jobs, redecide_seconds=0))["narrow"] == ("finished", 510.0)
    assert run(orders("shortest-remaining", jobs, redecide_seconds=0)).evictions == 0


def test_who_has_had_least_goes_first_and_is_looked_at_again_and_again() -> None:
    hour = 3600
    jobs = [job("old", gpus=8, seconds=10 * hour, checkpoint=0), job("new", at=hour, gpus=8, seconds=60)]
    loop = orders("least-attained", jobs, redecide_seconds=600)
    assert ends(loop)["new"] == ("finished", hour + 60.0)


def test_nobody_who_can_stay_is_sent_away() -> None:
    """Two run on nodes of their own; one of them is enough for who comes."""
    jobs = [
        job("longest", gpus=8, seconds=900, checkpoint=0),
        job("long", gpus=8, seconds=800, checkpoint=0),
        job("short", at=10, gpus=8, seconds=10),
    ]
    loop = play([node("n1"), node("n2")], jobs, Policy(order="shortest-remaining", redecide_seconds=0))
    assert {outcome.job: outcome.evictions for outcome in run(loop).outcomes} == {
        "longest": 1,
        "long": 0,
        "short": 0,
    }


def test_comparisons_come_no_more_often_than_the_policy_says() -> None:
    jobs = [job("long", gpus=8, seconds=1000, checkpoint=0)]
    jobs += [job(f"short-{at}", at=at, gpus=8, seconds=5) for at in (100, 110)]
    loop = orders("shortest-remaining", jobs, redecide_seconds=300)
    assert ends(loop)["short-100"] == ("finished", 305.0)
    assert ends(loop)["short-110"] == ("finished", 310.0)


def test_members_of_different_kinds_and_a_quorum_of_some() -> None:
    """A leader without devices and three workers, of which two will do."""
    mixed = SimulatedJob("mixed", 0, (crew(1, 0), crew(3, 4)), 3, 60 * SECOND)
    loop = play([node("n1")], [mixed])
    assert ends(loop) == {"mixed": ("finished", 90.0)}


def test_who_must_go_is_chosen_among_those_on_nodes_that_help() -> None:
    """The last in the order sits in another rack: to send it away would help nobody."""
    nodes = [node(name, rack=name) for name in ("a", "b")]
    jobs = [
        job("long-a", gpus=8, seconds=36000, checkpoint=0, rack="a"),
        job("long-b", at=1, gpus=8, seconds=72000, checkpoint=0, rack="b"),
        job("short-a", at=60, gpus=8, seconds=3600, rack="a"),
    ]
    loop = play(nodes, jobs, Policy(order="shortest-remaining", redecide_seconds=0))
    assert ends(loop)["short-a"] == ("finished", 3660.0)
    assert [outcome.evictions for outcome in run(loop).outcomes] == [1, 0, 0]


def test_only_the_lack_of_a_quorum_is_a_wait() -> None:
    """Two of four sit at once, the others never; the node is away for ten seconds."""
    elastic = job("elastic", workers=4, quorum=2, gpus=1, seconds=200, checkpoint=0)
    loop = play([node("n1", gpus=3)], [elastic], faults=[fault(100, "n1", repaired=110)])
    assert run(loop).outcomes[0].waited == 10.0
    assert sum(run(loop).wait_by_blocker.values()) == 10.0
