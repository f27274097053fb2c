"""What probes and Prometheus ask: /healthz, /readyz, /metrics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from maitred.controllers.listening import Limits, bound, serving_on

LIMITS = Limits(connections=64, of_one_peer=32, idle_seconds=15.0)


@dataclass(slots=True)
class ProcessHealth:
    """How the process is doing, in words; the loops keep it up to date."""

    ready: bool = False
    state: str = "starting"

    def set(self, ready: bool, state: str) -> None:
        self.ready, self.state = ready, state


@asynccontextmanager
async def serving(listen: str, health: ProcessHealth, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Serve on `host:port` for as long as the block runs; nothing at all for an empty address."""
    if not listen:
        yield
        return
    sockets = bound(listen, "--listen")
    try:
        async with serving_on(sockets, application(health, registry), LIMITS):
            yield
    finally:
        for one in sockets:
            one.close()


def application(health: ProcessHealth, registry: CollectorRegistry) -> web.Application:
    async def alive(request: web.Request) -> web.Response:
        # That the event loop answers is the whole point: every loop of ours runs on it.
        return web.Response(text="ok\n")

    async def ready(request: web.Request) -> web.Response:
        return web.Response(text=f"{health.state}\n", status=200 if health.ready else 503)

    async def metrics(request: web.Request) -> web.Response:
        # On the event loop, because gauges read what only it may touch.
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", alive), web.get("/readyz", ready), web.get("/metrics", metrics)])
    return app
