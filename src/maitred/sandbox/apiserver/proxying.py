"""`services/NAME/proxy/...`: a request that goes on to a pod behind a Service, and its answer back."""

import secrets
from collections.abc import Iterator, Mapping

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.routing import Target
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Key, Store

SERVICE_NAME = "kubernetes.io/service-name"
SCHEMES = ("", "http", "https")
CONNECT_SECONDS = 30.0
OUR_OWN = ("Authorization", "X-Remote-User", "X-Remote-Uid", "X-Remote-Group")
"""What is said to the server is not for others to hear."""
HOP_BY_HOP = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Te",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
)
PIECE = 2**16


class ServiceProxy:
    """As the real server does it: by EndpointSlices, to pods only, and without verifying who they are."""

    def __init__(self, store: Store) -> None:
        self._services = store.shelf("services.")
        self._slices = store.shelf("endpointslices.discovery.k8s.io")
        self._pods = store.shelf("pods.")
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def forward(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        place = self.locate(target.namespace, target.name)
        path, query = path_behind(request), request.rel_url.raw_query_string
        asked = f"?{query}" if query else ""
        if not path and request.method in ("GET", "HEAD"):
            return web.Response(status=301, headers={"Location": f"{request.rel_url.raw_path}/{asked}"})
        try:
            return await self._pass_on(request, URL(f"{place}{path or '/'}{asked}", encoded=True))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unavailable(f"error trying to reach service: {error}") from None

    async def _pass_on(self, request: web.BaseRequest, url: URL) -> web.StreamResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(auto_decompress=False, trust_env=False)
        async with self._session.request(
            request.method,
            url,
            headers=forwarded(request),
            data=request.content.iter_chunked(PIECE) if request.can_read_body else None,
            allow_redirects=False,
            ssl=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        ) as answer:
            response = web.StreamResponse(status=answer.status, headers=end_to_end(answer.headers))
            await response.prepare(request)
            async for piece in answer.content.iter_chunked(PIECE):
                await response.write(piece)
            await response.write_eof()
            return response

    # -- where -----------------------------------------------------------------------------------------

    def locate(self, namespace: str, wanted: str) -> str:
        """`wanted`: `name`, `name:port` or `scheme:name:port`, the port by its name or its number."""
        scheme, name, port = parts_of(wanted)
        if port.isdecimal():
            port = self._port_name(namespace, name, int(port))
        found = [
            f"{scheme or 'http'}://{host(endpoint['addresses'][0])}:{number}"
            for slice in self._slices_of(namespace, name)
            for number in numbers(slice, port)
            for endpoint in slice.get("endpoints") or ()
            if endpoint.get("conditions", {}).get("ready", True) and self._is_pod(namespace, endpoint)
        ]
        if not found:
            raise unavailable(f'no endpoints available for service "{name}"')
        return secrets.SystemRandom().choice(found)

    def _port_name(self, namespace: str, name: str, number: int) -> str:
        service = self._services.get(Key(namespace, name))
        if service is None:
            raise refusals.not_found("", "services", name)
        for port in service.body.get("spec", {}).get("ports", ()):
            if port["port"] == number:
                return str(port.get("name", ""))
        raise unavailable(f'no service port {number} found for service "{name}"')

    def _slices_of(self, namespace: str, name: str) -> Iterator[Body]:
        for item in self._slices:
            labels = item.body["metadata"].get("labels", {})
            if item.key.namespace == namespace and labels.get(SERVICE_NAME) == name:
                yield item.body

    def _is_pod(self, namespace: str, endpoint: Body) -> bool:
        """Whoever may write slices shall not reach other places than pods by them."""
        reference = endpoint.get("targetRef", {})
        pod = self._pods.get(Key(namespace, reference.get("name", "")))
        if pod is None or reference.get("namespace") != namespace:
            return False
        addresses = [found.get("ip") for found in pod.body.get("status", {}).get("podIPs", ())]
        return endpoint["addresses"][0] in addresses


def parts_of(wanted: str) -> tuple[str, str, str]:
    match wanted.split(":"):
        case [name]:
            scheme, port = "", ""
        case [name, port]:
            scheme = ""
        case [scheme, name, port]:
            pass
        case _:
            name = ""
    if not name or scheme not in SCHEMES:
        raise refusals.bad_request(f'invalid service request "{wanted}"')
    return scheme, name, port


def numbers(slice: Body, port: str) -> Iterator[int]:
    yield from (
        one["port"] for one in slice.get("ports") or () if one.get("name", "") == port and "port" in one
    )


def host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def path_behind(request: web.BaseRequest) -> str:
    """As it was written: `/api/v1/namespaces/x/services/y/proxy` is left out."""
    parts = request.rel_url.raw_path.split("/")[8:]
    return "/" + "/".join(parts) if parts else ""


def forwarded(request: web.BaseRequest) -> CIMultiDict[str]:
    headers = end_to_end(request.headers)
    for name in [name for name in headers if name in OUR_OWN or name.startswith("X-Remote-Extra-")]:
        del headers[name]
    headers["X-Forwarded-Uri"] = request.rel_url.raw_path
    headers["X-Forwarded-Host"] = request.host
    headers["X-Forwarded-Proto"] = request.scheme
    earlier = headers.get("X-Forwarded-For")
    headers["X-Forwarded-For"] = ", ".join(filter(None, (earlier, request.remote)))
    return headers


def end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Without those that are about the connection, which is another one now."""
    kept = CIMultiDict(headers)
    dropped = [*HOP_BY_HOP, *(name.strip() for name in kept.get("Connection", "").split(","))]
    for name in dropped:
        kept.popall(name, None)
    return kept


def unavailable(message: str) -> Refusal:
    return Refusal(503, "ServiceUnavailable", message)
