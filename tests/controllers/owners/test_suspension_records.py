"""What becomes of the record of a suspended Job, and of pods that take years to leave."""

import asyncio

import msgspec
import pytest

from maitred.cluster.leaving import leaving_pods
from maitred.controllers.owners import returns as returns_module
from maitred.kube.outcomes import RefusalReason, Refused, Unknown
from maitred.kube.wire import WatchedPod
from tests.controllers.owners.house import (
    APART,
    FOUR,
    KEY,
    House,
    back,
    bound,
    guest,
    in_house,
    members,
    room,
)
from tests.controllers.owners.made import JOBS, job
from tests.controllers.watched import watched_pod
from tests.oracle.builders import node

# -- records -----------------------------------------------------------------------------------------------


def test_the_record_goes_after_the_job_was_resumed() -> None:
    async def story(house: House) -> None:
        house.put(job(marks=FOUR))
        await house.cycle()
        assert (house.api.resumed, house.api.dropped) == ([KEY], ["maitred-suspension-job-train"])
        assert house.suspensions.by_uid == {}

    in_house(room, story)


@pytest.mark.parametrize("state", ["resumed by its user", "finished", "gone", "never suspended"])
def test_a_record_without_a_suspended_job_is_deleted_once_the_server_says_so(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returns_module, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(returns_module, "RETRY_SECONDS", 0.0)

    async def story(house: House) -> None:
        about = job(marks=FOUR)
        if state == "gone":
            house.put_record(about)
        elif state == "finished":
            house.put(job(marks=FOUR, status={"conditions": [{"type": "Failed", "status": "True"}]}))
        else:
            house.put(*([about] if state == "resumed by its user" else []))
            house.put(job(marks=FOUR, suspend=False, generation=3))
        await house.returns.prepare()
        assert house.api.dropped == [], "the watch may be late"
        house.api.outcomes = [Refused(RefusalReason.STALE, "the Job is suspended")]
        for _ in range(3):
            await house.cycle()
        assert house.api.tidied == [KEY, KEY]
        assert house.api.dropped == ["maitred-suspension-job-train"]
        assert (house.suspensions.by_uid, house.api.resumed) == ({}, [])

    in_house(room, story)


def test_nobody_asks_about_the_record_of_a_job_that_is_seen_to_be_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(returns_module, "SETTLE_SECONDS", 0.0)

    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        for _ in range(3):
            await house.cycle()
        assert (house.api.tidied, house.api.dropped, house.standing) == ([], [], 4)

    in_house(room, story)


def test_a_record_that_could_not_be_deleted_is_tried_again_and_the_job_stays_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(returns_module, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(returns_module, "HOLD_SECONDS", 0.0)

    async def story(house: House) -> None:
        house.api.refusal = Unknown("no answer")
        house.put(job(marks=FOUR))
        await house.cycle()
        house.returns.put(JOBS, back())
        house.api.refusal = None
        for _ in range(3):
            await house.cycle()
        assert (house.api.resumed, house.api.tidied) == ([KEY], [KEY])
        assert len(house.api.dropped) == 2

    in_house(room, story)


def test_a_job_that_its_user_resumes_loses_the_record_and_keeps_no_place() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        await house.cycle()
        house.put(job(marks=FOUR, suspend=False, generation=3))
        await house.cycle()
        assert house.standing == 0
        house.put(job(marks=FOUR, suspend=False, kept=None, generation=3), *members(0, 1, 2, 3))
        house.gone("guest")
        assert bound(await house.cycle()) == [f"train-{index}" for index in range(4)]

    in_house(room, story)


@pytest.mark.parametrize("change", ["deleted", "its user's", "finished"])
def test_nobody_stands_in_any_more(change: str) -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR))
        await house.cycle()
        if change == "deleted":
            house.returns.gone(JOBS, KEY)
        elif change == "finished":
            house.put(job(marks=FOUR, status={"conditions": [{"type": "Failed", "status": "True"}]}))
        else:
            house.put(job(marks=FOUR, kept=None))
        house.gone("guest")
        await house.cycle()
        assert (house.standing, house.mirror.waiting_by_group, house.api.resumed) == (0, {}, [])

    in_house(room, story)


# ---- pods that take years to leave


def lingering(*indexes: int, owner: str = "Job/train", namespace: str = "default") -> list[WatchedPod]:
    """Pods of the Job as the Job controller has deleted them: with the grace period that they ask for."""
    found = list[WatchedPod]()
    for index in indexes:
        pod = watched_pod(f"train-{index}", cpu=1, node="n1", owner=owner, namespace=namespace, deleted=True)
        given = msgspec.structs.replace(pod.metadata, deletion_grace_period_seconds=10**9)
        found.append(msgspec.structs.replace(pod, metadata=given))
    return found


def leaving(house: House) -> int:
    return int(leaving_pods(house.mirror.state.snapshot(), 3600, now=0).sum())


def test_pods_of_a_job_that_we_suspended_are_given_less_time_and_each_is_once() -> None:
    async def story(house: House) -> None:
        house.put(guest(), job(marks=FOUR), *lingering(0, 1))
        await house.cycle()
        assert house.api.hastened == [("train-0", 3600), ("train-1", 3600)]
        assert leaving(house) == 2
        house.put(*lingering(0, 1))  # late news of before they were given less
        await house.cycle()
        assert len(house.api.hastened) == 2

    in_house(room, story)


def test_one_that_could_not_be_given_less_time_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns_module, "RETRY_SECONDS", 0.2)

    async def story(house: House) -> None:
        house.put(job(spec=APART), *lingering(0))
        house.api.outcomes = [Refused(RefusalReason.FORBIDDEN, "no")]
        await house.cycle()
        assert leaving(house) == 0
        house.mirror.changed.clear()
        async with asyncio.timeout(10):
            await house.mirror.changed.wait()
        await house.cycle()
        assert house.api.hastened == [("train-0", 3600)] * 2
        assert leaving(house) == 1

    in_house(lambda: House(node("n1", cpu=1)), story)


def test_others_take_their_time() -> None:
    """Pods of a Job that its user has suspended, and pods elsewhere that name the UID of one of ours."""

    async def story(house: House) -> None:
        house.put(job(), *lingering(0, owner="Job/other"), *lingering(1, namespace="mallory"))
        await house.cycle()
        assert house.api.hastened == []

    in_house(lambda: House(node("n1", cpu=1)), story)
