"""A gang of a story as objects of the API: a PodGroup, and a Job whose pods are its members."""

from typing import Any

from maitred.model.node import NOT_READY, UNREACHABLE
from maitred.sandbox.kubelets.marks import RUN_SECONDS, START_SECONDS
from maitred.sandbox.world.story import StoryGang

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
FORGIVING = 100
"""How often a Job bears the loss of each worker. Losses are counted for each by itself, since a Job that
loses eight at once would otherwise wait ten minutes before it makes new ones."""
LOST_SECONDS = 2
"""How long a pod stays bound to a machine that is lost. In real clusters it is five minutes."""
LOST = (UNREACHABLE, NOT_READY)


def gang_objects(gang: StoryGang) -> tuple[Json, Json]:
    return pod_group(gang), job(gang)


def pod_group(gang: StoryGang) -> Json:
    policy: Json = {"basic": {}} if gang.basic else {"gang": {"minCount": gang.quorum or gang.workers}}
    spec: Json = {"schedulingPolicy": policy}
    if gang.within:
        spec["schedulingConstraints"] = {"topology": [{"key": gang.within}]}
    if gang.priority_class_name:
        spec["priorityClassName"] = gang.priority_class_name
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": gang.name},
        "spec": spec,
    }


def job(gang: StoryGang) -> Json:
    spec = {
        "completionMode": "Indexed",
        "completions": gang.workers,
        "parallelism": gang.workers,
        "backoffLimitPerIndex": FORGIVING,
        "template": {"metadata": pod_metadata(gang), "spec": pod_spec(gang)},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": gang.name}, "spec": spec}


def pod_metadata(gang: StoryGang) -> Json:
    told = {RUN_SECONDS: gang.seconds, START_SECONDS: gang.start_seconds}
    return {"annotations": {mark: f"{seconds:g}" for mark, seconds in told.items() if seconds is not None}}


def pod_spec(gang: StoryGang) -> Json:
    resources: Json = {"requests": {"cpu": gang.cpu, "memory": gang.memory}}
    if gang.gpus:
        resources["limits"] = {GPU: str(gang.gpus)}
    spec: Json = {
        "schedulerName": gang.scheduler,
        "schedulingGroup": {"podGroupName": gang.name},
        "restartPolicy": "Never",
        "tolerations": [tolerated(key) for key in LOST],
        "containers": [{"name": "worker", "image": "example/train:1.0", "resources": resources}],
    }
    if gang.priority_class_name:
        spec["priorityClassName"] = gang.priority_class_name
    return spec


def tolerated(key: str) -> Json:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_SECONDS}
