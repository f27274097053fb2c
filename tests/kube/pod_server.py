"""A small API server for writes, which decides as kube-apiserver does and can be told to misbehave.

A fault is used up by the next write. What matters is what it leaves behind: executed or not, answered or not.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from maitred.kube.client import Client
from maitred.kube.connection import Connection

Object = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Fault:
    status: int = 0
    """Answer so; without a status the connection is torn."""
    message: str = ""
    executed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    """No answer ever, on a connection that stays open."""


class Refusal(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


def answer(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": message}
    return web.json_response(body, status=status, headers=headers)


class NoCredentials:
    async def headers(self) -> Mapping[str, str]:
        return {}

    def invalidate(self) -> None:
        pass


class PodServer:
    def __init__(self) -> None:
        self.pods: dict[str, Object] = {}
        self.events: dict[str, Object] = {}
        self.groups: dict[str, Object] = {}
        self.jobs: dict[str, Object] = {}
        self.faults: list[Fault] = []
        self.read_faults: list[Fault] = []
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self.budget_spent = False
        self._uids = itertools.count(1)

    def add(self, name: str, **spec: Any) -> str:
        uid = f"uid-{next(self._uids)}"
        meta = {"name": name, "namespace": "default", "uid": uid}
        self.pods[name] = {"metadata": meta, "spec": spec, "status": {}}
        return uid

    def add_job(self, name: str, suspend: bool = False, annotations: Mapping[str, str] | None = None) -> str:
        uid = f"uid-{next(self._uids)}"
        meta = {"name": name, "uid": uid, "resourceVersion": "1", "annotations": dict(annotations or {})}
        self.jobs[name] = {"metadata": meta, "spec": {"suspend": suspend}}
        return uid

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Client]:
        app = web.Application(middlewares=[self._misbehave])
        self.route(app.router)
        # A hanging answer ends with its connection, or closing would wait for it.
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            async with Client(Connection(f"http://127.0.0.1:{port}", NoCredentials())) as client:
                yield client
        finally:
            await runner.cleanup()

    def route(self, router: web.UrlDispatcher) -> None:
        pod = "/api/v1/namespaces/{namespace}/pods/{name}"
        router.add_get(pod, self._get)
        router.add_delete(pod, self._delete)
        router.add_post(pod + "/binding", self._bind)
        router.add_post(pod + "/eviction", self._evict)
        router.add_patch(pod + "/status", self._patch_status)
        group = "/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups/{name}/status"
        router.add_patch(group, self._patch_status)
        job = "/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        router.add_get(job, self._get)
        router.add_patch(job, self._patch_job)
        router.add_post("/apis/events.k8s.io/v1/namespaces/{namespace}/events", self._event)

    @web.middleware
    async def _misbehave(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append((request.method, request.path))
        queue = self.read_faults if request.method == "GET" else self.faults
        fault = queue.pop(0) if queue else None
        if fault is None or fault.executed:
            try:
                given = await handler(request)
            except Refusal as no:
                given = answer(no.status, no.reason, no.message)
            if fault is None:
                return given
        if fault.hangs:
            await asyncio.sleep(3600)
        if fault.status:
            return answer(fault.status, "", fault.message, fault.headers)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def _named(self, request: web.Request) -> Object:
        name = request.match_info["name"]
        kinds = {"podgroups": self.groups, "jobs": self.jobs, "pods": self.pods}
        kind = next(kind for kind in kinds if f"/{kind}/" in request.path)
        if name not in kinds[kind]:
            raise Refusal(404, "NotFound", f'{kind} "{name}" not found')
        return kinds[kind][name]

    async def _body(self, request: web.Request) -> Object:
        body: Object = json.loads(await request.read())
        self.bodies.append(body)
        return body

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._named(request))

    async def _bind(self, request: web.Request) -> web.Response:
        """As assignPod and setPodNodeAndMetadata do it, in their order."""
        body = await self._body(request)
        pod = self._named(request)
        meta, spec = pod["metadata"], pod["spec"]
        if body["metadata"]["name"] != meta["name"]:
            raise Refusal(400, "BadRequest", "name in URL does not match name in Binding object")
        check_uid(body["metadata"]["uid"], meta["uid"])
        if "deletionTimestamp" in meta:
            raise Refusal(409, "Conflict", "pod is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise Refusal(409, "Conflict", f"pod is already assigned to node {spec['nodeName']}")
        if spec.get("schedulingGates"):
            raise Refusal(409, "Conflict", "pod has non-empty .spec.schedulingGates")
        spec["nodeName"] = body["target"]["name"]
        meta.setdefault("annotations", {}).update(body["metadata"].get("annotations", {}))
        return web.json_response({"kind": "Status", "status": "Success", "code": 201}, status=201)

    async def _delete(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        self._remove(self._named(request), body)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def _evict(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        pod = self._named(request)
        if self.budget_spent:
            raise Refusal(
                429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."
            )
        self._remove(pod, body["deleteOptions"])
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    def _remove(self, pod: Object, options: Object) -> None:
        """A pod on a node is only marked: its kubelet deletes it."""
        check_uid(options["preconditions"]["uid"], pod["metadata"]["uid"])
        if pod["spec"].get("nodeName") and options.get("gracePeriodSeconds") != 0:
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            del self.pods[pod["metadata"]["name"]]

    async def _patch_status(self, request: web.Request) -> web.Response:
        if request.content_type != "application/strategic-merge-patch+json":
            raise Refusal(415, "UnsupportedMediaType", request.content_type)
        body = await self._body(request)
        thing = self._named(request)
        if body["metadata"]["uid"] != thing["metadata"]["uid"]:
            raise Refusal(422, "Invalid", "Pod is invalid: metadata.uid: Invalid value: field is immutable")
        status = thing.setdefault("status", {})
        for name in ("nominatedNodeName", "extendedResourceClaimStatus"):
            if name in body["status"]:
                status[name] = body["status"][name]
        conditions = status.setdefault("conditions", [])
        for patch in body["status"].get("conditions", ()):
            old = next((c for c in conditions if c["type"] == patch["type"]), None)
            if old is None:
                conditions.append(patch)
            else:
                old.update(patch)
        return web.json_response(thing)

    async def _patch_job(self, request: web.Request) -> web.Response:
        if request.content_type != "application/merge-patch+json":
            raise Refusal(415, "UnsupportedMediaType", request.content_type)
        body = await self._body(request)
        job = self._named(request)
        meta, patch = job["metadata"], body["metadata"]
        if patch["resourceVersion"] != meta["resourceVersion"]:
            raise Refusal(409, "Conflict", "the object has been modified; please apply your changes to it")
        if patch["uid"] != meta["uid"]:
            raise Refusal(422, "Invalid", "Job is invalid: metadata.uid: Invalid value: field is immutable")
        marks = meta["annotations"] | patch["annotations"]
        meta["annotations"] = {key: value for key, value in marks.items() if value is not None}
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        job["spec"] |= body["spec"]
        return web.json_response(job)

    async def _event(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        name = body["metadata"]["name"]
        if name in self.events:
            raise Refusal(409, "AlreadyExists", f'events "{name}" already exists')
        self.events[name] = body
        return web.json_response(body, status=201)


def check_uid(asked: str, actual: str) -> None:
    if asked != actual:
        raise Refusal(
            409,
            "Conflict",
            f"Precondition failed: UID in precondition: {asked}, UID in object meta: {actual}",
        )
