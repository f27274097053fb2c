"""Dumps of a cluster: its nodes, and its groups as jobs that arrive anew."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from maitred.model.manifest import InputError
from maitred.simulate.clock import HOUR, SECOND
from maitred.simulate.traces.kubectl import ALL_ALONE, read_groups, read_nodes
from maitred.simulate.traces.traced import Traced

Json = dict[str, Any]
GANG = "scheduling.k8s.io/v1beta1"


def dump(*objects: Json) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def at(second: int) -> str:
    return f"{datetime(2026, 1, 1) + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}"


def pod(name: str, second: int, gpus: int = 8, ran: int | None = None, waited: int = 0, **spec: Any) -> Json:
    """Created at a second, and started so much later."""
    start = second + waited
    state = {"running": {"startedAt": at(start)}}
    if ran is not None:
        state = {"terminated": {"startedAt": at(start), "finishedAt": at(start + ran)}}
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "creationTimestamp": at(second),
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
        "dump.json: 1 groups have fewer pods than their quorum; the quorum is set to all of their pods",
        "dump.json: 1 pods belong to their nodes (DaemonSet or static pods) and were left out",
        "dump.json: 1 pods have resource claims; the simulation ignores the claims",
        "dump.json: 1 pods have rules about labels of other pods; the simulation ignores the rules",
        "dump.json: 1 pods have scheduling gates; the simulation ignores the gates",
        f"dump.json: {ALL_ALONE}",
    ]


def test_names_that_come_to_the_same_are_told_apart() -> None:
    first, second = pod("b-c", 0), pod("c", 0)
    first["metadata"]["namespace"], second["metadata"]["namespace"] = "a", "a-b"
    third = pod("b-c-2", 0)
    third["metadata"]["namespace"] = "a"
    names = [job.name for job in read_groups(dump(first, second, third), "d").jobs]
    assert names == ["a-b-c", "a-b-c-2", "a-b-c-2-2"]


def test_a_pod_never_ran_before_it_was_there() -> None:
    """What the kubelet writes of a container that could not be started."""
    failed = pod("a", 5, ran=10)
    failed["status"]["containerStatuses"][0]["state"]["terminated"]["startedAt"] = "1970-01-01T00:00:00Z"
    assert read_groups(dump(failed), "dump.json").jobs[0].run_time == 10 * SECOND


# ---- what nobody has said of groups


def test_a_group_of_which_nobody_says_how_many_it_needs_is_told_of() -> None:
    marks = {"maitred.dev/group": "quiet"}
    data = dump(
        *(pod(f"w-{n}", 0, annotations=marks) for n in range(3)),
        *(pod(f"v-{n}", 0, **grouped("lost")) for n in range(2)),
    )
    what = (
        "2 groups have a quorum of 1: no pod has maitred.dev/min-count and there is no PodGroup; set "
        "quorum if it is more"
    )
    reading = read_groups(data, "dump.json")
    assert [job.quorum for job in reading.jobs] == [1, 1]
    assert reading.warnings == (f"dump.json: {what}",)


def test_a_quorum_of_the_scenario_is_that_of_every_job() -> None:
    members = [pod(f"w-{n}", 0, **grouped("train")) for n in range(4)]
    data = dump(pod_group("train", 4), *members, pod("alone", 0))
    reading = read_groups(data, "dump.json", quorum=3)
    assert [job.quorum for job in reading.jobs] == [3, 1]
    assert reading.warnings == ()


def test_a_group_that_says_it_needs_no_more_than_one_is_believed() -> None:
    basic = pod_group("loose", 1)
    basic["spec"]["schedulingPolicy"] = {"basic": {}}
    reading = read_groups(dump(basic, *(pod(f"w-{n}", 0, **grouped("loose")) for n in range(2))), "dump.json")
    assert ([job.quorum for job in reading.jobs], reading.warnings) == ([1], ())


# ---- gangs of owners


def owned(name: str, kind: str = "Job", uid: str = "u1", index: int | None = None) -> Json:
    owner = {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
    marks = {} if index is None else {"batch.kubernetes.io/job-completion-index": str(index)}
    return {"owners": [owner], "annotations": marks}


def sizes(*pods: Json) -> list[tuple[str, int, int]]:
    """Names of jobs, how many pods each has, and their quorum."""
    jobs = read_groups(dump(*pods), "dump.json", "owners").jobs
    return [(job.name, members(job), job.quorum) for job in jobs]


def members(job: Traced) -> int:
    return sum(crew.count for crew in job.crews)


def test_pods_of_one_owner_are_a_gang_only_where_that_is_asked_for() -> None:
    data = dump(*(pod(f"w-{n}", 3, **owned("train")) for n in range(4)))
    reading = read_groups(data, "dump.json")
    assert [members(job) for job in reading.jobs] == [1, 1, 1, 1]
    assert reading.warnings == (f"dump.json: {ALL_ALONE}",)
    reading = read_groups(data, "dump.json", "owners")
    assert [(job.name, members(job), job.quorum) for job in reading.jobs] == [("team-train", 4, 4)]
    assert reading.warnings == ()
    assert read_groups(data, "dump.json", "owners", quorum=3).jobs[0].quorum == 3


@pytest.mark.parametrize("kind", ["MPIJob", "PyTorchJob", "RayCluster"])
def test_any_owner_will_do(kind: str) -> None:
    pods = [pod("master", 0, gpus=1, **owned("fit", kind)), pod("worker", 0, **owned("fit", kind))]
    assert sizes(*pods) == [("team-fit", 2, 2)]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_pods_that_are_of_use_alone_are_no_gang(kind: str) -> None:
    assert sizes(*(pod(f"w-{n}", 0, **owned("web", kind)) for n in range(2))) == [
        ("team-w-0", 1, 1),
        ("team-w-1", 1, 1),
    ]


def test_an_owner_that_controls_nothing_makes_no_gang() -> None:
    pods = [pod(f"w-{n}", 0, **owned("train")) for n in range(2)]
    for one in pods:
        one["metadata"]["ownerReferences"][0]["controller"] = False
    assert [count for _, count, _ in sizes(*pods)] == [1, 1]


def test_pods_that_name_a_group_are_of_that_group() -> None:
    pods = [pod(f"w-{n}", 0, **owned("train"), **grouped("g")) for n in range(2)]
    assert sizes(pod_group("g", 2), *pods, pod("w-2", 0, **owned("train"))) == [
        ("team-g", 2, 2),
        ("team-train", 1, 1),
    ]


def test_an_owner_made_anew_is_another() -> None:
    pods = [pod(f"w-{n}", n, ran=60, **owned("nightly", uid=f"u{n}")) for n in range(2)]
    assert sizes(*pods) == [("team-nightly", 1, 1), ("team-nightly-2", 1, 1)]


def test_a_pod_in_the_place_of_one_that_failed_is_no_further_member() -> None:
    first = [pod(f"a-{n}", 0, ran=600 if n else 60, **owned("train")) for n in range(4)]
    assert sizes(*first, pod("b-0", 70, ran=530, **owned("train"))) == [("team-train", 4, 4)]


def test_a_pod_of_which_nobody_knows_when_it_failed_made_way_for_another() -> None:
    evicted = pod("a-0", 0, **owned("train"))
    evicted["status"] = {"phase": "Failed"}
    rest = [pod(f"a-{n}", 0, **owned("train")) for n in (1, 2)]
    assert sizes(evicted, *rest, pod("b-0", 70, **owned("train"))) == [("team-train", 3, 3)]
    assert sizes(evicted) == [("team-train", 1, 1)]


def test_two_pods_of_one_index_are_one_member() -> None:
    """The first is still on its way out while the second is there."""
    pods = [pod("a-0", 0, **owned("train", index=0)), pod("b-0", 70, **owned("train", index=0))]
    assert sizes(*pods, pod("a-1", 0, **owned("train", index=1))) == [("team-train", 2, 2)]


def test_a_job_with_few_at_a_time_is_a_gang_of_so_many_that_runs_as_long_as_all_of_them() -> None:
    pods = [pod(f"w-{n}", 100 * (n // 2), ran=100, **owned("sweep", index=n)) for n in range(6)]
    (job,) = read_groups(dump(*pods), "dump.json", "owners").jobs
    assert (members(job), job.quorum, job.run_time) == (2, 2, 300 * SECOND)


def test_a_gang_runs_from_when_all_of_it_had_started() -> None:
    """Pod by pod the first had waited for the last; that is what a run is to find out about."""
    pods = [pod("w-0", 5, ran=7500, **owned("train")), pod("w-1", 5, waited=7200, ran=300, **owned("train"))]
    (job,) = read_groups(dump(pod("early", 0), *pods), "dump.json", "owners").jobs[1:]
    assert (job.arrival, job.run_time) == (5 * SECOND, 300 * SECOND)


def test_a_gang_of_which_some_have_not_ended_has_no_run_time() -> None:
    pods = [pod("w-0", 0, ran=60, **owned("train")), pod("w-1", 0, **owned("train"))]
    assert read_groups(dump(*pods), "dump.json", "owners").jobs[0].run_time is None


# ---- nodes, and what is refused


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


def test_the_queue_of_a_job_is_that_of_its_pods_or_of_their_namespace() -> None:
    named = pod("a", 1, ran=5, annotations={"maitred.dev/user": "ann"})
    named["metadata"]["labels"] = {"maitred.dev/queue": "vision"}
    plain = pod("b", 2, ran=5)
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team", "labels": {"maitred.dev/queue": "language"}},
    }
    told = read_groups(dump(named, plain, namespace), "dump.json").jobs
    assert [(one.queue, one.user) for one in told] == [("vision", "ann"), ("language", "")]
    assert [one.queue for one in read_groups(dump(named, plain), "dump.json").jobs] == ["vision", ""]
