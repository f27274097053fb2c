"""Dumps of a cluster: its nodes, and its groups as jobs that arrive anew."""

import json
from typing import Any

import pytest

from maitred.model.manifest import InputError
from maitred.simulate.clock import HOUR, SECOND
from maitred.simulate.traces.kubectl import read_groups, read_nodes

Json = dict[str, Any]
GANG = "scheduling.k8s.io/v1beta1"


def dump(*objects: Json) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def pod(name: str, second: int, gpus: int = 8, ran: int | None = None, **spec: Any) -> Json:
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    if ran is not None:
        end = f"2026-01-01T{ran // 3600:02}:{ran // 60 % 60:02}:{ran % 60:02}Z"
        state = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": end}}
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "creationTimestamp": f"2026-01-01T00:00:{second:02}Z",
            "annotations": spec.pop("annotations", {}),
            "ownerReferences": spec.pop("owners", None),
        },
        "spec": {"nodeName": "n1", "containers": [container], **spec},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "state": state}]},
    }


def grouped(name: str) -> Json:
    return {"schedulingGroup": {"podGroupName": name}}


def pod_group(name: str, quorum: int) -> Json:
    policy = {"gang": {"minCount": quorum}}
    constraints = {"topology": [{"key": "example.com/rack"}]}
    spec = {"schedulingPolicy": policy, "schedulingConstraints": constraints, "priority": 7}
    return {
        "apiVersion": GANG,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team"},
        "spec": spec,
    }


def test_a_group_is_one_job_that_arrives_with_its_first_pod() -> None:
    members = [pod(f"w-{n}", second=5 + n, ran=HOUR // SECOND + n, **grouped("train")) for n in range(3)]
    reading = read_groups(dump(pod("early", 2, ran=60), pod_group("train", 2), *members), "dump.json")
    early, train = reading.jobs
    assert (early.name, early.arrival, early.run_time, early.quorum) == ("team-early", 0, 60 * SECOND, 1)
    assert (train.name, train.arrival, train.quorum) == ("team-train", 3 * SECOND, 2)
    assert (train.priority, train.within) == (7, "example.com/rack")
    assert train.run_time == HOUR + 2 * SECOND
    (crew,) = train.crews
    assert (crew.count, crew.devices) == (3, 8)
    assert (crew.spec.node_name, crew.spec.scheduling_group) == ("", None)
    assert reading.warnings == ()


def test_members_of_several_shapes_are_several_crews() -> None:
    marks = {"maitred.dev/group": "mixed", "maitred.dev/min-count": "3"}
    data = dump(
        pod("leader", 0, gpus=1, annotations=marks),
        pod("w-0", 0, annotations=marks),
        pod("w-1", 0, annotations=marks),
    )
    (job,) = read_groups(data, "dump.json").jobs
    assert [(crew.count, crew.devices) for crew in job.crews] == [(1, 1), (2, 8)]
    assert job.quorum == 3


def test_a_group_that_has_not_ended_has_no_run_time() -> None:
    data = dump(pod("a", 0, ran=10, **grouped("g")), pod("b", 0, **grouped("g")))
    assert read_groups(data, "dump.json").jobs[0].run_time is None


def test_priority_comes_from_the_class_where_the_pod_names_one() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    data = dump({**high, "value": 1000}, pod("a", 0, priorityClassName="high"))
    (job,) = read_groups(data, "dump.json").jobs
    assert (job.priority, job.crews[0].spec.priority_class_name) == (1000, "")


def test_what_a_run_has_not_is_left_out_with_a_word() -> None:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    reading = read_groups(
        dump(
            pod("agent", 0, owners=[{"kind": "DaemonSet", "name": "agent", "uid": "u"}]),
            pod("a", 0, volumes=[claim], schedulingGates=[{"name": "later"}]),
            pod("b", 0, affinity={"podAntiAffinity": anti}),
            pod_group("few", 4),
            pod("c", 0, **grouped("few")),
        ),
        "dump.json",
    )
    assert [job.name for job in reading.jobs] == ["team-a", "team-b", "team-few"]
    spec = reading.jobs[0].crews[0].spec
    assert (spec.volumes, spec.scheduling_gates) == ((), ())
    assert reading.jobs[2].quorum == 1
    assert sorted(reading.warnings) == [
        "dump.json: 1 groups have fewer pods than their quorum; it is taken to be all of them",
        "dump.json: 1 pods are gated; in a run they come without gates",
        "dump.json: 1 pods belong to their nodes and were left out",
        "dump.json: 1 pods have claims, of which a run knows nothing; they do without",
        "dump.json: 1 pods have rules about labels of other pods, and pods of a run have no labels",
    ]


def test_names_that_come_to_the_same_are_told_apart() -> None:
    first, second = pod("b-c", 0), pod("c", 0)
    first["metadata"]["namespace"], second["metadata"]["namespace"] = "a", "a-b"
    assert [job.name for job in read_groups(dump(first, second), "d").jobs] == ["a-b-c", "a-b-c-2"]


def test_nodes_are_taken_as_they_are() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}}}
    (found,) = read_nodes(dump({**node, "status": {"allocatable": {"cpu": "4"}}}, pod("a", 0)), "dump.json")
    assert (found.metadata.labels, found.status.allocatable) == ({"a": "b"}, {"cpu": "4"})


def test_what_is_wrong_is_named() -> None:
    undated, odd = pod("a", 0), pod("a", 0)
    del undated["metadata"]["creationTimestamp"]
    with pytest.raises(InputError, match=r"dump\.json: Pod team/a: metadata\.creationTimestamp: is required"):
        read_groups(dump(undated), "dump.json")
    odd["status"]["containerStatuses"][0]["state"] = {"terminated": {"finishedAt": "noon"}}
    with pytest.raises(InputError, match="finishedAt: 'noon' is not a time"):
        read_groups(dump(odd), "dump.json")
    with pytest.raises(InputError, match=r"bad\.json: "):
        read_nodes(b'{"items": [', "bad.json")
