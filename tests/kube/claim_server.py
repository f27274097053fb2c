"""A small API server that has resource claims too, and takes of them what kube-apiserver takes."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from maitred.model.devices.claims import FINALIZER
from tests.kube.pod_server import Object, PodServer, Refusal, check_uid

PATH = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"


class ClaimServer(PodServer):
    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, Object] = {}
        self.versions = 0
        self.changed: Callable[[str, Object | None], None] = lambda name, claim: None
        """Told of every change of a claim, as a watch would be."""
        self.bound: Callable[[str], None] = lambda pod: None

    def add_claim(self, name: str, **status: Any) -> str:
        uid = f"claim-{next(self._uids)}"
        meta = {"name": name, "namespace": "default", "uid": uid}
        self.claims[name] = {"metadata": meta, "spec": {"devices": {"requests": [{"name": "gpu"}]}}}
        self.set_claim(name, status=status)
        return uid

    def set_claim(self, name: str, **fields: Any) -> None:
        """As others write it."""
        claim = self.claims[name]
        claim.update(fields)
        self._changed(claim)

    def route(self, router: web.UrlDispatcher) -> None:
        super().route(router)
        router.add_post(PATH, self._create_claim)
        router.add_get(PATH + "/{name}", self._get_claim)
        router.add_patch(PATH + "/{name}", self._patch_claim)
        router.add_patch(PATH + "/{name}/status", self._patch_claim)
        router.add_delete(PATH + "/{name}", self._delete_claim)

    def _changed(self, claim: Object) -> None:
        self.versions += 1
        claim["metadata"]["resourceVersion"] = str(self.versions)
        name, meta = claim["metadata"]["name"], claim["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            del self.claims[name]
            self.changed(name, None)
        else:
            self.changed(name, json.loads(json.dumps(claim)))

    def _claim(self, request: web.Request) -> Object:
        name = request.match_info["name"]
        if name not in self.claims:
            raise Refusal(404, "NotFound", f'resourceclaims "{name}" not found')
        return self.claims[name]

    async def _create_claim(self, request: web.Request) -> web.Response:
        claim = await self._body(request)
        name = claim["metadata"]["name"]
        if name in self.claims:
            raise Refusal(409, "AlreadyExists", f'resourceclaims "{name}" already exists')
        claim["metadata"] |= {"namespace": "default", "uid": f"claim-{next(self._uids)}"}
        claim["status"] = {}
        self.claims[name] = claim
        self._changed(claim)
        return web.json_response(claim, status=201)

    async def _get_claim(self, request: web.Request) -> web.Response:
        return web.json_response(self._claim(request))

    async def _patch_claim(self, request: web.Request) -> web.Response:
        if request.content_type != "application/merge-patch+json":
            raise Refusal(415, "UnsupportedMediaType", request.content_type)
        patch, claim = await self._body(request), self._claim(request)
        about, meta = patch["metadata"], claim["metadata"]
        if about["uid"] != meta["uid"]:
            raise Refusal(422, "Invalid", "invalid: metadata.uid: Invalid value: field is immutable")
        if about["resourceVersion"] != meta["resourceVersion"]:
            raise Refusal(409, "Conflict", "the object has been modified; please apply your changes to it")
        if request.path.endswith("/status"):
            status = merged(claim.get("status", {}), patch["status"])
            check_status(claim, status)
            claim["status"] = status
        else:
            claim["metadata"] = merged(meta, about)
        self._changed(claim)
        return web.json_response(claim)

    async def _delete_claim(self, request: web.Request) -> web.Response:
        body, claim = await self._body(request), self._claim(request)
        check_uid(body["preconditions"]["uid"], claim["metadata"]["uid"])
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self._changed(claim)
        return web.json_response(claim)

    async def _bind(self, request: web.Request) -> web.Response:
        answer = await super()._bind(request)
        self.bound(request.match_info["name"])
        return answer


def merged(old: Any, patch: Any) -> Any:
    """As RFC 7386 says."""
    if not isinstance(patch, dict):
        return patch
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def check_status(claim: Object, status: Object) -> None:
    before = claim.get("status", {}).get("allocation")
    if before is not None and status.get("allocation") not in (None, before):
        raise Refusal(422, "Invalid", "status.allocation: Invalid value: field is immutable")
    if status.get("reservedFor") and "allocation" not in status:
        raise Refusal(
            422, "Invalid", "status.reservedFor: Forbidden: may not be specified when not allocated"
        )
    protected = FINALIZER in claim["metadata"].get("finalizers", ())
    if "allocation" in status and before is None and not protected:
        raise Refusal(422, "Invalid", "a claim that is allocated must be protected")  # ours to keep
