"""The pods of owners, as their operators make them: names, labels, controllers, and what comes later."""

from itertools import islice
from typing import Any, TypeVar

import msgspec
import pytest

from maitred.model.job import Job
from maitred.model.kinds import KINDS
from maitred.model.meta import ObjectMeta, controller_of, key_of
from maitred.model.objects import Object
from maitred.model.operators.pods import MAKERS, After, MissingObject, Replicas, pods_of
from maitred.model.owner_chain import owners_above
from maitred.model.pod import Pod

Json = dict[str, Any]
T = TypeVar("T", bound=Object)


def template(gpus: int, **spec: Any) -> Json:
    resources = {"requests": {"nvidia.com/gpu": gpus}}
    return {"spec": {"containers": [{"name": "node", "resources": resources}], **spec}}


def job(parallelism: int, gpus: int = 1, **spec: Any) -> Json:
    inner = {"parallelism": parallelism, "completions": parallelism, "template": template(gpus)}
    return {"spec": {**inner, **spec}}


def owner(kind: str, api_version: str, spec: Json, uid: str = "", **metadata: Any) -> Object:
    row = next(row for row in KINDS if row.name == kind and api_version in row.api_versions)
    about = {"name": "run", "namespace": "ml", "uid": uid, **metadata}
    return msgspec.convert({"metadata": about, "spec": spec}, row.type)


class Objects:
    """Those of a list, found as a cluster finds them."""

    def __init__(self, *items: Object) -> None:
        self._items = {(type(item), item.metadata.name): item for item in items}

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        found = self._items.get((kind, key.rpartition("/")[2]))
        meant = isinstance(found, kind) and (not uid or found.metadata.uid in ("", uid))
        return found if meant else None  # type: ignore[return-value]  # it is of that kind


JOB_SET = {
    "replicatedJobs": [
        {"name": "driver", "template": job(1, 0)},
        {"name": "workers", "replicas": 2, "template": job(2)},
        {"name": "off", "replicas": 2**31 - 1, "template": job(0)},
    ]
}
RAY = {
    "headGroupSpec": {"template": template(0)},
    "workerGroupSpecs": [
        {"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": template(8)},
        {"groupName": "off", "replicas": 9, "suspend": True, "template": template(8)},
    ],
}
KINDS_MADE: dict[str, tuple[Object, list[str]]] = {
    "Job": (
        owner("Job", "batch/v1", job(2, completionMode="Indexed")["spec"]),
        ["run-0 <- Job run", "run-1 <- Job run"],
    ),
    "JobSet": (
        owner("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET),
        [
            "run-driver-0-0 <- Job run-driver-0 <- JobSet run",
            "run-workers-0-0 <- Job run-workers-0 <- JobSet run",
            "run-workers-0-1 <- Job run-workers-0 <- JobSet run",
            "run-workers-1-0 <- Job run-workers-1 <- JobSet run",
            "run-workers-1-1 <- Job run-workers-1 <- JobSet run",
        ],
    ),
    "LeaderWorkerSet": (
        owner(
            "LeaderWorkerSet",
            "leaderworkerset.x-k8s.io/v1",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(8)}},
        ),
        [
            "run-0 <- StatefulSet run",
            "run-0-1 <- StatefulSet run-0",
            "run-1 <- StatefulSet run",
            "run-1-1 <- StatefulSet run-1",
        ],
    ),
    "RayCluster": (
        owner("RayCluster", "ray.io/v1", RAY),
        ["run-head <- RayCluster run", *(f"run-gpu-worker-{n} <- RayCluster run" for n in range(4))],
    ),
    "RayJob": (
        owner("RayJob", "ray.io/v1", {"rayClusterSpec": RAY}),
        [
            "run-head <- RayCluster run <- RayJob run",
            *(f"run-gpu-worker-{n} <- RayCluster run <- RayJob run" for n in range(4)),
            "run-0 <- Job run <- RayJob run",
        ],
    ),
    "PyTorchJob": (
        owner(
            "PyTorchJob",
            "kubeflow.org/v1",
            {"pytorchReplicaSpecs": {"Master": {"template": template(8)}, "Worker": {"replicas": 2}}},
        ),
        [
            "run-master-0 <- PyTorchJob run",
            "run-worker-0 <- PyTorchJob run",
            "run-worker-1 <- PyTorchJob run",
        ],
    ),
    "MPIJob": (
        owner("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {}}}),
        ["run-launcher-0 <- Job run-launcher <- MPIJob run", "run-worker-0 <- MPIJob run"],
    ),
    "VolcanoJob": (
        owner("Job", "batch.volcano.sh/v1alpha1", {"tasks": [{"name": "a", "replicas": 2}]}),
        ["run-a-0 <- Job run", "run-a-1 <- Job run"],
    ),
}


