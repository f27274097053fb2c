"""What others are told: once per change of verdict or category, to all members at once, and nothing else."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from maitred.cluster.state import ClusterState
from maitred.controllers.scheduling import notices
from maitred.controllers.scheduling.condition_writer import Teller, WritePace
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.notices import Notices
from maitred.kube.bodies import Regarding
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import Resource
from maitred.kube.wire import Condition
from maitred.model.categories import Category
from maitred.model.plan import Bind, Blocker, GroupVerdict, Plan, Verdict
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import gang

GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
CONDITION = "PodGroupInitiallyScheduled"
NOTHING = ClusterState().snapshot()


@dataclass
class Record:
    """Stands for the API server: keeps what is written, and can lose an answer."""

    mirror: Mirror
    lose: int = 0
    lose_events: int = 0
    meanwhile: Callable[[], object] = lambda: None
    """What happens while a pod is told."""
    groups: list[Condition] = field(default_factory=list)
    pods: list[tuple[str, Condition]] = field(default_factory=list)
    events: list[tuple[str, str, str]] = field(default_factory=list)

    async def patch_group_condition(
        self, groups: Resource, namespace: str, name: str, uid: str, condition: Condition
    ) -> Done | Refused | Unknown:
        if self.lose:
            self.lose -= 1
            return Unknown("no answer") if self.lose else Refused(RefusalReason.FORBIDDEN, "not yet")
        self.groups.append(condition)
        known = self.mirror.groups[f"{namespace}/{name}"]
        status = msgspec.structs.replace(known.status, conditions=(condition,))
        self.mirror.put_group(msgspec.structs.replace(known, status=status))
        return Done()

    async def patch_pod_condition(
        self, namespace: str, name: str, uid: str, condition: Condition, version: str
    ) -> Done:
        self.pods.append((name, condition))
        self.meanwhile()
        known = self.mirror.waiting[f"{namespace}/{name}"]
        status = msgspec.structs.replace(known.status, conditions=(condition,))
        self.mirror.put_pod(msgspec.structs.replace(known, status=status))
        return Done()

    async def record(self, regarding: Regarding, reason: str, note: str, action: str, type: str) -> bool:
        if self.lose_events:
            self.lose_events -= 1
            return False
        self.events.append((f"{regarding.kind}/{regarding.name}", reason, note))
        return True


def verdict(kind: Verdict, *blockers: tuple[Category, str], placed: int = 0) -> GroupVerdict:
    return GroupVerdict("default/g", kind, 2, 2, placed, {}, tuple(Blocker(c, m) for c, m in blockers))


WAITING = verdict("Waiting", ("Capacity", "needs 4, 2 free"))
SEATED = Plan(
    binds=(Bind("default/a", "default-a", "n1", "default/g"),), groups=(verdict("Scheduled", placed=2),)
)


class Story:
    """Verdicts one after the other, each told before the next."""

    def __init__(self, mirror: Mirror, lose: int = 0) -> None:
        self.record = Record(mirror, lose)
        anything: Any = self.record
        self.teller = Teller(mirror, anything, anything, GROUPS, CONDITION, Metrics())
        self.mirror = mirror
        self.verdicts = LastVerdicts(mirror.waiting_by_group)
        self.notices = Notices(mirror, self.verdicts, self.teller)

    def decided(self, *groups: GroupVerdict) -> None:
        self._decided(Plan(groups=groups))

    def _decided(self, plan: Plan) -> None:
        self.verdicts.note(plan.groups)
        if plan.binds:
            self.notices.seating(plan, NOTHING, time.monotonic())
        self.notices.decided(plan, NOTHING, time.monotonic())

    def tell(self, *verdicts: GroupVerdict | Plan) -> Record:
        asyncio.run(self._tell(verdicts))
        return self.record

    async def _tell(self, verdicts: tuple[GroupVerdict | Plan, ...]) -> None:
        self.notices = Notices(self.mirror, self.verdicts, self.teller)
        task = asyncio.create_task(self.notices.run())
        for item in verdicts:
            plan = item if isinstance(item, Plan) else Plan(groups=(item,))
            self._decided(plan)
            if plan.binds:
                self.notices.seated(plan.groups[0])
            await told(self.notices)
        task.cancel()


async def told(found: Notices) -> None:
    """Until nothing is due for a while."""
    while any(notice.due < time.monotonic() + 1.0 for notice in found._notices.values()):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(notices, "MEMBERS_SETTLE_SECONDS", 0.1)


def group_of_two() -> Mirror:
    mirror = Mirror("maitred")
    mirror.put_group(watched_group("g", 2))
    for name in ("a", "b"):
        mirror.put_pod(watched_pod(name, group="g", cpu=1))
    return mirror


def marked_group(**fields: Any) -> Mirror:
    mirror = Mirror("maitred")
    for name in ("a", "b"):
        mirror.put_pod(watched_pod(name, annotations=gang("g", 2), **fields))
    return mirror


def test_a_verdict_is_told_to_group_pods_and_people() -> None:
    record = Story(group_of_two()).tell(WAITING)
    words = "Waiting: Capacity: needs 4, 2 free"
    assert [(c.status, c.reason, c.message) for c in record.groups] == [("False", "Unschedulable", words)]
    assert [(name, c.status, c.reason) for name, c in record.pods] == [
        ("a", "False", "Unschedulable"),
        ("b", "False", "Unschedulable"),
    ]
    assert record.events == [("PodGroup/g", "FailedScheduling", words)]


def test_other_numbers_are_no_news() -> None:
    record = Story(group_of_two()).tell(WAITING, verdict("Waiting", ("Capacity", "needs 4, 3 free")))
    assert (len(record.groups), len(record.pods), len(record.events)) == (1, 2, 1)


def test_another_category_is() -> None:
    record = Story(group_of_two()).tell(WAITING, verdict("Waiting", ("Volume", "claim c is missing")))
    assert [c.reason for _, c in record.pods] == ["Unschedulable", "Unschedulable", "Volume", "Volume"]
    assert [note for _, _, note in record.events][1] == "Waiting: Volume: claim c is missing"


def test_what_was_true_for_a_moment_only_is_not_told() -> None:
    async def story() -> Record:
        tale = Story(group_of_two())
        task = asyncio.create_task(tale.notices.run())
        members = verdict("Waiting", ("Members", "1 of 2 members"))
        tale.decided(members)
        tale.decided(WAITING)
        await told(tale.notices)
        task.cancel()
        return tale.record

    assert [note for _, _, note in asyncio.run(story()).events] == ["Waiting: Capacity: needs 4, 2 free"]


def test_a_group_that_is_seated_is_told_at_once_and_stays_scheduled() -> None:
    record = Story(group_of_two()).tell(WAITING, SEATED, WAITING)
    assert [c.status for c in record.groups] == ["False", "True"]
    assert record.groups[-1].message == "Scheduled: 2 of 2 members placed"
    assert [reason for _, reason, _ in record.events] == ["FailedScheduling", "Scheduled", "FailedScheduling"]


def test_what_was_lost_or_not_allowed_yet_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "FIRST_RETRY", 0.05)
    story = Story(group_of_two(), lose=2)
    story.record.lose_events = 1
    record = story.tell(WAITING)
    assert (len(record.groups), len(record.events), len(record.pods)) == (1, 1, 2)


def test_a_scheduler_that_was_restarted_does_not_repeat_itself() -> None:
    mirror = group_of_two()
    Story(mirror).tell(WAITING)
    record = Story(mirror).tell(verdict("Waiting", ("Capacity", "needs 4, 1 free")))
    assert (record.pods, record.events) == ([], [])


def test_members_that_are_seated_while_the_others_are_told_are_not_told() -> None:
    story = Story(group_of_two())
    story.record.meanwhile = lambda: story.mirror.overlay.assume("default/b", "default-b", "n1")
    assert [name for name, _ in story.tell(WAITING).pods] == ["a"]


def test_a_group_is_told_however_often_it_is_decided_again() -> None:
    async def story() -> Record:
        tale = Story(group_of_two())
        task = asyncio.create_task(tale.notices.run())
        deadline = time.monotonic() + 10.0
        while not tale.record.events and time.monotonic() < deadline:
            tale.decided(WAITING)
            await asyncio.sleep(0.005)
        task.cancel()
        return tale.record

    assert len(asyncio.run(story()).events) == 1


def test_a_group_whose_verdict_keeps_changing_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "LONGEST_SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(notices, "SETTLE_SECONDS", 0.15)

    async def story() -> Record:
        tale = Story(group_of_two())
        task = asyncio.create_task(tale.notices.run())
        deadline, turn = time.monotonic() + 10.0, 0
        while not tale.record.events and time.monotonic() < deadline:
            turn += 1
            other = verdict("Waiting", ("Fragmentation", "not in one place"))
            tale.decided(other if turn % 2 else WAITING)
            await asyncio.sleep(0.005)
        task.cancel()
        return tale.record

    assert asyncio.run(story()).events


def test_another_pod_of_the_same_name_is_told_anew() -> None:
    async def story() -> Record:
        mirror = Mirror("maitred")
        tale = Story(mirror)
        task = asyncio.create_task(tale.notices.run())
        lone = msgspec.structs.replace(WAITING, group="default/a")
        for uid in ("first", "second"):
            pod = watched_pod("a", cpu=1)
            meta = msgspec.structs.replace(pod.metadata, uid=uid)
            mirror.put_pod(msgspec.structs.replace(pod, metadata=meta))
            tale.decided(lone)
            await told(tale.notices)
            mirror.pod_gone("default/a")
        task.cancel()
        return tale.record

    assert [subject for subject, _, _ in asyncio.run(story()).events] == ["Pod/a", "Pod/a"]


def test_a_late_member_is_told_what_the_others_were() -> None:
    mirror = group_of_two()
    tale = Story(mirror)
    tale.tell(WAITING)
    mirror.put_pod(watched_pod("c", group="g", cpu=1))
    assert [name for name, _ in tale.tell(WAITING).pods] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("mirror", "about"),
    [
        (group_of_two(), "PodGroup/g"),
        (marked_group(owner="Job/train"), "Job/train"),
        (marked_group(), "Pod/a"),
    ],
)
def test_people_are_told_where_they_look(mirror: Mirror, about: str) -> None:
    assert [subject for subject, _, _ in Story(mirror).tell(WAITING).events] == [about]


def test_a_marked_group_that_is_seated_is_done_with_when_people_are_told() -> None:
    tale = Story(marked_group())
    assert len(tale.tell(SEATED).events) == 1
    assert tale.verdicts.to_tell("default/g") is None


def test_pods_behind_a_gate_are_left_to_the_api_server() -> None:
    mirror = group_of_two()
    mirror.put_pod(watched_pod("b", group="g", cpu=1, gates=["later"]))
    assert [name for name, _ in Story(mirror).tell(WAITING).pods] == ["a"]


def test_of_a_gated_pod_the_api_server_tells_and_nobody_else() -> None:
    mirror = Mirror("maitred")
    mirror.put_pod(watched_pod("a", gates=["later"]))
    gated = msgspec.structs.replace(verdict("Waiting", ("Gated", "a has a gate")), group="default/a")
    record = Story(mirror).tell(gated)
    assert (record.pods, record.events) == ([], [])


@pytest.mark.parametrize(
    ("given", "reason", "pod_reason"),
    [
        (verdict("Waiting", ("Fragmentation", "")), "Unschedulable", "Unschedulable"),
        (verdict("Waiting", ("Members", "")), "Unschedulable", "Members"),
        (verdict("Impossible", ("Topology", "")), "Unschedulable", "Impossible"),
        (verdict("Impossible", ("Capacity", "")), "Unschedulable", "Unschedulable"),
        (verdict("Waiting", ("Devices", "")), "Unschedulable", "Unschedulable"),
        (verdict("Waiting", ("Volume", "")), "Unschedulable", "Volume"),
        (verdict("Invalid", ("Request", "")), "SchedulerError", "SchedulerError"),
    ],
)
def test_autoscalers_are_called_only_where_more_nodes_would_help(
    given: GroupVerdict, reason: str, pod_reason: str
) -> None:
    record = Story(group_of_two()).tell(given)
    assert record.groups[0].reason == reason
    assert record.pods[0][1].reason == pod_reason


def test_members_without_a_seat_are_told_why_also_when_the_others_have_theirs() -> None:
    surplus = verdict("Scheduled", ("Capacity", "needs 1, 0 free"), placed=2)
    record = Story(group_of_two()).tell(surplus)
    assert record.groups[0].status == "True"
    assert record.pods[0][1].message == "Waiting: Capacity: needs 1, 0 free"


def test_a_burst_is_let_through_whole_and_paid_for() -> None:
    pace = WritePace(10.0, 20.0, now=0.0)
    assert pace.ask(64, now=0.0) == 0.0
    wait = pace.ask(1, now=0.0)
    assert wait == pytest.approx(4.41)
    assert pace.ask(1, now=4.0) > 0.0
    assert pace.ask(1, now=wait) == 0.0
    assert pace.ask(20, now=1000.0) == 0.0
    assert pace.ask(0, now=1000.0) == 0.0, "nothing costs nothing"
    assert pace.ask(1, now=1000.0) > 0.0, "the burst is used up to the last"
