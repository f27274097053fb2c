"""Queues in simulations: they decide there as they decide on a cluster."""

import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.soak.raw import objects
from maitred.decide.cycle import run as decide_all
from maitred.decide.verdicts import Verdicts
from maitred.model.manifest import InputError
from maitred.model.policy import FairShare, Policy, Preemption
from maitred.model.queues import PriorityRange, Queue, QueueBudget, QueueLimit, QueueRuntime
from maitred.model.selector import LabelSelector
from maitred.simulate.clock import DAY, HOUR, SECOND, moment
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.run import simulate
from maitred.simulate.seating.objects import group_key
from maitred.simulate.seating.queued_groups import QueuedGroups
from maitred.simulate.seating.seater import Moves
from maitred.simulate.setup import Setup
from maitred.simulate.summary import summarise
from tests.simulate.laws import Laws
from tests.simulate.runs import GPU, job, node, play, rivals
from tests.simulate.test_loop import ends, run
from tests.support import read, state_of


def queue(name: str, guarantee: int | None = None, cap: int | None = None, **more: Any) -> Queue:
    return Queue(
        name,
        limits=(QueueLimit(GPU, guarantee=guarantee, cap=cap, per_user=more.pop("per_user", None)),),
        **more,
    )


# -- shares ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", ["none", "1d"])
def test_shares_converge_to_weights_in_a_week_of_more_work_than_there_is_room(half_life: str) -> None:
    """Each group has less than 1 % of the 104 GPUs."""
    weights, chance = {"one": 1.0, "two": 2.0, "four": 4.0}, random.Random(20)
    jobs = [
        job(f"{name}-{number}", seconds=chance.uniform(4, 40) * 3600, queue=name)
        for name, weight in weights.items()
        for number in range(160 * round(weight))
    ]
    policy = Policy(
        queues=tuple(queue(name, 0, weight=weight) for name, weight in weights.items()),
        fair_share=FairShare(half_life=half_life),
    )
    loop = play([node(f"n{number}") for number in range(13)], jobs, policy, horizon=7 * DAY)
    held = loop.books.held_by_queue.totals
    assert sum(held.values()) > 0.99 * 104 * 1000 * 7 * DAY
    for name, weight in weights.items():
        assert held[name] / sum(held.values()) == pytest.approx(weight / 7, rel=0.05)
        assert any(group.waits and group.job.queue == name for group in loop.groups)


# -- cases that can be worked out by hand --------------------------------------------------------------------


def ended(loop: Simulation) -> list[float]:
    return sorted(end or 0.0 for _, end in ends(loop).values())


def test_a_queue_never_has_more_than_its_cap() -> None:
    jobs = [job(f"{name}-{number}", queue="small") for name in "ab" for number in range(3)]
    loop = play([node("n1")], jobs, Policy(queues=(queue("small", cap=2),)))
    assert ended(loop) == [60, 60, 120, 120, 180, 180]
    assert run(loop).wait_by_blocker.keys() == {"Quota"}


def test_what_was_lent_is_taken_back_by_an_equal_and_waits_for_those_who_leave_it() -> None:
    queues = (queue("vision", 8), queue("language", 0))
    jobs = [
        job("sweep", gpus=8, seconds=100, queue="language", checkpoint=0, grace=10 * SECOND),
        job("train", at=40, gpus=8, seconds=50, queue="vision"),
    ]
    loop = play([node("n1")], jobs, Policy(queues=queues))
    assert ends(loop) == {"train": ("finished", 100.0), "sweep": ("finished", 160.0)}
    never = Policy(queues=queues, preemption=Preemption(mode="never"))
    assert ends(play([node("n1")], jobs, never))["train"] == ("finished", 150.0)


def test_the_least_run_time_of_a_queue_passes_in_virtual_time() -> None:
    queues = (queue("vision", 8), queue("language", 0, min_runtime="70s"))
    jobs = [
        job("sweep", gpus=8, seconds=100, queue="language", checkpoint=0),
        job("train", at=40, gpus=8, seconds=50, queue="vision"),
    ]
    assert ends(play([node("n1")], jobs, Policy(queues=queues)))["train"] == ("finished", 120.0)


def test_what_no_budget_pays_for_runs_until_somebody_pays() -> None:
    """The second job of the team would cost more than is left. It has run for 59 seconds when one that pays
    comes, goes on when that has ended, and is remembered all the while."""
    budget = QueueBudget(device_hours=4, on_spent="scavenge")
    team = Queue("team", budget=budget, runtime=QueueRuntime(default="1h"))
    jobs = [
        job("paid", gpus=4, seconds=3600, queue="team"),
        job("free", at=1, gpus=4, seconds=3000, queue="team", checkpoint=0, priority=7),
        job("payer", at=60, gpus=4, seconds=50, queue="default"),
    ]
    loop = play([node("n1")], jobs, Policy(queues=(team,)))
    assert ends(loop) == {
        "paid": ("finished", 3600.0),
        "free": ("finished", 3051.0),
        "payer": ("finished", 110.0),
    }


def test_users_have_their_limits() -> None:
    jobs = [
        job(f"{user or 'nobody'}-{number}", queue="lab", user=user)
        for user in ("", "ann")
        for number in range(2)
    ]
    loop = play([node("n1")], jobs, Policy(queues=(queue("lab", per_user=1),)))
    assert ended(loop) == [60, 60, 120, 120]