def chain(pod: Pod, part: Replicas, top: Object) -> str:
    known = Objects(*part.between, top)
    above = [
        f"{type(one).__name__.removeprefix('Volcano')} {one.metadata.name}"
        for one in owners_above(pod.metadata, known)
    ]
    controller = controller_of(pod.metadata)
    assert controller is not None
    return " <- ".join([pod.metadata.name, *(above or [f"{controller.kind} {controller.name}"])])


@pytest.mark.parametrize("kind", KINDS_MADE)
def test_pods_are_named_and_controlled_as_their_operator_does_it(kind: str) -> None:
    top, expected = KINDS_MADE[kind]
    assert [chain(pod, part, top) for part in pods_of(top) for pod in part.pods()] == expected


def test_every_kind_that_makes_pods_is_tried() -> None:
    assert {kind.__name__ for kind in MAKERS} == {*KINDS_MADE, "TrainJob"}


def test_pods_of_a_job_set_say_which_job_of_which_set_they_are() -> None:
    last = list(pods_of(KINDS_MADE["JobSet"][0]))[-1].pod(1)
    prefix = "jobset.sigs.k8s.io/"
    said = {key.removeprefix(prefix): value for key, value in last.metadata.labels.items()}
    assert {key: said[key] for key in ("jobset-name", "replicatedjob-name", "job-index")} == {
        "jobset-name": "run",
        "replicatedjob-name": "workers",
        "job-index": "1",
    }
    assert said["job-global-index"] == "2"
    assert last.metadata.annotations["batch.kubernetes.io/job-completion-index"] == "1"


def test_what_an_owner_has_made_already_is_what_its_pods_belong_to() -> None:
    top = owner("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET, uid="set")
    made = next(pods_of(top)).between[0].metadata
    its_own = Job(msgspec.structs.replace(made, uid="mine"))
    assert next(pods_of(top, Objects(its_own))).owner.uid == "mine"
    stranger = Job(ObjectMeta(name=made.name, namespace="ml", uid="other"))
    assert next(pods_of(top, Objects(stranger))).owner.uid == ""


# -- what comes later --------------------------------------------------------------------------------------


def waits(top: Object) -> dict[str, After]:
    return {part.pod(part.first).metadata.name: part.after for part in pods_of(top)}


def job_set(*jobs: Json, **spec: Any) -> Object:
    return owner("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": list(jobs), **spec})


