"""The pods of a Job, as they are created."""

from typing import Any

from maitred.sandbox.housekeeping.jobs.failures import index_annotations
from maitred.sandbox.housekeeping.jobs.objects import COMPLETION_INDEX, TRACKING, Job
from maitred.sandbox.housekeeping.objects import JOBS, Json, Pod, PodGroup

INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
LONGEST_PREFIX = 58
"""Of a name that the server completes with five letters of its own."""


def owned_by(job: Job) -> Json:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_body(job: Job, index: int | None, group: PodGroup | None, replaced: Pod | None) -> Json:
    """From the template; `replaced` is the failed pod of the same index, whose count this one takes over."""
    template = job.spec.template.metadata
    metadata: Json = {
        "generateName": f"{job.metadata.name}-",
        "labels": dict(template.get("labels") or {}),
        "annotations": dict(template.get("annotations") or {}),
        "finalizers": list(dict.fromkeys([*(template.get("finalizers") or []), TRACKING])),
        "ownerReferences": [owned_by(job)],
    }
    spec = dict(job.spec.template.spec)
    if index is not None:
        number = str(index)
        metadata["generateName"] = indexed_prefix(job.metadata.name, index)
        metadata["labels"][COMPLETION_INDEX] = metadata["annotations"][COMPLETION_INDEX] = number
        spec |= {"hostname": f"{job.metadata.name}-{index}"}
        spec |= {kind: with_index(spec[kind]) for kind in ("containers", "initContainers") if spec.get(kind)}
        if job.spec.backoff_limit_per_index is not None:
            metadata["annotations"] |= index_annotations(job, replaced)
    if group is not None:
        spec["schedulingGroup"] = {"podGroupName": group.metadata.name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def indexed_prefix(job: str, index: int) -> str:
    ending = f"-{index}-"
    return job[: LONGEST_PREFIX - len(ending)] + ending


def with_index(containers: list[Json]) -> list[Json]:
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return [
        with_variable(container, {"name": INDEX_VARIABLE, "valueFrom": source}) for container in containers
    ]


def with_variable(container: Json, variable: dict[str, Any]) -> Json:
    known = container.get("env") or []
    if any(other["name"] == variable["name"] for other in known):
        return container
    return {**container, "env": [*known, variable]}
