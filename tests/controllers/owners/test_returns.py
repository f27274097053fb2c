"""When a suspended Job is resumed, and what becomes of its places meanwhile."""

from typing import Any

import pytest

from maitred.controllers.owners import returns as returns_module
from maitred.kube.outcomes import RefusalReason, Refused, Unknown
from maitred.kube.wire import WatchedJob, WatchedPod
from maitred.model.policy import Policy, Preemption
from tests.cluster.seen import put
from tests.controllers.owners.house import (
    APART,
    FOUR,
    KEY,
    House,
    Outcome,
    back,
    bound,
    guest,
    in_house,
    members,
    room,
)
from tests.controllers.owners.made import JOBS, job, record
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, priority_class

# -- what it does not wait for -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "odd",
    [
        job(marks=gang("train", 5)),
        job(marks=gang("train", 0)),
        job(marks=FOUR, cpu=100),
        job(marks=FOUR, pod={"priorityClassName": "unheard-of"}),
        job(kept=record(pod_group="gone")),
    ],
    ids=["members", "invalid", "impossible", "no such class", "no such PodGroup"],
)
def test_it_stays_away_for_want_of_room_and_for_nothing_else(odd: WatchedJob) -> None:
    """Its pods are seen by those who can help, and by autoscalers."""

    async def story(house: House) -> None:
        house.put(guest(), odd)
        await house.cycle()
        assert house.api.resumed == [KEY]
        assert house.standing == 0

    in_house(room, story)


def ranks() -> House:
    house = room()
    put(house.mirror.state, priority_class("low", 1), priority_class("mid", 5), priority_class("high", 9))
    return house


def ranked(name: str) -> dict[str, Any]:
    return {"pod": {"priorityClassName": name}}


def test_it_returns_at_the_expense_of_lesser_ones_and_they_go_for_its_own_pods() -> None:
    async def story(house: House) -> None:
        house.put(guest(priority=1), job(marks=FOUR, **ranked("mid")))
        plan = await house.cycle()
        assert house.api.resumed == [KEY]
        assert (plan.evictions, plan.nominations, house.standing) == ((), (), 0)
        house.put(job(marks=FOUR, kept=None, suspend=False, generation=3, **ranked("mid")))
        house.put(*members(0, 1, 2, 3, priority=5))
        plan = await house.cycle()
        assert [eviction.pod for eviction in plan.evictions] == ["default/guest"]
        assert len(plan.nominations) == 4

    in_house(ranks, story)


def test_it_waits_for_room_where_nobody_is_evicted() -> None:
    async def story(house: House) -> None:
        house.policy = Policy(preemption=Preemption(mode="never"))
        house.put(guest(priority=1), job(marks=FOUR, **ranked("mid")))
        await house.cycle()
        assert (house.api.resumed, house.standing) == ([], 4)
        house.gone("guest")
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(ranks, story)


# -- its places --------------------------------------------------------------------------------------------


def lone(name: str, **fields: Any) -> WatchedPod:
    return watched_pod(name, cpu=1, created=1, **fields)


def test_its_places_are_kept_until_the_last_of_its_pods_is_there() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(lone("old"), back(), *members(0, 1))
        assert bound(await house.cycle()) == [], "neither another pod nor a part of the gang"
        house.put(*members(2, 3))
        assert bound(await house.cycle()) == ["old"], "it is older, and there is no place kept any more"
        assert house.standing == 0

    in_house(room, story)


def test_a_gang_that_is_back_is_seated() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(back(), *members(0, 1, 2, 3), watched_pod("young", cpu=1, created=90))
        assert bound(await house.cycle()) == [f"train-{index}" for index in range(4)]

    in_house(room, story)


def test_pods_may_be_seen_before_the_job_is_seen_to_be_resumed() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(*members(0, 1, 2, 3))
        await house.cycle()
        house.put(job(marks=FOUR, status={"active": 4}))  # as it was before, and told late
        await house.cycle()
        assert house.standing == 0
        house.put(back())
        assert bound(await house.cycle()) == [f"train-{index}" for index in range(4)]
        assert house.api.resumed == [KEY]

    in_house(room, story)


def test_lone_pods_are_not_decided_before_they_are_all_there() -> None:
    async def story(house: House) -> None:
        house.put(job())
        await house.cycle()
        assert house.api.resumed == [KEY]
        house.put(back(), *members(0, 1, marks={}))
        assert bound(await house.cycle()) == []
        house.put(*members(2, 3, marks={}))
        assert sorted(bound(await house.cycle())) == [f"train-{index}" for index in range(4)]

    in_house(room, story)


def test_a_part_of_those_who_need_no_company_is_enough() -> None:
    async def story(house: House) -> None:
        house.put(guest(cpu=3), job(spec=APART))
        plan = await house.cycle()
        assert house.api.resumed == [KEY]
        assert plan.groups == (), "those that do not fit are not told of either"

    in_house(room, story)


def test_places_are_not_kept_for_pods_that_do_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns_module, "HOLD_SECONDS", 0.0)

    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(back(), lone("other"))
        assert bound(await house.cycle()) == ["other"]

    in_house(room, story)


def test_those_of_higher_rank_get_places_that_are_kept_and_nobody_is_evicted() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR, **ranked("low")))
        await house.cycle()
        house.put(watched_pod("urgent", cpu=4, priority=9), back(**ranked("low")), *members(0, priority=1))
        plan = await house.cycle()
        assert (plan.evictions, bound(plan)) == ((), ["urgent"])
        await house.cycle()
        assert house.standing == 0

    in_house(ranks, story)


