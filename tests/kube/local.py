"""A server on loopback that answers as a test wants, and the kubeconfig that leads to it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.connection import Connection
from maitred.kube.errors import KubeError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
VARIABLES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def leave_no_settings(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing on this machine says which cluster to talk to."""
    for name in (*VARIABLES, *PROXIES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that gives every request to the handler."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await handler(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def echo(request: web.Request) -> web.StreamResponse:
    """Says what was sent, and the certificate that the client has shown."""
    assert request.transport is not None
    shown = request.transport.get_extra_info("peercert") or {}
    names = [value for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
    headers = [[name, value] for name, value in request.headers.items()]
    return web.json_response({"headers": headers, "certificate": names})


def write_kubeconfig(
    file: Path,
    server: str = "https://127.0.0.1:6443",
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, str] | None = None,
    name: str = "dev",
) -> str:
    """One context, cluster and user of this name. What is given comes on top of what it takes."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
    }
    file.write_text(json.dumps(config))
    return str(file)


async def ask(connection: Connection, times: int = 1) -> dict[str, Any]:
    """What the last of some requests for `/` is answered with."""
    async with Client(connection) as client:
        for _ in range(times):
            answer = await client.request("GET", "/")
    told: dict[str, Any] = json.loads(answer)
    return told


def headers_named(told: dict[str, Any], name: str) -> list[str]:
    return [value for key, value in told["headers"] if key.lower() == name.lower()]


async def sent(connection: Connection) -> str:
    """What a request has as proof of who we are."""
    return (await connection.credentials.headers()).get("Authorization", "")


def trouble(connection: Connection, path: str = "/version") -> str:
    """The one line that a request which fails is reported with."""

    async def attempt() -> None:
        async with Client(connection) as client:
            await client.request("GET", path)

    with pytest.raises(KubeError) as caught:
        asyncio.run(attempt())
    return one_line(caught.value)


def refused(kubeconfig: str | None = None, context: str | None = None) -> str:
    """The one line that a configuration is refused with."""
    with pytest.raises(KubeError) as caught:
        connect(kubeconfig, context)
    return one_line(caught.value)


def one_line(error: Exception) -> str:
    assert "\n" not in str(error)
    return str(error)


def server_context(certificate: trustme.LeafCert, clients: trustme.CA | None = None) -> ssl.SSLContext:
    """For a server with this certificate, which asks for those of `clients`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    if clients is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        clients.configure_trust(context)
    return context
