"""Who stands in for a suspended Job, when it is resumed, and what becomes of its places meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from maitred.cluster.leaving import leaving_pods
from maitred.controllers.owners import returns as returns_module
from maitred.controllers.owners.returns import Returns
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.amending import without
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.decide import Scope, decide
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import CONFIG_MAPS, Resource
from maitred.kube.wire import WatchedJob, WatchedPod
from maitred.kube.writes import OwnerToWrite
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy, Preemption
from maitred.model.suspending import OwnerName
from tests.cluster.seen import put
from tests.controllers.owners.made import JOBS, KEPT, SERVED, job, record
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node, priority_class
from tests.support import NOON

NOW = msgspec.convert(NOON, Timestamp)
FOUR = gang("train", 4)
KEY = "default/train"
OWNER = OwnerName("Job", KEY)

Outcome = Done | Refused | Unknown


@dataclass
class Answers:
    """Stands for the API server."""

    resumed: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    """What is answered the first times."""
    meanwhile: Callable[[], object] = lambda: None

    tidied: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """The names of records that were deleted."""
    refusal: Outcome | None = None
    """Whether records may not be deleted."""

    hastened: list[tuple[str, int | None]] = field(default_factory=list)
    """Pods that were deleted, and the grace that each was given."""

    async def delete_pod(self, namespace: str, name: str, uid: str, grace: int | None = None) -> Outcome:
        self.hastened.append((name, grace))
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def resume(self, owner: OwnerToWrite) -> Outcome:
        assert owner.uid == f"{owner.title.lower()}-{owner.name}"
        self.resumed.append(f"{owner.namespace}/{owner.name}")
        self.meanwhile()
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def tidy(self, owner: OwnerToWrite) -> Outcome:
        self.tidied.append(f"{owner.namespace}/{owner.name}")
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def delete(self, resource: Resource, namespace: str, name: str) -> Outcome:
        assert (resource, namespace) == (CONFIG_MAPS, "own")
        self.dropped.append(name)
        return self.refusal or Done()


class House:
    """A scheduler without a server, cycle by cycle."""

    def __init__(self, *nodes: dict[str, Any], policy: Policy | None = None) -> None:
        self.mirror, self.agenda, self.api = Mirror("maitred"), Worklist(), Answers()
        self.policy = policy or Policy()
        writer: Any = self.api
        self.suspensions = Suspensions(writer, "own", "maitred", SERVED)
        self.returns = Returns(self.mirror, self.agenda, self.suspensions, "maitred")
        put(self.mirror.state, *nodes)

    def put(self, *things: WatchedPod | WatchedJob) -> None:
        for thing in things:
            if isinstance(thing, WatchedJob):
                self.returns.put(JOBS, thing)
                self.put_record(thing)
            else:
                self.mirror.put_pod(thing)

    def put_record(self, about: WatchedJob) -> None:
        name = f"own/{about.metadata.name}"
        if (text := about.metadata.annotations.get(KEPT)) is not None:
            self.suspensions.put(name, text)
        else:
            self.suspensions.gone(name)

    def gone(self, *pods: str) -> None:
        for name in pods:
            self.mirror.pod_gone(f"default/{name}")

    async def cycle(self) -> Plan:
        """What is left to be carried out, of pods that exist. Writes have come to their end after it."""
        await self.returns.prepare()
        mirror = self.mirror
        selection = self.agenda.select(mirror.state.take_news(), mirror.waiting_by_group, 0.0)
        plan = decide(mirror.state.snapshot(), self.policy, NOW, Scope("maitred", selection))
        self.agenda.decided(plan.groups, selection, mirror.waiting_by_group)
        left = without(plan, await self.returns.take(plan), mirror.waiting)
        for bind in left.binds:
            assert mirror.overlay.assume(bind.pod, bind.uid, bind.node)
        for _ in range(10):
            await asyncio.sleep(0)
        return left

    @property
    def standing(self) -> int:
        """As the next decision sees it."""
        if OWNER in self.returns._standing_down:
            return 0
        return list(self.mirror.overlay.stand_ins.values()).count(OWNER)


APART = {"completionMode": "NonIndexed"}
"""Of a Job each of whose pods is of use by itself."""


def in_house(make: Callable[[], House], story: Callable[[House], Awaitable[None]]) -> None:
    async def play() -> None:
        house = make()
        writing = asyncio.create_task(house.returns.run())
        try:
            await story(house)
        finally:
            writing.cancel()

    asyncio.run(play())


def members(*indexes: int, marks: dict[str, str] | None = None, **fields: Any) -> list[WatchedPod]:
    """Pods of the Job, back or not yet gone."""
    marks = FOUR if marks is None else marks
    return [
        watched_pod(
            f"train-{index}", cpu=1, index=index, owner="Job/train", annotations=marks, created=60, **fields
        )
        for index in indexes
    ]


def guest(cpu: int = 4, name: str = "guest", **fields: Any) -> WatchedPod:
    return watched_pod(name, cpu=cpu, node="n1", scheduler="nobody", **fields)


def room() -> House:
    return House(node("n1", cpu=4))


def bound(plan: Plan) -> list[str]:
    return [bind.pod.removeprefix("default/") for bind in plan.binds]


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


def back(**fields: Any) -> WatchedJob:
    return job(marks=FOUR, kept=None, suspend=False, generation=3, **fields)


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
        house.put(job(), *lingering(0, 1))
        await house.cycle()
        assert house.api.hastened == [("train-0", 3600), ("train-1", 3600)]
        assert leaving(house) == 2
        house.put(*lingering(0, 1))  # late news of before they were given less
        await house.cycle()
        assert len(house.api.hastened) == 2

    in_house(lambda: House(node("n1", cpu=1)), story)


def test_one_that_could_not_be_given_less_time_is_tried_again() -> None:
    async def story(house: House) -> None:
        house.put(job(spec=APART), *lingering(0))
        house.api.outcomes = [Refused(RefusalReason.FORBIDDEN, "no")]
        await house.cycle()
        assert leaving(house) == 0
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
