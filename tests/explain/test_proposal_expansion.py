"""Manifests as people have them, and the pods that come of them."""

from typing import Any

import pytest
import yaml

from maitred.explain.proposal.expansion import Expansion, RuntimeName, runtimes_of
from maitred.explain.proposal.supposition import Supposition
from maitred.model.group import PodGroup
from maitred.model.manifest import InputError, documents
from maitred.model.membership import ALONE, MARKS, group_key
from maitred.model.operators.runtimes import ClusterTrainingRuntime
from maitred.model.pod import Pod
from maitred.model.policy import Workloads
from maitred.model.requests import pod_requests
from maitred.model.storage import PersistentVolumeClaim
from tests.explain.supposing import expanded
from tests.support import Obj, listed

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team-a
  annotations: {maitred.dev/expected-runtime: 2h}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  activeDeadlineSeconds: 7200
  template:
    metadata:
      labels: {app: train, maitred.dev/group: train, maitred.dev/min-count: "3"}
      annotations: {sidecar.example.com/secret: hunter2}
    spec:
      priorityClassName: high
      restartPolicy: Never
      containers:
      - name: train
        image: example/train:1.0
        env: [{name: TOKEN, value: hunter2}]
        resources: {requests: {cpu: "4", memory: 16Gi}, limits: {nvidia.com/gpu: 8}}
