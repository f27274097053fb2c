"""What the log says of a Plan: of a shadow's, what it would do."""

import logging

import msgspec
import pytest

from maitred.cluster.state import ClusterState
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.report import Report
from maitred.model.plan import Blocker, Plan
from tests.controllers.victims import eviction, preempting, seat
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang

SHORT = Blocker("Capacity", "needs 4 cpu, 2 free")


def said(plan: Plan, shadow: bool, caplog: pytest.LogCaptureFixture) -> list[str]:
    mirror = Mirror("maitred")
    mirror.put_pod(watched_pod("a", annotations=gang("g", 1)))
    groups = tuple(msgspec.structs.replace(verdict, blockers=(SHORT,)) for verdict in plan.groups)
    with caplog.at_level(logging.INFO):
        report = Report(mirror, shadow)
        for _ in range(2):
            report.decided(msgspec.structs.replace(plan, groups=groups), ClusterState().snapshot(), 0.0)
    assert report.waiting("Capacity") == 1
    return [record.message for record in caplog.records]


def test_a_shadow_says_whom_it_would_ask_to_leave(caplog: pytest.LogCaptureFixture) -> None:
    plan = preempting(eviction("x", hours=2.0), eviction("y"), seats=(seat("a", "n1"),))
    assert said(plan, True, caplog) == [
        "group default/g: would ask 2 pods to leave: default/x, default/y; 2.0 device-hours of work are lost"
    ]


def test_a_scheduler_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    plan = preempting(eviction("x"), seats=(seat("a", "n1"),))
    assert said(plan, False, caplog) == ["group default/g: Preempting: Capacity: needs 4 cpu, 2 free"]