@pytest.mark.parametrize(
    ("more", "spec", "after"),
    [
        ({}, {}, After.NOTHING),
        ({}, {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, After.READY),
        ({"dependsOn": [{"name": "a", "status": "Ready"}]}, {}, After.READY),
        ({"dependsOn": [{"name": "a", "status": "Complete"}]}, {}, After.COMPLETE),
    ],
)
def test_replicated_jobs_wait_for_those_before_them(more: Json, spec: Json, after: After) -> None:
    jobs = {"name": "a", "template": job(1)}, {"name": "b", "template": job(1), **more}
    assert waits(job_set(*jobs, **spec)) == {"run-a-0-0": After.NOTHING, "run-b-0-0": after}


def test_whoever_waits_for_one_that_waits_for_completion_comes_no_earlier() -> None:
    complete, ready = {"name": "a", "status": "Complete"}, {"name": "b", "status": "Ready"}
    jobs: list[Json] = [
        {"name": "a", "template": job(1)},
        {"name": "b", "template": job(1), "dependsOn": [complete]},
        {"name": "c", "template": job(1), "dependsOn": [ready]},
    ]
    assert waits(job_set(*jobs))["run-c-0-0"] == After.COMPLETE


def test_jobs_with_a_domain_of_their_own_follow_their_first_pod() -> None:
    level = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    top = owner("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET, annotations=level)
    driver, leader, followers, *_ = pods_of(top)
    assert (leader.count, leader.after, followers.count, followers.after) == (
        1,
        After.NOTHING,
        1,
        After.SCHEDULED,
    )
    assert driver.template.spec.affinity is not None
    near, apart = (
        part.template.spec.affinity.pod_anti_affinity.required if part.template.spec.affinity else ()
        for part in (followers, leader)
    )
    assert near == ()
    assert [term.topology_key for term in apart] == ["rack"]
    followed = followers.template.spec.affinity
    assert followed is not None
    (term,) = followed.pod_affinity.required
    assert term.label_selector is not None
    assert term.label_selector.match_expressions[0].values == (
        leader.template.metadata.labels["jobset.sigs.k8s.io/job-key"],
    )


@pytest.mark.parametrize(
    ("kind", "spec", "metadata", "later"),
    [
        (
            "LeaderWorkerSet",
            {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 2}},
            {},
            {"run-0-1": After.READY},
        ),
        (
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"size": 2}},
            {"annotations": {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}},
            {"run-0-1": After.SCHEDULED},
        ),
        (
            "MPIJob",
            {
                "launcherCreationPolicy": "WaitForWorkersReady",
                "mpiReplicaSpecs": {"Launcher": {}, "Worker": {}},
            },
            {},
            {"run-launcher-0": After.READY},
        ),
        ("RayJob", {"rayClusterSpec": {}}, {}, {"run-0": After.READY}),
    ],
)
def test_pods_that_come_later_say_after_what(
    kind: str, spec: Json, metadata: Json, later: dict[str, After]
) -> None:
    row = next(row for row in KINDS if row.name == kind)
    found = waits(owner(kind, row.api_versions[0], spec, **metadata))
    assert {name: after for name, after in found.items() if after != After.NOTHING} == later
    assert len(found) > len(later)


# -- Ray ---------------------------------------------------------------------------------------------------


def test_an_autoscaler_runs_beside_the_head_and_takes_its_share() -> None:
    spec = {**RAY, "enableInTreeAutoscaling": True}
    head = next(pods_of(owner("RayCluster", "ray.io/v1", spec)))
    assert head.template.spec.containers[1].resources.requests == {"cpu": "500m", "memory": "512Mi"}


@pytest.mark.parametrize(
    ("more", "pods"),
    [
        ({"submissionMode": "HTTPMode"}, 5),
        ({"submissionMode": "K8sJobMode"}, 6),
        ({"clusterSelector": {"ray.io/cluster": "there"}}, 1),
    ],
)
def test_a_ray_job_makes_a_cluster_and_a_submitter_if_it_needs_them(more: Json, pods: int) -> None:
    top = owner("RayJob", "ray.io/v1", {"rayClusterSpec": RAY, **more})
    assert sum(part.count for part in pods_of(top)) == pods


def test_the_launcher_of_the_training_operator_is_a_pod() -> None:
    top, _ = KINDS_MADE["MPIJob"]
    launcher, worker = pods_of(top, version="kubeflow.org/v1")
    assert (launcher.pod(0).metadata.name, launcher.owner.kind) == ("run-launcher", "MPIJob")
    assert worker.owner.api_version == "kubeflow.org/v1"


