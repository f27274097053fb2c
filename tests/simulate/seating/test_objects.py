"""What `decide` is told of a job: when its work is saved, when it began, and where it is leaving or going."""

from typing import Any

import pytest

from maitred.model.protection import Protection, protection_of
from maitred.simulate.clock import LONGEST, SECOND, moment
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.objects import pod, pod_group
from tests.simulate.runs import job


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        ({}, Protection()),
        ({"checkpoint": 90 * SECOND}, Protection(checkpoint_interval=90_000)),
        ({"checkpoint": 0}, Protection(checkpoint_interval=1)),
        ({"checkpoint": LONGEST}, Protection(checkpoint_interval=LONGEST // 1000)),
        ({"min_run_time": SECOND // 4}, Protection(min_runtime=250)),
        ({"non_preemptible": True}, Protection(non_preemptible=True)),
    ],
)
def test_what_a_job_says_about_being_evicted(said: dict[str, Any], understood: Protection) -> None:
    """Of a gang its group says it, of a lone pod the pod."""
    lone, gang = job("a", **said), job("a", workers=2, **said)
    assert protection_of(pod(SimulatedGroup(lone, 0), 0).metadata) == understood
    assert protection_of(pod_group(gang).metadata) == understood
    assert protection_of(pod(SimulatedGroup(gang, 0), 0).metadata) == Protection()


def test_the_deadline_of_a_pod_counts_from_its_start() -> None:
    """By then its start-up, which is part of its limit, is over."""
    group = SimulatedGroup(job("a", workers=2, start_up=90 * SECOND, limit=600 * SECOND), 0)
    group.seats, group.starts[0] = ["n1", ""], 90 * SECOND
    assert [pod(group, member).spec.active_deadline_seconds for member in (0, 1)] == [510, 600]
    assert pod(SimulatedGroup(job("b"), 0), 0).spec.active_deadline_seconds is None


def test_a_member_starts_when_it_begins_to_work_and_is_gone_when_its_grace_is_over() -> None:
    group = SimulatedGroup(job("a", workers=3), 0)
    group.seats, group.sitting = ["n1", "n2", ""], 2
    group.starts[0] = 70 * SECOND
    group.dismiss([1], 80 * SECOND)
    group.nominated = {2: "n3"}
    works, leaves, waits = (pod(group, member) for member in range(3))
    assert (works.status.start_time, works.metadata.deletion_timestamp) == (moment(70 * SECOND), None)
    assert (leaves.status.start_time, leaves.metadata.deletion_timestamp) == (None, moment(80 * SECOND))
    assert (waits.spec.node_name, waits.status.nominated_node_name) == ("", "n3")
