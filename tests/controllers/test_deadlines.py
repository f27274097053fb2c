"""Who is told that a deadline cannot be kept any more: once for each deadline. While the group waits it is
counted."""

import asyncio
from collections.abc import Sequence
from typing import Any

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.deadlines import DeadlineNotices
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.bodies import Regarding
from maitred.kube.events import event_name
from maitred.model.plan import DueGroup, GroupVerdict, Plan
from tests.controllers.watched import watched_pod
from tests.support import snapshot_of

EMPTY: Snapshot = snapshot_of([])
SIX, SEVEN = "2026-01-31T18:00:00Z", "2026-01-31T19:00:00Z"


class Letters:
    """Keeps the Events that are sent, and by what they are told only once."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []

    async def record(
        self, regarding: Regarding, reason: str, note: str, action: str, type: str, once: str
    ) -> bool:
        self.sent.append((f"{regarding.kind}/{regarding.name}", reason, once))
        return True


def plan(*due: tuple[str, str, bool], decided: Sequence[str] = ("default/a",)) -> Plan:
    groups = tuple(GroupVerdict(key, "Waiting", 1, 1, 0) for key in decided)
    return Plan(groups=groups, due=tuple(DueGroup(k, at, "1h", "x", at, risk) for k, at, risk in due))


def told(
    *plans: Plan, shadow: bool = False, waits: bool = True
) -> tuple[list[tuple[str, str, str]], list[int]]:
    mirror, letters, counts = Mirror("maitred"), Letters(), list[int]()
    if waits:
        mirror.put_pod(watched_pod("a"))
    nothing: Any = None
    events: Any = letters
    teller = Teller(mirror, nothing, events, None, "PodGroupInitiallyScheduled", Metrics())
    notices = DeadlineNotices(mirror, None if shadow else teller, events)

    async def run() -> None:
        for one in plans:
            notices.decided(one, EMPTY, 0.0)
            counts.append(notices.at_risk())
        running = asyncio.create_task(notices.run())
        for _ in range(5):
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(run())
    return letters.sent, counts


def test_it_is_told_once_for_each_deadline() -> None:
    late, later = ("default/a", SIX, True), ("default/a", SEVEN, True)
    sent, counts = told(plan(late), plan(late), plan(later), plan(later))
    assert [(who, reason) for who, reason, _ in sent] == [("Pod/a", "DeadlineAtRisk")] * 2
    assert [once.split()[-1] for _, _, once in sent] == [SIX, SEVEN]
    assert counts == [1, 1, 1, 1]


def test_it_counts_until_it_is_at_risk_no_longer() -> None:
    late, kept = ("default/a", SIX, True), ("default/a", SEVEN, False)
    assert told(plan(late), plan(kept))[1] == [1, 0]
    assert told(plan(late), plan())[1] == [1, 0]
    assert told(plan(late), plan(decided=()))[1] == [1, 1], "a Plan that does not speak of it changes nothing"


def test_who_does_not_wait_is_not_counted() -> None:
    assert told(plan(("default/a", SIX, True)), waits=False) == ([], [0])


def test_a_shadow_only_counts() -> None:
    assert told(plan(("default/a", SIX, True)), shadow=True) == ([], [1])


def test_what_is_told_once_has_one_name() -> None:
    assert event_name("a", "x") == event_name("a", "x") != event_name("a", "y")
    assert event_name("a") != event_name("a")
