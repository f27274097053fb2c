"""What the ledger is told of cycles, evictions and of what happens between them."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from maitred.cluster.news import Ends
from maitred.controllers import bookkeeping
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.bookkeeping import Bookkeeper, Keeping
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.mirror import Mirror
from maitred.decide import Scope, decide
from maitred.ledger.connections import LedgerError
from maitred.ledger.records import Arrival, Event, Evicted, VerdictChange
from maitred.ledger.store import Ledger
from maitred.ledger.writer_thread import LedgerWriter
from maitred.model.history import NO_HISTORY
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from tests.cluster.seen import put
from tests.controllers.victims import eviction
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import GPU, namespace, node

NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(str(tmp_path / "ledger.db"), NOW)


class Desk:
    """A bookkeeper whose clerk has not begun."""

    def __init__(self, ledger: Ledger) -> None:
        self.ends = Ends()
        self.mirror = Mirror("maitred", ends=self.ends)
        self.clerk = LedgerWriter(ledger, "one", 90, lambda: NOW)
        self.verdicts = LastVerdicts(self.mirror.waiting_by_group)
        self.bookkeeper = Bookkeeper(self.mirror, self.verdicts, self.ends, Policy, self.clerk)
        put(self.mirror.state, node("n1", gpu=8), namespace("default", {"site": "x", "team": "none"}))

    def pods(self, *numbers: int, **fields: Any) -> None:
        self.mirror.put_group(watched_group("train", 2, "rack", priority=7))
        for number in numbers:
            more = {"gpu": 4, "created": 60, "group": "train", "labels": {"team": "one"}, **fields}
            self.mirror.put_pod(watched_pod(f"train-{number}", cpu=1, priority=7, **more))

    def cycle(self) -> Plan:
        snapshot = self.mirror.state.snapshot()
        plan = decide(snapshot, Policy(), NOW, Scope("maitred"))
        self.verdicts.note(plan.groups)
        self.bookkeeper.decided(plan, snapshot, time.monotonic())
        return plan

    def told(self) -> list[Event]:
        events, self.clerk._events = self.clerk._events, []
        return events


@pytest.fixture
def desk(ledger: Ledger) -> Desk:
    return Desk(ledger)


def test_a_group_arrives_once_with_all_that_is_to_be_remembered(desk: Desk) -> None:
    desk.pods(0, 1)
    desk.cycle()
    arrival, verdict = desk.told()
    assert isinstance(arrival, Arrival)
    assert isinstance(verdict, VerdictChange)
    assert (arrival.group, arrival.members, arrival.quorum, arrival.priority) == ("default/train", 2, 2, 7)
    assert arrival.arrived == 1_767_225_660_000
    assert dict(arrival.requests)[GPU] == 4
    assert arrival.required == "rack"
    assert {key: arrival.labels[key] for key in ("team", "site")} == {"team": "one", "site": "x"}
    assert (verdict.verdict, verdict.category) == ("Impossible", "Topology")
    desk.cycle()
    assert desk.told() == []


def test_a_verdict_that_changes_is_told(desk: Desk) -> None:
    desk.pods(0)
    desk.cycle()
    desk.pods(1)
    desk.cycle()
    heads = [(event.verdict, event.category) for event in desk.told() if isinstance(event, VerdictChange)]
    assert heads == [("Waiting", "Members"), ("Impossible", "Topology")]


def test_one_that_comes_back_arrives_again(desk: Desk) -> None:
    desk.pods(0)
    desk.cycle()
    desk.mirror.pod_gone("default/train-0")
    desk.cycle()
    desk.pods(0)
    desk.told()
    desk.cycle()
    assert [type(event) for event in desk.told()] == [Arrival, VerdictChange]


def test_receipts_are_told(desk: Desk) -> None:
    desk.bookkeeper.evicted([eviction("x"), eviction("y")])
    assert [event.eviction.pod for event in desk.told() if isinstance(event, Evicted)] == [
        "default/x",
        "default/y",
    ]


def test_the_cluster_is_shown_when_it_has_changed_and_only_then(desk: Desk) -> None:
    desk.pods(0, node="n1")
    desk.bookkeeper._look()
    first = desk.clerk._sight
    assert first is not None
    desk.bookkeeper._look()
    assert desk.clerk._sight is first
    assert desk.clerk._heard >= first.at
    desk.pods(0, node="n1", phase="Succeeded")
    desk.bookkeeper._look()
    assert desk.clerk._sight is not first
    assert [end.how for end in desk.clerk._sight.ends] == ["Succeeded"]
    assert desk.ends.take() == ()


def test_who_would_wait_anyway_is_told_apart(desk: Desk) -> None:
    desk.pods(0)
    desk.mirror.put_pod(watched_pod("big", gpu=9))
    desk.mirror.put_pod(watched_pod("next", gpu=8, priority=1))
    desk.cycle()
    desk.bookkeeper._look()
    assert desk.clerk._sight is not None
    assert desk.clerk._sight.hopeless == {"default/train", "default/big"}


def test_it_keeps_books_for_as_long_as_it_runs(
    ledger: Ledger, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bookkeeping, "SECONDS_BETWEEN_SIGHTS", 0.01)

    async def run() -> None:
        keeping = asyncio.create_task(desk.bookkeeper.run())
        desk.pods(0, 1)
        desk.cycle()
        await asyncio.sleep(0.2)
        keeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping

    asyncio.run(run())
    assert [group.group for group in ledger.history(datetime.now(UTC)).groups] == ["default/train"]
    assert desk.bookkeeper.dropped == 0


def test_answers_do_without_a_ledger_that_cannot_be_read(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise LedgerError("ledger x: away")

    keeping = Keeping(ledger, 90)
    assert keeping.history(NOW, None).since == NOW.timestamp()
    monkeypatch.setattr(Ledger, "history", fails)
    monkeypatch.setattr(Ledger, "usage", fails)
    assert keeping.history(NOW, None) is NO_HISTORY
    assert caplog.messages == ["the ledger cannot be read, so answers have no history: ledger x: away"]
    with pytest.raises(RefusedError, match="ledger x: away"):
        keeping.usage(0, 1)
