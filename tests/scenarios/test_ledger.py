"""The ledger of a scheduler at work: who came, who was evicted and came back, and where the devices were."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maitred.controllers.bookkeeping import Keeping
from maitred.controllers.policy import PolicyFile
from maitred.controllers.scheduling.term import Witnesses
from maitred.explain.billing.bill import queue_bills
from maitred.ledger.meter import DAY
from maitred.ledger.store import Ledger, milliseconds
from tests.ledger.made import adds_up, used
from tests.scenarios.objects import Group, Job, members, nodes
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Gone, Running

GANG = Group("a", quorum=2, rank="high")
PREEMPTOR = members(GANG, 2, spec=ranked(HIGH))
CREW = Group("low", quorum=2, rank="low")
JOB = Job("low", 2, CREW, spec=ranked(LOW))
LONG_ENOUGH = 1.5
"""Seconds between which somebody looks."""
POLICY = """
devices: {resources: [cpu]}
queues:
- name: default
  limits: [{resource: cpu, guarantee: 1}]
  budget: {deviceHours: 1000}
  runtime: {default: 1h}
"""
"""Simulated nodes have no other devices. Each group is beyond the guarantee, with all that it has."""


def test_a_preemption_is_in_the_ledger_and_all_devices_are(server: Server, tmp_path: Path) -> None:
    began = datetime.now(UTC)
    ledger = Ledger.open(str(tmp_path / "ledger.db"), began)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)

    async def act(stage: Stage) -> None:
        witnesses = Witnesses(ledger=Keeping(ledger, 90))
        stage.start(source=lambda _: PolicyFile(str(policy)), witnesses=witnesses)
        await stage.play(CLASSES, Create(CREW, JOB), Bound(JOB), Running(JOB))
        await asyncio.sleep(LONG_ENOUGH)
        await stage.play(Create(GANG, PREEMPTOR), Bound(PREEMPTOR), Running(PREEMPTOR))
        await asyncio.sleep(LONG_ENOUGH)
        await stage.play(Delete(PREEMPTOR), Gone(PREEMPTOR), Bound(JOB))
        await asyncio.sleep(LONG_ENOUGH)
        await stage.stop()

    play(server, Scenario("a ledger", nodes(1, cpu=2), ()), act)
    now = datetime.now(UTC)
    history = ledger.history(now)
    assert [group.group.partition("/")[2] for group in history.groups] == ["low", "a"]
    low, gang = history.groups
    assert all(group.started is not None and group.arrived <= group.started for group in (low, gang))
    assert low.ended is None, "it was evicted, and came back"
    assert len(history.evictions) == 2
    assert history.since == milliseconds(began) / 1000
    first, days = milliseconds(began) // DAY, milliseconds(now) // DAY - milliseconds(began) // DAY + 1
    assert adds_up(ledger, first, days)
    buckets = {bucket for _, bucket in used(ledger, first, days)}
    assert {"productive", "lostToEviction"} <= buckets
    usage = ledger.usage(first, first + days)
    assert 3_000 <= usage.observed <= milliseconds(now) - milliseconds(began)
    (left,) = usage.evictions
    assert (left.group, left.evictor, left.pods) == (low.group, gang.group, 2)
    assert (left.queue, left.evictor_queue, left.cause) == ("default", "default", "Preemption")
    in_vain = sum(one.device_milliseconds for one in usage.uses if one.bucket == "lostToEviction")
    assert left.lost_device_milliseconds == in_vain
    (queue,) = queue_bills(usage)
    held = sum(one.device_milliseconds for one in usage.uses if one.namespace) / 3_600_000
    said = (queue.entitled_device_hours, queue.borrowed_device_hours, queue.reserved_device_hours)
    assert (queue.queue, queue.borrowed_device_hours > 0) == ("default", True)
    assert sum(said) == pytest.approx(held, abs=1e-3)
