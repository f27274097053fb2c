"""What the log says of a Plan: of a shadow's, what it would do."""

import logging

import msgspec
import pytest

from maitred.cluster.state import ClusterState
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.report import Report
from maitred.kube.wire import WatchedOwner
from maitred.model.job import Job
from maitred.model.plan import Blocker, GroupVerdict, Plan
from maitred.model.policy import Workloads
from maitred.model.suspending import BY_TITLE
from tests.controllers.victims import eviction, preempting, seat
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import gang

SHORT = Blocker("Capacity", "needs 4 cpu, 2 free")


def said(plan: Plan, shadow: bool, caplog: pytest.LogCaptureFixture) -> list[str]:
    mirror = Mirror("maitred")
    mirror.put_pod(watched_pod("a", annotations=gang("g", 1)))
    groups = tuple(msgspec.structs.replace(verdict, blockers=(SHORT,)) for verdict in plan.groups)
    with caplog.at_level(logging.INFO):
        verdicts = LastVerdicts(mirror.waiting_by_group)
        report = Report(mirror, verdicts, shadow)
        for _ in range(2):
            verdicts.note(groups)
            report.decided(msgspec.structs.replace(plan, groups=groups), ClusterState().snapshot(), 0.0)
    assert (report.waiting("Capacity"), report.waiting("Topology")) == (1, 0)
    return [record.message for record in caplog.records]


def test_a_shadow_says_whom_it_would_ask_to_leave(caplog: pytest.LogCaptureFixture) -> None:
    plan = preempting(eviction("x", hours=2.0), eviction("y"), seats=(seat("a", "n1"),))
    assert said(plan, True, caplog) == [
        "group default/g: would ask 2 pods to leave: default/x, default/y; 2.0 device-hours of work are lost"
    ]


def test_a_scheduler_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    plan = preempting(eviction("x"), seats=(seat("a", "n1"),))
    assert said(plan, False, caplog) == ["group default/g: Preempting: Capacity: needs 4 cpu, 2 free"]


def half_run(running: int, scheduling: object = None, group: str | None = "train-1") -> Mirror:
    """A Job of six indexes at once, some of whose pods run; Kubernetes has made a basic group of it, and the
    policy takes Jobs as they are written."""
    mirror = Mirror(None)
    mirror.follow(Workloads("as-written"))
    mirror.watch_gangs()
    spec = {"parallelism": 6, "completions": 6, "completionMode": "Indexed", "scheduling": scheduling}
    about = {"name": "train", "namespace": "default", "uid": "job-train"}
    mirror.put_owner(msgspec.convert({"metadata": about, "spec": spec}, Job), BY_TITLE["Job"])
    owner = WatchedOwner("Job", "train", "job-train", controller=True, api_version="batch/v1")
    made = watched_group("train-1")
    metadata = msgspec.structs.replace(made.metadata, owner_references=(owner,))
    mirror.put_group(msgspec.structs.replace(made, metadata=metadata))
    for number in range(6):
        node = "n1" if number < running else None
        mirror.put_pod(watched_pod(f"train-{number}", gpu=8, node=node, group=group, owner="Job/train"))
    return mirror


def told(mirror: Mirror, verdict: GroupVerdict, caplog: pytest.LogCaptureFixture) -> str:
    with caplog.at_level(logging.INFO):
        Report(mirror, LastVerdicts(mirror.waiting_by_group), True).decided(
            Plan(groups=(verdict,)), ClusterState().snapshot(), 0.0
        )
    (record,) = caplog.records
    return record.getMessage()


BASIC = GroupVerdict("default/train-1", "Scheduled", 6, 1, 5, {}, (SHORT,), ())
"""What a decision says of a group of which any one pod is a quorum."""


def test_a_shadow_calls_no_gang_seated_that_holds_its_places_in_vain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert told(half_run(5), BASIC, caplog) == (
        "group default/train-1: Job default/train runs in part: 5 of the 6 members that it needs are "
        "placed, and hold 40 nvidia.com/gpu without working; Waiting: Capacity: needs 4 cpu, 2 free"
    )


def test_so_does_it_where_its_pods_name_no_group(caplog: pytest.LogCaptureFixture) -> None:
    lone = GroupVerdict("default/train-5", "Waiting", 1, 1, 0, {}, (SHORT,), ())
    assert "Job default/train runs in part: 5 of the 6" in told(half_run(5, group=None), lone, caplog)


def test_what_the_job_says_itself_stands(caplog: pytest.LogCaptureFixture) -> None:
    said = half_run(5, {"schedulingPolicy": {"basic": {}}})
    assert told(said, BASIC, caplog) == "group default/train-1: Scheduled: 5 of 6 members placed"


def test_a_gang_that_this_cycle_would_complete_is_not_in_part(caplog: pytest.LogCaptureFixture) -> None:
    bind = seat("train-5", "n1", group="default/train-1")
    mirror = half_run(5)
    with caplog.at_level(logging.INFO):
        Report(mirror, LastVerdicts(mirror.waiting_by_group), True).decided(
            Plan(groups=(BASIC,), binds=(bind,)), ClusterState().snapshot(), 0.0
        )
    (record,) = caplog.records
    assert record.getMessage() == "group default/train-1: would place 5 of 6 members on n1"
