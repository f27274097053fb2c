"""Objects of operators, as their APIs write them: what is read, and what tenants make up and is refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.cluster.tables import Tables
from maitred.kube.lists import read
from maitred.kube.resources import resource_of
from maitred.model.kinds import KINDS, OPERATED, Kind, row_of
from maitred.model.manifest import Reader
from maitred.model.meta import ObjectMeta
from maitred.model.operators.jobset import JobSet
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.operators.parts import MOST_PARTS
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.operators.volcano import VolcanoJob
from maitred.model.recording import RECORDED, recorded
from maitred.model.training import MPIJob

Json = dict[str, Any]
POD = {
    "metadata": {"creationTimestamp": None, "labels": {"app": "a"}, "annotations": {"vault/token": "secret"}},
    "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "KEY", "value": "secret"}]}]},
}
JOB = {"spec": {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": POD}}
SPECS: dict[str, Json] = {
    "JobSet": {
        "replicatedJobs": [
            {
                "name": "driver",
                "groupName": "default",
                "replicas": 1,
                "template": {"spec": {"template": POD}},
            },
            {
                "name": "workers",
                "replicas": 2,
                "template": JOB,
                "dependsOn": [{"name": "driver", "status": "Ready"}],
            },
        ],
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "suspend": True,
        "network": {"enableDNSHostnames": True},
    },
    "LeaderWorkerSet": {
        "replicas": 2,
        "startupPolicy": "LeaderReady",
        "leaderWorkerTemplate": {"size": 4, "workerTemplate": POD, "leaderTemplate": POD},
    },
    "TrainJob": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}, "suspend": False},
    "PyTorchJob": {
        "runPolicy": {"suspend": False, "schedulingPolicy": {"minAvailable": 3}},
        "elasticPolicy": {"minReplicas": 1, "maxReplicas": 3},
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": POD}, "Worker": {"replicas": 3}},
    },
    "TFJob": {"tfReplicaSpecs": {"PS": {"replicas": 1, "template": POD}, "Worker": {"replicas": 2}}},
    "JAXJob": {"jaxReplicaSpecs": {"Worker": {"replicas": 3, "template": POD}}},
    "XGBoostJob": {"xgbReplicaSpecs": {"Master": {"template": POD}, "Worker": {"replicas": 2}}},
    "PaddleJob": {"paddleReplicaSpecs": {"Master": {"template": POD}, "Worker": {"replicas": 2}}},
    "MPIJob": {
        "launcherCreationPolicy": "WaitForWorkersReady",
        "mpiReplicaSpecs": {"Launcher": {"template": POD}, "Worker": {"replicas": 4, "template": POD}},
    },
    "RayCluster": {
        "enableInTreeAutoscaling": True,
        "headGroupSpec": {"rayStartParams": {}, "template": POD},
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": 3,
                "minReplicas": 1,
                "maxReplicas": 5,
                "numOfHosts": 2,
                "template": POD,
            },
            {"groupName": "off", "replicas": 7, "minReplicas": 7, "suspend": True, "template": POD},
        ],
    },
    "RayJob": {"entrypoint": "python train.py --token secret", "shutdownAfterJobFinishes": True},
    "KueueWorkload": {"active": True, "queueName": "team", "podSets": [{"name": "main", "count": 4}]},
    "VolcanoJob": {"minAvailable": 3, "tasks": [{"name": "worker", "replicas": 3, "template": POD}]},
}


def body_of(row: Kind, spec: Json | None = None) -> Json:
    metadata = {
        "name": "x",
        "namespace": "ml",
        "uid": "u",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "secret"},
    }
    given = SPECS.get(row.title, {"minMember": 4}) if spec is None else spec
    return {"apiVersion": row.api_versions[0], "kind": row.name, "metadata": metadata, "spec": given}


def made(row: Kind) -> Any:
    item, fault = read(msgspec.Raw(msgspec.json.encode(body_of(row))), row.type, resource_of(row.type))
    assert fault == ""
    return item


def of(title: str) -> Any:
    return made(next(row for row in OPERATED if row.title == title))


def test_what_decides_over_a_group_is_read() -> None:
    jobs: JobSet = of("JobSet")
    driver, workers = jobs.spec.replicated_jobs
    pods = [one.replicas * one.template.spec.pods for one in (driver, workers)]
    assert (jobs.spec.suspend, *pods) == (True, 1, 8)
    assert [(one.name, one.status) for one in workers.depends_on] == [("driver", "Ready")]
    assert of("LeaderWorkerSet").spec.leader_worker_template.size == 4
    assert of("TrainJob").spec.trainer.num_nodes == 2
    torch = of("PyTorchJob").spec
    assert (torch.quorum, sum(role.replicas for role in torch.roles.values())) == (3, 4)
    for kind in ("TFJob", "JAXJob", "XGBoostJob", "PaddleJob"):
        assert sum(role.replicas for role in of(kind).spec.roles.values()) == 3, kind
    mpi: MPIJob = of("MPIJob")
    assert mpi.spec.launcher_creation_policy == "WaitForWorkersReady"
    assert {name: role.replicas for name, role in mpi.spec.roles.items()} == {"Launcher": 1, "Worker": 4}
    volcano: VolcanoJob = of("VolcanoJob")
    assert (volcano.spec.min_available, sum(task.replicas for task in volcano.spec.tasks)) == (3, 3)
    assert of("KaiPodGroup").spec.min_member == 4


def test_a_ray_cluster_with_an_autoscaler_takes_its_least_workers() -> None:
    cluster: RayCluster = of("RayCluster")
    assert (cluster.spec.pods, cluster.spec.quorum) == (1 + 3 * 2, 1 + 1 * 2)
    fixed = msgspec.structs.replace(cluster.spec, enable_in_tree_autoscaling=False)
    assert fixed.quorum == 1 + 3 * 2


@pytest.mark.parametrize(
    ("spec", "may"),
    [
        ({"shutdownAfterJobFinishes": True}, True),
        ({"shutdownAfterJobFinishes": False}, False),
        ({"shutdownAfterJobFinishes": True, "clusterSelector": {"ray.io/cluster": "c"}}, False),
    ],
)
def test_a_ray_job_that_keeps_its_cluster_cannot_be_suspended(spec: Json, may: bool) -> None:
    job = msgspec.convert(body_of(row_of(RayJob), spec), RayJob)
    assert job.spec.may_be_suspended == may


def test_a_workload_of_kueue_is_admitted_by_its_condition() -> None:
    admitted = {"type": "Admitted", "status": "True", "reason": "Admitted", "message": "m"}
    body = {**body_of(row_of(KueueWorkload)), "status": {"conditions": [admitted]}}
    workload = msgspec.convert(body, KueueWorkload)
    assert (workload.is_admitted, workload.is_finished) == (True, False)
    assert not of("KueueWorkload").is_admitted


@pytest.mark.parametrize("row", OPERATED, ids=lambda row: row.title)
def test_every_kind_is_kept_by_its_key_and_recorded_without_secrets(row: Kind) -> None:
    item, state = made(row), ClusterState()
    state.apply(Put(item))
    assert state.snapshot().operated == {row.type: {"ml/x": item}}
    title, bare = recorded(item)
    assert RECORDED[title] is row.type
    assert b"secret" not in msgspec.json.encode(bare)
    state.apply(Delete(row.type, "ml/x"))
    assert state.snapshot().operated == {}


def test_an_owner_is_found_by_its_key_and_is_the_very_one_that_is_meant() -> None:
    tables, job_set = Tables(), of("JobSet")
    assert tables.put(job_set)
    assert not tables.put(job_set)
    assert tables.find(JobSet, "ml/x") is tables.find(JobSet, "ml/x", "u") is job_set
    assert tables.find(JobSet, "ml/x", "another") is None
    assert list(tables.every(JobSet)) == [job_set]


def test_what_owns_no_pod_or_cannot_be_read_is_told_and_never_stops_a_command() -> None:
    reader, row = Reader(), row_of(JobSet)
    broken = {**body_of(row, {"suspend": "perhaps"}), "metadata": {"name": "broken"}}
    reader.read(msgspec.json.encode({"kind": "List", "items": [body_of(row), broken]}), "f")
    assert [item.metadata.name for item in reader.objects] == ["x"]
    assert reader.warnings() == (
        "f: JobSet broken: spec.suspend: expected true or false, got a string (ignored)",
        "JobSet: this command does not create its pods; give the pods themselves (1 object skipped)",
    )


# -- what tenants make up ------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_no_object_stops_the_reading_of_others(data: st.DataObject) -> None:
    """Some field of an object that is fine has another value."""
    row = data.draw(st.sampled_from(OPERATED))
    body = msgspec.json.decode(msgspec.json.encode(body_of(row)))
    part = body["spec"]
    while True:
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if isinstance(part[key], dict | list) and part[key] and data.draw(st.booleans()):
            part = part[key]
            continue
        part[key] = data.draw(ANYTHING)
        break
    item, fault = read(msgspec.Raw(msgspec.json.encode(body)), row.type, resource_of(row.type))
    assert (item is None) == bool(fault)
    if item is not None:
        ClusterState().apply(Put(item))
        msgspec.json.decode(msgspec.json.encode(recorded(item)[1]), type=row.type)


@pytest.mark.parametrize(
    "spec",
    [
        {"replicatedJobs": [{"name": "a", "replicas": -1}]},
        {"replicatedJobs": [{"name": "a", "replicas": 2**31}]},
        {"replicatedJobs": [{"name": "a"}] * (MOST_PARTS + 1)},
        {"replicatedJobs": [{"name": "a" * 1000}]},
    ],
)
def test_what_is_beyond_any_bound_is_ignored_with_a_warning(spec: Json) -> None:
    row = row_of(JobSet)
    item, fault = read(msgspec.Raw(msgspec.json.encode(body_of(row, spec))), JobSet, resource_of(JobSet))
    assert item is None
    assert fault.startswith("jobsets.jobset.x-k8s.io: one object is ignored, because it is not valid: spec.")


# -- the table -----------------------------------------------------------------------------------------------


def test_no_two_kinds_of_the_table_can_be_taken_for_each_other() -> None:
    assert len({row.title for row in KINDS}) == len(KINDS)
    assert len({(row.group, row.name) for row in KINDS}) == len(KINDS)
    assert len({(row.group, row.plural) for row in KINDS}) == len(KINDS)
    assert all(row.namespaced and row.optional for row in OPERATED)
    assert all(row_of(type(row.type(ObjectMeta()))) is row for row in KINDS)