"""
POD = {"containers": [{"name": "main", "image": "example/main:1.0", "resources": {"requests": {"cpu": "1"}}}]}
MANY = {"parallelism": 9_000}
TEMPLATE = {"metadata": {"labels": {"app": "main"}}, "spec": POD}


def read(text: str, **changes: Any) -> Obj:
    manifest: Obj = yaml.safe_load(text)
    manifest["spec"].update(changes)
    return manifest


VERSIONS = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "MPIJob": "kubeflow.org/v2beta1",
    "PyTorchJob": "kubeflow.org/v1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "TFJob": "kubeflow.org/v1",
    "ReplicationController": "v1",
}


def owner(kind: str, spec: Obj, name: str = "main", version: str = "") -> Obj:
    version = version or VERSIONS.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def pods(found: Expansion) -> list[Pod]:
    return [item for item in found.objects if isinstance(item, Pod)]


def names(found: Expansion) -> list[str]:
    return [pod.metadata.name for pod in pods(found)]


def groups(found: Expansion) -> set[str | None]:
    return {group_key(pod) for pod in pods(found)}


# ---- Jobs


def test_a_job_that_is_a_gang() -> None:
    found = expanded(read(JOB))
    assert names(found) == ["train-0", "train-1", "train-2"]
    assert groups(found) == {"team-a/train"}
    assert not found.notes
    last = pods(found)[-1]
    assert last.metadata.labels["batch.kubernetes.io/job-completion-index"] == "2"
    assert last.metadata.labels["job-name"] == "train"
    assert last.metadata.annotations == {
        "maitred.dev/expected-runtime": "2h",
        "batch.kubernetes.io/job-completion-index": "2",
    }
    assert last.spec.active_deadline_seconds == 7200
    assert last.spec.priority_class_name == "high"
    assert pod_requests(last.spec) == {"cpu": 4000, "memory": 16 * 2**30, "nvidia.com/gpu": 8, "pods": 1}
    (party,) = Supposition(tuple(found.objects)).proposed_groups(Workloads())
    assert (party.title, party.source, len(party.groups)) == ("Job team-a/train", MARKS, 1)


def test_a_job_that_ends_at_once_has_pods_that_do() -> None:
    found = expanded(read(JOB, activeDeadlineSeconds=0))
    assert {pod.spec.active_deadline_seconds for pod in pods(found)} == {1}


def test_what_is_no_business_of_a_scheduler_is_not_passed_on() -> None:
    assert b"hunter2" not in Supposition(tuple(expanded(read(JOB)).objects)).body()


def test_a_job_without_a_group_is_lone_pods() -> None:
    job = owner("Job", {"parallelism": 5, "completions": 2, "template": TEMPLATE}, version="batch/v1")
    found = expanded(job, namespace="team-b")
    assert (names(found), groups(found)) == (["main-0", "main-1"], {None})
    (party,) = Supposition(tuple(found.objects)).proposed_groups(Workloads())
    assert (party.title, party.source, len(party.groups)) == ("Job team-b/main", ALONE, 2)


def test_a_job_that_asks_for_a_pod_group() -> None:
    scheduling = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}
    template = {"spec": {**POD, "priorityClassName": "high"}}
    job = owner("Job", {"parallelism": 4, "template": template, "scheduling": scheduling}, version="batch/v1")
    found = expanded(job)
    (group,) = [item for item in found.objects if isinstance(item, PodGroup)]
    assert group.spec.scheduling_policy.gang is not None
    assert group.spec.scheduling_policy.gang.min_count == 4
    assert group.spec.scheduling_constraints.topology[0].key == "rack"
    assert group.spec.priority_class_name == "high"
    assert groups(found) == {"default/main"}


def test_a_suspended_job_is_planned_as_if_it_were_resumed() -> None:
    found = expanded(read(JOB, suspend=True))
    assert len(names(found)) == 3
    assert found.notes == ["Job team-a/train is suspended; this is the answer for when it is resumed"]


RAY: Obj = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "template": TEMPLATE}],
}
ELSEWHERE: Obj = {"managedBy": "kueue.x-k8s.io/multikueue"}
JOBS = [{"name": "w", "replicas": 2, "template": {"spec": {"template": TEMPLATE}}}]
ROLES = {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}


@pytest.mark.parametrize(
    ("workload", "field"),
    [
        (read(JOB, **ELSEWHERE), "spec.managedBy"),
        (read(JOB, suspend=True, **ELSEWHERE), "spec.managedBy"),
        (
            owner(
                "CronJob", {"jobTemplate": {"spec": {"template": TEMPLATE, **ELSEWHERE}}}, version="batch/v1"
            ),
            "spec.jobTemplate.spec.managedBy",
        ),
        (owner("JobSet", {"replicatedJobs": JOBS, **ELSEWHERE}), "spec.managedBy"),
        (owner("PyTorchJob", {**ROLES, "runPolicy": ELSEWHERE}), "spec.runPolicy.managedBy"),
    ],
    ids=["Job", "suspended Job", "CronJob", "JobSet", "PyTorchJob"],
)
def test_what_another_controller_manages_is_not_planned(workload: Obj, field: str) -> None:
    found = expanded(workload)
    (note,) = found.notes
    assert f" is managed by kueue.x-k8s.io/multikueue ({field}): " in note
    assert not found.objects


def test_of_a_jobset_the_jobs_that_another_controller_manages_are_left_out() -> None:
    theirs = {"name": "theirs", "template": {"spec": {"template": TEMPLATE, **ELSEWHERE}}}
    found = expanded(owner("JobSet", {"replicatedJobs": [*JOBS, theirs]}))
    assert names(found) == ["main-w-0-0", "main-w-1-0"]
    assert "spec.replicatedJobs[1].template.spec.managedBy" in found.notes[0]


@pytest.mark.parametrize(
    "workload",
    [
        read(JOB, managedBy="kubernetes.io/job-controller"),
        owner("JobSet", {"replicatedJobs": JOBS, "managedBy": "jobset.sigs.k8s.io/jobset-controller"}),
        owner("PyTorchJob", {**ROLES, "runPolicy": {"managedBy": "kubeflow.org/training-operator"}}),
    ],
    ids=["Job", "JobSet", "PyTorchJob"],
)
def test_the_usual_controller_may_be_named(workload: Obj) -> None:
    found = expanded(workload)
    assert names(found)
    assert not any("managed by" in note for note in found.notes)


def test_a_name_that_is_generated() -> None:
    job = read(JOB)
    job["metadata"] = {"generateName": "train-"}
    assert names(expanded(job)) == ["train-0", "train-1", "train-2"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "main-"}, "spec": POD}
    assert names(expanded(pod)) == ["main"]


def test_a_cron_job() -> None:
    job = {"spec": {"parallelism": 2, "template": TEMPLATE}}
    found = expanded(owner("CronJob", {"schedule": "@daily", "jobTemplate": job}, "nightly", "batch/v1"))
    assert names(found) == ["nightly-0", "nightly-1"]


# ---- what operators make


def proposed(found: Expansion) -> list[tuple[str, str, int]]:
    """Groups by their titles, with the source of each and how many decisions it takes."""
    groups = Supposition(tuple(found.objects)).proposed_groups(Workloads())
    return [(one.title, one.source, len(one.groups)) for one in groups]


def test_a_job_set_brings_its_jobs_and_is_one_group() -> None:
    worker = {"parallelism": 2, "completions": 2, "template": TEMPLATE}
    jobs = [
        {"name": "leader", "template": {"spec": {"template": TEMPLATE}}},
        {"name": "worker", "replicas": 2, "template": {"spec": worker}},
    ]
    found = expanded(owner("JobSet", {"replicatedJobs": jobs}, "llm"))
    assert names(found)[-1] == "llm-worker-1-1"
    made = [(type(item).__name__, item.metadata.name) for item in found.objects if not isinstance(item, Pod)]
    assert made == [
        *(("Job", f"llm-{name}") for name in ("leader-0", "worker-0", "worker-1")),
        ("JobSet", "llm"),
    ]
    assert (proposed(found), found.notes) == ([("JobSet default/llm", "JobSet", 1)], [])


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (
            "LeaderWorkerSet",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}},
            [
                ("LeaderWorkerSet default/main, group default/main-0", "LeaderWorkerSet", 1),
                ("LeaderWorkerSet default/main, group default/main-1", "LeaderWorkerSet", 1),
            ],
        ),
        ("RayCluster", RAY, [("RayCluster default/main", "RayCluster", 1)]),
        (
            "RayJob",
            {"rayClusterSpec": RAY},
            [("RayJob default/main", "RayCluster", 1)],
        ),
        ("PyTorchJob", ROLES, [("PyTorchJob default/main", "PyTorchJob", 1)]),
        (
            "MPIJob",
            {"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE}}},
            [("MPIJob default/main", "MPIJob", 1)],
        ),
        (
            "TFJob",
            {"tfReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}},
            [("TFJob default/main", "TFJob", 1)],
        ),
    ],
)
def test_groups_are_those_that_their_kind_makes(
    kind: str, spec: Obj, expected: list[tuple[str, str, int]]
) -> None:
    assert proposed(expanded(owner(kind, spec))) == expected


def test_a_job_of_volcano_is_the_group_that_volcano_makes_for_it() -> None:
    job = owner(
        "Job",
        {"minAvailable": 1, "tasks": [{"name": "w", "replicas": 2, "template": TEMPLATE}]},
        version="batch.volcano.sh/v1alpha1",
    )
    found = expanded(job)
    assert names(found) == ["main-w-0", "main-w-1"]
    assert proposed(found) == [("Job.batch.volcano.sh default/main", "Volcano", 1)]


def test_a_training_job_that_says_how_it_starts() -> None:
    policy = {"schedulingPolicy": {"minAvailable": 2, "priorityClass": "high"}, "suspend": True}
    spec = {"runPolicy": policy, "pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": TEMPLATE}}}
    found = expanded(owner("PyTorchJob", spec, "bert"))
    assert {pod.spec.priority_class_name for pod in pods(found)} == {"high"}
    assert found.notes == ["PyTorchJob default/bert is suspended; this is the answer for when it is resumed"]


STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer.kubeflow.org/v1alpha1"
RUNTIME = owner(
    "ClusterTrainingRuntime",
    {
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {STEP: "trainer"}},
                            "spec": {"template": TEMPLATE},
                        },
                    }
                ]
            }
        }
    },
    "torch",
    TRAINER,
)
TRAIN_JOB = owner(
    "TrainJob",
    {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}},
    "tune",
    "trainer.kubeflow.org/v1alpha1",
)


def test_a_train_job_comes_of_its_runtime_wherever_that_stands() -> None:
    for found in (expanded(TRAIN_JOB, RUNTIME), expanded(RUNTIME, TRAIN_JOB)):
        assert names(found) == [f"tune-node-0-{index}" for index in range(3)]
        assert proposed(found) == [("TrainJob default/tune", "JobSet", 1)]


def test_a_train_job_without_its_runtime_says_what_is_missing() -> None:
    assert runtimes_of(documents(listed([TRAIN_JOB]), "f"), "ml") == [
        RuntimeName(ClusterTrainingRuntime, "", "torch")
    ]
    assert runtimes_of(documents(listed([TRAIN_JOB, RUNTIME]), "f"), "ml") == []
    with pytest.raises(InputError, match="kubectl get clustertrainingruntime torch -o yaml"):
        expanded(TRAIN_JOB)


# ---- the rest


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
def test_replicas(kind: str) -> None:
    found = expanded(owner(kind, {"replicas": 3, "template": TEMPLATE}))
    assert (names(found), groups(found)) == (["main-0", "main-1", "main-2"], {None})
    assert pods(found)[0].metadata.labels == {"app": "main"}
    assert names(expanded(owner(kind, {"template": TEMPLATE}))) == ["main-0"]


def test_a_stateful_set_brings_its_claims() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "10Gi"}}}}
    spec = {"replicas": 2, "template": TEMPLATE, "volumeClaimTemplates": [claim]}
    found = expanded(owner("StatefulSet", spec, "db"))
    claims = [item for item in found.objects if isinstance(item, PersistentVolumeClaim)]
    assert [claim.metadata.name for claim in claims] == ["data-db-0", "data-db-1"]
    mounted = [volume.persistent_volume_claim for pod in pods(found) for volume in pod.spec.volumes]
    assert [claim.claim_name for claim in mounted if claim] == ["data-db-0", "data-db-1"]


def test_a_pod_group_with_its_pods_and_what_else_is_in_the_file() -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "crew"}}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "crew-0", "uid": "x"}}
    pod["spec"] = {**POD, "schedulingGroup": {"podGroupName": "crew"}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "crew"}}
    found = expanded(group, pod, service)
    assert [type(item) for item in found.objects] == [PodGroup, Pod]
    assert (pods(found)[0].metadata.uid, groups(found)) == ("", {"default/crew"})


def test_no_pods_at_all() -> None:
    found = expanded(owner("Deployment", {"replicas": 0, "template": TEMPLATE}))
    assert (found.objects, found.notes) == ([], ["Deployment default/main asks for no pods"])


# ---- what is refused, in terms of the file


@pytest.mark.parametrize(
    ("manifest", "refusal"),
    [
        (
            owner("Job", {"parallelism": "4"}, version="batch/v1"),
            "Job main: spec.parallelism: expected a whole number, got a string",
        ),
        (
            owner("Deployment", {"replicas": -1}),
            "Deployment main: spec.replicas: must be at least 0, not -1",
        ),
        (
            owner("Job", {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "4x"}}}]}}}),
            "Job main: spec.template.spec.containers[0].resources.limits.cpu: '4x' is not a quantity",
        ),
        (
            owner("Job", {"template": {"spec": {"nodeName": "n1"}}}),
            "Job main: spec.template.spec.nodeName: is n1, so the pod has a node already",
        ),
        (
            owner("PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": "2"}}}),
            "PyTorchJob main: spec.pytorchReplicaSpecs.Worker.replicas: expected a whole number",
        ),
        (
            owner("Job", {"parallelism": 20_000, "template": TEMPLATE}),
            "Job main: spec.parallelism: at most 10000 pods",
        ),
        (
            owner(
                "JobSet",
                {
                    "replicatedJobs": [
                        {"name": "w", "replicas": 2_000_000_000, "template": {"spec": {"template": TEMPLATE}}}
                    ]
                },
            ),
            "JobSet main: spec.replicatedJobs[0].template.spec.parallelism: at most 10000 pods",
        ),
        (
            owner(
                "Job", {"template": TEMPLATE, "scheduling": {"schedulingPolicy": {"gang": {"minCount": 0}}}}
            ),
            "Job main: spec.scheduling.schedulingPolicy.gang.minCount: must be at least 1",
        ),
        (
            owner("RayService", {}, version="ray.io/v1"),
            "RayService main: kind: this command does not know which pods a RayService of ray.io/v1 creates; "
            "give the pods themselves. Known kinds are: Job and CronJob of batch/v1; ",
        ),
        (
            owner("RayCluster", {"headGroupSpec": {"template": {"spec": {"nodeName": "n1"}}}}),
            "RayCluster main: spec.headGroupSpec.template.spec.nodeName: is n1",
        ),
        (
            owner("Sweep", {"trials": {"template": TEMPLATE}}, version="example.com/v1"),
            "Sweep main: kind: this command does not know which pods a Sweep of example.com/v1 creates",
        ),
        (
            owner("Deployment", {"template": TEMPLATE}, version="extensions/v1beta1"),
            "Deployment main: kind: this command does not know which pods a Deployment of extensions/v1beta1",
        ),
        (
            owner("CronJob", {"jobTemplate": {}}, version="batch/v1beta1"),
            "CronJob main: apiVersion: a CronJob is of batch/v1, not of batch/v1beta1",
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {}},
            "Job in document 1, items[0]: metadata.name: is required",
        ),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(manifest: Obj, refusal: str) -> None:
    with pytest.raises(InputError) as refused:
        expanded(manifest)
    assert str(refused.value).startswith(f"job.yaml: {refusal}")
