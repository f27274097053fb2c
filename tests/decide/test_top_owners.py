"""Which owner is suspended to make room, and who leaves with it."""

from typing import Any

import pytest

from tests.decide.preempting import band, decided, evicted, lone, receipt, running
from tests.oracle.builders import Obj, metadata, node
from tests.support import NOON

AS_WRITTEN = {"workloads": {"jobs": "as-written", "owners": "as-written"}}
"""Pods are in the groups that they name, and in no others: here it is the owners that hold them together."""
NODES = [node(f"n{i}", cpu=1) for i in range(4)]
TRAINING = ("PyTorchJob", "TFJob", "JAXJob", "XGBoostJob", "PaddleJob")
APIS = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "RayJob": "ray.io/v1",
    "RayCluster": "ray.io/v1",
    "RayService": "ray.io/v1",
    **dict.fromkeys(TRAINING, "kubeflow.org/v1"),
    "MPIJob": "kubeflow.org/v2beta1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "Workload": "kueue.x-k8s.io/v1beta2",
}
OWN_MANAGERS = {
    "JobSet": "jobset.sigs.k8s.io/jobset-controller",
    "TrainJob": "trainer.kubeflow.org/trainjob-controller",
    "RayCluster": "ray.io/kuberay-operator",
    **dict.fromkeys(TRAINING, "kubeflow.org/training-operator"),
    "MPIJob": "kubeflow.org/mpi-operator",
}
SHUTS_DOWN = {"shutdownAfterJobFinishes": True}
WHOLE = sorted({*APIS} - {"Job", "RayService", "Workload", "LeaderWorkerSet"})


def reference(kind: str, name: str, **more: Any) -> Obj:
    return {
        "apiVersion": APIS.get(kind, "example.com/v1"),
        "kind": kind,
        "name": name,
        "uid": f"{kind}-{name}",
        "controller": True,
        **more,
    }


def owner(kind: str, name: str, *above: Obj, namespace: str = "default", **spec: Any) -> Obj:
    meta = {**metadata(name, namespace), "uid": f"{kind}-{name}", "ownerReferences": list(above)}
    return {"apiVersion": APIS[kind], "kind": kind, "metadata": meta, "spec": spec}


def suspend(kind: str) -> Obj:
    return {"runPolicy": {"suspend": True}} if kind in (*TRAINING, "MPIJob") else {"suspend": True}


def managed_by(kind: str, manager: str) -> Obj:
    return {"runPolicy": {"managedBy": manager}} if kind in (*TRAINING, "MPIJob") else {"managedBy": manager}


def willing(kind: str) -> Obj:
    return SHUTS_DOWN if kind == "RayJob" else {}


def pods_of(above: Obj, count: int = 3, name: str = "low", **fields: Any) -> list[Obj]:
    """Lone pods, one on each node."""
    made = [running(f"{name}-{i}", f"n{i}", **fields) for i in range(count)]
    for pod in made:
        pod["metadata"]["ownerReferences"] = [above]
    return made


def departure(plan: Obj, pod: str = "low-0") -> tuple[str, str]:
    told = receipt(plan, pod)["departure"]
    return told["by"], told["owner"]


def full_house(*objects: Obj) -> Obj:
    """The Plan for a pod that needs the node of one victim, with a pod that cannot leave on the last one."""
    stays = running("stays", "n3", priority=1000)
    return decided([*NODES, *objects, stays, lone()], policy=AS_WRITTEN)


@pytest.mark.parametrize("kind", WHOLE)
def test_an_owner_is_suspended_with_all_pods_below_it(kind: str) -> None:
    plan = full_house(owner(kind, "train", **willing(kind)), *pods_of(reference(kind, "train")))
    assert evicted(plan) == ["low-0", "low-1", "low-2"]
    assert departure(plan) == ("suspend", f"{kind} train")
    assert receipt(plan, "low-0")["departure"]["survives"] is True
    assert receipt(plan, "low-0")["toll"]["units"] == 1


@pytest.mark.parametrize("kind", WHOLE)
def test_pods_are_deleted_one_by_one_where_the_owner_is_suspended_already(kind: str) -> None:
    plan = full_house(
        owner(kind, "train", **{**willing(kind), **suspend(kind)}), *pods_of(reference(kind, "train"))
    )
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0]) == ("delete", f"{kind} train")


@pytest.mark.parametrize("kind", WHOLE)
def test_an_owner_that_another_controller_manages_is_left_alone(kind: str) -> None:
    made = owner(kind, "train", **{**willing(kind), **managed_by(kind, "kueue.x-k8s.io/multikueue")})
    plan = full_house(made, *pods_of(reference(kind, "train")))
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0]) == ("delete", f"{kind} train")


