"""Jobs that we have suspended, as the watch hands them over."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from maitred.kube.resources import resource_of
from maitred.kube.wire import WatchedJob
from maitred.model.suspending import BY_TITLE, SUSPENDABLE
from maitred.model.suspension import Suspension
from tests.oracle.builders import metadata

SERVED = {row.type: resource_of(row.type) for row in SUSPENDABLE}
JOBS = BY_TITLE["Job"]
KEPT = "test/kept"
"""On a Job of these tests: the record about it, which is kept elsewhere."""
RECORD = Suspension(
    key="default/train",
    uid="job-train",
    by="maitred",
    group="default/train",
    preemptor="default/urgent",
    at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    priority=10,
    preemptor_priority=100,
    members=4,
    scheduler_name="maitred",
)


def record(**changes: Any) -> Suspension:
    return msgspec.structs.replace(RECORD, **changes)


def job(
    name: str = "train",
    size: int = 4,
    *,
    kept: Suspension | str | None = RECORD,
    suspend: bool = True,
    marks: dict[str, str] | None = None,
    cpu: int = 1,
    pod: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    generation: int = 2,
    **meta: Any,
) -> WatchedJob:
    """`kept` is the record about it; `pod` more of the spec of its pods."""
    if isinstance(kept, Suspension):
        kept = msgspec.structs.replace(kept, key=f"default/{name}", uid=f"job-{name}")
    annotations = {} if kept is None else {KEPT: str(kept)}
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {
        "metadata": {"labels": {"job-name": name}, "annotations": marks or {}},
        "spec": {"schedulerName": "maitred", "containers": [container], **(pod or {})},
    }
    body = {
        "metadata": {
            **metadata(name, "default", annotations=annotations, created=5, **meta),
            "uid": f"job-{name}",
            "generation": generation,
        },
        "spec": {
            "completionMode": "Indexed",
            "parallelism": size,
            "completions": size,
            "suspend": suspend,
            "template": template,
            **(spec or {}),
        },
        "status": status or {},
    }
    return msgspec.convert(body, WatchedJob)
