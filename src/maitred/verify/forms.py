"""The forms of operators' objects and of other schedulers' PodGroups.

Whoever may create such objects may write anything into them, where their definitions are not installed or are
lax. One that has not the form that its API gives it says nothing: it counts as missing.
"""

import re
from collections.abc import Callable
from typing import Any

from .fields import Doc

MOST_PARTS, LONGEST = 1024, 317
NAME = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")

Form = Callable[[Any], bool] | dict[str, Any] | list[Any]
"""What a value must be: for an object the forms of its fields, for a list the one of its items."""


def fits(value: Any, form: Form) -> bool:
    if isinstance(form, dict):
        return isinstance(value, dict) and all(
            fits(value[name], one) for name, one in form.items() if value.get(name) is not None
        )
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    return form(value)


def text(value: Any) -> bool:
    return isinstance(value, str)


def name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def size(value: Any) -> bool:
    return integer(value) and 0 <= value < 2**31


def strings(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for pair in value.items() for one in pair)


def anything(_: Any) -> bool:
    return True


def amounts(value: Any) -> bool:
    whole = isinstance(value, dict) and not any(isinstance(one, bool) for one in value.values())
    return whole and all(isinstance(one, str | int | float) for one in value.values())


def moment(value: Any) -> bool:
    try:
        return Doc({"at": value}, "").moment("at") is not None
    except ValueError:
        return False


def several(form: Form) -> Form:
    return lambda value: fits(value, [form]) and len(value) <= MOST_PARTS


def by_name(form: Form) -> Form:
    def check(value: Any) -> bool:
        return isinstance(value, dict) and len(value) <= MOST_PARTS and all(map(name, value))

    return lambda value: check(value) and all(fits(one, form) for one in value.values())


MARKED = {"labels": strings, "annotations": strings}
OWNER = {"kind": text, "name": text, "uid": text, "apiVersion": text, "controller": flag}
META = {
    **MARKED,
    "name": text,
    "namespace": text,
    "uid": text,
    "creationTimestamp": moment,
    "deletionTimestamp": moment,
    "deletionGracePeriodSeconds": integer,
    "ownerReferences": [OWNER],
}
RESOURCES = {"requests": amounts, "limits": amounts}
CONTAINER = {"resources": RESOURCES, "restartPolicy": text}
POD = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "overhead": amounts,
    "resources": RESOURCES,
    "nodeSelector": strings,
    "affinity": {"nodeAffinity": {}, "podAffinity": {}, "podAntiAffinity": {}},
    "tolerations": [{"key": text, "operator": text, "value": text, "effect": text}],
    "topologySpreadConstraints": [{}],
    "hostNetwork": flag,
    "hostUsers": flag,
    "volumes": [{}],
    "resourceClaims": [{}],
    "schedulingGates": [{"name": text}],
    "schedulingGroup": {"podGroupName": text},
    "schedulerName": text,
    "nodeName": text,
    "priority": integer,
    "priorityClassName": text,
    "preemptionPolicy": lambda value: value in ("", "PreemptLowerPriority", "Never"),
    "activeDeadlineSeconds": integer,
    "terminationGracePeriodSeconds": integer,
}
TEMPLATE = {"metadata": MARKED, "spec": POD}
CONDITIONS = {"conditions": several({"type": name, "status": name, "reason": name})}
JOB = {
    "template": TEMPLATE,
    **dict.fromkeys(("parallelism", "completions", "backoffLimit", "backoffLimitPerIndex"), integer),
    "completionMode": text,
    "suspend": flag,
    "activeDeadlineSeconds": integer,
    "managedBy": text,
}
REPLICATED_JOB = {
    "name": name,
    "groupName": name,
    "template": {"metadata": MARKED, "spec": JOB},
    "replicas": size,
    "dependsOn": several({"name": name, "status": name}),
}
JOBS_STATUS = several(
    {"name": name, **dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), size)}
)
RAY_CLUSTER = {
    "headGroupSpec": {"template": TEMPLATE, "labels": by_name(text)},
    "workerGroupSpecs": several(
        {
            "groupName": name,
            **dict.fromkeys(("replicas", "minReplicas", "maxReplicas", "numOfHosts"), size),
            "suspend": flag,
            "template": TEMPLATE,
            "labels": by_name(text),
        }
    ),
    "enableInTreeAutoscaling": flag,
    "autoscalerOptions": {"resources": RESOURCES},
    "suspend": flag,
    "managedBy": name,
}