@pytest.mark.parametrize("kind", sorted(OWN_MANAGERS))
def test_an_owner_that_names_its_own_controller_is_suspended(kind: str) -> None:
    made = owner(kind, "train", **managed_by(kind, OWN_MANAGERS[kind]))
    assert departure(full_house(made, *pods_of(reference(kind, "train"))))[0] == "suspend"


@pytest.mark.parametrize("spec", [{}, {**SHUTS_DOWN, "clusterSelector": {"ray.io/cluster": "shared"}}])
def test_a_ray_job_that_refuses_to_be_suspended_loses_pods_and_its_cluster_is_left_alone(spec: Obj) -> None:
    job = owner("RayJob", "train", **spec)
    cluster = owner("RayCluster", "train-x", reference("RayJob", "train"))
    plan = full_house(job, cluster, *pods_of(reference("RayCluster", "train-x")))
    assert departure(plan, evicted(plan)[0]) == ("delete", "RayCluster train-x")
    assert len(evicted(plan)) == 1


def chain() -> list[Obj]:
    return [
        owner("TrainJob", "train"),
        owner("JobSet", "train", reference("TrainJob", "train")),
        *(owner("Job", f"train-{i}", reference("JobSet", "train")) for i in range(2)),
        *pods_of(reference("Job", "train-0"), 2),
        *pods_of(reference("Job", "train-1"), 1, "last"),
    ]


def test_the_topmost_owner_is_suspended_and_the_pods_of_all_its_jobs_leave() -> None:
    objects = chain()
    objects[-1]["spec"]["nodeName"] = "n2"
    plan = full_house(*objects)
    assert evicted(plan) == ["last-0", "low-0", "low-1"]
    assert {departure(plan, pod) for pod in evicted(plan)} == {("suspend", "TrainJob train")}


def test_a_job_whose_job_set_is_not_known_is_not_suspended_behind_its_back() -> None:
    objects = [one for one in chain() if one["kind"] != "JobSet"]
    objects[-1]["spec"]["nodeName"] = "n2"
    plan = full_house(*objects)
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0])[0] == "delete"


def test_a_ray_cluster_of_a_service_is_not_suspended_behind_its_back() -> None:
    cluster = owner("RayCluster", "serve-x", reference("RayService", "serve"))
    plan = full_house(cluster, *pods_of(reference("RayCluster", "serve-x")))
    assert departure(plan, evicted(plan)[0])[0] == "delete"


def test_the_policy_may_delete_pods_instead() -> None:
    objects = [*NODES, owner("JobSet", "train"), *pods_of(reference("JobSet", "train"))]
    objects += [running("stays", "n3", priority=1000), lone()]
    plan = decided(objects, policy={**AS_WRITTEN, "preemption": {"jobs": "delete"}})
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0]) == ("delete", "JobSet train")


@pytest.mark.parametrize(
    "forged",
    [
        {"uid": "another"},
        {"name": "other"},
        {"controller": False},
        {"apiVersion": "evil.example.com/v1"},
        {"kind": "Workload", "apiVersion": APIS["Workload"]},
    ],
    ids=str,
)
def test_a_reference_that_is_not_to_the_owner_itself_makes_no_unit(forged: Obj) -> None:
    made = [owner("JobSet", "train"), owner("Workload", "train")]
    plan = full_house(*made, *pods_of({**reference("JobSet", "train"), **forged}))
    assert len(evicted(plan)) == 1
    assert receipt(plan, evicted(plan)[0])["departure"]["by"] == "delete"


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    plan = full_house(owner("JobSet", "train", namespace="other"), *pods_of(reference("JobSet", "train")))
    assert len(evicted(plan)) == 1


def test_owners_in_a_circle_are_not_suspended() -> None:
    circle = [
        owner("JobSet", "a", reference("JobSet", "b")),
        owner("JobSet", "b", reference("JobSet", "a")),
    ]
    plan = full_house(*circle, *pods_of(reference("JobSet", "a")))
    assert departure(plan, evicted(plan)[0])[0] == "delete"


def test_a_pod_of_high_priority_keeps_no_others_of_its_owner_from_making_room() -> None:
    pods = pods_of(reference("RayCluster", "ray"))
    pods[2]["spec"]["priority"] = 1000
    plan = full_house(owner("RayCluster", "ray"), *pods)
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0]) == ("delete", "RayCluster ray")


def test_two_groups_of_one_owner_leave_together() -> None:
    members = [*band("a", ["n0", "n1"], 2), *band("b", ["n2"], 1)]
    for one in members:
        if one["kind"] == "Pod":
            one["metadata"]["ownerReferences"] = [reference("JobSet", "train")]
    plan = full_house(owner("JobSet", "train"), *members)
    assert evicted(plan) == ["a-0", "a-1", "b-0"]
    assert {receipt(plan, pod)["unit"] for pod in evicted(plan)} == {"default/train"}


