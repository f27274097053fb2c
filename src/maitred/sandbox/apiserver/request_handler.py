"""Every HTTP request: who sends it, whether they may, how large it may be, and how a refusal is worded."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import aclosing, suppress

from aiohttp import web
from multidict import CIMultiDict

from maitred.sandbox.apiserver import forms, refusals
from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.call import Call, call_of, truth
from maitred.sandbox.apiserver.discovery import subresource_verbs
from maitred.sandbox.apiserver.impersonation import impersonated
from maitred.sandbox.apiserver.kinds.names import path_segment
from maitred.sandbox.apiserver.lists import check_version, number
from maitred.sandbox.apiserver.media import APPLY, JSON
from maitred.sandbox.apiserver.pages import Pages
from maitred.sandbox.apiserver.proxying import ServiceProxy
from maitred.sandbox.apiserver.receiving import parse
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.reviews import Authenticate
from maitred.sandbox.apiserver.routing import Target, api_of, container_target, target_of
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.selectors import named
from maitred.sandbox.apiserver.served import GROUPS, Served
from maitred.sandbox.apiserver.store import Store, encode
from maitred.sandbox.apiserver.users import User
from maitred.sandbox.apiserver.verbs import Answer, Verbs
from maitred.sandbox.apiserver.watching import Stream, error_line, watch_of

log = logging.getLogger(__name__)

LARGEST_BODY = 3 * 2**20
BODY_SECONDS = 30.0
"""Within which a client has to send what it has announced."""
MOST_AT_ONCE = 400
"""Requests whose bodies are being read; those beyond are asked to come again."""
MOST_WATCHES = 2000
WATCHED_SECONDS = 60.0
"""Within which a watch has to take what it is told, before it is hung up on."""
PIECE = 2**18
"""Bytes of an answer that are sent at a time."""
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class ApiRequests:
    def __init__(
        self,
        authenticate: Authenticate,
        authorizer: Authorizer,
        served: Served,
        store: Store,
        verbs: Verbs,
        pages: Pages,
    ) -> None:
        self._authenticate = authenticate
        self._authorizer = authorizer
        self._served = served
        self._store = store
        self._verbs = verbs
        self._pages = pages
        self.proxy = ServiceProxy(store)
        self.bodies = 0
        self.watches = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refusal as refusal:
            return refused(refusal)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except RecursionError:
            return refused(refusals.bad_request("the object provided is nested too deep"))
        except Exception:
            # One bad request must not end the sandbox; the log says where it went wrong.
            log.exception("%s %s", request.method, request.path)
            return refused(refusals.internal_error())

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in ("/healthz", "/livez", "/readyz"):
            return web.Response(text="ok")
        user = self._user(request)
        api = api_of(request.path)
        if api is None or not api[1]:
            self._allow_path(user, request)
            return self._page(request)
        target = target_of(self._served, *api)
        if target is None:
            return self._of_containers(request, user, container_target(self._served, *api))
        verb = verb_of(request, target)
        self._allow(user, verb, target, target.name or named(request.query.get("fieldSelector", "")))
        check_name(target)
        if target.subresource == "proxy":
            return await self.proxy.forward(request, target)
        if verb == "watch":
            return await self._watch(request, target)
        if request.method == "GET":
            return self._read(request, target)
        return await self._write(request, target, verb, user)

    def _of_containers(
        self, request: web.BaseRequest, user: User, target: Target | None
    ) -> web.StreamResponse:
        """`kubectl logs` and `kubectl exec`: nobody can answer them, but whoever may ask is told why."""
        if target is None:
            return self._nothing(request)
        verb = VERBS.get(request.method, "")
        if verb not in ("get", "create"):
            raise refusals.method_not_allowed()
        self._allow(user, verb, target, target.name)
        self._verbs.check_there(target)
        raise refusals.nothing_runs(target.name, target.subresource)

    # -- who -----------------------------------------------------------------------------------------------

    def _user(self, request: web.BaseRequest) -> User:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        user = self._authenticate(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise refusals.unauthorized()
        return impersonated(user, request.headers, self._authorizer)

    def _allow(self, user: User, verb: str, target: Target, name: str) -> None:
        kind = target.kind
        resource = f"{kind.plural}/{target.subresource}" if target.subresource else kind.plural
        why = self._authorizer.refusal(user, verb, kind.group, resource, target.namespace, name)
        if why is not None:
            raise why

    def _allow_path(self, user: User, request: web.BaseRequest) -> None:
        why = self._authorizer.path_refusal(user, request.method.lower(), request.path)
        if why is not None:
            raise why

    # -- reading -------------------------------------------------------------------------------------------

    def _page(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            raise refusals.method_not_allowed()
        page = self._pages.page(request.path, request.headers.get("Accept", ""))
        if page is None:
            return self._nothing(request)
        tag = page.tag and f'"{page.tag}"'
        if tag and request.headers.get("If-None-Match", "") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        headers = {"Content-Type": page.media, "Vary": "Accept", **({"ETag": tag} if tag else {})}
        return web.Response(body=page.body, headers=headers)

    def _nothing(self, request: web.BaseRequest) -> web.Response:
        """In the words of the API where there is one to ask, and of a plain web server elsewhere."""
        api, group = (*request.path.split("/"), "")[1:3]
        if api == "api" or (api == "apis" and group in GROUPS):
            raise refusals.no_such_path()
        return web.Response(status=404, text="404 page not found\n")

    def _read(self, request: web.BaseRequest, target: Target) -> web.Response:
        accept = request.headers.get("Accept", "")
        form = forms.form_of(accept, request.query, many=not target.name)
        if target.name:
            check_version(request.query.get("resourceVersion", ""), self._store.version)
            return respond(self._verbs.get(target, form), deprecations(target))
        return respond(self._verbs.list(target, request.query, form), deprecations(target))

    async def _watch(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        form = forms.watch_form(request.headers.get("Accept", ""), request.query)
        watch = watch_of(target.kind, target.namespace, request.query)
        if self.watches >= MOST_WATCHES:
            raise refusals.too_many_requests()
        stream = Stream(self._store, target.kind, watch, forms.Showing(target.kind, form))
        response = web.StreamResponse(headers={"Content-Type": JSON})
        response.enable_chunked_encoding()
        self.watches += 1
        try:
            # Who watches may go at any time; there is nobody to tell.
            with suppress(ConnectionError):
                await response.prepare(request)
                await self._send(request, response, stream)
        finally:
            self.watches -= 1
        return response

    async def _send(self, request: web.BaseRequest, response: web.StreamResponse, stream: Stream) -> None:
        try:
            async with aclosing(stream.lines()) as lines:
                async for chunk in lines:
                    await write_soon(request, response, chunk)
        except Refusal as refusal:
            await response.write(error_line(refusal))
        await response.write_eof()

    # -- writing -------------------------------------------------------------------------------------------

    async def _write(self, request: web.BaseRequest, target: Target, verb: str, user: User) -> web.Response:
        is_apply = verb == "patch" and media_of(request) == APPLY
        call = call_of(
            user, request.query, request.headers.get("User-Agent", ""), now(), verb, is_apply=is_apply
        )
        data = await self._body(request)
        form = forms.form_of(
            request.headers.get("Accept", ""), request.query, many=verb == "deletecollection"
        )
        try:
            answer = self._carry_out(request, target, verb, data, call, form)
        except Refusal as refusal:
            return refused(refusal, [*deprecations(target), *call.warnings])
        return respond(answer, [*deprecations(target), *call.warnings])

    def _carry_out(
        self, request: web.BaseRequest, target: Target, verb: str, data: bytes, call: Call, form: forms.Form
    ) -> Answer:
        media = media_of(request)
        match verb:
            case "create":
                return self._verbs.create(target, data, media, call, form)
            case "update":
                return self._verbs.update(target, data, media, call, form)
            case "patch":
                return self._verbs.patch(target, data, media, call, form)
        options = deletion_options(request, data, media)
        call.is_dry = call.is_dry or bool(options.get("dryRun"))
        if verb == "delete":
            return self._verbs.delete(target, options, call, form)
        return self._verbs.delete_many(target, request.query, options, call)

    async def _body(self, request: web.BaseRequest) -> bytes:
        if (request.content_length or 0) > LARGEST_BODY:
            raise refusals.too_large(LARGEST_BODY)
        if self.bodies >= MOST_AT_ONCE:
            raise refusals.too_many_requests()
        self.bodies += 1
        try:
            return await read_soon(request)
        finally:
            self.bodies -= 1


async def write_soon(request: web.BaseRequest, response: web.StreamResponse, chunk: bytes) -> None:
    """Who asks and does not listen would make the server keep what it has to say."""
    try:
        async with asyncio.timeout(WATCHED_SECONDS):
            await response.write(chunk)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionAbortedError from None


async def read_soon(request: web.BaseRequest) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await read(request)
    except TimeoutError:
        raise Refusal(408, "Timeout", f"no body within {BODY_SECONDS:.0f} s") from None


async def read(request: web.BaseRequest) -> bytes:
    """At most so much, whatever was announced."""
    parts, size = list[bytes](), 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > LARGEST_BODY:
            raise refusals.too_large(LARGEST_BODY)
        parts.append(part)
    return b"".join(parts)


def verb_of(request: web.BaseRequest, target: Target) -> str:
    method = request.method
    if method == "GET" and not target.name and "list" in target.kind.verbs:
        return "watch" if truth(request.query.get("watch", "")) else "list"
    if method == "HEAD" and target.subresource == "proxy":
        method = "GET"
    verb = VERBS.get(method, "")
    if verb == "delete" and not target.name:
        verb = "deletecollection"
    if verb not in verbs_on(target):
        raise refusals.method_not_allowed()
    return verb


def check_name(target: Target) -> None:
    problem = path_segment(target.name)
    if problem:
        raise refusals.bad_request(f'Name parameter invalid: "{target.name}": {problem}')


def verbs_on(target: Target) -> Collection[str]:
    """What can be done at this place."""
    if target.subresource:
        return subresource_verbs(target.subresource)
    if target.name:
        return set(target.kind.verbs) & {"get", "update", "patch", "delete"}
    if target.kind.namespaced and not target.namespace:
        return ()
    return set(target.kind.verbs) & {"create", "deletecollection"}


def deprecations(target: Target) -> list[str]:
    return [target.kind.deprecation] if target.kind.deprecation else []


def media_of(request: web.BaseRequest) -> str:
    return request.headers.get("Content-Type", "").split(";")[0].strip().lower()


def deletion_options(request: web.BaseRequest, data: bytes, media: str) -> Body:
    """From the body, and where there is none, from the query."""
    type = struct("meta.v1.DeleteOptions")
    options = parse(data, media, type) if data else {}
    try:
        conform(options, type)
    except Misfit as misfit:
        raise refusals.bad_request(str(misfit)) from None
    if not options:
        query = request.query
        if "gracePeriodSeconds" in query:
            options["gracePeriodSeconds"] = number(query["gracePeriodSeconds"])
        if "propagationPolicy" in query:
            options["propagationPolicy"] = query["propagationPolicy"]
    return options


def respond(answer: Answer, warnings: list[str]) -> web.Response:
    headers = CIMultiDict({"Content-Type": JSON, "Cache-Control": "no-cache, private"})
    warn(headers, warnings)
    body, newline = answer.body, b"\n"
    if len(body) <= PIECE:
        return web.Response(status=answer.code, body=body + newline, headers=headers)
    headers["Content-Length"] = str(len(body) + len(newline))
    return web.Response(status=answer.code, body=in_pieces(body, newline), headers=headers)


async def in_pieces(*parts: bytes) -> AsyncIterator[memoryview]:
    """The client reads while more is sent, others get their turn, and nothing large is copied once more."""
    for part in parts:
        view = memoryview(part)
        for begin in range(0, len(view), PIECE):
            yield view[begin : begin + PIECE]


def warn(headers: CIMultiDict[str], warnings: Iterable[str]) -> None:
    for warning in dict.fromkeys(warnings):
        quoted = warning.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        headers.add("Warning", f'299 - "{quoted}"')


def refused(refusal: Refusal, warnings: Iterable[str] = ()) -> web.Response:
    headers = CIMultiDict({"Content-Type": JSON, "Cache-Control": "no-cache, private"})
    warn(headers, warnings)
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    return web.Response(status=refusal.code, body=encode(refusal.body()) + b"\n", headers=headers)
