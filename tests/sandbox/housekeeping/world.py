"""A server with one Job and its pods, whose answers may get lost and whose watches may be late."""

from collections import deque
from datetime import UTC, datetime
from typing import Any

import msgspec

from maitred.kube.errors import ApiError, Unreachable
from maitred.kube.resources import PODS, Resource
from maitred.model.selector import LabelSelector
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import ObjectCache, key_of
from maitred.sandbox.housekeeping.jobs.controller import JobController
from maitred.sandbox.housekeeping.jobs.objects import TRACKING, Job, JobSpec, Template
from maitred.sandbox.housekeeping.objects import JOBS, Json, Meta, Pod
from maitred.sandbox.housekeeping.recorder import EventRecorder

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
LABELS = {"job": "a"}


def make_job(**spec: Any) -> Job:
    template = Template({"labels": LABELS}, {"restartPolicy": "Never", "containers": []})
    metadata = Meta(name="a", namespace="default", uid="job", resource_version="1")
    selector = LabelSelector(match_labels=LABELS)
    return Job(metadata, JobSpec(**{"selector": selector, "template": template, **spec}))


def make_pod(number: int, phase: str = "Pending", **fields: Any) -> Pod:
    body: Json = {
        "metadata": {
            "name": f"a-{number}",
            "namespace": "default",
            "uid": f"pod-{number}",
            "resourceVersion": "1",
            "labels": LABELS,
            "finalizers": [TRACKING],
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "job", "controller": True}
            ],
            **fields,
        },
        "status": {"phase": phase},
    }
    return msgspec.convert(body, Pod)


class World(ControllerApi):
    """`trouble` is what becomes of the next writes: lost `before` they are done, `after`, or not at all."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.pods: dict[str, Pod] = {}
        self.trouble: deque[str] = deque()
        self.succeeded = set[str]()
        self.failed = set[str]()
        """UIDs of the pods that have truly ended so."""
        self._version = 1
        self._made = 0
        self._untold: deque[tuple[Resource, Any]] = deque()
        self.restart()

    def restart(self) -> None:
        """A new controller, which knows what the server holds and nothing else."""
        self._stock = ObjectCache(None, ())  # type: ignore[arg-type]
        self.controller = JobController(self._stock, self, EventRecorder(self))
        self._untold.clear()
        self._tell(JOBS, self.job)
        for pod in self.pods.values():
            self._tell(PODS, pod)
        self.deliver(len(self._untold))

    def deliver(self, count: int) -> None:
        """The watches tell the next few changes."""
        for _ in range(min(count, len(self._untold))):
            resource, item = self._untold.popleft()
            shelf: Any = self._stock.shelf(resource, Job if resource is JOBS else Pod)
            if isinstance(item, str):
                shelf.gone(item)
            else:
                shelf.put(item)

    def deliver_all(self) -> None:
        self.deliver(len(self._untold))

    def _tell(self, resource: Resource, item: Any) -> None:
        self._untold.append((resource, item))

    # -- what happens to pods --------------------------------------------------------------------------

    def end(self, pod: Pod, phase: str) -> None:
        (self.succeeded if phase == "Succeeded" else self.failed).add(pod.metadata.uid)
        self._put(msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase=phase)))

    def kill(self, pod: Pod) -> None:
        """Deleted by someone, before it has ended."""
        self.failed.add(pod.metadata.uid)
        self._delete(pod)

    def _delete(self, pod: Pod) -> None:
        if pod.metadata.finalizers:
            self._put(with_meta(pod, deletion_timestamp=pod.metadata.deletion_timestamp or NOW))
        else:
            self._remove(pod)

    def _put(self, pod: Pod) -> Pod:
        self._version += 1
        pod = with_meta(pod, resource_version=str(self._version))
        self.pods[key_of(pod.metadata)] = pod
        self._tell(PODS, pod)
        return pod

    def _remove(self, pod: Pod) -> None:
        del self.pods[key_of(pod.metadata)]
        self._tell(PODS, key_of(pod.metadata))

    # -- what the controller writes --------------------------------------------------------------------

    def _lost(self, when: str) -> None:
        if when == "after" or (self.trouble and self.trouble[0] == when):
            trouble = self.trouble.popleft() if self.trouble else ""
            if trouble == when:
                raise Unreachable("no answer")

    async def create(self, resource: Resource, namespace: str, body: Json, into: Any) -> Any:
        self._lost("before")
        self._made += 1
        name = f"{body['metadata']['generateName']}{self._made}"
        metadata = {**body["metadata"], "name": name, "namespace": namespace, "uid": f"pod-{self._made}"}
        made = msgspec.convert({"metadata": metadata, "status": {"phase": "Pending"}}, Pod)
        pod = self._put(made)
        self._lost("after")
        return pod

    async def merge(
        self, resource: Resource, metadata: Meta, body: Json, into: Any, subresource: str = ""
    ) -> Any:
        self._lost("before")
        if metadata.resource_version != self.job.metadata.resource_version:
            raise ApiError("PATCH", "job", 409, "Conflict", "it has changed")
        self._version += 1
        merged = merge(msgspec.to_builtins(self.job.status), body["status"])
        status = msgspec.convert(merged, type(self.job.status))
        meta = msgspec.structs.replace(self.job.metadata, resource_version=str(self._version))
        self.job = msgspec.structs.replace(self.job, metadata=meta, status=status)
        self._tell(JOBS, self.job)
        self._lost("after")
        return self.job

    async def patch(self, resource: Resource, metadata: Meta, body: Json, subresource: str = "") -> bool:
        self._lost("before")
        pod = self.pods.get(key_of(metadata))
        if pod is not None:
            assert body["metadata"]["$deleteFromPrimitiveList/finalizers"] == [TRACKING]
            self.check_account(pod)
            free = with_meta(pod, finalizers=())
            if free.metadata.deletion_timestamp is not None:
                self._remove(free)
            else:
                self._put(free)
        self._lost("after")
        return pod is not None

    async def delete(self, resource: Resource, metadata: Meta, **_: Any) -> bool:
        self._lost("before")
        pod = self.pods.get(key_of(metadata))
        if pod is not None:
            if pod.metadata.finalizers and pod.is_active:
                self.failed.add(pod.metadata.uid)  # The Job fails, and takes it along.
            self._delete(pod)
        self._lost("after")
        return pod is not None

    def check_account(self, pod: Pod) -> None:
        """No pod whose end the controller has seen may leave before its UID is written down."""
        seen = self._stock.shelf(PODS, Pod).items.get(key_of(pod.metadata))
        if seen is None or not seen.is_finished or self.job.is_indexed:
            return
        uncounted = self.job.status.uncounted_terminated_pods
        assert uncounted is not None
        assert pod.metadata.uid in (*uncounted.succeeded, *uncounted.failed)


def with_meta(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **fields))


def merge(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    base = old if isinstance(old, dict) else {}
    merged = {key: merge(base.get(key), value) for key, value in patch.items() if value is not None}
    return {key: value for key, value in base.items() if key not in patch} | merged