def test_the_surplus_of_an_elastic_owner_goes_alone_and_the_owner_stays() -> None:
    members = band("a", ["n0", "n1", "n2"], 2)
    for one in members[1:]:
        one["metadata"]["ownerReferences"] = [reference("RayCluster", "ray")]
    plan = full_house(owner("RayCluster", "ray"), *members)
    assert len(evicted(plan)) == 1
    assert departure(plan, evicted(plan)[0]) == ("delete", "RayCluster ray")


@pytest.mark.parametrize(
    "labels", [{"ray.io/node-type": "head"}, {"training.kubeflow.org/job-role": "master"}], ids=str
)
@pytest.mark.parametrize("selector", [{}, {"kubernetes.io/hostname": "n0"}], ids=["any", "its node"])
def test_a_pod_that_the_others_cannot_do_without_is_no_surplus(labels: Obj, selector: Obj) -> None:
    """Though it is the cheapest to lose, the others would end with it: another leaves, or all of them do."""
    members = band("a", ["n0", "n1", "n2"], 2)
    members[1]["metadata"]["labels"] = labels
    members[1]["status"]["startTime"] = NOON
    for one in members[1:]:
        one["metadata"]["ownerReferences"] = [reference("RayCluster", "ray")]
    preemptor = lone()
    preemptor["spec"]["nodeSelector"] = selector
    stays = running("stays", "n3", priority=1000)
    objects = [*NODES, owner("RayCluster", "ray"), *members, stays, preemptor]
    plan = decided(objects, policy=AS_WRITTEN)
    assert len(evicted(plan)) == (3 if selector else 1)
    assert selector or "a-0" not in evicted(plan)


# ---- LeaderWorkerSets, which cannot be suspended


@pytest.mark.parametrize(
    ("policy", "leave"), [("RecreateGroupOnPodRestart", 3), ("None", 1), ("Default", 1)], ids=str
)
def test_a_group_of_a_leader_worker_set_leaves_whole_unless_its_pods_are_restarted_alone(
    policy: str, leave: int
) -> None:
    template = {"size": 3, "restartPolicy": policy, "workerTemplate": {"spec": {}}}
    serve = owner("LeaderWorkerSet", "serve", leaderWorkerTemplate=template)
    pods = pods_of({**reference("StatefulSet", "serve"), "apiVersion": "apps/v1"}, name="low")
    for number, pod in enumerate(pods):
        prefix = "leaderworkerset.sigs.k8s.io"
        marks = {"name": "serve", "group-index": "0", "worker-index": str(number), "size": "3"}
        pod["metadata"]["labels"] = {f"{prefix}/{key}": value for key, value in marks.items()}
    stays = running("stays", "n3", priority=1000)
    plan = decided([*NODES, serve, *pods, stays, lone()])
    assert len(evicted(plan)) == leave
    assert departure(plan, evicted(plan)[0]) == ("delete", "StatefulSet serve")


# ---- Kueue


def workload(name: str, kind: str, owner_name: str, done: bool = False, **spec: Any) -> Obj:
    made = owner("Workload", name, reference(kind, owner_name), **spec)
    if done:
        made["status"] = {"conditions": [{"type": "Finished", "status": "True"}]}
    return made


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_what_is_kueues_leaves_by_its_workload_and_as_a_whole(kind: str) -> None:
    plan = full_house(
        owner(kind, "train"), workload("kueue-1", kind, "train"), *pods_of(reference(kind, "train"))
    )
    assert evicted(plan) == ["low-0", "low-1", "low-2"]
    assert departure(plan) == ("deactivate", f"{kind} train")
    assert "Workload kueue-1" in receipt(plan, "low-0")["departure"]["words"]


def test_a_workload_that_is_not_active_stops_its_owner_already() -> None:
    made = workload("kueue-1", "JobSet", "train", active=False)
    plan = full_house(owner("JobSet", "train"), made, *pods_of(reference("JobSet", "train")))
    assert departure(plan, evicted(plan)[0]) == ("delete", "JobSet train")


def test_a_workload_that_is_finished_counts_for_nothing() -> None:
    made = workload("kueue-1", "JobSet", "train", done=True)
    plan = full_house(owner("JobSet", "train"), made, *pods_of(reference("JobSet", "train")))
    assert departure(plan) == ("suspend", "JobSet train")


def test_a_workload_that_names_another_object_of_that_name_counts_for_nothing() -> None:
    made = workload("kueue-1", "JobSet", "train")
    made["metadata"]["ownerReferences"][0]["uid"] = "before"
    plan = full_house(owner("JobSet", "train"), made, *pods_of(reference("JobSet", "train")))
    assert departure(plan) == ("suspend", "JobSet train")
