"""Operators' objects and other schedulers' manifests as gangs: seated whole or not at all, stage by stage."""

from typing import Any

import pytest

from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, Obj
from tests.support import decide

SET, LWS = "jobset.sigs.k8s.io/", "leaderworkerset.sigs.k8s.io/"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
INDEX = "batch.kubernetes.io/job-completion-index"
VERSIONS = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    **dict.fromkeys(("PyTorchJob", "TFJob", "JAXJob", "XGBoostJob", "PaddleJob"), "kubeflow.org/v1"),
    "MPIJob": "kubeflow.org/v2beta1",
    "StatefulSet": "apps/v1",
    "Thing": "acme.dev/v1",
}


def owner(kind: str, name: str) -> list[Obj]:
    return [
        {
            "apiVersion": VERSIONS[kind],
            "kind": kind,
            "name": name,
            "uid": f"{kind}-{name}",
            "controller": True,
        }
    ]


def made(kind: str, name: str, spec: Obj, by: tuple[str, str] | None = None, **about: Any) -> Obj:
    metadata = {"name": name, "uid": f"{kind}-{name}", **about}
    if by is not None:
        metadata["ownerReferences"] = owner(*by)
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def pods(prefix: str, count: int, by: tuple[str, str] | None = None, **more: Any) -> list[Obj]:
    found = [b.pod(f"{prefix}-{number}", cpu=1, **more) for number in range(count)]
    for one in found if by is not None else []:
        one["metadata"]["ownerReferences"] = owner(*by) if by is not None else []
    return found


def job(name: str, role: str, parallelism: int, by: str = "JobSet") -> Obj:
    spec = {"parallelism": parallelism, "completions": parallelism, "completionMode": "Indexed"}
    return made("Job", name, spec, by=(by, "s"), labels={f"{SET}replicatedjob-name": role})


def job_set(spec: Obj | None = None, annotations: Obj | None = None, **roles: Any) -> Obj:
    """Two Jobs of two workers and one driver, unless it is said otherwise."""
    several = [
        {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2}}},
        {"name": "d", "replicas": 1, "template": {"spec": {"parallelism": 1}}, **roles},
    ]
    return made("JobSet", "s", {"replicatedJobs": several, **(spec or {})}, annotations=annotations or {})


def of_set(**annotations: str) -> list[Obj]:
    """The Jobs and pods of such a JobSet."""
    jobs = [job("s-w-0", "w", 2), job("s-w-1", "w", 2), job("s-d-0", "d", 1)]
    found: list[Obj] = []
    for one in jobs:
        name, count = one["metadata"]["name"], one["spec"]["parallelism"]
        found += pods(name, count, by=("Job", name), annotations=dict(annotations))
        for number, pod in enumerate(found[-count:]):
            pod["metadata"].setdefault("annotations", {})[INDEX] = str(number)
    return [*jobs, *found]


RAY = {"workerGroupSpecs": [{"replicas": 2, "minReplicas": 1, "maxReplicas": 3, "numOfHosts": 2}]}
ROLES = {"Launcher": {"replicas": 1}, "Worker": {"replicas": 2}}
SIZE = {"leaderWorkerTemplate": {"size": 3}, "replicas": 2}


def in_worker_set(index: int) -> list[Obj]:
    found = pods(f"s-{index}", 3, by=("StatefulSet", f"s-{index}"))
    for number, pod in enumerate(found):
        labels = {"name": "s", "group-index": str(index), "worker-index": str(number)}
        pod["metadata"]["labels"] = {f"{LWS}{key}": value for key, value in labels.items()}
    return found


