"""What probes and Prometheus ask: /healthz, /readyz, /metrics."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from maitred.model.manifest import InputError


@dataclass(slots=True)
class Health:
    """How the process is doing, in words; the loops keep it up to date."""

    ready: bool = False
    state: str = "starting"

    def set(self, ready: bool, state: str) -> None:
        self.ready, self.state = ready, state


@asynccontextmanager
async def serving(listen: str, health: Health, registry: CollectorRegistry) -> AsyncIterator[None]:
    """Serve on `host:port` for as long as the block runs; nothing at all for an empty address."""
    if not listen:
        yield
        return
    host, _, port = listen.rpartition(":")
    runner = web.AppRunner(application(health, registry), access_log=None)
    await runner.setup()
    try:
        await listening(web.TCPSite(runner, host.strip("[]") or None, int(port)), listen)
        yield
    finally:
        await runner.cleanup()


async def listening(site: web.TCPSite, listen: str, option: str = "--listen") -> None:
    try:
        await site.start()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(
            option, "", "", f"{listen}: {why.lower()}; name another address, or '' for none"
        ) from None


def application(health: Health, registry: CollectorRegistry) -> web.Application:
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
