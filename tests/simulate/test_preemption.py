"""Who is sent away by priority, and what becomes of everyone: cases that can be worked out by hand."""

from typing import Any

import pytest

from maitred.model.policy import Policy, Preemption, Topology
from maitred.simulate.clock import SECOND
from maitred.simulate.group import Phase
from maitred.simulate.jobs import SimulatedJob
from tests.simulate.runs import RACK, job, node, play
from tests.simulate.test_loop import device_seconds, ends, fault, run

GRACE = 10 * SECOND


def low(gpus: int = 8, **more: Any) -> SimulatedJob:
    return job("low", gpus=gpus, seconds=100, **more)


def high(gpus: int = 8, at: float = 40, **more: Any) -> SimulatedJob:
    return job("high", at=at, gpus=gpus, seconds=50, priority=10, **more)


@pytest.mark.parametrize(
    ("checkpoint", "ended", "lost"),
    [(None, 190.0, 40), (0, 150.0, 0), (15 * SECOND, 160.0, 10)],
    ids=["never", "all the time", "ten seconds ago"],
)
def test_the_higher_takes_the_place_of_the_lower_which_goes_on_from_its_checkpoint(
    checkpoint: int | None, ended: float, lost: float
) -> None:
    loop = play([node("n1")], [low(checkpoint=checkpoint), high()])
    assert ends(loop) == {"low": ("finished", ended), "high": ("finished", 90.0)}
    expected = {"productive": 8 * 150, "lostToEviction": 8 * lost}
    assert device_seconds(loop) == {bucket: amount for bucket, amount in expected.items() if amount}
    found = run(loop)
    assert (found.evictions, found.preemptions, found.evicted_units, found.evicted_pods) == (1, 1, 1, 1)
    assert found.receipts_device_seconds == pytest.approx(8 * lost, abs=1)
    assert found.outcomes[0].waited == 50.0


def test_victims_hold_their_devices_for_a_while_and_free_ones_are_kept() -> None:
    """Of 8 devices 6 are taken. The higher one needs all of them, a third one of the two that are free."""
    jobs = [low(6, grace=GRACE, checkpoint=0), high(8), job("third", at=41, gpus=1, seconds=5)]
    loop = play([node("n1")], jobs)
    assert ends(loop)["high"] == ("finished", 100.0)
    assert ends(loop)["third"] == ("finished", 105.0)
    assert device_seconds(loop)["leaving"] == 6 * 10
    assert device_seconds(loop)["reserved"] == 2 * 10
    assert run(loop).outcomes[1].waited == 10.0


def test_what_those_who_come_do_not_need_is_not_kept() -> None:
    """The higher one needs 6, and 6 will be left for it; the third may have one of the others at once."""
    jobs = [low(6, grace=GRACE, checkpoint=0), high(6), job("third", at=41, gpus=1, seconds=5)]
    loop = play([node("n1")], jobs)
    assert ends(loop)["third"] == ("finished", 46.0)
    assert "reserved" not in device_seconds(loop)


def test_a_job_that_was_sent_away_waits_from_when_it_has_left() -> None:
    loop = play([node("n1")], [low(grace=GRACE, checkpoint=0), high()])
    assert ends(loop) == {"low": ("finished", 160.0), "high": ("finished", 100.0)}
    assert [outcome.waited for outcome in run(loop).outcomes] == [50.0, 10.0]


def test_nobody_holds_its_devices_for_longer_than_the_policy_says() -> None:
    jobs = [low(grace=1000 * GRACE, checkpoint=0), high()]
    limited = play([node("n1")], jobs, policy=Policy(preemption=Preemption(grace_limit="4s")))
    plain = play([node("n1")], [low(grace=4 * SECOND, checkpoint=0), high()])
    assert ends(limited) == ends(plain) != ends(play([node("n1")], jobs))


def test_members_above_the_quorum_go_one_by_one_and_the_others_work_on() -> None:
    """Four members of two devices, of which two are enough; the higher one needs the places of two."""
    elastic = job("low", workers=4, quorum=2, gpus=2, seconds=100)
    loop = play([node("n1")], [elastic, high(4)])
    found = run(loop)
    assert (found.evictions, found.evicted_units, found.evicted_pods) == (0, 2, 2)
    assert device_seconds(loop)["lostToEviction"] == 4 * 40
    """Of 800 device-seconds, 160 are done by the others at 40 s and 200 more at 90 s; then all four work."""
    assert ends(loop)["low"] == ("finished", 90 + 440 / 8)
    assert found.receipts_device_seconds == pytest.approx(160, abs=1)
    assert found.outcomes[0].waited == 0.0


def test_a_group_that_is_disrupted_as_a_whole_loses_all_of_it() -> None:
    elastic = job("low", workers=4, quorum=2, gpus=2, seconds=100, disruption="PodGroup")
    found = run(play([node("n1")], [elastic, high(4)]))
    assert (found.evictions, found.evicted_units, found.evicted_pods) == (1, 1, 4)


