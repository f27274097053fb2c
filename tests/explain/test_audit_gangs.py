"""Which pods belong together, and which of these need each other: as people wrote it down, and no more."""

import json
from pathlib import Path
from typing import Any

import pytest

from maitred.cli.audit.dumps import read_dump
from maitred.explain.audit.answer import Audit
from maitred.explain.audit.auditing import audit
from maitred.model.policy import Policy
from tests.explain.audited import FOREIGN, NOON, Json, audited, foreign, half_started, job, node, pod

LWS = "leaderworkerset.sigs.k8s.io/"
YUNIKORN = "yunikorn.apache.org/"
TASKS = json.dumps([{"name": "head", "minMember": 1}, {"name": "workers", "minMember": 2}])


def three(seated: int = 2, **about: Any) -> list[Json]:
    """Three pods for an hour, some of them on a node."""
    return [pod(f"p{number}", node="n" if number < seated else "", **about) for number in range(3)]


def training(spec: Json) -> Json:
    about = {"name": "g", "namespace": "ml", "uid": "g"}
    return {"kind": "PyTorchJob", "of": "kubeflow.org", "metadata": about, "spec": spec}


def job_set(**parallelism: int) -> Json:
    about = {"name": "g", "namespace": "ml", "uid": "g"}
    jobs = [{"name": name, "template": {"spec": {"parallelism": n}}} for name, n in parallelism.items()]
    return {"kind": "JobSet", "metadata": about, "spec": {"replicatedJobs": jobs}}