def test_past_use_counts_for_less_as_virtual_time_goes_by() -> None:
    """One has had the node for an hour, and then both want it. With past use the other goes first, whose job
    is younger; a day later that is forgotten, and the older goes first."""

    def first(half_life: str, at: int) -> str:
        policy = Policy(
            queues=(queue("one", 0), queue("other", 0)), fair_share=FairShare(half_life=half_life)
        )
        jobs = [
            job("early", gpus=8, seconds=3600, queue="one"),
            job("blocks", at=at - 10, gpus=8, seconds=60, queue="default"),
            job("again", at=at, gpus=8, seconds=60, queue="one"),
            job("younger", at=at + 1, gpus=8, seconds=60, queue="other"),
        ]
        found = ends(play([node("n1")], jobs, policy))
        return min(("again", "younger"), key=lambda name: found[name][1] or 0.0)

    assert first("none", 3700) == "again"
    assert first("1h", 3700) == "younger"


# -- as on a cluster -----------------------------------------------------------------------------------------


class AsDecided(RunObserver):
    """Fails when a run does something else than a scheduler would that looks at all groups."""

    def __init__(self) -> None:
        self.compared = 0

    def moves(self, loop: Simulation, moves: Moves) -> None:
        told = [seating.group.name for seating in moves.seatings]
        told += [removal.preemptor for removal in moves.removals]
        decided = self._decided(loop)
        if moves.seatings or moves.removals:
            assert set(told) <= set(decided[: len(set(told))])
            self.compared += 1

    def settled(self, loop: Simulation) -> None:
        assert not self._decided(loop), "somebody else would have got seats"

    def _decided(self, loop: Simulation) -> list[str]:
        """Groups that get seats, or for which others are told to leave, in the order of their turns."""
        seater = loop.seater
        assert isinstance(seater, QueuedGroups)
        state = state_of(read(objects(loop, {group_key(group.job) for group in loop.groups})))
        record = decide_all(state.snapshot(), seater.policy, moment(loop.now))
        evicted = {eviction.preemptor for eviction in Verdicts(record).plan().evictions}
        found = [group for group in record.groups if group.seated or group.key in evicted]
        return [g.key.partition("/")[2] for g in sorted(found, key=lambda group: group.first_seated)]


@st.composite
def trees(draw: st.DrawFn) -> tuple[Queue, ...]:
    amounts = st.sampled_from((None, 0, 2, 4))
    found = []
    for name, parent in (("a", ""), ("b", draw(st.sampled_from(("", "top")))), ("c", "top")):
        guarantee = draw(amounts)
        cap = draw(st.sampled_from((None, None, 6, 8)))
        found.append(queue(name, guarantee, cap, parent=parent, weight=draw(st.sampled_from((1.0, 3.0)))))
    return (Queue("top"), *found)


@settings(max_examples=12)
@given(world=rivals(), tree=trees(), reclaim=st.booleans(), data=st.data())
def test_a_run_does_what_a_scheduler_would_that_looks_at_all_groups(
    world: Any, tree: tuple[Queue, ...], reclaim: bool, data: st.DataObject
) -> None:
    nodes, jobs = world
    named = st.sampled_from(("a", "b", "c", ""))
    inside = [replace(one, queue=data.draw(named), disruption="PodGroup", quorum=one.members) for one in jobs]
    policy = Policy(queues=tree, fair_share=FairShare(reclaim=reclaim))
    watcher = AsDecided()
    loop = play(nodes, inside, policy, watchers=[watcher, Laws(policy)])
    assert bool(watcher.compared) == any(group.first_seated is not None for group in loop.groups)


# -- what is told --------------------------------------------------------------------------------------------


def simulated(jobs: list[SimulatedJob], policy: Policy) -> Any:
    one = simulate(Setup((node("n1"),), tuple(jobs), iter(()), horizon=HOUR), "p", policy, 1)
    return msgspec.to_builtins(one), msgspec.to_builtins(summarise([one])[0])


def test_waits_and_shares_are_told_by_queue_with_and_without_queues_in_the_policy() -> None:
    jobs = [job("a", gpus=8, seconds=60, queue="one"), job("b", gpus=8, seconds=120), job("c", at=7200)]
    for policy in (Policy(), Policy(queues=(queue("one"),))):
        told, summary = simulated(jobs, policy)
        assert told["deviceSecondsByQueue"] == {"one": 480.0, "default": 960.0}
        assert [one.get("queue") for one in told["outcomes"]] == ["one", None, None]
        assert summary["byQueue"]["default"]["share"] == pytest.approx(2 / 3)
        assert summary["byQueue"]["default"]["wait"]["mean"] == 60.0
        assert summary["byQueue"]["one"]["deviceHours"] == pytest.approx(480 / 3600)


def test_where_no_job_names_a_queue_nothing_is_told_of_queues() -> None:
    told, summary = simulated([job("a")], Policy())
    assert "deviceSecondsByQueue" not in told
    assert "byQueue" not in summary
    assert "queue" not in told["outcomes"][0]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(queues=(queue("two"),)), "there is no queue one"),
        (Policy(queues=(queue("one"), queue("two", parent="one"))), "queue one is divided"),
        (Policy(queues=(queue("one"),), placement="pod-by-pod"), "knows no queues"),
        (Policy(queues=(queue("one"),), order="shortest"), "knows no queues"),
    ],
)
def test_queues_that_a_run_would_ignore_are_refused(policy: Policy, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulated([job("a", queue="one")], policy)


def test_who_may_use_a_queue_is_what_the_scenario_says_but_its_priorities_count() -> None:
    mine = queue("one", namespaces=LabelSelector({"team": "x"}), priorities=PriorityRange(most=5))
    told, _ = simulated([job("a", queue="one"), job("b", queue="one", priority=9)], Policy(queues=(mine,)))
    assert [one["end"] for one in told["outcomes"]] == ["finished", "impossible"]
    assert "allows 5 at most" in told["outcomes"][1]["why"]
