"""An HTTP extender of kube-scheduler: it is told which nodes passed the scheduler's own filters, and takes
none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

HOST = "127.0.0.1"


class Extender:
    """What kube-scheduler found for each pod. No pod is ever bound, so the cluster stays as it is."""

    def __init__(self) -> None:
        self.passed: dict[str, frozenset[str]] = {}
        """UID of a pod -> nodes that passed every filter when it was last tried."""
        self.told = asyncio.Event()
        self.port = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The part of a KubeSchedulerConfiguration that makes kube-scheduler ask here."""
        return {
            # All nodes are tried, and nobody is made to leave for the pods that are asked about.
            "percentageOfNodesToScore": 100,
            "profiles": [
                {
                    "schedulerName": "default-scheduler",
                    "plugins": {"postFilter": {"disabled": [{"name": "*"}]}},
                    "pluginConfig": [
                        {
                            "name": "PodTopologySpread",
                            "args": {"defaultingType": "List", "defaultConstraints": []},
                        }
                    ],
                }
            ],
            "extenders": [
                {
                    "urlPrefix": f"http://{HOST}:{self.port}",
                    "filterVerb": "filter",
                    "nodeCacheCapable": True,
                    "enableHTTPS": False,
                    "httpTimeout": "30s",
                }
            ],
        }

    async def filter(self, request: web.Request) -> web.Response:
        asked = await request.json()
        names = asked.get("NodeNames") or []
        self.passed[asked["Pod"]["metadata"]["uid"]] = frozenset(names)
        self.told.set()
        refused = dict.fromkeys(names, "only asking")
        return web.json_response({"NodeNames": [], "FailedAndUnresolvableNodes": refused})


@asynccontextmanager
async def extender() -> AsyncIterator[Extender]:
    asked = Extender()
    application = web.Application(client_max_size=2**26)
    application.router.add_post("/filter", asked.filter)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    asked.port = runner.addresses[0][1]
    try:
        yield asked
    finally:
        await runner.cleanup()