def test_two_jobs_of_one_gang_return_together() -> None:
    async def story(house: House) -> None:
        house.put(job("a", 2, marks=FOUR), job("b", 2, marks=FOUR))
        await house.cycle()
        assert sorted(house.api.resumed) == ["default/a", "default/b"]
        one, two = (
            [watched_pod(f"{of}-{i}", cpu=1, owner=f"Job/{of}", annotations=FOUR) for i in (0, 1)]
            for of in "ab"
        )
        house.put(*one)
        assert bound(await house.cycle()) == []
        house.put(*(job(of, 2, marks=FOUR, kept=None, suspend=False, generation=3) for of in "ab"), *two)
        assert len(bound(await house.cycle())) == 4

    in_house(room, story)


def test_a_gang_of_which_some_have_pods_is_not_seated_before_the_others_have() -> None:
    async def story(house: House) -> None:
        house.put(job(size=2, marks=FOUR), *(watched_pod(n, cpu=1, annotations=FOUR) for n in ("x", "y")))
        plan = await house.cycle()
        assert (bound(plan), house.api.resumed) == ([], [KEY])
        house.put(job(size=2, marks=FOUR, kept=None, suspend=False, generation=3), *members(0, 1))
        assert len(bound(await house.cycle())) == 4

    in_house(room, story)


def test_the_places_of_those_who_wait_for_a_returning_job_are_kept_too() -> None:
    """A gang needs all of its places: nobody of the same rank gets one while a part of it comes back."""

    async def story(house: House) -> None:
        house.put(job(size=2, marks=FOUR), *(watched_pod(n, cpu=1, annotations=FOUR) for n in ("x", "y")))
        await house.cycle()
        house.put(*(lone(f"old-{number}") for number in range(4)))
        assert bound(await house.cycle()) == []
        house.put(job(size=2, marks=FOUR, kept=None, suspend=False, generation=3), *members(0))
        assert bound(await house.cycle()) == []

    in_house(room, story)


def test_one_of_several_that_return_to_a_gang_keeps_its_places_until_all_are_back() -> None:
    async def story(house: House) -> None:
        house.put(job("a", 2, marks=FOUR), job("b", 2, marks=FOUR))
        await house.cycle()
        house.put(*(watched_pod(f"a-{i}", cpu=1, owner="Job/a", annotations=FOUR) for i in (0, 1)))
        house.put(*(lone(f"old-{number}") for number in range(4)))
        assert bound(await house.cycle()) == []

    in_house(room, story)


def test_places_are_kept_for_a_gang_that_another_scheduler_seats() -> None:
    """Its pods are bound as they come. What is kept is kept for those that are yet to come."""

    async def story(house: House) -> None:
        theirs: dict[str, Any] = {"marks": FOUR, "pod": {"schedulerName": "default-scheduler"}}
        house.put(job(kept=record(scheduler_name="default-scheduler"), **theirs))
        await house.cycle()
        assert house.api.resumed == [KEY]
        house.put(*(lone(f"old-{number}") for number in range(4)))
        assert bound(await house.cycle()) == []
        house.put(job(kept=None, suspend=False, generation=3, **theirs))
        house.put(*members(0, 1, scheduler="default-scheduler", node="n1"))
        assert bound(await house.cycle()) == []
        assert house.standing == 2
        house.put(*members(2, scheduler="default-scheduler", node="n1"))
        assert bound(await house.cycle()) == []
        house.put(*members(3, scheduler="default-scheduler", node="n1"))
        assert bound(await house.cycle()) == []
        assert house.standing == 0

    in_house(room, story)


# -- what may go wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [Refused(RefusalReason.FORBIDDEN, "no"), Unknown("no answer")])
def test_a_resumption_that_fails_is_tried_again(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns_module, "RETRY_SECONDS", 0.0)

    async def story(house: House) -> None:
        house.api.outcomes = [outcome]
        house.put(job(marks=FOUR))
        await house.cycle()
        assert house.standing == 0, "it keeps no places while it cannot come"
        house.put(lone("other"))
        assert bound(await house.cycle()) == ["other"]
        house.gone("other")
        await house.cycle()
        assert house.api.resumed == [KEY, KEY]

    in_house(room, story)


def test_a_job_that_goes_while_it_is_resumed_leaves_nothing_behind() -> None:
    async def story(house: House) -> None:
        house.api.outcomes = [Refused(RefusalReason.GONE, "the Job does not exist any more")]
        house.api.meanwhile = lambda: house.returns.gone(JOBS, KEY)
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(lone("other"))
        assert bound(await house.cycle()) == ["other"]
        assert (house.standing, house.api.resumed) == (0, [KEY])

    in_house(room, story)


def test_it_can_be_suspended_again() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        house.put(back(), *members(0, 1, 2, 3))
        await house.cycle()
        house.put(job(marks=FOUR, generation=4), guest())
        house.gone(*(f"train-{index}" for index in range(4)))
        await house.cycle()
        assert (house.standing, house.api.resumed) == (4, [KEY])
        house.gone("guest")
        await house.cycle()
        assert house.api.resumed == [KEY, KEY]

    in_house(room, story)
