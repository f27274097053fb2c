"""Manifests of workloads as people write them, of every kind that makes gangs, and remedies carried out in
them: a person changes the manifest, and not a pod that its controller made of it."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from maitred.model.operators import jobset, leaderworkerset
from tests.explain.loosening import LOOSENED
from tests.oracle import builders as b
from tests.oracle.builders import MIN_COUNT, TOPOLOGY, Obj

NAME, SPACE = "w", "default"
GPU = "nvidia.com/gpu"
ASKS = [{GPU: "1"}, {GPU: "4"}, {GPU: "8"}, {GPU: "9"}, {"cpu": "1"}, {"cpu": "4"}, {GPU: "4", "cpu": "2"}]


@st.composite
def specs(draw: st.DrawFn) -> Obj:
    asked = draw(st.sampled_from(ASKS))
    main = {"name": "main", "image": "example/train:1.0", "resources": {"limits": asked}}
    spec: Obj = {"containers": [main]}
    if draw(st.integers(0, 5)) == 0:
        spec["nodeSelector"] = {"zone": draw(st.sampled_from("ab"))}
    if draw(st.integers(0, 5)) == 0:
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    return spec


@st.composite
def templates(draw: st.DrawFn, restart: str = "") -> Obj:
    spec = draw(specs())
    return {"spec": {**spec, "restartPolicy": restart} if restart else spec}


def few(most: int = 3) -> st.SearchStrategy[int]:
    return st.integers(1, most)


def written(version: str, kind: str, spec: Obj, marks: Obj) -> Obj:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": NAME, "annotations": marks},
        "spec": spec,
    }


MARKS = st.sampled_from([{}, {}, {}, {TOPOLOGY: "rack"}])


@st.composite
def jobs(draw: st.DrawFn) -> Obj:
    size = draw(few(5))
    spec = {"parallelism": size, "completions": size, "template": draw(templates("Never"))}
    spec["completionMode"] = draw(st.sampled_from(("Indexed", "NonIndexed")))
    return written("batch/v1", "Job", spec, draw(MARKS))


@st.composite
def job_sets(draw: st.DrawFn) -> Obj:
    several = []
    for name in draw(st.sampled_from((("workers",), ("driver", "workers")))):
        size = draw(few())
        inner = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
        inner["template"] = draw(templates("Never"))
        several.append({"name": name, "replicas": draw(few(2)), "template": {"spec": inner}})
    marks = {**draw(MARKS), **draw(st.sampled_from([{}, {}, {jobset.EXCLUSIVE_TOPOLOGY: "rack"}]))}
    if draw(st.integers(0, 4)) == 0:
        marks["maitred.dev/gang"] = "replicated-job"
    return written("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": several}, marks)


@st.composite
def worker_sets(draw: st.DrawFn) -> Obj:
    said: Obj = {"size": draw(few(4)), "workerTemplate": draw(templates())}
    if draw(st.booleans()):
        said["leaderTemplate"] = draw(templates())
    spec = {"replicas": draw(few(2)), "leaderWorkerTemplate": said}
    spec["startupPolicy"] = draw(st.sampled_from(("LeaderCreated", "LeaderCreated", "LeaderReady")))
    marks = {**draw(MARKS), **draw(st.sampled_from([{}, {}, {leaderworkerset.EXCLUSIVE_TOPOLOGY: "rack"}]))}
    return written("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, marks)


@st.composite
def ray_clusters(draw: st.DrawFn) -> Obj:
    workers = [
        {
            "groupName": f"g{number}",
            "replicas": draw(few()),
            "minReplicas": draw(st.integers(0, 1)),
            "maxReplicas": 5,
            "template": draw(templates()),
        }
        for number in range(draw(few(2)))
    ]
    spec = {"headGroupSpec": {"template": draw(templates())}, "workerGroupSpecs": workers}
    return written("ray.io/v1", "RayCluster", spec, draw(MARKS))


@st.composite
def mpi_jobs(draw: st.DrawFn) -> Obj:
    roles = {"Launcher": {"replicas": 1, "template": draw(templates())}}
    roles["Worker"] = {"replicas": draw(few(4)), "template": draw(templates())}
    spec = {"mpiReplicaSpecs": roles}
    spec["launcherCreationPolicy"] = draw(st.sampled_from(("AtStartup", "AtStartup", "WaitForWorkersReady")))
    return written("kubeflow.org/v2beta1", "MPIJob", spec, draw(MARKS))


@st.composite
def torch_jobs(draw: st.DrawFn) -> Obj:
    roles = {"Worker": {"replicas": draw(few(4)), "template": draw(templates())}}
    if draw(st.booleans()):
        roles["Master"] = {"replicas": 1, "template": draw(templates())}
    spec: Obj = {"pytorchReplicaSpecs": roles}
    if draw(st.integers(0, 2)) == 0:
        spec["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 4}
    return written("kubeflow.org/v1", "PyTorchJob", spec, draw(MARKS))


WORKLOADS = st.one_of(jobs(), job_sets(), worker_sets(), ray_clusters(), mpi_jobs(), torch_jobs())


@st.composite
def rooms(draw: st.DrawFn) -> list[Obj]:
    """A small cluster with racks and zones, some of it taken or closed."""
    found: list[Obj] = []
    for number in range(draw(few(4))):
        labels = {"rack": draw(st.sampled_from(("r1", "r2"))), "zone": draw(st.sampled_from("ab"))}
        closed: Obj = draw(
            st.sampled_from([{}, {}, {}, {"cordoned": True}, {"taints": ["team=x:NoSchedule"]}])
        )
        gpu = draw(st.sampled_from((4, 8, 8)))
        found.append(b.node(f"n{number}", cpu=8, gpu=gpu, labels=labels, **closed))
        if draw(st.integers(0, 2)) == 0:
            taken = draw(st.sampled_from((1, 4, gpu)))
            found.append(b.pod(f"other-{number}", gpu=taken, node=f"n{number}", created=1))
    return found


# -- remedies, carried out in a manifest -------------------------------------------------------------------


class NotInManifestError(Exception):
    """What the remedy names is not in the manifest: its controller adds it."""


def remedied(workload: Obj, detail: Obj, several: bool) -> Obj:
    """The manifest of somebody who followed the remedy. One that makes `several` gangs has no quorum of its
    own."""
    changed = copy.deepcopy(workload)
    match detail["kind"]:
        case "request":
            for spec in pod_specs(changed):
                _ask_for_less(spec, detail["resource"], detail["to"])
        case "topology" if TOPOLOGY in changed["metadata"]["annotations"]:
            marks = changed["metadata"]["annotations"]
            del marks[TOPOLOGY]
            marks |= {TOPOLOGY: detail["to"]} if detail["to"] else {}
        case "selector" | "taint":
            for spec in pod_specs(changed):
                LOOSENED[detail["kind"]](spec, detail)
        case "quorum" if not several:
            changed["metadata"]["annotations"][MIN_COUNT] = str(detail["to"])
        case "members" if changed["kind"] == "Job":
            changed["spec"] |= {"parallelism": detail["to"], "completions": detail["to"]}
        case "members" if changed["kind"] == "PyTorchJob":
            for pod in detail["without"]:
                _leave_out(changed["spec"]["pytorchReplicaSpecs"], pod)
        case "members" if changed["kind"] == "LeaderWorkerSet":
            changed["spec"]["leaderWorkerTemplate"]["size"] -= len(detail["without"])
        case _:
            raise NotInManifestError(detail)
    return changed


def _leave_out(roles: Obj, pod: str) -> None:
    role = "Master" if "-master-" in pod else "Worker"
    roles[role]["replicas"] -= 1
    if not roles[role]["replicas"]:
        del roles[role]


def _ask_for_less(spec: Obj, resource: str, most: str) -> None:
    asked = spec["containers"][0]["resources"]["limits"]
    if resource in asked and amount(asked[resource]) > amount(most):
        asked[resource] = most


def amount(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def pod_specs(value: Any) -> Iterator[Obj]:
    """Of every template in a manifest."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for inner in value.values():
            yield from pod_specs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pod_specs(inner)