def training(roles: str) -> Form:
    spec = {
        "runPolicy": {
            "suspend": flag,
            "managedBy": text,
            "activeDeadlineSeconds": integer,
            "schedulingPolicy": {"minAvailable": integer, "priorityClass": text},
        },
        "elasticPolicy": {"minReplicas": integer, "maxReplicas": integer},
        "launcherCreationPolicy": name if roles == "mpiReplicaSpecs" else anything,
        roles: by_name({"replicas": size, "template": TEMPLATE}),
    }
    return {"metadata": META, "spec": spec, "status": CONDITIONS}


KINDS: dict[str, Form] = {
    "JobSet": {
        "metadata": META,
        "spec": {
            "replicatedJobs": several(REPLICATED_JOB),
            "startupPolicy": {"startupPolicyOrder": name},
            "suspend": flag,
            "managedBy": name,
        },
        "status": {
            **CONDITIONS,
            "restarts": size,
            "terminalState": name,
            "replicatedJobsStatus": JOBS_STATUS,
        },
    },
    "TrainJob": {
        "metadata": META,
        "spec": {
            "runtimeRef": {"name": name, "apiGroup": name, "kind": name},
            "trainer": {"numNodes": size, "resourcesPerNode": RESOURCES},
            "runtimePatches": several({}),
            "suspend": flag,
            "managedBy": name,
            "activeDeadlineSeconds": integer,
        },
        "status": {**CONDITIONS, "jobsStatus": JOBS_STATUS},
    },
    "LeaderWorkerSet": {
        "metadata": META,
        "spec": {
            "leaderWorkerTemplate": {
                "workerTemplate": TEMPLATE,
                "leaderTemplate": TEMPLATE,
                "size": size,
                "restartPolicy": name,
                "subGroupPolicy": {"subGroupPolicyType": name, "subGroupSize": size},
                "volumeClaimTemplates": several(anything),
            },
            "replicas": size,
            "startupPolicy": name,
        },
        "status": {**CONDITIONS, "replicas": size, "readyReplicas": size},
    },
    "RayCluster": {"metadata": META, "spec": RAY_CLUSTER, "status": {**CONDITIONS, "state": name}},
    "RayJob": {
        "metadata": META,
        "spec": {
            "rayClusterSpec": RAY_CLUSTER,
            "clusterSelector": by_name(text),
            "shutdownAfterJobFinishes": flag,
            "submissionMode": name,
            "submitterPodTemplate": TEMPLATE,
            "suspend": flag,
            "managedBy": name,
            "activeDeadlineSeconds": integer,
        },
        "status": dict.fromkeys(("rayClusterName", "jobStatus", "jobDeploymentStatus"), name),
    },
    "PyTorchJob": training("pytorchReplicaSpecs"),
    "TFJob": training("tfReplicaSpecs"),
    "JAXJob": training("jaxReplicaSpecs"),
    "XGBoostJob": training("xgbReplicaSpecs"),
    "PaddleJob": training("paddleReplicaSpecs"),
    "MPIJob": training("mpiReplicaSpecs"),
}
LEVELS = {"topology": name, "requiredTopologyLevel": name, "preferredTopologyLevel": name}
POD_GROUPS: dict[str, dict[str, Form]] = {
    "scheduling.volcano.sh": {
        "minTaskMember": by_name(size),
        "queue": name,
        "priorityClassName": name,
        "networkTopology": {"mode": name, "highestTierAllowed": size, "highestTierName": name},
    },
    "scheduling.run.ai": {
        "queue": name,
        "priorityClassName": name,
        "preemptibility": name,
        "topologyConstraint": LEVELS,
        "subGroups": several({"name": name, "minMember": size, "parent": name, "topologyConstraint": LEVELS}),
    },
}
"""What the PodGroups of some API groups say beyond their quorum."""


def well_formed(kind: str, api_group: str, doc: Doc) -> bool:
    form = KINDS.get(kind)
    if form is None:
        form = {"metadata": META, "spec": {"minMember": size, **POD_GROUPS.get(api_group, {})}}
    return fits(doc.raw, form) and _named(doc.doc("metadata"))


def _named(meta: Doc) -> bool:
    own, space = meta.text("name"), meta.text("namespace")
    return bool(NAME.fullmatch(own)) and len(own) <= 253 and (not space or _is_space(space))


def _is_space(space: str) -> bool:
    return bool(NAME.fullmatch(space)) and len(space) <= 63
