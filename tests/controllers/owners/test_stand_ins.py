"""Who stands in for a suspended Job, and for whose Jobs nobody does."""

import asyncio
from typing import Any

import pytest

from maitred.controllers.owners import returns as returns_module
from maitred.kube.wire import WatchedJob
from maitred.model.suspending import OwnerName
from tests.controllers.owners.house import FOUR, KEY, OWNER, House, guest, in_house, members, room
from tests.controllers.owners.made import JOBS, job, record
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node

# -- who stands in -----------------------------------------------------------------------------------------


def test_stand_ins_wait_while_there_is_no_room() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        plan = await house.cycle()
        assert house.standing == 4
        (verdict,) = plan.groups
        assert (verdict.group, verdict.verdict, verdict.members) == ("default/train", "Waiting", 4)
        assert not house.api.resumed
        assert house.mirror.unseated("default/train") == [], "there are no pods that could be told"

    in_house(room, story)


def test_it_is_resumed_when_room_comes() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        await house.cycle()
        house.gone("guest")
        plan = await house.cycle()
        assert house.api.resumed == [KEY]
        assert (plan.binds, plan.groups) == ((), ()), "nothing is written or told of pods that do not exist"

    in_house(room, story)


def test_nobody_stands_in_for_pods_that_are_there() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR), *members(0, 1, 2, 3, node="n1"))
        await house.cycle()
        assert house.standing == 0
        house.gone("train-0", "train-1", "train-2")
        await house.cycle()
        assert house.standing == 0
        house.put(*members(3, node="n1", deleted=True))
        await house.cycle()
        assert house.standing == 4, "one that terminates holds its place and is none of the group"
        assert not house.api.resumed
        house.gone("train-3")
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


@pytest.mark.parametrize(
    "waits",
    [
        {"spec": {"podReplacementPolicy": "Failed"}},
        {"kept": record(scheduler_name="default-scheduler"), "pod": {"schedulerName": "default-scheduler"}},
    ],
)
def test_some_are_waited_for_to_the_last(waits: dict[str, Any]) -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR, status={"terminating": 1}, **waits))
        await house.cycle()
        assert house.standing == 0
        house.put(job(marks=FOUR, status={"terminating": 0}, **waits))
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


def test_a_job_that_was_changed_while_it_was_away_is_waited_for_as_it_is_now() -> None:
    async def story(house: House) -> None:
        house.put(guest(cpu=2), job(marks=FOUR))
        await house.cycle()
        assert house.standing == 4
        house.put(job(size=2, marks=gang("train", 2), generation=3))
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


def test_a_job_that_has_nothing_left_to_do_is_resumed() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR, status={"succeeded": 4, "completedIndexes": "0-3"}))
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


# -- whose Job it is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "theirs",
    [
        job(marks=FOUR, kept=None),
        job(marks=FOUR, kept="yes"),
        job(marks=FOUR, suspend=False, kept=None),
        job(marks=FOUR, status={"conditions": [{"type": "Failed", "status": "True"}]}),
        job(marks=FOUR, status={"conditions": [{"type": "FailureTarget", "status": "True"}]}),
        job(marks=FOUR, deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
)
def test_others_are_left_alone(theirs: WatchedJob) -> None:
    async def story(house: House) -> None:
        house.put(theirs)
        await house.cycle()
        assert (house.standing, house.api.resumed) == (0, [])

    in_house(room, story)


@pytest.mark.parametrize("line", ["", "{}", str(record()), "suspended by maitred"])
def test_what_stands_on_the_job_is_not_believed(line: str) -> None:
    """Neither where it is made up, nor where it was changed or removed."""

    async def story(house: House) -> None:
        liar = job(marks=FOUR, kept=None)
        liar.metadata.annotations["maitred.dev/suspended"] = line
        house.put(liar)
        await house.cycle()
        assert (house.standing, house.api.resumed) == (0, [])
        ours = job(marks=FOUR)
        if line:
            ours.metadata.annotations["maitred.dev/suspended"] = line
        house.put(ours)
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)


def test_a_record_that_cannot_be_read_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def story(house: House) -> None:
        house.put(job(kept="{}"))

    in_house(room, story)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(
        "record own/train cannot be read, so what it is about may stay suspended"
    )


def test_what_another_scheduler_has_suspended_is_its_business() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR, kept=record(by="another")))
        await house.cycle()
        assert (house.standing, house.api.resumed) == (0, [])

    in_house(room, story)


def test_nobody_stands_in_for_a_job_that_another_controller_manages() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR, spec={"managedBy": "example.com/another"}))
        await house.cycle()
        assert (house.standing, house.api.resumed) == (0, [KEY])

    in_house(room, story)


def test_there_is_a_limit_to_stand_ins_and_beyond_it_pods_wait_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(returns_module, "MOST_IN_NAMESPACE", 6)

    async def story(house: House) -> None:
        house.put(guest(), job("a", marks=gang("a", 4)), job("b", marks=gang("b", 4)))
        await house.cycle()
        assert {name: len(pods) for name, pods in house.mirror.overlay.standing.items()} == {
            OwnerName("Job", "default/a"): 4
        }
        assert house.api.resumed == ["default/b"]

    in_house(room, story)


def test_a_job_that_changes_while_it_is_away_has_room_for_what_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own stand-ins do not count against those that take their place."""
    monkeypatch.setattr(returns_module, "MOST_IN_NAMESPACE", 6)

    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        await house.cycle()
        house.put(job(marks={**FOUR, "example.com/a": "b"}, generation=3))
        await house.cycle()
        assert (house.standing, house.api.resumed) == (4, [])

    in_house(room, story)


def test_what_changes_nothing_about_its_pods_makes_nobody_stand_in_anew() -> None:
    """Anyone may write to their Job as often as they like, and so does its controller."""

    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        await house.cycle()
        before = dict(house.mirror.waiting)
        house.put(job(marks=FOUR, status={"ready": 1}, labels={"a": "b"}, generation=3))
        await house.cycle()
        assert all(house.mirror.waiting[key] is pod for key, pod in before.items())
        house.put(job(marks={**FOUR, "example.com/a": "b"}, generation=4))
        await house.cycle()
        assert not any(house.mirror.waiting[key] is pod for key, pod in before.items())

    in_house(room, story)


def test_many_of_them_do_not_keep_the_event_loop_to_themselves() -> None:
    async def story(house: House) -> None:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        many = gang("train", 2000)
        away = job(size=2000, marks=many, kept=record(members=2000))
        house.put(away)
        await house.returns.prepare()
        assert len(house.mirror.overlay.stand_ins) == 2000
        assert turns >= 2000 / returns_module.SLICE
        turns = 0
        await house.cycle()
        hold = house.mirror.overlay.hold("Return", str(OWNER))
        assert hold is not None
        assert (len(hold.places), house.api.resumed) == (2000, [KEY])
        assert turns >= 2000 / returns_module.SLICE, "nor when their places are kept"
        turns = 0
        house.returns.gone(JOBS, KEY)
        await house.returns.prepare()
        assert not house.mirror.overlay.stand_ins
        assert turns >= 2000 / returns_module.SLICE - 1, "nor when they go"
        beside.cancel()

    in_house(lambda: House(node("n1", cpu=4000, pods=4000)), story)


def test_pods_that_name_the_job_from_another_namespace_do_not_keep_it_away() -> None:
    async def story(house: House) -> None:
        forged = watched_pod("forged", namespace="mallory", cpu=1, owner="Job/train")
        house.put(job(marks=FOUR), forged)
        await house.cycle()
        assert house.api.resumed == [KEY]

    in_house(room, story)
