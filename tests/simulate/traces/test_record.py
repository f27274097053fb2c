"""Records of a live scheduler: its nodes, and its groups as jobs that come as they came."""

import gzip
from typing import Any

import msgspec
import pytest

from maitred.model.manifest import InputError
from maitred.model.recording import Came, Gone, Opening, encode
from maitred.simulate.clock import SECOND
from maitred.simulate.traces.record import read_recorded_groups, read_recorded_nodes

Json = dict[str, Any]
NOON = 1_769_860_800.0


def record(*lines: Any) -> bytes:
    opening = Opening(1, "0", None, NOON)
    return gzip.compress(b"".join(encode(line) + b"\n" for line in (opening, *lines)))


def came(kind: str, body: Json, second: float) -> Came:
    return Came(kind, msgspec.Raw(msgspec.json.encode(body)), NOON + second)


def member(number: int, node: str = "", phase: str = "Pending") -> Json:
    return {
        "metadata": {
            "name": f"train-{number}",
            "namespace": "team",
            "uid": f"u{number}",
            "creationTimestamp": "2026-01-31T12:00:00Z",
            "labels": {"maitred.dev/group": "train", "maitred.dev/min-count": "2"},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}],
        },
        "status": {"phase": phase},
    }


def test_a_group_ran_from_when_it_was_seated_until_it_was_gone() -> None:
    lines = [
        *(came("Pod", member(n), 0) for n in range(2)),
        *(came("Pod", member(n, "n1"), 60) for n in range(2)),
        came("Pod", member(0, "n1", "Succeeded"), 360),
        Gone("Pod", "team/train-1", NOON + 400),
    ]
    (job,) = read_recorded_groups(record(*lines), "r").jobs
    assert (job.name, job.arrival, job.quorum) == ("team-train", 0, 2)
    assert job.run_time == 340 * SECOND
    assert job.crews[0].count == 2


def test_who_still_ran_when_the_record_ended_ran_nobody_knows_how_long() -> None:
    lines = [came("Pod", member(n, "n1"), n) for n in range(2)]
    (job,) = read_recorded_groups(record(*lines), "r").jobs
    assert job.run_time is None


def test_a_pod_that_is_made_anew_is_another_one() -> None:
    again = member(0, "n1")
    again["metadata"] |= {"uid": "other", "creationTimestamp": "2026-01-31T12:01:00Z"}
    lines = [came("Pod", member(0, "n1"), 0), Gone("Pod", "team/train-0", NOON + 10), came("Pod", again, 60)]
    (job,) = read_recorded_groups(record(*lines), "r").jobs
    assert job.crews[0].count == 2, "both are members of the group that they name"


def test_nodes_are_as_they_were_last_seen() -> None:
    nodes = [{"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": cpu}}} for cpu in ("4", "8")]
    (node,) = read_recorded_nodes(record(*(came("Node", node, 0) for node in nodes)), "r")
    assert node.status.allocatable == {"cpu": "8"}


def test_what_is_no_record_is_refused_with_the_line() -> None:
    with pytest.raises(InputError, match="r: line 2: is not a line of a record"):
        read_recorded_nodes(record() + gzip.compress(b"nonsense\n"), "r")