def test_who_must_not_be_disturbed_stays() -> None:
    loop = play([node("n1")], [low(non_preemptible=True), high()])
    assert ends(loop) == {"low": ("finished", 100.0), "high": ("finished", 150.0)}


def test_who_must_not_be_disturbed_yet_goes_as_soon_as_it_may() -> None:
    """It works from the fifth second on, and has asked for a minute."""
    loop = play([node("n1")], [low(start_up=5 * SECOND, min_run_time=60 * SECOND), high()])
    assert ends(loop)["high"] == ("finished", 65 + 50.0)


@pytest.mark.parametrize(
    "policy", [Policy(order="fifo"), Policy(preemption=Preemption(mode="never"))], ids=["fifo", "never"]
)
def test_where_nobody_yields_the_higher_waits(policy: Policy) -> None:
    loop = play([node("n1")], [low(), high()], policy)
    assert ends(loop) == {"low": ("finished", 100.0), "high": ("finished", 150.0)}
    assert run(loop).preemptions == 0


def test_the_policy_may_wait_for_room_to_appear_first() -> None:
    policy = Policy(preemption=Preemption(delay="20s"))
    assert ends(play([node("n1")], [low(), high()], policy))["high"] == ("finished", 110.0)


def test_others_leave_elsewhere_if_a_node_breaks_meanwhile() -> None:
    """The one who is leaving is gone with its node, and not one that failed."""
    nodes = [node("n1"), node("n2")]
    other = job("other", gpus=8, seconds=100, grace=GRACE, checkpoint=0)
    jobs = [low(grace=GRACE, checkpoint=0), other, high()]
    loop = play(nodes, jobs, faults=[fault(45, "n1", repaired=400), fault(45, "n2", repaired=46)])
    assert ends(loop)["high"] == ("finished", 96.0)
    assert sorted((outcome.evictions, outcome.failures) for outcome in run(loop).outcomes) == [
        (0, 0),
        (0, 1),
        (1, 0),
    ]


def test_who_ends_while_leaving_is_gone_at_once() -> None:
    loop = play([node("n1")], [low(grace=GRACE, cancelled=43 * SECOND), high()])
    assert ends(loop) == {"low": ("cancelled", 43.0), "high": ("finished", 93.0)}
    assert device_seconds(loop)["leaving"] == 8 * 3


def test_places_are_kept_no_longer_for_who_gives_up() -> None:
    jobs = [low(6, grace=GRACE, checkpoint=0), high(8, cancelled=43 * SECOND), job("third", at=41, gpus=2)]
    loop = play([node("n1")], jobs)
    assert run(loop).outcomes[2].started == 43.0
    assert all(not group.nominated for group in loop.groups)


def test_someone_more_important_takes_the_places_that_were_kept() -> None:
    jobs = [low(grace=GRACE, checkpoint=0), high(), job("highest", at=45, gpus=8, seconds=50, priority=20)]
    loop = play([node("n1")], jobs)
    assert ends(loop)["highest"] == ("finished", 100.0)
    assert ends(loop)["high"] == ("finished", 150.0)
    assert run(loop).evictions == 1


def test_a_gang_leaves_as_one_for_a_gang_in_one_rack() -> None:
    """Only the second rack can be emptied at the cost of one group; a device is free in each of the first."""
    nodes = [node(f"n{i}", gpus=4, rack=f"r{i // 2}") for i in range(4)]
    jobs = [
        job("gang", workers=2, gpus=4, seconds=100, rack="r1", checkpoint=0),
        *(job(f"single-{i}", gpus=3, seconds=100, rack="r0") for i in range(2)),
        job("high", at=40, workers=2, gpus=4, seconds=50, priority=10, within="rack"),
    ]
    loop = play(nodes, jobs, Policy(topology=Topology((RACK,))))
    assert {outcome.job: outcome.evictions for outcome in run(loop).outcomes} == {
        "gang": 1,
        "single-0": 0,
        "single-1": 0,
        "high": 0,
    }


def test_an_incomplete_gang_takes_back_its_member_s_place_from_a_lesser_one() -> None:
    """A member breaks down; the node that could take it is held by the lower one."""
    gang = job("gang", workers=2, gpus=8, seconds=100, priority=10, checkpoint=0)
    lesser = job("low", at=1, gpus=8, seconds=200, checkpoint=0, grace=GRACE)
    loop = play([node(f"n{i}") for i in range(3)], [gang, lesser], faults=[fault(50, "n0", repaired=500)])
    assert ends(loop)["gang"] == ("finished", 110.0)
    assert device_seconds(loop)["incomplete"] == 8 * 10


def test_a_run_may_end_while_someone_leaves() -> None:
    loop = play([node("n1")], [low(grace=GRACE), high()], horizon=45 * SECOND)
    assert loop.groups[0].phase == Phase.STOPPED
    assert [outcome.end for outcome in run(loop).outcomes] == ["running", "waiting"]
    assert device_seconds(loop) == {"leaving": 8 * 5, "lostToEviction": 8 * 40}