# -- TrainJobs ---------------------------------------------------------------------------------------------

STEP = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}


def runtime(policy: Json, *jobs: Json) -> Object:
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}
    return owner("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", spec, namespace="", name="torch")


def train_job(**spec: Any) -> Object:
    return owner("TrainJob", "trainer.kubeflow.org/v1alpha1", {"runtimeRef": {"name": "torch"}, **spec})


NODES = {"name": "node", "template": {**STEP, "spec": {"template": template(1)}}}
LAUNCHER = {"name": "launcher", "template": {**STEP, "spec": {"template": template(0)}}}
HOSTS = {"name": "node", "template": {"spec": {"template": template(1)}}}


@pytest.mark.parametrize(
    ("policy", "jobs", "trainer", "pods"),
    [
        ({"numNodes": 3, "torch": {}}, [NODES], {}, {"node": 3}),
        ({"numNodes": 3, "torch": {}}, [NODES], {"numNodes": 4}, {"node": 4}),
        ({"mpi": {}}, [LAUNCHER, HOSTS], {"numNodes": 4}, {"launcher": 1, "node": 4}),
        (
            {"mpi": {"runLauncherAsNode": True}},
            [LAUNCHER, HOSTS],
            {"numNodes": 4},
            {"launcher": 1, "node": 3},
        ),
    ],
)
def test_a_train_job_has_as_many_nodes_as_it_asks_its_runtime_for(
    policy: Json, jobs: list[Json], trainer: Json, pods: dict[str, int]
) -> None:
    found = pods_of(train_job(trainer=trainer), Objects(runtime(policy, *jobs)))
    assert {part.role: part.count for part in found} == pods


def test_a_train_job_says_the_resources_of_its_nodes_and_patches_its_runtime() -> None:
    patch = {
        "replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"pool": "a"}}}}}},
            {
                "name": "unknown",
                "template": {"spec": {"template": {"spec": {"nodeSelector": {"pool": "b"}}}}},
            },
        ]
    }
    top = train_job(
        trainer={"numNodes": 2, "resourcesPerNode": {"requests": {"nvidia.com/gpu": 8}}},
        runtimePatches=[{"manager": "me", "trainingRuntimeSpec": {"template": {"spec": patch}}}],
    )
    (part,) = pods_of(top, Objects(runtime({}, NODES)))
    assert part.template.spec.node_selector == {"pool": "a"}
    assert part.template.spec.containers[0].resources.requests == {"nvidia.com/gpu": 8}
    assert [
        type(one).__name__ for one in owners_above(part.pod(0).metadata, Objects(*part.between, top))
    ] == [
        "Job",
        "JobSet",
        "TrainJob",
    ]


def test_without_its_runtime_the_pods_of_a_train_job_are_not_known() -> None:
    with pytest.raises(MissingObject, match="ClusterTrainingRuntime torch"):
        next(pods_of(train_job()))


# -- bounds ------------------------------------------------------------------------------------------------

HUGE = 2**31 - 1


@pytest.mark.parametrize(
    "top",
    [
        job_set({"name": "a", "replicas": HUGE, "template": job(HUGE)}),
        owner(
            "LeaderWorkerSet",
            "leaderworkerset.x-k8s.io/v1",
            {"replicas": HUGE, "leaderWorkerTemplate": {"size": HUGE}},
        ),
        owner("RayCluster", "ray.io/v1", {"workerGroupSpecs": [{"replicas": HUGE, "numOfHosts": HUGE}]}),
    ],
    ids=lambda top: type(top).__name__,
)
def test_however_many_pods_are_asked_for_the_first_are_had_at_once(top: Object) -> None:
    parts = list(islice(pods_of(top), 2))
    assert all(part.count >= 1 for part in parts)
    assert [key_of(next(part.pods()).metadata) for part in parts]