Found = dict[str, tuple[int, int]]
"""Groups: their members, and their quorums."""
CASES: dict[str, tuple[list[Obj], Found]] = {
    "a JobSet is one gang": ([job_set(), *of_set()], {"s": (5, 5)}),
    "each replicated job by itself": (
        [job_set(annotations={"maitred.dev/gang": "replicated-job"}), *of_set()],
        {"s-w": (4, 4), "s-d": (1, 1)},
    ),
    "a replicated job that depends on another is a gang of its own": (
        [job_set(dependsOn=[{"name": "w", "status": "Ready"}]), *of_set()],
        {"s-w": (4, 4), "s-d": (1, 1)},
    ),
    "replicated jobs that start in order are gangs of their own": (
        [job_set({"startupPolicy": {"startupPolicyOrder": "InOrder"}}), *of_set()],
        {"s-w": (4, 4), "s-d": (1, 1)},
    ),
    "with exclusive topology the first pods of all Jobs come first": (
        [job_set(annotations={EXCLUSIVE: "rack"}), *of_set(**{EXCLUSIVE: "rack"})],
        {"s": (3, 3), "s-followers": (2, 2)},
    ),
    "a quorum on the JobSet": ([job_set(annotations={MIN_COUNT: "4"}), *of_set()], {"s": (5, 4)}),
    "a group on the JobSet": (
        [job_set(annotations={GROUP: "g", MIN_COUNT: "5"}), *of_set()],
        {"g": (5, 5)},
    ),
    "a TrainJob is what its JobSet is": (
        [
            {**job_set(), "metadata": {**job_set()["metadata"], "ownerReferences": owner("TrainJob", "s")}},
            made("TrainJob", "s", {}),
            *of_set(),
        ],
        {"s": (5, 5)},
    ),
    "a JobSet that is not there: all pods that there are": (of_set(), {"s": (5, 5)}),
    "groups of a LeaderWorkerSet": (
        [made("LeaderWorkerSet", "s", SIZE), *in_worker_set(0), *in_worker_set(1)],
        {"s-0": (3, 3), "s-1": (3, 3)},
    ),
    "workers that are made when their leader is ready": (
        [made("LeaderWorkerSet", "s", {**SIZE, "startupPolicy": "LeaderReady"}), *in_worker_set(0)],
        {"s-0": (1, 1), "s-0-workers": (2, 2)},
    ),
    "a Ray cluster": (
        [made("RayCluster", "s", RAY), *pods("s", 5, by=("RayCluster", "s"))],
        {"s": (5, 5)},
    ),
    "a Ray cluster that scales by itself": (
        [
            made("RayCluster", "s", {**RAY, "enableInTreeAutoscaling": True}),
            *pods("s", 5, by=("RayCluster", "s")),
        ],
        {"s": (5, 3)},
    ),
    "the pod that submits a Ray job is alone": (
        [
            made("RayJob", "s", {"rayClusterSpec": RAY}),
            made("RayCluster", "s-1", RAY, by=("RayJob", "s")),
            *pods("head", 5, by=("RayCluster", "s-1")),
            made("Job", "s", {"parallelism": 1, "completions": 1}, by=("RayJob", "s")),
            *pods("submit", 1, by=("Job", "s")),
        ],
        {"s-1": (5, 5), "submit-0": (1, 1)},
    ),
    "an elastic PyTorchJob": (
        [
            made(
                "PyTorchJob",
                "s",
                {
                    "pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}},
                    "elasticPolicy": {"minReplicas": 2},
                },
            ),
            *pods("s", 4, by=("PyTorchJob", "s")),
        ],
        {"s": (4, 3)},
    ),
    **{
        f"all roles of a {kind}": (
            [
                made(kind, "s", {f"{field}ReplicaSpecs": {"Master": {}, "Worker": {"replicas": 2}}}),
                *pods("s", 3, by=(kind, "s")),
            ],
            {"s": (3, 3)},
        )
        for kind, field in (("TFJob", "tf"), ("JAXJob", "jax"), ("XGBoostJob", "xgb"))
    },
    "a PaddleJob that says how many it takes": (
        [
            made(
                "PaddleJob",
                "s",
                {
                    "paddleReplicaSpecs": {"Worker": {"replicas": 3}},
                    "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
                },
            ),
            *pods("s", 3, by=("PaddleJob", "s")),
        ],
        {"s": (3, 2)},
    ),
    "an MPIJob, whose launcher is a Job": (
        [
            made("MPIJob", "s", {"mpiReplicaSpecs": ROLES}),
            *pods("w", 2, by=("MPIJob", "s")),
            job("s-launcher", "", 1, by="MPIJob"),
            *pods("launcher", 1, by=("Job", "s-launcher")),
        ],
        {"s": (3, 3)},
    ),
    "a launcher that is made when the workers are ready": (
        [
            made("MPIJob", "s", {"mpiReplicaSpecs": ROLES, "launcherCreationPolicy": "WaitForWorkersReady"}),
            *pods("w", 2, by=("MPIJob", "s")),
            job("s-launcher", "", 1, by="MPIJob"),
            *pods("launcher", 1, by=("Job", "s-launcher")),
        ],
        {"s": (2, 2), "s-launcher": (1, 1)},
    ),
    "pods of a StatefulSet are alone": (
        pods("s", 2, by=("StatefulSet", "s"), annotations={MIN_COUNT: "2"}),
        {"s-0": (1, 1), "s-1": (1, 1)},
    ),
    "pods of an unknown controller with a quorum": (
        pods("s", 3, by=("Thing", "t"), annotations={MIN_COUNT: "2"}),
        {"t": (3, 2)},
    ),
    "pods of an unknown controller without one": (
        pods("s", 2, by=("Thing", "t")),
        {"s-0": (1, 1), "s-1": (1, 1)},
    ),
    "a queue alone makes no group": (
        pods("s", 2, labels={"kueue.x-k8s.io/queue-name": "q"}),
        {"s-0": (1, 1), "s-1": (1, 1)},
    ),
}


def plan_of(objects: list[Obj], cpus: int, policy: Obj | None = None) -> dict[str, Any]:
    return decide([b.node("n", cpu=cpus), *objects], policy)


@pytest.mark.parametrize("case", CASES)
def test_what_is_made_at_once_is_one_gang(case: str) -> None:
    objects, expected = CASES[case]
    plan = plan_of(objects, 10)
    found = {one["group"].removeprefix("default/"): one for one in plan["groups"]}
    assert {name: (one["members"], one["quorum"]) for name, one in found.items()} == expected
    assert all(one["verdict"] == "Scheduled" for one in found.values()), found
    tight = min(quorum for _, quorum in expected.values()) - 1
    assert plan_of(objects, tight)["binds"] == []


