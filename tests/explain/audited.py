"""Objects as a cluster writes them, with times, and what an audit says of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from maitred.explain.audit.answer import Audit
from maitred.explain.audit.auditing import audit
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.model.devices.claims import ResourceClaim
from maitred.model.devices.slices import ResourceSlice
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.job import Job
from maitred.model.kinds import OPERATED
from maitred.model.node import Node
from maitred.model.operators.jobset import JobSet
from maitred.model.policy import Policy
from maitred.model.training import PyTorchJob

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KINDS: dict[str, Any] = {
    "Pod": SeenPod,
    "Job": Job,
    "Node": Node,
    "PodGroup": PodGroup,
    "CompositePodGroup": CompositePodGroup,
    "PyTorchJob": PyTorchJob,
    "JobSet": JobSet,
    "ResourceSlice": ResourceSlice,
    "ResourceClaim": ResourceClaim,
}


FOREIGN = {row.group: row for row in OPERATED if row.name == "PodGroup"}


def ago(minutes: float) -> str:
    return (NOON - timedelta(minutes=minutes)).isoformat()


def pod(
    name: str,
    *,
    node: str = "",
    created: float = 60,
    bound: float | None = None,
    ready: float | None = None,
    phase: str = "",
    ended: float | None = None,
    deleted: float | None = None,
    requests: Json | None = None,
    owner: tuple[str, str] | None = None,
    group: str = "",
    **about: Any,
) -> Json:
    """Times in minutes before noon. A pod on a node was bound when it was created, and ready then."""
    bound = created if bound is None else bound
    ready = bound if ready is None else ready
    conditions = []
    if node:
        conditions += [{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(bound)}]
        if ready >= 0:
            conditions += [{"type": "Ready", "status": "True", "lastTransitionTime": ago(ready)}]
    metadata: Json = {
        "name": name,
        "namespace": "ml",
        "uid": name,
        "creationTimestamp": ago(created),
        **about,
    }
    if owner:
        kind, of = owner
        metadata["ownerReferences"] = [{"kind": kind, "name": of, "uid": of, "controller": True}]
    if deleted is not None:
        metadata["deletionTimestamp"] = ago(deleted)
    status: Json = {"phase": phase or ("Running" if node else "Pending"), "conditions": conditions}
    if ended is not None:
        state = {"terminated": {"startedAt": ago(bound), "finishedAt": ago(ended)}}
        status["containerStatuses"] = [{"state": state}]
    spec: Json = {"nodeName": node, "containers": [{"resources": {"requests": requests or {GPU: 1}}}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def node(name: str, **allocatable: Any) -> Json:
    labels = {"kubernetes.io/hostname": name, **allocatable.pop("labels", {})}
    has = {"cpu": 16, "memory": "64Gi", "pods": 110, GPU: 8, **allocatable}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": has}}


def job(name: str, members: int, **spec: Any) -> Json:
    said = {"completionMode": "Indexed", "parallelism": members, "completions": members, **spec}
    status = said.pop("status", {})
    about = {"name": name, "namespace": "ml", "uid": name}
    return {"kind": "Job", "metadata": about, "spec": said, "status": status}


def foreign(api_group: str, name: str, least: int) -> Json:
    about = {"name": name, "namespace": "ml"}
    return {"kind": "PodGroup", "of": api_group, "metadata": about, "spec": {"minMember": least}}


def tell(observer: Observer, item: Json, at: datetime = NOON) -> None:
    kind = FOREIGN[item["of"]].type if item["kind"] == "PodGroup" and "of" in item else KINDS[item["kind"]]
    observer.see(msgspec.convert(item, kind), at.timestamp())


def audited(*items: Json, policy: Policy | None = None, now: datetime = NOON) -> Audit:
    observer = Observer(policy or Policy())
    for item in items:
        tell(observer, item, now)
    return audit(observer, now)


def half_started(found: Audit) -> dict[str, tuple[int, int]]:
    return {gang.group.removeprefix("ml/"): (gang.seated, gang.quorum) for gang in found.half_started}
