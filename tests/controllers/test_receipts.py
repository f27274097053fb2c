"""Who is told of an eviction, in Events, and how many of them there are at most."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from maitred.controllers.scheduling import receipts
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.evicting import RoomOrder, is_suspended
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.receipts import Receipts
from maitred.kube.bodies import Regarding
from maitred.kube.resources import Resource
from maitred.kube.wire import WatchedOwner
from maitred.model.plan import Eviction
from maitred.model.suspending import OwnerName, TopOwner
from tests.controllers.victims import eviction
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import gang

GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
TRAIN = WatchedOwner("Job", "train", "uid-train", True, "batch/v1")


class Letters:
    """Keeps the Events that are sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []

    async def record(self, regarding: Regarding, reason: str, note: str, action: str) -> bool:
        assert action == "Preempting"
        self.sent.append((f"{regarding.kind}/{regarding.name}", reason, note))
        return True


def told(*evictions: Eviction, owner: WatchedOwner | None = TRAIN) -> list[tuple[str, str, str]]:
    mirror, letters, nothing = Mirror("maitred"), Letters(), None
    mirror.put_pod(watched_pod("a", annotations=gang("g", 1)))
    mirror.put_group(watched_group("v", 2))
    writer: Any = nothing
    events: Any = letters
    teller = Teller(mirror, writer, events, GROUPS, "PodGroupInitiallyScheduled", Metrics())
    handed = Receipts(events, teller)
    order = RoomOrder("default/g", {}, (), evictions)
    order.departed = list(evictions)
    order.owners = {} if owner is None else {each.pod: owner for each in evictions}
    top = TopOwner(OwnerName("JobSet", "default/set"), "uid-set", True)
    order.tops = {each.pod: top for each in evictions if is_suspended(each)}

    async def run() -> None:
        handed.hand_out(order)
        running = asyncio.create_task(handed.run())
        await asyncio.sleep(0)  # nothing in it waits, so one turn is enough for all of them
        running.cancel()

    asyncio.run(run())
    return letters.sent


def test_pods_their_owner_and_who_comes_instead_are_told() -> None:
    sent = told(eviction("x"), eviction("y"))
    assert [(to, reason) for to, reason, _ in sent] == [
        ("Pod/a", "Preempting"),
        ("Job/train", "Preempted"),
        ("Pod/x", "Preempted"),
        ("Pod/y", "Preempted"),
    ]
    assert sent[0][2].startswith("Preempting: waits for 2 pods to leave: default/x, default/y")
    assert "2 pods of" in sent[1][2]


def test_where_there_is_a_pod_group_it_is_told_instead_of_the_owner() -> None:
    sent = told(eviction("x", group="default/v"), eviction("y", group="default/v"))
    assert [to for to, _, _ in sent] == ["Pod/a", "PodGroup/v", "Pod/x", "Pod/y"]


def test_an_owner_that_was_suspended_is_told_in_any_case() -> None:
    sent = told(eviction("x", group="default/v", job="train"))
    assert [to for to, _, _ in sent] == ["Pod/a", "PodGroup/v", "JobSet/set", "Pod/x"]


def test_a_pod_of_nobody_is_told_itself() -> None:
    assert [to for to, _, _ in told(eviction("x"), owner=None)] == ["Pod/a", "Pod/x"]


def test_nobody_is_told_where_nobody_went() -> None:
    assert told() == []


def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "MOST_PODS", 3)
    sent = told(*(eviction(f"x{number}") for number in range(20)))
    assert Counter(to.partition("/")[0] for to, _, _ in sent) == {"Pod": 4, "Job": 1}
    assert "20 pods of" in sent[1][2]