@pytest.mark.parametrize("case", CASES)
def test_as_written_an_operators_object_makes_no_gang(case: str) -> None:
    objects, _ = CASES[case]
    owners = {"JobSet", "LeaderWorkerSet", "RayCluster", "MPIJob"}
    owners |= {kind for kind, version in VERSIONS.items() if version == "kubeflow.org/v1"}
    marked = any(GROUP in one["metadata"].get("annotations", {}) for one in objects)
    if marked or not owners & {one["kind"] for one in objects}:
        return
    policy: Obj = {"workloads": {"jobs": "as-written", "owners": "as-written"}}
    groups = plan_of(objects, 10, policy)["groups"]
    assert {one["quorum"] for one in groups} == {1}
    assert len(groups) == sum(one["kind"] == "Pod" for one in objects)


def test_indexes_of_a_member_job_that_are_done_are_not_waited_for() -> None:
    """One pod of the set is gone. What counts is why: it succeeded, or it failed for good, or neither."""
    left = [one for one in of_set() if one["metadata"]["name"] != "s-w-0-1"]
    for status, found, least in (
        ({"succeeded": 1, "completedIndexes": "1"}, (5, 5, "Scheduled"), 4),
        ({"failedIndexes": "1"}, (4, 4, "Scheduled"), 4),
        ({}, (4, 5, "Waiting"), 10),
    ):
        left[0]["status"] = status
        (group,) = plan_of([job_set(), *left], least)["groups"]
        assert (group["members"], group["quorum"], group["verdict"]) == found
        assert plan_of([job_set(), *left], 3)["binds"] == []
    left[0]["status"] = {"failedIndexes": "1"}
    (group,) = plan_of([job_set(annotations={MIN_COUNT: "5"}), *left], 10)["groups"]
    assert group["quorum"] == 5, "what is written stands"


def foreign(version: str, least: int, **about: Any) -> Obj:
    metadata = {"name": "g", **about}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": least}}


KOORDINATOR, VOLCANO = "gang.scheduling.koordinator.sh/", "scheduling.volcano.sh/"
X_K8S = {"scheduling.x-k8s.io/pod-group": "g"}
CONFLICTS: dict[str, tuple[list[Obj], str]] = {
    "two names": (
        pods("p", 2, annotations={GROUP: "g", MIN_COUNT: "2", "armadaproject.io/gangId": "h"}),
        "group default/g by maitred.dev/group and h by armadaproject.io/gangId",
    ),
    "two quorums": (
        [*pods("p", 2, annotations={**X_K8S, MIN_COUNT: "2"}), foreign("scheduling.x-k8s.io/v1alpha1", 1)],
        "Coscheduling group default/g has a quorum of 1, and maitred.dev/min-count says 2",
    ),
    "nobody says how many": (pods("p", 2, annotations=X_K8S), "no PodGroup of this name that can be read"),
    "a count that is no number": (
        pods("p", 2, annotations={f"{KOORDINATOR}name": "g", f"{KOORDINATOR}min-available": "both"}),
        "min-available: 'both' is not a whole number",
    ),
    "a topology that is no JSON": (
        pods("p", 1, annotations={f"{KOORDINATOR}network-topology-spec": "rack"}),
        "network-topology-spec cannot be read",
    ),
    "two topologies": (
        pods(
            "p",
            1,
            annotations={
                "maitred.dev/topology-required": "rack",
                "kueue.x-k8s.io/podset-required-topology": "block",
            },
        ),
        "topology-required is rack and kueue.x-k8s.io/podset-required-topology is block",
    ),
    "a mark of gangs that is not known": (
        [job_set(annotations={"maitred.dev/gang": "each"}), *of_set()],
        "maitred.dev/gang: 'each' is not replicated-job",
    ),
    "a quorum on a JobSet of several gangs": (
        [job_set(annotations={MIN_COUNT: "4"}, dependsOn=[{"name": "w", "status": "Ready"}]), *of_set()],
        "JobSet default/s is several gangs",
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_sources_that_contradict_themselves_make_the_group_invalid(case: str) -> None:
    objects, words = CONFLICTS[case]
    plan = plan_of(objects, 10)
    assert {one["verdict"] for one in plan["groups"]} == {"Invalid"}
    assert words in str(plan["groups"][0]["blockers"])
    assert plan["binds"] == []


def test_what_is_written_overrules_what_a_controller_made() -> None:
    """Volcano and others make PodGroups for the owners of pods."""
    named = {f"{VOLCANO}group-name": "g"}
    own = foreign("scheduling.volcano.sh/v1beta1", 2, ownerReferences=owner("PyTorchJob", "s"))
    training = made("PyTorchJob", "s", {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}})
    members = pods("p", 3, by=("PyTorchJob", "s"), annotations=named)
    (group,) = plan_of([training, own, *members], 10)["groups"]
    assert (group["group"], group["quorum"]) == ("default/s", 3)
    (group,) = plan_of([own, *pods("p", 3, annotations=named)], 10)["groups"]
    assert (group["group"], group["quorum"]) == ("default/g", 2)
