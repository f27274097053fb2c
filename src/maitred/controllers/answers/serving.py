"""The listener: requests in, JSON out, over TLS, so that no token crosses a network in the open."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from maitred.controllers.answers.openapi import document
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.route import Route
from maitred.controllers.answers.service import Service
from maitred.controllers.listening import Limits, serving_on
from maitred.kube.answers import TOKEN_HEADER, VERSION, Reason

log = logging.getLogger(__name__)

LARGEST_BODY = 4 * 2**20
LARGEST_HEADER = 2**15
"""Some tokens are long."""
BODY_SECONDS = 10.0
JSON = "application/json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LIMITS = Limits(connections=256, of_one_peer=192, idle_seconds=15.0)
"""Most come by way of an API server, of which there are few, so one peer may have most of them."""
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@asynccontextmanager
async def serving_answers(
    sockets: Sequence[socket.socket], service: Service, routes: Sequence[Route]
) -> AsyncIterator[None]:
    """For as long as the block runs."""
    sizes = {"max_field_size": LARGEST_HEADER, "max_line_size": LARGEST_HEADER}
    try:
        async with serving_on(sockets, application(service, routes), LIMITS, identity(), **sizes):
            yield
    finally:
        service.close()


def identity() -> ssl.SSLContext:
    """A certificate of this process alone. The API server does not verify what it proxies to."""
    import trustme  # It takes a moment to load, which only those who serve need wait for.

    name = socket.gethostname()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority = trustme.CA(organization_name="maitred", key_type=trustme.KeyType.ECDSA)
    authority.issue_cert(name, common_name=name[:64], key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


def application(service: Service, routes: Sequence[Route]) -> web.Application:
    described = msgspec.json.encode(document(routes))

    async def describe(request: web.Request) -> web.Response:
        return web.Response(body=described, content_type=JSON)

    async def alive(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    app = web.Application(middlewares=[in_words], client_max_size=LARGEST_BODY)
    app.router.add_get("/openapi.json", describe, allow_head=False)
    app.router.add_get("/healthz", alive, allow_head=False)
    for route in routes:
        app.router.add_route(route.method, f"/{VERSION}/{route.path}", handler_of(service, route))
    return app


def handler_of(service: Service, route: Route) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        user = await service.visitor(request.headers.get(TOKEN_HEADER, ""))
        values = route.read(request.match_info, list(request.query.items()))
        data = await service.answer(route, values, user, lambda: body_of(request))
        return web.Response(body=data, content_type=JSON)

    return answer


async def body_of(request: web.Request) -> bytes:
    if (request.content_length or 0) > LARGEST_BODY:
        raise too_large()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise RefusedError(
            Reason.BAD_QUESTION, f"the body did not come within {BODY_SECONDS:g} s; send it at once"
        ) from None


def too_large() -> RefusedError:
    return RefusedError(Reason.TOO_LARGE, f"the body has more than {LARGEST_BODY // 2**20} MiB")


@web.middleware
async def in_words(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every refusal is JSON with one line for people, also those of the router."""
    allowed = {}
    try:
        response = await handler(request)
    except RefusedError as error:
        refused = error
    except web.HTTPRequestEntityTooLarge:
        refused = too_large()
    except web.HTTPMethodNotAllowed as error:
        refused = RefusedError(Reason.WRONG_METHOD, f"{request.method} is not allowed on this path")
        allowed = {"Allow": error.headers["Allow"]}
    except web.HTTPNotFound:
        refused = RefusedError(Reason.NO_SUCH_PATH, "there is no such path; /openapi.json lists them")
    except MemoryError:
        refused = RefusedError(Reason.TOO_LARGE, "the answer needs too much memory; ask about less at a time")
    except Exception:
        log.exception("%s %s", request.method, request.path)
        refused = RefusedError(Reason.FAILED, "the answer failed; the log of the scheduler says why")
    else:
        response.headers.update(HEADERS)
        return response
    return refusal(refused, allowed)


def refusal(error: RefusedError, more: Mapping[str, str]) -> web.Response:
    retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return web.Response(
        body=msgspec.json.encode(error.refusal),
        status=error.refusal.code,
        content_type=JSON,
        headers={**HEADERS, **retry, **more},
    )