def job_of_set(name: str, role: str, members: int) -> Json:
    made = job(name, members)
    made["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": role}
    made["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "g", "uid": "g", "controller": True}]
    return made


SAID: dict[str, list[Json]] = {
    "maitred.dev": three(annotations={"maitred.dev/group": "g", "maitred.dev/min-count": "3"}),
    "PodGroup": [
        *three(group="g"),
        {
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "ml"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
        },
    ],
    "Coscheduling": [
        *three(labels={"scheduling.x-k8s.io/pod-group": "g"}),
        foreign("scheduling.x-k8s.io", "g", 3),
    ],
    "Volcano": [
        *three(annotations={"scheduling.k8s.io/group-name": "g"}),
        foreign("scheduling.volcano.sh", "g", 3),
    ],
    "KAI": [*three(annotations={"pod-group-name": "g"}), foreign("scheduling.run.ai", "g", 3)],
    "Koordinator": three(
        annotations={
            "gang.scheduling.koordinator.sh/name": "g",
            "gang.scheduling.koordinator.sh/min-available": "3",
        }
    ),
    "Kueue": three(
        labels={"kueue.x-k8s.io/pod-group-name": "g"},
        annotations={"kueue.x-k8s.io/pod-group-total-count": "3"},
    ),
    "Armada": three(annotations={"armadaproject.io/gangId": "g", "armadaproject.io/gangCardinality": "3"}),
    "Gödel": [
        *three(labels={"godel.bytedance.com/pod-group-name": "g"}),
        foreign("scheduling.godel.kubewharf.io", "g", 3),
    ],
    "YuniKorn": three(
        labels={f"{YUNIKORN}app-id": "g"},
        annotations={f"{YUNIKORN}task-group-name": "workers", f"{YUNIKORN}task-groups": TASKS},
    ),
    "LeaderWorkerSet": three(
        labels={f"{LWS}name": "g", f"{LWS}group-index": "0"}, annotations={f"{LWS}size": "3"}
    ),
    "JobSet": [
        pod("p0", node="n", owner=("Job", "g-a")),
        pod("p1", node="n", owner=("Job", "g-b")),
        pod("p2", owner=("Job", "g-b")),
        job_of_set("g-a", "a", 1),
        job_of_set("g-b", "b", 2),
        job_set(a=1, b=2),
    ],
    "PyTorchJob": three(owner=("PyTorchJob", "g")),
    "RayCluster": three(owner=("RayCluster", "g")),
    "Job": [*three(owner=("Job", "g")), job("g", 3)],
}


@pytest.mark.parametrize("by", SAID)
def test_every_convention_makes_a_gang_of_its_pods(by: str) -> None:
    found = audited(node("n"), *SAID[by])
    [kind] = found.groups
    assert (kind.by, kind.groups, kind.gangs) == (by, 1, 1)
    assert list(half_started(found).values()) == [(2, 3)]


@pytest.mark.parametrize("by", SAID)
def test_a_gang_that_has_all_its_places_is_no_finding(by: str) -> None:
    whole = [
        {**item, "spec": {**item["spec"], "nodeName": "n"}} if is_pod(item) else item for item in SAID[by]
    ]
    found = audited(node("n"), *whole)
    assert (found.half_started, found.starting) == ((), ())


def is_pod(item: Json) -> bool:
    return bool(item["kind"] == "Pod")


NO_GANG: dict[str, list[Json]] = {
    "pods of a Deployment": three(owner=("ReplicaSet", "web")),
    "pods of a StatefulSet": three(owner=("StatefulSet", "db")),
    "pods on their own": three(),
    "a Job that works off a queue": [*three(owner=("Job", "g")), job("g", 3, completions=9)],
    "a Job whose pods are alike": [
        *three(owner=("Job", "g")),
        job("g", 3, completionMode="NonIndexed"),
    ],
    "a Job that is not there": three(owner=("Job", "g")),
    "a Job of the same name, made anew": [
        *three(owner=("Job", "g")),
        {**job("g", 3), "metadata": {"name": "g", "namespace": "ml", "uid": "another"}},
    ],
    "a group that says nothing of its size": three(labels={"scheduling.x-k8s.io/pod-group": "g"}),
    "a group that is content with less": [
        *three(annotations={"scheduling.k8s.io/group-name": "g"}),
        foreign("scheduling.volcano.sh", "g", 2),
    ],
    "marks without a quorum": three(annotations={"maitred.dev/group": "g"}),
    "marks that contradict each other": [
        pod(
            f"p{n}", node="n" if n else "", annotations={"maitred.dev/group": "g", "maitred.dev/min-count": m}
        )
        for n, m in enumerate(("2", "3", "3"))
    ],
    "a PodGroup of the kind basic": [
        *three(group="g"),
        {
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "ml"},
            "spec": {"schedulingPolicy": {"basic": {}}},
        },
    ],
    "a Ray cluster that may grow": three(labels={"ray.io/cluster": "g"}),
    "an elastic PyTorchJob": [
        *three(owner=("PyTorchJob", "g")),
        training({"elasticPolicy": {"minReplicas": 2}}),
    ],
    "a PyTorchJob whose gang is smaller than all its pods": [
        *three(owner=("PyTorchJob", "g")),
        training({"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}),
    ],
    "pods that belong to their nodes": three(owner=("DaemonSet", "agent"), labels={"ray.io/cluster": "g"}),
    "tasks that cannot be read": three(
        labels={f"{YUNIKORN}app-id": "g"},
        annotations={f"{YUNIKORN}task-group-name": "x", f"{YUNIKORN}task-groups": "[{"},
    ),
}


@pytest.mark.parametrize("what", NO_GANG)
def test_what_leaves_a_doubt_is_no_gang(what: str) -> None:
    found = audited(node("n"), *NO_GANG[what])
    assert (found.half_started, found.starting) == ((), ())


def test_a_group_that_a_job_has_made_by_itself_is_what_the_job_is() -> None:
    """Since 1.37 with its workload gates on."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "g", "uid": "g", "controller": True}
    about = {"name": "g-1", "namespace": "ml", "ownerReferences": [owner]}
    basic = {"kind": "PodGroup", "metadata": about, "spec": {}}
    pods = three(group="g-1", owner=("Job", "g"))
    assert half_started(audited(node("n"), basic, *pods, job("g", 3))) == {"g": (2, 3)}
    said = job("g", 3, scheduling={"schedulingPolicy": {"basic": {}}})
    assert half_started(audited(node("n"), basic, *pods, said)) == {}


VERSIONS = {
    "Pod": "v1",
    "Node": "v1",
    "Job": "batch/v1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "PyTorchJob": "kubeflow.org/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
}


def as_dumped(item: Json) -> Json:
    """The object with its full API version, as kubectl writes it."""
    foreign = FOREIGN.get(item.get("of", "")) if item["kind"] == "PodGroup" else None
    version = VERSIONS[item["kind"]] if foreign is None else foreign.api_versions[0]
    return {"apiVersion": version, **{field: value for field, value in item.items() if field != "of"}}


def in_dump(path: Path, items: list[Json]) -> Audit:
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*map(as_dumped, items)]}))
    observer, _ = read_dump([str(path)], Policy(), NOON)
    return audit(observer, NOON)


@pytest.mark.parametrize("by", SAID)
def test_a_dump_with_full_api_versions_makes_the_same_gangs(by: str, tmp_path: Path) -> None:
    found = in_dump(tmp_path / "dump.json", [node("n"), *SAID[by]])
    assert list(half_started(found).values()) == [(2, 3)]


OBJECTS = {by: [item for item in said if item["kind"] == "PodGroup"] for by, said in SAID.items()}


@pytest.mark.parametrize("by", [by for by, objects in OBJECTS.items() if objects])
def test_the_object_of_a_group_is_found_in_a_dump(by: str, tmp_path: Path) -> None:
    """Its pods say nothing of their number, so without the object nobody knows it."""
    pods = [item for item in SAID[by] if item not in OBJECTS[by]]
    assert half_started(in_dump(tmp_path / "dump.json", [node("n"), *pods])) == {}


@pytest.mark.parametrize("what", NO_GANG)
def test_a_dump_with_full_api_versions_makes_no_gang_of_what_is_none(what: str, tmp_path: Path) -> None:
    found = in_dump(tmp_path / "dump.json", [node("n"), *NO_GANG[what]])
    assert (found.half_started, found.starting) == ((), ())


def test_the_elastic_policy_is_that_of_the_very_owner() -> None:
    """There may be another PyTorchJob of that name by now."""
    pods = three(owner=("PyTorchJob", "g"))
    for item in pods:
        item["metadata"]["ownerReferences"][0]["uid"] = "another"
    elastic = training({"elasticPolicy": {"minReplicas": 2}})
    assert half_started(audited(node("n"), *pods, elastic)) == {"g": (2, 3)}


def test_the_job_of_another_api_group_is_no_job_of_kubernetes() -> None:
    pods = three(owner=("Job", "g"))
    for item in pods:
        item["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
    assert half_started(audited(node("n"), *pods, job("g", 3))) == {}


def test_members_that_have_succeeded_count() -> None:
    done = pod("done", node="n", phase="Succeeded", ended=10, owner=("Job", "g"))
    rest = [pod(f"p{number}", node="n", owner=("Job", "g")) for number in range(2)]
    assert audited(node("n"), job("g", 3), done, *rest).half_started == ()
    removed = job("g", 3, status={"succeeded": 1, "completedIndexes": "2"})
    assert audited(node("n"), removed, *rest).half_started == ()


def test_a_job_that_is_complete_is_no_finding() -> None:
    done = [pod(f"p{n}", node="n", phase="Succeeded", ended=10, owner=("Job", "g")) for n in range(3)]
    found = audited(node("n"), job("g", 3, status={"succeeded": 3}), *done)
    assert (found.half_started, found.starting, found.pods) == ((), (), 0)


def test_a_job_without_its_object_is_asked_for() -> None:
    [warning] = audited(node("n"), *three(owner=("Job", "g"))).warnings
    assert warning.startswith("1 Job that pods belong to is not in the dump, such as ml/g")
